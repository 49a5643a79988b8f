"""Takeback: let an agent change its own harness only if the change can be undone.

from takeback import State, oracle, read_candidate, verify

verdict = verify(read_candidate({"mutation": [...], "witness": [...], "recovery": [...]}))
verdict.admitted, verdict.grade, verdict.counterexample

Names are imported when they are first used, so that `import takeback` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False  # as in `typing`, which costs a hook's process more than all else here
if TYPE_CHECKING:
    from typing import Any

    from takeback.adapters import init_workspace, open_memory, open_workspace
    from takeback.agents.scratch_copy import check_on_copy
    from takeback.agents.text_proposal import propose_text
    from takeback.errors import InputError, TakebackError
    from takeback.evolve import Checked, Evolution, evolve
    from takeback.harness import Adopted, Applied, Harness, Recovered, RefusalReason, Refused, Stale, Status, Undone
    from takeback.harness.adapter import Adapter
    from takeback.harness.async_harness import AsyncHarness
    from takeback.harness.entry_log import EntryView
    from takeback.harness.outcomes import Discarded, Unchanged
    from takeback.integrations import AgentHarness, open_langchain, open_openai_agents, open_pydantic_ai
    from takeback.journal import Record
    from takeback.language import Candidate, NoInverse, candidate_schema, gate, read_candidate
    from takeback.repair.oracle import oracle
    from takeback.state import Kind, Level, State, Surface, diff, register
    from takeback.undo import Blocked, Gone, Plan
    from takeback.verify import Admitted, Counterexample, Grade, Verdict, prove, round_trip, verify, why_not_evidence

__version__ = "0.2.0"

__all__ = [
    "Adapter",
    "Admitted",
    "Adopted",
    "AgentHarness",
    "Applied",
    "AsyncHarness",
    "Blocked",
    "Candidate",
    "Checked",
    "Counterexample",
    "Discarded",
    "EntryView",
    "Evolution",
    "Gone",
    "Grade",
    "Harness",
    "InputError",
    "Kind",
    "Level",
    "NoInverse",
    "Plan",
    "Record",
    "Recovered",
    "RefusalReason",
    "Refused",
    "Stale",
    "State",
    "Status",
    "Surface",
    "TakebackError",
    "Unchanged",
    "Undone",
    "Verdict",
    "__version__",
    "candidate_schema",
    "check_on_copy",
    "diff",
    "evolve",
    "gate",
    "init_workspace",
    "open_langchain",
    "open_memory",
    "open_openai_agents",
    "open_pydantic_ai",
    "open_workspace",
    "oracle",
    "propose_text",
    "prove",
    "read_candidate",
    "register",
    "round_trip",
    "verify",
    "why_not_evidence",
]

_HOMES = {
    "takeback.errors": "InputError TakebackError",
    "takeback.agents.text_proposal": "propose_text",
    "takeback.agents.scratch_copy": "check_on_copy",
    "takeback.evolve": "Checked Evolution evolve",
    "takeback.harness": "Adopted Applied Harness Recovered Refused Stale Status Undone RefusalReason",
    "takeback.adapters": "init_workspace open_memory open_workspace",
    "takeback.integrations": "AgentHarness open_langchain open_openai_agents open_pydantic_ai",
    "takeback.harness.adapter": "Adapter",
    "takeback.harness.async_harness": "AsyncHarness",
    "takeback.harness.entry_log": "EntryView",
    "takeback.harness.outcomes": "Discarded Unchanged",
    "takeback.journal": "Record",
    "takeback.language": "Candidate NoInverse candidate_schema gate read_candidate",
    "takeback.state": "Kind Level State Surface diff register",
    "takeback.repair.oracle": "oracle",
    "takeback.undo": "Blocked Gone Plan",
    "takeback.verify": "Admitted Counterexample Grade Verdict why_not_evidence prove round_trip verify",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


class _Package(ModuleType):
    """Keeps `takeback.verify` and `takeback.evolve` the functions, also once modules of those names are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, ModuleType) and name in _HOME_OF):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
