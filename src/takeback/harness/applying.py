"""Before a candidate is applied: what was given, judged; and what it would write on the state as it is.

Nothing is changed here. A candidate that is not admitted, whose evidence is not about it, that the adapter cannot
store or whose mutation cannot run is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from takeback.errors import InputError
from takeback.harness.adapter import Adapter, Unsayable
from takeback.harness.engine import Engine, Look
from takeback.harness.limits import refuse_unreadable
from takeback.harness.results import Preview, Refused, Why
from takeback.language import Candidate, NoInverse, read_candidate
from takeback.state import State
from takeback.undo import Write, relied_on
from takeback.undo.recording import run_recorded
from takeback.verify import Admitted, Verdict, objection, verify
from takeback.verify.evidence import unbound, verified
from takeback.verify.rules import PROOF

Given = Candidate | Admitted | NoInverse | Mapping[str, Any]
"""How a caller gives a candidate: as it is, as JSON, as an `Admitted`, or as what the oracle answered."""


class Judged(NamedTuple):
    """A candidate that may be applied, or that someone wants applied although it may not."""

    candidate: Candidate
    verdict: Verdict


class Prepared(NamedTuple):
    """What a candidate writes on the present state."""

    writes: tuple[Write, ...]
    state: State
    ties: Mapping[int, str]
    """Earlier entries that could be taken back only together with it, and why."""


def judged(
    given: Given,
    adapter: Adapter,
    verifier: Callable[[Candidate], Verdict],
    evidence: Verdict | None,
    *,
    force: bool,
) -> Judged | Refused:
    """Decide whether a candidate may be applied; `evidence` is a verdict already at hand.

    Without a verifier of its own a harness admits by proof, and takes no evidence by another rule for that.
    """
    if isinstance(given, NoInverse):
        return Refused(Why.VERDICT, str(given))
    if isinstance(given, Admitted):
        evidence = given.verdict if evidence is None else evidence
        given = given.candidate
    candidate = _read(given)
    why = None if evidence is None else unbound(evidence, candidate)
    if why is not None:
        return Refused(Why.EVIDENCE, why, evidence if isinstance(evidence, Verdict) else None)
    unstored = {op.kind.surface for op in candidate.mutation} - adapter.surfaces
    if unstored:
        names = ", ".join(sorted(unstored))
        return Refused(Why.UNSTORED, f"this harness ({adapter.name}) does not store {names}")
    verdict = verifier(candidate) if evidence is None else evidence
    if not verdict.admitted and not force:
        return Refused(Why.VERDICT, "the candidate is not admitted", verdict)
    why = objection(verdict, candidate) if verdict.admitted else unbound(verdict, candidate)
    if why is None and verdict.admitted and verifier is verify and verdict.rule != PROOF:
        why = f"the verdict was decided by {verdict.rule!r}, and this harness admits by {PROOF!r}"
    if why is not None:
        return Refused(Why.EVIDENCE, why, verdict)
    return Judged(verified(verdict), verdict)


def _read(given: Candidate | Mapping[str, Any]) -> Candidate:
    if isinstance(given, Candidate):
        return given
    if isinstance(given, Mapping):
        return read_candidate(dict(given))
    raise InputError("candidate", found=type(given).__name__, expected="a Candidate, an Admitted, or its JSON object")


def prepared(engine: Engine, found: Judged, *, allow_ties: bool) -> Prepared | Refused:
    """Run a candidate's mutation on the present state, in mind only."""
    history = engine.ledger.history
    recorded = run_recorded(found.candidate.mutation, engine.ledger.state)
    if not recorded.receipt.succeeded:
        return Refused(Why.STATE, f"the mutation cannot run here: {recorded.receipt.reason}", found.verdict)
    writes = history.grounded(recorded.writes)
    beyond = refuse_unreadable(engine, engine.ledger.state, recorded.state, (write.slot for write in writes))
    if beyond is not None:
        return replace(beyond, verdict=found.verdict)
    ties = relied_on(history, writes)
    if ties and not allow_ties:
        return Refused(Why.TIED, "earlier entries could be taken back only with this one", found.verdict, ties=ties)
    return Prepared(tuple(writes), recorded.state, ties)


def previewed(engine: Engine, found: Judged, *, allow_ties: bool) -> Preview | Refused:
    """What a candidate would change: slots and files."""
    change = prepared(engine, found, allow_ties=allow_ties)
    if isinstance(change, Refused):
        return change
    files = engine.rendered(change.state)
    if isinstance(files, Unsayable):
        return Refused(Why.UNSAYABLE, f"{files.reason}; nothing was changed", found.verdict)
    paths = tuple(file.path for file in files)
    return Preview(found.candidate, found.verdict, engine.ledger.state, change.writes, paths, change.ties)


def not_now(look: Look, verdict: Verdict | None = None) -> Refused:
    """Why nothing can be changed while files are broken or were changed by someone else."""
    if look.broken:
        message = f"{look.broken[0]}; mend it, or put it back with 'takeback discard {look.broken[0].path}'"
        return Refused(Why.BROKEN, message, verdict, look.drift, broken=look.broken)
    things = "1 thing was" if len(look.drift) == 1 else f"{len(look.drift)} things were"
    message = f"{things} changed behind Takeback's back; adopt that first, or put it back"
    return Refused(Why.DRIFT, message, verdict, look.drift)
