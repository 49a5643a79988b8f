"""Proof where values are edited inside or elements moved: proved, refuted by a text, or undecided and turned away."""

from __future__ import annotations

import pytest
from tests.support.running import op

from takeback.language import read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.verify import Code, Grade, Trial, prove, round_trip, verify_sampled
from takeback.verify.opaque_edits import why_edits_undecided


def edit(old, new, target="p", kind="edit_prompt"):
    return op(kind, target, value={"old": old, "new": new})


CAPTURE, RESTORE = op("capture_prompt", "p", witness_key="w"), op("restore_prompt", "p", witness_key="w")


def read(*mutation, witness=(), recovery=(), **more):
    return read_candidate({"mutation": [*mutation], "witness": [*witness], "recovery": [*recovery], **more})


def smallest(candidate):
    verdict = prove(candidate)
    assert verdict.grade is Grade.REFUTED
    return verdict.counterexample.state.write()


@pytest.mark.parametrize(
    ("mutation", "recovery", "state"),
    [
        (edit("a", "b"), edit("b", "a"), {"prompts": {"p": "ab"}}),
        (edit("", "b"), edit("b", ""), {"prompts": {"p": "b"}}),
        (edit("ask", "act", "f", "edit_file"), edit("act", "ask", "f", "edit_file"), "askact"),
        (op("append_config", "l", value="x"), op("remove_config_item", "l", value="x"), {"config": {"l": ["x"]}}),
    ],
)
def test_editing_back_is_refuted_by_a_value_that_already_held_the_new_text(mutation, recovery, state):
    found = smallest(read(mutation, recovery=[recovery]))
    if isinstance(state, str):
        state = {"files": {"f": {"content": state, "mode": "0644"}}}
    assert found == state


def test_a_sample_shows_a_state_where_the_edit_succeeds_and_recovery_fails():
    verdict = verify_sampled(read(edit("a", "b"), recovery=[edit("b", "a")]))
    example = verdict.counterexample
    assert example.through
    assert not example.trip.forward_failure
    assert "b" in example.state.write()["prompts"]["p"]


@pytest.mark.parametrize(
    ("mutation", "state"),
    [
        (edit("ask first", "act first"), {"prompts": {"p": "ask first"}}),
        (edit("a", "b", "f", "edit_file"), {"files": {"f": {"content": "a", "mode": "0644"}}}),
        (op("remove_config_item", "l", value="x"), {"config": {"l": ["x"]}}),
        (op("insert_config", "l", value="x", after="y"), {"config": {"l": ["y"]}}),
    ],
)
def test_an_unrecovered_edit_is_refuted_by_the_smallest_editable_value(mutation, state):
    assert smallest(read(mutation)) == state


def test_no_character_can_be_taken_from_the_text_of_a_counterexample():
    candidate = read(edit("ab", "ba"), edit("c\n", ""), recovery=[edit("ba", "ab")])
    example = prove(candidate).counterexample
    trial = Trial(candidate)
    assert not trial.run(example.state).passed
    text = example.state["prompts", "p"]
    assert text
    for at in range(len(text)):
        trip = trial.run(State.read({"prompts": {"p": text[:at] + text[at + 1 :]}}))
        assert trip.passed or trip.forward_failure, at


def test_edits_that_need_an_untried_text_are_undecided():
    left_behind = op("set_prompt", "q", value="x")
    candidate = read(edit("ab", ""), edit("ab", ""), left_behind, witness=[CAPTURE], recovery=[RESTORE])
    assert not round_trip(candidate, State.read({"prompts": {"p": "aabb"}})).passed
    verdict = prove(candidate)
    assert (verdict.admitted, verdict.grade) == (False, Grade.DECLARED)
    (reason,) = verdict.reasons
    assert reason.code is Code.UNDECIDED
    assert "capture it before the change and restore it" in reason.message


def test_several_edits_are_refuted_by_a_text_that_allows_them():
    left_behind = op("set_prompt", "q", value="x")
    edits = [edit(letter, "") for letter in "rio"]
    assert smallest(read(*edits, left_behind, witness=[CAPTURE], recovery=[RESTORE])) == {"prompts": {"p": "rio"}}


def test_an_edit_back_that_no_state_refutes_is_undecided():
    known = op("set_prompt", "p", value="ab")
    candidate = read(known, edit("a", "c"), witness=[CAPTURE], recovery=[edit("c", "a"), RESTORE])
    verdict = prove(candidate)
    assert not verdict.admitted
    assert verdict.reasons[0].code is Code.UNDECIDED
    assert "edit_prompt in a recovery depends on what else is in prompts" in verdict.reasons[0].message


