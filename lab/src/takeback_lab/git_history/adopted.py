"""Commits as entries of a journal: taken in one by one and planned as a project's tracked files are for users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from takeback.harness.ledger import Ledger
from takeback.harness.records import draft_change, draft_toggle
from takeback.journal import open_journal
from takeback.state import State, tree
from takeback.state.file import LINK_MODE, File
from takeback.state.file_paths import FILES, find_current_path, name_slot, project_files
from takeback.state.slots import Slot, find_containing_slot, get_slot
from takeback.track.identity import FileVersion, take_changes
from takeback.undo import Blocked, Outcome, Plan, Write, plan_toggle
from takeback.undo.record import list_writes_between

Tree = dict[str, tuple[int, bytes]]
"""Mode and content by path."""
TreeChanges = dict[str, tuple[int, bytes] | None]
"""What stands at some paths after a change; None: nothing."""
MODES = {"100644": 0o644, "100755": 0o755, "120000": LINK_MODE, "160000": 0o160000}


def read_mode(mode: str) -> int:
    """Return a mode as a file's: git knows only two of regular files."""
    return MODES.get(mode, 0o644)


class Said(NamedTuple):
    """What was said of an entry when it was taken in."""

    moved: tuple[tuple[str, str], ...]
    twins: tuple[tuple[str, tuple[str, ...]], ...]


class AdoptedHistory:
    """A journal in a scratch folder, into which commits are adopted."""

    def __init__(self, folder: Path, base: Mapping[str, File]) -> None:
        self._url = str(folder / "journal.db")
        self.ledger = Ledger(open_journal(self._url))
        start = take_changes(State(), [FileVersion(path, None, file) for path, file in base.items()]).state
        self.ledger.begin(start, {"identity": "git-history"})
        self.first = read_tree(start)
        self.said: dict[int, Said] = {}

    def adopt(self, commit: str, versions: Iterable[FileVersion]) -> int | None:
        """Take a commit in, and return the number of its entry; None if it changed nothing."""
        ledger = self.ledger
        taken = take_changes(ledger.state, versions)
        writes = ledger.history.with_parents(list_writes_between(ledger.state, taken.state))
        if not writes:
            return None
        record = ledger.record(draft_change("adopt", writes, {"note": commit}, packer=ledger.packer), writes)
        if ledger.is_checkpoint_due():
            ledger.checkpoint()
        self.said[record.entry] = Said(taken.moved, taken.ambiguous)
        return record.entry

    def reopen(self) -> None:
        """Open the journal anew, as the next command would: what plans need is read from it."""
        self.ledger.store.close()
        self.ledger = Ledger(open_journal(self._url))

    def plan(self, entry: int) -> Outcome:
        """Return what taking one entry back would do."""
        return plan_toggle(self.ledger.history, self.ledger.state, (entry,), ())

    def take_back(self, entry: int) -> None:
        """Take an entry back, with what could not be without it."""
        ledger, found = self.ledger, self.plan(entry)
        plan = found.together if isinstance(found, Blocked) else found
        if not isinstance(plan, Plan):
            raise TypeError(f"entry {entry} cannot be taken back: {plan}")
        writes = [Write(change.slot, change.before, change.after) for change in plan.changes]
        ledger.record(draft_toggle("undo", plan.off, plan.on, plan.changes, {}, packer=ledger.packer), writes)
        if ledger.is_checkpoint_due():
            ledger.checkpoint()

    def name(self, slot: Slot) -> set[str]:
        """Return the paths a slot of the surface is known by: where its file stands, and where it was first seen."""
        whole = find_containing_slot(slot)
        file = get_slot(self.ledger.state, whole)
        return {name_slot(whole[1:])} | ({find_current_path(whole[1:], file)} if isinstance(file, File) else set())

    def list_paths(self, entry: int) -> set[str]:
        """Return every path that files had which an entry wrote."""
        index = self.ledger.history.index
        found: set[str] = set()
        for slot in {find_containing_slot(write.slot) for write in index.writes(entry)}:
            found |= self.name(slot)
        return found


def read_tree(state: State) -> Tree:
    """Return a state's files as a tree."""
    return {path: (file.mode, file.content) for path, file in project_files(state)}


def list_tree_changes(before: State, after: State) -> TreeChanges:
    """Return what differs between two states, by real paths."""
    gone: TreeChanges = {}
    come: TreeChanges = {}
    for place, old, new in tree.list_changes(before.part(FILES), after.part(FILES)):
        for found, content in ((gone, old), (come, new)):
            for slot, file in tree.iter_leaves(content, place):
                if isinstance(file, File):
                    found[find_current_path(slot, file)] = (file.mode, file.content)
    changed = {path: come.get(path) for path in {*gone, *come}}
    return {path: found for path, found in changed.items() if found != gone.get(path)}
