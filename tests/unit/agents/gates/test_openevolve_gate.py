"""OpenEvolve's two places for a gate; a whole run is the example of docs/evolvers.md."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from openevolve.config import Config
from tests.unit.agents.gates.test_gepa_gate import DELETE, change

from takeback.integrations.openevolve import ARTIFACT, METRIC, admit, build_checked_config, evaluate_stage1


@pytest.mark.parametrize(
    ("text", "score"), [(change(1).encode(), 1.0), (change(1, DELETE).encode(), 0.0), (b"prose", 0.0), (b"\xff", 0.0)]
)
def test_the_first_stage_scores_reversible_programs_and_explains_refusals(tmp_path, text, score):
    (tmp_path / "program.json").write_bytes(text)
    found = evaluate_stage1(str(tmp_path / "program.json"))
    assert found.metrics == {"combined_score": score, METRIC: score}
    assert (ARTIFACT in found.artifacts) is (score == 0.0)


def test_a_program_is_admitted_by_its_text_not_by_its_metrics():
    assert admit(None, SimpleNamespace(code=change(1), metrics={}), 0) is True
    assert admit(None, SimpleNamespace(code=change(1, DELETE), metrics={METRIC: 1.0}), 0) is False


def test_only_the_threshold_of_the_first_stage_is_changed():
    config = Config()
    later = config.evaluator.cascade_thresholds[1:]
    assert build_checked_config(config).evaluator.cascade_thresholds == [0.5, *later]
    assert (config.evaluator.cascade_evaluation, config.file_suffix) == (True, ".json")
