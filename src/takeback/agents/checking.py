"""Whether a change is good, asked of a command: its exit code in a scratch copy where the change is made.

The harness itself is not touched. What the command printed is shown to whoever waits, and not recorded.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from typing import Final

from takeback.adapters.open_by_manifest import open_own_copy
from takeback.agents.scratch import NOT_STARTED, demand_own_journal, run_bounded, scratch_of
from takeback.errors import InputError
from takeback.evolve import ChangeCheck, Checked, Recoverable
from takeback.harness import Applied, Harness, Refused
from takeback.present.secrets import masked_text

SECONDS: Final = 300.0
LAST: Final = 2000
"""How much of what a command printed is kept, from its end."""
CHUNK: Final = 65_536
WAIT: Final = 2.0
"""Seconds for the last of what was printed to come through."""


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
            with closing(open_own_copy(place, keys=keys)) as copy:
                made = copy.apply(change.candidate, evidence=change.verdict)
            if not isinstance(made, Applied):
                return Checked(passed=False, command=told, why=f"it was not run: {made.message}")
            return _run(command, told, place, seconds)

    return check


def _run(command: str, told: str, place: Path, seconds: float) -> Checked:
    end = _End()
    began = time.monotonic()
    try:
        code = run_bounded(command, place, seconds, end.writing)
    finally:
        took = round(time.monotonic() - began, 1)
        output = end.read()
    why = f"it took longer than {seconds:g} s" if code is None else ""
    why = "the shell could not start it" if code in NOT_STARTED else why
    return Checked(code == 0, told, code, took, why, output)


class _End:
    """Keeps the end of what is written to a pipe, however much that is."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self._kept = b""
        self._thread = threading.Thread(target=self._keep, args=(reading,), daemon=True)
        self._thread.start()

    def _keep(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(CHUNK):
                self._kept = (self._kept + piece)[-LAST:]

    def read(self) -> str:
        """The end of it, once nobody writes any more; a process that got away is not waited for."""
        os.close(self.writing)
        self._thread.join(WAIT)
        return self._kept.decode(errors="replace").strip()
