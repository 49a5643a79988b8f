"""A change from its candidate to its files: judged, run on a copy of the state, checked against limits, and made.

A candidate that is not admitted, whose evidence is not about it, that the adapter cannot store or whose
mutation cannot run is refused, with the reason. Limits are checked before a change is announced, by the code
that reads, so that what is written can be read again. A change is tried anew where someone else wrote to its
files meanwhile.

One-line changes (the command line's, `Harness.set`, `add`, `edit`, `append`, `remove` and `move`) are worked out
from the state while the journal is held; from Python, names are taken as they are and values as JSON.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from takeback.errors import (
    ChangedMeanwhile,
    HarnessError,
    InputError,
    TakebackError,
    UnreachableError,
    WrongTypeError,
)
from takeback.harness.adapter import Adapter, NotExpressible, ValueTranslator
from takeback.harness.calls import (
    CallApproval,
    CallRules,
    build_approval,
    is_approved_irreversible,
    refuse_calls,
    why_approval_unfit,
)
from takeback.harness.drift import (
    Footing,
    build_effect_payload,
    find_footing,
    has_same_effect,
    put_changes,
    read_and_absorb_client_writes,
    refuse_drift,
    reserve_drift_ids,
)
from takeback.harness.engine import Engine, Inspection
from takeback.harness.file_changes import plan_file_changes
from takeback.harness.late_contents import is_unread
from takeback.harness.missing_values import describe_unkept, list_unkept
from takeback.harness.outcomes import Applied, Preview, RefusalReason, Refused, Unchanged
from takeback.harness.records import draft_change
from takeback.language import Candidate, NoInverse, Program, read_candidate, reread_candidate
from takeback.lazy_names import load_later
from takeback.runtime import run_forward
from takeback.state import ABSENT, SURFACES, State
from takeback.state.slots import Slot, find_containing_slot
from takeback.state.surface import surface_by_word
from takeback.state.surfaces.calls import CALLS
from takeback.state.surfaces.external import EXTERNAL
from takeback.state.surfaces.files import why_not_regular
from takeback.undo import SlotChange, Write

if TYPE_CHECKING:
    from takeback import repair
    from takeback.harness import external
    from takeback.harness.calls_steps import OpenStep
    from takeback.harness.harness import Harness
    from takeback.journal import Record
    from takeback.language import oneline
    from takeback.verify import Admitted, Verdict
else:
    (external,) = load_later(globals(), "takeback.harness", "external")
    (oneline,) = load_later(globals(), "takeback.language", "oneline")
    (repair,) = load_later(globals(), "takeback", "repair")

SomeResult = TypeVar("SomeResult")
ATTEMPTS: Final = 5
"""How often a change is tried at least."""
PATIENCE: Final = 3.0
"""For how many seconds it is tried again, beyond that."""


def retry_on_conflict(make: Callable[[], SomeResult], look_anew: Callable[[], None]) -> SomeResult:
    """Make a change; retry as long as someone else is writing to its files, within bounds."""
    tried, until = 0, time.monotonic() + PATIENCE
    while True:
        try:
            return make()
        except ChangedMeanwhile as fault:
            look_anew()
            tried += 1
            if tried >= ATTEMPTS and time.monotonic() > until:
                raise HarnessError(f"{fault.message}, repeatedly; nothing was changed") from fault


def is_idle(mutation: Program, state: State) -> bool:
    """Tell whether a mutation runs on a state and leaves it as it is."""

    after, receipt = run_forward(mutation, state)
    return bool(receipt.succeeded) and after == state


ON_DISK: Final = "files"
"""The surface whose contents are files themselves: what is there, or was, may be of any size."""
_PLAIN: Final = frozenset({str, int, float, bool, type(None), tuple})
"""Whole values, which were read when they were written."""


def can_grow(change: SlotChange) -> bool:
    """Tell whether a change may leave something longer than it ever was: what comes to be, or is made of parts."""
    if change.after is ABSENT or is_unread(change.after):  # which was read when it was written
        return False
    return change.before is ABSENT or type(change.after) not in _PLAIN


def refuse_unreadable(
    engine: Engine, before: State, after: State, slots: Iterable[Slot], *, back: bool = False
) -> Refused | None:
    """Return a refusal where what some slots hold could not be read again; None where all of it can be.

    Files on disk may be of any size where they were so already, or where that comes `back`.
    """
    written: dict[Slot, list[str]] = {}
    whole: set[Slot] = set()
    for slot in slots:
        place = find_containing_slot(slot)
        written.setdefault(place, []).extend(slot[len(place) :])
        whole |= {place} if place is slot else set()
    for slot, names in written.items():
        fault = _why_unreadable(after, slot, () if slot in whole else names)
        on_disk = engine.files is not None and slot[0] == ON_DISK
        if fault is None or (on_disk and (back or _why_unreadable(before, slot, ()) is not None)):
            continue
        message = f"{fault.where}: {fault.message}; it could not be read again, and nothing was changed"
        return Refused(RefusalReason.LIMIT, f"{message}. Make it smaller, or remove something first")
    return None


def _why_unreadable(state: State, slot: Slot, names: Iterable[str]) -> InputError | None:
    try:
        SURFACES[slot[0]].check_slot(state.part(slot[0]), slot[1:], tuple(names))
    except InputError as fault:
        return fault
    return None


Given: TypeAlias = "Candidate | Admitted | NoInverse | Mapping[str, Any] | list[Any] | tuple[Any, ...]"
"""How a caller gives a change: as candidate, its JSON, `Admitted`, what the oracle answered, or operations alone."""


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


def _why_unstored(candidate: Candidate, stored: Collection[str]) -> str:
    """Return what of a candidate is not stored, in words; empty if all of it is."""
    unstored = {op.kind.surface for op in candidate.mutation} - {*stored, CALLS}
    if unstored:
        return f"{', '.join(sorted(unstored))}; it stores {', '.join(sorted(stored))}"
    odd = next(filter(None, map(why_not_regular, candidate.mutation)), None)
    return f"that: {odd}" if odd else ""


def judge_candidate(
    given: Given,
    adapter: Adapter,
    verifier: Callable[[Candidate], Verdict] | None,
    evidence: Verdict | None,
    *,
    force: bool,
    approval: CallApproval | None = None,
    planning: bool = False,
) -> Judged | Refused:
    """Decide whether a candidate may be applied; `evidence` is a verdict already at hand.

    Without a verifier of its own a harness admits by proof, and takes no evidence by another rule for that. Calls
    whose effects stay want an `approval`, unless it is only `planning`.
    """
    from takeback.verify import Admitted, Verdict, verify  # noqa: PLC0415 - start-up
    from takeback.verify.evidence import get_verified_candidate, why_not_admitting, why_unbound  # noqa: PLC0415 - start-up
    from takeback.verify.rules import PROOF  # noqa: PLC0415 - start-up

    if isinstance(given, NoInverse):
        return Refused(RefusalReason.VERDICT, str(given))
    if isinstance(given, Admitted):
        evidence = given.verdict if evidence is None else evidence
        given = given.candidate
    candidate = _read_given(given)
    if evidence is not None:
        why = why_unbound(evidence, candidate)
        if why is not None:
            return Refused(RefusalReason.EVIDENCE, why, evidence if isinstance(evidence, Verdict) else None)
    rules: CallRules | None = getattr(adapter, "calls", None)
    stored = adapter.surfaces if getattr(adapter, "external", None) is None else {*adapter.surfaces, EXTERNAL}
    unstored = _why_unstored(candidate, stored)
    if unstored:
        return Refused(RefusalReason.UNSTORED, f"this harness ({adapter.name}) does not store {unstored}")
    verifier = verifier or verify
    verdict = verifier(candidate) if evidence is None else evidence
    refused = None if planning else refuse_calls(rules, candidate, verdict, approval)
    if refused is not None:
        return refused
    approved = verdict.lacks_only_approval and is_approved_irreversible(rules, candidate, approval)
    if not verdict.admitted and not force and not approved:
        return Refused(RefusalReason.VERDICT, "the candidate is not admitted", verdict)
    why = None
    if evidence is None and verifier is not verify:  # what the one verifier has just issued needs no second look
        why = why_unbound(verdict, candidate)
    if why is None and verdict.admitted:
        why = why_not_admitting(verdict)
    if why is None and verdict.admitted and verifier is verify and verdict.rule != PROOF:
        why = f"the verdict was decided by {verdict.rule!r}, and this harness admits by {PROOF!r}"
    if why is not None:
        return Refused(RefusalReason.EVIDENCE, why, verdict)
    return Judged(get_verified_candidate(verdict), verdict)


def complete_given(given: Given, state: State) -> Given:
    """Return a change with the oracle's recovery, where it was given as operations alone; otherwise as it is."""
    if not isinstance(given, list | tuple):
        return given
    if not given:
        raise InputError("candidate", found="no operation", expected="a Candidate, or at least one operation")
    return repair.oracle(given, nominal=state)


