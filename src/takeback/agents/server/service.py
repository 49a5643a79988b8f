"""Deals with agents' requests: one harness, and the proposals and plans that tokens stand for.

Several clients may ask at once; what touches the harness is done one after the other, and other processes
are kept apart by the journal's lock. A token belongs to the client that got it. Nothing is ever forced or
forgotten here. What an agent reads has its secrets masked.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from takeback.agents.server.answers import (
    AddressChange,
    Done,
    Judgement,
    Planned,
    Proposed,
    Question,
    Sent,
    VerdictAnswer,
    build_apply_command,
    build_command,
    judge_proposal,
    list_others_entries,
)
from takeback.agents.server.corrections import CorrectedCall, correct_change, give_example
from takeback.errors import TakebackError
from takeback.harness import Applied, Harness, Preview, RefusalReason, Refused, Stale, Undone
from takeback.harness.apply import is_idle
from takeback.harness.calls_steps import OpenStep
from takeback.harness.drift import Footing, refuse_drift
from takeback.harness.entry_log import change_to_json
from takeback.harness.entry_names import build_redo_request
from takeback.harness.ledger import TOGGLES
from takeback.journal import Record
from takeback.present.plans import describe_kept, describe_outside, describe_plan_outside, make_headline
from takeback.present.titles import join_words
from takeback.present.warnings import describe_gone, list_unheeded, weigh_plan, weigh_states
from takeback.repair.synthesizer import Method
from takeback.secret_mask import mask_secrets, mask_text_secrets
from takeback.state import State
from takeback.state.slots import describe_slot, find_containing_slot
from takeback.state.surfaces.calls import describe_stays
from takeback.undo import Blocked, Gone, Plan, SlotChange, Write
from takeback.undo.record import run_and_record
from takeback.verify import Admitted, Verdict

WORKS: Final = "it can be undone on every state: pass the token to apply_change"
REMEMBERED: Final = 512
"""How many proposals and how many plans are kept; the oldest go first."""
SomeKept = TypeVar("SomeKept")


@dataclass(slots=True)
class WaitingProposal:
    """An admitted change that waits to be applied; `entry` once it is."""

    admitted: Admitted
    note: str
    command: str
    entry: Record | None = None


@dataclass(slots=True)
class Planning:
    """An undo that waits to be done; `entry` once it is."""

    names: tuple[str, ...]
    cascade: bool
    entry: Record | None = None


def _remember(kept: dict[tuple[str, str], SomeKept], who: str, token: str, item: SomeKept) -> None:
    """Keep what a client's token stands for, and let go of what is oldest."""
    kept.pop((who, token), None)
    kept[who, token] = item
    while len(kept) > REMEMBERED:
        del kept[next(iter(kept))]


