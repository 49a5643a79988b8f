"""The answers of a harness, and who is told of them. Refused, blocked and stale are answers, not errors.

A journal may mention surfaces that are not installed. They are left out of the state, so a checkpoint is not
written while one is missing, and entries about such a surface are neither taken back nor brought back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from takeback.errors import HarnessError, UnknownSurfaceError, WrongTypeError
from takeback.harness.adapter import Broken
from takeback.state import SURFACES, State
from takeback.undo import Blocked, Gone, Plan

if TYPE_CHECKING:
    from takeback.harness.calls_steps import OpenStep
    from takeback.journal import Record
    from takeback.language import Candidate
    from takeback.undo import SlotChange, Write
    from takeback.verify import Verdict


@dataclass(frozen=True, slots=True)
class Applied:
    """A change was made and recorded."""

    entry: Record
    verdict: Verdict
    forced: bool
    """Whether a person had it made although it was not admitted; the entry says so permanently."""
    ties: Mapping[int, str]
    """Earlier entries that can now be taken back only together with this one, and why."""
    writes: tuple[Write, ...] = field(default=(), repr=False, compare=False)
    """What it did to each slot."""
    before: State = field(default_factory=State, repr=False, compare=False)
    """The journal's state before it."""
    open: tuple[OpenStep, ...] = ()
    """Calls of it that have not ended."""
    unkept: tuple[str, ...] = ()
    """Addresses at which it replaced what the journal does not keep: an undo cannot put that back."""

    def __repr__(self) -> str:
        return f"Applied({self.entry!r}, {self.verdict.grade.value}{', forced' if self.forced else ''})"


@dataclass(frozen=True, slots=True)
class Preview:
    """What applying a candidate would do; nothing was changed."""

    candidate: Candidate
    verdict: Verdict
    before: State
    changes: tuple[Write, ...]
    paths: tuple[str, ...]
    """The files it would change."""
    ties: Mapping[int, str]
    drift: tuple[SlotChange, ...] = ()
    """What was changed outside Takeback where it writes: it is refused until that is adopted or discarded."""
    elsewhere: tuple[SlotChange, ...] = ()
    """What else was changed outside Takeback; that stays."""
    unkept: tuple[str, ...] = ()
    """Addresses at which it replaces what the journal does not keep: an undo could not put that back."""

    def __repr__(self) -> str:
        return f"Preview(changes: {len(self.changes)}, {self.verdict.grade.value})"


class RefusalReason(StrEnum):
    """Why a change was not made."""

    VERDICT = "verdict"
    """It is not admitted."""
    EVIDENCE = "evidence"
    """What was given as evidence is not a verdict that a verifier of this process issued about this candidate."""
    STATE = "state"
    """Its mutation cannot run on the present state."""
    REAL = "real"
    """Something outside Takeback stands in the way, such as a port that is taken."""
    DRIFT = "drift"
    """Someone changed things outside Takeback where it would write; adopt that first, or put it back."""
    BROKEN = "broken"
    """A file it would write cannot be read as what it should be; mend it, or put it back with `discard`."""
    UNSTORED = "unstored"
    """The harness's adapter does not store a surface that the change is about, or it is not installed."""
    UNSAYABLE = "unsayable"
    """It cannot be written in a file without writing the file anew."""
    LIMIT = "limit"
    """The result would be larger, deeper or longer than Takeback reads (docs/formats.md lists the limits)."""
    TIED = "tied"
    """It would tie earlier entries to itself, and the caller asked for none of that."""
    CALLS = "calls"
    """It makes calls whose effects stay, and nobody approved that; or the manifest does not admit them."""
    OPEN = "open"
    """An entry that is still open has some of it; `takeback recover --now` tries to end that."""
    IRREVERSIBLE = "irreversible"
    """What stands where it would write is not kept, as the policy says, and nobody approved that."""
    KEPT = "kept"
    """Later entries have written some of it since, which would be kept, and the caller asked for all or nothing."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was changed."""

    why: RefusalReason
    message: str
    verdict: Verdict | None = None
    drift: tuple[SlotChange, ...] = ()
    ties: Mapping[int, str] = field(default_factory=dict)
    broken: tuple[Broken, ...] = ()
    plan: Plan | None = None
    """The plan that would have kept what later entries wrote."""

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Refused({self.why.value}: {self.message})"


