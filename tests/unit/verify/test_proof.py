"""Proof: proved for every state, or refuted with a smallest concrete one."""

from importlib import import_module
from itertools import product

import pytest

from takeback.errors import OperationFailed
from takeback.language import Candidate, read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import ABSENT, KINDS, Kind, Level, Stage, State, tree
from takeback.verify import Grade, VerifyOptions, prove, round_trip, verify_sampled
from takeback.verify.shrink import list_smaller_states

FORMS = [
    {"op_type": "set_config", "target": "a", "value": 1},
    {"op_type": "set_config", "target": "a.b", "value": {"c": 1}},
    {"op_type": "set_config", "target": "a.b.c", "value": None},
    {"op_type": "set_prompt", "target": "system", "value": "x"},
    {"op_type": "set_routing", "target": "default_model", "value": None},
    {"op_type": "register_tool", "target": "key", "value": {"id": "other_id"}},
    {"op_type": "add_middleware", "target": "m", "value": {"handler": "h"}},
    {"op_type": "add_middleware", "target": "m", "value": {"handler": "h"}, "index": 3},
    {"op_type": "add_middleware", "target": "n", "value": {"handler": "h"}, "before": "m"},
    {"op_type": "add_middleware", "target": "n", "value": {"handler": "h"}, "after": "o"},
    {"op_type": "add_middleware", "target": "o", "value": {"handler": "h"}, "priority": 5},
    {"op_type": "add_listener", "target": "on_x", "value": {"id": "p"}},
    {"op_type": "add_listener", "target": "on_x", "value": {"id": "q"}},
    {"op_type": "write_file", "target": "d/e/f.txt", "value": "x"},
    {"op_type": "write_file", "target": "d/e", "value": {"content": "x", "mode": "0755"}},
    {"op_type": "allocate_socket", "target": "k", "value": "tcp://127.0.0.1:9501"},
    {"op_type": "allocate_socket", "target": "k", "value": "tcp://127.0.0.1:9502"},
    {"op_type": "allocate_socket", "target": "l", "value": "tcp://127.0.0.1:9501"},
    {"op_type": "allocate_socket", "target": "l", "value": "tcp://127.0.0.1:0"},
    {"op_type": "edit_prompt", "target": "system", "value": {"old": "be brief", "new": "be brief\nand kind"}},
    {"op_type": "edit_prompt", "target": "system", "value": {"old": "", "new": "\nAsk first."}},
    {"op_type": "remove_prompt", "target": "system"},
    {"op_type": "edit_file", "target": "d/e/f.txt", "value": {"old": "x", "new": "y"}},
    {"op_type": "remove_file", "target": "d/e"},
    {"op_type": "remove_directory", "target": "d/e"},
    {"op_type": "remove_directory", "target": "d"},
    {"op_type": "move_file", "target": "d/e/f.txt", "value": "g/h"},
    {"op_type": "append_config", "target": "a.b", "value": "item"},
    {"op_type": "insert_config", "target": "a.b", "value": "item", "index": 0},
    {"op_type": "insert_config", "target": "a.b", "value": "item", "before": "anchor"},
    {"op_type": "remove_config_item", "target": "a.b", "value": "item"},
    {"op_type": "unset_config", "target": "a.b"},
    {"op_type": "unset_routing", "target": "default_model"},
    {"op_type": "remove_tool", "target": "key"},
    {"op_type": "remove_middleware", "target": "m"},
    {"op_type": "move_middleware", "target": "m", "after": "o"},
    {"op_type": "replace_middleware", "target": "m", "value": {"handler": "h"}},
    {"op_type": "remove_listener", "target": "on_x", "value": "p"},
    {"op_type": "remove_listener", "target": "on_x"},
    {"op_type": "move_listener", "target": "on_x", "value": "p", "before": "q"},
    {"op_type": "free_socket", "target": "k"},
]


def inverted(*mutation):
    return invert_mutation(read_program(list(mutation), Stage.FORWARD, "test"))


