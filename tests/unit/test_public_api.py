"""The Python interface as a reader of the README would use it."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, middleware
from tests.support.running import op

import takeback
from takeback import (
    Adopted,
    Applied,
    Blocked,
    Checked,
    Gone,
    InputError,
    Level,
    Refused,
    State,
    TakebackError,
    Undone,
    diff,
    evolve,
    init_workspace,
    open_memory,
    open_workspace,
    oracle,
    read_candidate,
    round_trip,
    verify,
)
from takeback.evolve import propose_mutation

PLAIN = candidate(config("agent.timeout", 60)).to_json()


def test_a_workspace_is_opened_and_closed_by_a_with_statement(tmp_path):
    init_workspace(tmp_path / "agent")
    with open_workspace(tmp_path / "agent") as harness:
        assert isinstance(harness.apply(PLAIN), Applied)
    with open_workspace(tmp_path / "agent") as harness:
        assert harness.state["config", "agent.timeout"] == 60


def test_a_candidate_can_be_given_as_the_json_it_is_written_in():
    with open_memory() as harness:
        assert isinstance(harness.apply(PLAIN), Applied)
        assert isinstance(harness.apply({**PLAIN, "recovery": []}), Refused)
        with pytest.raises(InputError, match="mutation"):
            harness.apply({"recovery": []})


def test_results_of_apply_and_undo_name_their_entry():
    with open_memory() as harness:
        first = harness.apply(PLAIN)
        undone = harness.undo(first)
        assert isinstance(undone, Undone)
        assert ("config", "agent.timeout") not in harness.state
        assert isinstance(harness.undo(undone), Undone)
        assert ("config", "agent.timeout") in harness.state
        assert isinstance(harness.undo(first.entry), Undone)
        assert isinstance(harness.redo(first), Undone)
        assert isinstance(harness.restore(undone), Undone)
        (latest, *_) = harness.log()
        assert (latest.kind, harness.plan_undo(latest).on) == ("restore", (first.entry.number,))


@pytest.mark.parametrize("ask", ["undo", "plan_undo", "redo", "restore", "forget", "salvage"])
def test_an_answer_without_an_entry_names_none(ask):
    with open_memory() as harness:
        refused = harness.apply({**PLAIN, "recovery": []})
        for given in (refused, None, 3):
            with pytest.raises(InputError, match="what applying or undoing it gave"):
                getattr(harness, ask)(given)


def test_an_entry_of_another_harness_is_unknown():
    with open_memory() as harness, open_memory() as other:
        harness.apply(PLAIN)
        with pytest.raises(TakebackError, match="no entry's id begins with"):
            harness.undo(other.apply(PLAIN, note="elsewhere"))


def test_the_log_lists_entries_newest_first_with_their_status():
    with open_memory() as harness:
        first = harness.apply(PLAIN, note="longer")
        harness.undo(first)
        assert [(entry.kind, entry.status, entry.note) for entry in harness.log()] == [
            ("undo", "done", ""),
            ("apply", "undone", "longer"),
            ("genesis", "done", ""),
        ]


STATE = State.read(
    {
        "config": {"a": {"b": 1, "c.d": 2}},
        "prompts": {"system": "text"},
        "routing": {"fallback": None},
        "tools": {"k": {"id": "t", "implementation": "m:f"}},
        "middleware": [{"id": "auth", "handler": "h"}],
        "listeners": {"on_error": [{"id": "audit", "handler": "h"}]},
        "files": {"d/x": {"content": "hello\n"}},
        "resources": {"metrics": {"kind": "socket", "address": "tcp://127.0.0.1:9100"}},
    }
)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (("config", "a.b"), 1),
        (("config", "a.c\\.d"), 2),
        (("config", "a"), {"b": 1, "c.d": 2}),
        (("prompts", "system"), "text"),
        (("routing", "fallback"), None),
        (("files", "d/x"), {"content": "hello\n", "mode": "0644"}),
    ],
)
def test_a_state_is_read_by_address(address, found):
    assert STATE[address] == found
    assert address in STATE


def test_records_are_read_by_address():
    plain = STATE.write()
    assert STATE["tools", "k"] == plain["tools"]["k"]
    assert STATE["middleware", "auth"] == plain["middleware"][0]
    assert STATE["listeners", "on_error"] == plain["listeners"]["on_error"]
    assert STATE["resources", "metrics"] == plain["resources"]["metrics"]
    for surface in plain:
        assert STATE[surface] == plain[surface]


@pytest.mark.parametrize(
    "address", [("config", "a.x"), ("prompts", "x"), ("middleware", "x"), ("listeners", "x"), ("files", "d/y")]
)
def test_reading_a_missing_value_raises_a_key_error_with_its_address(address):
    assert address not in STATE
    with pytest.raises(KeyError, match=f"{address[0]}.*{address[1]}"):
        STATE[address]


def test_an_unknown_surface_is_an_input_error():
    with pytest.raises(InputError, match="moods"):
        STATE["moods"]


def test_representations_fit_on_one_line():
    with open_memory() as harness:
        applied = harness.apply(candidate(middleware("limit"), *(config(f"k{n}", "x" * 500) for n in range(5))))
        blocked_by = harness.apply(PLAIN)
        plan = harness.plan_undo(applied)
        shown = [STATE, harness, applied, applied.verdict, applied.entry, blocked_by, plan, harness.undo(applied)]
        refused = harness.apply({**PLAIN, "recovery": []})
        shown += [refused, refused.verdict, refused.verdict.counterexample, harness.undo(blocked_by, token="x")]
        shown += [*harness.log(), harness.status(), harness.recover()]
        many = candidate(*(config("a" * 50 + f".k{n}", n) for n in range(60)))
        shown += [many, many.mutation[0], many.mutation[0].kind, oracle(many.mutation)]
        bare = read_candidate(
            {"mutation": [op("write_file", f"f{n}", value={"content": "x" * 500}) for n in range(60)]}
        )
        shown += [oracle(bare.mutation, Level.L0), verify(bare, rule="split-wald").splits["iid"]]
        shown += [round_trip(bare, State()), round_trip(bare, State()).residuals[0], round_trip(many, State())]
        shown += [*diff(State(), harness.state), *plan.changes, *harness.preview(many).changes]
        evolved = evolve(harness, propose_mutation(bare.mutation))
        shown += [evolved, evolved.proposal, Checked(passed=False, command="x" * 500)]
        ground = harness.apply(candidate(config("list", ["x" * 500, "y"])))
        for number in range(40):
            harness.apply(candidate(op("append_config", "list", value=number)))
        shown.append(harness.plan_undo(ground))
        first, second = (harness.apply(candidate(config("gone", number))) for number in range(2))
        harness.forget(first)
        shown.append(harness.undo(second))
        assert {Blocked, Gone} < {type(one) for one in shown}
        for one in shown:
            assert len(repr(one)) < 160, repr(one)
            assert type(one).__name__ in repr(one)
    assert repr(STATE) == (
        "State(config: 2, prompts: 1, routing: 1, tools: 1, middleware: 1, listeners: 1, files: 1, resources: 1)"
    )


def test_every_outcome_and_extension_class_is_exported():
    for name in (
        "Applied",
        "Refused",
        "Undone",
        "Blocked",
        "Gone",
        "Stale",
        "Adopted",
        "Plan",
        "Status",
        "RefusalReason",
    ):
        assert name in takeback.__all__
    assert {"Surface", "Kind", "evolve", "Record"} <= set(takeback.__all__)
    assert (Adopted.__name__, Blocked.__name__) == ("Adopted", "Blocked")


def test_a_forward_operation_alone_is_refused_with_the_state_that_breaks_it():
    with open_memory() as harness:
        refused = harness.apply({"mutation": [op("set_config", "a", value=1)]})
        assert isinstance(refused, Refused)
        assert refused.verdict.counterexample.state == State()
