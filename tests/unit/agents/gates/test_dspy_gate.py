"""The gate for DSPy, on programs of its shape; `make test-dspy` runs the example in docs/evolvers.md on DSPy."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from takeback.adapters import open_memory
from takeback.errors import InputError
from takeback.integrations.dspy import build_gepa_options, read_instructions, record_program
from takeback.state import State

BOUND = {"answer": "answering"}


def program(**texts):
    """Predictors with instructions, as DSPy has them."""
    found = [(name, SimpleNamespace(signature=SimpleNamespace(instructions=text))) for name, text in texts.items()]
    return SimpleNamespace(named_predictors=lambda: found)


STUDENT = program(answer="Answer.", deploy="Deploy.")


def proposal(**texts):
    return SimpleNamespace(candidate=texts, subsample_scores_before=[0.0], subsample_scores_after=[1.0])


def test_merging_is_off_and_only_bound_predictors_may_change():
    options = build_gepa_options(STUDENT, BOUND)
    assert options["use_merge"] is False
    criterion = options["gepa_kwargs"]["acceptance_criterion"]
    assert criterion.should_accept(proposal(answer="Answer well.", deploy="Deploy."), None)
    unbound = proposal(answer="Answer.", deploy="Deploy at once.")
    assert not criterion.should_accept(unbound, None)
    assert criterion.reject_reason(unbound, None) == "deploy is bound to no prompt of the harness"
    worse = SimpleNamespace(
        candidate=read_instructions(STUDENT), subsample_scores_before=[1], subsample_scores_after=[0]
    )
    assert not criterion.should_accept(worse, None)
    assert criterion.reject_reason(worse, None) == "it is no improvement"


def test_a_compiled_program_becomes_one_entry_that_can_be_taken_back():
    with open_memory(State.read({"prompts": {"answering": "Answer."}})) as harness:
        made = record_program(harness, STUDENT, program(answer="Answer well.", deploy="Deploy."), BOUND, by="dspy")
        assert harness.state["prompts", "answering"] == "Answer well."
        assert next(harness.log()).by == "dspy"
        harness.undo(made)
        assert harness.state["prompts", "answering"] == "Answer."
        assert record_program(harness, STUDENT, STUDENT, BOUND) is None


def test_a_program_with_a_changed_unbound_predictor_is_not_recorded():
    with open_memory(State.read({"prompts": {"answering": "Answer."}})) as harness:
        with pytest.raises(InputError, match="deploy is bound to no prompt"):
            record_program(harness, STUDENT, program(answer="Answer.", deploy="Now."), BOUND)
        assert harness.state["prompts", "answering"] == "Answer."


def test_a_predictor_that_does_not_exist_cannot_be_bound():
    with pytest.raises(InputError, match="expected predictors: answer, deploy"):
        build_gepa_options(STUDENT, {"plan": "planning"})