def without_recovery(candidate, at):
    left = candidate.recovery[:at] + candidate.recovery[at + 1 :]
    return Candidate(candidate.mutation, candidate.witness, left, candidate.contract)


def test_every_forward_operation_is_among_the_forms():
    named = {form["op_type"] for form in FORMS}
    assert named == {kind.name for kind in KINDS.values() if kind.stage is Stage.FORWARD}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form['op_type']}-{form['target']}")
def test_the_oracle_of_one_operation_is_proved_and_doing_nothing_is_refuted(form):
    candidate = inverted(form)
    assert prove(candidate).grade is Grade.PROVED
    assert prove(without_recovery(candidate, 0)).grade is Grade.REFUTED


@pytest.mark.long
def test_the_oracle_of_every_pair_of_operations_is_proved():
    refuted = [
        (one, two) for one, two in product(FORMS, FORMS) if prove(inverted(one, two)).grade is not Grade.PROVED
    ]
    assert refuted == []


def test_sockets_that_swap_addresses_are_taken_back():
    swap = [
        {"op_type": "allocate_socket", "target": "k", "value": "tcp://127.0.0.1:9503"},
        {"op_type": "allocate_socket", "target": "l", "value": "tcp://127.0.0.1:9501"},
        {"op_type": "allocate_socket", "target": "k", "value": "tcp://127.0.0.1:9502"},
    ]
    assert prove(inverted(*swap)).grade is Grade.PROVED


def test_a_recovery_that_passes_every_sample_is_refuted_by_proof():
    mutation = [
        {"op_type": "allocate_socket", "target": "metrics", "value": "tcp://127.0.0.1:9210"},
        {"op_type": "allocate_socket", "target": "debug", "value": "tcp://127.0.0.1:9211"},
    ]
    witness = [{"op_type": "capture_socket", "target": key, "witness_key": key} for key in ("metrics", "debug")]
    recovery = [{"op_type": "release_socket", "target": key, "witness_key": key} for key in ("metrics", "debug")]
    candidate = read_candidate({"mutation": mutation, "witness": witness, "recovery": recovery})
    assert all(verify_sampled(candidate, VerifyOptions(rule="split-wald", seed=seed)).admitted for seed in range(3))
    verdict = prove(candidate)
    assert verdict.grade is Grade.REFUTED
    held = verdict.counterexample.state.write()["resources"]
    assert [record["address"] for record in held.values()] == ["tcp://127.0.0.1:9211"]


def test_a_restore_from_another_paths_capture_that_cannot_run_is_refuted():
    candidate = read_candidate(
        {
            "mutation": [
                {"op_type": "write_file", "target": "u", "value": "x"},
                {"op_type": "write_file", "target": "u/t.txt", "value": "x"},
            ],
            "witness": [
                {"op_type": "capture_file", "target": "u", "witness_key": "w1"},
                {"op_type": "capture_file", "target": "u/v/w.txt", "witness_key": "w2"},
            ],
            "recovery": [
                {"op_type": "restore_file", "target": "u/t.txt", "witness_key": "w2"},
                {"op_type": "restore_file", "target": "u", "witness_key": "w1"},
            ],
        }
    )
    breaking = State.read({"files": {"u/t.txt": {"directory": True}}})
    assert not round_trip(candidate, breaking).passed
    assert prove(candidate).grade is Grade.REFUTED


def test_a_literal_that_looks_like_a_generic_value_does_not_fool_the_proof():
    mutation = [{"op_type": "set_prompt", "target": "system", "value": "prior: system"}]
    assert prove(read_candidate({"mutation": mutation})).grade is Grade.REFUTED


@pytest.mark.parametrize("at", range(4))
def test_counterexamples_are_minimal(at):
    candidate = without_recovery(inverted(FORMS[2], FORMS[8], FORMS[13], FORMS[15]), at)
    example = prove(candidate).counterexample
    assert not round_trip(candidate, State.read(example.state.write())).passed
    assert all(round_trip(candidate, less).passed for less in list_smaller_states(example.state))


