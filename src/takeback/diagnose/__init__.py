"""Diagnosis: what went wrong with a rejected candidate, told in each feedback mode."""

from takeback.diagnose.defects import MEANING, Defect, DefectKind, defects
from takeback.diagnose.feedback import LADDER, Feedback, Ground, Mode, feedback, templates_digest
from takeback.diagnose.visible import Visible, visible

__all__ = [
    "LADDER",
    "MEANING",
    "Defect",
    "DefectKind",
    "Feedback",
    "Ground",
    "Mode",
    "Visible",
    "defects",
    "feedback",
    "templates_digest",
    "visible",
]
