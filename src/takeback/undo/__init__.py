"""Undo of any entry in any order: slots, the index of their versions, plans."""

from takeback.journal.packing import GONE
from takeback.undo.history import History
from takeback.undo.index import Index
from takeback.undo.outcome import Blocked, Gone, Kept, Outcome, Plan, SlotChange
from takeback.undo.plan import plan_redo, plan_toggle, plan_undo
from takeback.undo.settle import relied_on
from takeback.undo.versions import Version, Write

__all__ = [
    "GONE",
    "Blocked",
    "Gone",
    "History",
    "Index",
    "Kept",
    "Outcome",
    "Plan",
    "SlotChange",
    "Version",
    "Write",
    "plan_redo",
    "plan_toggle",
    "plan_undo",
    "relied_on",
]
