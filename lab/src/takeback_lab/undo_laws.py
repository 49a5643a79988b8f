"""Random histories against a harness: every undo must equal the history without it.

Changes of every kind, crowded onto few keys, lines, items and places, made through `Harness`, in memory and on a
stored journal that is reopened in between; things edited and removed by hand in between, and adopted; random sets
undone, redone and restored in random order. Each answer is compared with `naive.replay`. A blocked answer must name
exactly the entries that cannot replay, and no part of that set may do; an undo that changes nothing must say so. In
some histories what entries captured is forgotten now and then: that changes no answer, except that one which needs
what is gone says so.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path

from takeback.canonical import encode
from takeback.harness import Adopted, Applied, Undone
from takeback.state.slots import find_containing_slot
from takeback.undo import Blocked, Gone, Plan
from takeback_lab.law_world import World, reading
from takeback_lab.naive import NaiveEntry, Plain, finish, replay
from takeback_lab.random_changes import FOCI

MIN_CHANGES, MAX_CHANGES = 2, 40
STORED_CHANGES = 12
BRUTE_FORCE = 2_000
FORGETTING = 0.25
"""In which part of the histories things are forgotten."""
STORED_SHARE = 4
"""Every so many histories one is kept in a SQLite journal and reopened between operations."""


@dataclass
class LawFindings:
    """What a run saw; anything but zero under `violations` or `blocked_not_minimal` is a defect."""

    histories: int = 0
    stored_histories: int = 0
    """Histories kept in a SQLite journal that was closed and opened again between operations."""
    changes: int = 0
    undos: int = 0
    redos: int = 0
    restores: int = 0
    adoptions: int = 0
    forgets: int = 0
    gone: int = 0
    """Undos, redos and restores that need what was forgotten."""
    blocked: int = 0
    """Undos and redos that cannot be done alone."""
    blocked_undos: int = 0
    unresolved: int = 0
    """Redos for which no small set of other entries was found that makes them possible."""
    invisible: int = 0
    """Undos, redos and restores after which nothing is different."""
    invisible_said: int = 0
    violations: int = 0
    blocked_not_minimal: int = 0
    reported_before_admission: int = 0
    """New changes that made an earlier entry depend on them, each confirmed by replay."""
    kinds: list[str] = field(default_factory=list)
    """Kinds of operation that changes were made of."""
    examples: list[str] = field(default_factory=list)

    def violation(self, text: str) -> None:
        """Count a violation and keep the first few."""
        self.violations += 1
        if len(self.examples) < 5:  # noqa: PLR2004 - enough to start from
            self.examples.append(text)


def check_undo_laws(histories: int, seed: int = 0, progress: Callable[[int], None] = lambda _: None) -> LawFindings:
    """Run that many random histories and report."""
    found = LawFindings()
    for at in range(histories):
        check_history(at, seed, found)
        progress(at + 1)
    return found


def check_history(at: int, seed: int, found: LawFindings) -> None:
    """Run one random history; the same number and seed give the same one."""
    rng = random.Random(f"{seed}/{at}")
    stored = at % STORED_SHARE == 0
    with tempfile.TemporaryDirectory(prefix="takeback-laws-", dir=_memory_backed()) as directory:
        world = World(rng, rng.choice(FOCI), Path(directory) / "journal.db" if stored else None)
        try:
            _run(world, found, STORED_CHANGES if stored else MAX_CHANGES)
        finally:
            world.close()
    found.histories += 1
    found.stored_histories += stored


def _memory_backed() -> str | None:
    """A directory in which syncing is cheap, if the system has one: what is tested here is not the disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a fresh directory is made in it


def _run(world: World, found: LawFindings, most: int) -> None:
    """Make changes, undos and redos; one that went wrong ends there, for the rest would follow from that."""
    rng, wrong = world.rng, found.violations
    forgetting = rng.random() < FORGETTING
    for _ in range(rng.randint(MIN_CHANGES, most)):
        if found.violations > wrong:
            return
        world.maybe_reopen()
        if forgetting and world.entries and rng.random() < 0.15:  # noqa: PLR2004 - now and then
            _forget(world, found)
        elif world.entries and rng.random() < 0.3:  # noqa: PLR2004 - about one undo for two changes
            _toggle(world, found)
        elif rng.random() < 0.15:  # noqa: PLR2004 - now and then someone edits or removes a thing by hand
            _by_hand(world, found)
        else:
            _change(world, found)
    for _ in range(rng.randint(1, 6)):
        if found.violations > wrong:
            return
        world.maybe_reopen()
        _toggle(world, found)
    if forgetting and not world.sound():
        found.violation("a history of which things were forgotten is not whole")