class ProposalService:
    """Deals with requests about one harness; `method` looks for a recovery where the one sent falls short."""

    def __init__(self, harness: Harness, directory: str, method: Method) -> None:
        self.directory = directory
        self._harness = harness
        harness.treat_as_agent("")
        self._method = method
        self._lock = threading.RLock()
        self._proposals: dict[tuple[str, str], WaitingProposal] = {}
        self._plans: dict[tuple[str, str], Planning] = {}

    @contextmanager
    def harness(self, who: str | None = None) -> Iterator[Harness]:
        """Yield the harness, for one request at a time; to the harness's policy, who asks is an agent."""
        with self._lock:
            if who is not None:
                self._harness.treat_as_agent(who)
            yield self._harness

    def close(self) -> None:
        """Let go of the harness, after the request that is under way."""
        with self._lock:
            self._harness.close()

    def propose(self, sent: Sent, who: str) -> Proposed:
        """Decide about a change; what is admitted gets a token."""
        sent.require_sense()
        with self.harness(who) as harness, harness.held() as state:
            harness.require("propose")
        if isinstance(state, Refused):
            return Proposed(outcome="refused", message=state.message, command=self.mending(state))
        judgement = judge_proposal(sent, state, self._method)
        judged = judgement.verdict
        verdict = None if judged is None else _describe_verdict(judged)
        if judgement.admitted is None:
            digest = judged.candidate_digest if judged is not None and judged.lacks_only_approval else None
            forcing = build_apply_command(
                judgement.sent, sent.lines, self.directory, force=True, approve=digest or ""
            )
            return Proposed(outcome="not admitted", message=_why_not(judgement), command=forcing, verdict=verdict)
        with self.harness(who) as harness:
            preview = harness.preview(judgement.admitted)
            slots = () if isinstance(preview, Refused) else [write.slot for write in preview.changes]
            outside = list(describe_outside(harness, slots))
        if isinstance(preview, Refused):
            if preview.drift or preview.broken:
                return Proposed(
                    outcome="refused", message=preview.message, verdict=verdict, command=self.mending(preview)
                )
            again = {"lines": list(sent.lines), "mutation": list(sent.mutation), "note": sent.note}
            message = f"{preview.message}\n{self.correct_proposal(again)}"
            return Proposed(outcome="refused", message=message, verdict=verdict)
        refused = refuse_drift(Footing(preview.before, preview.before, preview.drift, preview.elsewhere))
        if refused is not None:
            return Proposed(
                outcome="refused",
                message=refused.message,
                verdict=verdict,
                changes=_list_changes(preview.changes),
                command=self.mending(refused),
            )
        reasons = self._loosens(judgement.admitted, preview.before)
        token = f"p-{secrets.token_urlsafe(18)}"
        proposal = WaitingProposal(
            judgement.admitted, sent.note, build_apply_command(judgement.sent, sent.lines, self.directory)
        )
        with self._lock:
            _remember(self._proposals, who, token, proposal)
        lasting = "" if judged is None else describe_stays(judged.effects, judged.stays)
        message = f"{lasting}; {WORKS}" if lasting else WORKS
        idle = is_idle(judgement.admitted.candidate.mutation, preview.before)
        if idle:
            message = "the harness is already so: apply_change would make no entry"
        unheeded = list_unheeded(preview, self._harness)
        if unheeded:
            message = f"{message}; but {'; '.join(unheeded)}"
        if judgement.repaired:
            message = f"the recovery that was sent does not undo it; this one does: {message}"
        return Proposed(
            outcome="repaired" if judgement.repaired else "admitted",
            message=message,
            token=token,
            candidate=mask_secrets(judgement.admitted.candidate.to_json()) if sent.mutation else None,
            changes=[] if idle else _list_changes(preview.changes),
            files=[] if idle else list(preview.paths),
            outside=outside,
            person=reasons,
            command=proposal.command if reasons else None,
            verdict=verdict,
        )

    def question_of_change(self, token: str, who: str) -> Question:
        """Return the question that a person must decide before a proposal is applied."""
        with self.harness(who) as harness:
            proposal = self._proposals.get((who, token))
            if proposal is None or proposal.entry is not None:
                return Question(who, "apply a change")
            preview = harness.preview(proposal.admitted)
            if not isinstance(preview, Preview):
                return Question(who, "apply a change")
            slots = dict.fromkeys(describe_slot(find_containing_slot(write.slot)) for write in preview.changes)
            reasons = tuple(map(mask_text_secrets, self._loosens(proposal.admitted, preview.before)))
            return Question(who, f"change {join_words(list(slots))}", reasons, proposal.command)

    def apply(self, token: str, who: str, allowed: Callable[[Question], str]) -> Done:
        """Make an admitted change; `allowed` says why a person does not want it, or nothing if that is settled."""
        with self.harness(who) as harness:
            proposal = self._proposals.get((who, token))
            if proposal is None:
                return Done(
                    outcome="unknown token",
                    message=f"no proposal has this token; propose the change first\n{self.give_example()}",
                )
            if proposal.entry is not None:
                return _report_made("applied", proposal.entry, "it was already applied with this token")
            with harness.held() as state:
                if isinstance(state, Refused):
                    return self._report_refusal(state)
                if is_idle(proposal.admitted.candidate.mutation, state):
                    preview = harness.preview(proposal.admitted)
                    if isinstance(preview, Refused):
                        return self._report_refusal(preview)
                    return Done(outcome="unchanged", message="the harness is already so, and no entry was made")
                question = self.question_of_change(token, who)
                objection = allowed(question)
                if objection:
                    return Done(outcome="declined", message=objection, command=question.command)
                done = harness.apply(proposal.admitted, note=proposal.note, by=who)
            if isinstance(done, Refused) and done.why is RefusalReason.CALLS:
                candidate = proposal.admitted.candidate  # a person can approve what stays of it
                command = build_apply_command(candidate.to_json(), (), self.directory, approve=candidate.digest())
                return Done(outcome="refused", message=done.message, command=command)
            if not isinstance(done, Applied):
                return self._report_refusal(done)
            proposal.entry = done.entry
            made = f"entry #{done.entry.entry} was made; 'undo' can undo it"
            return _report_made("applied", done.entry, made, done.open)

    def plan_undo(self, names: Sequence[str], who: str, *, cascade: bool) -> Planned:
        """Return what taking entries back would do; the token binds an undo to it."""
        with self.harness(who) as harness:
            with harness.session():
                outcome = harness.plan_undo(*names, cascade=cascade)
                footing = harness.drift_beside(outcome) if isinstance(outcome, Plan) else None
            refused = None if footing is None else refuse_drift(footing)
            if isinstance(outcome, Plan) and refused is not None:
                return Planned(
                    outcome="refused",
                    message=refused.message,
                    off=list(outcome.off),
                    on=list(outcome.on),
                    changes=_list_changes(outcome.changes),
                    command=self.mending(refused),
                )
            if isinstance(outcome, Plan):
                _remember(self._plans, who, outcome.token, Planning(tuple(names), cascade))
                reasons = self._undo_reasons(harness, outcome, names, who)
                return Planned(
                    outcome="planned",
                    message=make_headline(outcome, done=False) or "pass the token to undo",
                    token=outcome.token,
                    off=list(outcome.off),
                    on=list(outcome.on),
                    changes=_list_changes(outcome.changes),
                    kept=list(describe_kept(outcome, done=False)),
                    outside=list(describe_plan_outside(harness, outcome)),
                    unadmitted=list(outcome.unadmitted),
                    person=reasons,
                    command=self._build_undo_command(names, cascade=cascade) if reasons else None,
                )
            return self._no_plan(outcome, names)

    def question_of_undo(self, token: str, who: str) -> Question:
        """Return the question that a person must decide before a plan is carried out."""
        with self.harness(who) as harness:
            planning = self._plans.get((who, token))
            if planning is None or planning.entry is not None:
                return Question(who, "take entries back")
            plan = harness.plan_undo(*planning.names, cascade=planning.cascade)
            if not isinstance(plan, Plan) or plan.token != token:
                return Question(who, "take entries back")
            reasons = tuple(self._undo_reasons(harness, plan, planning.names, who))
            by_hand = self._build_undo_command(planning.names, cascade=planning.cascade)
            return Question(who, _describe_steps(("take back", plan.off), ("bring back", plan.on)), reasons, by_hand)

    def undo(self, token: str, who: str, allowed: Callable[[Question], str]) -> Done:
        """Carry out a plan, if it is still the plan; `allowed` is as for `apply`."""
        with self.harness(who) as harness:
            planning = self._plans.get((who, token))
            if planning is None:
                return Done(
                    outcome="unknown token",
                    message=f"no plan has this token; plan_undo gives one\n{self.name_newest()}",
                )
            if planning.entry is not None:
                return _report_made("undone", planning.entry, "it was already done with this token")
            with harness.held() as state:
                if isinstance(state, Refused):
                    return self._report_refusal(state)
                question = self.question_of_undo(token, who)
                objection = allowed(question)
                if objection:
                    return Done(outcome="declined", message=objection, command=question.command)
                done = harness.undo(*planning.names, token=token, cascade=planning.cascade, by=who)
            if isinstance(done, Stale):
                return Done(outcome="stale", message="the harness changed since the plan was made; plan again")
            if isinstance(done, Refused):
                return self._report_refusal(done)
            if not isinstance(done, Undone):
                return Done(outcome="refused", message="it is no longer possible; plan again")
            planning.entry = done.entry
            headline = make_headline(done.plan, done=True) or "undone; the others stay"
            return _report_made("undone", done.entry, headline, done.open)

    def question_of_redo(self, names: Sequence[str], who: str) -> Question:
        """Return the question that a person must decide before entries are brought back."""
        with self.harness(who) as harness:
            plan = harness.plan(lambda ledger: build_redo_request(ledger, names))
            if not isinstance(plan, Plan):
                return Question(who, "bring entries back")
            reasons = (*self._undo_reasons(harness, plan, names, who), *_list_others_undos(harness, plan, who))
            steps = _describe_steps(("bring back", plan.on), ("take back", plan.off))
            return Question(who, steps, reasons, build_command("redo", self.directory, *names))

    def redo(self, names: Sequence[str], who: str, allowed: Callable[[Question], str]) -> Done:
        """Bring back entries that were taken back, the latest without names; `allowed` is as for `apply`."""
        with self.harness(who) as harness, harness.held() as state:
            if isinstance(state, Refused):
                return self._report_refusal(state)
            question = self.question_of_redo(names, who)
            objection = allowed(question)
            if objection:
                return Done(outcome="declined", message=objection, command=question.command)
            done = harness.redo(*names, by=who)
            if isinstance(done, Undone):
                headline = make_headline(done.plan, done=True) or "brought back"
                return _report_made("redone", done.entry, headline, done.open)
            if isinstance(done, Refused):
                return self._report_refusal(done)
            reasons = "; ".join(f"#{number}: {why}" for number, why in getattr(done, "reasons", ()))
            return Done(outcome="refused", message=f"it cannot be brought back alone: {reasons}")

    def correct_proposal(self, arguments: Mapping[str, Any]) -> CorrectedCall:
        """Return a change near one that failed, which would be admitted."""
        return correct_change(arguments, self._harness.state, self._would_admit)

    def give_example(self) -> CorrectedCall:
        """Return a small change that would be admitted."""
        return give_example(self._harness.state, self._would_admit)

    def name_newest(self, tool: str = "plan_undo") -> CorrectedCall:
        """Return the call about the newest entry that is live, or for `redo` undone; where there is none, a look."""
        wanted = "undone" if tool == "redo" else "live"
        with self.harness() as harness:
            newest = next((view.seq for view in harness.log() if view.status == wanted), None)
        if newest is None:
            return CorrectedCall("history", {})
        return CorrectedCall(tool, {"entry": str(newest)} if tool == "diff" else {"entries": [str(newest)]})

    def _would_admit(self, arguments: Mapping[str, Any]) -> bool:
        """Tell whether a change would be admitted and could be made."""
        sent = Sent(arguments.get("lines", ()), arguments.get("mutation", ()))
        try:
            with self.harness() as harness:
                judgement = judge_proposal(sent, harness.state, self._method)
                return judgement.admitted is not None and isinstance(harness.preview(judgement.admitted), Preview)
        except TakebackError:
            return False

    def _loosens(self, admitted: Admitted, before: State) -> list[str]:
        return weigh_states(self._harness, before, run_and_record(admitted.candidate.mutation, before).state)

    def _undo_reasons(self, harness: Harness, plan: Plan, names: Sequence[str], who: str) -> list[str]:
        reasons = [*list_others_entries(harness, plan, names, who), *weigh_plan(harness, plan)]
        return list(map(mask_text_secrets, reasons))

    def _build_undo_command(self, names: Sequence[str], *, cascade: bool) -> str:
        return build_command("undo", self.directory, *names, *(["--cascade"] if cascade else []))

    def _no_plan(self, outcome: Blocked | Gone | Refused, names: Sequence[str]) -> Planned:
        if isinstance(outcome, Refused):
            return Planned(outcome="refused", message=outcome.message, command=self.mending(outcome))
        if isinstance(outcome, Gone):
            reason = "; ".join(describe_gone(outcome)) if outcome.sealed else "what it captured was forgotten"
            return Planned(outcome="gone", message=f"{reason}; a person can salvage what is left")
        reasons = "; ".join(f"#{number}: {why}" for number, why in outcome.reasons)
        more = outcome.together if isinstance(outcome.together, Plan) else None
        call = CorrectedCall("plan_undo", {"entries": list(names), "cascade": True})
        way = "nothing makes it possible" if more is None else f"with cascade the others are undone too\n{call}"
        return Planned(
            outcome="blocked",
            message=f"it cannot be done alone ({reasons}); {way}",
            off=list(outcome.off),
            on=list(outcome.on),
            unadmitted=[] if more is None else list(more.unadmitted),
        )

    def _report_refusal(self, refused: Refused) -> Done:
        return Done(outcome="refused", message=refused.message, command=self.mending(refused))

    def mending(self, refused: Refused) -> str:
        """Return the command that a person can run where nothing can be changed now."""
        return build_command("adopt" if refused.why is RefusalReason.DRIFT else "status", self.directory)