@dataclass(frozen=True, slots=True)
class Undone:
    """Entries were undone or redone, and that was recorded."""

    entry: Record
    plan: Plan
    open: tuple[OpenStep, ...] = ()
    """Calls that are not compensated yet: what was put back stays back, and these are tried again."""

    @property
    def writes(self) -> tuple[Write, ...]:
        """What it did to each slot."""
        from takeback.undo import Write  # noqa: PLC0415 - start-up

        return tuple(Write(change.slot, change.before, change.after) for change in self.plan.changes)

    @property
    def before(self) -> State:
        """The journal's state before it."""
        return self.plan.before

    def __repr__(self) -> str:
        return f"Undone({self.entry!r}, off={list(self.plan.off)}, on={list(self.plan.on)})"


@dataclass(frozen=True, slots=True)
class Stale:
    """The given token is not that of the present plan; nothing was changed."""

    given: str
    plan: Plan

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return f"Stale(given={self.given!r}, now={self.plan.token!r})"


@dataclass(frozen=True, slots=True)
class Adopted:
    """Changes made outside Takeback, or what was left of an undo, are now an entry."""

    entry: Record
    changes: tuple[SlotChange, ...]
    ambiguous: tuple[str, ...] = ()
    """Addresses where the versions before and after allow several readings of what was done."""
    layout: tuple[str, ...] = ()
    """Files in which nothing changed that the state says: comments, formatting, permission bits."""
    coarse: tuple[str, ...] = ()
    """Addresses where a stretch was too long to be compared line by line: it counts as replaced."""
    writes: tuple[Write, ...] = field(default=(), repr=False, compare=False)
    """What it did to each slot, as recorded."""
    before: State = field(default_factory=State, repr=False, compare=False)
    """The journal's state before it."""

    def __repr__(self) -> str:
        return f"Adopted({self.entry!r}, changes: {len(self.changes)})"


@dataclass(frozen=True, slots=True)
class Recovered:
    """The work that opening had to finish after a crash."""

    entry: Record | None
    """The change that was under way, now finished or given up; None if there was none."""
    kept: tuple[str, ...] = ()
    """Files that someone else changed in the meantime: left alone, and shown as drift."""
    swept: tuple[str, ...] = ()
    """Temporary files removed."""
    given_up: bool = False
    """Whether nothing of the change was there, so that it was given up."""
    open: tuple[OpenStep, ...] = ()
    """Calls that have not ended."""
    fault: str = ""
    """Why it could not be finished; empty if it was."""


