"""The repair loop: diagnose, ask, read, judge, up to a budget of turns; stop at the first admitted candidate.

The mutation is locked by its digest. A reply that is no candidate, or leaves the language, uses up its turn
and is classified. A `ServiceFault` passes through: the run stops, and with a recording it goes on later
without asking anything twice. The portfolio is the practical default: the oracle answers at once wherever it
has an inverse the judge admits; a model is asked only where it has none. A judge is an admission rule bound
to a language and a nominal state; it fails closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from takeback.errors import InputError
from takeback.language import Candidate, OutOfLanguage, Program, find_widest_level, gate
from takeback.repair.attempt import Attempt, make_reason, read_repair
from takeback.repair.diagnosis import Feedback, FeedbackBasis, Mode, make_feedback
from takeback.repair.models import PAPER, Account, ChatModel, Reply, Request, Sampling
from takeback.repair.oracle import invert_mutation
from takeback.repair.prompts import ALL_SHOWN, VERSION, ShownParts, diagnosis_version, load_prompt_set, strip_language
from takeback.state import Contract, Level, State
from takeback.verify import Code, Verdict, VerifyOptions, verify_with
from takeback.verify.sampled import reject_candidate
from takeback.verify.suites import make_dev_states, make_nominal_state

MAX_BUDGET: Final = 64

Judge = Callable[[Candidate], Verdict]
"""Decides on a candidate; the loop passes its verdict on to the diagnosis."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a repair is run: feedback mode, turns, language, sampling. `seed` + turn is each call's seed.

    With `any_mutation` the language bounds what is synthesised only, so a model is asked even where the locked
    mutation is not in it; the judge must be one that does the same. `prompts` is the set of prompts, `dev` the suite
    whose states may be shown.
    """

    mode: Mode = Mode.D1
    budget: int = 4
    level: Level = field(default_factory=find_widest_level)
    seed: int = 7000
    sampling: Sampling = PAPER
    isolated: bool = False
    any_mutation: bool = False
    prompts: str = VERSION
    dev: str = "Q10"
    shown: ShownParts = ALL_SHOWN

    def __post_init__(self) -> None:
        if not 1 <= self.budget <= MAX_BUDGET:
            raise InputError("budget", found=self.budget, expected=f"a number of turns from 1 to {MAX_BUDGET}")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: what was wrong, what was asked, what came back, what the verdict was."""

    number: int
    told: Feedback
    request: Request
    reply: Reply
    attempt: Attempt
    verdict: Verdict

    @property
    def outcome(self) -> str:
        """`admitted`, a shortfall of the reply, or the verdict's first code."""
        if self.verdict.admitted:
            return "admitted"
        if self.attempt.rejected is not None:
            return self.attempt.rejected.shortfall
        code = self.verdict.reasons[0].code
        return "out_of_language" if code is Code.OUT_OF_LANGUAGE else code.value

    def get_request_text(self) -> str:
        """Return the request text without the description of the language, which is the same in every turn."""
        return strip_language(self.request.messages[-1].content)

    def to_json(self) -> dict[str, Any]:
        """Return the turn as JSON, with the whole request by its digest."""
        return {
            "turn": self.number,
            "told": self.told.text,
            "mode": self.told.used.value,
            "request": self.request.digest(),
            "asked": self.get_request_text(),
            "reply": self.reply.text,
            "finish_reason": self.reply.finish_reason,
            "outcome": self.outcome,
            "verdict": self.verdict.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Repair:
    """How a repair went.

    `admitted` is the candidate that was, or None. `unsayable` names what of the locked mutation the language
    does not have: then no recovery can be admitted, and no model is asked.
    """

    admitted: Candidate | None
    verdict: Verdict
    turns: tuple[Turn, ...] = ()
    account: Account = field(default_factory=Account)
    unsayable: tuple[OutOfLanguage, ...] = ()
    source: str = "model"

    def to_json(self) -> dict[str, Any]:
        """Return the repair as JSON."""
        return {
            "admitted": self.admitted is not None,
            "source": self.source,
            "candidate": self.admitted.to_json() if self.admitted is not None else None,
            "verdict": self.verdict.to_json(),
            "turns": [turn.to_json() for turn in self.turns],
            "unsayable": [str(out) for out in self.unsayable],
            "account": self.account.to_json(),
        }


def repair_attempt(
    start: Attempt, model: ChatModel, judge: Judge, settings: Settings, nominal: State | None = None
) -> Repair:
    """Repair an attempt whose mutation can be read; the starting attempt is judged first."""
    locked = start.mutation
    if locked is None:
        raise InputError("candidate", found="no readable mutation", expected="a mutation to find a recovery for")
    verdict = assess_attempt(start, judge, settings.level)
    if verdict.admitted:
        return Repair(start.candidate, verdict, source="start")
    unsayable = find_inexpressible(locked, settings)
    if unsayable:
        return Repair(None, verdict, unsayable=unsayable)
    turns: list[Turn] = []
    account, attempt, shown = Account(), start, start.recovery
    ground = _gather_basis(locked, settings, nominal)
    for number in range(1, settings.budget + 1):
        feedback = make_feedback(
            settings.mode,
            locked,
            attempt.candidate,
            verdict,
            failures=number,
            isolated=settings.isolated,
            ground=ground,
        )
        request = _build_request(model.name, locked, shown, feedback, number, settings)
        reply = model.complete(request)
        account = account.plus(reply)
        attempt = read_repair(reply, locked)
        verdict = assess_attempt(attempt, judge, settings.level)
        turns.append(Turn(number, feedback, request, reply, attempt, verdict))
        if verdict.admitted:
            return Repair(attempt.candidate, verdict, tuple(turns), account)
        shown = attempt.recovery or shown
    return Repair(None, verdict, tuple(turns), account)


def _gather_basis(locked: Program, settings: Settings, nominal: State | None) -> FeedbackBasis:
    """Return what diagnosis may rest on; development states are made only for a mode that shows states."""
    base = nominal if nominal is not None else make_nominal_state()
    shows = settings.mode in {Mode.COUNTEREXAMPLE, Mode.ADAPTIVE}
    dev = make_dev_states(base, locked, settings.dev) if shows else ()
    return FeedbackBasis(base, tuple(dev), diagnosis_version(settings.prompts))


def assess_attempt(attempt: Attempt, judge: Judge, level: Level) -> Verdict:
    """Return the verdict on an attempt; reject one that holds no candidate, with its shortfall."""
    if attempt.candidate is None:
        why = attempt.rejected
        reasons = [make_reason(why)] if why is not None else []
        return reject_candidate(reasons, "reply", level)
    return judge(attempt.candidate)


def find_inexpressible(mutation: Program, settings: Settings) -> tuple[OutOfLanguage, ...]:
    """Return what of a mutation the language lacks but needs: then no recovery can be admitted."""
    if settings.any_mutation:
        return ()
    return gate(Candidate(mutation, (), (), Contract()), settings.level, ("mutation",))


def _build_request(
    model: str, locked: Program, shown: dict[str, Any], feedback: Feedback, number: int, settings: Settings
) -> Request:
    prompts = load_prompt_set(settings.prompts)
    mutation = [op.to_json() for op in locked]
    if feedback.used is Mode.NONE:
        messages = prompts.regenerate(settings.level, mutation=mutation, shown=settings.shown)
    else:
        messages = prompts.repair(
            settings.level, mutation=mutation, attempt=shown, diagnosis=feedback.text, shown=settings.shown
        )
    return Request(
        model=model,
        messages=messages,
        schema=prompts.schema(settings.level, mutation=False),
        seed=settings.seed + number,
        ordered=prompts.ordered,
        **settings.sampling.to_json(),
    )


def repair_with_oracle(start: Attempt, judge: Judge, settings: Settings, nominal: State | None = None) -> Repair:
    """Repair with the oracle alone: judge its recovery, in one pass without turns."""
    if start.mutation is None:
        raise InputError("candidate", found="no readable mutation", expected="a mutation to find a recovery for")
    inverse = invert_mutation(start.mutation, nominal)
    verdict = judge(inverse)
    unsayable = find_inexpressible(start.mutation, settings)
    return Repair(inverse if verdict.admitted else None, verdict, unsayable=unsayable, source="oracle")


def repair_with_portfolio(
    start: Attempt, model: ChatModel | None, judge: Judge, settings: Settings, nominal: State | None = None
) -> Repair:
    """Repair with what works first: the start if it is good already, the oracle's recovery, then a model's."""
    verdict = assess_attempt(start, judge, settings.level)
    if verdict.admitted:
        return Repair(start.candidate, verdict, source="start")
    first = repair_with_oracle(start, judge, settings, nominal)
    if first.admitted is not None or model is None or first.unsayable:
        return first
    return replace(repair_attempt(start, model, judge, settings, nominal), source="model")


def make_judge(rule: str, level: Level, nominal: State) -> Judge:
    """Return a judge by the name of a rule; `proof` looks at every state, the others sample around `nominal`."""
    options = VerifyOptions(rule=rule, level=level, nominal=nominal)
    return lambda candidate: verify_with(candidate, options)