def _read_given(given: object) -> Candidate:
    if isinstance(given, Candidate):
        return reread_candidate(given)
    if isinstance(given, Mapping):
        return read_candidate(dict(given))
    expected = "a Candidate, an Admitted, a candidate's JSON object, or a list of operations"
    raise WrongTypeError("candidate", given, expected=expected)


def dry_run_candidate(engine: Engine, judged: Judged, look: Inspection, *, allow_ties: bool) -> Prepared | Refused:
    """Run a candidate's mutation on the present state, in mind only."""
    from takeback.undo import find_dependencies  # noqa: PLC0415 - start-up
    from takeback.undo.record import run_and_record  # noqa: PLC0415 - start-up

    mutation = judged.candidate.mutation
    refused = refuse_unreachable(engine, _list_named_records(mutation))
    if refused is not None:
        return replace(refused, verdict=judged.verdict)
    history, state = engine.ledger.history, engine.ledger.state
    recorded = run_and_record(mutation, reserve_drift_ids(look, state, mutation))
    if not recorded.receipt.succeeded:
        refused = refuse_drift(Footing(state, state, look.drift))
        if refused is not None and run_and_record(mutation, look.actual).receipt.succeeded:
            return replace(refused, verdict=judged.verdict)
        return Refused(
            RefusalReason.STATE,
            f"the change cannot run on the present state: {recorded.receipt.reason}",
            judged.verdict,
        )
    records = engine.list_records(state, recorded.state)
    why = None if engine.external is None or not records else engine.external.why_unwritable(records)
    if why is not None:
        return Refused(RefusalReason.REAL, f"{why}; nothing was changed", judged.verdict)
    writes = history.with_parents(recorded.writes)
    beyond = refuse_unreadable(engine, state, recorded.state, (write.slot for write in writes))
    if beyond is not None:
        return replace(beyond, verdict=judged.verdict)
    found_ties = find_dependencies(history, writes)
    ties = {number: why for number, why in found_ties.items() if number > 0}  # what was taken in stays
    if ties and not allow_ties:
        return Refused(
            RefusalReason.TIED,
            "earlier entries could then be undone only together with this one",
            judged.verdict,
            ties=ties,
        )
    footing = find_footing(engine, look, recorded.state, writes)
    if look.drift and not footing.touched and not has_same_effect(mutation, footing):
        footing = footing._replace(touched=look.drift, elsewhere=())
    return Prepared(tuple(writes), recorded.state, ties, footing)


