"""Whether a change is good, asked of a command: its exit code in a scratch copy where the change is made.

The harness itself is not touched. What the command printed is shown to whoever waits, and not recorded.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from takeback.adapters.open_by_manifest import open_workspace
from takeback.agents.scratch import demand_own_journal, run_bounded, scratch_of
from takeback.agents.server.masking import masked_text
from takeback.errors import InputError
from takeback.evolve import ChangeCheck, Checked, Recoverable
from takeback.harness import Applied, Harness, Refused

SECONDS: Final = 300.0
LAST: Final = 2000
"""How much of what a command printed is kept, from its end."""


def check_on_copy(
    harness: Harness,
    directory: str | PathLike[str],
    command: str,
    *,
    seconds: float = SECONDS,
    keys: str | None = None,
) -> ChangeCheck:
    """A check for `evolve`: a shell command that ends with 0 in a scratch copy of `directory` with the change made.

    A command that takes longer than `seconds` is ended, with all that it started, and has failed. `keys` is where a
    sealed journal's keys are, if not where a workspace has them.
    """
    root = Path(directory)
    if not command.strip():
        raise InputError("the check", found="an empty command", expected="a shell command")
    demand_own_journal(root, None)

    def check(change: Recoverable) -> Checked:
        told = masked_text(command)
        with ExitStack() as leaving:
            with harness.held() as state:
                if isinstance(state, Refused):
                    return Checked(passed=False, command=told, why=f"it was not run: {state.message}")
                place = leaving.enter_context(scratch_of(root))
            with closing(open_workspace(place, keys=keys, hold=False)) as copy:
                made = copy.apply(change.candidate, evidence=change.verdict)
            if not isinstance(made, Applied):
                return Checked(passed=False, command=told, why=f"it was not run: {made.message}")
            return _run(command, told, place, seconds)

    return check


def _run(command: str, told: str, place: Path, seconds: float) -> Checked:
    with TemporaryFile() as printed:
        began = time.monotonic()
        code = run_bounded(command, place, seconds, printed)
        took = round(time.monotonic() - began, 1)
        why = f"it took longer than {seconds:g} s" if code is None else ""
        return Checked(code == 0, told, code, took, why, _end_of(printed))


def _end_of(printed: IO[bytes]) -> str:
    size = printed.seek(0, 2)
    printed.seek(max(0, size - LAST))
    return printed.read(LAST).decode(errors="replace").strip()
