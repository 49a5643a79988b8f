"""Undo of any entry in any order: slots, the index of their versions, plans."""

from typing import TYPE_CHECKING

from takeback.lazy_names import load_on_demand

if TYPE_CHECKING:
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

__getattr__ = load_on_demand(
    __name__,
    {
        "takeback.state.forgotten": "FORGOTTEN_VALUE",
        "takeback.undo.consequences": "find_dependencies",
        "takeback.undo.history": "History",
        "takeback.undo.index": "Index Version Write",
        "takeback.undo.plan": "plan_redo plan_toggle plan_undo",
        "takeback.undo.plan_types": "Blocked Gone Outcome Overwritten Plan SlotChange",
    },
)
