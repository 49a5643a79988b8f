"""A live harness: a state bound to real things, changed only through a write-ahead journal.

Every change, undo and redo goes the same way: lock, finish what a crash left, look, decide, announce, change, commit.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from takeback.harness.adapter import Adapter, Reading
from takeback.harness.engine import LOCK_SECONDS, Engine, Inspection
from takeback.harness.images import FileChange
from takeback.harness.ledger import Ledger
from takeback.harness.outcomes import (
    Adopted,
    Applied,
    Discarded,
    HarnessOutcome,
    LineOutcome,
    Listeners,
    PlanOutcome,
    Preview,
    Recovered,
    Refused,
    Status,
    Subscriber,
    Unchanged,
    UndoOutcome,
    describe_missing_surfaces,
)
from takeback.harness.records import CALL
from takeback.journal import Ref, Store
from takeback.lazy_names import load_later
from takeback.state import ABSENT, State
from takeback.state.slots import Slot

if TYPE_CHECKING:
    from takeback.harness import (
        apply,
        async_harness,
        attempts,
        calls,
        drift,
        entry_log,
        entry_names,
        file_changes,
        forget,
        recorded_evidence,
        toggle,
    )
    from takeback.harness.apply import Given, Judged
    from takeback.harness.calls import CallApproval
    from takeback.harness.calls_steps import OpenStep
    from takeback.harness.drift import Footing
    from takeback.harness.entry_log import EntryView
    from takeback.harness.entry_names import EntryRef, ToggleRequest
    from takeback.harness.forget import Forgetting
    from takeback.harness.toggle import ToggleAsk
    from takeback.journal import search
    from takeback.journal.search import ValuePlace
    from takeback.language import Candidate
    from takeback.undo import Plan
    from takeback.verify import Verdict
else:
    apply, async_harness, attempts, calls, drift, entry_log = load_later(
        globals(), "takeback.harness", "apply async_harness attempts calls drift entry_log"
    )
    entry_names, file_changes, forget, recorded_evidence, toggle = load_later(
        globals(), "takeback.harness", "entry_names file_changes forget recorded_evidence toggle"
    )
    (search,) = load_later(globals(), "takeback.journal", "search")

Verifier = Callable[["Candidate"], "Verdict"]
ToggleReader = Callable[[Ledger, Sequence["EntryRef"]], "ToggleRequest"]
SomeOutcome = TypeVar("SomeOutcome", bound="HarnessOutcome | None")


class Harness:
    """One harness, its journal and what it is bound to; several threads may use it.

    `verifier` decides about candidates: by proof unless another is given, and then evidence by a sample counts for
    nothing. An empty journal is begun with `start`, a state or a reading, or with what is there; where `begin` is
    false it is an error. `about` goes into its first record; one with another `identity` is refused. This one has no
    policy: `require` and `note_read` let everything pass.
    """

    def __init__(
        self,
        adapter: Adapter,
        journal: Store,
        *,
        verifier: Verifier | None = None,
        start: State | Reading | None = None,
        about: dict[str, Any] | None = None,
        begin: bool = True,
    ) -> None:
        self.adapter = adapter
        self.journal = journal
        self._verifier = verifier
        self.listeners = Listeners()
        with journal.lock(LOCK_SECONDS):
            self._engine = Engine(adapter, journal)
            self._engine.tell = self._tell
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

    async def __aenter__(self) -> async_harness.AsyncHarness:
        self._awaited = async_harness.AsyncHarness(self)
        return self._awaited

    async def __aexit__(self, *exception: object) -> None:
        await self._awaited.close()

    def __repr__(self) -> str:
        return f"Harness({self.journal.location}, head {self.ledger.head[:10]})"

    def log(self) -> Iterator[EntryView]:
        """Yield entries, newest first: each change with its evidence and status."""
        return entry_log.iter_entries(self)

    @contextmanager
    def session(self, *, clean: bool = False) -> Iterator[State | Refused]:
        """Hold the journal's lock, so that what is worked out from the state still holds when it is applied.

        What is there is read once. With `clean`, yields a refusal where anything is not as the journal says.
        """
        with self._engine.session():
            look = drift.read_and_absorb_client_writes(self._engine)
            refused = apply.refuse_unless_clean(look) if clean else None
            yield self.state if refused is None else refused

    held = session

    def require(self, verb: str, by: str = "") -> None:
        """Refuse what the policy does not let this principal do."""

    def note_read(self, way: str, entry: str = "", slots: Iterable[Slot | str] | None = None, by: str = "") -> None:
        """Refuse reading contents, or note it: in which way, of which entry, which slots; None means all."""

    def treat_as_agent(self, name: str) -> None:
        """Believe no more of whoever asks from now on than that it is an agent, which says that this is its name."""

    def name_author(self, by: str) -> str:
        """Return what an entry is signed with by who says to be `by`."""
        return by

    @contextmanager
    def inspect(self) -> Iterator[Inspection]:
        """Hold the journal's lock and what is there, read once; nothing is taken in, not even what a client wrote."""
        with self._engine.session():
            yield self._engine.look(reading=True)

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Have a function told every outcome: what was made, taken back or adopted, and what was not, and why.

        It is called in the thread that asked; what it raises is logged. Returns what ends the subscription.
        """
        return self.listeners.add(callback)

    def _tell(self, outcome: SomeOutcome, **asked: Any) -> SomeOutcome:
        """Tell those who listen an outcome, and return it; `asked` is what a refusal is about."""
        if outcome is not None:
            self.listeners.tell(outcome, asked)
        return outcome

    def set(
        self, thing: str, name: str, value: Any, *, mode: str | None = None, note: str = "", by: str = ""
    ) -> LineOutcome:
        """Set one thing to a value, or make it: `set("config", "limits.timeout", 30)`.

        Its recovery is written, proved and recorded. A file's value is its text or bytes, `mode` such as "0755".
        """
        return self._change_line("set", thing, name, note, by, value=value, mode=mode)

    def add(
        self,
        thing: str,
        name: str,
        value: Any,
        *,
        index: int | None = None,
        before: Any = ABSENT,
        after: Any = ABSENT,
        priority: int | None = None,
        mode: str | None = None,
        note: str = "",
        by: str = "",
    ) -> LineOutcome:
        """Add one thing that is not there yet: `add("middleware", "trace", {"handler": "t:run"}, before="auth")`."""
        spot = {"index": index, "before": before, "after": after, "priority": priority}
        return self._change_line("add", thing, name, note, by, value=value, mode=mode, **spot)

    def edit(self, thing: str, name: str, old: str, new: str, *, note: str = "", by: str = "") -> LineOutcome:
        """Replace a text that is there once: `edit("prompts", "system", "Use tabs.", "Use spaces.")`."""
        return self._change_line("edit", thing, name, note, by, old=old, new=new)

    def append(self, thing: str, name: str, value: Any, *, note: str = "", by: str = "") -> LineOutcome:
        """Add an item to a list, `append("config", "permissions.allow", "X")`, or lines of their own to a text."""
        return self._change_line("append", thing, name, note, by, value=value)

    def remove(self, thing: str, name: str, item: Any = ABSENT, *, note: str = "", by: str = "") -> LineOutcome:
        """Remove one thing, `remove("tools", "search")`, or an item of a list: `remove("config", "allow", "X")`."""
        return self._change_line("remove", thing, name, note, by, value=item)

    def move(
        self,
        thing: str,
        name: str,
        to: Any = ABSENT,
        *,
        index: int | None = None,
        before: Any = ABSENT,
        after: Any = ABSENT,
        priority: int | None = None,
        note: str = "",
        by: str = "",
    ) -> LineOutcome:
        """Move one thing, as it is: `move("files", "a.md", "b.md")`, `move("middleware", "trace", before="auth")`."""
        spot = {"index": index, "before": before, "after": after, "priority": priority}
        return self._change_line("move", thing, name, note, by, value=to, **spot)

    def _change_line(self, verb: str, thing: str, name: str, note: str, by: str, **fields: Any) -> LineOutcome:
        line = (
            apply.make_append_line(thing, name, **fields)
            if verb == "append"
            else apply.make_line(verb, thing, name, **fields)
        )
        with self.session() as state:
            change = state if isinstance(state, Refused) else apply.prepare_line(self, line, state)
            return (
                self.apply(change, note=note, by=by)
                if not isinstance(change, Refused | Unchanged)
                else self._tell(change)
            )

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
        approval: CallApproval | None = None,
    ) -> Applied | Refused:
        """Make a change, if it is admitted; with `force` also if not.

        `evidence` is a verdict that a verifier of this process issued about this very candidate. That may be JSON, an
        `Admitted`, what the oracle answered, or a list of operations, for which the oracle writes the recovery.
        `check` is what else was asked, for the record; `approval` admits what stays of its calls.
        """
        candidate = apply.complete_given(candidate, self.state)
        judged = apply.judge_candidate(
            candidate, self.adapter, self._verifier, evidence, force=force, approval=approval
        )
        asked = {"verb": "apply", "by": by, "note": note, "candidate": candidate}
        if isinstance(judged, Refused):
            return self._tell(judged, **asked)
        about = {"note": note, **_describe_author(by), **({"check": dict(check)} if check else {})}
        about |= calls.write_approval(self._engine.call_rules, judged.candidate, approval)
        return self._tell(
            apply.retry_on_conflict(lambda: self._apply(judged, about, allow_ties, approval), self._engine.look_anew),
            **asked,
        )

    def _apply(self, judged: Judged, said: dict[str, Any], *how: Any) -> Applied | Refused:
        with self._engine.get_lock():
            return apply.apply_judged(self._engine, judged, said, *how)

    def preview(
        self, candidate: Given, *, force: bool = False, allow_ties: bool = True, evidence: Verdict | None = None
    ) -> Preview | Refused:
        """Return what `apply` would do, without doing it; also where drift would make it refuse."""
        candidate = apply.complete_given(candidate, self.state)
        judged = apply.judge_candidate(candidate, self.adapter, self._verifier, evidence, force=force, planning=True)
        if isinstance(judged, Refused):
            return judged
        with self._engine.get_lock():
            return apply.preview_change(self._engine, judged, allow_ties=allow_ties)

    def plan(
        self, request: ToggleAsk, *, cascade: bool = False, strict: bool = False, over: bool = False
    ) -> PlanOutcome:
        """Return what a request would do, without doing it; `strict` refuses where later writes would be kept."""
        return self._plan(lambda ledger, _: request(ledger), (), (cascade, strict, over))

    def _plan(self, ask: ToggleReader, entries: tuple[EntryRef, ...], how: tuple[bool, bool, bool]) -> PlanOutcome:
        engine = self._engine
        with engine.get_lock():
            drift.read_and_absorb_client_writes(engine)
            asked = ask(engine.ledger, entries)
            return toggle.plan_asked(engine, asked, *how)

    def plan_undo(self, *entries: EntryRef, cascade: bool = False, strict: bool = False) -> PlanOutcome:
        """Return what taking entries back would do; the plan's token binds a later `undo` to it."""
        return self._plan(entry_names.build_undo_request, entries, (cascade, strict, False))

    def undo(
        self,
        *entries: EntryRef,
        token: str | None = None,
        cascade: bool = False,
        strict: bool = False,
        over: bool = False,
        by: str = "",
    ) -> UndoOutcome:
        """Take entries back; taking back an undo brings back what it took, taking back a discard what was there.

        Without names, the newest change that is live. What later entries have written since is kept, and reported;
        with `strict` that is refused.
        """
        engine, names = self._engine, entry_names.name_entries(entries)

        def make() -> UndoOutcome:
            with engine.get_lock():
                meant = entries
                if len(entries) == 1:
                    engine.ledger.refresh()
                    record = entry_names.resolve_entry_ref(engine.ledger, entries[0])
                    if record.kind == "discard":
                        return drift.undo_discard(engine, record, _describe_author(by))
                    meant = (record,)
                request = partial(entry_names.build_undo_request, entries=meant, asked=names)
                said = _describe_author(by)
                return toggle.toggle_entries(
                    engine, "undo", request, token, said, cascade=cascade, strict=strict, over=over
                )

        return self._tell(apply.retry_on_conflict(make, engine.look_anew), verb="undo", by=by, entries=names)

    def redo(
        self, *entries: EntryRef, token: str | None = None, cascade: bool = False, strict: bool = False, by: str = ""
    ) -> UndoOutcome:
        """Bring back entries that were undone; without names, those from the latest active undo."""
        request = partial(entry_names.build_redo_request, names=entry_names.name_entries(entries))
        return self._toggle("redo", request, token, cascade=cascade, strict=strict, by=by)

    def restore(
        self, to: EntryRef, *, token: str | None = None, strict: bool = False, by: str = ""
    ) -> UndoOutcome | Unchanged:
        """Go back, or forward, to how things were right after an entry, or at a time (ISO 8601).

        Where no entry has to be taken back or brought back for that, none is made.
        """

        def make() -> UndoOutcome | Unchanged:
            with self._engine.get_lock():
                return toggle.restore(
                    self._engine, entry_names.name_entry(to), token, _describe_author(by), strict=strict
                )

        done = apply.retry_on_conflict(make, self._engine.look_anew)
        return self._tell(done, verb="restore", by=by, entries=(entry_names.name_entry(to),))

    def adopt(
        self,
        note: str = "",
        *,
        by: str = "",
        origin: Mapping[str, str] | None = None,
        said: Mapping[str, str] | None = None,
        paths: Collection[str] = (),
        slots: Collection[Slot] = (),
    ) -> Adopted | Refused | None:
        """Take changes made by someone else into the journal as an entry of their own; None if there are none.

        `origin` says where they come from; `said` is the person's prompt and the command, masked, which can be
        forgotten. With `paths` or `slots`, only those are taken in.
        """
        about = {"note": note, **_describe_author(by), **({"origin": dict(origin)} if origin else {})}
        about |= {CALL: dict(said)} if said else {}
        return self._tell(self._adopt(about, paths, slots))

    def _adopt(
        self, about: dict[str, Any], paths: Collection[str], slots: Collection[Slot]
    ) -> Adopted | Refused | None:
        with self._engine.get_lock():
            look = self._engine.look()
            if paths or slots:
                return drift.adopt_selected_drift(self._engine, look, about, paths, slots)
            adopted = drift.adopt_drift(self._engine, look, about)
            return apply.refuse_unless_clean(look) if adopted is None and look.broken else adopted

    def prove_recorded(self) -> int:
        """Prove recorded changes that were too large for that while they were recorded; how many there were."""
        if not self.ledger.unproved or self.journal.readonly or self.doubt:
            return 0
        with self._engine.get_lock():
            self.ledger.refresh()
            proved = recorded_evidence.prove_pending(self)
            self._engine.note()
        return proved

    def effect_of(self, plan: Plan) -> tuple[str, ...]:
        """Return when what a plan changes would be noticed by whatever loads the harness."""
        return self._engine.effect_of(change.slot for change in plan.changes)

    def files_of(self, plan: Plan) -> Sequence[FileChange] | Refused:
        """Return what a plan would do to each file, byte for byte; or why it cannot be written."""
        with self._engine.get_lock():
            footing = toggle.find_plan_footing(self._engine, plan)
            refused, how = drift.refuse_drift(footing), (footing.before, footing.after, plan.off, plan.on)
            return file_changes.render_file_changes(self._engine, *how) if refused is None else refused

    def drift_beside(self, plan: Plan) -> Footing:
        """Return the drift where a plan writes, which blocks it, and the drift elsewhere."""
        with self._engine.get_lock():
            return toggle.find_plan_footing(self._engine, plan)

    def discard(
        self, paths: Sequence[str] = (), note: str = "", *, slots: Collection[Slot] = (), by: str = ""
    ) -> Discarded | Refused | None:
        """Put files back as the journal knows them, all that are not so or those named; None if there are none.

        With `slots` only what was changed there is put back. What was in the files comes back when that is undone.
        """
        about, engine = {"note": note, **_describe_author(by)}, self._engine
        return self._tell(
            apply.retry_on_conflict(lambda: drift.discard_drift(engine, paths, about, slots), engine.look_anew)
        )

    def salvage(self, *entries: EntryRef, by: str = "") -> Adopted | UndoOutcome:
        """Put back what is left of an undo whose witness is gone, as a change of its own.

        Where nothing is gone this is an undo.
        """
        from takeback.undo import Gone  # noqa: PLC0415 - start-up

        with self._engine.session():
            self._engine.look()
            outcome = self.undo(*entries, by=by)
            names = entry_names.name_entries(entries)
            if not isinstance(outcome, Gone) or not outcome.left:
                return outcome
            about = {"note": f"what was left of undoing {', '.join(names)}", **_describe_author(by)}
            return self._tell(toggle.restore_remaining(self._engine, outcome.left, about))

    def undo_files(
        self,
        matches: Callable[[str], bool],
        *entries: EntryRef,
        token: str | None = None,
        planning: bool = False,
        strict: bool = False,
        by: str = "",
    ) -> Plan | Adopted | UndoOutcome:
        """Put back only the files whose paths match, as a change of its own; with `planning`, return the plan."""
        with self._engine.get_lock():
            said = _describe_author(by)
            done = toggle.undo_files(self._engine, entries, matches, token, said, planning=planning, strict=strict)
        return done if planning else self._tell(done)  # type: ignore[type-var]

    def forget(self, *entries: EntryRef, dry: bool = False) -> Forgetting:
        """Delete what entries captured, permanently; with `dry`, only say how much. They stay in the log."""
        with self._engine.get_lock():
            self._engine.look()
            records = [entry_names.resolve_entry(self.ledger, name) for name in entry_names.name_entries(entries)]
            refs = forget.collect_forgettable_refs(self.journal, records)
            held = self.journal.contents(refs).values()
            whole = {stored.data for stored in held if stored is not None and not stored.tree}
            return self._forget((), refs, whole.__contains__, dry=dry)

    def forget_value(self, value: str | bytes, *, dry: bool = False) -> Forgetting:
        """Delete every content that holds a value, permanently; with `dry`, only report where it occurs."""
        forms = search.Forms(value.encode() if isinstance(value, str) else value)
        with self._engine.get_lock():
            self._engine.look()
            return self._forget(*forget.find_value(self.ledger, value, dry=dry), forms.has_match_in, dry=dry)

    def forget_subject(self, subject: str, *, dry: bool = False) -> Forgetting:
        """Delete what is labelled with a subject, and copies of it, permanently; with `dry`, only say how much."""
        with self._engine.get_lock():
            self._engine.look()
            return self._forget(*forget.find_subject(self.ledger, subject, dry=dry), dry=dry)

    def _forget(
        self, places: tuple[ValuePlace, ...], refs: builtins.set[Ref], matches: Callable[[bytes], bool], *, dry: bool
    ) -> Forgetting:
        forgetting = forget.forget_contents(self.ledger, self._engine.read_actual, places, refs, dry=dry)
        self._engine.note()
        root = attempts.find_directory(self.adapter)
        if forgetting.record is not None and root:
            attempts.forget_beside_journal(root, matches)
        project = self._engine.project
        return forgetting if project is None else forget.forget_captured(forgetting, project, matches, dry=dry)

    def recover(self, *, now: bool = False) -> Recovered:
        """Finish what a killed process left, and try again what is open, if it is due or wanted `now`."""
        with self.journal.lock(LOCK_SECONDS):
            self.ledger.refresh()
            recovered = self._engine.finish()
            self._engine.note_anew()
            return replace(recovered, swept=self._engine.sweep(), open=self._engine.retry_open_calls(now=now))

    def resolve(self, entry: EntryRef, step: int, *, made: bool, by: str) -> tuple[OpenStep, ...]:
        """Say whether a call in doubt was made, and go on with its entry; return what is open then."""
        with self._engine.get_lock():
            self.ledger.refresh()
            self._engine.calls.resolve(entry_names.resolve_entry_ref(self.ledger, entry), step, made=made, by=by)
            self._engine.note()
            return self._engine.calls.list_open()

    def status(self) -> Status:
        """Return the status; changes nothing but what recovery must finish."""
        with self._engine.get_lock():
            look = self._engine.look(reading=True)
            live, undone, aborted = self.ledger.tally()
            held = () if self._engine.resources is None else self._engine.resources.problems()
            left = () if self._engine.leftovers is None else self._engine.leftovers.leftovers()
            unfinished = tuple(recovery for recovery in (look.unfinished, self._engine.doubt) if recovery)
            return Status(
                self.ledger.head,
                live,
                undone,
                self.ledger.pending,
                look.drift,
                left,
                (*unfinished, *look.strange, *held, *describe_missing_surfaces(self.ledger.missing)),
                aborted,
                look.broken,
                tuple(image.path for image in drift.find_formatting_changes(self._engine, look))
                if not look.drift
                else (),
                look.notes,
                self._engine.list_open_calls(),
            )

    def _toggle(
        self, kind: str, ask: ToggleAsk, token: str | None, *, cascade: bool, strict: bool, by: str = ""
    ) -> UndoOutcome:
        def make() -> UndoOutcome:
            with self._engine.get_lock():
                return toggle.toggle_entries(
                    self._engine, kind, ask, token, _describe_author(by), cascade=cascade, strict=strict
                )

        return self._tell(apply.retry_on_conflict(make, self._engine.look_anew), verb=kind, by=by)


def _describe_author(who: str) -> dict[str, Any]:
    return {"by": who} if who else {}
