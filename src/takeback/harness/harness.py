"""A live harness: a state bound to real things, changed only through a journal written ahead.

Every change goes the same way: lock, take in what others did, finish what a crash left, look for drift, decide,
announce in the journal, change the real things, settle in the journal. Undo, redo and restore are changes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from takeback.errors import HarnessError, JournalCorruptError, JournalError, TakebackError
from takeback.harness.binding import Binding
from takeback.harness.codec import change_draft, toggle_draft, writes_of
from takeback.harness.forgetting import Forgetting, captured, forget_contents, standing
from takeback.harness.ledger import Ledger
from takeback.harness.log import EntryView, log
from takeback.harness.naming import EntryLike, name_of, names_of
from takeback.harness.requests import Request, named_entry, redo_request, restore_request, undo_request
from takeback.harness.results import (
    Adopted,
    Applied,
    PlanOutcome,
    Recovered,
    Refused,
    Stale,
    Status,
    Undone,
    UndoOutcome,
    Why,
)
from takeback.journal import Draft, Record, Ref, Store
from takeback.journal.failpoint import failpoint
from takeback.journal.search import Place
from takeback.journal.store import MISSING_HINT, had_record, missing
from takeback.language import Candidate, read_candidate
from takeback.state import ABSENT, State
from takeback.state.slots import put_slots
from takeback.undo import Blocked, Gone, Plan, SlotChange, Write, plan_toggle, relied_on
from takeback.undo.merge import bring_forward
from takeback.undo.recording import run_recorded, writes_between
from takeback.verify import Verdict, verify

Verifier = Callable[[Candidate], Verdict]
LOCK_SECONDS = 60.0


class Harness:
    """One harness, its journal and what it is bound to.

    `verifier` decides about candidates (by proof unless another is given). An empty journal is begun with `start`,
    or with what is there; where `begin` is false it is an error. `about` goes into its first record; a journal begun
    with another `identity` is refused.
    """

    def __init__(
        self,
        binding: Binding,
        journal: Store,
        *,
        verifier: Verifier = verify,
        start: State | None = None,
        about: dict[str, Any] | None = None,
        begin: bool = True,
    ) -> None:
        self.binding = binding
        self.journal = journal
        self._verifier = verifier
        with journal.lock(LOCK_SECONDS):
            self._ledger = Ledger(journal)
            self._ledger.demand_identity((about or {}).get("identity", self._ledger.identity))
            self._demand_whole_journal()
            if not self._ledger.begun:
                if not begin:
                    raise JournalError(missing(journal.location), hint=MISSING_HINT)
                self._ledger.begin(binding.read(State()) if start is None else start, about or {})
                self._note()
            self.recovered = Recovered(None) if journal.readonly else self._finish()
            self._actual()

    def _demand_whole_journal(self) -> None:
        """A journal that ends before what was noted of it is not the journal: it was cut, or is an old copy."""
        noted = self.binding.noted()
        if noted is None:
            return
        seq, digest = noted
        if not had_record(self.journal, seq, digest):
            raise JournalCorruptError(
                f"the journal {self.journal.location} ends at record {self._ledger.last}, but record {seq} "
                f"({digest[:12]}) was written: it was cut short, or is an old copy; nothing was changed",
                seq=seq,
            )

    @property
    def state(self) -> State:
        """The state the journal says the harness is in, as of the last look."""
        return self._ledger.state

    @property
    def ledger(self) -> Ledger:
        """The journal as this harness reads it."""
        return self._ledger

    def close(self) -> None:
        """Let go of the real things and of the journal."""
        self.binding.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Harness({self.journal.location}, head {self._ledger.head[:10]})"

    def log(self) -> Iterator[EntryView]:
        """Entries, newest first: what was done, on what evidence, and what became of it."""
        return log(self)

    def apply(
        self,
        candidate: Candidate | Mapping[str, Any],
        *,
        force: bool = False,
        note: str = "",
        by: str = "",
        allow_ties: bool = True,
        evidence: Verdict | None = None,
    ) -> Applied | Refused:
        """Make a change, if it is admitted; with `force` also if not. `evidence` is a verdict already at hand.

        A candidate may be given as the JSON it is written in.
        """
        if isinstance(candidate, Mapping):
            candidate = read_candidate(dict(candidate))
        verdict = self._verifier(candidate) if evidence is None else evidence
        if not verdict.admitted and not force:
            return Refused(Why.VERDICT, "the candidate is not admitted", verdict)
        with self._entered() as drift:
            if drift:
                return _drifted(drift, verdict)
            recorded = run_recorded(candidate.mutation, self.state)
            if not recorded.receipt.succeeded:
                return Refused(Why.STATE, f"the mutation cannot run here: {recorded.receipt.reason}", verdict)
            writes = self._ledger.history.grounded(recorded.writes)
            ties = relied_on(self._ledger.history, writes)
            if ties and not allow_ties:
                return Refused(Why.TIED, "earlier entries could be taken back only with this one", verdict, ties=ties)
            blocker = self.binding.prepare(self.state, recorded.state)
            if blocker is not None:
                return Refused(Why.REAL, blocker, verdict)
            forced = not verdict.admitted
            about: dict[str, Any] = {"candidate": candidate.to_json(), "evidence": verdict.to_json()}
            about |= {"forced": forced, "note": note, "ties": sorted(ties), **_made_by(by)}
            draft = change_draft("apply", writes, about, packer=self._ledger.packer)
            entry = self._make(draft, writes, recorded.state)
            return Applied(entry, verdict, forced, ties)

    def plan(self, request: Callable[[Ledger], Request], *, cascade: bool = False) -> PlanOutcome:
        """What a request would do, without doing it."""
        with self._entered() as drift:
            return _drifted(drift) if drift else self._planned(request(self._ledger), cascade=cascade)

    def plan_undo(self, *entries: EntryLike, cascade: bool = False) -> PlanOutcome:
        """What taking entries back would do; the plan's token binds a later `undo` to it."""
        return self.plan(lambda ledger: undo_request(ledger, names_of(entries)), cascade=cascade)

    def undo(self, *entries: EntryLike, token: str | None = None, cascade: bool = False) -> UndoOutcome:
        """Take entries back; taking back an undo brings back what it took."""
        return self._toggle("undo", lambda ledger: undo_request(ledger, names_of(entries)), token, cascade=cascade)

    def redo(self, *entries: EntryLike, token: str | None = None, cascade: bool = False) -> UndoOutcome:
        """Bring back entries that were taken back; without names, those of the last undo in force."""
        return self._toggle("redo", lambda ledger: redo_request(ledger, names_of(entries)), token, cascade=cascade)

    def restore(self, to: EntryLike, *, token: str | None = None) -> UndoOutcome:
        """Go back, or forward, to how things were right after an entry, or at a time (ISO 8601)."""
        return self._toggle("restore", lambda ledger: restore_request(ledger, name_of(to)), token, cascade=False)

    def adopt(self, note: str = "", *, by: str = "") -> Adopted | None:
        """Take changes made by someone else into the journal as an entry of their own; None if there are none."""
        with self._entered() as drift:
            if not drift:
                return None
            writes = self._ledger.history.grounded(tuple(Write(*change) for change in drift))
            draft = change_draft("adopt", writes, {"note": note, **_made_by(by)}, packer=self._ledger.packer)
            entry = self._ledger.record(draft, writes)
            self._note()
            return Adopted(entry, drift)

    def salvage(self, *entries: EntryLike) -> Adopted | UndoOutcome:
        """Where an undo's witness is gone, put back what is left of it, as a change of its own.

        Where nothing is gone this is an undo.
        """
        with self._entered():
            outcome = self.undo(*entries)
            if not isinstance(outcome, Gone) or not outcome.left:
                return outcome
            left = tuple(Write(change.slot, change.before, change.after) for change in outcome.left)
            writes = self._ledger.history.grounded(left)
            after = put_slots(self.state, [(write.slot, write.after) for write in writes])
            blocker = self.binding.prepare(self.state, after)
            if blocker is not None:
                return Refused(Why.REAL, blocker)
            about = {"note": f"what was left of undoing {', '.join(names_of(entries))}"}
            draft = change_draft("salvage", writes, about, packer=self._ledger.packer)
            return Adopted(self._make(draft, writes, after), outcome.left)

    def forget(self, *entries: EntryLike, dry: bool = False) -> Forgetting:
        """Delete what entries captured, permanently; with `dry`, only say how much. They stay in the log."""
        with self._entered():
            records = [named_entry(self._ledger, name) for name in names_of(entries)]
            return self._forget((), captured(self.journal, records), dry=dry)

    def forget_value(self, value: str | bytes, *, dry: bool = False) -> Forgetting:
        """Delete every content in which a value stands, permanently; with `dry`, only say where it stands."""
        with self._entered():
            return self._forget(*standing(self._ledger, value), dry=dry)

    def _forget(self, places: tuple[Place, ...], refs: set[Ref], *, dry: bool) -> Forgetting:
        found = forget_contents(self._ledger, self.binding.read, places, refs, dry=dry)
        if found.record is not None:
            self._note()
        return found

    def recover(self) -> Recovered:
        """Finish what a killed process left; called at every start, and harmless at any time."""
        with self.journal.lock(LOCK_SECONDS):
            self._ledger.refresh()
            return self._finish()

    def status(self) -> Status:
        """How things stand; changes nothing but what recovery must finish."""
        with self._entered() as drift:
            live, undone, aborted = self._ledger.tally()
            return Status(
                self._ledger.head,
                live,
                undone,
                self._ledger.pending,
                drift,
                self.binding.leftovers(),
                self.binding.problems(),
                aborted,
            )

    @contextmanager
    def _entered(self) -> Iterator[tuple[SlotChange, ...]]:
        """Hold the lock, up to date and with nothing unfinished; yields the drift."""
        with self.journal.lock(LOCK_SECONDS):
            self._ledger.refresh()
            if self._ledger.pending is not None and not self.journal.readonly:
                self._finish()
            actual = self._actual()
            drift = () if actual is self.state else writes_between(self.state, actual)
            gone = (SlotChange(slot, known, ABSENT) for slot, known in self._ledger.holes.items())
            yield (*(SlotChange(write.slot, write.before, write.after) for write in drift), *gone)

    def _actual(self) -> State:
        """What is really there; where a value in place was forgotten, it is taken from there."""
        actual = self.binding.read(self.state)
        if self._ledger.holes:
            self._ledger.fill(actual)
            actual = self.binding.read(self.state)
        return actual

    def _planned(self, request: Request, *, cascade: bool) -> PlanOutcome:
        outcome = plan_toggle(self._ledger.history, self.state, request.off, request.on)
        if isinstance(outcome, Blocked) and cascade and outcome.together is not None:
            return outcome.together
        return outcome

    def _toggle(
        self, kind: str, ask: Callable[[Ledger], Request], token: str | None, *, cascade: bool
    ) -> UndoOutcome:
        with self._entered() as drift:
            if drift:
                return _drifted(drift)
            request = ask(self._ledger)
            plan = self._planned(request, cascade=cascade)
            if not isinstance(plan, Plan):
                return plan
            if token is not None and token != plan.token:
                return Stale(token, plan)
            blocker = self.binding.prepare(self.state, plan.state)
            if blocker is not None:
                return Refused(Why.REAL, blocker)
            about: dict[str, Any] = {"asked": list(request.asked)}
            draft = toggle_draft(kind, plan.off, plan.on, plan.changes, about, packer=self._ledger.packer)
            writes = [Write(change.slot, change.before, change.after) for change in plan.changes]
            return Undone(self._make(draft, writes, plan.state), plan)

    def _make(self, draft: Draft, writes: Sequence[Write], after: State) -> Record:
        """Announce, change the real things, settle."""
        if not self.binding.durable:
            entry = self._ledger.record(draft, writes)
            self.binding.write(self.state, after)
        else:
            before = self.state
            entry = self._ledger.announce(draft)
            failpoint("change.announced")
            try:
                self.binding.write(before, after)
            except TakebackError as fault:
                self._give_up(before, after, fault)
            failpoint("change.written")
            self._ledger.commit(writes)
            failpoint("change.settled")
        if self._ledger.checkpoint_due():
            self._ledger.checkpoint()
        self._note()
        return entry

    def _note(self) -> None:
        self.binding.note(self._ledger.last, self._ledger.head)

    def _give_up(self, before: State, after: State, fault: TakebackError) -> None:
        """Put back what was already changed and say so; if that fails too, recovery will finish the change."""
        try:
            actual = self.binding.read(before)
            self.binding.write(actual, bring_forward(actual, after, before)[0])
            self._ledger.abort(str(fault))
        except TakebackError as second:
            raise HarnessError(
                f"{fault.message}; putting things back failed as well ({second.message})",
                hint="the change is announced in the journal: 'takeback recover' finishes it once that is mended",
            ) from fault
        raise HarnessError(f"{fault.message}; nothing was changed") from fault

    def _finish(self) -> Recovered:
        """Roll an announced change forward, leaving alone what someone else changed since."""
        record = self._ledger.pending
        swept = self.binding.sweep()
        if record is None:
            return Recovered(None, swept=swept)
        failpoint("recovery.begun")
        writes = writes_of(self.journal, record)
        new = self._ledger.after(record)
        actual = self._actual()
        target, kept = bring_forward(actual, self.state, new)
        self.binding.write(actual, target)
        failpoint("recovery.written")
        self._ledger.commit(writes)
        self._note()
        return Recovered(record, kept, swept)


def _made_by(who: str) -> dict[str, Any]:
    return {"by": who} if who else {}


def _drifted(drift: tuple[SlotChange, ...], verdict: Verdict | None = None) -> Refused:
    message = f"{len(drift)} thing(s) were changed behind Takeback's back; adopt that first, or put it back"
    return Refused(Why.DRIFT, message, verdict, drift)
