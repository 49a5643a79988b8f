"""Which experiments there are, by name: each is imported when it is asked for.

Adding one is a line here and its module; its command, lock, report and resumption follow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from takeback.errors import InputError
from takeback.lab.experiment import Experiment

MODULES: Final = {
    "bisect": "takeback.lab.experiments.bisect",
    "bytes": "takeback.lab.experiments.bytes",
    "contract-audit": "takeback.lab.experiments.contract_audit",
    "controlled": "takeback.lab.experiments.controlled",
    "conventional": "takeback.lab.experiments.conventional",
    "factorial": "takeback.lab.experiments.factorial",
    "fresh": "takeback.lab.experiments.fresh",
    "natural": "takeback.lab.experiments.natural",
    "oracle": "takeback.lab.experiments.oracle",
    "replication": "takeback.lab.experiments.replication",
    "snapshots": "takeback.lab.experiments.snapshots",
    "soundness": "takeback.lab.experiments.soundness",
    "stability": "takeback.lab.experiments.stability",
    "undo-laws": "takeback.lab.experiments.undo_laws",
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
