"""`takeback web [DIR…]`: harnesses as a page in the browser."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any, Final

import typer

from takeback.adapters.manifest import find_manifest_path, find_root
from takeback.adapters.variables import use_variables
from takeback.cli.context import ByOption
from takeback.cli.interrupts import end_at_first_interrupt
from takeback.cli.output import JsonFlag, emit, err, out
from takeback.errors import InputError, MissingExtraError
from takeback.plugins import open_pages

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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("web")(web)


def web(
    places: list[str] = typer.Argument(
        None,
        metavar="DIR|URL",
        help="Workspaces, and databases (postgresql://…) whose journals are listed; the workspace here if left out.",
    ),
    lab: Path = typer.Option(None, "--lab", metavar="DIR", help="Show the lab's reports on this results folder too."),
    by: str = ByOption,
    port: int = typer.Option(
        None,
        "--port",
        min=0,
        max=65535,
        metavar="N",
        help="Use this port of this machine; 0 for any.",
        show_default="derived from the workspaces, so that links keep working; another if it is taken",
    ),
    read_only: bool = typer.Option(False, "--read-only", help="Show everything read-only."),
    no_open: bool = typer.Option(False, "--no-open", help="Only print the link; do not open a browser."),
    as_json: bool = JsonFlag,
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
    shelf = HarnessShelf.of(places or ([] if lab is not None and not _has_workspace_here() else [Path()]))
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
            if as_json:
                fleets = [watched.fleet.location for watched in shelf.fleets]
                names = [shown.name for shown in shelf.all]
                emit({"link": server.link, "port": server.port, "harnesses": names, "fleets": fleets})
            else:
                out.print(f"open {server.link}")
                err.print("the link works once, in one browser; Ctrl-C ends the page", style="dim")
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


def _has_workspace_here() -> bool:
    return find_manifest_path(find_root(Path())) is not None
