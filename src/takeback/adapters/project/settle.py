"""Rows that hooks captured become entries of the journal: what changed, by which call, under which prompt.

Each row is one entry. What a row says was there before is believed only of files that the journal does not know yet;
of others the journal knows better. A row whose entry is in the journal already is only dropped, so that being killed
in between changes nothing. Files whose content was not kept are named in the entry, which cannot take them back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from takeback.adapters.project.captured_contents import MANY, CapturedContent, CapturedContents, count_text_lines
from takeback.errors import OperationFailed
from takeback.harness.engine import Engine
from takeback.harness.ledger import Ledger
from takeback.harness.recorded_evidence import ONLY_LAYOUT, NoEvidence, describe_evidence
from takeback.harness.records import CALL, draft_change, make_taken_in_key
from takeback.journal import Record
from takeback.state import ABSENT, PMap, State, tree
from takeback.state.address import APART, is_part, is_place
from takeback.state.file import ContentSource, File
from takeback.state.file_paths import choose_slot, find_slot, list_files
from takeback.state.slots import Slot, describe_slot, format_slot_key, get_slot, put_slots
from takeback.state.surfaces.files import PROJECT
from takeback.state.text import Text
from takeback.state.tree import TreePath
from takeback.track.identity import FileVersion, place_file, take_changes
from takeback.track.store import FileDelta
from takeback.undo import Write
from takeback.undo.record import list_writes_between

if TYPE_CHECKING:
    from takeback.track.store import FileFacts, IntakeRow, TrackStore

NAMED: Final = 2
"""So many files a title names."""
SHORT: Final = 8
"""So much of a session's name is shown."""
REST: Final = "rest"
MORE: Final = "{} changed more than {} reported; a formatter or editor ran too, so the two cannot be told apart"
NOT_HAD: Final = "its content was no longer available"
NOT_KNOWN: Final = "the earlier content is not known"
NOT_KEPT: Final = "its content is not kept"


def settle_rows(engine: Engine, store: TrackStore) -> tuple[Record, ...]:
    """Make an entry of every row that waits, oldest first; the journal's lock is held."""
    ledger, entries, done = engine.ledger, [], []
    for row in store.rows():
        done.append(row.number)
        parts = [row, _make_rest(row)] if row.edits else [row]
        parts = [part for part in parts if not ledger.store.touching(_make_intake_key(store, part))]
        del row  # may be large, and is not held while its entry is recorded
        while parts:
            entry = _RowSettler(ledger, store, parts.pop(0)).settle()
            entries += [] if entry is None else [entry]
    if done:
        store.drop_rows(done)
    if entries:
        if ledger.is_checkpoint_due():
            ledger.checkpoint()
        engine.note()
    return tuple(entries)


def _make_intake_key(store: TrackStore, row: IntakeRow) -> str:
    """Return the index key under which the entry of a row is found."""
    rest = (REST,) if REST in row.said else ()
    return format_slot_key(("@intake", store.identity, str(row.number), *rest))


def _make_rest(row: IntakeRow) -> IntakeRow:
    """Return the row of what changed in an edit tool's files beside its edits, where that can be told apart."""
    note = f"changed during {row.tool} {row.call}, which did not report it: by a formatter or an editor"
    said = {REST: "yes"}
    return replace(row, kind="found", tool="", call="", prompt=None, edits=(), git="", said=said, notes=(note,))


@dataclass
class _Files:
    """What a row says of files, sorted by what can be done with it."""

    known: list[FileVersion] = field(default_factory=list)
    fresh: list[tuple[Slot, File]] = field(default_factory=list)
    """Files that were there and that the journal does not know yet."""
    unkept: dict[str, str] = field(default_factory=dict)
    """Files that changed and cannot be taken back, and why."""

    def take_in(self, files: PMap, slot: TreePath, path: str, file: File | None) -> PMap:
        """Note a file that was there and was not known; return the files with it."""
        if file is None:
            return files
        placed = place_file(slot, path, file, file.mode)
        self.fresh.append(((PROJECT, *slot), placed))
        return tree.put(files, slot, placed)


