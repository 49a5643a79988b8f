"""`takeback web [DIR…]`: harnesses as a page in the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Final

import typer

from takeback.cli.output import JsonFlag, emit, err, out
from takeback.errors import MissingExtraError

EXTRA: Final = {"jinja2", "markupsafe", "starlette", "uvicorn"}


@contextmanager
def web_extra() -> Iterator[None]:
    """Import what needs the extra in here: what is missing is named with what to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in EXTRA:
            raise MissingExtraError(f"{missing.name} is not installed", hint="pip install 'takeback[web]'") from None
        raise


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("web")(web)


def web(
    directories: list[Path] = typer.Argument(None, metavar="DIR...", help="Workspaces. The one here if none."),
    port: int = typer.Option(
        0, "--port", min=0, max=65535, metavar="N", help="Use this port of this machine; 0 for any."
    ),
    read_only: bool = typer.Option(False, "--read-only", help="Only show; nothing can be changed from the page."),
    no_open: bool = typer.Option(False, "--no-open", help="Only print the link; do not open a browser."),
    as_json: bool = JsonFlag,
) -> None:
    """Show workspaces as a page in the browser: timeline, diffs, undo with a preview. Ends with Ctrl-C.

    The page is served to this machine only. The link works once, and becomes a session of the browser that opens it.

    Example: `takeback web`, `takeback web agent other-agent --read-only`
    """
    with web_extra():
        from takeback.web.server import PageServer  # noqa: PLC0415 - the command line starts without the page
        from takeback.web.shelf import HarnessShelf  # noqa: PLC0415
    shelf = HarnessShelf.of(directories or [Path()])
    try:
        server = PageServer(shelf, port=port, read_only=read_only)
        if as_json:
            emit({"link": server.link, "port": server.port, "harnesses": [shown.name for shown in shelf.all]})
        else:
            out.print(f"open {server.link}")
            err.print("the link works once, in one browser; Ctrl-C ends the page", style="dim")
        out.flush()
        err.flush()
        if not no_open:
            Thread(target=webbrowser.open, args=(server.link,), daemon=True).start()
        server.run()
    except KeyboardInterrupt:
        err.print("the page has ended; every change that it said was done is done")
    finally:
        shelf.close()
