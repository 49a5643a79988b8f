"""Why a harness makes no change now: files are broken or changed by someone else, or later writes would be kept."""

from __future__ import annotations

from takeback.harness.engine import Look
from takeback.harness.results import Refused, Why
from takeback.undo import Plan
from takeback.verify import Verdict


def demand_nothing_kept(plan: Plan) -> Plan | Refused:
    """The plan, unless it would keep what later entries wrote."""
    if not plan.kept:
        return plan
    later = ", ".join(f"#{entry}" for entry in sorted({kept.entry for kept in plan.kept}))
    return Refused(Why.KEPT, f"what {later} wrote later would be kept; nothing was changed", plan=plan)


def not_now(look: Look, verdict: Verdict | None = None) -> Refused:
    """Why nothing can be changed while files are broken or were changed by someone else."""
    if look.broken:
        message = f"{look.broken[0]}; mend it, or put it back with 'takeback discard {look.broken[0].path}'"
        return Refused(Why.BROKEN, message, verdict, look.drift, broken=look.broken)
    message = f"{len(look.drift)} thing(s) were changed behind Takeback's back; adopt that first, or put it back"
    return Refused(Why.DRIFT, message, verdict, look.drift)