class _RowSettler:
    """One row on its way into the journal."""

    def __init__(self, ledger: Ledger, store: TrackStore, row: IntakeRow) -> None:
        self._ledger = ledger
        self._store = store
        self._row = row
        self._fresh: dict[Slot, bool] = {}
        self._notes = list(row.notes)
        self._edits: dict[str, list[tuple[str, str]]] = {}
        for path, old, new in row.edits:
            self._edits.setdefault(path, []).append((old, new))
        if row.said.get("anew"):
            self._row = row = replace(row, deltas=tuple(self._list_strayed()))
        self._contents = self._find_contents(row)
        """What files held, by their digests; of the removal of many files by their paths, read when it is needed."""

    def _find_contents(self, row: IntakeRow) -> Mapping[str, ContentSource]:
        sides = (side for delta in row.deltas for side in (delta.before, delta.after))
        digests = [side.digest for side in sides if side is not None and side.kind != "seen"]
        removed = [(delta.path, delta.before) for delta in row.deltas if delta.before is not None]
        self._late = len(digests) >= MANY and all(delta.after is None for delta in row.deltas)
        if not self._late:
            return self._store.contents(digests)
        return CapturedContents(self._store, [pair for pair in removed if pair[1].kind != "seen"]).find_all()

    def settle(self) -> Record | None:
        """Write the entry; None where nothing changed that the journal does not say already."""
        ledger, known = self._ledger, self._ledger.state
        files = self._sort_files()
        there = put_slots(known, files.fresh)
        if not files.known and (not files.unkept or REST in self._row.said):
            return None
        taken = take_changes(_view_project(there), files.known)
        after = _with_project(there, self._use_spans(taken.state, there))
        taken_in = list_writes_between(known, there)
        number = ledger.next_entry
        divided = tuple(_divide_folders(list_writes_between(there, after)))
        writes = ledger.history.with_parents(divided, taken_in, number)
        about = self._describe(files, writes)
        if writes:
            about |= describe_evidence(ledger, after, writes, there)
        else:
            about |= NoEvidence(_describe_unkept(files.unkept)).about()
        twins = [f'files["{path}"] ({", ".join(others)})' for path, others in taken.ambiguous]
        about |= {"ambiguous": twins} if twins else {}
        about |= {"coarse": list(taken.coarse)} if taken.coarse else {}
        about |= {"moved": [list(pair) for pair in taken.moved]} if taken.moved else {}
        draft = draft_change("adopt", writes, about, packer=ledger.packer, taken_in=taken_in)
        draft.payload["touches"].append(_make_intake_key(self._store, self._row))  # type: ignore[union-attr]
        self._contents = {}  # what the writes do not hold is not held while they are recorded
        self._row = replace(self._row, deltas=())
        del files, there, known, taken, after, divided
        entry = ledger.record(draft, writes, taken_in)
        if self._late:
            ledger.let_go(write.slot for write in writes)  # what is captured may be trimmed from now on
        return entry

    def _sort_files(self) -> _Files:
        files = _Files(unkept=dict(self._row.unkept))
        view = _view_project(self._ledger.state)
        there = view.part("files")
        for delta in self._row.deltas:
            path = delta.path
            slot = find_slot(view, path)
            after = self._load(delta.after, path, files)
            if delta.after is not None and after is None:
                continue
            if slot is not None:
                before: File | None = get_slot(view, slot)
            else:
                place = choose_slot(path, there)
                before = self._load(delta.before, path, files)
                if not delta.before_known or (delta.before is not None and before is None):
                    files.unkept.setdefault(path, NOT_KNOWN)
                    there = files.take_in(there, place, path, after)
                    continue
                if before is not None and self._is_fresh((PROJECT, *place)):
                    there = files.take_in(there, place, path, before)
                elif before is not None:
                    before = None  # the journal says that it went; it came back unseen, and counts as new
            if before is not None and after is not None and path in self._edits:
                after = self._take_spans_only(path, before, after)
            if not _is_same(before, after):
                files.known.append(FileVersion(path, before, after))
        return files

    def _list_strayed(self) -> Iterator[FileDelta]:
        """Yield the files that the journal knows and that were otherwise when tracking began anew."""
        there = dict(self._store.list_facts())
        since = [row for row in self._store.rows() if row.number > self._row.number]
        for delta in (delta for row in reversed(since) for delta in row.deltas if delta.before_known):
            _put_back(there, delta)
        known = {tracked.path: tracked.file for tracked in list_files(self._ledger.state.part(PROJECT))}
        for path in sorted({*there, *known}):
            facts, file = there.get(path), known.get(path)
            if file is None:
                differs = not self._is_fresh((PROJECT, *choose_slot(path)))
            else:
                differs = not self._is_as_known(path, facts, file)
            if differs:
                yield FileDelta(path, None, facts)

    def _is_as_known(self, path: str, facts: FileFacts | None, file: File) -> bool:
        if facts is None:  # gone, or there and no longer tracked
            return os.path.lexists(os.path.join(self._store.root, path))
        linked = stat.S_ISLNK(file.mode)
        same_mode = (facts.kind == "link") == linked and (linked or facts.mode == stat.S_IMODE(file.mode))
        return facts.kind == "seen" or (same_mode and self._store.digest(file.content) == facts.digest)

    def _load(self, facts: FileFacts | None, path: str, files: _Files) -> File | None:
        """Return a file as it stood; None where it was not there, or its content cannot be had, which is noted."""
        if facts is None:
            return None
        if facts.kind == "seen":
            files.unkept.setdefault(path, NOT_KEPT)
            return None
        content = self._contents.get(path if self._late else facts.digest)
        if content is None:
            files.unkept.setdefault(path, NOT_HAD)
            return None
        return File(content, stat.S_IFLNK if facts.kind == "link" else stat.S_IMODE(facts.mode))

    def _is_fresh(self, slot: Slot) -> bool:
        """Tell whether the journal has never heard of a path; a folder that is new is asked about once."""
        for depth in range(2, len(slot)):
            if self._is_untouched(slot[:depth], below=True) and self._is_untouched(slot[:depth]):
                return True
        return self._is_untouched(slot)

    def _is_untouched(self, slot: Slot, *, below: bool = False) -> bool:
        key = (*slot, "*") if below else slot
        if key not in self._fresh:
            touching = self._ledger.store.touching
            keys = (format_slot_key(slot), make_taken_in_key(slot))
            self._fresh[key] = not any(touching(slot_key, below=below) for slot_key in keys)
        return self._fresh[key]

    def _take_spans_only(self, path: str, before: File, after: File) -> File:
        """Return a file after the edits alone that a tool announced, where these stand in it as announced."""
        spanned = _apply_spans(before, self._edits[path])
        if spanned is None or spanned.content == after.content:
            return after
        text = after.content.decode(errors="replace")
        if all(new in text if new else old not in text for old, new in self._edits[path]):
            return File(spanned.content).with_frame(after.frame)
        self._notes.append(MORE.format(path, self._row.tool or "the tool"))
        return after

    def _use_spans(self, taken: State, there: State) -> State:
        """Return the files with the spans that an edit tool announced, where these explain all of the change."""
        for path, pairs in self._edits.items():
            slot = find_slot(taken, path)
            known = None if slot is None else get_slot(_view_project(there), slot)
            if slot is None or not isinstance(known, File):
                continue
            now = get_slot(taken, slot)
            spanned = _apply_spans(known, pairs)
            if spanned is not None and spanned.content == now.content:
                taken = put_slots(taken, [(slot, spanned.with_frame(now.frame))])
        return taken

    def _describe(self, files: _Files, writes: tuple[Write, ...]) -> dict[str, Any]:
        row = self._row
        prompt = None if row.prompt is None else self._store.prompt(row.prompt)
        origin = {
            "client": row.client,
            "session": row.session,
            "call": row.call,
            "tool": row.tool,
            "prompt_number": "" if row.prompt is None else str(row.prompt),
            "git": row.git,
            "beside": ", ".join(row.beside),
            "notes": "; ".join(self._notes),
            "began": str(row.began),
            "ended": str(row.ended),
            "exit_code": row.said.get("exit_code", ""),
        }
        declared = f"{row.client} (declared)" + (f", session {row.session[:SHORT]}" if row.session else "")
        by = row.said.get("by") or declared
        about: dict[str, Any] = {
            "note": row.said.get("note") or _title_row(row),
            "origin": {name: text for name, text in origin.items() if text},
        }
        about |= {"by": by} if row.kind == "call" and row.client else {}
        about |= {"unkept": [list(pair) for pair in sorted(files.unkept.items())]} if files.unkept else {}
        said = {"command": row.command, "prompt": "" if prompt is None else prompt.text_first_line_masked}
        about[CALL] = {name: text for name, text in said.items() if text}
        paths = dict.fromkeys((*(version.path for version in files.known), *files.unkept))
        return about | {"stat": _count_lines(files.known, writes), "paths": list(paths)}


