"""A live harness: a state bound to real things, changed only through a journal written ahead.

Every change goes the same way: lock, take in what others did, finish what a crash left, look for drift, decide,
announce in the journal, change the real things, settle in the journal. Undo, redo and restore are changes too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Self

from takeback.harness.adapter import Adapter, Reading
from takeback.harness.adopting import adopt, adopt_some, layout_changes, looked
from takeback.harness.applying import Given, Judged, apply_judged, judged, not_now, previewed
from takeback.harness.discarding import discard, put_back
from takeback.harness.drift import Footing, refuse_drift
from takeback.harness.engine import LOCK_SECONDS, Engine, Look
from takeback.harness.filing import written
from takeback.harness.forgetting import Forgetting, captured, forget_contents, standing
from takeback.harness.images import FileChange
from takeback.harness.ledger import Ledger
from takeback.harness.log import EntryView, log
from takeback.harness.missing import missing_told
from takeback.harness.naming import EntryLike, name_of, names_of
from takeback.harness.results import (
    Adopted,
    Applied,
    Discarded,
    PlanOutcome,
    Preview,
    Recovered,
    Refused,
    Status,
    Unchanged,
    UndoOutcome,
)
from takeback.harness.retrying import tried_again
from takeback.harness.toggle_requests import ToggleRequest, meant_entry, named_entry, redo_request, undo_request
from takeback.harness.toggling import ToggleAsk, footing_of, plan_request, put_back_rest, restore, toggle
from takeback.journal import Ref, Store
from takeback.journal.search import ValuePlace
from takeback.language import Candidate
from takeback.state import State
from takeback.state.slots import Slot
from takeback.undo import Gone, Plan
from takeback.verify import Verdict, verify

Verifier = Callable[[Candidate], Verdict]
ToggleReader = Callable[[Ledger, Sequence[EntryLike]], ToggleRequest]


class Harness:
    """One harness, its journal and what it is bound to; several threads may use it.

    `verifier` decides about candidates: by proof unless another is given, and then evidence by a sample counts for
    nothing. An empty journal is begun with `start`, a state or a reading, or with what is there; where `begin` is
    false it is an error. `about` goes into its first record; a journal begun with another `identity` is refused.
    """

    def __init__(
        self,
        adapter: Adapter,
        journal: Store,
        *,
        verifier: Verifier = verify,
        start: State | Reading | None = None,
        about: dict[str, Any] | None = None,
        begin: bool = True,
    ) -> None:
        self.adapter = adapter
        self.journal = journal
        self._verifier = verifier
        with journal.lock(LOCK_SECONDS):
            self._engine = Engine(adapter, journal)
            self.recovered = self._engine.open(start, about or {}, begin=begin)

    @property
    def state(self) -> State:
        """The state the journal says the harness is in, as of the last look."""
        return self._engine.ledger.state

    @property
    def doubt(self) -> str:
        """Why it is not known whether the journal is all that was written; empty where it is."""
        return self._engine.doubt

    @property
    def ledger(self) -> Ledger:
        """The journal as this harness reads it."""
        return self._engine.ledger

    def close(self) -> None:
        """Let go of the real things and of the journal."""
        self.adapter.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Harness({self.journal.location}, head {self.ledger.head[:10]})"

    def log(self) -> Iterator[EntryView]:
        """Entries, newest first: what was done, on what evidence, and what became of it."""
        return log(self)

    @contextmanager
    def session(self, *, clean: bool = False) -> Iterator[State | Refused]:
        """Hold the journal's lock, so that what is worked out from the state still holds when it is applied.

        What is there is read once, at the beginning: `apply`, `preview`, `undo`, `adopt` and `discard` inside rest on
        that, until the journal goes on. A file is written only if it still is what was read. With `clean`, yields a
        refusal instead of the state where anything is not as the journal says.
        """
        with self._engine.session():
            look = looked(self._engine)
            yield (not_now(look) if clean else None) or self.state

    held = session

    @contextmanager
    def inspect(self) -> Iterator[Look]:
        """Hold the journal's lock and what is there, read once; nothing is taken in, not even what a client wrote."""
        with self._engine.session():
            yield self._engine.look(reading=True)

    def apply(
        self,
        candidate: Given,
        *,
        force: bool = False,
        note: str = "",
        by: str = "",
        allow_ties: bool = True,
        evidence: Verdict | None = None,
        check: Mapping[str, Any] | None = None,
    ) -> Applied | Refused:
        """Make a change, if it is admitted; with `force` also if not.

        `evidence` is a verdict already at hand: one that a verifier of this process issued about this very candidate,
        or the change is refused. A candidate may be given as the JSON it is written in, as an `Admitted`, or as what
        the oracle answered. `check` is what else was asked before it is made, for the record.
        """
        found = judged(candidate, self.adapter, self._verifier, evidence, force=force)
        if isinstance(found, Refused):
            return found
        about = {"note": note, **_made_by(by), **({"check": dict(check)} if check else {})}
        return tried_again(lambda: self._apply(found, about, allow_ties=allow_ties), self._engine.look_anew)

    def _apply(self, found: Judged, said: dict[str, Any], *, allow_ties: bool) -> Applied | Refused:
        with self._engine.locked():
            return apply_judged(self._engine, found, said, allow_ties=allow_ties)

    def preview(
        self, candidate: Given, *, force: bool = False, allow_ties: bool = True, evidence: Verdict | None = None
    ) -> Preview | Refused:
        """What `apply` would do, without doing it; also where it would be refused for what others changed there."""
        found = judged(candidate, self.adapter, self._verifier, evidence, force=force)
        if isinstance(found, Refused):
            return found
        with self._engine.locked():
            return previewed(self._engine, found, allow_ties=allow_ties)

    def plan(self, request: ToggleAsk, *, cascade: bool = False, strict: bool = False) -> PlanOutcome:
        """What a request would do, without doing it; with `strict` refused where later writes would be kept."""
        return self._plan(lambda ledger, _: request(ledger), (), cascade, strict)

    def _plan(self, ask: ToggleReader, entries: tuple[EntryLike, ...], cascade: bool, strict: bool) -> PlanOutcome:
        engine = self._engine
        with engine.locked():
            looked(engine)
            off, on, _ = ask(engine.ledger, entries)
            return plan_request(engine, off, on, cascade=cascade, strict=strict)

    def plan_undo(self, *entries: EntryLike, cascade: bool = False, strict: bool = False) -> PlanOutcome:
        """What taking entries back would do; the plan's token binds a later `undo` to it."""
        return self._plan(undo_request, entries, cascade, strict)

    def undo(
        self, *entries: EntryLike, token: str | None = None, cascade: bool = False, strict: bool = False, by: str = ""
    ) -> UndoOutcome:
        """Take entries back; taking back an undo brings back what it took, taking back a discard what was there.

        Without names, the newest change that is live. What later entries have written since is kept, and said; with
        `strict` that is refused.
        """
        engine, names = self._engine, names_of(entries)

        def make() -> UndoOutcome:
            with engine.locked():
                meant = entries
                if len(entries) == 1:
                    engine.ledger.refresh()
                    record = meant_entry(engine.ledger, entries[0])
                    if record.kind == "discard":
                        return put_back(engine, record, _made_by(by))
                    meant = (record,)
                request = partial(undo_request, entries=meant, asked=names)
                return toggle(engine, "undo", request, token, _made_by(by), cascade=cascade, strict=strict)

        return tried_again(make, engine.look_anew)

    def redo(
        self, *entries: EntryLike, token: str | None = None, cascade: bool = False, strict: bool = False, by: str = ""
    ) -> UndoOutcome:
        """Bring back entries that were taken back; without names, those of the last undo in force."""
        request = partial(redo_request, names=names_of(entries))
        return self._toggle("redo", request, token, cascade=cascade, strict=strict, by=by)

    def restore(
        self, to: EntryLike, *, token: str | None = None, strict: bool = False, by: str = ""
    ) -> UndoOutcome | Unchanged:
        """Go back, or forward, to how things were right after an entry, or at a time (ISO 8601).

        Where no entry has to be taken back or brought back for that, none is made.
        """

        def make() -> UndoOutcome | Unchanged:
            with self._engine.locked():
                return restore(self._engine, name_of(to), token, _made_by(by), strict=strict)

        return tried_again(make, self._engine.look_anew)

    def adopt(
        self,
        note: str = "",
        *,
        by: str = "",
        origin: Mapping[str, str] | None = None,
        paths: Collection[str] = (),
        slots: Collection[Slot] = (),
    ) -> Adopted | Refused | None:
        """Take changes made by someone else into the journal as an entry of their own; None if there are none.

        `origin` says more of where they come from, for the record: session, tool, prompt. With `paths` or `slots`,
        only those in these files or at these slots are taken in.
        """
        about = {"note": note, **_made_by(by), **({"origin": dict(origin)} if origin else {})}
        with self._engine.locked():
            look = self._engine.look()
            if paths or slots:
                return adopt_some(self._engine, look, about, paths, slots)
            adopted = adopt(self._engine, look, about)
            return not_now(look) if adopted is None and look.broken else adopted

    def effect_of(self, plan: Plan) -> tuple[str, ...]:
        """When whoever loads the harness would notice what a plan changes."""
        return self._engine.effect_of(change.slot for change in plan.changes)

    def files_of(self, plan: Plan) -> Sequence[FileChange] | Refused:
        """What a plan would do to each file, byte for byte; or why it cannot be written."""
        with self._engine.locked():
            footing = footing_of(self._engine, plan)
            refused = refuse_drift(footing)
            return refused or written(self._engine, footing.before, footing.after, plan.off, plan.on)

    def drift_beside(self, plan: Plan) -> Footing:
        """What was changed outside Takeback where a plan writes, which stands in its way, and elsewhere."""
        with self._engine.locked():
            return footing_of(self._engine, plan)

    def discard(
        self, paths: Sequence[str] = (), note: str = "", *, slots: Collection[Slot] = (), by: str = ""
    ) -> Discarded | Refused | None:
        """Put files back as the journal knows them, all that are not so or those named; None if there are none.

        With `slots` only what was changed there is put back. What was in the files is kept with the entry, and comes
        back when that is undone; also where it cannot be read.
        """
        about = {"note": note, **_made_by(by)}
        return tried_again(lambda: discard(self._engine, paths, about, slots), self._engine.look_anew)

    def salvage(self, *entries: EntryLike, by: str = "") -> Adopted | UndoOutcome:
        """Where an undo's witness is gone, put back what is left of it, as a change of its own.

        Where nothing is gone this is an undo.
        """
        with self._engine.session():
            self._engine.look()
            outcome = self.undo(*entries, by=by)
            names = names_of(entries)
            if not isinstance(outcome, Gone) or not outcome.left:
                return outcome
            about = {"note": f"what was left of undoing {', '.join(names)}", **_made_by(by)}
            return put_back_rest(self._engine, outcome, about)

    def forget(self, *entries: EntryLike, dry: bool = False) -> Forgetting:
        """Delete what entries captured, permanently; with `dry`, only say how much. They stay in the log."""
        with self._engine.locked():
            self._engine.look()
            records = [named_entry(self.ledger, name) for name in names_of(entries)]
            return self._forget((), captured(self.journal, records), dry=dry)

    def forget_value(self, value: str | bytes, *, dry: bool = False) -> Forgetting:
        """Delete every content in which a value stands, permanently; with `dry`, only say where it stands."""
        with self._engine.locked():
            self._engine.look()
            return self._forget(*standing(self.ledger, value), dry=dry)

    def _forget(self, places: tuple[ValuePlace, ...], refs: set[Ref], *, dry: bool) -> Forgetting:
        found = forget_contents(self.ledger, lambda known: self.adapter.read(known).state, places, refs, dry=dry)
        self._engine.note()
        return found

    def recover(self) -> Recovered:
        """Finish what a killed process left; called at every start, and harmless at any time."""
        with self.journal.lock(LOCK_SECONDS):
            self.ledger.refresh()
            told = self._engine.finish()
            self._engine.note_anew()
            return replace(told, swept=self._engine.sweep())

    def status(self) -> Status:
        """How things stand; changes nothing but what recovery must finish."""
        with self._engine.locked():
            look = self._engine.look(reading=True)
            live, undone, aborted = self.ledger.tally()
            held = () if self._engine.resources is None else self._engine.resources.problems()
            left = () if self._engine.leftovers is None else self._engine.leftovers.leftovers()
            unfinished = tuple(told for told in (look.unfinished, self._engine.doubt) if told)
            return Status(
                self.ledger.head,
                live,
                undone,
                self.ledger.pending,
                look.drift,
                left,
                (*unfinished, *look.strange, *held, *missing_told(self.ledger.missing)),
                aborted,
                look.broken,
                tuple(image.path for image in layout_changes(self._engine, look)) if not look.drift else (),
                look.notes,
            )

    def _toggle(
        self, kind: str, ask: ToggleAsk, token: str | None, *, cascade: bool, strict: bool, by: str = ""
    ) -> UndoOutcome:
        def make() -> UndoOutcome:
            with self._engine.locked():
                return toggle(self._engine, kind, ask, token, _made_by(by), cascade=cascade, strict=strict)

        return tried_again(make, self._engine.look_anew)


def _made_by(who: str) -> dict[str, Any]:
    """Who made an entry, where that was said."""
    return {"by": who} if who else {}
