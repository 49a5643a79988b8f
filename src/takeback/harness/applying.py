"""From a candidate to a change: what was given, judged; what it would write on the state as it is; and making it.

A candidate that is not admitted, whose evidence is not about it, that the adapter cannot
store or whose mutation cannot run is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from takeback.errors import InputError
from takeback.harness.adapter import Adapter, Unsayable
from takeback.harness.adopting import looked, taking_effect
from takeback.harness.codec import change_draft
from takeback.harness.drift import Footing, does_the_same, find_footing, refuse_drift, run_beside
from takeback.harness.engine import Engine, Look
from takeback.harness.filing import ready
from takeback.harness.limits import refuse_unreadable
from takeback.harness.results import Applied, Preview, Refused, Why
from takeback.language import Candidate, NoInverse, read_candidate, settle_candidate
from takeback.state import State
from takeback.undo import Write, relied_on
from takeback.undo.recording import run_recorded
from takeback.verify import Admitted, Verdict, verify
from takeback.verify.evidence import unbound, verified, why_not_admitting
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
    footing: Footing


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
    if evidence is not None:
        why = unbound(evidence, candidate)
        if why is not None:
            return Refused(Why.EVIDENCE, why, evidence if isinstance(evidence, Verdict) else None)
    unstored = {op.kind.surface for op in candidate.mutation} - adapter.surfaces
    if unstored:
        names = ", ".join(sorted(unstored))
        return Refused(Why.UNSTORED, f"this harness ({adapter.name}) does not store {names}")
    verdict = verifier(candidate) if evidence is None else evidence
    if not verdict.admitted and not force:
        return Refused(Why.VERDICT, "the candidate is not admitted", verdict)
    why = None
    if evidence is None and verifier is not verify:  # what the one verifier has just issued needs no second look
        why = unbound(verdict, candidate)
    if why is None and verdict.admitted:
        why = why_not_admitting(verdict)
    if why is None and verdict.admitted and verifier is verify and verdict.rule != PROOF:
        why = f"the verdict was decided by {verdict.rule!r}, and this harness admits by {PROOF!r}"
    if why is not None:
        return Refused(Why.EVIDENCE, why, verdict)
    return Judged(verified(verdict), verdict)


def _read(given: Candidate | Mapping[str, Any]) -> Candidate:
    if isinstance(given, Candidate):
        return settle_candidate(given)
    if isinstance(given, Mapping):
        return read_candidate(dict(given))
    raise InputError("candidate", found=type(given).__name__, expected="a Candidate, an Admitted, or its JSON object")


def prepared(engine: Engine, found: Judged, look: Look, *, allow_ties: bool) -> Prepared | Refused:
    """Run a candidate's mutation on the present state, in mind only."""
    history, state = engine.ledger.history, engine.ledger.state
    mutation = found.candidate.mutation
    recorded = run_recorded(mutation, run_beside(look, state, mutation))
    if not recorded.receipt.succeeded:
        refused = refuse_drift(Footing(state, state, look.drift))
        if refused is not None and run_recorded(mutation, look.actual).receipt.succeeded:
            return replace(refused, verdict=found.verdict)
        return Refused(Why.STATE, f"the mutation cannot run here: {recorded.receipt.reason}", found.verdict)
    writes = history.grounded(recorded.writes)
    beyond = refuse_unreadable(engine, state, recorded.state, (write.slot for write in writes))
    if beyond is not None:
        return replace(beyond, verdict=found.verdict)
    ties = relied_on(history, writes)
    if ties and not allow_ties:
        return Refused(Why.TIED, "earlier entries could be taken back only with this one", found.verdict, ties=ties)
    footing = find_footing(engine, look, recorded.state, writes)
    if look.drift and not footing.touched and not does_the_same(mutation, footing):
        footing = footing._replace(touched=look.drift, elsewhere=())
    return Prepared(tuple(writes), recorded.state, ties, footing)


def apply_judged(engine: Engine, found: Judged, said: Mapping[str, Any], *, allow_ties: bool) -> Applied | Refused:
    """Make a change that may be made, on things as they are; the lock is held."""
    candidate, verdict = found
    change = prepared(engine, found, looked(engine), allow_ties=allow_ties)
    if isinstance(change, Refused):
        return change
    known = engine.ledger.state
    before, after = change.footing[:2]
    changes = refuse_drift(change.footing) or ready(engine, before, after)
    if isinstance(changes, Refused):
        return replace(changes, verdict=verdict)
    forced = not verdict.admitted
    about: dict[str, Any] = {"candidate": candidate.to_json(), "evidence": verdict.to_json()}
    about |= {"forced": forced, "ties": sorted(change.ties), **said}
    about |= taking_effect(engine, change.writes)
    draft = change_draft("apply", change.writes, about, packer=engine.ledger.packer)
    entry = engine.make(draft, change.writes, (before, after), changes)
    return Applied(entry, verdict, forced, change.ties, change.writes, known)


def previewed(engine: Engine, found: Judged, *, allow_ties: bool) -> Preview | Refused:
    """What a candidate would change: slots and files; and what was changed outside Takeback, there and elsewhere."""
    change = prepared(engine, found, looked(engine), allow_ties=allow_ties)
    if isinstance(change, Refused):
        return change
    footing = change.footing
    refused = refuse_drift(footing)
    if refused is not None and footing.broken:
        return replace(refused, verdict=found.verdict)
    files = () if footing.touched else engine.rendered(footing.before, footing.after)
    if isinstance(files, Unsayable):
        return Refused(Why.UNSAYABLE, f"{files.reason}; nothing was changed", found.verdict)
    paths = tuple(file.path for file in files)
    return Preview(
        found.candidate,
        found.verdict,
        engine.ledger.state,
        change.writes,
        paths,
        change.ties,
        footing.touched,
        footing.elsewhere,
    )


def not_now(look: Look) -> Refused | None:
    """Return why nothing can be done that needs everything to be as the journal says; None if it is."""
    whole = Footing(look.actual, look.actual, look.drift, broken=look.broken)
    return refuse_drift(whole)