def _is_same(before: File | None, after: File | None) -> bool:
    """Tell whether a file is as it was; that it was moved earlier, which only the journal knows, is no difference."""
    if before is None or after is None:
        return before is after
    return before.mode == after.mode and before == after.with_frame(before.frame)


def _put_back(there: dict[str, FileFacts], delta: FileDelta) -> None:
    """Have a file be as it was before a change."""
    if delta.before is None:
        there.pop(delta.path, None)
    else:
        there[delta.path] = delta.before


def _divide_folders(writes: Iterable[Write]) -> Iterator[Write]:
    """Yield writes with those of whole folders divided: what else is in a folder may not be known yet, and stays."""
    for write in writes:
        if not isinstance(write.before, PMap) and not isinstance(write.after, PMap):
            yield write
            continue
        old, new = _list_files(write.before), _list_files(write.after)
        for path in sorted({*old, *new}):
            yield Write((*write.slot, *path), old.get(path, ABSENT), new.get(path, ABSENT))


def _list_files(content: Any) -> dict[tuple[str, ...], Any]:
    if isinstance(content, PMap):
        return {path: leaf for path, leaf in tree.iter_leaves(content) if isinstance(leaf, File)}
    return {} if content is ABSENT else {(): content}


def _title_row(row: IntakeRow) -> str:
    """Return what a row is about, on one line: the tool with its command or files, or what git says."""
    if row.git:
        return f"git: {row.git}"
    if row.kind != "call":
        return "; ".join(row.notes) or "found changed"
    paths = sorted({path for path, _, _ in row.edits} or {delta.path for delta in row.deltas})
    named = ", ".join(paths[:NAMED]) + (" …" if len(paths) > NAMED else "")
    return f"{row.tool}: {named}" if named and not row.command else row.tool


