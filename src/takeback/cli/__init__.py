"""The command line: `takeback` and its subcommands, one module a command.

Every command takes `--json` (one JSON object on stdout, talk on stderr) and exits 0 for yes or done, 1 for no
(rejected, blocked, falls short), 2 for bad input or a fault.
"""

from __future__ import annotations

import sys

import typer

from takeback.cli.commands import register_all
from takeback.cli.output import emit_error, wants_json
from takeback.errors import TakebackError

app = typer.Typer(
    name="takeback",
    help="Lets an agent change itself only when the change can be taken back.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.callback()
def _root() -> None:
    """Let an agent change itself only when the change can be taken back."""


register_all(__name__, __path__, app)


def main() -> None:
    """Run the command line; turn errors into a clear message and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except TakebackError as fault:
        emit_error(str(fault), as_json=wants_json(sys.argv))
        sys.exit(2)
    except Exception as fault:  # noqa: BLE001  (a fault must not look like the answer no)
        usage = getattr(fault, "format_message", None)
        if usage is not None:
            if usage():
                emit_error(usage(), as_json=wants_json(sys.argv))
            sys.exit(2)
        message = f"fault: {type(fault).__name__}: {fault}"
        emit_error(f"{message}\n  This is a mistake in Takeback: please report it.", as_json=wants_json(sys.argv))
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
