"""Evidence for a change that was made by others and recorded: a candidate that says the same, proved after the fact.

The change is turned into operations (`recorded_candidate`), which must give the state after from the state before
when they are run. The oracle writes the recovery, the prover decides, and the recovery is run on what is really
there. A change of many things is proved step by step, each step a candidate of its own. What cannot be said, is too
large, or does not come out is `NoEvidence` with the reason. A change is proved while it is recorded where that is
quick; otherwise its entry is marked, and the next reader proves it in a record of its own. Whatever goes wrong in
proving, the change is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError, OperationFailed, TakebackError
from takeback.harness.entry_log import Rewind
from takeback.harness.ledger import Ledger
from takeback.harness.recorded_candidate import PlainOperation, Unit, list_units
from takeback.harness.records import PENDING, load_record_writes
from takeback.journal import Record
from takeback.progress import track_all_progress
from takeback.state import ABSENT, Change, Level, PMap, Stage, State, diff
from takeback.state.file import File
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import describe_slot, find_containing_slot, get_slot
from takeback.state.surfaces.files import PROJECT, view_changed_files
from takeback.state.text import Text
from takeback.state.tree import iter_leaves
from takeback.undo import Write
from takeback.undo.record import list_writes_between

if TYPE_CHECKING:
    from takeback.harness.harness import Harness
    from takeback.language import Candidate, Program
    from takeback.verify import Verdict


STEP: Final = 32
"""Whole writes that are proved together."""
AT_ONCE: Final = 16
"""Things that are proved while a change is recorded: less than a tenth of a second. With more, the entry waits."""
AT_ONCE_BYTES: Final = 1 << 20
MOST: Final = 1_000
"""Things that are proved at all: some seconds."""
MOST_BYTES: Final = 32 << 20
ONLY_LAYOUT: Final = "only formatting, a link or permission bits changed, which are not part of the state"
PROOF_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class NoEvidence:
    """Why a recorded change has no evidence."""

    reason: str

    def about(self) -> dict[str, Any]:
        """Return what the record of the change says of it."""
        return {"unproved": self.reason}


@dataclass(frozen=True, slots=True)
class Evidence:
    """Candidates that do, one after the other, what was done, each with the verdict that proves it."""

    steps: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the verdicts as one, in the form of that of an admitted change; `when` says it came after."""
        first = self.verdicts[0].to_json()
        alone = len(self.verdicts) == 1
        return {
            **first,
            "language": max(verdict.language for verdict in self.verdicts),
            "classes": sum(verdict.classes or 0 for verdict in self.verdicts),
            "candidate_digest": first["candidate_digest"] if alone else None,
            "when": "after",
            "steps": len(self.steps),
        }

    def about(self) -> dict[str, Any]:
        """Return what the record of the change says of it."""
        steps = [step.to_json() for step in self.steps]
        return {"candidate": steps[0] if len(steps) == 1 else steps, "evidence": self.to_json()}


def make_evidence(
    before: State, after: State, writes: Sequence[Write], *, most: int = MOST, most_bytes: int = MOST_BYTES
) -> Evidence | NoEvidence:
    """Return evidence for a change that was made, of at most so many things and bytes; or why there is none."""
    if not writes:
        return NoEvidence(ONLY_LAYOUT)
    gone = next((write for write in writes if has_forgotten(write.before) or has_forgotten(write.after)), None)
    if gone is not None:
        return NoEvidence(f"a value at {describe_slot(gone.slot)} was forgotten")
    large = _why_too_large(before, after, writes, most, most_bytes)
    if large is not None:
        return large
    units = list_units(before, after, writes)
    if isinstance(units, str):
        return NoEvidence(units)
    if not units:
        return NoEvidence("a directory without files came or went, which no operation describes")
    if len(units) > most:
        return refuse_number(len(units), most)
    steps = _Steps(before)
    try:
        for unit in units:
            steps.take(unit)
        steps.flush()
        candidates, verdicts = zip(*steps.proved, strict=True)
        return _check_evidence(Evidence(candidates, verdicts), steps.now, before, after)
    except _UnprovedError as fault:
        return NoEvidence(str(fault))
    except OperationFailed as fault:
        return NoEvidence(f"its recovery does not run on the present state: {fault.message}")


