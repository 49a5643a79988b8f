"""A replay of what happened to the files of a project, which shares no code with the engine.

It is told only what anyone could see: after each entry, which file (by a name that never changes) stands where with
which bytes and mode. From that it works out what each entry did, and what any set of entries leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

Name = tuple[str, ...]
REGULAR = 0


class Seen(NamedTuple):
    """A file as it can be seen."""

    path: str
    data: bytes
    mode: int


class Fact(NamedTuple):
    """One thing that an entry did to one file."""

    entry: int
    what: str
    """create, remove, content, mode, path, line"""
    value: object
    ground: int = 0
    """For `mode` and `path`: the entry that made the file; for `line`: the one that put its content there."""


def kind(mode: int) -> int:
    """What a file is: 0 for a regular one."""
    return 0 if mode >> 12 in {0, 8} else mode >> 12


def cut(data: bytes) -> list[str] | None:
    """The lines of a text."""
    if b"\0" in data:
        return None
    try:
        return data.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


@dataclass
class Line:
    """A line through time: who wrote it, and what; None: taken out."""

    versions: list[tuple[int, str | None]]


@dataclass
class Life:
    """Everything that ever happened to one file, and the lines of each content it had."""

    facts: list[Fact] = field(default_factory=list)
    lines: dict[int, list[Line]] = field(default_factory=dict)


class Result(NamedTuple):
    """What a set of entries leaves: the tree, and entries of the set that could not have happened."""

    tree: dict[str, tuple[bytes, int]]
    blocked: frozenset[int]


class Standing(NamedTuple):
    """A file at the end of a replay, and the entry that put it where it is."""

    seen: Seen
    since: int


class Naive:
    """The files of a project, from what was seen."""

    def __init__(self, base: dict[Name, Seen]) -> None:
        self.lives: dict[Name, Life] = {}
        self.now = base
        for name, seen in base.items():
            self._create(name, 0, seen)

    def _create(self, name: Name, entry: int, seen: Seen) -> None:
        life = self.lives.setdefault(name, Life())
        life.facts.append(Fact(entry, "create", seen))
        life.lines[entry] = [Line([(entry, line)]) for line in cut(seen.data) or ()]

    def see(self, entry: int, after: dict[Name, Seen], undone: set[int]) -> None:
        """Take in what is seen after a new entry."""
        live = set(range(entry)) - undone
        for name in {*self.now, *after}:
            old, new = self.now.get(name), after.get(name)
            if new is None:
                self.lives[name].facts.append(Fact(entry, "remove", None))
            elif old is None:
                self._create(name, entry, new)
            elif old != new:
                self._change(name, entry, old, new, live)
        self.now = after

    def _change(self, name: Name, entry: int, old: Seen, new: Seen, live: set[int]) -> None:
        life = self.lives[name]
        content, frame = self._grounds(name, live)
        if kind(old.mode) != kind(new.mode):
            self._create(name, entry, new)
            return
        before, after = cut(old.data), cut(new.data)
        if old.data != new.data and (kind(new.mode) or not before or not after or not {*before} & {*after}):
            life.facts.append(Fact(entry, "content", new))
            life.lines[entry] = [Line([(entry, line)]) for line in after or ()]
        elif old.data != new.data and before is not None and after is not None:
            for line in self._edit(life.lines[content], entry, before, after, live):
                life.facts.append(Fact(entry, "line", line, content))
        if old.mode != new.mode:
            life.facts.append(Fact(entry, "mode", new.mode, frame))
        if old.path != new.path:
            life.facts.append(Fact(entry, "path", new.path, frame))

    @staticmethod
    def _edit(lines: list[Line], entry: int, old: list[str], new: list[str], live: set[int]) -> Iterator[Line]:
        """Make one line another, or take one out or put one in."""
        there = [at for at, line in enumerate(lines) if _value(line, live) is not None]
        assert [_value(lines[at], live) for at in there] == old, "the replay lost the text"
        low = 0
        while low < min(len(old), len(new)) and old[low] == new[low]:
            low += 1
        gone, come = len(old) - low, len(new) - low
        while gone and come and old[low + gone - 1] == new[low + come - 1]:
            gone, come = gone - 1, come - 1
        assert (gone, come) in {(1, 1), (1, 0), (0, 1)}, (old, new)
        if gone:
            line = lines[there[low]]
            line.versions.append((entry, new[low] if come else None))
        else:
            line = Line([(entry, new[low])])
            at = there[low - 1] + 1 if low else 0  # beyond everything that ever stood at that end
            lines.insert(len(lines) if low == len(old) else at, line)
        yield line

    def _grounds(self, name: Name, live: set[int]) -> tuple[int, int]:
        """The entries that put a file's content there, and the file."""
        content = frame = -1
        for fact in self.lives[name].facts:
            if fact.entry not in live:
                continue
            if fact.what == "create":
                content = frame = fact.entry
            elif fact.what == "remove":
                content = frame = -1
            elif fact.what == "content":
                content, frame = fact.entry, fact.entry if frame < 0 else frame
        return content, frame

    def replay(self, live: Iterable[int]) -> Result:
        """What these entries leave, and which of them could not have happened."""
        left, blocked = {0, *live}, set()
        while True:
            impossible = min((entry for entry in map(self._impossible(left), self._order()) if entry), default=0)
            standing = {} if impossible else self._standing(left)
            if not impossible:
                impossible = self._clash(standing)
            if not impossible:
                tree = {one.seen.path: (one.seen.data, one.seen.mode) for one in standing.values()}
                return Result(tree, frozenset(blocked))
            left.discard(impossible)
            blocked.add(impossible)

    def _order(self) -> list[tuple[Name, Fact]]:
        facts = [(name, fact) for name, life in self.lives.items() for fact in life.facts]
        return sorted(facts, key=lambda one: (one[1].entry, one[0]))

    def _impossible(self, live: set[int]):
        def check(one: tuple[Name, Fact]) -> int:
            name, fact = one
            if fact.entry not in live or not fact.entry:
                return 0
            before = {entry for entry in live if entry < fact.entry}
            content, frame = self._grounds(name, before)
            if fact.what == "line" and content != fact.ground:
                return fact.entry
            if fact.what in {"mode", "path"} and frame != fact.ground:
                return fact.entry
            if fact.what in {"create", "content"}:
                above = (name[:depth] for depth in range(1, len(name)))
                if any(other in self.lives and self._grounds(other, before)[0] >= 0 for other in above):
                    return fact.entry
            if fact.what == "create" and self._was_folder(name, before):
                return fact.entry
            return 0

        return check

    def _was_folder(self, name: Name, live: set[int]) -> bool:
        """Whether files came below a path: the folder stays when they go, until the entries that made it do."""
        below = (life for other, life in self.lives.items() if other != name and other[: len(name)] == name)
        return any(fact.entry in live and fact.what in {"create", "content"} for life in below for fact in life.facts)

    def _standing(self, live: set[int]) -> dict[Name, Standing]:
        found = {}
        for name, life in self.lives.items():
            content, frame = self._grounds(name, live)
            if content < 0:
                continue
            made = next(fact for fact in life.facts if fact.entry == frame and fact.what in {"create", "content"})
            put = next(fact for fact in life.facts if fact.entry == content and fact.what in {"create", "content"})
            assert isinstance(made.value, Seen)
            assert isinstance(put.value, Seen)
            path, mode, since, data = made.value.path, made.value.mode, frame, put.value.data
            for fact in life.facts:
                if fact.entry in live and fact.ground == frame and fact.what == "mode":
                    mode = fact.value
                if fact.entry in live and fact.ground == frame and fact.what == "path":
                    path, since = fact.value, fact.entry
            if life.lines[content]:
                lines = (_value(line, live) for line in life.lines[content])
                data = "".join(line for line in lines if line is not None).encode()
            found[name] = Standing(Seen(path, data, mode), since)
        return found

    @staticmethod
    def _clash(standing: dict[Name, Standing]) -> int:
        """The entry of the file that came later to where another one stands; the earliest such."""
        files = sorted(standing.items(), key=lambda one: one[1].since)
        found = 0
        for at, (_, one) in enumerate(files):
            for _, two in files[at + 1 :]:
                a, b = f"{one.seen.path}/", f"{two.seen.path}/"
                if (a.startswith(b) or b.startswith(a)) and (not found or two.since < found):
                    found = two.since
        return found


def _value(line: Line, live: set[int]) -> str | None:
    return next((value for entry, value in reversed(line.versions) if entry in live), None)
