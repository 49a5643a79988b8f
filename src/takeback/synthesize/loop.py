"""The repair loop: tell, ask, read, judge, up to a budget of turns; stop at the first admitted candidate.

The mutation is locked by its digest. A reply that is no candidate, or leaves the language, uses up its turn and
is classified. A `ServiceFault` passes through: the run stops, and with a recording it goes on later without
asking anything twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.counterfactual import dev_states, nominal_state
from takeback.diagnose import Feedback, Ground, Mode, feedback
from takeback.errors import InputError
from takeback.language import Candidate, OutOfLanguage, Program, gate, widest_level
from takeback.state import Contract, Level, State
from takeback.synthesize.attempt import Attempt, read_repair, reason_of
from takeback.synthesize.models import PAPER, Account, ChatModel, Reply, Request, Sampling
from takeback.synthesize.prompting import VERSION, diagnosis_version, prompt_set, without_language
from takeback.verify import Code, Verdict
from takeback.verify.sampled import rejected as turned_away

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
    level: Level = field(default_factory=widest_level)
    seed: int = 7000
    sampling: Sampling = PAPER
    isolated: bool = False
    any_mutation: bool = False
    prompts: str = VERSION
    dev: str = "Q10"

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

    def asked(self) -> str:
        """What was asked, without the description of the language, which is the same in every turn."""
        return without_language(self.request.messages[-1].content)

    def to_json(self) -> dict[str, Any]:
        """The turn as JSON, with the whole request by its digest."""
        return {
            "turn": self.number,
            "told": self.told.text,
            "mode": self.told.used.value,
            "request": self.request.digest(),
            "asked": self.asked(),
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
        """The repair as JSON."""
        return {
            "admitted": self.admitted is not None,
            "source": self.source,
            "candidate": self.admitted.to_json() if self.admitted is not None else None,
            "verdict": self.verdict.to_json(),
            "turns": [turn.to_json() for turn in self.turns],
            "unsayable": [str(out) for out in self.unsayable],
            "account": self.account.to_json(),
        }


def repair(
    start: Attempt, model: ChatModel, judge: Judge, settings: Settings, nominal: State | None = None
) -> Repair:
    """Repair an attempt whose mutation can be read; the starting attempt is judged first."""
    locked = start.mutation
    if locked is None:
        raise InputError("candidate", found="no readable mutation", expected="a mutation to find a recovery for")
    verdict = assess(start, judge, settings.level)
    if verdict.admitted:
        return Repair(start.candidate, verdict, source="start")
    unsayable = unsayable_in(locked, settings)
    if unsayable:
        return Repair(None, verdict, unsayable=unsayable)
    turns: list[Turn] = []
    account, attempt, shown = Account(), start, start.recovery
    ground = _ground(locked, settings, nominal)
    for number in range(1, settings.budget + 1):
        told = feedback(
            settings.mode,
            locked,
            attempt.candidate,
            verdict,
            failures=number,
            isolated=settings.isolated,
            ground=ground,
        )
        request = _request(model.name, locked, shown, told, number, settings)
        reply = model.complete(request)
        account = account.plus(reply)
        attempt = read_repair(reply, locked)
        verdict = assess(attempt, judge, settings.level)
        turns.append(Turn(number, told, request, reply, attempt, verdict))
        if verdict.admitted:
            return Repair(attempt.candidate, verdict, tuple(turns), account)
        shown = attempt.recovery or shown
    return Repair(None, verdict, tuple(turns), account)


def _ground(locked: Program, settings: Settings, nominal: State | None) -> Ground:
    """What diagnosis may rest on: development states are worked out only for a mode that shows states."""
    base = nominal if nominal is not None else nominal_state()
    shows = settings.mode in {Mode.COUNTEREXAMPLE, Mode.ADAPTIVE}
    dev = dev_states(base, locked, settings.dev) if shows else ()
    return Ground(base, tuple(dev), diagnosis_version(settings.prompts))


def assess(attempt: Attempt, judge: Judge, level: Level) -> Verdict:
    """The verdict on an attempt; one that holds no candidate is turned away with its shortfall."""
    if attempt.candidate is None:
        why = attempt.rejected
        reasons = [reason_of(why)] if why is not None else []
        return turned_away(reasons, "reply", level)
    return judge(attempt.candidate)


def unsayable_in(mutation: Program, settings: Settings) -> tuple[OutOfLanguage, ...]:
    """What of a mutation the language does not have, where it must: then no recovery can be admitted."""
    if settings.any_mutation:
        return ()
    return gate(Candidate(mutation, (), (), Contract()), settings.level, ("mutation",))


def _request(
    model: str, locked: Program, shown: dict[str, Any], told: Feedback, number: int, settings: Settings
) -> Request:
    prompts = prompt_set(settings.prompts)
    mutation = [op.to_json() for op in locked]
    if told.used is Mode.NONE:
        messages = prompts.regenerate(settings.level, mutation=mutation)
    else:
        messages = prompts.repair(settings.level, mutation=mutation, attempt=shown, diagnosis=told.text)
    return Request(
        model=model,
        messages=messages,
        schema=prompts.schema(settings.level, mutation=False),
        seed=settings.seed + number,
        ordered=prompts.ordered,
        **settings.sampling.to_json(),
    )
