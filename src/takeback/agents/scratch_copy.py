"""A scratch copy of a harness: the files, and the journal as it is, where histories and changes are tried.

Folders of other people's files (virtual environments, installed packages) are linked, not copied; version
control is left out. The harness itself is not touched. What a check command prints is shown, and not
recorded. Which entries broke a harness is found by histories without some of them, each tried with a command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.clients.discovery import FOREIGN
from takeback.adapters.opener import load_manifest, open_own_copy
from takeback.adapters.trust import require_trusted
from takeback.errors import HarnessError, InputError
from takeback.evolve import ChangeCheck, Checked, Recoverable
from takeback.harness import Applied, Harness, Refused, Undone
from takeback.harness.bisect import Bisection, LiveEntries, find_breaking_entries
from takeback.harness.entry_names import resolve_entry
from takeback.secret_mask import mask_text_secrets

VERSIONED: Final = frozenset({".git", ".hg", ".svn"})
CANNOT_TELL: Final = 125
NO_COMMAND: Final = 127
ASKED_EVERY: Final = 0.2
"""Seconds between two questions whether to stop."""
NOT_STARTED: Final = frozenset({126, 127})
"""How a shell ends when there is no such command, or it cannot be started."""


def require_copyable_journal(root: Path, journal: str | None) -> None:
    """Refuse a harness whose journal is not among its own files: there would be no copy of it."""
    manifest = load_manifest(root)
    require_trusted(root, manifest)
    where = journal or manifest.workspace.journal
    if journal is not None or "://" in where:
        raise InputError(
            "the journal", found=where, expected="one among the harness's own files, which can be copied"
        )


@contextmanager
def make_scratch_copy(root: Path) -> Iterator[Path]:
    """Make a copy of a harness and yield its path; call it while the journal is held."""
    with TemporaryDirectory(prefix="takeback-") as made:
        place = Path(made).resolve() / root.resolve().name
        shutil.copytree(root, place, symlinks=True, ignore=lambda _, names: FOREIGN.intersection(names))
        for folder, below, _ in os.walk(root):
            for name in FOREIGN.intersection(below) - VERSIONED:
                (place / Path(folder).relative_to(root) / name).symlink_to((Path(folder) / name).resolve())
            below[:] = [name for name in below if name not in FOREIGN]
        yield place


class StoppedError(HarnessError):
    """A person ended a search, and with it the command that was running."""


def run_bounded(
    command: str,
    place: Path,
    seconds: float,
    printed: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> int | None:
    """Return the exit code of a shell command; None if it took too long and was ended with all it started.

    Its output goes to the open file `printed`, if that is given. `stop`, asked several times a second, ends it.
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
        return _wait_bounded(process, seconds, stop)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_bounded(process: subprocess.Popen[bytes], seconds: float, stop: Callable[[], bool] | None) -> int | None:
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        try:
            return process.wait(max(left, 0) if stop is None else max(min(left, ASKED_EVERY), 0))
        except subprocess.TimeoutExpired:
            if stop is not None and stop():
                raise StoppedError("the search was stopped") from None
            if time.monotonic() >= end:
                return None


def explain_not_started(command: str, code: int | None, option: str) -> InputError:
    """Return the error for a command that a shell could not start: it says nothing about what was tried with it."""
    why = "there is no such command" if code == NO_COMMAND else "it cannot be started"
    return InputError(
        option,
        found=f"{command}, which ended with {code}: {why}",
        expected="a command that runs in the project's directory, such as 'make check' or ./health.sh",
    )