def _list_named_records(mutation: Program) -> list[Slot]:
    """Return the records that a mutation is about: the field of an edit, otherwise the whole."""
    operations = (op for op in mutation if op.kind.surface == EXTERNAL)
    slots = ((SURFACES[EXTERNAL].find_written_slots(op) or ((op.path,),), op) for op in operations)
    return [(EXTERNAL, *path) for paths, _ in slots for path in paths]


def refuse_unreachable(engine: Engine, slots: Sequence[Slot]) -> Refused | None:
    """Look at the records that a change touches; return why it cannot be made now, None if it can.

    What others wrote there since is recorded first.
    """
    if engine.external is None or not slots:
        return None
    try:
        why = engine.external.why_unguarded(slot[1] for slot in slots)
        if why is not None:
            return Refused(RefusalReason.REAL, f"{why}; nothing was changed")
        external.absorb_outside(engine, slots)
    except (UnreachableError, InputError) as fault:
        hint = f": {fault.hint}" if fault.hint else ""
        return Refused(RefusalReason.REAL, f"{fault}{hint}; nothing was changed")
    return None


def apply_judged(
    engine: Engine, judged: Judged, said: Mapping[str, Any], allow_ties: bool, approval: CallApproval | None = None
) -> Applied | Refused:
    """Make a change that may be made, on things as they are; the lock is held."""
    candidate, verdict = judged
    change = dry_run_candidate(engine, judged, read_and_absorb_client_writes(engine), allow_ties=allow_ties)
    if isinstance(change, Refused):
        return change
    unkept = list_unkept(engine.ledger.capture, change.writes)
    unapproved = _refuse_unkept(engine, judged, unkept, approval)
    if unapproved is not None:
        return unapproved
    known = engine.ledger.state
    before, after = change.footing[:2]
    refused = refuse_drift(change.footing)
    refused = refuse_open(engine, change.writes) if refused is None else refused
    changes = plan_file_changes(engine, before, after) if refused is None else refused
    if isinstance(changes, Refused):
        return replace(changes, verdict=verdict)
    forced = not verdict.admitted and not (verdict.lacks_only_approval and "approval" in said)
    about: dict[str, Any] = {"candidate": candidate.to_json(), "evidence": verdict.to_json()}
    about |= {"forced": forced, "ties": sorted(change.ties), **said}
    about |= build_effect_payload(engine, change.writes)
    if unkept and approval is not None:
        about["approval"] = build_approval(candidate, approval, unkept)
    draft = draft_change("apply", change.writes, about, packer=engine.ledger.packer)
    entry = engine.make(draft, change.writes, (before, after), changes)
    return Applied(entry, verdict, forced, change.ties, change.writes, known, list_open_calls(engine, entry), unkept)


