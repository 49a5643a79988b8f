"""Files keep their identity: a new look at some paths of a project becomes a state in which each file is the same.

A file that moved keeps its slot and its lines, and stands elsewhere. A file that is new gets a slot of its own.
Lines that are still there keep theirs; what is no text, a link, and a file that is too long are taken as a whole.
The writes of the change are `undo.record.list_writes_between` of the two states.

Which of the files that came is one that went is told by their content. Equal content first. Of several equal ones,
the one of the same name, then the one whose folder is nearest; where that leaves a choice, none of them moved.
Equal ones that are left over are named as twins either way. Then, of what is left, files that are alike by at least
half of their lines. A file that is quite another one now, and holds exactly what stood elsewhere, was replaced by
that: so files change places. One whose text stands elsewhere now, and which is quite another text, was moved there,
and a new one took its path.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from takeback.errors import HarnessError
from takeback.state import State, tree
from takeback.state.file import File
from takeback.state.file_paths import (
    FILES,
    SPARE,
    FileAt,
    choose_slot,
    find_file,
)
from takeback.state.pmap import PMap

MOST_BYTES: Final = 1 << 20
MOST_LINES: Final = 20_000


class Taken(NamedTuple):
    """The state with a change taken in, and what there is to say about it."""

    state: State
    moved: tuple[tuple[str, str], ...] = ()
    """Files that stand elsewhere now: from where, to where."""
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Paths of files that went, each with those of equal ones that came: which one it is, nobody can tell."""
    coarse: tuple[str, ...] = ()
    """Files of which some stretch was too long to be compared line by line, or that are too long altogether."""
    unlooked: int = 0
    """So many files went and came that they were not compared: none of them counts as moved unless it is equal."""


def take_changes(state: State, deltas: Iterable[FileVersion]) -> Taken:
    """Return the state with new versions of some real paths, each file keeping its identity.

    `before` must be what the state has at the path; a difference raises `HarnessError`.
    """
    deltas = [delta for delta in deltas if delta.before is not None or delta.after is not None]
    files: PMap = state.part(FILES)
    known = {delta.path: _require_known(files, delta) for delta in deltas}
    renames = find_renames(deltas)
    moved = dict(renames.moved)
    arrived = set(moved.values())
    after = {delta.path: delta.after for delta in deltas}
    coarse: list[str] = []
    new: PMap = files
    placed: list[tuple[FileAt, str, File]] = []
    fresh: list[str] = []
    for path, there in known.items():
        stays = there is not None and path not in moved and path not in arrived and after[path] is not None
        target = moved.get(path, path if stays else None)
        if there is not None and target is not None:
            placed.append((there, target, after[target]))  # type: ignore[arg-type]
        elif there is not None:
            new = tree.drop(new, there.slot)
        if not stays and path not in arrived and after[path] is not None:
            fresh.append(path)
    for there, target, version in placed:
        content, rough = _merge(there.file, version)
        coarse += [target] if rough else []
        new = tree.put(new, there.slot, place_file(there.slot, target, content, version.mode))
    for path in fresh:
        came, slot = after[path], choose_slot(path, files, new)
        if came is not None:
            new = tree.put(new, slot, place_file(slot, path, came.whole(), came.mode))
    result = state if new is files else State.of({**state.parts, FILES: new})
    return Taken(result, renames.moved, renames.twins, tuple(coarse), renames.unlooked)


def place_file(slot: tuple[str, ...], path: str, file: File, mode: int) -> File:
    """Return a file of a slot (within the surface) as it stands at a real path."""
    own = slot[0][:1] != SPARE and path == "/".join(slot)
    return file.with_frame(mode if own else (mode, path))


def _require_known(files: PMap, version: FileVersion) -> FileAt | None:
    there = find_file(files, version.path)
    if (there is None) != (version.before is None):
        stands = "no file" if there is None else "a file"
        expected = "none" if version.before is None else "one"
        raise HarnessError(
            f"the state has {stands} at {version.path!r}, and the change was made where there was {expected}",
            hint="take in what stood there before the change first",
        )
    return there


def _merge(known: File, fresh: File) -> tuple[File, bool]:
    """Return a file's new content with the identities of lines that are still there, and whether that is coarse."""
    if known.with_frame(fresh.frame) == fresh:
        return known, False
    if known.kind or fresh.kind:
        return fresh.whole(), False
    sides = (known.content, fresh.content)
    if any(b"\0" in side for side in sides):
        return fresh.whole(), False
    text, old = fresh.parts(), known.parts()
    if text is None or old is None:
        return fresh.whole(), False
    if any(len(side) > MOST_BYTES or side.count(b"\n") > MOST_LINES for side in sides):
        return fresh.whole(), True
    revised = old.revise_aligned(text.whole())
    return (fresh.whole(), False) if revised is None else (known.replace_parts(revised[0]), revised[1].coarse)