def _why_too_large(
    before: State, after: State, writes: Sequence[Write], most: int, most_bytes: int
) -> NoEvidence | None:
    """Return why a change is not even looked at: it is too large."""
    wholes = {find_containing_slot(write.slot): None for write in writes}
    if len(wholes) > most:
        return refuse_number(len(wholes), most)
    size = 0
    for slot in wholes:
        for state in (before, after):
            size += sum(_measure(get_slot(state, slot)))
            if size > most_bytes:
                return _refuse_size("more bytes", f"at most {most_bytes}", more=most_bytes < MOST_BYTES)
    return None


def _measure(content: Any) -> Iterator[int]:
    for _, leaf in iter_leaves(content) if content is not ABSENT else ():
        if isinstance(leaf, File):
            text = leaf.parts() if leaf.edited else None
            yield len(leaf.content) if text is None else len(text)
        elif isinstance(leaf, str | Text):
            yield len(leaf)


def refuse_number(number: int, most: int) -> NoEvidence:
    """Return why a change of so many things is not proved: now, or at all."""
    return _refuse_size(f"{number} things", f"at most {max(most, MOST)}", more=number <= MOST)


def _refuse_size(size: str, expected: str, *, more: bool) -> NoEvidence:
    return NoEvidence(PENDING if more else f"it is too large to be proved: {size}, and {expected} are")


class _UnprovedError(Exception):
    """A change has no evidence; the reason."""


class _Steps:
    """Candidates that were proved so far, and whole writes that wait to be proved together."""

    def __init__(self, before: State) -> None:
        self.now = before
        self._start = before
        self._waiting: Program = ()
        self.proved: list[tuple[Candidate, Verdict]] = []

    def take(self, unit: Unit) -> None:
        """Say what was done to one thing in the finest way that works, and prove it."""
        from takeback.runtime import run_forward  # noqa: PLC0415 - start-up

        why = f"no operations were found for the change of {unit.title}"
        for way in unit.ways:
            try:
                program = _read_way(way())
            except InputError as fault:
                why = f"no operation describes the change of {unit.title}: {fault.message}"
                continue
            made, receipt = run_forward(program, self.now)
            if not program or not receipt.succeeded or not unit.is_made(made):
                continue
            if all(op.kind.level is not Level.L2 for op in program):
                self._wait(program, made)
                return
            self.flush()
            try:
                self._prove(program)
            except _UnprovedError as fault:
                why = str(fault)
                continue
            self.now = self._start = made
            return
        raise _UnprovedError(why)

    def _wait(self, program: Program, made: State) -> None:
        if len(self._waiting) + len(program) > STEP:
            self.flush()
        self._waiting += program
        self.now = made

    def flush(self) -> None:
        """Prove what waits."""
        if self._waiting:
            self._prove(self._waiting)
        self._waiting, self._start = (), self.now

    def _prove(self, program: Program) -> None:
        """Prove a program from where the last step ended, in candidates of a length that can be read again."""
        from takeback.repair.oracle import invert_mutation  # noqa: PLC0415 - start-up
        from takeback.runtime import run_forward  # noqa: PLC0415 - start-up
        from takeback.verify.proof import prove_with  # noqa: PLC0415 - start-up
        from takeback.verify.rules import VerifyOptions  # noqa: PLC0415 - start-up

        steps: list[tuple[Candidate, Verdict]] = []
        state = self._start
        for at in range(0, len(program), STEP):
            part = program[at : at + STEP]
            number = len(self.proved) + len(steps)
            candidate = _number_captures(invert_mutation(part, state), number)
            verdict = prove_with(candidate, VerifyOptions(max_seconds=PROOF_SECONDS))
            if not verdict.admitted:
                reasons = "; ".join(reason.message for reason in verdict.reasons) or verdict.grade.value
                raise _UnprovedError(f"the recovery of {part[0].address} is not proved: {reasons}")
            steps.append((candidate, verdict))
            state = run_forward(part, state)[0]
        self.proved += steps


def _read_way(way: Iterable[PlainOperation]) -> Program:
    from takeback.language.program import read_operation  # noqa: PLC0415 - start-up

    return tuple(read_operation(op, Stage.FORWARD, str(op["target"])) for op in way)


def _number_captures(candidate: Candidate, number: int) -> Candidate:
    """Return a candidate whose captures have names of their own among those of all steps."""
    if not number:
        return candidate
    from takeback.language import read_candidate  # noqa: PLC0415 - start-up

    plain = candidate.to_json()
    for op in (*plain["witness"], *plain["recovery"]):
        if "witness_key" in op:
            op["witness_key"] = f"s{number}{op['witness_key']}"
    return read_candidate(plain)


