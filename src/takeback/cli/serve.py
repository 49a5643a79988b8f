"""`takeback serve`, `web` and `watch`: what runs until it is ended: a server for agents, the page, the recorder."""

from __future__ import annotations

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from threading import Thread
from typing import Any, Final

import typer

from takeback.adapters.manifest import find_manifest_path, find_root
from takeback.adapters.opener import load_manifest
from takeback.adapters.trust import require_trusted
from takeback.adapters.variables import use_variables
from takeback.agents.recorder import Noticed, Watched, follow_changes
from takeback.agents.scratch_copy import NOT_STARTED, explain_not_started, run_bounded
from takeback.canonical import encode
from takeback.cli.context import ByOption, WorkspaceOptions, name_for_shell, open_harness
from takeback.cli.hints import make_command_line, remember_directory
from takeback.cli.options import argument, flag, setting
from takeback.cli.output import answer, end_at_first_interrupt, err, mention, out, set_interrupt_message
from takeback.cli.repair import SynthesizerOption, open_synthesizer
from takeback.cli.secrets import mask_answer
from takeback.errors import HarnessError, InputError, MissingExtraError
from takeback.harness import Undone
from takeback.plugins import open_pages
from takeback.present.entries import make_entry_namer, summarize_entry


def serve(
    options: WorkspaceOptions,
    http: bool = flag("--http", "Serve streamable HTTP on loopback, with a bearer token, instead of standard input."),
    port: int = setting("--port", "N", "The port; any free one if left out.", 0, min=0, max=65535),
    token_file: Path | None = setting(
        "--token-file",
        "FILE",
        "Tokens, one per line, alone or after a client's name; the file's mode must be 0600.",
        None,
    ),
    session: str = setting(
        "--session", "ID", "A session name for entries, beside the client's name; generated if left out."
    ),
    synthesizer: str = SynthesizerOption,
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
    from takeback.adapters.sockets import LOOPBACK, listen_on_loopback  # noqa: PLC0415
    from takeback.agents.server.service import ProposalService  # noqa: PLC0415 - imports the SDK
    from takeback.agents.server.tools import (  # noqa: PLC0415
        ANYONE,
        make_token,
        read_tokens,
        serve_http,
        serve_stdio,
    )

    tokens = None if token_file is None else read_tokens(token_file.expanduser())
    with open_synthesizer(synthesizer) as opened, options.open() as harness:
        desk = ProposalService(harness, str(options.directory.resolve()), opened.method)
        if not http:
            serve_stdio(desk, session or token_hex(4))
            return
        made = make_token() if tokens is None else None
        with listen_on_loopback(port) as bound:
            url = f"http://{LOOPBACK}:{bound.getsockname()[1]}/mcp"
            answer({"url": url, "token": made})
            mention(f"serving {url}")
            mention(f"token, shown this once: {made}" if made else f"tokens are those of {token_file}")
            serve_http(desk, bound, tokens or {str(made): ANYONE})


FIRST_PORT: Final = 20_000
PORTS: Final = 10_000
"""Ports that are chosen from: below those that systems give to outgoing connections."""
EXTRA: Final = {"jinja2", "markupsafe", "starlette", "uvicorn"}


@contextmanager
def require_web_extra() -> Iterator[None]:
    """Import what needs the extra in here: what is missing is named with what to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in EXTRA:
            raise MissingExtraError(f"{missing.name} is not installed", hint="pip install 'takeback[web]'") from None
        raise


def web(
    places: list[str] = argument(
        "DIR|URL",
        "Workspaces, and databases (postgresql://…) whose journals are listed; the workspace here if left out.",
        None,
    ),
    lab: Path = setting("--lab", "DIR", "Show the lab's reports on this results folder too.", None),
    by: str = ByOption,
    port: int = setting(
        "--port",
        "N",
        "Use this port of this machine; 0 for any.",
        None,
        min=0,
        max=65535,
        show_default="derived from the workspaces, so that links keep working; another if it is taken",
    ),
    read_only: bool = flag("--read-only", "Show everything read-only."),
    no_open: bool = flag("--no-open", "Only print the link; do not open a browser."),
) -> None:
    """Show workspaces in the browser: timeline, diffs, undo with a preview. Ctrl-C ends it. The page is served to
    this machine only. The link works once, in the browser that opens it.
    Keep a database's password out of the URL: PGPASSWORD and ~/.pgpass work as in every PostgreSQL program.

    Example: `takeback web`, `takeback web agent other-agent --read-only`, `takeback web postgresql://db/fleet`,
    `takeback web --lab results`
    """
    with require_web_extra():
        from takeback.web.server import PageServer  # noqa: PLC0415 - the command line starts without the page
        from takeback.web.shelf import HarnessShelf  # noqa: PLC0415
    use_variables(os.environ)
    extra = None if lab is None else open_pages("lab", lab)
    only_lab = lab is not None and find_manifest_path(find_root(Path())) is None
    shelf = HarnessShelf.of(places or ([] if only_lab else [Path()]))
    with end_at_first_interrupt():
        try:
            options: dict[str, Any] = {"read_only": read_only, "extra": extra, "who": by}
            wanted = _choose_port([shown.where or shown.name for shown in shelf.all]) if port is None else port
            try:
                server = PageServer(shelf, port=wanted, **options)
            except InputError:
                if port is not None:
                    raise
                server = PageServer(shelf, **options)
            fleets = [watched.fleet.location for watched in shelf.fleets]
            names = [shown.name for shown in shelf.all]
            answer({"link": server.link, "port": server.port, "harnesses": names, "fleets": fleets})
            out.print(f"open {server.link}")
            mention("the link works once, in one browser; Ctrl-C ends the page", style="dim")
            out.flush()
            err.flush()
            if not no_open:
                Thread(target=webbrowser.open, args=(server.link,), daemon=True).start()
            server.run()
        except KeyboardInterrupt:
            err.print("the page has ended; every change that it confirmed is made")
        finally:
            shelf.close()


def _choose_port(places: Sequence[str]) -> int:
    """Return a port that stays the same for the same workspaces; 0, for any, where there are none."""
    digest = sha256("\0".join(places).encode("utf-8", "surrogateescape")).digest()
    return FIRST_PORT + int.from_bytes(digest[:4]) % PORTS if places else 0


def watch(
    options: WorkspaceOptions,
    verify: bool = flag("--verify", "Warn about files that a client would not load, and about looser permissions."),
    command: str = setting("--exec", "CMD", "Run this after each change: a health check."),
    auto: bool = flag("--auto", "Undo each change after which the command fails."),
    seconds: float = typer.Option(300.0, "--seconds", min=0.1, help="How long one run of the command may take."),
    until: float = typer.Option(0.0, "--for", min=0.0, help="End after this many seconds.", show_default="never"),
    polling: bool = flag("--polling", "Poll the files, for network drives."),
) -> None:
    """Watch the harness's files, and record each change made outside Takeback as an entry.

    Each is reported on one line.

    Writes in quick succession, such as a switch of branches, form one entry. Earlier changes that are not recorded
    yet are recorded at the start. Needs `pip install 'takeback[watch]'`. With `--json` each change is one line of
    JSON.

    Example: `takeback watch --verify`, `takeback watch --exec 'make check' --auto`
    """
    if auto and not command:
        raise InputError("options", found="--auto without --exec", expected="a command that tells whether to undo")
    if find_spec("watchfiles") is None:
        raise MissingExtraError("watchfiles is not installed", hint="pip install 'takeback[watch]'")
    root = options.root
    remember_directory(options.directory)
    require_trusted(root, load_manifest(root))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if until:
        timer = threading.Timer(until, stop.set)
        timer.daemon = True
        timer.start()
    set_interrupt_message("recorded changes stay; running it again first records what changed in between")
    err.print(f"watching {root}")
    for noticed in follow_changes(Watched(root, journal=options.journal, check=verify), stop, polling=polling):
        code = run_bounded(command, root, seconds) if command and noticed.entry is not None else 0
        if code in NOT_STARTED:
            raise explain_not_started(command, code, "--exec")
        failed = code != 0
        undone = _undo_entry(root, options.journal, noticed) if failed and auto else ""
        _report(root, options.journal, noticed, failed=failed, undone=undone)
    if not stop.is_set():
        raise KeyboardInterrupt


def _undo_entry(root: Path, journal: str | None, noticed: Noticed) -> str:
    if noticed.entry is None:
        return ""
    with open_harness(root, journal) as harness:
        outcome = harness.undo(noticed.entry.id)
        return "taken back" if isinstance(outcome, Undone) else f"could not be undone: {outcome}"


def _report(root: Path, journal: str | None, noticed: Noticed, *, failed: bool, undone: str) -> None:
    entry = noticed.entry
    what = ""
    if entry is not None:
        with open_harness(root, journal) as harness:
            what = summarize_entry(entry, make_entry_namer(harness))
    if out.for_json:
        line = {"entry": None if entry is None else entry.seq, "what": what, "warnings": list(noticed.warnings)}
        masked = mask_answer({**line, "failed": failed, "undone": undone}, exact=True)
        out.write(encode(masked, ascii_only=True) + "\n")
    if entry is not None:
        out.print(f"#{entry.seq}  {what}")
    for warning in noticed.warnings:
        out.print(f"  warning: {warning}", style="yellow")
    if failed and entry is not None:
        told_undo = undone or f"to undo it: {make_command_line('undo', name_for_shell(entry.seq, entry.id))}"
        out.print(f"  the check failed; {told_undo}", style="red")
    sys.stdout.flush()
