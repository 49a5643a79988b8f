"""An index that fetches slots when asked answers like one that holds everything, whatever is asked first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.errors import JournalCorruptError
from takeback.state import ABSENT, PMap, State
from takeback.undo import History, plan_undo
from takeback.undo.consequences import find_consequences
from takeback.undo.index import Index, Version, Write, find_write_claim

SLOTS = [
    ("config", "a"),
    ("config", "a", "b"),
    ("config", "a", "b", "c"),
    ("config", "a", "d"),
    ("config", "e"),
    ("files", "d"),
    ("files", "d", "x"),
    ("resources", "s"),
    ("resources", "t"),
]
CONTENTS = {"resources": [{"address": ":9101"}, {"address": ":9102"}, {"address": ":0"}]}


class Entries(dict):
    """What a journal's index would say, found by looking at every entry."""

    def _where(self, fits):
        return [number for number, writes in self.items() for write in writes if fits(write)]

    def at(self, slot):
        return self._where(lambda write: write.slot == slot)

    def below(self, slot):
        return self._where(lambda write: len(write.slot) > len(slot) and write.slot[: len(slot)] == slot)

    def list_shared_parts(self, slot):
        return self._where(lambda write: write.shared and write.slot[:-1] == slot)

    def list_claims(self, surface, claim):
        return self._where(lambda write: write.slot[0] == surface and find_write_claim(write) == claim)

    def entry(self, number):
        return self[number]

    def entries(self, numbers):
        return {number: self[number] for number in numbers}


@st.composite
def some_writes(draw):
    slots = draw(st.lists(st.sampled_from(SLOTS), min_size=1, max_size=3))
    return tuple(
        Write(slot, ABSENT, draw(st.sampled_from([ABSENT, *CONTENTS.get(slot[0], ["one", "two"])]))) for slot in slots
    )


def answer(index, kind, slot):
    match kind:
        case "at":
            return list(index.at(slot))
        case "below":
            return list(index.below(slot))
        case "alone":
            return index.is_alone(index.node(slot))
        case "claiming":
            return [list(index.list_claims("resources", claim)) for claim in (":9101", ":9102")]


questions = st.tuples(st.sampled_from(["at", "below", "alone", "claiming"]), st.sampled_from(SLOTS))
acts = st.one_of(
    st.tuples(st.just("add"), some_writes()), st.tuples(st.just("suppose"), some_writes(), questions), questions
)


@given(st.lists(some_writes(), max_size=5), st.lists(acts, min_size=1, max_size=8))
def test_a_fetching_index_answers_like_a_complete_one_in_any_order(stored, acts):
    entries = Entries(enumerate(stored, start=1))
    whole, fetching = Index(), Index(entries)
    for number, writes in entries.items():
        whole.add(number, writes)
    for act in acts:
        match act:
            case ("add", writes):
                entries[len(entries) + 1] = writes
                whole.add(len(entries), writes)
                fetching.add(len(entries), writes)
            case ("suppose", writes, question):
                with whole.suppose_entry(writes), fetching.suppose_entry(writes):
                    assert answer(fetching, *question) == answer(whole, *question)
            case question:
                assert answer(fetching, *question) == answer(whole, *question)


def counted(*entries):
    """A source of entries, and the list of what was read from it, in order."""
    read = []

    class Counted(Entries):
        def entry(self, number):
            read.append(number)
            return super().entry(number)

        def entries(self, numbers):
            read.append(list(numbers))
            return super().entries(numbers)

    return Counted(enumerate(entries, start=1)), read


def test_writes_of_several_entries_are_read_in_one_batch():
    source, read = counted(*((Write(("config", "a", name), ABSENT, 1),) for name in "bcd"))
    assert len(Index(source).below(("config", "a"))) == 3
    assert read == [[1, 2, 3]]


def test_entries_undone_and_redone_together_are_read_in_one_batch():
    source, read = counted(*((Write(("routing", name), ABSENT, "one"),) for name in "abc"))
    settled = find_consequences(History(State, Index(source), {3}), frozenset({1, 2}), frozenset({3}))
    assert not settled.removed
    assert not settled.unmet
    assert read == [[1, 2, 3]]


@given(st.lists(some_writes(), max_size=8))
def test_a_slot_has_a_sole_writer_exactly_when_every_version_agrees(stored):
    index = Index()
    for number, writes in enumerate(stored, start=1):
        index.add(number, writes)
        for slot in SLOTS:
            node = index.node(slot)
            writers = {version.entry for version in node.versions}
            alone = len(writers) == 1 and index.is_alone(node)
            assert node.sole == (writers.pop() if alone else None)


def test_supposed_claims_come_after_recorded_ones():
    first, second = (Write(("resources", name), ABSENT, {"address": ":9101"}) for name in "st")
    index, claimed = Index(Entries({1: (first,)})), [Version(1, 0, first)]
    with index.suppose_entry((second,)) as supposed:
        assert index.list_claims("resources", ":9101") == claimed + supposed
    assert index.list_claims("resources", ":9101") == claimed


def test_writes_at_a_slot_and_below_it_are_held_once():
    slot = ("config", "a")
    writes = (Write(slot, ABSENT, PMap()), Write((*slot, "b"), ABSENT, 1))
    index, (here, below) = Index(Entries({1: writes})), (Version(1, at, write) for at, write in enumerate(writes))
    assert list(index.at(slot)) == [here]
    assert index.below(slot) == [below]
    assert list(index.at(slot)) == [here]


@pytest.mark.parametrize("entries", [{1}, {1, 2}], ids=["one", "several"])
def test_planning_fails_where_the_index_lacks_a_value_of_the_state(entries):
    source = Entries({number: (Write(("routing", name), ABSENT, "one"),) for number, name in ((1, "a"), (2, "b"))})
    state = State.read({"routing": {"a": "written by an entry that the index lacks", "b": "one"}})
    with pytest.raises(JournalCorruptError, match="does not hold every entry"):
        plan_undo(History(State, Index(source)), state, entries)


def test_writes_of_hundreds_of_entries_are_read_in_batches(monkeypatch):
    source = Entries({number: (Write(("config", f"k{number}"), ABSENT, number),) for number in range(1, 301)})
    monkeypatch.setattr(source, "entry", lambda number: pytest.fail(f"entry {number} was read by itself"))
    Index(source).load_around(iter(source))
