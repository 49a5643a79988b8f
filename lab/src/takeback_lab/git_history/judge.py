"""A second opinion on what taking a commit out did: own line histories, no code shared with Takeback.

It is told each commit as git shows it (renames by git's likeness) and follows who wrote each line. A result is wrong
in silence where a line came or went that is in no stretch which the commit rewrote, where a line, file, mode or
path that is still the commit's stayed, or did not come back, and nothing was said of that file. A stretch is what
changed with at most `NEAR` equal lines in between: which line of it stands for which is a matter of reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

NO_NEWLINE = "\0no newline at the end"
NEAR = 3
MOST = 4_000_000
"""Pairs of lines from which on difflib may take frequent ones for noise."""


def cut(data: bytes | None) -> list[str]:
    """Return the lines of a text; what is no text counts as one line."""
    if data is None:
        return []
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [repr(data)]
    if "\0" in text:
        return [repr(data)]
    lines = text.split("\n")
    if lines.pop():
        return [*text.split("\n"), NO_NEWLINE]
    return lines


@dataclass
class Followed:
    """A file through time: where it stands, and who wrote each line of it."""

    path: str | None
    mode: int
    lines: list[tuple[str, int]]
    made: int
    paths: set[str] = field(default_factory=set)
    whole: int = -1
    """The last commit that left no line as it was."""


@dataclass
class Part:
    """What a commit did to one file."""

    file: Followed
    before: str | None
    after: str | None
    old_mode: int
    new_mode: int
    wrote: Counter[str] = field(default_factory=Counter)
    took: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    """Of what it took out, what nothing stands in place of."""
    around: Counter[str] = field(default_factory=Counter)
    """The equal lines within the stretches that it rewrote."""


class Judge:
    """Follows a history commit by commit, and judges results against it."""

    def __init__(self, base: Mapping[str, tuple[int, bytes]]) -> None:
        self._files: dict[str, Followed] = {
            path: Followed(path, mode, [(line, -1) for line in cut(data)], -1, {path})
            for path, (mode, data) in base.items()
        }
        self._parts: dict[int, list[Part]] = {}

    def see(self, at: int, changes: Iterable[tuple[str, str, str, int, bytes | None]]) -> None:
        """Take in a commit: status, path before, path after, mode and content after of each file."""
        parts: list[Part] = []
        there: dict[str, Followed] = {}
        gone: set[str] = set()
        for status, old, new, mode, data in changes:
            if status in "AC":
                file = Followed(new, mode, [(line, at) for line in cut(data)], at, {new})
                parts.append(Part(file, None, new, mode, mode, Counter(cut(data))))
                there[new] = file
                continue
            file = self._files[old]
            part = Part(file, old, None if status == "D" else new, file.mode, mode)
            self._edit(file, at, cut(data), part)
            if status == "D":
                file.path = None
                gone.add(old)
            else:
                file.path, file.mode = new, mode
                file.paths.add(new)
                gone.add(old)
                there[new] = file
            parts.append(part)
        for path in gone:
            self._files.pop(path, None)
        self._files.update(there)
        self._parts[at] = parts

    @staticmethod
    def _edit(file: Followed, at: int, new: list[str], part: Part) -> None:
        old = [line for line, _ in file.lines]
        matcher = SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > MOST)
        lines: list[tuple[str, int]] = []
        kept = 0
        steps = matcher.get_opcodes()
        for at_step, (tag, low, high, first, last) in enumerate(steps):
            if tag == "equal":
                lines += file.lines[low:high]
                kept += high - low
                if high - low <= NEAR and 0 < at_step < len(steps) - 1:
                    part.around.update(old[low:high])
                continue
            part.took.update(old[low:high])
            part.wrote.update(new[first:last])
            if tag == "delete":
                part.dropped.update(old[low:high])
            lines += [(line, at) for line in new[first:last]]
        if old and not kept:
            file.whole = at
        file.lines = lines

    def find_faults(
        self,
        at: int,
        changes: Mapping[str, tuple[int, bytes] | None],
        now: Mapping[str, tuple[int, bytes]],
        said: set[str],
    ) -> Iterator[str]:
        """Yield what is wrong in silence: `changes` by path without commit `at`; `now` what stands at those paths.

        `said` are the paths of files of which it was said that something of the commit stays.
        """
        left = dict(changes)
        for part in self._parts.get(at, ()):
            paths = {path for path in (part.file.path, part.before, part.after) if path is not None}
            mine = {path: left.pop(path) for path in paths if path in left}
            yield from self._judge(at, part, mine, {p: now[p] for p in paths if p in now}, bool(paths & said))
        if left and not said:
            yield f"files that it did not touch: {', '.join(sorted(left)[:3])}"

    def find_taken(
        self, at: int, changes: Mapping[str, tuple[int, bytes] | None], now: Mapping[str, tuple[int, bytes]]
    ) -> Iterator[str]:
        """Yield lines that a result takes out with commit `at` although a later commit wrote them.

        Only lines that stand once in their file count: of several equal ones, which is whose is a matter of reading.
        """
        for part in self._parts.get(at, ()):
            path = part.file.path
            result = None if path is None else changes.get(path)
            if path is None or result is None or path not in now:
                continue
            before, after = Counter(cut(now[path][1])), Counter(cut(result[1]))
            later = {line for line, who in part.file.lines if who > at}
            yield from (
                f"{path}: {line!r}" for line in before - after if before[line] == 1 and line.strip() and line in later
            )

    def find_unexplained(
        self,
        at: int,
        ours: Mapping[str, tuple[int, bytes] | None],
        theirs: Mapping[str, tuple[int, bytes] | None],
        now: Mapping[str, tuple[int, bytes]],
    ) -> Iterator[str]:
        """Yield what differs between two results without commit `at`, and no later commit decided.

        A later commit decided about a line that only `theirs` takes out if it wrote it, and about one that only
        `theirs` brings back if it took it out once more.
        """
        for path in sorted({*ours, *theirs}):
            mine, other = (side.get(path, now.get(path)) for side in (ours, theirs))
            if mine == other:
                continue
            part = next((part for part in self._parts.get(at, ()) if part.file.path == path), None)
            if part is None or mine is None or other is None or mine[0] != other[0]:
                yield f"{path}: not only lines differ"
                continue
            kept, brought = Counter(cut(mine[1])), Counter(cut(other[1]))
            wrote = {line for line, who in part.file.lines if who > at}
            took = {line for later in self._list_later(at, part.file) for line in later.took}
            yield from (f"{path}: {line!r} is nobody's later" for line in kept - brought if line not in wrote)
            yield from (f"{path}: {line!r} was not taken out later" for line in brought - kept if line not in took)

    def has_dependent(self, at: int) -> bool:
        """Tell whether a later commit changed a file that commit `at` made or moved."""
        made = (part.file for part in self._parts.get(at, ()) if part.before != part.after and part.after is not None)
        return any(True for file in made for _ in self._list_later(at, file))

    def _list_later(self, at: int, file: Followed) -> Iterator[Part]:
        """Yield what later commits did to a file."""
        return (part for when, parts in self._parts.items() if when > at for part in parts if part.file is file)

    def _judge(
        self,
        at: int,
        part: Part,
        changes: Mapping[str, tuple[int, bytes] | None],
        now: Mapping[str, tuple[int, bytes]],
        kept: bool,
    ) -> Iterator[str]:
        name = part.file.path or part.before or part.after
        before = Counter(line for path in changes if path in now for line in cut(now[path][1]))
        after = Counter(line for found in changes.values() if found is not None for line in cut(found[1]))
        strange = (before - after) - part.wrote - part.around
        if strange:
            yield f"{name}: lost {next(iter(strange))!r}, which it did not write"
        strange = (after - before) - part.took - part.around
        if strange:
            yield f"{name}: got {next(iter(strange))!r}, which it did not take out"
        if not kept:
            yield from self._judge_rest(at, part, changes, before - after, after - before)

    def _judge_rest(
        self,
        at: int,
        part: Part,
        changes: Mapping[str, tuple[int, bytes] | None],
        lost: Counter[str],
        got: Counter[str],
    ) -> Iterator[str]:
        """Yield what is still the commit's and stayed."""
        file, name = part.file, part.file.path or part.before or part.after
        own = Counter(line for line, who in file.lines if who == at) if file.path is not None else Counter[str]()
        stayed = own - lost - part.took
        if stayed:
            yield f"{name}: {next(iter(stayed))!r} is still its own and stayed"
        missing = part.dropped - got - part.wrote
        if missing and file.path is not None and file.whole <= at:
            yield f"{name}: {next(iter(missing))!r} did not come back"
        moved = part.before and part.after and part.before != part.after
        if moved and file.path == part.after and changes.get(part.before or "") is None:
            yield f"{name}: was not moved back to {part.before}"
        if part.before and part.after and part.old_mode != part.new_mode == file.mode:
            there = next((found for found in changes.values() if found is not None), None)
            if there is None or there[0] != part.old_mode:
                yield f"{name}: its mode stayed"
