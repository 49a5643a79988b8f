"""The command line: `takeback` and its subcommands, one module per room of commands.

A hook is answered before anything of that is imported: a client waits for it at every edit.
"""

from __future__ import annotations

import gc
import sys

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from typing import Any

    from takeback.cli.program import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["hook"]:
        gc.disable()  # the process ends before it would pay
        from takeback.cli.hook_answer import answer_and_end, find_client  # noqa: PLC0415 - nothing else is needed for a hook

        client = find_client(sys.argv[2:])
        if client is not None:
            answer_and_end(client)
        gc.enable()
    from takeback.cli.program import main as run_command  # noqa: PLC0415 - see above

    run_command()


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from takeback.cli.program import app  # noqa: PLC0415 - see above

    return app