def _change(world: World, found: LawFindings) -> None:
    attempt = world.attempt()
    if attempt is None:
        return
    if world.rng.random() < 0.1:  # noqa: PLR2004 - costs a replay for each live entry
        _check_report(world, attempt.entry, set(attempt.ties), found)
    done = world.apply(attempt)
    if not isinstance(done, Applied):
        found.violation(f"a change that can run was answered {done}")
        return
    found.changes += 1
    found.kinds = sorted({*found.kinds, *(op["op_type"] for op in attempt.raw)})
    _compare(world, found, f"after change {attempt.raw}")


def _by_hand(world: World, found: LawFindings) -> None:
    done = world.edit_by_hand()
    if done is None:
        return
    found.adoptions += 1
    if not isinstance(done, Adopted):
        found.violation(f"an edit by hand was answered {done}")
        return
    _compare(world, found, "after an adoption")


def _forget(world: World, found: LawFindings) -> None:
    state = world.state
    world.forget(frozenset(world.rng.sample([e.number for e in world.entries], 1)))
    found.forgets += 1
    if world.state != state:
        found.violation("forgetting changed the state")
    _compare(world, found, "after forgetting")


def _said_gone(world: World, found: LawFindings, outcome: object) -> bool:
    """Whether an answer is that what it needs was forgotten; that must be so, and nothing may have been changed."""
    if not isinstance(outcome, Gone):
        return False
    found.gone += 1
    for slot in map(find_containing_slot, outcome.slots):
        if not world.is_forgotten(slot):
            found.violation(f"{slot} is called gone, but nothing was forgotten there")
    _compare(world, found, "after an answer that something is gone")
    return True


def _compare(world: World, found: LawFindings, where: str) -> None:
    data, failed = replay(world.start, world.live())
    if failed or not _equal(data, world):
        found.violation(f"replay differs {where}: {encode(world.state.write())} is not {encode(finish(data))}")


def _check_report(world: World, entry: NaiveEntry, reported: set[int], found: LawFindings) -> None:
    needed, newly = set(), set()
    for other in world.live():
        rest = world.live(without=frozenset({other.number}))
        failed = replay(world.start, [*rest, entry])[1]
        if entry.number in failed:
            needed.add(other.number)
            if failed == [entry.number]:
                newly.add(other.number)
    found.reported_before_admission += len(newly)
    if not newly <= reported <= needed:
        found.violation(f"before admission: reported {sorted(reported)}, newly blocked {sorted(newly)}")


def _toggle(world: World, found: LawFindings) -> None:
    rng = world.rng
    undone, live = sorted(world.undone), [entry.number for entry in world.live()]
    if world.entries and rng.random() < 0.15:  # noqa: PLR2004 - now and then back, or forward, in time
        _restore(world, found)
    elif undone and (not live or rng.random() < 0.4):  # noqa: PLR2004 - redo less often than undo
        _redo(world, found, frozenset(rng.sample(undone, min(len(undone), rng.choice((1, 1, 2))))))
    elif live:
        _undo(world, found, frozenset(rng.sample(live, min(len(live), rng.choice((1, 1, 1, 2, 3))))))


def _restore(world: World, found: LawFindings) -> None:
    number, undone = world.rng.choice(world.moments)
    later = {entry.number for entry in world.entries if entry.number > number}
    if undone | later == world.undone:
        return
    found.restores += 1
    data, failed = replay(world.start, [e for e in world.entries if e.number not in undone | later])
    before = finish(replay(world.start, world.live())[0])
    outcome = world.harness.restore(*world.names(frozenset({number})))
    if _said_gone(world, found, outcome):
        return
    if failed or not isinstance(outcome, Undone):
        found.violation(f"restore to #{number} gave {outcome}")
        return
    _settle(world, found, outcome.plan, data, before)
    world.undone = set(undone | later)