def _check_evidence(evidence: Evidence, made: State, before: State, after: State) -> Evidence | NoEvidence:
    """Return evidence that is about this change: it leads to the state after, and from what is there back."""
    from takeback.language.program import join_candidates  # noqa: PLC0415 - start-up
    from takeback.runtime import capture, recover  # noqa: PLC0415 - start-up

    other = next((change for change in diff(made, after) if not _is_empty_directory(change)), None)
    if other is not None:
        return NoEvidence(f"the operations found for it give a different result at {other.address}")
    whole = join_candidates(evidence.steps)
    back = next(diff(recover(whole.recovery, after, capture(whole.witness, before)), before), None)
    if back is not None and _is_empty_directory(back):
        return NoEvidence(f"the empty directory {back.address} came or went, which no operation describes")
    if back is not None:
        return NoEvidence(f"the recovery found for it leaves a different value at {back.address}")
    return evidence


def _is_empty_directory(change: Change) -> bool:
    """Tell whether a change is only that of a directory without files, which belongs to nobody."""
    contents = (content for content in (change.before, change.after) if content is not ABSENT)
    return change.address.surface == "files" and all(type(item) is PMap and not item for item in contents)


def describe_evidence(
    ledger: Ledger, after: State, writes: Sequence[Write], before: State | None = None
) -> dict[str, Any]:
    """Return what the record of a change by others says of its evidence.

    The state before it is the ledger's, unless another is given.
    """
    there, hidden = ledger.state if before is None else before, _find_hidden(ledger, writes)
    if hidden:
        return NoEvidence(f"a value at {hidden} was forgotten, and is not kept again").about()
    return _try(lambda: _prove(there, after, writes, most=AT_ONCE, most_bytes=AT_ONCE_BYTES)).about()


def _prove(
    before: State, after: State, writes: Sequence[Write], *, most: int = MOST, most_bytes: int = MOST_BYTES
) -> Evidence | NoEvidence:
    """Prove a change; one of the project's files as a change of files, at the paths where they stand."""
    if any(write.slot[0] == PROJECT for write in writes):
        number = len({find_containing_slot(write.slot) for write in writes})
        if number > MOST:
            return refuse_number(number, MOST)
        before, after = view_changed_files(before, after, (write.slot for write in writes))
        writes = list_writes_between(before, after)
    return make_evidence(before, after, writes, most=most, most_bytes=most_bytes)


def _find_hidden(ledger: Ledger, writes: Sequence[Write]) -> str:
    """Return where a change writes at, around or in a value that was forgotten; empty if nowhere."""
    written = {find_containing_slot(write.slot) for write in writes} if ledger.hidden else set()
    for slot in ledger.hidden:
        if any(
            slot[: len(written_slot)] == written_slot or written_slot[: len(slot)] == slot for written_slot in written
        ):
            return describe_slot(slot)
    return ""


def _try(make: Callable[[], Evidence | NoEvidence]) -> Evidence | NoEvidence:
    try:
        return make()
    except TakebackError as fault:
        return NoEvidence(f"it could not be proved: {fault.message}")
    except Exception as fault:  # the change was made, and must be recorded
        import logging  # noqa: PLC0415 - hardly ever

        logging.getLogger("takeback").exception("proving a recorded change failed")
        return NoEvidence(f"proving it failed ({type(fault).__name__}); please report that")


def prove_pending(harness: Harness) -> int:
    """Prove changes whose entries wait for it, newest first; each gets a record of its own. The lock is held."""
    ledger = harness.ledger
    past, numbers = Rewind(harness), sorted(ledger.unproved, reverse=True)
    for number in track_all_progress("recorded changes proved", numbers):
        record = harness.journal.get(number)
        ledger.prove(number, _try(partial(_prove_entry, harness, past, record)).about())
    return len(numbers)


def _prove_entry(harness: Harness, past: Rewind, record: Record) -> Evidence | NoEvidence:
    writes = load_record_writes(harness.journal, record)
    hidden = _find_hidden(harness.ledger, writes)
    if hidden:
        return NoEvidence(f"a value at {hidden} was forgotten")
    after = past.after(record)
    past.note_writes(record, writes)
    return _prove(past.before(record), after, writes)
