"""A project whose files come, go, change and move, recorded and taken back by the engine as for users."""

from __future__ import annotations

from collections.abc import Mapping

from takeback.harness.ledger import StoredIndex
from takeback.harness.records import draft_change
from takeback.journal import open_journal
from takeback.state import SURFACES, State
from takeback.state.file import File
from takeback.state.file_paths import project_files
from takeback.track.identity import FileVersion, Taken, take_changes
from takeback.undo import Blocked, History, Index, Outcome, Plan, plan_redo, plan_undo
from takeback.undo.record import list_writes_between

Content = bytes | str | tuple[bytes | str, int] | None


def make_file(content: Content) -> File | None:
    """Return a file of bytes or text, alone or with its mode."""
    if content is None:
        return None
    data, mode = content if isinstance(content, tuple) else (content, 0o644)
    return File(data.encode() if isinstance(data, str) else data, mode)


class Project:
    """A project in memory: its state, its history, and which entries are undone."""

    def __init__(self, files: Mapping[str, Content], *, stored: bool = False) -> None:
        self.base = take_changes(State(), [FileVersion(p, None, make_file(c)) for p, c in files.items()]).state
        self.state = self.base
        self.history = History(lambda: self.base)
        self.store = open_journal(":memory:") if stored else None
        self.entries = 0
        self.taken: Taken | None = None

    def change(self, files: Mapping[str, Content]) -> int:
        """Take in new versions of some paths as one entry, and return its number."""
        there = dict(project_files(self.state))
        deltas = [FileVersion(path, there.get(path), make_file(content)) for path, content in files.items()]
        self.taken = take_changes(self.state, deltas)
        self.entries += 1
        writes = self.history.with_parents(list_writes_between(self.state, self.taken.state))
        if self.store is None:
            self.history.add(self.entries, writes)
        else:
            self.store.append([draft_change("adopt", writes, {})])
            self._read_again()
        self.state = self.taken.state
        return self.entries

    def _read_again(self) -> None:
        """Forget what is known of the journal, as a command that opens it anew."""
        self.history = History(lambda: self.base, Index(StoredIndex(self.store)), self.history.undone)

    def move(self, old: str, new: str) -> int:
        """Move a file."""
        file = dict(project_files(self.state))[old]
        return self.change({old: None, new: (file.content, file.mode)})

    def plan(self, *entries: int) -> Outcome:
        """Return the plan for taking entries back."""
        return plan_undo(self.history, self.state, entries)

    def undo(self, *entries: int) -> Plan:
        """Take entries back, which nothing must block."""
        return self.follow(self.plan(*entries))

    def redo(self, *entries: int) -> Plan:
        """Bring entries back, which nothing must block."""
        return self.follow(plan_redo(self.history, self.state, entries))

    def follow(self, plan: Outcome) -> Plan:
        """Do what a plan says, which must be one."""
        assert isinstance(plan, Plan), getattr(plan, "reasons", plan)
        self.history.toggle(plan.off, plan.on)
        if self.store is not None:
            self._read_again()
        self.state = plan.state
        return plan

    def blocked(self, *entries: int) -> tuple[tuple[int, ...], str]:
        """Return what blocks taking entries back, and why, in one text."""
        found = self.plan(*entries)
        assert isinstance(found, Blocked), found
        return found.entries, "; ".join(why for _, why in found.reasons)

    def cascade(self, *entries: int) -> Plan:
        """Take entries back with those that block."""
        found = self.plan(*entries)
        assert isinstance(found, Blocked)
        assert isinstance(found.together, Plan)
        return self.follow(found.together)

    @property
    def tree(self) -> dict[str, str | bytes | tuple[str, int]]:
        """Every real path with its text or bytes, and its mode where that is not the usual one."""
        found: dict[str, str | bytes | tuple[str, int]] = {}
        for path, file in project_files(self.state):
            assert path not in found, f"two files at {path}"
            try:
                text: str | bytes = file.content.decode()
            except UnicodeDecodeError:
                text = file.content
            found[path] = text if file.mode == 0o644 else (text, file.mode)  # type: ignore[assignment]
        return found

    def titles(self, entry: int) -> list[str]:
        """Return what an entry wrote, as people name it."""
        return [SURFACES["files"].slot_title(write.slot[1:]) for write in self.history.index.writes(entry)]
