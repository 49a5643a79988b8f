"""Turn 0: one candidate for a task, zero demonstrations, no rerolls, and what became of it.

Each task ends as admissible, defective (it improves the harness but cannot be taken back) or inadequate (it
does not improve it). A reply that cannot be read is inadequate when its mutation cannot be run, defective when only
its witness, recovery or contract is at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

from takeback.canonical import write_compact
from takeback.errors import InputError
from takeback.language import Program
from takeback.repair.attempt import read_proposal
from takeback.repair.models import PAPER, Account, ChatModel, Message, Reply, Request, Sampling
from takeback.repair.prompts import PromptSet, load_prompt_set
from takeback.runtime import run_forward
from takeback.state import SURFACES, Level, Stage, State
from takeback.verify import Verdict
from takeback_lab.experiments.apart import APART, PASSED, Counting, CountingJudge, read_counting
from takeback_lab.experiments.draws import first_seed
from takeback_lab.judges import make_recovery_judge
from takeback_lab.prompt_sets import FIRST as FIRST_PROMPTS
from takeback_lab.prompt_sets import GUIDED, PLAIN, V4
from takeback_lab.tasks import Task, capability

Turn0Outcome = Literal["admissible", "defective", "inadequate"]
OUTCOMES: Final[tuple[Turn0Outcome, ...]] = ("admissible", "defective", "inadequate")
RULE: Final = "split-wald"
STYLES: Final = {"v4": V4, "plain": PLAIN, "guided": GUIDED}


@dataclass(frozen=True, slots=True)
class Condition:
    """Under what a candidate is asked for: the language of witness and recovery, and the set of prompts.

    The mutation may use all of L1 in either language. `cannot_run` says how states count on which it cannot run.
    """

    language: Level = Level.L0
    prompts: str = V4
    cannot_run: Counting = APART

    def prompt_files(self) -> tuple[str, ...]:
        """The files that a request at turn 0 is made of."""
        name = self.language.value
        used = ("system.md", f"language_{name}.md", "propose.md", f"candidate_{name}.json")
        return (*used, "forward.md") if "forward.md" in load_prompt_set(self.prompts).files else used

    def to_json(self) -> dict[str, str]:
        """The condition as a bank holds it."""
        plain = {"language": self.language.value, "prompts": self.prompts}
        return plain if self.cannot_run == PASSED else {**plain, "cannot_run": self.cannot_run}

    @classmethod
    def from_json(cls, raw: Mapping[str, str]) -> Condition:
        """The condition that `to_json` wrote."""
        return cls(Level(raw["language"]), str(raw["prompts"]), read_counting(raw.get("cannot_run", PASSED)))


BASE_L0: Final = Condition()
"""The paper's: a base language, and a prompt that names the operations and explains nothing."""
FIRST: Final = Condition(Level.L1, FIRST_PROMPTS, PASSED)
"""What banks were made under that do not name their condition."""


def read_condition(
    language: str | None, prompt: str | None, base: Condition = BASE_L0, cannot_run: str | None = None
) -> Condition:
    """The condition that options name; what they leave out is that of `base`."""
    if language not in {None, "L0", "L1"}:
        raise InputError("--language", found=language, expected="L0 or L1")
    if prompt is not None and prompt not in STYLES:
        raise InputError("--prompt", found=prompt, expected=f"one of {', '.join(STYLES)}")
    counting = read_counting(cannot_run) if cannot_run else base.cannot_run
    return Condition(Level(language or base.language), STYLES[prompt] if prompt else base.prompts, counting)


@dataclass(frozen=True, slots=True)
class Turn0:
    """What became of one task.

    `raw` is the reply's JSON (None if it had none), `gain` how much of the task it achieves, `shortfall` and
    `detail` why the reply is no candidate, `verdict` what the verifier said where it got that far, `counts` on how
    many states of each split.
    """

    task: Task
    outcome: Turn0Outcome
    raw: dict[str, Any] | None
    gain: Fraction
    account: Account
    shortfall: str = ""
    detail: str = ""
    verdict: Verdict | None = None
    counts: dict[str, list[int]] | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry as it is frozen in the bank."""
        reasons = [reason.to_json() for reason in self.verdict.reasons] if self.verdict else []
        return {
            "id": self.task.id,
            "family": self.task.family,
            "outcome": self.outcome,
            "gain": str(self.gain),
            "candidate": self.raw,
            "shortfall": self.shortfall or None,
            "detail": self.detail or None,
            "reasons": reasons,
            "account": self.account.to_json(),
        }


def proposal_request(task: Task, model: str, sampling: Sampling = PAPER, condition: Condition = BASE_L0) -> Request:
    """What is asked for a task at turn 0, with seed 7000 + the task's index."""
    chosen = load_prompt_set(condition.prompts)
    state = {name: task.state.get(name, SURFACES[name].write(SURFACES[name].empty)) for name in task.surfaces}
    return Request(
        model=model,
        messages=ask_for_candidate(chosen, condition.language, state, task.instruction),
        schema=chosen.schema(condition.language, mutation=True),
        seed=first_seed(task),
        ordered=chosen.ordered,
        **sampling.to_json(),
    )


def ask_for_candidate(
    prompts: PromptSet, level: Level, state: Mapping[str, Any], instruction: str
) -> tuple[Message, ...]:
    """Ask for a whole candidate: `state` holds the surfaces the task concerns.

    The level bounds witness and recovery; a mutation may use all of L1.
    """
    return prompts.fill_messages(
        "propose.md",
        level,
        state=write_compact(state),
        instruction=instruction,
        surfaces=", ".join(f"{name} ({_name_operations(name, max(level, Level.L1))})" for name in state),
        forward=prompts.files.get("forward.md", "").strip(),
    )


def _name_operations(surface: str, level: Level) -> str:
    return ", ".join(kind.name for kind in SURFACES[surface].kind(Stage.FORWARD) if level.includes(kind.level))


def judge_reply(task: Task, reply: Reply, condition: Condition = BASE_L0) -> Turn0:
    """What became of a task, given the one reply to it: the mutation judged at L1, its recovery at the language."""
    account = Account().plus(reply)
    attempt = read_proposal(reply)
    short = attempt.rejected.shortfall if attempt.rejected is not None else ""
    detail = attempt.rejected.detail if attempt.rejected is not None else ""
    gain = improvement(task, attempt.mutation) if attempt.mutation is not None else Fraction(0)
    if gain <= 0:
        return Turn0(task, "inadequate", attempt.raw, gain, account, short, detail)
    if attempt.candidate is None:
        return Turn0(task, "defective", attempt.raw, gain, account, short, detail)
    nominal = State.read(task.state, task.id)
    inner = make_recovery_judge(RULE, condition.language, nominal, mutation=Level.L1)
    counting = CountingJudge(inner, condition.cannot_run)
    verdict = counting.judge(attempt.candidate)
    outcome: Turn0Outcome = "admissible" if verdict.admitted else "defective"
    return Turn0(task, outcome, attempt.raw, gain, account, verdict=verdict, counts=counting.count(verdict))


def improvement(task: Task, mutation: Program) -> Fraction:
    """How much more of the task's postconditions hold after the mutation than before it."""
    before = State.read(task.state, task.id)
    after, _ = run_forward(mutation, before)
    return capability(task, after.write()) - capability(task, task.state)


def answer(task: Task, model: ChatModel, sampling: Sampling = PAPER, condition: Condition = BASE_L0) -> Turn0:
    """Ask the model once and judge what it says."""
    request = proposal_request(task, model.name, sampling, condition)
    return judge_reply(task, model.complete(request), condition)
