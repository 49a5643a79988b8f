"""Which experiments there are, by name: each is imported when it is asked for.

Adding one is a line here and its module; its command, lock, report and resumption follow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from takeback.errors import InputError
from takeback_lab.experiment import Experiment

MODULES: Final = {
    "bisect": "takeback_lab.experiments.bisect",
    "bytes": "takeback_lab.experiments.bytes",
    "contract-audit": "takeback_lab.experiments.contract_audit",
    "controlled": "takeback_lab.experiments.controlled",
    "conventional": "takeback_lab.experiments.conventional",
    "factorial": "takeback_lab.experiments.factorial",
    "fresh": "takeback_lab.experiments.fresh",
    "natural": "takeback_lab.experiments.natural",
    "oracle": "takeback_lab.experiments.oracle",
    "replication": "takeback_lab.experiments.replication",
    "sensitivity": "takeback_lab.experiments.sensitivity",
    "snapshots": "takeback_lab.experiments.snapshots",
    "soundness": "takeback_lab.experiments.soundness",
    "stability": "takeback_lab.experiments.stability",
    "undo-laws": "takeback_lab.experiments.undo_laws",
}
"""The module of each experiment; it holds it as `EXPERIMENT`."""

ASKING: Final = ("controlled", "conventional", "factorial", "fresh", "natural", "replication")
"""Those whose units ask a model."""


def experiment_named(name: str) -> Experiment[Any]:
    """The experiment of that name."""
    if name not in MODULES:
        raise InputError("experiment", found=name, expected=f"one of {', '.join(MODULES)}")
    found: Experiment[Any] = import_module(MODULES[name]).EXPERIMENT
    return found