def test_an_always_failing_edit_does_not_excuse_a_missing_restore():
    known = op("set_prompt", "p", value="ab")
    candidate = read(known, edit("zz", "y"), op("set_config", "c", value=1), witness=[CAPTURE], recovery=[RESTORE])
    verdict = prove(candidate)
    assert verdict.reasons[0].code is Code.UNDECIDED
    assert 'config["c"]' in verdict.reasons[0].message


def test_a_recovery_must_do_no_harm_where_an_edit_fails():
    mutation = [op("set_prompt", "p", value="ab"), edit("ab", "y"), op("set_config", "c", value={})]
    witness = [
        CAPTURE,
        op("capture_config", "c", witness_key="c"),
        op("capture_config", "d", witness_key="d"),
    ]
    recovery = [
        op("restore_config", "c.k", witness_key="d"),
        op("restore_config", "c", witness_key="c"),
        RESTORE,
    ]
    verdict = prove(read(*mutation, witness=witness, recovery=recovery))
    assert verdict.reasons[0].code is Code.UNDECIDED
    assert "does not go through nothing has changed" in verdict.reasons[0].message


@pytest.mark.parametrize("beside", [(), ("set_prompt", "capture_prompt", "restore_prompt")])
def test_an_element_restored_to_another_place_is_not_proved(beside):
    """Also where another surface, which is as it was, comes first."""
    mutation = [op("move_middleware", "m", after="n"), op("move_middleware", "n", before="m")]
    witness = [op("capture_middleware", "m", witness_key="m")]
    recovery = [op("restore_middleware", "m", witness_key="m")]
    if beside:
        sets, captures, restores = beside
        mutation = [op(sets, "p", value="new"), *mutation]
        witness = [op(captures, "p", witness_key="p"), *witness]
        recovery = [op(restores, "p", witness_key="p"), *recovery]
    verdict = prove(read(*mutation, witness=witness, recovery=recovery))
    assert not verdict.admitted
    assert verdict.reasons[0].code is Code.UNDECIDED


@pytest.mark.parametrize("spot", [{"index": 0}, {"index": 1}, {"index": 9}, {"before": "n"}, {"after": "n"}])
def test_a_move_that_is_not_restored_is_refuted(spot):
    candidate = read(op("move_middleware", "m", **spot))
    assert prove(candidate).grade is Grade.REFUTED


def test_many_edits_with_the_oracles_recovery_are_proved():
    edits = [edit(letter, letter * 2) for letter in "abcdefgh"]
    candidate = invert_mutation(read_program([*edits, edit("ab", ""), edit("ab", "")], Stage.FORWARD, "test"))
    assert prove(candidate).grade is Grade.PROVED


def test_a_move_that_needs_two_conditions_is_refuted():
    moved = op("move_file", "u/t.txt", value="u/v")
    witness = [op("capture_file", "u/v", witness_key="v"), op("capture_file", "z/y.txt", witness_key="y")]
    recovery = [op("restore_file", "z/y.txt", witness_key="y"), op("restore_file", "u/v", witness_key="v")]
    candidate = read(moved, edit("b", "i", "z", "edit_file"), witness=witness, recovery=recovery, contract=["files"])
    assert prove(candidate).grade is Grade.REFUTED


def test_a_move_of_a_possible_directory_to_a_used_path_is_refuted():
    paths = ("u/v", "z/y", "w/k")
    witness = [op("capture_file", path, witness_key=path) for path in paths]
    recovery = [op("restore_file", path, witness_key=path) for path in paths]
    mutation = op("move_file", "u", value="z"), edit("b", "i", "w", "edit_file")
    candidate = read(*mutation, witness=witness, recovery=recovery, contract=["files"])
    breaking = {name: {"content": text, "mode": "0644"} for name, text in {"u": "x", "w": "b"}.items()}
    assert not round_trip(candidate, State.read({"files": breaking})).passed
    assert prove(candidate).grade is Grade.REFUTED


def test_an_edit_restored_from_another_capture_is_named():
    edits = (edit("a", "b"), edit("c", "d", "q"))
    other = op("restore_prompt", "q", witness_key="w")
    for recovery, named in ((RESTORE, "q"), (other, "p")):
        reason = why_edits_undecided(read(*edits, witness=[CAPTURE], recovery=[recovery]))
        assert reason.startswith(f'prompts["{named}"] is edited and not restored from its own capture')
