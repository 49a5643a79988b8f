"""What others changed and Takeback recorded: the operations found for it, what is proved, or said instead."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module

import pytest

from takeback.adapters.opener import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.errors import HarnessError
from takeback.harness import recorded_evidence
from takeback.harness.cross_check import CrossCheck, cross_check_recovery
from takeback.harness.entry_log import NOT_YET, view_entry
from takeback.harness.recorded_evidence import AT_ONCE, MOST, Evidence, NoEvidence, make_evidence
from takeback.harness.records import PENDING, load_candidate, load_candidate_json, load_evidence
from takeback.language import read_candidate
from takeback.repair.oracle import invert_mutation
from takeback.state import State
from takeback.state.slots import transfer_places
from takeback.undo.record import list_writes_between


def find(before, after, **bounds):
    """Evidence for a change from one state to another, both as JSON."""
    start = State.read(before)
    end = transfer_places(State.read(after), start)
    return make_evidence(start, end, list_writes_between(start, end), **bounds)


def say(found):
    """The operations of evidence, each with its target."""
    assert isinstance(found, Evidence), found
    return [f"{op.kind.name} {op.target}" for step in found.steps for op in step.mutation]


def chain(*elements):
    return [{"id": one[0], "handler": one} for one in elements]


def files(*given):
    return {"files": {path: {"content": text, "mode": (*mode, "0644")[0]} for path, text, *mode in given}}


CASES = {
    "a value": ({"config": {"a": 1}}, {"config": {"a": 2}}, ["set_config a"]),
    "a mapping that came": ({}, {"config": {"a": {"b": 1}}}, ["set_config a"]),
    "a key that went": ({"config": {"a": {"b": 1, "c": 2}}}, {"config": {"a": {"c": 2}}}, ["unset_config a.b"]),
    "an item that went, and one that came": (
        {"config": {"l": ["x", "y", "z"]}},
        {"config": {"l": ["x", "n", "z"]}},
        ["remove_config_item l", "insert_config l"],
    ),
    "one of two equal items": ({"config": {"l": ["x", "x"]}}, {"config": {"l": ["x"]}}, ["set_config l"]),
    "two lines": ({"prompts": {"p": "a\nb\nc\n"}}, {"prompts": {"p": "A\nb\nc\nd"}}, ["edit_prompt p"] * 2),
    "lines that occur twice": (
        {"prompts": {"p": "}\n\n}\n"}},
        {"prompts": {"p": "}\n\nx\n}\n"}},
        ["edit_prompt p"],
    ),
    "a text in which nothing stayed": ({"prompts": {"p": ""}}, {"prompts": {"p": "b"}}, ["set_prompt p"]),
    "a route": ({"routing": {"r": "m"}}, {"routing": {"r": None}}, ["set_routing r"]),
    "a tool that went": ({"tools": {"t": {"command": "x"}}}, {}, ["remove_tool t"]),
    "a field of a client's tool": (
        {"tools": {"t": {"command": "x", "args": ["1"]}}},
        {"tools": {"t": {"command": "x", "args": ["1", "2"]}}},
        ["register_tool t"],
    ),
    "middleware replaced, moved, added, removed": (
        {"middleware": chain("a", "b", "c", "e")},
        {"middleware": chain("c", "b2", "d", "a")},
        ["remove_middleware e", "move_middleware c", "replace_middleware b", "add_middleware d", "move_middleware a"],
    ),
    "callbacks": (
        {"listeners": {"on": chain("a", "b")}},
        {"listeners": {"on": chain("n", "a", "b2")}},
        ["add_listener on", "move_listener on", "add_listener on"],
    ),
    "sockets that swapped their addresses": (
        {"resources": {"a": "tcp://127.0.0.1:9001", "b": "tcp://127.0.0.1:9002"}},
        {"resources": {"a": "tcp://127.0.0.1:9002", "b": "tcp://127.0.0.1:9001"}},
        ["free_socket a", "free_socket b", "allocate_socket a", "allocate_socket b"],
    ),
    "a line of a file": (files(("d/f", "a\nb\n")), files(("d/f", "a\nc\n")), ["edit_file d/f"]),
    "a mode": (files(("f", "a\n")), files(("f", "a\n", "0755")), ["write_file f"]),
    "bytes": ({"files": {"f": {"base64": "/w=="}}}, {"files": {"f": {"base64": "/v8="}}}, ["write_file f"]),
    "a file that moved": (files(("d/f", "a")), files(("e/g", "a")), ["move_file d/f"]),
    "a folder that went": (files(("d/f", "a"), ("d/g", "b")), {}, ["remove_file d/f", "remove_file d/g"]),
    "a folder in place of which there is a file": (
        files(("d/f", "a"), ("d/e/g", "b")),
        files(("d", "c")),
        ["remove_directory d", "write_file d"],
    ),
    "a file that moved to the path of its folder": (
        files(("d/f", "a")),
        files(("d", "a")),
        ["remove_directory d", "remove_file d/f", "write_file d"],
    ),
    "a folder that moved, and a file to its path": (
        files(("d/x", "a"), ("f", "b")),
        files(("e/x", "a"), ("d", "b")),
        ["remove_directory d", "remove_file d/x", "write_file e/x", "move_file f"],
    ),
    "a link made": (files(("t", "a")), files(("t", "a"), ("l", "t", "120000")), ["write_file l"]),
    "a link that leads elsewhere": (files(("l", "t", "120000")), files(("l", "u", "120000")), ["write_file l"]),
    "a file in place of a link": (files(("l", "t", "120000")), files(("l", "u")), ["write_file l"]),
    "a folder in place of a link": (
        files(("l", "t", "120000")),
        files(("l/f", "t")),
        ["remove_file l", "write_file l/f"],
    ),
    "a mode beyond permissions": (files(("f", "a\n")), files(("f", "a\n", "4755")), ["write_file f"]),
    "odd names": (
        files(("a\nb", "a\nb\n"), ("c\\d", "x")),
        files(("a\nb", "a\nc\n"), ("c\udcff", "x")),
        ["move_file c\\d", "edit_file a\nb"],
    ),
    "a file in place of which there is a folder": (
        files(("d", "a")),
        files(("d/f", "b")),
        ["remove_file d", "write_file d/f"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_expressed_by_proved_operations(name):
    before, after, wanted = CASES[name]
    assert say(find(before, after)) == wanted


def test_a_change_no_operation_expresses_is_explained():
    directory = {"files": {"d": {"directory": True}}}
    assert find({}, directory) == NoEvidence("a directory without files came or went, which no operation describes")
    lost = find({"files": {"d/f": {"content": "x"}, "d/e": {"directory": True}}}, {})
    assert lost == NoEvidence('the empty directory files["d/e"] came or went, which no operation describes')


def test_an_unnameable_key_is_written_with_its_mapping():
    long = "x" * 300
    start = State.read({"config": {"a": {"b": 1}}})
    end = State.read({"config": {"a": {"b": 1}}})
    end = end.replace("config", end.part("config").put("a", end.part("config")["a"].put(long, 1)))
    assert say(make_evidence(start, end, list_writes_between(start, end))) == ["set_config a"]


def test_many_changes_are_proved_in_readable_steps():
    after = {"files": {f"d{at % 3}/f{at}": {"content": f"{at}\n"} for at in range(100)}}
    found = find({}, after)
    assert len(found.steps) == 4
    for step in found.steps:
        assert read_candidate(step.to_json()).digest() == step.digest()
    keys = [op.witness_key for step in found.steps for op in step.witness]
    assert len(set(keys)) == len(keys) == 100


def test_a_change_past_the_limit_is_reported_and_not_examined():
    after = {"files": {f"f{at}": {"content": ""} for at in range(MOST + 1)}}
    assert find({}, after) == NoEvidence(f"it is too large to be proved: {MOST + 1} things, and at most {MOST} are")
    assert find({}, {"prompts": {"p": "x" * 100}}, most_bytes=50).reason == PENDING
    assert find({}, after, most=AT_ONCE) == find({}, after)
    some = {"files": {f"f{at}": {"content": ""} for at in range(AT_ONCE + 1)}}
    assert find({}, some, most=AT_ONCE).reason == PENDING


def plant(monkeypatch, change):
    """Have the oracle give another candidate than it should."""
    module = import_module("takeback.repair.oracle")
    monkeypatch.setattr(module, "invert_mutation", lambda *given: change(invert_mutation(*given)))


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("no recovery", lambda one: replace(one, recovery=()), "not proved"),
        ("no contract", lambda one: replace(one, contract=type(one.contract)()), "not proved"),
        (
            "a recovery that removes",
            lambda one: read_candidate({**one.to_json(), "recovery": [{"op_type": "delete_config", "target": "a"}]}),
            "not proved",
        ),
    ],
)
def test_a_wrong_recovery_is_not_accepted(monkeypatch, name, change, why):
    plant(monkeypatch, change)
    found = find({"config": {"a": 1}}, {"config": {"a": 2}})
    assert isinstance(found, NoEvidence), name
    assert why in found.reason


@pytest.mark.parametrize(
    "wrong",
    [
        [{"op_type": "set_config", "target": "a", "value": 3}],
        [{"op_type": "set_config", "target": "b", "value": 2}],
        [{"op_type": "unset_config", "target": "a"}],
        [],
    ],
)
def test_operations_with_another_result_are_not_accepted(monkeypatch, wrong):
    real = recorded_evidence.list_units
    monkeypatch.setattr(
        recorded_evidence,
        "list_units",
        lambda *given: [replace(unit, ways=(lambda: tuple(wrong),)) for unit in real(*given)],
    )
    found = find({"config": {"a": 1}}, {"config": {"a": 2}})
    assert found == NoEvidence('no operations were found for the change of config["a"]')


def test_operations_that_do_more_are_not_accepted(monkeypatch):
    real = recorded_evidence.list_units
    more = {"op_type": "set_config", "target": "b", "value": 1}
    monkeypatch.setattr(
        recorded_evidence,
        "list_units",
        lambda *given: [
            replace(unit, ways=(partial(lambda way: (*way(), more), unit.ways[-1]),)) for unit in real(*given)
        ],
    )
    found = find({"config": {"a": 1}}, {"config": {"a": 2}})
    assert found == NoEvidence('the operations found for it give a different result at config["b"]')


@pytest.fixture
def root(tmp_path):
    return init_workspace(tmp_path / "agent")


def write_many(root, count=AT_ONCE + 4):
    for at in range(count):
        (root / "files" / f"f{at}.txt").write_text(f"text {at}\n")


def test_an_entry_carries_its_candidate_and_evidence_like_an_applied_one(root):
    with open_workspace(root) as harness:
        (root / "prompts/p.md").write_text("one\ntwo\n")
        entry = harness.adopt("by hand").entry
        seen = view_entry(harness, entry)
        assert (seen.grade, seen.recorded, seen.unproved, seen.kind) == ("proved", True, "", "adopt")
        told = load_evidence(harness.journal, entry)
        assert (told["grade"], told["when"], told["steps"], told["rule"]) == ("proved", "after", 1, "proof")
        assert load_candidate_json(harness.journal, entry)["mutation"][0]["op_type"] == "set_prompt"
        assert harness.plan_undo(entry.id).unadmitted == ()
        assert cross_check_recovery(harness.ledger, harness.state, harness.plan_undo(entry.id)) is CrossCheck.AGREE


def test_a_large_change_is_proved_when_the_log_is_read(root):
    with open_workspace(root) as harness:
        write_many(root)
        entry = harness.adopt("many").entry
        assert entry.unproved == PENDING
        assert harness.ledger.unproved == {entry.entry}
    with open_workspace(root) as harness:
        assert harness.ledger.unproved == {entry.entry}
        seen = next(iter(harness.log()))
        assert (seen.grade, seen.unproved) == ("proved", "")
        assert not harness.ledger.unproved
        assert len(load_candidate(harness.journal, entry).mutation) == AT_ONCE + 4
        assert harness.journal.latest("evidence").payload["entry"] == entry.entry
        assert harness.prove_recorded() == 0
    with open_workspace(root) as harness:
        assert next(iter(harness.log())).grade == "proved"
        assert harness.journal.check().faults == ()
        plan = harness.plan_undo(entry.id)
        assert plan.unadmitted == ()
        assert cross_check_recovery(harness.ledger, harness.state, plan) is CrossCheck.AGREE
        harness.undo(entry.id)
        assert not list((root / "files").iterdir())


def test_waiting_changes_survive_a_checkpoint_and_are_proved_on_their_states(root):
    with open_workspace(root) as harness:
        write_many(root)
        first = harness.adopt("many").entry
        (root / "files/f1.txt").write_text("other\n")
        harness.adopt("one")
        write_many(root)
        (root / "files/more").mkdir()
        for at in range(AT_ONCE + 1):
            (root / f"files/more/{at}").write_text("x\n")
        second = harness.adopt("again").entry
        harness.undo(second.id)
        harness.ledger.checkpoint()
    with open_workspace(root) as harness:
        assert harness.ledger.unproved == {first.entry, second.entry}
        assert [one.grade for one in harness.log()] == ["", "proved", "proved", "proved", ""]


def test_a_read_only_journal_shows_that_a_proof_is_waiting(root, monkeypatch):
    with open_workspace(root) as harness:
        write_many(root)
        harness.adopt("many")
        monkeypatch.setattr(harness.journal, "readonly", True)
        seen = next(iter(harness.log()))
        assert (seen.grade, seen.unproved) == ("", NOT_YET)
        assert seen.to_json()["unproved"] == NOT_YET


def test_a_change_is_recorded_even_if_its_proof_crashes(root, monkeypatch):
    def fail(*_, **__):
        raise KeyError("planted")

    monkeypatch.setattr("takeback.harness.recorded_evidence.make_evidence", fail)
    with open_workspace(root) as harness:
        (root / "prompts/p.md").write_text("one\n")
        entry = harness.adopt("by hand").entry
        assert view_entry(harness, entry).unproved == "proving it failed (KeyError); please report that"
        harness.undo(entry.id)
        assert not (root / "prompts/p.md").exists()


def test_an_undo_that_differs_from_the_proved_recovery_is_refused(root, monkeypatch):
    with open_workspace(root) as harness:
        (root / "prompts/p.md").write_text("one\n")
        first = harness.adopt("by hand").entry
        (root / "prompts/p.md").write_text("one\ntwo\n")
        entry = harness.adopt("by hand").entry
        wrong = replace(load_candidate(harness.journal, entry), recovery=())
        monkeypatch.setattr("takeback.harness.cross_check.load_admitted_candidate", lambda *_: wrong)
        with pytest.raises(HarnessError, match="differ at"):
            harness.undo(entry.id)
        monkeypatch.undo()
        (root / "prompts/p.md").write_text("zero\none\ntwo\n")
        harness.adopt("later")
        plan = harness.plan_undo(entry.id)
        assert cross_check_recovery(harness.ledger, harness.state, plan) is CrossCheck.OVERLAID
        harness.undo(entry.id)
        assert (root / "prompts/p.md").read_text() == "zero\none\n"
        assert view_entry(harness, first).grade == "proved"


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize("count", [1, AT_ONCE + 1])
def test_forgetting_an_entry_forgets_the_values_in_its_candidate(root, count):
    with open_workspace(root) as harness:
        for at in range(count):
            (root / f"files/f{at}.txt").write_text(f"{SECRET} {at}\n")
        entry = harness.adopt("with a secret").entry
        assert view_entry(harness, entry).grade == "proved"
        for at in range(count):
            (root / f"files/f{at}.txt").write_text("clean\n")
        harness.adopt("without")
        assert view_entry(harness, harness.journal.get(3)).grade == "proved"
        harness.forget_value(SECRET)
        assert not [ref for ref, stored in harness.journal.every_content() if SECRET.encode() in stored.data]
        assert load_candidate(harness.journal, entry) is None
        shown = load_candidate_json(harness.journal, entry)
        assert shown["mutation"][0]["value"] == "(forgotten)"


def test_a_forgotten_value_is_not_kept_again_as_part_of_a_candidate(root):
    with open_workspace(root) as harness:
        (root / "prompts/p.md").write_text(f"{SECRET}\nrest\n")
        harness.adopt("with a secret")
        harness.forget_value(SECRET)
        (root / "prompts/p.md").write_text(f"{SECRET}\nother\n")
        entry = harness.adopt("beside it").entry
        assert view_entry(harness, entry).unproved == 'a value at prompts["p"] was forgotten, and is not kept again'
    with open_workspace(root) as harness:
        assert not [ref for ref, stored in harness.journal.every_content() if SECRET.encode() in stored.data]


def test_the_bytes_of_a_new_file_are_stored_once(root):
    text = "some words that are not to be found twice; " * 200
    with open_workspace(root) as harness:
        (root / "files/f.txt").write_text(text)
        entry = harness.adopt("a file").entry
        holding = [ref for ref, stored in harness.journal.every_content() if text.encode() in stored.data]
        assert len(holding) == 1
        assert load_candidate(harness.journal, entry).mutation[0].value.content == text.encode()
        (root / "files/f.bin").write_bytes(b"\xff\x00" * 3000)
        entry = harness.adopt("bytes").entry
        assert load_candidate(harness.journal, entry).mutation[0].value.content == b"\xff\x00" * 3000
