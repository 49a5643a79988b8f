"""The entry of a run: what of a command's changes belongs to the harness becomes one entry of the journal.

Files that the adapter does not own are in the project like any other file, and are reported as not tracked.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from takeback.agents.overlay.layer import Change
from takeback.agents.overlay.runs import Run
from takeback.agents.overlay.transfer import Recorded
from takeback.errors import HarnessError
from takeback.harness import Adopted, Harness, Refused
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.images import paths_of
from takeback.present.secrets import mask_text_secrets
from takeback.present.warnings import list_unheeded, weigh_entry

CLIENT: Final = "takeback run"
LONGEST: Final = 500
"""Characters of a command that an entry keeps."""


def format_command(command: Sequence[str]) -> str:
    """Return a command line as it is shown and recorded: masked, and cut if it is long."""
    told = mask_text_secrets(shlex.join(command).encode("utf-8", "backslashreplace").decode())
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"


class EntryRecorder:
    """Records what a run changed in a harness."""

    def __init__(self, harness: Harness, *, note: str = "", by: str = "") -> None:
        self._harness, self._note, self._by = harness, note, by

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the journal's lock."""
        with self._harness.journal.lock(LOCK_SECONDS):
            yield

    def prepare(self, changes: Sequence[Change]) -> None:
        """Record what others changed in these files before, as an entry of its own."""
        paths = {change.path for change in changes}
        if paths:
            _require(self._harness.adopt(f"found before {CLIENT}", paths=paths))

    def record(self, changes: Sequence[Change], run: Run) -> Recorded:
        """Record the changes as an entry that names the command."""
        paths = {change.path for change in changes}
        if not paths:
            return Recorded()
        command = format_command(run.command)
        ended = "unknown" if run.code is None else str(run.code)
        origin = {"client": CLIENT, "command": command, "exit_code": ended}
        adopted = _require(
            self._harness.adopt(self._note or f"run: {command}", by=self._by, origin=origin, paths=paths)
        )
        with self._harness.inspect() as look:
            unread = [f"not recorded: {broken}" for broken in look.broken if broken.path in paths]
        if adopted is None:
            return Recorded(warnings=tuple(unread))
        looser = weigh_entry(self._harness, adopted)
        warnings = (*unread, *list_unheeded(adopted, self._harness), *looser)
        return Recorded(adopted.entry, frozenset(paths_of(adopted.entry)) & paths, warnings)


def _require(found: Adopted | Refused | None) -> Adopted | None:
    if isinstance(found, Refused):
        raise HarnessError(found.message)
    return found
