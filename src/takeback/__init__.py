"""Takeback: an agent may change its own harness only if the change can be taken back.

from takeback import State, oracle, read_candidate, verify

verdict = verify(read_candidate({"mutation": [...], "witness": [...], "recovery": [...]}))
verdict.admitted, verdict.grade, verdict.counterexample
"""

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.errors import InputError, TakebackError
from takeback.harness import Harness
from takeback.language import Candidate, candidate_schema, gate, read_candidate
from takeback.state import Level, State, diff, register
from takeback.synthesize.oracle import oracle
from takeback.verify import Admitted, Counterexample, Grade, Verdict, objection, prove, round_trip, verify

__version__ = "0.1.0"

__all__ = [
    "Admitted",
    "Candidate",
    "Counterexample",
    "Grade",
    "Harness",
    "InputError",
    "Level",
    "State",
    "TakebackError",
    "Verdict",
    "__version__",
    "candidate_schema",
    "diff",
    "gate",
    "init_workspace",
    "objection",
    "open_memory",
    "open_workspace",
    "oracle",
    "prove",
    "read_candidate",
    "register",
    "round_trip",
    "verify",
]
