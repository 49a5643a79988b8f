"""Random histories against the undo engine: every undo must equal the history without it.

Changes over all surfaces, crowded onto few keys and places; random sets undone and redone in random order;
each answer compared with `naive.replay`. A blocked answer must name exactly the entries that cannot replay,
and no part of that set may do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from takeback.journal.encoding import encode
from takeback.lab.naive import NaiveEntry, Plain, Step, begin, finish, replay
from takeback.lab.random_changes import FOCI, named_slots, random_base, random_op
from takeback.language.program import read_program
from takeback.state import ABSENT, Stage, State
from takeback.state.slots import get_slot, put_slots
from takeback.undo import Blocked, History, Plan, Write, plan_redo, plan_undo, relied_on
from takeback.undo.recording import Recorded, run_recorded, writes_between

MIN_CHANGES, MAX_CHANGES = 2, 40
BRUTE_FORCE = 2_000


@dataclass
class Findings:
    """What a run saw; anything but zero under `violations` or `blocked_not_minimal` is a defect."""

    histories: int = 0
    changes: int = 0
    undos: int = 0
    redos: int = 0
    blocked: int = 0
    """Undos and redos that cannot be done alone."""
    blocked_undos: int = 0
    unresolved: int = 0
    """Redos for which no small set of other entries was found that makes them possible."""
    violations: int = 0
    blocked_not_minimal: int = 0
    reported_before_admission: int = 0
    """New changes that made an earlier entry depend on them, each confirmed by replay."""
    examples: list[str] = field(default_factory=list)

    def violation(self, text: str) -> None:
        """Count a violation and keep the first few."""
        self.violations += 1
        if len(self.examples) < 5:  # noqa: PLR2004 - enough to start from
            self.examples.append(text)


@dataclass
class _World:
    """One history, twice: as the engine sees it and as plain data."""

    rng: random.Random
    found: Findings
    state: State
    history: History
    start: Plain
    focus: tuple[str, ...]
    entries: list[NaiveEntry] = field(default_factory=list)

    def live(self, *, without: frozenset[int] = frozenset(), plus: frozenset[int] = frozenset()) -> list[NaiveEntry]:
        """Entries that count, in order."""
        gone = (self.history.undone - plus) | without
        return [entry for entry in self.entries if entry.number not in gone]


def check_undo_laws(histories: int, seed: int = 0, progress: Callable[[int], None] = lambda _: None) -> Findings:
    """Run that many random histories and report."""
    found = Findings()
    for at in range(histories):
        _check_history(random.Random(f"{seed}/{at}"), found)
        found.histories += 1
        progress(at + 1)
    return found


def _check_history(rng: random.Random, found: Findings) -> None:
    base = random_base(rng)
    world = _World(rng, found, base, History(lambda: base), begin(base.write(), _places(base)), rng.choice(FOCI))
    changes = rng.randint(MIN_CHANGES, MAX_CHANGES)
    while len(world.entries) < changes:
        if world.entries and rng.random() < 0.3:  # noqa: PLR2004 - about one undo for two changes
            _undo_or_redo(world)
        elif rng.random() < 0.1:  # noqa: PLR2004 - now and then someone removes a thing by hand
            _remove_by_hand(world)
        else:
            _change(world)
    for _ in range(rng.randint(1, 6)):
        _undo_or_redo(world)


def _change(world: _World) -> None:
    rng = world.rng
    raw = [random_op(rng, world.state, world.focus) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    mutation = read_program(raw, Stage.FORWARD, "mutation")
    recorded = run_recorded(mutation, world.state)
    if not recorded.receipt.succeeded:
        return
    number = len(world.entries) + 1
    entry = NaiveEntry(number, _steps(raw, recorded, world.state))
    if rng.random() < 0.1:  # noqa: PLR2004 - costs a replay for each live entry
        _check_report(world, entry, recorded)
    _record(world, entry, recorded.writes, recorded.state)


def _remove_by_hand(world: _World) -> None:
    """An entry that a harness adopts after someone else removed something."""
    slots = [slot for slot in named_slots() if get_slot(world.state, slot) is not ABSENT]
    if slots:
        slot = world.rng.choice(slots)
        after = put_slots(world.state, [(slot, ABSENT)])
        entry = NaiveEntry(len(world.entries) + 1, (Step({"op_type": "remove", "target": list(slot)}),))
        _record(world, entry, writes_between(world.state, after), after)


def _record(world: _World, entry: NaiveEntry, writes: tuple[Write, ...], state: State) -> None:
    world.entries.append(entry)
    world.history.add(entry.number, writes)
    world.state = state
    world.found.changes += 1
    data, failed = replay(world.start, world.live())
    if failed or not _equal(data, world.state):
        world.found.violation(f"replay differs after change {entry.steps}")


def _check_report(world: _World, entry: NaiveEntry, recorded: Recorded) -> None:
    reported = set(relied_on(world.history, recorded.writes))
    needed, newly = set(), set()
    for other in world.live():
        rest = world.live(without=frozenset({other.number}))
        failed = replay(world.start, [*rest, entry])[1]
        if entry.number in failed:
            needed.add(other.number)
            if failed == [entry.number]:
                newly.add(other.number)
    world.found.reported_before_admission += len(newly)
    if not newly <= reported <= needed:
        world.found.violation(f"before admission: reported {sorted(reported)}, newly blocked {sorted(newly)}")


def _undo_or_redo(world: _World) -> None:
    rng = world.rng
    undone = sorted(world.history.undone)
    live = [entry.number for entry in world.live()]
    if undone and (not live or rng.random() < 0.4):  # noqa: PLR2004 - redo less often than undo
        _redo(world, frozenset(rng.sample(undone, min(len(undone), rng.choice((1, 1, 2))))))
    elif live:
        _undo(world, frozenset(rng.sample(live, min(len(live), rng.choice((1, 1, 1, 2, 3))))))


def _undo(world: _World, wanted: frozenset[int]) -> None:
    outcome = plan_undo(world.history, world.state, wanted)
    data, failed = replay(world.start, world.live(without=wanted))
    world.found.undos += 1
    if isinstance(outcome, Plan):
        if failed:
            world.found.violation(f"undo of {sorted(wanted)} went through although {failed} cannot replay")
        _settle(world, outcome, data)
    elif isinstance(outcome, Blocked) and isinstance(outcome.together, Plan):
        world.found.blocked += 1
        world.found.blocked_undos += 1
        if not failed:
            world.found.violation(f"undo of {sorted(wanted)} blocked by {outcome.entries} although all replay")
        if not _minimal(world, wanted, frozenset(outcome.off), frozenset(failed)):
            world.found.blocked_not_minimal += 1
        if world.rng.random() < 0.5:  # noqa: PLR2004 - cascade half of the time
            _settle(world, outcome.together, data)
    else:
        world.found.violation(f"undo of {sorted(wanted)} gave {outcome}")


def _minimal(world: _World, wanted: frozenset[int], blocking: frozenset[int], failed: frozenset[int]) -> bool:
    """Whether `blocking` is just what cannot replay, makes the undo possible, and no part of it would."""

    def possible(chosen: frozenset[int]) -> bool:
        return not replay(world.start, world.live(without=wanted | chosen))[1]

    return blocking == failed and possible(blocking) and not any(map(possible, _parts(blocking)))


def _parts(entries: frozenset[int]) -> Iterator[frozenset[int]]:
    """Every proper subset, largest first, as many as can be tried."""
    sizes = range(len(entries) - 1, 0, -1)
    parts = (frozenset(chosen) for size in sizes for chosen in combinations(sorted(entries), size))
    return islice(parts, BRUTE_FORCE)


def _redo(world: _World, wanted: frozenset[int]) -> None:
    outcome = plan_redo(world.history, world.state, wanted)
    data, failed = replay(world.start, world.live(plus=wanted))
    world.found.redos += 1
    if isinstance(outcome, Plan):
        if failed:
            world.found.violation(f"redo of {sorted(wanted)} went through although {failed} cannot replay")
        _settle(world, outcome, data)
    elif isinstance(outcome, Blocked):
        world.found.blocked += 1
        if not failed:
            world.found.violation(f"redo of {sorted(wanted)} blocked by {outcome.entries} although all replay")
        if isinstance(outcome.together, Plan):
            _redo_together(world, wanted, outcome, outcome.together)
        else:
            world.found.unresolved += 1
    else:
        world.found.violation(f"redo of {sorted(wanted)} gave {outcome}")


def _redo_together(world: _World, wanted: frozenset[int], outcome: Blocked, plan: Plan) -> None:
    def possible(off: frozenset[int], on: frozenset[int]) -> bool:
        return not replay(world.start, world.live(without=off, plus=wanted | on))[1]

    off, on = frozenset(outcome.off), frozenset(outcome.on)
    if not possible(off, on):
        world.found.violation(f"redo of {sorted(wanted)} with {outcome.entries} cannot replay")
    if any(possible(off & part, on & part) for part in _parts(off | on)):
        world.found.blocked_not_minimal += 1
    if world.rng.random() < 0.5:  # noqa: PLR2004 - cascade half of the time
        _settle(world, plan, replay(world.start, world.live(without=off, plus=wanted | on))[0])


def _settle(world: _World, plan: Plan, expected: Plain) -> None:
    """Carry a plan out and compare."""
    if not _equal(expected, plan.state):
        text = f"after off {plan.off} on {plan.on}: {encode(plan.state.write())} is not {encode(finish(expected))}"
        world.found.violation(text)
    world.history.toggle(plan.off, plan.on)
    world.state = plan.state


def _equal(data: Plain, state: State) -> bool:
    return encode(finish(data)) == encode(state.write())


def _places(state: State) -> dict[tuple[str, ...], Any]:
    places: dict[tuple[str, ...], Any] = {("middleware", link.id): link.place for link in state.part("middleware")}
    for event, chain in state.part("listeners").items():
        places.update({("listeners", event, link.id): link.place for link in chain})
    return places


def _steps(raw: list[Plain], recorded: Recorded, before: State) -> tuple[Step, ...]:
    """What each operation resolved: places from the receipt, kept modes from the states it ran through."""
    modes = {path: item.get("mode") for path, item in before.write().get("files", {}).items()}
    steps: list[Step] = []
    for op, write in zip(raw, recorded.receipt.writes, strict=True):
        mode = None
        if op["op_type"] == "write_file":
            mode = modes[op["target"]] = op["value"].get("mode") or modes.get(op["target"]) or "0644"
        steps.append(Step(op, write.resolved, mode))
    return tuple(steps)
