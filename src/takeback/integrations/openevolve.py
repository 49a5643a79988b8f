"""A check for OpenEvolve (extra `openevolve`), whose programs are changes with their recovery, as JSON.

An evaluator file imports `evaluate_stage1`, so that what cannot be taken back is not run:
`build_checked_config` sets the threshold. `admit` keeps it out of the population. Judging reads JSON and
runs nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from takeback.integrations.evolver_checks import import_extra, list_objections

METRIC: Final = "can_be_taken_back"
ARTIFACT: Final = "cannot_be_taken_back"
THRESHOLD: Final = 0.5


def evaluate_stage1(program_path: str) -> Any:
    """Run OpenEvolve's first stage: 1 for a change that can be taken back, 0 and the reasons for any other."""
    result = import_extra("openevolve.evaluation_result").EvaluationResult
    try:
        reasons = list_objections(Path(program_path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as fault:
        reasons = (f"it is not UTF-8: {fault}",)
    score = 0.0 if reasons else 1.0
    return result({"combined_score": score, METRIC: score}, {ARTIFACT: "; ".join(reasons)} if reasons else {})


def admit(snapshot: Any, program: Any, island: Any) -> bool:
    """Return whether a program may join, judged by its text; for OpenEvolve's `PopulationStrategy(admit=…)`."""
    del snapshot, island
    return not list_objections(program.code)


def build_checked_config(config: Any) -> Any:
    """Return an OpenEvolve `Config` whose stage 2 runs only what passed stage 1, with programs as JSON."""
    config.language, config.file_suffix, config.diff_based_evolution = "json", ".json", False
    config.evaluator.cascade_evaluation = True
    config.evaluator.cascade_thresholds = [THRESHOLD, *config.evaluator.cascade_thresholds[1:]]
    return config
