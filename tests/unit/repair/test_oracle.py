"""The oracle: one pass, last in first out, element-level restores, a tight contract, no task missed."""

from __future__ import annotations

import pytest
from tests.support.running import op

from takeback.language import Candidate, NoInverse, read_program
from takeback.repair import invert_mutation, oracle
from takeback.runtime import capture, recover, run_forward
from takeback.state import Level, Stage, State
from takeback.verify import Grade, prove


def _invert(*mutation: dict) -> dict:
    return invert_mutation(read_program(list(mutation), Stage.FORWARD, "m")).to_json()


def test_the_oracle_unwinds_last_in_first_out():
    built = _invert(op("set_config", "a", value=1), op("set_prompt", "p", value="x"), op("write_file", "f", value=""))
    assert [one["op_type"] for one in built["recovery"]] == ["restore_file", "restore_prompt", "restore_config"]
    assert [one["witness_key"] for one in built["witness"]] == ["w0", "w1", "w2"]


def test_the_oracle_captures_a_slot_written_twice_once():
    built = _invert(op("set_config", "a", value=1), op("set_config", "a", value=2))
    assert len(built["witness"]) == 1
    assert len(built["recovery"]) == 2


def test_the_oracles_contract_lists_exactly_the_touched_addresses():
    built = _invert(op("set_config", "a.b", value=1), op("add_middleware", "m", value={"handler": "h"}, index=0))
    assert built["contract"] == ['config["a.b"]', 'middleware["m"]']


@pytest.mark.parametrize("place", [{}, {"index": 0}, {"index": 7}, {"before": "a"}, {"after": "a"}, {"priority": 3}])
def test_the_oracle_recovers_middleware_for_every_kind_of_place(place):
    candidate = invert_mutation(
        read_program([op("add_middleware", "m", value={"handler": "h"}, **place)], Stage.FORWARD, "m")
    )
    assert prove(candidate).grade is Grade.PROVED


def test_the_oracle_uses_the_registry_key_not_the_tool_id():
    built = _invert(op("register_tool", "key", value={"id": "other"}))
    assert {one["target"] for one in (*built["witness"], *built["recovery"])} == {"key"}


def test_the_oracle_releases_swapped_sockets_before_restoring_them():
    mutation = [
        op("allocate_socket", "a", value="tcp://127.0.0.1:2"),
        op("allocate_socket", "b", value="tcp://127.0.0.1:1"),
    ]
    built = _invert(*mutation)
    assert [(one["target"], "witness_key" in one) for one in built["recovery"]] == [
        ("a", False),
        ("b", False),
        ("b", True),
        ("a", True),
    ]
    assert prove(invert_mutation(read_program(mutation, Stage.FORWARD, "m"))).grade is Grade.PROVED


def test_later_changes_on_the_same_surface_survive_the_oracles_recovery():
    first = read_program(
        [op("add_middleware", "x", value={"handler": "h"}, index=0), op("add_listener", "e", value="x")],
        Stage.FORWARD,
        "m",
    )
    later = read_program(
        [op("add_middleware", "y", value={"handler": "h"}, index=0), op("add_listener", "e", value="y")],
        Stage.FORWARD,
        "m",
    )
    candidate = invert_mutation(first)
    before = State.read({"middleware": [{"id": "a", "handler": "h"}], "listeners": {"e": ["z"]}})
    held = capture(candidate.witness, before)
    middle, _ = run_forward(first, before)
    after, _ = run_forward(later, middle)
    assert recover(candidate.recovery, after, held) == run_forward(later, before)[0]


def test_the_oracle_has_no_inverse_in_l0_for_an_l1_mutation():
    program = read_program([op("write_file", "f", value="")], Stage.FORWARD, "m")
    none = oracle(program, Level.L0)
    assert isinstance(none, NoInverse)
    assert none.level is Level.L0
    assert {out.program for out in none.lacking} == {"mutation", "witness", "recovery"}
    assert str(none).startswith("no recovery in L0: mutation[0] ")
    assert isinstance(oracle(program, Level.L1), Candidate)
    assert isinstance(oracle(program), Candidate)


def test_the_oracle_stays_in_l0_where_possible():
    program = read_program([op("set_config", "a", value=1), op("set_prompt", "p", value="x")], Stage.FORWARD, "m")
    assert isinstance(oracle(program, Level.L0), Candidate)
