"""The mutation of a candidate is judged at L1 wherever it goes: at turn 0, in its stratum, and in every repair."""

from typing import Final

from takeback.repair.attempt import build_attempt
from takeback.repair.diagnosis import Mode
from takeback.repair.synthesizer import Spec, make_method
from takeback.state import Level
from takeback_lab.experiment import Asked
from takeback_lab.experiments.bank import stratum_of
from takeback_lab.experiments.repairs import TERMS, repair_unit, run_repair
from takeback_lab.tasks import get

TASK: Final = get("nat_cfg_001")
RESTORED: Final = {
    "witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}],
    "contract": ["config"],
}
INSIDE: Final = {"mutation": [{"op_type": "set_config", "target": "a", "value": 1}], **RESTORED}
OUTSIDE: Final = {"mutation": [{"op_type": "unset_config", "target": "a"}], **RESTORED}


def repaired(candidate):
    asked = Asked(None, make_method(Spec("oracle"), None), "oracle")
    return run_repair(repair_unit(TASK, candidate, Mode.D1, Level.L0, TERMS), asked, any_mutation=True)["turn"]


def test_no_recovery_is_admitted_for_a_mutation_outside_l1():
    assert (stratum_of(TASK, build_attempt(INSIDE)), repaired(INSIDE)) == ("S0", 1)
    assert (stratum_of(TASK, build_attempt(OUTSIDE)), repaired(OUTSIDE)) == ("residual", None)
