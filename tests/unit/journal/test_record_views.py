"""What a record says, as typed properties: what was left out is empty, what is of another kind is refused."""

from __future__ import annotations

import pytest

from takeback.errors import JournalCorruptError
from takeback.journal import Draft, Record
from takeback.journal.memory import MemoryStore
from takeback.journal.record import _Said

EMPTY = {
    "note": "",
    "by": "",
    "identity": "",
    "unproved": "",
    "about": None,
    "is_forced": False,
    "edits_inside": False,
    "evidence": None,
    "check": None,
    "dropped": None,
    "approval": None,
    "step": (0, ""),
    "call_key": "",
    "outcome": "",
    "origin": {},
    "parents": {},
    "strict": frozenset(),
    "needs": frozenset(),
    "shared": frozenset(),
    "bare": frozenset(),
    "stat": {},
    "releases": False,
    "subject": "",
    "pattern": "",
    **dict.fromkeys(
        (
            "touches",
            "written_keys",
            "off",
            "on",
            "effect",
            "unheeded",
            "ambiguous",
            "reformatted",
            "images",
            "forgotten",
            "paths",
            "taken_in",
            "unkept",
            "moved",
            "steps",
            "open_steps",
        ),
        (),
    ),
}
SAID = {
    "note": ("note", "why", "why"),
    "by": ("by", "me", "me"),
    "unproved": ("unproved", "pending", "pending"),
    "about": ("entry", 4, 4),
    "identity": ("identity", "abc", "abc"),
    "is_forced": ("forced", True, True),
    "edits_inside": ("mends", True, True),
    "evidence": ("evidence", {"grade": "proved"}, {"grade": "proved"}),
    "approval": ("approval", {"by": "me"}, {"by": "me"}),
    "steps": ("steps", [["make", "k", "mail"]], (["make", "k", "mail"],)),
    "step": ("step", 2, (2, "")),
    "call_key": ("key", "k", "k"),
    "outcome": ("state", "done", "done"),
    "open_steps": ("open", [[2, 1]], ([2, 1],)),
    "check": ("check", {"passed": True}, {"passed": True}),
    "origin": ("origin", {"client": "git"}, {"client": "git"}),
    "parents": ("on", {"1": [4, 0]}, {1: (4, 0)}),
    "strict": ("strict", [0, 2], {0, 2}),
    "needs": ("needs", [1], {1}),
    "shared": ("shared", [1], {1}),
    "bare": ("bare", [1], {1}),
    "stat": ("stat", {"files": 2}, {"files": 2}),
    "releases": ("release", True, True),
    "subject": ("subject", "user:42", "user:42"),
    "pattern": ("slots", "config*", "config*"),
    "paths": ("paths", ["a"], ("a",)),
    "taken_in": ("taken_in", ["k"], ("k",)),
    "unkept": ("unkept", [["a", "why"]], (("a", "why"),)),
    "moved": ("moved", [["a", "b"]], (("a", "b"),)),
    "touches": ("touches", ["k", "k"], ("k", "k")),
    "written_keys": ("slots", ["s"], ("s",)),
    "off": ("off", [3], (3,)),
    "on": ("on", [4], (4,)),
    "effect": ("effect", ["now"], ("now",)),
    "unheeded": ("unheeded", ["it is not loaded"], ("it is not loaded",)),
    "ambiguous": ("ambiguous", ["x"], ("x",)),
    "reformatted": ("layout", ["a.json"], ("a.json",)),
    "images": ("images", [["a.json", None, ["f", 420]]], (["a.json", None, ["f", 420]],)),
    "dropped": ("dropped", [3, 2, "ab"], (3, 2, "ab")),
    "forgotten": ("contents", ["ab"], ("ab",)),
}


def record_of(payload):
    return MemoryStore().append([Draft("genesis", payload)])[0]


def test_every_property_of_a_record_is_covered_by_these_tests():
    told = {name for name, value in vars(Record).items() if isinstance(value, property | _Said)}
    assert set(SAID) == set(EMPTY) == told - {"id", "entry"}


@pytest.mark.parametrize("name", EMPTY)
def test_a_missing_field_of_a_record_reads_as_empty(name):
    assert getattr(record_of({}), name) == EMPTY[name]


@pytest.mark.parametrize("name", SAID)
def test_a_field_of_a_record_is_read(name):
    key, value, told = SAID[name]
    assert getattr(record_of({key: value}), name) == told


def test_written_slots_of_an_undo_differ_from_its_index_keys():
    record = record_of({"slots": ["s"], "touches": ["file"]})
    assert (record.written_keys, record.touches) == (("s",), ("file",))
    assert record_of({"touches": ["t"]}).written_keys == ("t",)


WRONG = {
    "about": ("text", [], True),
    **dict.fromkeys(("note", "by", "identity", "unproved"), (5, [], {})),
    **dict.fromkeys(("evidence", "check", "origin"), (5, [], "text")),
    **dict.fromkeys(("strict", "needs", "shared", "off", "on"), (5, ["text"], "text")),
    **dict.fromkeys(("written_keys", "effect", "unheeded", "ambiguous", "reformatted"), (5, [5], {}, "text")),
    **dict.fromkeys(("images", "forgotten"), (5, [5], {}, "text")),
}


@pytest.mark.parametrize(
    ("name", "wrong"), [(name, wrong) for name, all_wrong in WRONG.items() for wrong in all_wrong]
)
def test_a_field_of_the_wrong_type_is_refused_with_record_and_name(name, wrong):
    key = SAID[name][0]
    record = record_of({key: wrong})
    with pytest.raises(JournalCorruptError, match=f"record 1 .*{key!r}: found .*, expected a ") as caught:
        getattr(record, name)
    assert caught.value.seq == 1


def test_parents_that_name_no_write_are_refused():
    record = record_of({"on": {"0": []}})
    with pytest.raises(JournalCorruptError, match="record 1"):
        _ = record.parents


def test_the_field_on_is_read_by_the_kind_of_record():
    assert record_of({"on": {"1": [4, 0]}}).on == ()
    assert record_of({"on": [4]}).parents == {}
