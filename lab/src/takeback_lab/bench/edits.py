"""Taking the third of six edits out of a text or a list, against peers in the same run, and what one edit costs.

Each history is told twice: as operations, so that the span of every edit is known (`right_known`), and as versions
someone else wrote, which are adopted (`right_adopted`). Truth is kept by the generators, record by record.

What is right (SPEC: undo by parts): a line or item that only the third edit added is gone; one that it removed is
back at its place; one that it rewrote has its version before. A line that a later edit wrote again keeps that later
version, also where the third edit had added it ("dependent"): nothing is refused there, and the plan says what was
kept. Where a later edit removed an item that the third had added, it depends on the third: we must refuse, for a peer
either is right.
`refused` counts other undos that were not made, `wrong` those that were made and gave something else, in silence
for a peer; for ours, `wrong_said` of them come after an adoption that said it had several readings, and
`silently_wrong` after none that did. Beside the five classes of texts, `places` are saves that each changed several
places of a text without equal lines, lines moved among them; `sorted` are lists that someone sorted by hand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from time import perf_counter
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.adapters.memory import MemoryAdapter
from takeback.harness import Adopted, Applied, Harness, Undone
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback_lab.bench.edit_growth import SIZES, measure_growth
from takeback_lab.bench.edit_peers import LIST_PEERS, TEXT_PEERS, Peer, PeerParts, PeerVersions
from takeback_lab.bench.histories import CLASSES, EDITS, TAKEN_OUT, TextHistory, histories
from takeback_lab.bench.list_histories import ListHistory, list_histories, sorted_histories
from takeback_lab.bench.place_histories import place_histories

EACH: Final = 100
"""Histories of each class: 500 of texts, 400 of lists."""
_FILE, _KEY = "rules.md", "permissions.allow"
_RIGHT, _REFUSED, _WRONG = "right", "refused", "wrong"


@dataclass(frozen=True, slots=True)
class EditCase:
    """A history as both sides see it: versions as lines or items, operations, and what is right."""

    kind: str
    versions: PeerVersions
    operations: tuple[tuple[dict[str, Any], ...], ...]
    right: PeerParts
    state: Callable[[PeerParts], State]
    parts: Callable[[State], PeerParts]
    depends: bool = False
    """Whether a later edit could not have been made without the third."""
    open: tuple[bool, ...] = (False,) * EDITS
    """Of each edit, whether what came can have been put before or after what had stood there."""

    @property
    def one_operation(self) -> bool:
        """Whether every edit was made in one place."""
        return bool(self.operations) and self.kind != CLASSES[-1]


@dataclass(frozen=True, slots=True)
class UndoEnding:
    """How an undo of ours ended, and which of the six entries said that they have several readings."""

    outcome: str
    said: tuple[bool, ...] = ()


def measure(*, seed: int = 0, each: int = EACH, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Everything, as one mapping; `seed` chooses the histories."""
    texts = compare([_of_text(one) for one in histories(each, seed)], TEXT_PEERS)
    places = compare([_of_text(one) for one in place_histories(each, seed)], ())
    lists = compare([_of_list(one) for one in list_histories(each, seed)], LIST_PEERS)
    sorts = compare([_of_list(one) for one in sorted_histories(each, seed)], ())
    return {"seed": seed, **measure_growth(sizes), **texts, "places": places, "lists": lists, "sorted": sorts}


def compare(cases: Sequence[EditCase], peers: Iterable[Peer]) -> dict[str, Any]:
    """Take the third edit out of every history, with operations, with adoptions, and with each peer."""
    told = [case for case in cases if case.operations]
    known, known_us = _timed(told, _known)
    adopted, adopted_us = _timed(cases, _adopted)
    found: dict[str, Any] = {
        "histories": len(cases),
        "right_known": sum(ending.outcome == _RIGHT for ending in known),
        "right_adopted": sum(ending.outcome == _RIGHT for ending in adopted),
        "silently_wrong": sum(ending.outcome == _WRONG and not any(ending.said) for ending in adopted),
        "known": {**_tally(told, [ending.outcome for ending in known]), "us": known_us},
        "adopted": {
            **_tally(cases, [ending.outcome for ending in adopted]),
            "wrong_said": sum(ending.outcome == _WRONG and any(ending.said) for ending in adopted),
            "us": adopted_us,
        },
        "ambiguous": _ambiguous(cases, adopted),
        "peers": {},
        "missing": [],
    }
    for peer in peers:
        if not peer.there:
            found["missing"].append(peer.name)
            continue
        begin = perf_counter()
        answers = peer.answers([case.versions for case in cases])
        spent = (perf_counter() - begin) / max(1, len(cases)) * 1e6
        outcomes = [
            _RIGHT
            if answer == case.right or (answer is None and case.depends)
            else _REFUSED
            if answer is None
            else _WRONG
            for case, answer in zip(cases, answers, strict=True)
        ]
        found["peers"][peer.name] = {**_tally(cases, outcomes), "us": round(spent)}
    return found


def _timed(cases: Sequence[EditCase], undo: Callable[[EditCase], UndoEnding]) -> tuple[list[UndoEnding], int]:
    begin = perf_counter()
    told = [undo(case) for case in cases]
    return told, round((perf_counter() - begin) / max(1, len(cases)) * 1e6)


