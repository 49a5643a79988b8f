"""GEPA itself, with scripted proposals: what cannot be taken back is never evaluated, whichever way it came."""

from __future__ import annotations

import json

import gepa
import pytest
from gepa.core.adapter import EvaluationBatch

from takeback.errors import InputError
from takeback.integrations.evolver_checks import build_changes_check, list_objections, repair_change
from takeback.integrations.gepa import FLOOR, CheckedAcceptance, CheckedAdapter, build_repairing_proposer

RESTORE = {"op_type": "restore_config", "target": "timeout", "witness_key": "w"}
DELETE = {"op_type": "delete_config", "target": "timeout"}


def change(value, recovery=RESTORE):
    return json.dumps(
        {
            "mutation": [{"op_type": "set_config", "target": "timeout", "value": value}],
            "witness": [{"op_type": "capture_config", "target": "timeout", "witness_key": "w"}],
            "recovery": [recovery],
        }
    )


class Quiet:
    def log(self, message):
        pass


class Scored:
    """Scores each component's number on every second example, and notes what it was asked to run."""

    propose_new_texts = None

    def __init__(self, read=int):
        self.read = read
        self.ran = []

    def evaluate(self, batch, candidate, capture_traces=False):
        self.ran.append(dict(candidate))
        names = sorted(candidate)
        scores = [self.read(candidate[names[x % len(names)]]) / 100 for x in batch]
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=scores if capture_traces else None)

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        return {name: [{"Feedback": "more"}] for name in components_to_update}


def value_of(text):
    return json.loads(text)["mutation"][0]["value"]


def optimize(adapter, seed, propose, **options):
    return gepa.optimize(
        seed,
        list(range(8)),
        list(range(8)),
        adapter=adapter,
        custom_candidate_proposer=propose,
        reflection_minibatch_size=4,
        skip_perfect_score=False,
        logger=Quiet(),
        **options,
    )


def test_irreversible_candidates_are_neither_run_nor_kept():
    script = iter([change(80, DELETE), change(60), "prose"])
    inner = Scored(lambda text: value_of(text) - 200)
    adapter = CheckedAdapter(inner, build_changes_check())
    propose = lambda candidate, data, names: {name: next(script, change(60)) for name in names}  # noqa: E731
    result = optimize(adapter, {"change": change(30)}, propose, max_metric_calls=60)
    assert value_of(result.best_candidate["change"]) == 60
    assert {value_of(candidate["change"]) for candidate in inner.ran} == {30, 60}
    assert all(not list_objections(candidate["change"]) for candidate in result.candidates)
    assert len(adapter.refused) >= 2


@pytest.mark.parametrize("guarded", [False, True])
def test_the_wrapper_refuses_an_inadmissible_merge(guarded):
    """The two parents may be kept, what they make together may not."""

    def gate(texts):
        return ("both at once",) if all(int(text) > 1 for text in texts.values()) else ()

    class First:
        def select_candidate_idx(self, state):
            return 0

    inner = Scored()
    merged = []

    class Watch:
        def on_merge_accepted(self, event):
            merged.append(event["new_candidate_idx"])

    result = optimize(
        CheckedAdapter(inner, gate) if guarded else inner,
        {"a": "1", "b": "1"},
        lambda candidate, data, names: {name: str(min(9, int(candidate[name]) + 3)) for name in names},
        max_metric_calls=200,
        use_merge=True,
        merge_val_overlap_floor=1,
        max_merge_invocations=5,
        module_selector="round_robin",
        candidate_selection_strategy=First(),
        acceptance_criterion=CheckedAcceptance(gate),
        callbacks=[Watch()],
    )
    kept = [candidate for candidate in result.candidates if gate(candidate)]
    assert bool(merged) is (not guarded)
    assert bool(kept) is (not guarded)
    assert any(gate(candidate) for candidate in inner.ran) is (not guarded)


def test_a_seed_that_cannot_be_taken_back_stops_the_run():
    with pytest.raises(InputError, match="the seed"):
        CheckedAdapter(Scored(value_of), build_changes_check()).evaluate([1], {"change": change(1, DELETE)})


def test_a_refused_candidate_has_a_score_below_all_and_says_why():
    adapter = CheckedAdapter(Scored(value_of), build_changes_check())
    adapter.evaluate([1], {"change": change(1)})
    bad = {"change": change(2, DELETE)}
    found = adapter.evaluate([1, 2], bad, capture_traces=True)
    assert found.scores == [FLOOR, FLOOR]
    assert "cannot be taken back" in found.trajectories[0]
    assert "cannot be taken back" in adapter.make_reflective_dataset(bad, found, ["change"])["change"][0]["Feedback"]


def test_the_proposer_repairs_explains_and_gives_up_after_its_tries():
    asked = []

    def answering(*replies):
        left = iter(replies)

        def ask(prompt):
            asked.append(prompt)
            return next(left)

        return ask

    data = {"change": [{"Feedback": "longer"}]}
    propose = build_repairing_proposer(answering(change(80, DELETE)))
    mended = propose({"change": change(30)}, data, ["change"])["change"]
    assert (value_of(mended), list_objections(mended)) == (80, ())
    assert "longer" in asked[0]
    propose = build_repairing_proposer(answering("prose", change(70)))
    assert value_of(propose({"change": change(30)}, data, ["change"])["change"]) == 70
    assert "cannot be taken back: it is not JSON" in asked[-1]
    propose = build_repairing_proposer(answering("prose", "more prose"), tries=2)
    assert propose({"change": change(30)}, data, ["change"]) == {"change": change(30)}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mutation": 1}', '{"mutation": [{"op_type": "levitate"}]}'])
def test_a_text_that_is_no_change_is_refused_with_a_reason_and_not_repaired(text):
    assert list_objections(text)
    assert repair_change(text) is None


def test_a_change_in_a_fence_is_read():
    assert list_objections(f"```json\n{change(1)}\n```") == ()