def test_a_contract_that_omits_an_effect_is_refuted_on_the_empty_state():
    good = inverted(FORMS[3])
    narrow = read_candidate({**good.to_json(), "contract": ["config"]})
    verdict = prove(narrow)
    assert verdict.grade is Grade.REFUTED
    assert [str(address) for address in verdict.counterexample.trip.uncovered] == ['prompts["system"]']


def test_a_mutation_that_always_fails_needs_a_recovery_that_does_nothing():
    mutation = [
        {"op_type": "set_config", "target": "a", "value": 1},
        {"op_type": "set_config", "target": "a.b", "value": 2},
    ]
    assert prove(read_candidate({"mutation": mutation, "recovery": []})).grade is Grade.PROVED
    deleting = [{"op_type": "delete_config", "target": "a"}]
    assert prove(read_candidate({"mutation": mutation, "recovery": deleting})).grade is Grade.REFUTED


def test_recovery_must_not_remove_what_a_failed_mutation_did_not_add():
    mutation = [
        {"op_type": "add_listener", "target": "on_x", "value": {"id": "p"}},
        {"op_type": "add_middleware", "target": "n", "value": {"handler": "h"}, "before": "gone"},
    ]
    recovery = [{"op_type": "unregister_listener", "target": "on_x", "value": "p"}]
    assert prove(read_candidate({"mutation": mutation, "recovery": recovery})).grade is Grade.REFUTED


def test_proof_knows_the_language():
    verdict = prove(inverted(FORMS[6]), level=Level.L0)
    assert not verdict.admitted
    assert verdict.grade is Grade.DECLARED
    assert {reason.code.value for reason in verdict.reasons} == {"OUT_OF_LANGUAGE"}


def test_values_restored_from_a_foreign_capture_are_examined():
    restore = {"op_type": "restore_config"}
    candidate = read_candidate(
        {
            "mutation": [{"op_type": "set_config", "target": "x", "value": 1}],
            "witness": [
                {"op_type": "capture_config", "target": path, "witness_key": key}
                for path, key in (("d", "wd"), ("d.m", "wm"), ("x", "wx"))
            ],
            "recovery": [
                {**restore, "target": "x", "witness_key": "wd"},
                {**restore, "target": "x.k.z", "witness_key": "wm"},
                {**restore, "target": "x", "witness_key": "wx"},
            ],
        }
    )
    assert not round_trip(candidate, State.read({"config": {"d": {"m": 1, "k": 5}}})).passed
    assert prove(candidate).grade is Grade.REFUTED


def test_a_socket_restored_while_another_still_holds_its_address_is_refuted():
    candidate = read_candidate(
        {
            "mutation": [{"op_type": "set_prompt", "target": "p", "value": "x"}],
            "witness": [
                {"op_type": "capture_prompt", "target": "p", "witness_key": "wp"},
                {"op_type": "capture_socket", "target": "j", "witness_key": "wj"},
                {"op_type": "capture_socket", "target": "k", "witness_key": "wk"},
            ],
            "recovery": [
                {"op_type": "release_socket", "target": "k", "witness_key": "wj"},
                {"op_type": "release_socket", "target": "k", "witness_key": "wk"},
                {"op_type": "restore_prompt", "target": "p", "witness_key": "wp"},
            ],
        }
    )
    held = {"resources": {"j": {"address": "tcp://127.0.0.1:5000"}}}
    assert not round_trip(candidate, State.read(held)).passed
    assert prove(candidate).grade is Grade.REFUTED


# classes that only few candidates need ----------------------------------------------------------------------


def _beneath(*tops):
    """Files written at the top, with captures and restores below them."""
    paths = [f"{top}/x" for top in tops]
    return read_candidate(
        {
            "mutation": [{"op_type": "write_file", "target": top, "value": "x"} for top in tops],
            "witness": [{"op_type": "capture_file", "target": path, "witness_key": path} for path in paths],
            "recovery": [{"op_type": "restore_file", "target": path, "witness_key": path} for path in paths],
        }
    )