def _refuse_unkept(
    engine: Engine, judged: Judged, unkept: tuple[str, ...], approval: CallApproval | None
) -> Refused | None:
    """Return the refusal of a change of what is not kept, unless that was approved or need not be."""
    capture = engine.ledger.capture
    if not unkept or capture is None or capture.irreversible == "yes":
        return None
    why = why_approval_unfit(approval, judged.candidate)
    if not why:
        return None
    return Refused(RefusalReason.IRREVERSIBLE, f"{describe_unkept(unkept)}; {why}", judged.verdict)


def refuse_open(engine: Engine, writes: Iterable[Write | SlotChange], entries: Sequence[int] = ()) -> Refused | None:
    """Return the refusal where an entry that is still open has what would be written; None where none has."""
    if engine.call_rules is None:
        return None
    why = engine.calls.why_blocked([write.slot for write in writes], entries)
    return Refused(RefusalReason.OPEN, f"{why}; nothing was changed") if why else None


def list_open_calls(engine: Engine, entry: Record) -> tuple[OpenStep, ...]:
    """Return the calls of an entry that have not ended."""
    return engine.calls.list_open(entry.entry) if entry.steps else ()


def preview_change(engine: Engine, judged: Judged, *, allow_ties: bool) -> Preview | Refused:
    """Return the slots and files a candidate would change, and the drift there and elsewhere."""
    change = dry_run_candidate(engine, judged, read_and_absorb_client_writes(engine), allow_ties=allow_ties)
    if isinstance(change, Refused):
        return change
    footing = change.footing
    refused = refuse_drift(footing)
    if refused is not None and footing.broken:
        return replace(refused, verdict=judged.verdict)
    files = () if footing.touched else engine.render_changes(footing.before, footing.after)
    if isinstance(files, NotExpressible):
        return Refused(RefusalReason.UNSAYABLE, files.build_refusal(), judged.verdict)
    paths = tuple(file.path for file in files)
    return Preview(
        judged.candidate,
        judged.verdict,
        engine.ledger.state,
        change.writes,
        paths,
        change.ties,
        footing.touched,
        footing.elsewhere,
        list_unkept(engine.ledger.capture, change.writes),
    )


def refuse_unless_clean(look: Inspection) -> Refused | None:
    """Return why nothing can be done that needs everything to be as the journal says; None if it is."""
    whole = Footing(look.actual, look.actual, look.drift, broken=look.broken)
    return refuse_drift(whole)


_TEXTS = ("thing", "key", "old", "new", "append", "mode")


def make_line(verb: str, thing: str, key: str, **fields: Any) -> oneline.OneLine:
    """Return a line as Python gives it: bytes are a file's content, and no sign is read from the name."""
    if isinstance(fields.get("value"), bytes):
        fields["value"] = {"base64": base64.b64encode(fields["value"]).decode()}
    line = oneline.OneLine(verb, thing, key, **{"sign": "", **fields})
    for name in _TEXTS:
        given = getattr(line, name)
        if not isinstance(given, str | None):
            raise WrongTypeError(f"{verb}: {'name' if name == 'key' else name}", given, expected="a text")
    return line


def make_append_line(thing: str, key: str, value: Any) -> oneline.OneLine:
    """Return the line that adds an item to a list or, where things are texts, lines to the end of one."""
    surface = surface_by_word(thing) if isinstance(thing, str) else None
    if surface is not None and any(kind.verb == "append" for kind in surface.kinds):
        return make_line("set", thing, key, value=value, sign="+")
    return make_line("edit", thing, key, append=value)


def prepare_line(harness: Harness, line: oneline.OneLine, state: State) -> Candidate | Refused | Unchanged:
    """Return the change that a line means on the state, with its recovery; or why there is none to make."""
    try:
        program = oneline.build_program(line, state, _make_translator(harness, state))
    except InputError:
        refused = _refuse_line_on_drift(line, harness, state)
        if refused is None:
            raise
        return refused
    candidate = repair.oracle(program, nominal=state)
    if isinstance(candidate, NoInverse):
        return Refused(RefusalReason.VERDICT, str(candidate))
    if not is_idle(program, state):
        return candidate
    preview = harness.preview(candidate)
    return preview if isinstance(preview, Refused) else Unchanged()


def _refuse_line_on_drift(line: oneline.OneLine, harness: Harness, state: State) -> Refused | None:
    """Return a refusal where a line makes sense for things as they are, but not for what is recorded."""
    drift = harness.status().drift
    try:
        actual = put_changes(state, drift)
        oneline.build_program(line, actual, _make_translator(harness, actual))
    except TakebackError:
        return None
    return refuse_drift(Footing(state, state, drift))


def _make_translator(harness: Harness, state: State) -> oneline.Translate | None:
    """Return what makes a value as the surface has it of one as the client's own file would say it."""
    adapter = harness.adapter
    if not isinstance(adapter, ValueTranslator):
        return None
    return lambda surface, key, value: adapter.from_client_value(surface, key, value, state)
