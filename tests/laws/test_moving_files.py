"""Random histories of files that come, go, change and move, against a replay that shares no code with the engine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from tests.support.moving_files import Project
from tests.support.moving_naive import Naive, Seen

from takeback.state.file import LINK_MODE
from takeback.state.file_paths import list_files
from takeback.undo import Blocked, History, Plan, clashes, find_dependencies, plan_redo
from takeback.undo.record import list_writes_between

PATHS = ("a", "b", "c", "d/x", "d/y", "a/z", "d", "e/f/g", "e/f")


class World:
    """A project, the replay beside it, and random changes to both."""

    def __init__(self, seed: int, *, stored: bool = False) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        base = {path: self.text() for path in ("a", "b", "d/x", "d/y")}
        self.project = Project(base, stored=stored)
        self.naive = Naive(self.seen())
        self.first = self.project.tree
        self.kinds: Counter[str] = Counter()

    def word(self) -> str:
        self.count += 1
        return f"word {self.count} {'x' * self.rng.randrange(9)}\n"

    def text(self) -> str:
        return "".join(self.word() for _ in range(self.rng.randrange(6, 9)))

    def binary(self) -> bytes:
        self.count += 1
        return b"\xff\0" + str(self.count).encode()

    def seen(self):
        found = list_files(self.project.state.part("files"))
        return {one.slot: Seen(one.path, one.file.content, one.file.mode) for one in found}

    def free(self) -> list[str]:
        """Paths where a file could be put."""
        there = {one.path for one in self.seen().values()}
        return [
            path
            for path in PATHS
            if path not in there
            and not any(f"{path}/".startswith(f"{o}/") or o.startswith(f"{path}/") for o in there)
        ]

    def step(self) -> None:
        """Make one random change an entry."""
        there = {one.path: one for one in self.seen().values()}
        while True:
            kind = self.rng.choice(list(KINDS))
            change = KINDS[kind](self, there)
            if change:
                break
        self.kinds[kind] += 1
        number = self.project.change(change)
        self.naive.see(number, self.seen(), self.project.history.undone)

    def edited(self, data: bytes) -> bytes:
        lines = data.decode().splitlines(keepends=True)
        at, what = self.rng.randrange(len(lines)), self.rng.randrange(4)
        if what == 0 and len(lines) > 5:
            del lines[at]
        elif what == 1:
            lines.insert(self.rng.randrange(len(lines) + 1), self.word())
        else:
            lines[at] = self.word()
        return "".join(lines).encode()

    def live(self) -> set[int]:
        return set(range(1, self.project.entries + 1)) - self.project.history.undone

    @staticmethod
    def history_without(project: Project, entry: int) -> History:
        """The history up to an entry."""
        known = History(lambda: project.base, None, project.history.undone)
        for number in range(1, entry):
            known.add(number, project.history.index.writes(number))
        return known

    def tree_of(self, plan: Plan):
        found = list_files(plan.state.part("files"))
        return {one.path: (one.file.content, one.file.mode) for one in found}


def is_text(seen: Seen) -> bool:
    return b"\0" not in seen.data and seen.mode != LINK_MODE


def _edit(world, there):
    texts = [one for one in there.values() if is_text(one)]
    return {(one := world.rng.choice(texts)).path: (world.edited(one.data), one.mode)} if texts else None


def _create(world, there):
    free = world.free()
    made = world.rng.choice([world.text().encode(), world.text().encode(), world.binary()])
    return {world.rng.choice(free): made} if free else None


def _link(world, there):
    free = [*world.free(), *(path for path, one in there.items() if one.mode == LINK_MODE)]
    world.count += 1
    return {world.rng.choice(free): (f"target {world.count}", LINK_MODE)} if free else None


def _remove(world, there):
    return {world.rng.choice(list(there)): None} if len(there) > 2 else None


def _rename(world, there):
    free = world.free()
    if not there or not free:
        return None
    one = there[world.rng.choice(list(there))]
    return {one.path: None, world.rng.choice(free): (one.data, one.mode)}


def _rename_and_edit(world, there):
    free, texts = world.free(), [one for one in there.values() if is_text(one)]
    if not texts or not free:
        return None
    one = world.rng.choice(texts)
    return {one.path: None, world.rng.choice(free): (world.edited(one.data), one.mode)}


def _swap(world, there):
    if len(there) < 2:
        return None
    one, two = world.rng.sample(list(there.values()), 2)
    if {*one.data.splitlines()} & {*two.data.splitlines()}:
        return None  # one could be an edit of the other
    return {one.path: (two.data, two.mode), two.path: (one.data, one.mode)}


def _copy(world, there):
    free = world.free()
    one = there[world.rng.choice(list(there))] if there else None
    return {world.rng.choice(free): (one.data, one.mode)} if one and free else None


def _chmod(world, there):
    files = [one for one in there.values() if one.mode != LINK_MODE]
    if not files:
        return None
    one = world.rng.choice(files)
    return {one.path: (one.data, 0o755 if one.mode == 0o644 else 0o644)}


def _rewrite(world, there):
    files = [one for one in there.values() if one.mode != LINK_MODE]
    made = world.rng.choice([world.text().encode(), world.binary()])
    return {(one := world.rng.choice(files)).path: (made, one.mode)} if files else None


def _turn(world, there):
    """A link where a file was, or a file where a link was."""
    if not there:
        return None
    one = there[world.rng.choice(list(there))]
    world.count += 1
    return {one.path: world.text() if one.mode == LINK_MODE else (f"target {world.count}", LINK_MODE)}


KINDS = {
    "edit": _edit,
    "edit again": _edit,
    "create": _create,
    "link": _link,
    "remove": _remove,
    "rename": _rename,
    "rename again": _rename,
    "rename and edit": _rename_and_edit,
    "swap": _swap,
    "copy": _copy,
    "chmod": _chmod,
    "rewrite": _rewrite,
    "turn": _turn,
}


def check_history(seed: int, *, stored: bool = False) -> Counter[str]:
    """Make a history, take entries back and bring them back in between, and compare every step with the replay."""
    world = World(seed, stored=stored)
    project, rng = world.project, world.rng
    told: Counter[str] = Counter()
    for _ in range(rng.randrange(6, 13)):
        for _ in range(rng.randrange(1, 4)):
            world.step()
        live = world.live()
        assert world.tree_of(project.plan()) == world.naive.replay(live).tree
        if not live:
            continue
        off = set(rng.sample(sorted(live), min(len(live), rng.choice((1, 1, 1, 2, 3)))))
        wanted, found = world.naive.replay(live - off), project.plan(*off)
        if isinstance(found, Blocked):
            assert set(found.off) == wanted.blocked, (seed, off, found.reasons, wanted.blocked)
            assert isinstance(found.together, Plan)
            assert world.tree_of(found.together) == wanted.tree
            assert len(wanted.blocked) > 0
            told["blocked"] += 1
            told["clash"] += any("puts a file" in why for _, why in found.reasons)
            found = found.together
        else:
            assert isinstance(found, Plan)
            assert not wanted.blocked, (seed, off, wanted.blocked)
            assert world.tree_of(found) == wanted.tree, (seed, off)
        told["undone"] += 1
        before = project.tree
        project.follow(found)
        back = plan_redo(project.history, project.state, found.off)
        assert isinstance(back, Plan), (seed, found.off, back)
        assert world.tree_of(back) == {p: (f.content, f.mode) for p, f in _files(found.before)}
        if rng.random() < 0.6:
            project.follow(back)
            assert project.tree == before
        elif project.history.undone and rng.random() < 0.5:
            _bring_one_back(world, told)
        world.naive.now = world.seen()
    _take_all_back(world)
    return told + world.kinds


def check_histories(seeds: Iterable[int]) -> Counter[str]:
    """Check several histories, some of them as a journal that is opened anew each time."""
    return sum((check_history(seed, stored=seed % 4 == 3) for seed in seeds), Counter())


def _files(state):
    return ((one.path, one.file) for one in list_files(state.part("files")))


def _bring_one_back(world: World, told: Counter[str]) -> None:
    entry = world.rng.choice(sorted(world.project.history.undone))
    wanted = world.naive.replay(world.live() | {entry})
    found = plan_redo(world.project.history, world.project.state, [entry])
    assert isinstance(found, Plan) == (not wanted.blocked), (entry, wanted.blocked, found)
    if isinstance(found, Plan):
        assert world.tree_of(found) == wanted.tree
        world.project.follow(found)
        told["brought back"] += 1


def _take_all_back(world: World) -> None:
    order = sorted(world.live())
    world.rng.shuffle(order)
    for entry in order:
        if entry in world.project.history.undone:
            continue
        found = world.project.plan(entry)
        world.project.follow(found.together if isinstance(found, Blocked) else found)
    assert world.project.tree == world.first


def test_undo_with_moved_files_matches_an_independent_replay():
    told = check_histories(range(60))
    assert told["undone"] > 200
    assert told["blocked"] > 40
    assert told["clash"] > 10
    assert told["brought back"] > 10
    assert not KINDS.keys() - told.keys()


@pytest.mark.parametrize("mistake", ["nothing clashes", "frames lie in contents", "only paths as they were"])
def test_an_engine_that_loses_files_is_caught(monkeypatch, mistake):
    if mistake == "nothing clashes":
        monkeypatch.setattr(clashes.ClashFinder, "find", lambda *_: None)
    elif mistake == "frames lie in contents":
        monkeypatch.setattr("takeback.undo.history.History.find_framing", lambda s, *a: s.find_cover(*a))
    else:
        monkeypatch.setattr(clashes, "_list_claiming", lambda *_: iter(()))
    with pytest.raises(AssertionError):
        check_histories(range(200))


def test_a_new_entry_depends_on_exactly_the_entries_whose_undo_it_blocks():
    found = 0
    for seed in range(40):
        world = World(seed, stored=seed % 4 == 3)
        for _ in range(14):
            before, earlier = world.project.state, world.live()
            world.step()
            writes = list_writes_between(before, world.project.state)
            known = World.history_without(world.project, world.project.entries)
            wanted = {
                entry
                for entry in earlier
                if isinstance(plan := world.project.plan(entry), Blocked) and world.project.entries in plan.off
            }
            assert set(find_dependencies(known, writes)) == wanted, (seed, world.project.entries)
            found += len(wanted)
    assert found > 100


@pytest.mark.long
def test_two_thousand_histories_with_moved_files_match_the_replay():
    check_histories(range(1000, 3000))
