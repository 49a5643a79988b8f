"""A scratch copy of a harness: the files, and the journal as it is, where histories can be tried.

Folders of other people's files (virtual environments, installed packages) are linked, not copied; version control is
left out.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.clients.finding import FOREIGN
from takeback.adapters.open_by_manifest import manifest_of, open_own_copy
from takeback.adapters.trust_gate import demand_trusted
from takeback.errors import HarnessError, InputError
from takeback.harness import Harness, Undone
from takeback.harness.bisecting import LiveEntries

VERSIONED: Final = frozenset({".git", ".hg", ".svn"})
CANNOT_TELL: Final = 125
NO_COMMAND: Final = 127
NOT_STARTED: Final = frozenset({126, 127})
"""How a shell ends when there is no such command, or it cannot be started."""


def demand_own_journal(root: Path, journal: str | None) -> None:
    """Refuse a harness whose journal is not among its own files: there would be no copy of it."""
    manifest = manifest_of(root)
    demand_trusted(root, manifest)
    where = journal or manifest.workspace.journal
    if journal is not None or "://" in where:
        raise InputError(
            "the journal", found=where, expected="one among the harness's own files, which can be copied"
        )


@contextmanager
def scratch_of(root: Path) -> Iterator[Path]:
    """A copy of a harness; called while its journal is held."""
    with TemporaryDirectory(prefix="takeback-") as made:
        place = Path(made).resolve() / root.resolve().name
        shutil.copytree(root, place, symlinks=True, ignore=_foreign, ignore_dangling_symlinks=True)
        for folder, below, _ in os.walk(root):
            for name in FOREIGN.intersection(below) - VERSIONED:
                (place / Path(folder).relative_to(root) / name).symlink_to((Path(folder) / name).resolve())
            below[:] = [name for name in below if name not in FOREIGN]
        yield place


def _foreign(folder: str, names: list[str]) -> set[str]:
    del folder
    return {name for name in names if name in FOREIGN}


def run_bounded(command: str, place: Path, seconds: float, printed: int | None = None) -> int | None:
    """The exit code of a shell command; None if it took too long and was ended, with all that it started.

    What it prints goes to the open file `printed`, if that is given.
    """
    kept = subprocess.DEVNULL if printed is None else printed
    process = subprocess.Popen(  # noqa: S602 - the command that the user gave
        command,
        shell=True,
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=kept,
        stderr=kept,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def explain_not_started(command: str, code: int | None, option: str) -> InputError:
    """Return the error for a command that a shell could not start: it says nothing about what was tried with it."""
    why = "there is no such command" if code == NO_COMMAND else "it cannot be started"
    return InputError(
        option,
        found=f"{command}, which ended with {code}: {why}",
        expected="a command that runs in the project's directory, such as 'make check' or ./health.sh",
    )


class Rehearsal:
    """Tries histories in a scratch copy with a command: exit code 0 means that it works."""

    def __init__(self, place: Path, entries: Sequence[int], command: str, seconds: float) -> None:
        self._place = place
        self._entries = tuple(entries)
        self._command = command
        self._seconds = seconds
        self._has_run = False

    def broken(self, live: LiveEntries) -> bool | None:
        """Whether the command fails with these entries alone; None if there is no such history, or it cannot tell."""
        off = [f"#{entry}" for entry in self._entries if entry not in live]
        with closing(open_own_copy(self._place)) as harness:
            if not off:
                return self._run()
            done = harness.undo(*off, cascade=True)
            if not isinstance(done, Undone):
                return None
            try:
                return self._run()
            finally:
                self._restored(harness, done)

    def _run(self) -> bool | None:
        code = run_bounded(self._command, self._place, self._seconds)
        if code in NOT_STARTED and not self._has_run:
            raise explain_not_started(self._command, code, "--test")
        self._has_run = True
        return None if code == CANNOT_TELL or code in NOT_STARTED else code != 0

    def _restored(self, harness: Harness, done: Undone) -> None:
        harness.discard()
        back = harness.undo(done.entry.id)
        if not isinstance(back, Undone):
            raise HarnessError(f"the scratch copy cannot be brought back after a test: {back}")
