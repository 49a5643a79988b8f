"""The contract of an adapter as checks any adapter can run; `examine_adapter` runs them all and reports.

Each check is given a fresh `Subject`: how to open a harness on the same real things again, changes to make, and, for
the optional capabilities, how to edit by hand and how to break a file. A check raises `ConformanceError` with what it
expected; an optional one that the adapter, or the subject, does not provide for is left out and said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from takeback.errors import HarnessError
from takeback.harness.adapter import FileAdapter, Leftovers, LiveAdapter, Place
from takeback.harness.harness import Harness
from takeback.harness.images import FileChange
from takeback.harness.outcomes import Adopted, Applied, Discarded, RefusalReason, Refused, Undone
from takeback.journal.conformance import ConformanceError, expect
from takeback.journal.failpoint import arm_failpoints
from takeback.language import Candidate
from takeback.state import SURFACES

BOUNDARIES = ("change.announced", "file.temp.written", "file.renamed", "file.removed", "change.written")
MOST_FILES = 64
S = TypeVar("S")


class NotProvidedFor(Exception):  # noqa: N818 - says why a check is left out
    """The adapter has no such capability, or the subject does not say how to try it."""


@dataclass(frozen=True)
class Subject:
    """What a check works on; `changes` are at least two, independent of each other, that can be made in any order."""

    open: Callable[[], Harness]
    changes: Sequence[Candidate]
    root: Path | None = None
    """The directory of its files."""
    edit: Callable[[], None] | None = None
    """Changes something by hand."""
    spoil: Callable[[], str] | None = None
    """Makes a file unreadable and returns its path."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What one check came to: `passed`, `failed` or `left out`."""

    check: str
    required: bool
    outcome: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What all checks came to."""

    outcomes: tuple[CheckOutcome, ...]

    @property
    def conforms(self) -> bool:
        """Whether nothing failed and nothing that is required was left out."""
        return all(
            outcome.outcome == "passed" or (not outcome.required and outcome.outcome == "left out")
            for outcome in self.outcomes
        )


def examine_adapter(make: Callable[[], Subject]) -> Report:
    """Run every check on a fresh subject each."""
    return Report(tuple(run_check(check, make, required=check in REQUIRED) for check in (*REQUIRED, *OPTIONAL)))


def run_check(check: Callable[[S], None], make: Callable[[], S], *, required: bool) -> CheckOutcome:
    """Run one check on what `make` returns."""
    try:
        check(make())
    except NotProvidedFor as reason:
        return CheckOutcome(check.__name__, required, "left out", str(reason))
    except ConformanceError as fault:
        return CheckOutcome(check.__name__, required, "failed", fault.message)
    return CheckOutcome(check.__name__, required, "passed")


def _apply_change(harness: Harness, change: Candidate) -> str:
    done = harness.apply(change)
    if not isinstance(done, Applied):
        raise ConformanceError(f"a change is refused: {done.message}")
    return done.entry.id


def _read_bytes(subject: Subject) -> dict[str, tuple[bytes, int]]:
    if subject.root is None:
        return {}
    return {
        str(path.relative_to(subject.root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(subject.root.rglob("*"))
        if path.is_file() and ".takeback" not in path.relative_to(subject.root).parts
    }


def is_of_one_kind(subject: Subject) -> None:
    """Check that it changes files by images or live things by a call, not both, and has a name."""
    with closing(subject.open()) as harness:
        adapter = harness.adapter
        kinds = isinstance(adapter, FileAdapter) + isinstance(adapter, LiveAdapter)
        expect(kinds == 1, "it is neither a file adapter nor a live one, or both")
        expect(bool(adapter.name), "it has no name")


def says_which_surfaces_it_stores(subject: Subject) -> None:
    """Check that it stores only known surfaces, at least one, and refuses changes of others beforehand."""
    with closing(subject.open()) as harness:
        stored = harness.adapter.surfaces
        expect(bool(stored), "it stores no surface")
        expect(stored <= SURFACES.keys(), "it stores surfaces that are not installed")
        for change in subject.changes:
            touched = {op.kind.surface for op in change.mutation}
            expect(touched <= stored, f"the subject changes {sorted(touched - stored)}, which it does not store")


def reads_back_what_it_wrote(subject: Subject) -> None:
    """Check that after each change the harness is clean, and another process finds the same state."""
    with closing(subject.open()) as harness:
        for change in subject.changes:
            _apply_change(harness, change)
            expect(harness.status().clean, f"not clean after a change: {harness.status()}")
        with closing(subject.open()) as again:
            expect(again.state == harness.state, "another process finds another state")
            expect(again.status().clean, "another process does not find it clean")


def looking_changes_nothing(subject: Subject) -> None:
    """Check that opening, status and planning leave every byte as it is."""
    with closing(subject.open()) as harness:
        entry = _apply_change(harness, subject.changes[0])
        before, head = _read_bytes(subject), harness.ledger.head
        harness.status()
        harness.plan_undo(entry)
        with closing(subject.open()) as again:
            again.status()
        expect(_read_bytes(subject) == before, "looking changed a file")
        expect(harness.ledger.head == head, "looking wrote to the journal")


def undo_gives_back_every_byte(subject: Subject) -> None:
    """Check that undoing each change alone, then all of them, gives back every byte."""
    with closing(subject.open()) as harness:
        first = _read_bytes(subject)
        for change in subject.changes:
            entry = _apply_change(harness, change)
            expect(isinstance(harness.undo(entry), Undone), "an undo is not done")
            expect(_read_bytes(subject) == first, "undo did not give back every byte")
        entries = [_apply_change(harness, change) for change in subject.changes]
        for entry in reversed(entries):
            harness.undo(entry)
        expect(_read_bytes(subject) == first, "undoing several did not give back every byte")


def takes_back_the_first_and_keeps_the_rest(subject: Subject) -> None:
    """Check that undo of the first of two changes equals the second alone, and redo brings it back."""
    with closing(subject.open()) as harness:
        change, second = subject.changes[:2]
        entry = _apply_change(harness, second)
        alone = harness.state
        harness.undo(entry)
        first = _apply_change(harness, change)
        _apply_change(harness, second)
        both = harness.state
        harness.undo(first)
        expect(harness.state == alone, "undo of the first is not the second alone")
        harness.redo(first)
        expect(harness.state == both, "redo does not bring it back")
        expect(harness.status().clean, "not clean after undo and redo")


def shows_edits_by_hand_and_takes_them_back(subject: Subject) -> None:
    """Check that an edit by hand is drift, never overwritten, can be adopted, and undone byte for byte."""
    if subject.edit is None:
        raise NotProvidedFor("the subject does not say how to edit by hand")
    with closing(subject.open()) as harness:
        before = _read_bytes(subject)
        subject.edit()
        edited = _read_bytes(subject)
        expect(bool(harness.status().drift), "an edit by hand is not seen")
        drift = harness.status().drift
        outcome = harness.apply(subject.changes[0])
        if isinstance(outcome, Applied):
            expect(harness.status().drift == drift, "a change beside an edit by hand took it in, or lost it")
            harness.undo(outcome.entry.id)
        else:
            expect(outcome.why is RefusalReason.DRIFT, "a change over an edit by hand is refused without saying so")
        expect(_read_bytes(subject) == edited, "an edit by hand was overwritten")
        adopted = harness.adopt()
        if not isinstance(adopted, Adopted):
            raise ConformanceError("an edit by hand cannot be adopted")
        harness.undo(adopted.entry.id)
        expect(_read_bytes(subject) == before, "undo of an adopted edit did not give back every byte")


def tells_of_a_broken_file_and_puts_it_back(subject: Subject) -> None:
    """Check that a broken file is named and left alone, discard restores it, and undo undoes that."""
    if subject.spoil is None:
        raise NotProvidedFor("the subject does not say how to break a file")
    with closing(subject.open()) as harness:
        before = _read_bytes(subject)
        path = subject.spoil()
        spoilt = _read_bytes(subject)
        expect([fault.path for fault in harness.status().broken] == [path], "a broken file is not named")
        outcome = harness.apply(subject.changes[0])
        if isinstance(outcome, Applied):
            harness.undo(outcome.entry.id)
        else:
            expect(outcome.why is RefusalReason.BROKEN, "a change of a broken file is refused without saying so")
        expect(_read_bytes(subject) == spoilt, "a broken file was written")
        discarded = harness.discard()
        if not isinstance(discarded, Discarded):
            raise ConformanceError("a broken file cannot be put back")
        expect(_read_bytes(subject) == before, "discard did not put back every byte")
        harness.undo(discarded.entry.id)
        expect(_read_bytes(subject) == spoilt, "undo of a discard did not bring back what was there")


class _Died(BaseException):
    """The process stops here; nothing catches it."""


def survives_a_crash_anywhere(subject: Subject) -> None:
    """Check that after a cut at any boundary the next to open finishes or gives up the whole change."""
    with closing(subject.open()) as harness:
        if not isinstance(harness.adapter, FileAdapter):
            raise NotProvidedFor("its things do not outlive the process")
    for name in BOUNDARIES:

        def die(reached: str, name: str = name) -> None:
            if reached == name:
                raise _Died

        for change in subject.changes:
            with closing(subject.open()) as harness:
                before = harness.state
                with arm_failpoints(die), suppress(_Died):
                    harness.apply(change)
            with closing(subject.open()) as again:
                expect(again.status().clean, f"not clean after dying at {name}: {again.status()}")
                if again.state != before:
                    again.undo("HEAD")
                expect(again.state == before, f"half a change is left after dying at {name}")


def rolls_back_a_write_that_fails(subject: Subject) -> None:
    """Check that if a file cannot be written, every byte is as before, and the change can be made later."""
    with closing(subject.open()) as harness:
        if not isinstance(harness.adapter, FileAdapter):
            raise NotProvidedFor("it has no files")
        before = _read_bytes(subject)
        for change in subject.changes:
            done: Applied | Refused | None = None
            for good in range(MOST_FILES):
                with _fail_after(harness.adapter.place, good), suppress(HarnessError):
                    done = harness.apply(change)
                if done is not None:
                    break
                expect(_read_bytes(subject) == before, "a change that failed left something behind")
                expect(harness.status().clean, "not clean after a change that failed")
            if not isinstance(done, Applied):
                raise ConformanceError("a change that failed cannot be made later")
            harness.undo(done.entry.id)


@contextmanager
def _fail_after(place: Place, good: int) -> Iterator[None]:
    put: Any = place.put
    left = good

    def fail(change: FileChange) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise HarnessError("no space left on device")
        return put(change)

    setattr(place, "put", fail)  # noqa: B010 - a method is put in front of the real one for a moment
    try:
        yield
    finally:
        setattr(place, "put", put)  # noqa: B010


def sweeps_only_its_own(subject: Subject) -> None:
    """Check that another workspace's temporaries, and other people's files, stay in place."""
    with closing(subject.open()) as harness:
        if not isinstance(harness.adapter, Leftovers) or subject.root is None:
            raise NotProvidedFor("it leaves nothing behind")
        foreign = subject.root / ".takeback-tmp-zzzzzzzzzzzz-0123456789abcdef"
        foreign.write_bytes(b"theirs")
        harness.recover()
        expect(foreign.exists(), "a temporary of another workspace was removed")
        foreign.unlink()


AdapterCheck = Callable[[Subject], None]
REQUIRED: tuple[AdapterCheck, ...] = (
    is_of_one_kind,
    says_which_surfaces_it_stores,
    reads_back_what_it_wrote,
    looking_changes_nothing,
    undo_gives_back_every_byte,
    takes_back_the_first_and_keeps_the_rest,
)
OPTIONAL: tuple[AdapterCheck, ...] = (
    shows_edits_by_hand_and_takes_them_back,
    tells_of_a_broken_file_and_puts_it_back,
    survives_a_crash_anywhere,
    rolls_back_a_write_that_fails,
    sweeps_only_its_own,
)