@dataclass(frozen=True, slots=True)
class Discarded:
    """Files were restored to the journal's state; undoing the entry brings the discarded contents back."""

    entry: Record
    paths: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Discarded({self.entry!r}, {', '.join(self.paths)})"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The harness is already so: nothing was done, and no entry was made."""

    drift: tuple[SlotChange, ...] = ()
    """What was changed outside Takeback; that stays as it is."""

    def __bool__(self) -> Literal[False]:
        return False


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a harness."""

    head: str
    entries: int
    """Changes that are live."""
    undone: int
    """Changes that were taken back."""
    pending: Record | None
    drift: tuple[SlotChange, ...]
    leftovers: tuple[str, ...]
    problems: tuple[str, ...] = ()
    """Real things that are unavailable, such as sockets."""
    aborted: int = 0
    """Changes that were announced and given up; nothing of them is left."""
    broken: tuple[Broken, ...] = ()
    """Files that cannot be read."""
    layout: tuple[str, ...] = ()
    """Files in which someone changed nothing that the state says; that can be adopted, and stops nothing."""
    notes: tuple[str, ...] = ()
    """What is to be known and needs nothing done, such as folders whose files belong to a harness of their own."""
    open: tuple[OpenStep, ...] = ()
    """Calls that have not ended, or of which nobody knows whether they were made."""

    @property
    def clean(self) -> bool:
        """Whether nothing needs attention."""
        return not (self.open or self.pending or self.drift or self.leftovers or self.problems or self.broken)

    def __repr__(self) -> str:
        counts = {
            "pending": int(self.pending is not None),
            "drift": len(self.drift),
            "leftovers": len(self.leftovers),
            "problems": len(self.problems),
            "broken": len(self.broken),
        }
        wrong = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        return f"Status({self.entries} live, {self.undone} undone, {wrong or 'clean'})"


UndoOutcome = Undone | Discarded | Blocked | Gone | Stale | Refused
PlanOutcome = Plan | Blocked | Gone | Refused
LineOutcome = Applied | Refused | Unchanged
HarnessOutcome = Applied | Adopted | UndoOutcome | Unchanged
"""What a change came to, as subscribers are told it."""


def refuse_kept_writes(plan: Plan) -> Plan | Refused:
    """Return the plan, if it does all it was asked to; refuse where it keeps what later entries wrote."""
    if not plan.kept:
        return plan
    later = ", ".join(f"#{entry}" for entry in sorted({kept.entry for kept in plan.kept}))
    return Refused(RefusalReason.KEPT, f"later writes of {later} would be kept; nothing was changed", plan=plan)


HINT = "install the package that provides it; nothing is lost until then"


def skip_uninstalled(writes: Iterable[Write], missing: set[str]) -> Iterator[Write]:
    """Yield the writes to installed surfaces; add the names of the others to `missing`."""
    for write in writes:
        if write.slot[0] in SURFACES:
            yield write
        else:
            missing.add(write.slot[0])


def require_installed(missing: set[str]) -> None:
    """Refuse what would lose data of surfaces that are not installed."""
    if missing:
        raise HarnessError(f"{_list_surfaces(missing)}; nothing was changed", hint=HINT)


def refuse_not_installed(fault: UnknownSurfaceError) -> Refused:
    """Return the refusal of a plan that would need a surface that is not installed."""
    return Refused(RefusalReason.UNSTORED, f"{_list_surfaces((fault.found,))}; {HINT}")


def describe_missing_surfaces(missing: set[str]) -> tuple[str, ...]:
    """Return what to report about missing surfaces to someone who looks at a harness."""
    return tuple(
        f"{_list_surfaces((name,))}: what the journal says of it can be read, and cannot be taken back here"
        for name in sorted(missing)
    )


def describe_left_out(missing: set[str]) -> str:
    """Return the note that a shown state leaves surfaces out; empty if it leaves out none."""
    of = "it" if len(missing) == 1 else "them"
    return f"{_list_surfaces(missing)}: what the journal says of {of} is left out" if missing else ""


def _list_surfaces(surfaces: Collection[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(surfaces))
    names, verb = ("surface", "is") if len(surfaces) == 1 else ("surfaces", "are")
    return f"the {names} {shown} {verb} not installed"


Subscriber = Callable[["HarnessOutcome"], object]
RefusalListener = Callable[["HarnessOutcome", Mapping[str, Any]], object]
"""Takes what was refused, and who had asked for what."""


class Listeners:
    """Those who listen to one harness; none of them changes what was done."""

    def __init__(self) -> None:
        self.on_refusal: RefusalListener | None = None
        self._subscribers: dict[object, Subscriber] = {}

    def add(self, callback: Subscriber) -> Callable[[], None]:
        """Tell a function every outcome from now on; returns the function that ends that."""
        if not callable(callback):
            raise WrongTypeError("subscribe", callback, expected="a function of one outcome")
        key = object()
        self._subscribers[key] = callback

        def unsubscribe() -> None:
            self._subscribers.pop(key, None)

        return unsubscribe

    def tell(self, outcome: HarnessOutcome, asked: Mapping[str, Any]) -> None:
        """Tell an outcome; `asked` is what a refusal is about."""
        if asked and self.on_refusal is not None and not outcome:
            listener = self.on_refusal
            self._call(lambda outcome: listener(outcome, asked), outcome)
        for callback in tuple(self._subscribers.values()):
            self._call(callback, outcome)

    @staticmethod
    def _call(callback: Subscriber, outcome: HarnessOutcome) -> None:
        try:
            callback(outcome)
        except Exception:  # the change is made, whatever becomes of who listens
            import logging  # noqa: PLC0415 - hardly ever

            logging.getLogger("takeback").exception("a subscriber failed on %s", type(outcome).__name__)
