"""What is put before or after something stands there, whatever was taken back and brought back before."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.adapters import open_memory
from takeback.harness import Applied, Undone
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.state.chain import Chain, Link
from takeback.state.items import Items

STEPS = st.lists(
    st.tuples(st.sampled_from(("append", "before", "after", "remove", "whole", "undo", "redo")), st.integers(0, 30)),
    min_size=3,
    max_size=14,
)


class Sequence:
    """A list or a text of named parts in a harness, changed by operations."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.made = 0
        self.live: list = []
        self.undone: list = []
        first = {"prompts": {"p": "x0\nx1\n"}} if kind == "text" else {"config": {"p": ["x0", "x1"]}}
        self.harness = open_memory(State.read(first))

    def shown(self) -> list[str]:
        state = self.harness.state.write()
        if self.kind == "text":
            return state.get("prompts", {}).get("p", "").split("\n")[:-1]
        return list(state.get("config", {}).get("p", ()))

    def add(self, where: str, anchor: str | None) -> str | None:
        name = f"y{self.made}"
        self.made += 1
        if self.kind == "list":
            place = {} if anchor is None else {where: anchor}
            op = {"op_type": "insert_config" if place else "append_config", "target": "p", "value": name, **place}
        else:
            old = "" if anchor is None else f"{anchor}\n"
            new = {"before": f"{name}\n{old}", "after": f"{old}{name}\n"}.get(where, f"{name}\n")
            op = {"op_type": "edit_prompt", "target": "p", "value": {"old": old, "new": new}}
        return name if self.apply(op) else None

    def remove(self, anchor: str) -> None:
        if self.kind == "list":
            self.apply({"op_type": "remove_config_item", "target": "p", "value": anchor})
        else:
            self.apply({"op_type": "edit_prompt", "target": "p", "value": {"old": f"{anchor}\n", "new": ""}})

    def take_away(self) -> None:
        self.apply({"op_type": "remove_prompt" if self.kind == "text" else "unset_config", "target": "p"})

    def apply(self, op: dict) -> bool:
        done = self.harness.apply(invert_mutation(read_program([op], Stage.FORWARD, "test")))
        if isinstance(done, Applied):
            self.live.append(done)
        return isinstance(done, Applied)

    def toggle(self, number: int, source: list, target: list, act: str) -> None:
        if source:
            entry = source[number % len(source)]
            if isinstance(getattr(self.harness, act)(entry), Undone):
                source.remove(entry)
                target.append(entry)


@pytest.mark.parametrize("kind", ["text", "list"])
@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_inserted_parts_stay_beside_their_anchor_and_keep_their_order(kind, steps) -> None:
    sequence = Sequence(kind)
    order: dict[frozenset[str], tuple[str, str]] = {}
    for what, number in steps:
        before = sequence.shown()
        anchor = before[number % len(before)] if before else None
        if what == "undo":
            sequence.toggle(number, sequence.live, sequence.undone, "undo")
        elif what == "redo":
            sequence.toggle(number, sequence.undone, sequence.live, "redo")
        elif what == "whole":
            sequence.take_away()
        elif what == "remove" and anchor:
            sequence.remove(anchor)
        elif what != "remove" and before:
            added = sequence.add(what, None if what == "append" else anchor)
            at = len(before) if what == "append" else before.index(anchor) + (what == "after")
            assert added is not None
            assert sequence.shown() == [*before[:at], added, *before[at:]]
        now = sequence.shown()
        for pair in combinations(now, 2):
            assert order.setdefault(frozenset(pair), pair) == pair


@pytest.mark.parametrize("kind", ["text", "list"])
def test_a_part_inserted_before_another_stays_before_it_after_a_redo(kind) -> None:
    sequence = Sequence(kind)
    sequence.add("append", None)
    sequence.take_away()
    appended, gone = sequence.live
    sequence.harness.undo(appended, gone)
    sequence.add("append", None)
    assert isinstance(sequence.harness.redo(appended), Undone)
    assert sequence.shown() == ["x0", "x1", "y0", "y1"]
    sequence.add("before", "y1")
    assert sequence.shown() == ["x0", "x1", "y0", "y2", "y1"]


def test_an_append_stays_last_when_an_earlier_append_is_redone() -> None:
    sequence = Sequence("list")
    for _ in range(10):
        sequence.add("append", None)
    sequence.take_away()
    tenth = sequence.live[-2]
    sequence.harness.undo(tenth, sequence.live[-1])
    sequence.add("append", None)
    sequence.harness.redo(tenth)
    assert sequence.shown()[-2:] == ["y9", "y10"]


def test_an_item_fits_between_two_recorded_places_with_equal_numbers() -> None:
    items = Items.of(("a",)).put(Link(((4096, "n0"),), "n0", "b")).put(Link(((4096, "n1"),), "n1", "c"))
    assert items.whole() == ("a", "b", "c")
    assert items.beside(items.only("c"), "x", after=False).whole() == ("a", "b", "x", "c")
    assert items.beside(items.only("b"), "x", after=True).whole() == ("a", "b", "x", "c")


@settings(max_examples=200, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(("before", "after", "at", "drop", "back")), st.integers(0, 20)), max_size=30
    )
)
def test_an_element_inserted_beside_another_stays_there_after_undos_and_redos(steps) -> None:
    chain = Chain.of([("a", 0), ("b", 0)])
    gone: list = []
    for at, (what, number) in enumerate(steps):
        names = list(chain.ids())
        if what == "back":
            if gone:
                chain = chain.put(gone.pop(number % len(gone)))
            continue
        if not names:
            continue
        anchor = names[number % len(names)]
        if what == "drop":
            gone.append(chain.find(anchor))
            chain = chain.drop(anchor)
            continue
        new = f"n{at}"
        place = number % (len(names) + 1) if what == "at" else names.index(anchor) + (what == "after")
        if what == "at":
            chain, _ = chain.insert(place, new, 0)
        else:
            chain, _ = chain.insert_beside(anchor, new, 0, after=what == "after")
        assert list(chain.ids()) == [*names[:place], new, *names[place:]]