@pytest.mark.parametrize("tops", [("d",), ("d", "e"), ("d", "e", "f")])
def test_files_are_examined_where_a_directory_could_be(tops):
    candidate = _beneath(*tops)
    verdict = prove(candidate)
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample.trip.forward_failure == ""
    assert not round_trip(candidate, State()).passed


def test_states_hidden_by_the_base_are_examined_below_directories():
    """Where `d` is a directory the mutation fails; then `d/x` must not be a directory, or it cannot be deleted."""
    candidate = read_candidate(
        {
            "mutation": [{"op_type": "write_file", "target": "d", "value": "x"}],
            "witness": [{"op_type": "capture_file", "target": "d", "witness_key": "d"}],
            "recovery": [
                {"op_type": "delete_file", "target": "d/x"},
                {"op_type": "restore_file", "target": "d", "witness_key": "d"},
            ],
        }
    )
    for passing in ({}, {"d": {"content": ""}}, {"d": {"directory": True}}, {"d/x": {"content": ""}}):
        assert round_trip(candidate, State.read({"files": passing})).passed
    verdict = prove(candidate)
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample.state.write() == {"files": {"d/x": {"directory": True}}}


def _lent_socket():
    """`k` is given what `j` held for a while: that fails where `j` stood on the address that `h` has taken."""
    allocate, capture, release = "allocate_socket", "capture_socket", "release_socket"
    return read_candidate(
        {
            "mutation": [
                {"op_type": allocate, "target": "j", "value": "tcp://127.0.0.1:9502"},
                {"op_type": allocate, "target": "h", "value": "tcp://127.0.0.1:9501"},
            ],
            "witness": [{"op_type": capture, "target": key, "witness_key": key} for key in "jkh"],
            "recovery": [
                {"op_type": release, "target": "j"},
                {"op_type": release, "target": "k", "witness_key": "j"},
                {"op_type": release, "target": "k", "witness_key": "k"},
                {"op_type": release, "target": "h", "witness_key": "h"},
                {"op_type": release, "target": "j", "witness_key": "j"},
            ],
        }
    )


def test_a_socket_lent_to_another_key_is_refuted_by_an_address_holder():
    verdict = prove(_lent_socket())
    assert verdict.grade is Grade.REFUTED
    (held,) = verdict.counterexample.state.write()["resources"].items()
    assert (held[0], held[1]["address"]) == ("j", "tcp://127.0.0.1:9501")


def test_slices_agree_with_the_whole_for_foreign_captures(monkeypatch):
    """The whole candidate need not be asked: what can see each other is in one slice."""
    module = import_module("takeback.verify.proof")

    def never(*_):
        raise AssertionError("a slice failed where the whole candidate does not")

    monkeypatch.setattr(module, "_PartsDisagreeError", never)
    prove(_lent_socket())
    assert prove(inverted(*FORMS)).grade is Grade.PROVED


@pytest.fixture
def clearing(monkeypatch):
    """Operations as later languages may have them: `clear` removes what is there, `expect_gone` fails where it is."""

    def path_of(op):
        return op.path if isinstance(op.path, tuple) else (op.path,)

    def clear(value, op):
        return tree.drop(value, path_of(op)), None

    def discard(value, op, _captured):
        return tree.drop(value, path_of(op))

    def expect_gone(value, op, _captured):
        if tree.get(value, path_of(op)) is not ABSENT:
            raise OperationFailed("still there")
        return value

    for surface in ("files", "prompts", "config"):
        for name, stage, run in (
            (f"clear_{surface}", Stage.FORWARD, clear),
            (f"discard_{surface}", Stage.RECOVERY, discard),
            (f"expect_gone_{surface}", Stage.RECOVERY, expect_gone),
        ):
            monkeypatch.setitem(KINDS, name, Kind(name, stage, Level.L1, run, surface))


