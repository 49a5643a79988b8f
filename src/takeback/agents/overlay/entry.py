"""The entries of a run: what a command changed in the client's own files is one, and in tracked files another.

Tracked files are captured before and after, as for every other call of a tool, and settled into the journal. Files
that neither the adapter nor tracking knows are in the project like any other file, and are reported as not tracked.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from takeback.adapters.files_adapter import FilesAdapter
from takeback.agents.overlay.layer import LayerChange
from takeback.agents.overlay.runs import OverlayRun
from takeback.agents.overlay.transfer import RecordedRun, Recorder
from takeback.errors import HarnessError
from takeback.harness import Adopted, Harness, Refused
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.images import paths_of
from takeback.journal import Record
from takeback.present.warnings import list_unheeded, weigh_entry
from takeback.secret_mask import mask_text_secrets
from takeback.track.call import Call, CaptureResult
from takeback.track.capture import FAILED, capture_after, capture_before

CLIENT: Final = "takeback run"
TOOL: Final = "run"
LONGEST: Final = 500
"""Characters of a command that an entry keeps."""


def format_command(command: Sequence[str]) -> str:
    """Return a command line as it is shown and recorded: masked, and cut if it is long."""
    text = mask_text_secrets(shlex.join(command).encode("utf-8", "backslashreplace").decode())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def make_recorder(harness: Harness, run: OverlayRun, *, note: str = "", by: str = "") -> Recorder:
    """Return what records the changes of a run: in a tracked project, its own files too."""
    adapter = harness.adapter
    if isinstance(adapter, FilesAdapter) and adapter.project is not None:
        return TrackedRecorder(harness, run, note=note, by=by)
    return EntryRecorder(harness, note=note, by=by)


class EntryRecorder:
    """Records what a run changed in a harness."""

    def __init__(self, harness: Harness, *, note: str = "", by: str = "") -> None:
        self._harness, self._note, self._by = harness, note, by

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the journal's lock."""
        with self._harness.journal.lock(LOCK_SECONDS):
            yield

    def prepare(self, changes: Sequence[LayerChange]) -> None:
        """Record what others changed in these files before, as an entry of its own."""
        paths = {change.path for change in changes}
        if paths:
            _require(self._harness.adopt(f"found before {CLIENT}", paths=paths))

    def record(self, changes: Sequence[LayerChange], run: OverlayRun) -> RecordedRun:
        """Record the changes as an entry that names the command."""
        paths = {change.path for change in changes}
        if not paths:
            return RecordedRun()
        command = format_command(run.command)
        ended = "unknown" if run.code is None else str(run.code)
        origin = {"client": CLIENT, "command": command, "exit_code": ended}
        adopted = _require(
            self._harness.adopt(self._note or f"run: {command}", by=self._by, origin=origin, paths=paths)
        )
        with self._harness.inspect() as look:
            unread = [f"not recorded: {broken}" for broken in look.broken if broken.path in paths]
        if adopted is None:
            return RecordedRun(warnings=tuple(unread))
        looser = weigh_entry(self._harness, adopted)
        warnings = (*unread, *list_unheeded(adopted, self._harness), *looser)
        return RecordedRun((adopted.entry,), frozenset(paths_of(adopted.entry)) & paths, warnings)


class TrackedRecorder(EntryRecorder):
    """Records what a run changed in a project whose own files are tracked."""

    def __init__(self, harness: Harness, run: OverlayRun, *, note: str = "", by: str = "") -> None:
        super().__init__(harness, note=note, by=by)
        ended = {} if run.code is None else {"exit_code": str(run.code)}
        said = {"note": note, "by": by, **ended}
        self._root = os.path.realpath(run.root)
        self._call = Call(CLIENT, "", run.folder.name, TOOL, format_command(run.command), said=said)
        self._environment = {"PATH": os.defpath}

    def prepare(self, changes: Sequence[LayerChange]) -> None:
        """Record what others changed before: in the client's files, and in all that are tracked."""
        _require_captured(capture_before(self._root, self._call, self._environment))
        super().prepare(changes)

    def record(self, changes: Sequence[LayerChange], run: OverlayRun) -> RecordedRun:
        """Record the changes: of tracked files by what is captured now, of the client's as an entry beside it."""
        last = self._harness.ledger.last
        captured = _require_captured(capture_after(self._root, self._call, self._environment))
        own = super().record(changes, run)
        if not captured.row:
            return own
        made = tuple(self._list_settled(last))
        unkept = dict(pair for entry in made for pair in entry.unkept)
        kept = {path for entry in made for path in entry.paths if path not in unkept}
        warnings = [f"{path}: {why}; it cannot be undone" for path, why in sorted(unkept.items())]
        paths = own.paths | kept & {change.path for change in changes}
        return RecordedRun((*made, *own.entries), paths, (*own.warnings, *captured.said, *warnings))

    def _list_settled(self, last: int) -> Iterator[Record]:
        """Yield the entries of this call that came into the journal after a record."""
        records = self._harness.journal.records(reverse=True)
        for record in records:
            if record.seq <= last:
                return
            if record.kind == "adopt" and record.origin.get("call") == self._call.call:
                yield record


def _require_captured(captured: CaptureResult) -> CaptureResult:
    """Refuse to go on where the project's files could not be captured: nothing would be known of them."""
    failed = [line for line in captured.said if line.startswith(FAILED)]
    if failed:
        raise HarnessError(failed[0])
    return captured


def _require(outcome: Adopted | Refused | None) -> Adopted | None:
    if isinstance(outcome, Refused):
        raise HarnessError(outcome.message)
    return outcome
