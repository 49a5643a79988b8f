"""The program: its groups of commands, and what becomes of an error.

Every command takes `--json` (one JSON object on stdout, talk on stderr) and exits 0 for yes or done, 1 for no
(rejected, blocked, falls short), 2 for bad input or a fault, 130 when interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import typer

from takeback import __version__
from takeback.cli import output
from takeback.cli.commands import COMMANDS, Commands
from takeback.cli.trust_place import choose_trust_folder

SERVING: Final = frozenset({"serve", "web", "watch", "model"})
"""Commands that run until they are ended."""

app = typer.Typer(
    name="takeback",
    cls=Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        output.out.print(f"takeback {__version__}")
        raise typer.Exit(0)


@app.callback(epilog="'takeback COMMAND --help' shows a command's options and an example.")
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Let an agent change itself only when the change can be taken back."""
    del version
    choose_trust_folder()


def main() -> None:
    """Run the command line; an error becomes a clear message and exit code 2, never the answer no."""
    as_json = output.wants_json(sys.argv)
    output.begin(as_json=as_json, commands=COMMANDS)
    if sys.argv[1:2] and sys.argv[1] not in SERVING and "_TAKEBACK_COMPLETE" not in os.environ:
        output.count_seconds(sys.argv[1])
    try:
        code = app(prog_name="takeback", standalone_mode=False)
    except SystemExit as ended:
        closed = isinstance(ended.__context__, BrokenPipeError)
        sys.exit(output.end(0 if closed else ended.code, None, as_json=as_json))
    except Exception as fault:  # noqa: BLE001 - whatever happens, the exit code must mean what it says
        sys.exit(output.end(2, fault, as_json=as_json))
    sys.exit(output.end(code, None, as_json=as_json))