BESIDE = {
    "mutation": {"op_type": "add_middleware", "target": "m", "value": {"handler": "h"}, "after": "anchor"},
    "witness": {"op_type": "capture_middleware", "target": "m", "witness_key": "m"},
    "recovery": {"op_type": "restore_middleware", "target": "m", "witness_key": "m"},
}
"""A change that fails where its anchor is not there, on another surface than the rest."""


def _cleared(witness, recovery, *, beside, mutation="clear_files"):
    parts = {"mutation": [{"op_type": mutation, "target": "p"}], "witness": witness, "recovery": recovery}
    if beside:
        parts = {name: [*program, BESIDE[name]] for name, program in parts.items()}
    return read_candidate({**parts, "contract": ["config", "prompts", "files", "middleware"]})


@pytest.mark.usefixtures("clearing")
@pytest.mark.parametrize(("beside", "grade"), [(False, Grade.PROVED), (True, Grade.REFUTED)])
def test_a_recovery_wrong_only_after_an_unrelated_failure_is_refuted(beside, grade):
    candidate = _cleared(
        [{"op_type": "capture_file", "target": "p", "witness_key": "p"}],
        [
            {"op_type": "delete_file", "target": "p"},
            {"op_type": "restore_file", "target": "p", "witness_key": "p"},
        ],
        beside=beside,
    )
    verdict = prove(candidate)
    assert verdict.grade is grade
    if beside:
        assert "there is no middleware 'anchor'" in verdict.counterexample.trip.forward_failure


@pytest.mark.usefixtures("clearing")
@pytest.mark.parametrize(("beside", "grade"), [(False, Grade.PROVED), (True, Grade.REFUTED)])
def test_coupled_places_are_examined_after_an_unrelated_failure(beside, grade):
    """`p` from the capture of `q` goes wrong where `p` is a directory, nothing is at `q`, and nothing was cleared."""
    candidate = _cleared(
        [
            {"op_type": "capture_file", "target": "p", "witness_key": "p"},
            {"op_type": "capture_file", "target": "q", "witness_key": "q"},
        ],
        [
            {"op_type": "restore_file", "target": "p", "witness_key": "q"},
            {"op_type": "discard_files", "target": "p"},
            {"op_type": "restore_file", "target": "p", "witness_key": "p"},
        ],
        beside=beside,
    )
    verdict = prove(candidate)
    assert verdict.grade is grade
    if beside:
        assert set(verdict.counterexample.state.write()) == {"files"}
        assert list(verdict.counterexample.state.write()["files"]) == ["p"]


@pytest.mark.usefixtures("clearing")
@pytest.mark.parametrize(("beside", "grade"), [(False, Grade.PROVED), (True, Grade.REFUTED)])
def test_base_values_are_examined_after_an_unrelated_failure(beside, grade):
    candidate = _cleared(
        [{"op_type": "capture_prompt", "target": "p", "witness_key": "p"}],
        [
            {"op_type": "expect_gone_prompts", "target": "p"},
            {"op_type": "restore_prompt", "target": "p", "witness_key": "p"},
        ],
        beside=beside,
        mutation="clear_prompts",
    )
    verdict = prove(candidate)
    assert verdict.grade is grade
    if beside:
        assert verdict.counterexample.state.size() == 1


@pytest.mark.usefixtures("clearing")
def test_a_failure_that_excludes_the_varied_place_is_not_unrelated():
    """The mutation fails only where `a` is a value, and then there is no `a.b` to be still there."""
    candidate = read_candidate(
        {
            "mutation": [
                {"op_type": "set_config", "target": "a.b", "value": 1},
                {"op_type": "clear_config", "target": "a.b"},
            ],
            "witness": [{"op_type": "capture_config", "target": "a.b", "witness_key": "w"}],
            "recovery": [
                {"op_type": "expect_gone_config", "target": "a.b"},
                {"op_type": "restore_config", "target": "a.b", "witness_key": "w"},
            ],
            "contract": ["config"],
        }
    )
    verdict = prove(candidate)
    assert verdict.grade is Grade.PROVED
    assert verdict.classes == 8