def _tally(cases: Sequence[EditCase], outcomes: Sequence[str]) -> dict[str, Any]:
    """How many were right, refused and wrong, in all and by class."""
    by_class: dict[str, Counter[str]] = {case.kind: Counter() for case in cases}
    for case, outcome in zip(cases, outcomes, strict=True):
        by_class[case.kind][outcome] += 1
    rows = {kind: {name: count[name] for name in (_RIGHT, _REFUSED, _WRONG)} for kind, count in by_class.items()}
    total = {name: sum(row[name] for row in rows.values()) for name in (_RIGHT, _REFUSED, _WRONG)}
    return {**total, "by_class": rows}


def _ambiguous(cases: Sequence[EditCase], adopted: Sequence[UndoEnding]) -> dict[str, int]:
    """Of edits made in one place: how many allow several readings, and how many of those and of others said so."""
    edits = several = said = needlessly = 0
    for case, told in zip(cases, adopted, strict=True):
        if not case.one_operation:
            continue
        for before, after, spoken, left_open in zip(
            case.versions, case.versions[1:], told.said, case.open, strict=False
        ):
            allows = readings(before, after) > 1 or left_open
            edits, several = edits + 1, several + allows
            said, needlessly = said + (allows and spoken), needlessly + (spoken and not allows)
    return {"edits": edits, "several": several, "said": said, "said_needlessly": needlessly}


def readings(before: PeerParts, after: PeerParts) -> int:
    """In how many ways one edit in one place makes one version the other: all of them tried, one by one.

    Such an edit replaces lines one for one, removes neighbouring ones or adds some. Several lines replaced by as many
    can also have gone, and others come, where none is like the one in its place or one stood there before.
    """
    few, many = sorted((before, after), key=len)
    more = len(many) - len(few)
    if not more:
        differing = [at for at, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]
        old, new = (side[differing[0] : differing[-1] + 1] for side in (before, after))
        stood = {
            line for line in {*old} & {*new} if old.count(line) == new.count(line) == 1 and re.search(r"\w", line)
        }
        return 2 if len(old) > 1 and (stood or not any(map(_is_like, old, new))) else 1
    return sum(many[:at] + many[at + more :] == few for at in range(len(few) + 1))


def _is_like(one: str, two: str) -> bool:
    return SequenceMatcher(None, f"{one}\n", f"{two}\n", autojunk=False).ratio() >= 0.6  # noqa: PLR2004


def _known(case: EditCase) -> UndoEnding:
    """Make the edits as operations, take the third back."""
    with open_memory(case.state(case.versions[0])) as harness:
        made = []
        for operations in case.operations:
            done = harness.apply(invert_mutation(read_program(list(operations), Stage.FORWARD, "bench")))
            if not isinstance(done, Applied):
                raise TypeError(f"not applied: {done}")
            made.append(done)
        return UndoEnding(_outcome(harness, case, made[TAKEN_OUT - 1]))


def _adopted(case: EditCase) -> UndoEnding:
    """Adopt the versions one by one, take the third back."""
    with open_memory(case.state(case.versions[0])) as harness:
        adapter = harness.adapter
        if not isinstance(adapter, MemoryAdapter):
            raise TypeError("a harness in memory has an adapter of its own")
        made = []
        for version in case.versions[1:]:
            adapter.edit(case.state(version))
            done = harness.adopt()
            if not isinstance(done, Adopted):
                raise TypeError(f"not adopted: {done}")
            made.append(done)
        return UndoEnding(_outcome(harness, case, made[TAKEN_OUT - 1]), tuple(bool(one.ambiguous) for one in made))


def _outcome(harness: Harness, case: EditCase, entry: Applied | Adopted) -> str:
    if case.parts(harness.state) != case.versions[-1]:
        raise AssertionError("the history did not come out as it was made")
    undone = harness.undo(entry)
    if not isinstance(undone, Undone):
        return _RIGHT if case.depends else _REFUSED
    return _RIGHT if case.parts(harness.state) == case.right and not case.depends else _WRONG


def _of_text(history: TextHistory) -> EditCase:
    operations = tuple(
        tuple(
            {"op_type": "edit_file", "target": _FILE, "value": {"old": change.old, "new": change.new}}
            for change in changes
        )
        for changes in history.changes
    )
    versions = tuple(map(_lines, history.versions))
    right = _lines(history.right)
    return EditCase(history.kind, versions, operations, right, _text_state, _text_of, open=history.open)


def _of_list(history: ListHistory) -> EditCase:
    operations = tuple(({"target": _KEY, **operation},) for operation in history.operations)
    return EditCase(
        history.kind,
        history.versions,
        operations,
        history.right,
        _list_state,
        _list_of,
        history.depends,
        history.open,
    )


def _lines(text: str) -> PeerParts:
    return tuple(text.split("\n")[:-1])


def _text_state(lines: PeerParts) -> State:
    return State.read({"files": {_FILE: {"content": "".join(f"{line}\n" for line in lines)}}})


def _text_of(state: State) -> PeerParts:
    return _lines(state.write()["files"][_FILE]["content"])


def _list_state(items: PeerParts) -> State:
    return State.read({"config": {"permissions": {"allow": list(items)}}})


def _list_of(state: State) -> PeerParts:
    return tuple(state.write()["config"]["permissions"]["allow"])
