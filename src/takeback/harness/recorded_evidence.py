"""Evidence for a change that was made by others and recorded: a candidate that says the same, proved after the fact.

The change is turned into operations (`recorded_candidate`), which must give the state after from the state before
when they are run. The oracle writes the recovery, the prover decides, and the recovery is run on what is really
there. A change of many things is proved step by step, each step a candidate of its own. What cannot be said, is too
large, or does not come out is `NoEvidence` with the reason. Nothing here reads or writes a journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError, OperationFailed
from takeback.harness.recorded_candidate import PlainOperation, Unit, list_units
from takeback.harness.records import PENDING
from takeback.state import ABSENT, Change, Level, PMap, Stage, State, diff
from takeback.state.file import File
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import describe_slot, find_containing_slot, get_slot
from takeback.state.text import Text
from takeback.state.tree import iter_leaves
from takeback.undo import Write

if TYPE_CHECKING:
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
        from takeback.verify.options import VerifyOptions  # noqa: PLC0415 - start-up
        from takeback.verify.proof import prove_with  # noqa: PLC0415 - start-up

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