def _view_project(state: State) -> State:
    """Return the project's files as the `files` of a state."""
    return State({"files": state.part(PROJECT)})


def _with_project(state: State, view: State) -> State:
    return State.of({**state.parts, PROJECT: view.part("files")})


def _apply_spans(known: File, pairs: list[tuple[str, str]]) -> File | None:
    """Return a file after edits, each of a text that stands in it once; None where one does not."""
    lines = known.parts()
    try:
        for pair in pairs:
            if not isinstance(lines, Text):
                return None
            lines = lines.replace_once(*pair)
    except OperationFailed:
        return None
    return None if lines is None else known.replace_parts(lines)


def _count_lines(versions: list[FileVersion], writes: tuple[Write, ...]) -> Mapping[str, int]:
    """Return how many files changed, and how many lines came and went."""
    added = removed = 0
    for came, went in _count_each(writes):
        added, removed = added + came, removed + went
    return {"files": len(versions), "added": added, "removed": removed}


def _count_each(writes: tuple[Write, ...]) -> Iterator[tuple[int, int]]:
    for write in writes:
        name = write.slot[-1]
        if is_part(name):
            if name[1:] not in APART and not is_place(name):
                yield int(write.after is not ABSENT), int(write.before is not ABSENT)
        else:
            yield _count_in(write.after), _count_in(write.before)


def _count_in(content: Any) -> int:
    """Return the number of lines in a file, or in all files of a folder; 0 of one that is no text."""
    if isinstance(content, File):
        source = content.source
        return source.lines if isinstance(source, CapturedContent) else count_text_lines(content.content)
    return 0 if content is ABSENT else sum(map(_count_in, content.values()))


def _describe_unkept(unkept: Mapping[str, str]) -> str:
    """Return why a change has no evidence of which nothing can be taken back."""
    if not unkept:
        return ONLY_LAYOUT
    named = describe_slot((PROJECT, *min(unkept).split("/")))
    rest = f", nor that of {len(unkept) - 1} more" if len(unkept) > 1 else ""
    return f"the content of {named} is not kept{rest}, so that nothing can be taken back"
