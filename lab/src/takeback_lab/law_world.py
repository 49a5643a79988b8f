"""One random history twice: as a harness has it, in memory or on a stored journal, and as plain data."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from takeback.adapters import open_memory
from takeback.canonical import encode
from takeback.harness import Adopted, Applied, Refused
from takeback.harness.records import load_record_writes
from takeback.language import Candidate
from takeback.language.program import read_program
from takeback.repair.oracle import invert_mutation
from takeback.state import ABSENT, Level, Operation, Stage, State
from takeback.state.address import is_part
from takeback.state.chain import Link
from takeback.state.slots import Slot, get_slot, put_slots, transfer_places
from takeback.state.values import freeze, thaw
from takeback.undo import Write, find_dependencies
from takeback.undo.record import run_and_record
from takeback.verify import verify
from takeback.verify.sampled import reject_candidate
from takeback.verify.verdict import Code, Reason, Verdict
from takeback_lab.naive import NaiveEntry, Plain, Step, begin, changed_group, is_vacant, replay
from takeback_lab.naive_parts import Written, lengths
from takeback_lab.random_changes import named_slots, random_base, random_list, random_op, random_text

PROVED = 0.5
"""In which part of the stored histories changes are proved, so that each undo also goes by the recoveries."""


@dataclass(frozen=True)
class PossibleChange:
    """A change that can run: its operations, its entry for the naive replay, and the entries it would stand on."""

    raw: list[Plain]
    candidate: Candidate
    entry: NaiveEntry
    ties: dict[int, str]


class World:
    """A harness, what it began with as plain data, and which entries there are."""

    def __init__(self, rng: random.Random, focus: tuple[str, ...], stored: Path | None) -> None:
        self.rng = rng
        self.focus = focus
        self._stored = stored
        self._proved = stored is not None and rng.random() < PROVED
        base = random_base(rng)
        self.start = begin(base.write(), _places(base))
        self.harness = self._open(base)
        self.entries: list[NaiveEntry] = []
        self.undone: set[int] = set()
        self.moments: list[tuple[int, frozenset[int]]] = []
        """After which entry which entries were undone."""
        self._names: dict[int, str] = {}
        self._forgotten: set[Slot] = set()

    def _open(self, base: State | None) -> Any:
        journal = ":memory:" if self._stored is None else str(self._stored)
        return open_memory(base, journal=journal, verifier=verify if self._proved else _unverified)

    @property
    def state(self) -> State:
        """The harness's state."""
        state: State = self.harness.state
        return state

    def close(self) -> None:
        """Let the harness go."""
        self.harness.close()

    def maybe_reopen(self) -> None:
        """Close a stored journal and open it again."""
        if self._stored is not None:
            self.harness.close()
            self.harness = self._open(None)

    def live(self, *, without: frozenset[int] = frozenset(), plus: frozenset[int] = frozenset()) -> list[NaiveEntry]:
        """Entries that count, in order."""
        gone = (self.undone - plus) | without
        return [entry for entry in self.entries if entry.number not in gone]

    def names(self, numbers: frozenset[int]) -> list[str]:
        """Entries as a harness is asked for them."""
        return [self._names[number] for number in sorted(numbers)]

    def attempt(self) -> PossibleChange | None:
        """A random change; None if it cannot run."""
        rng = self.rng
        raw = [random_op(rng, self.state, self.focus) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        mutation = read_program(raw, Stage.FORWARD, "mutation")
        recorded = run_and_record(mutation, self.state)
        if not recorded.receipt.succeeded:
            return None
        entry = self._entry(mutation)
        ties = find_dependencies(self.harness.ledger.history, recorded.writes)
        return PossibleChange(raw, invert_mutation(mutation), entry, ties)

    def _entry(self, mutation: tuple[Operation, ...]) -> NaiveEntry:
        number = 2**40
        steps: list[Step] = []
        state = self.state
        for op in mutation:
            recorded = run_and_record((op,), state)
            data = replay(self.start, [*self.live(), NaiveEntry(number, tuple(steps))])[0]
            steps += _steps(op, recorded.writes, recorded.state, data)
            state = recorded.state
        return NaiveEntry(number, tuple(steps))

    def apply(self, attempt: PossibleChange) -> Applied | Refused:
        """Make the change."""
        done: Applied | Refused = self.harness.apply(attempt.candidate, force=True)
        if isinstance(done, Applied):
            self._record(done, attempt.entry)
        return done

    def _record(self, done: Applied | Adopted, entry: NaiveEntry) -> None:
        number = done.entry.entry
        self.entries.append(_renumbered(entry, number))
        self._names[number] = done.entry.id
        self.moments.append((number, frozenset(self.undone)))

    def edit_by_hand(self) -> Adopted | Refused | None:
        """Edit a text, or remove something, behind the harness's back, and have it adopted; None: nothing there."""
        slots = [slot for slot in named_slots() if get_slot(self.state, slot) is not ABSENT]
        if not slots:
            return None
        slot = self.rng.choice(slots)
        content = get_slot(self.state, slot)
        told = self._group_by_hand(content) if slot[-1] == "hooks" else {}
        actual = transfer_places(self._by_hand(slot, content, told), self.state)
        if actual == self.state:
            return None
        self.harness.adapter.edit(actual)
        done: Adopted | Refused | None = self.harness.adopt()
        if isinstance(done, Adopted):
            data = replay(self.start, self.live())[0]
            writes = self.harness.ledger.history.index.writes(done.entry.entry)
            steps = [Step({"op_type": "group", "target": list(slot), **told})] if told else _adopted(writes, data)
            self._record(done, NaiveEntry(0, tuple(steps)))
        return done

    def forget(self, numbers: frozenset[int]) -> None:
        """Forget what entries captured; what is in place stays, for nothing else has it."""
        writes = [
            w
            for number in numbers
            for w in load_record_writes(self.harness.journal, self.harness.journal.get(number))
        ]
        self._forgotten |= {write.slot for write in writes}
        self.harness.forget(*self.names(numbers))

    def is_forgotten(self, slot: Slot) -> bool:
        """Whether anything was forgotten at, above or below a slot."""
        return any(gone[: len(slot)] == slot or slot[: len(gone)] == gone for gone in self._forgotten)

    def sound(self) -> bool:
        """Whether the journal is whole and adds up to the state."""
        harness = self.harness
        return bool(harness.journal.check().whole and harness.ledger.replay_state() == self.state)

    def _by_hand(self, slot: Slot, content: Any, told: Plain) -> State:
        """The state with something edited by hand: mostly changed or moved, at times removed."""
        rng, stamp = self.rng, self.rng.randrange(1000)
        after: Any = ABSENT
        if told:
            after = Link(content.place, content.id, freeze(changed_group(thaw(content.record), told), "by hand"))
        elif rng.random() < 0.2:  # noqa: PLR2004 - now and then
            pass
        elif slot[0] == "prompts":
            after = random_text(rng, thaw(content), stamp)
        elif slot[0] == "files" and hasattr(content, "mode"):
            text = random_text(rng, content.content.decode(), stamp)
            after = type(content)(text.encode(), content.mode)
        elif slot[0] == "config" and isinstance(thaw(content), list):
            after = freeze(random_list(rng, thaw(content), stamp), "by hand")
        elif slot[0] == "middleware":
            chain, name = self.state.part("middleware"), slot[1]
            if rng.random() < 0.5:  # noqa: PLR2004 - a coin
                return State.of(
                    {**self.state.parts, "middleware": chain.insert(rng.randrange(4), name, content.record)[0]}
                )
            after = Link(content.place, name, content.record.put("handler", f"by hand {stamp}"))
        return put_slots(self.state, [(slot, after)])

    def _group_by_hand(self, content: Any) -> Plain:
        """What is changed in a group of hooks by hand: when they run, or one hook more or less."""
        hooks = [hook["command"] for hook in thaw(content.record)["options"]["hooks"]]
        number = 10_000 + len(self.entries)
        told = [{"matcher": f"by hand {number}"}, {"with": f"c{number}"}, {"without": self.rng.choice([*hooks, ""])}]
        return self.rng.choice(told)


def reading(state: Plain) -> Plain:
    """A state's JSON with empty surfaces left out, and the hooks of groups in the order of their names."""
    events = {event: list(map(_reading_of, callbacks)) for event, callbacks in state.get("listeners", {}).items()}
    return {name: part for name, part in {**state, "listeners": events}.items() if part}


def _reading_of(record: Plain) -> Plain:
    options = record["options"]
    if "hooks" not in options:
        return record
    hooks = sorted(options["hooks"], key=lambda hook: str(hook["command"]))
    return {**record, "options": {**options, "hooks": hooks}}


def _steps(op: Operation, writes: tuple[Write, ...], after: State, data: Plain) -> list[Step]:
    """What an operation did, as the naive replay takes it."""
    raw = op.to_json()
    if op.kind.name == "set_config":
        alone = is_vacant(data, raw["target"].split(".")) and set(lengths(raw["value"])) == {1}
        return [Step(raw, ownerless=alone)]
    if op.kind.inside:
        return _edits(writes, data)
    if op.kind.name == "remove_listener" and "value" not in raw:
        return [Step({"op_type": "remove", "target": list(write.slot)}) for write in writes]
    content = writes[0].after if writes else None
    if op.kind.name in {"move_middleware", "replace_middleware", "move_listener"} and isinstance(content, Link):
        return [Step({**raw, "record": thaw(content.record)}, content.place)]
    if op.kind.name == "move_file":
        moved = get_slot(after, ("files", *op.value))
        return [Step({**raw, "content": moved.content.decode()}, mode=f"{moved.mode:04o}")]
    place = content.place if isinstance(content, Link) else None
    mode = f"{content.mode:04o}" if op.kind.name == "write_file" and content is not None else None
    return [Step(raw, place, mode)]


def _edits(writes: tuple[Write, ...], data: Plain) -> list[Step]:
    """Parts that were written, by what they lie in."""
    found: dict[Slot, list[tuple[str, Any]]] = {}
    moved: dict[Slot, list[str]] = {}
    for write in writes:
        slot, name = write.slot[:-1], write.slot[-1][1:]
        part = None if write.after is ABSENT else (write.after.place, thaw(write.after.record))
        found.setdefault(slot, []).append((name, part))
        if not name.startswith("@") and part and write.before is not ABSENT and write.before.place != part[0]:
            moved.setdefault(slot, []).extend([name] if encode(thaw(write.before.record)) == encode(part[1]) else [])
    steps = []
    for slot, parts in found.items():
        whole = _whole(data, slot)
        op = {"op_type": "parts", "target": list(slot)}
        names = tuple(moved.get(slot, ()))
        steps.append(Step(op, parts=tuple(parts), ground=whole.when, moved=names, ownerless=whole.ownerless))
    return steps


def _whole(data: Plain, slot: Slot) -> Written:
    node: Any = data[slot[0]]
    for name in slot[1:]:
        node = node[name]
    content = node[0] if isinstance(node, tuple) else node
    if not isinstance(content, Written):
        raise TypeError(f"{slot} is neither a text nor a list")
    return content


def _adopted(writes: tuple[Write, ...], data: Plain) -> list[Step]:
    parts = tuple(write for write in writes if is_part(write.slot[-1]))
    steps = _edits(parts, data)
    for write in writes:
        if is_part(write.slot[-1]):
            continue
        surface, target = write.slot[0], write.slot[1:]
        if write.after is ABSENT:
            steps.append(Step({"op_type": "remove", "target": list(write.slot)}))
        elif surface == "prompts":
            steps.append(Step({"op_type": "set_prompt", "target": target[0], "value": thaw(write.after)}))
        elif surface == "config":
            op = {"op_type": "put_config", "target": list(write.slot), "value": thaw(write.after)}
            steps.append(Step(op, ownerless=is_vacant(data, list(target))))
        elif surface == "middleware":
            op = {"op_type": "element", "target": list(write.slot), "record": thaw(write.after.record)}
            steps.append(Step(op, write.after.place))
        else:
            op = {"op_type": "put_file", "target": "/".join(target), "value": write.after.content.decode()}
            steps.append(Step(op, mode=f"{write.after.mode:04o}"))
    return steps


def _renumbered(entry: NaiveEntry, number: int) -> NaiveEntry:
    """The entry under its number; what was made in it earlier is named by that as well."""

    def ground(step: Step) -> Any:
        return (number, step.ground[1]) if step.ground and step.ground[0] == entry.number else step.ground

    steps = (replace(step, ground=ground(step)) for step in entry.steps)
    return NaiveEntry(number, tuple(steps))


def _places(state: State) -> dict[tuple[str, ...], Any]:
    places: dict[tuple[str, ...], Any] = {("middleware", link.id): link.place for link in state.part("middleware")}
    for event, chain in state.part("listeners").items():
        places.update({("listeners", event, link.id): link.place for link in chain})
    return places


def _unverified(candidate: Candidate) -> Verdict:
    """Changes are forced: what is tested here is undo, not admission."""
    return reject_candidate([Reason(Code.TIMEOUT, "not verified")], "proof", Level.L2, candidate)
