"""`takeback serve`: the MCP server, through which an agent changes its own harness."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex

import typer

from takeback.cli.context import DirOption, JournalOption, open_harness
from takeback.cli.output import JsonFlag, emit, err
from takeback.cli.synthesizers import SynthesizerOption
from takeback.cli.synthesizers import open_synthesizer as opened_synthesizer
from takeback.errors import HarnessError, InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    http: bool = typer.Option(
        False, "--http", help="Serve streamable HTTP on loopback, with a bearer token, instead of standard input."
    ),
    port: int = typer.Option(0, "--port", min=0, max=65535, metavar="N", help="The port; any free one if left out."),
    token_file: Path | None = typer.Option(
        None,
        "--token-file",
        metavar="FILE",
        help="Tokens, one per line, alone or after a client's name; the file's mode must be 0600.",
    ),
    session: str = typer.Option(
        "",
        "--session",
        metavar="ID",
        help="A session name for entries, beside the client's name; generated if left out.",
    ),
    synthesizer: str = SynthesizerOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Serve the harness to agents over MCP.

    They propose, apply and undo changes; a person approves looser permissions. Over HTTP the token is shown once, at
    the start. Needs `pip install 'takeback[mcp]'`.

    Example: `takeback serve`, `takeback serve --http --token-file ~/.takeback-token`
    """
    if find_spec("mcp") is None:
        raise HarnessError("the MCP SDK is not installed", hint="pip install 'takeback[mcp]'")
    if not http and (port or token_file is not None):
        raise InputError("options", found="--port or --token-file", expected="--http beside it")
    if http and session:
        raise InputError("options", found="--session beside --http", expected="no --session: clients have their own")
    from takeback.agents.server.service import ProposalService  # noqa: PLC0415 - imports the SDK
    from takeback.agents.server.tools import (  # noqa: PLC0415
        ANYONE,
        LOOPBACK,
        listen_on_loopback,
        make_token,
        read_tokens,
        serve_http,
        serve_stdio,
    )

    tokens = None if token_file is None else read_tokens(token_file.expanduser())
    with opened_synthesizer(synthesizer) as opened, open_harness(directory, journal) as harness:
        desk = ProposalService(harness, str(directory.resolve()), opened.method)
        if not http:
            serve_stdio(desk, session or token_hex(4))
            return
        made = make_token() if tokens is None else None
        with listen_on_loopback(port) as bound:
            url = f"http://{LOOPBACK}:{bound.getsockname()[1]}/mcp"
            if as_json:
                emit({"url": url, "token": made})
            else:
                err.print(f"serving {url}")
                err.print(f"token, shown this once: {made}" if made else f"tokens are those of {token_file}")
            serve_http(desk, bound, tokens or {str(made): ANYONE})