def _undo(world: World, found: LawFindings, wanted: frozenset[int]) -> None:
    data, failed = replay(world.start, world.live(without=wanted))
    before = finish(replay(world.start, world.live())[0])
    outcome = world.harness.undo(*world.names(wanted))
    found.undos += 1
    if _said_gone(world, found, outcome):
        return
    if isinstance(outcome, Undone):
        if failed:
            found.violation(f"undo of {sorted(wanted)} went through although {failed} cannot replay")
        _settle(world, found, outcome.plan, data, before)
        world.undone |= wanted
    elif isinstance(outcome, Blocked) and isinstance(outcome.together, Plan | Gone):
        found.blocked += 1
        found.blocked_undos += 1
        if not failed:
            found.violation(f"undo of {sorted(wanted)} blocked by {outcome.entries} although all replay")
        if not _minimal(world, wanted, frozenset(outcome.off), frozenset(failed)):
            found.blocked_not_minimal += 1
        if world.rng.random() < 0.5:  # noqa: PLR2004 - cascade half of the time
            done = world.harness.undo(*world.names(wanted), cascade=True)
            if _said_gone(world, found, done):
                return
            if not isinstance(done, Undone):
                found.violation(f"undo of {sorted(wanted)} with what blocks it gave {done}")
                return
            _settle(world, found, done.plan, data, before)
            world.undone |= wanted | frozenset(outcome.off)
    else:
        found.violation(f"undo of {sorted(wanted)} gave {outcome}")


def _minimal(world: World, wanted: frozenset[int], blocking: frozenset[int], failed: frozenset[int]) -> bool:
    """Whether `blocking` is just what cannot replay, makes the undo possible, and no part of it would."""

    def possible(chosen: frozenset[int]) -> bool:
        return not replay(world.start, world.live(without=wanted | chosen))[1]

    return blocking == failed and possible(blocking) and not any(map(possible, _parts(blocking)))


def _parts(entries: frozenset[int]) -> Iterator[frozenset[int]]:
    """Every proper subset, largest first, as many as can be tried."""
    sizes = range(len(entries) - 1, 0, -1)
    parts = (frozenset(chosen) for size in sizes for chosen in combinations(sorted(entries), size))
    return islice(parts, BRUTE_FORCE)


def _redo(world: World, found: LawFindings, wanted: frozenset[int]) -> None:
    data, failed = replay(world.start, world.live(plus=wanted))
    before = finish(replay(world.start, world.live())[0])
    outcome = world.harness.redo(*world.names(wanted))
    found.redos += 1
    if _said_gone(world, found, outcome):
        return
    if isinstance(outcome, Undone):
        if failed:
            found.violation(f"redo of {sorted(wanted)} went through although {failed} cannot replay")
        _settle(world, found, outcome.plan, data, before)
        world.undone -= wanted
    elif isinstance(outcome, Blocked):
        found.blocked += 1
        if not failed:
            found.violation(f"redo of {sorted(wanted)} blocked by {outcome.entries} although all replay")
        if isinstance(outcome.together, Plan | Gone):
            _redo_together(world, found, wanted, outcome, before)
        else:
            found.unresolved += 1
    else:
        found.violation(f"redo of {sorted(wanted)} gave {outcome}")


def _redo_together(world: World, found: LawFindings, wanted: frozenset[int], outcome: Blocked, before: Plain) -> None:
    def possible(off: frozenset[int], on: frozenset[int]) -> bool:
        return not replay(world.start, world.live(without=off, plus=wanted | on))[1]

    off, on = frozenset(outcome.off), frozenset(outcome.on)
    if not possible(off, on):
        found.violation(f"redo of {sorted(wanted)} with {outcome.entries} cannot replay")
    if any(possible(off & part, on & part) for part in _parts(off | on)):
        found.blocked_not_minimal += 1
    if world.rng.random() < 0.5:  # noqa: PLR2004 - cascade half of the time
        done = world.harness.redo(*world.names(wanted), cascade=True)
        data = replay(world.start, world.live(without=off, plus=wanted | on))[0]
        if _said_gone(world, found, done):
            return
        if not isinstance(done, Undone):
            found.violation(f"redo of {sorted(wanted)} with what it needs gave {done}")
            return
        _settle(world, found, done.plan, data, before)
        world.undone = (world.undone | off) - wanted - on


def _settle(world: World, found: LawFindings, plan: Plan, expected: Plain, before: Plain) -> None:
    """Compare what a plan made with what it should have made, and what it said of it."""
    if not _equal(expected, world):
        text = f"after off {plan.off} on {plan.on}: {encode(world.state.write())} is not {encode(finish(expected))}"
        found.violation(text)
    if encode(before) == encode(finish(expected)):
        found.invisible += 1
        found.invisible_said += not plan.visible
    elif not plan.visible:
        found.violation(f"off {plan.off} on {plan.on} changed something and said that nothing shows")


def _equal(data: Plain, world: World) -> bool:
    return encode(reading(finish(data))) == encode(reading(world.state.write()))
