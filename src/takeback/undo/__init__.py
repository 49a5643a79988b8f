"""Undo of any entry in any order: slots, the index of their versions, plans."""

from takeback.state.forgotten import FORGOTTEN_VALUE
from takeback.undo.consequences import find_dependencies
from takeback.undo.history import History
from takeback.undo.index import Index, Version, Write
from takeback.undo.plan import plan_redo, plan_toggle, plan_undo
from takeback.undo.plan_types import Blocked, Gone, Outcome, Overwritten, Plan, SlotChange

__all__ = [
    "FORGOTTEN_VALUE",
    "Blocked",
    "Gone",
    "History",
    "Index",
    "Outcome",
    "Overwritten",
    "Plan",
    "SlotChange",
    "Version",
    "Write",
    "find_dependencies",
    "plan_redo",
    "plan_toggle",
    "plan_undo",
]