def _describe_steps(*steps: tuple[str, Sequence[int]]) -> str:
    return join_words([f"{verb} #{number}" for verb, numbers in steps for number in numbers])


def _list_others_undos(harness: Harness, plan: Plan, who: str) -> list[str]:
    """Return the entries that would come back although someone else took them back."""
    left, names = set(plan.on), []
    for entry in harness.log():
        if not left:
            break
        if entry.kind in TOGGLES and left & set(entry.off):
            if entry.by != harness.name_author(who):
                numbers = ", ".join(f"#{number}" for number in sorted(left & set(entry.off)))
                names.append(f"{numbers} was taken back by {entry.by or 'an unnamed author, such as a person'}")
            left -= set(entry.off)
    return list(map(mask_text_secrets, names))


def _describe_verdict(verdict: Verdict) -> VerdictAnswer:
    example = verdict.counterexample
    trip = None if example is None else example.trip
    breaks = [] if trip is None else [*map(str, trip.residuals), trip.forward_failure, trip.failure]
    return VerdictAnswer(
        admitted=verdict.admitted,
        grade=verdict.grade.value,
        effect_class=verdict.effects.value,
        stays=[item["call"] for item in verdict.stays],
        reasons=[reason.message for reason in verdict.reasons],
        breaking_state=None if example is None else mask_secrets(example.state.write()),
        breaks=[text for text in breaks if text],
    )


def _why_not(judgement: Judgement) -> str:
    if judgement.lacking:
        return f"the language has no recovery for it: {judgement.lacking}"
    return "it is not admitted, and no recovery was found; the server never forces a change, but a person can"


def _list_changes(changes: Sequence[SlotChange | Write]) -> list[AddressChange]:
    return [AddressChange.model_validate(mask_secrets(change_to_json(change))) for change in changes]


def _report_made(outcome: str, entry: Record, message: str, opened: Sequence[OpenStep] = ()) -> Done:
    """Return what became of a change that was made, with what keeps it open."""
    effect = list(entry.effect)
    message = "; ".join((message, *(step.describe() for step in opened)))
    plain = {"outcome": outcome, "message": message, "entry": entry.id, "number": entry.entry, "effect": effect}
    return Done.model_validate(plain)
