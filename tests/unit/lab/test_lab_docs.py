"""What docs/lab.md shows is what the code takes and gives."""

import json
import re
from pathlib import Path

from takeback_lab.published import recompute
from takeback_lab.registry import experiment_named
from takeback_lab.report.inputs import EXPERIMENTS
from takeback_lab.report.table import to_latex

TEXT = (Path(__file__).parents[3] / "docs" / "lab.md").read_text(encoding="utf-8")
INPUT = re.compile(r"### Input of ([^\n]+)\n.*?```json\n(.*?)```", re.DOTALL)


def test_every_experiment_has_an_example_in_the_docs_that_makes_tables_and_plots():
    shown = set()
    for names, block in INPUT.findall(TEXT):
        for name in re.findall(r"`([^`]+)`", names):
            experiment, data = experiment_named(name), json.loads(block)
            assert all(to_latex(table) for table in experiment.tables(data))
            assert all(figure.axes for _, figure in experiment.plots(data))
            shown.add(name)
    assert shown == set(EXPERIMENTS)


def test_the_docs_state_the_counts_and_every_exception_of_the_published_figures():
    result = recompute().to_json()
    for field in ("count", "equal", "differs", "not_derivable"):
        assert f'"{field}": {result[field]}' in TEXT
    for check in recompute().exceptions:
        numbers = re.findall(r"[\d.]+(?:e-\d+)?", check.printed)
        assert all(number in TEXT for number in numbers), check.name