LIKE: Final = 0.5
"""How much of the larger of two files must be in the other one, for one to be the other."""
MOST_FILES: Final = 1000
"""So many files that went, and that came, are compared by their lines at most."""
MOST_TWINS: Final = 250_000
"""Pairs of equal files that are told apart by more than their name at most."""
COMMON: Final = 100
"""A line that more files than this have in common does not make them candidates."""


class FileVersion(NamedTuple):
    """What happened at one real path; None: nothing stood there."""

    path: str
    before: File | None
    after: File | None


class Renames(NamedTuple):
    """Which files moved, from where to where; which could have in other ways; how many were not looked at."""

    moved: tuple[tuple[str, str], ...]
    twins: tuple[tuple[str, tuple[str, ...]], ...]
    """Paths of files that went, each with all those of files that came and may be the same."""
    unlooked: int


class _Pair(NamedTuple):
    """A file that went and one that came, the better first: how alike, of another name, how far apart."""

    unlike: float
    renamed: bool
    far: int
    old: str
    new: str


def find_renames(deltas: Sequence[FileVersion]) -> Renames:
    """Return which files moved in one change."""
    broken = _find_replaced(deltas)
    gone = {
        delta.path: delta.before for delta in deltas if delta.before and (delta.after is None or delta.path in broken)
    }
    come = {
        delta.path: delta.after for delta in deltas if delta.after and (delta.before is None or delta.path in broken)
    }
    if not gone or not come:
        return Renames((), (), 0)
    moved: dict[str, str] = {}
    twins: dict[str, set[str]] = {}
    equal: dict[str, set[str]] = {}
    for pairs in _pair_equal(gone, come):
        _choose(pairs, moved, twins)
        equal |= _list_left(pairs, moved)
    for path in (*moved, *broken):
        gone.pop(path, None)
    for path in (*moved.values(), *broken):
        come.pop(path, None)
    unlooked = 0
    if len(gone) > MOST_FILES or len(come) > MOST_FILES:
        unlooked = len(gone) + len(come) if gone and come else 0
    else:
        _choose(_pair_alike(gone, come), moved, twins)
    for path in moved:
        twins.pop(path, None)
    candidates = ((old, tuple(sorted(new))) for old, new in sorted({**twins, **equal}.items()))
    return Renames(tuple(sorted(moved.items())), tuple(candidates), unlooked)


def _find_replaced(deltas: Sequence[FileVersion]) -> set[str]:
    """Return paths at which stands, unlike what did, exactly what stood elsewhere and does not stand there now."""
    both = [delta for delta in deltas if delta.before and delta.after]
    if len(deltas) < 2 or not both:  # noqa: PLR2004 - two paths at least
        return set()
    changed, given_up = [delta for delta in both if delta.after and delta.after.content], _find_given_up(deltas, both)
    sources: dict[tuple[int, str], set[str]] = defaultdict(set)
    for delta in deltas:
        if delta.before:
            sources[_key(delta.before)].add(delta.path)
    candidates = {
        delta.path: sources.get(_key(delta.after), set()) - {delta.path} for delta in changed if delta.after
    }
    whole = {delta.path for delta in changed if candidates[delta.path] and _is_unlike(delta)}
    left = {delta.path for delta in deltas if delta.after is None} | given_up
    while True:
        still = {path for path in whole if candidates[path] & (left | whole)}
        if still == whole:
            return whole | given_up
        whole = still


def _find_given_up(deltas: Sequence[FileVersion], both: Sequence[FileVersion]) -> set[str]:
    """Return paths at which stands a text unlike the one that did, which stands elsewhere now, where it did not."""
    changed = (
        delta for delta in deltas if delta.before is None or delta.after is None or delta.before != delta.after
    )
    came = {_key(delta.after) for delta in changed if delta.after}
    given = (delta for delta in both if delta.before and delta.before.content and _key(delta.before) in came)
    return {delta.path for delta in given if _is_text(delta) and _is_unlike(delta)}


def _is_text(delta: FileVersion) -> bool:
    """Tell whether both versions can be compared by lines; of others, a copy beside is no sign of a move."""
    sides = (delta.before, delta.after)
    return all(side is not None and (not side.content or _cut(side) is not None) for side in sides)


def _is_unlike(delta: FileVersion) -> bool:
    return bool(delta.before and delta.after) and _compare(_cut(delta.before), _cut(delta.after)) < LIKE