@dataclass
class Rehearsal:
    """Tries histories in a scratch copy with a command: exit code 0 means that it works."""

    place: Path
    entries: tuple[int, ...]
    command: str
    seconds: float
    stop: Callable[[], bool] | None = None
    has_run: bool = False

    def is_broken(self, live: LiveEntries) -> bool | None:
        """Return whether the command fails with these entries alone; None if that cannot be decided."""
        off = [f"#{entry}" for entry in self.entries if entry not in live]
        with closing(open_own_copy(self.place)) as harness:
            if not off:
                return self._run()
            done = harness.undo(*off, cascade=True)
            if not isinstance(done, Undone):
                return None
            try:
                return self._run()
            finally:
                harness.discard()
                back = harness.undo(done.entry.id)
                if not isinstance(back, Undone):
                    raise HarnessError(f"the scratch copy cannot be brought back after a test: {back}")

    def _run(self) -> bool | None:
        code = run_bounded(self.command, self.place, self.seconds, stop=self.stop)
        if code in NOT_STARTED and not self.has_run:
            raise explain_not_started(self.command, code, "--test")
        self.has_run = True
        return None if code == CANNOT_TELL or code in NOT_STARTED else code != 0


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
    """Return a check for `evolve`: a shell command that ends with 0 in a scratch copy with the change made.

    A command that takes longer than `seconds` is ended, with all that it started, and has failed. `keys` is where
    a sealed journal's keys are, if not where a workspace has them.
    """
    root = Path(directory)
    if not command.strip():
        raise InputError("the check", found="an empty command", expected="a shell command")
    require_copyable_journal(root, None)

    def check(change: Recoverable) -> Checked:
        shown = mask_text_secrets(command)
        with ExitStack() as leaving:
            with harness.held() as state:
                if isinstance(state, Refused):
                    return Checked(passed=False, command=shown, why=f"it was not run: {state.message}")
                place = leaving.enter_context(make_scratch_copy(root))
            with closing(open_own_copy(place, keys=keys)) as copy:
                made = copy.apply(change.candidate, evidence=change.verdict)
            if not isinstance(made, Applied):
                return Checked(passed=False, command=shown, why=f"it was not run: {made.message}")
            return _run_check(command, shown, place, seconds)

    return check


def _run_check(command: str, shown: str, place: Path, seconds: float) -> Checked:
    end = _End()
    began = time.monotonic()
    try:
        code = run_bounded(command, place, seconds, end.writing)
    finally:
        took = round(time.monotonic() - began, 1)
        output = end.read()
    why = f"it took longer than {seconds:g} s" if code is None else ""
    why = "the shell could not start it" if code in NOT_STARTED else why
    return Checked(code == 0, shown, code, took, why, output)


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
        """Return the end of the output once nobody writes any more; do not wait for a process that got away."""
        os.close(self.writing)
        self._thread.join(WAIT)
        return self._kept.decode(errors="replace").strip()


TellTrial = Callable[[LiveEntries, tuple[int, ...], bool | None], None]
"""Told of each trial: the entries in it, all entries searched, and whether it was broken."""


def search_breakage(
    harness: Harness,
    root: Path,
    command: str,
    tell: TellTrial,
    *,
    good: str | None = None,
    seconds: float,
    stop: Callable[[], bool] | None = None,
    lock: AbstractContextManager[object] | None = None,
) -> Bisection | Refused:
    """Return the smallest set of live entries, after `good`, that makes a command fail."""
    require_copyable_journal(root, None)
    harness.require("read")  # the command is run with what entries hold
    with ExitStack() as leaving:
        with lock or nullcontext(), harness.held(clean=True) as state:
            if isinstance(state, Refused):
                return state
            after = -1 if good is None else resolve_entry(harness.ledger, good).entry
            live = (entry.seq for entry in harness.log() if entry.status == "live" and entry.seq > after)
            entries = tuple(sorted(live))
            place = leaving.enter_context(make_scratch_copy(root))
        rehearsal = Rehearsal(place, entries, command, seconds, stop)

        def broken(wanted: LiveEntries) -> bool | None:
            answer = rehearsal.is_broken(wanted)
            tell(wanted, entries, answer)
            return answer

        return find_breaking_entries(entries, broken)