def _key(file: File) -> tuple[int, str]:
    return file.kind, file.digest


def _pair_equal(gone: dict[str, File], come: dict[str, File]) -> Iterator[list[_Pair]]:
    """Yield the pairs of each content that went somewhere and came somewhere; an empty file keeps its name."""
    old: dict[tuple[int, str], list[str]] = defaultdict(list)
    for path, file in gone.items():
        old[_key(file)].append(path)
    new: dict[tuple[int, str], list[str]] = defaultdict(list)
    for path, file in come.items():
        if _key(file) in old:
            new[_key(file)].append(path)
    for key, paths in new.items():
        strict = len(old[key]) * len(paths) > MOST_TWINS or not come[paths[0]].content
        yield list(_list_pairs(old[key], paths, strict=strict))


def _list_pairs(old: Sequence[str], new: Sequence[str], *, strict: bool) -> Iterator[_Pair]:
    named: dict[str, list[str]] = defaultdict(list)
    for path in new:
        named[_name(path)].append(path)
    for old_path in old:
        for new_path in named.get(_name(old_path), ()) if strict else new:
            if old_path != new_path:
                yield _Pair(
                    0.0, _name(old_path) != _name(new_path), _measure_distance(old_path, new_path), old_path, new_path
                )


def _pair_alike(gone: dict[str, File], come: dict[str, File]) -> list[_Pair]:
    old = {path: cut for path, file in gone.items() if (cut := _cut(file)) is not None}
    new = {path: cut for path, file in come.items() if (cut := _cut(file)) is not None}
    having: dict[bytes, list[str]] = defaultdict(list)
    for path, lines in old.items():
        for line in lines:
            having[line].append(path)
    pairs: list[_Pair] = []
    for two, lines in new.items():
        near = {path for line in lines if len(having.get(line, ())) <= COMMON for path in having.get(line, ())}
        for old_path in near:
            likeness = _compare(old[old_path], lines) if gone[old_path].kind == come[two].kind else 0.0
            if likeness >= LIKE:
                renamed = _name(old_path) != _name(two)
                pairs.append(_Pair(1 - likeness, renamed, _measure_distance(old_path, two), old_path, two))
    return pairs


def _choose(pairs: Iterable[_Pair], moved: dict[str, str], twins: dict[str, set[str]]) -> None:
    """Take the best pairs first; files that several pairs as good as each other are left for did not move."""
    ranks: dict[tuple[float, bool, int], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        ranks[pair[:3]].append(pair)
    taken, doubtful = set(moved.values()), {path for news in twins.values() for path in news}
    for rank in sorted(ranks):
        free = [
            pair
            for pair in ranks[rank]
            if pair.old not in moved and pair.old not in twins and pair.new not in taken and pair.new not in doubtful
        ]
        olds, news = Counter(pair.old for pair in free), Counter(pair.new for pair in free)
        for pair in free:
            if olds[pair.old] == news[pair.new] == 1:
                moved[pair.old] = pair.new
                taken.add(pair.new)
            else:
                twins.setdefault(pair.old, set()).add(pair.new)
                doubtful.add(pair.new)


def _list_left(pairs: Sequence[_Pair], moved: dict[str, str]) -> dict[str, set[str]]:
    """Return, of equal files, those that moved or went though another could have: each with all it may be."""
    taken, remaining = set(moved.values()), dict[str, set[str]]()
    for pair in pairs:
        if (pair.old in moved) != (pair.new in taken):
            remaining.setdefault(pair.old, set()).update({pair.new, moved.get(pair.old, pair.new)})
    return remaining


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _measure_distance(path: str, other: str) -> int:
    """Return how many steps of two folders are not common to both, from either end."""
    old, new = path.split("/")[:-1], other.split("/")[:-1]
    while old and new and old[0] == new[0]:
        old, new = old[1:], new[1:]
    while old and new and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    return len(old) + len(new)


def _cut(file: File | None) -> Counter[bytes] | None:
    """Return how often each line is in a file; None for one that is not compared by lines."""
    content = b"" if file is None else file.content
    if not content or len(content) > MOST_BYTES or b"\0" in content:
        return None
    return Counter(content.splitlines(keepends=True))


def _compare(lines: Counter[bytes] | None, others: Counter[bytes] | None) -> float:
    """Return how much of the larger of two files is in both, by bytes of equal lines."""
    if lines is None or others is None:
        return 0.0
    common = sum(min(count, others[line]) * len(line) for line, count in lines.items() if line in others)
    return common / max(sum(len(line) * count for line, count in side.items()) for side in (lines, others))
