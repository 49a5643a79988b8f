"""The natural bank: one candidate a task, zero demonstrations, no rerolls, and what became of it.

Each task ends as admissible, defective (it improves the harness but cannot be taken back) or inadequate (it
does not improve it). The defective ones are the cohort of the other experiments. A reply that cannot be read is
inadequate when its mutation cannot be run, defective when only its witness, recovery or contract is at fault.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, zip_longest
from typing import Any, Final, Literal, Protocol, TypeVar

from takeback.lab.lock import Lock, make_lock
from takeback.lab.tasks import FAMILIES, Task, capability, load
from takeback.language import Program
from takeback.runtime import forward
from takeback.state import SURFACES, Level, State
from takeback.synthesize.attempt import read_proposal
from takeback.synthesize.judging import recovery_judge
from takeback.synthesize.models import PAPER, Account, ChatModel, Reply, Request, Sampling
from takeback.synthesize.prompting import PLAIN, VERSION, prompt_set
from takeback.verify import RULES, THRESHOLD, Verdict

Outcome = Literal["admissible", "defective", "inadequate"]
OUTCOMES: tuple[Outcome, ...] = ("admissible", "defective", "inadequate")
FIRST_SEED = 7000
LEVEL = Level.L1
RULE = "split-wald"
ORDER_SEED: Final = 16


@dataclass(frozen=True, slots=True)
class Condition:
    """Under what a candidate is asked for: the language of witness and recovery, and the set of prompts.

    The mutation may use all of L1 in either language.
    """

    language: Level = Level.L0
    prompts: str = PLAIN

    def prompt_files(self) -> tuple[str, ...]:
        """The files that a request at turn 0 is made of."""
        used = [
            "system.md",
            f"language_{self.language.value}.md",
            "propose.md",
            f"candidate_{self.language.value}.json",
        ]
        return (*used, "forward.md") if "forward.md" in prompt_set(self.prompts).files else tuple(used)

    def to_json(self) -> dict[str, str]:
        """The condition as a bank holds it."""
        return {"language": self.language.value, "prompts": self.prompts}


PLAIN_L0: Final = Condition()
"""The paper's: a base language, and a prompt that names the operations and explains nothing."""
FIRST: Final = Condition(Level.L1, VERSION)
"""What banks were made under that do not name their condition."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What became of one task.

    `raw` is the reply's JSON (None if it had none), `gain` how much of the task it achieves, `shortfall` and
    `detail` why the reply is no candidate, `verdict` what the verifier said where it got that far.
    """

    task: Task
    outcome: Outcome
    raw: dict[str, Any] | None
    gain: Fraction
    account: Account
    shortfall: str = ""
    detail: str = ""
    verdict: Verdict | None = None

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


class OfFamily(Protocol):
    """Anything that belongs to a family of tasks."""

    @property
    def family(self) -> str:
        """The family's name."""
        ...


Item = TypeVar("Item", bound=OfFamily)


def round_robin(items: Sequence[Item], per_family: int | None = None) -> tuple[Item, ...]:
    """The first items of each family, one family after the other, so that any prefix is balanced."""
    rows = [[item for item in items if item.family == family][:per_family] for family in FAMILIES]
    return tuple(item for item in chain.from_iterable(zip_longest(*rows)) if item is not None)


def suites_of(rule: str) -> dict[str, Any] | None:
    """The states a rule decides on, as a lock freezes them; a proof decides on all, so there is nothing to freeze."""
    chosen = RULES.get(rule)
    return None if chosen is None else {"dev": "Q10", "iid": chosen.iid, "ood": chosen.ood, "seed": 0}


def task_index(task: Task) -> int:
    """The task's place in its set, which sets the seed of turn 0."""
    return next(at for at, one in enumerate(load(task.set_name)) if one.id == task.id)


def draw_order(tasks: Sequence[Task], seed: int = ORDER_SEED) -> tuple[Task, ...]:
    """The tasks in a seeded order in which families take turns, so that any prefix is a balanced sample."""

    def place(task: Task) -> str:
        return hashlib.sha256(f"{seed}:{task.id}".encode()).hexdigest()

    return round_robin(sorted(tasks, key=place))


def proposal_request(task: Task, model: str, sampling: Sampling = PAPER, condition: Condition = PLAIN_L0) -> Request:
    """What is asked for a task at turn 0, with seed 7000 + the task's index."""
    chosen = prompt_set(condition.prompts)
    state = {name: task.state.get(name, SURFACES[name].write(SURFACES[name].empty)) for name in task.surfaces}
    return Request(
        model=model,
        messages=chosen.propose(condition.language, state=state, instruction=task.instruction),
        schema=chosen.schema(condition.language, mutation=True),
        seed=FIRST_SEED + task_index(task),
        ordered=chosen.ordered,
        **sampling.to_json(),
    )


def judge(task: Task, reply: Reply, language: Level = LEVEL) -> Entry:
    """What became of a task, given the one reply to it: the mutation judged at L1, its recovery at `language`."""
    account = Account().plus(reply)
    attempt = read_proposal(reply)
    short = attempt.rejected.shortfall if attempt.rejected is not None else ""
    detail = attempt.rejected.detail if attempt.rejected is not None else ""
    gain = improvement(task, attempt.mutation) if attempt.mutation is not None else Fraction(0)
    if gain <= 0:
        return Entry(task, "inadequate", attempt.raw, gain, account, short, detail)
    if attempt.candidate is None:
        return Entry(task, "defective", attempt.raw, gain, account, short, detail)
    nominal = State.read(task.state, task.id)
    verdict = recovery_judge(RULE, language, nominal, mutation=Level.L1)(attempt.candidate)
    outcome: Outcome = "admissible" if verdict.admitted else "defective"
    return Entry(task, outcome, attempt.raw, gain, account, verdict=verdict)


def improvement(task: Task, mutation: Program) -> Fraction:
    """How much more of the task's postconditions hold after the mutation than before it."""
    before = State.read(task.state, task.id)
    after, _ = forward(mutation, before)
    return capability(task, after.write()) - capability(task, task.state)


def answer(task: Task, model: ChatModel, sampling: Sampling = PAPER, condition: Condition = PLAIN_L0) -> Entry:
    """Ask the model once and judge what it says."""
    request = proposal_request(task, model.name, sampling, condition)
    return judge(task, model.complete(request), condition.language)


def tally(entries: Sequence[Entry]) -> dict[str, Any]:
    """The bank's accounting: outcomes in all and by family, shortfalls, cost."""
    counts: dict[str, Any] = {outcome: sum(entry.outcome == outcome for entry in entries) for outcome in OUTCOMES}
    families = {
        family: {o: sum(e.outcome == o and e.task.family == family for e in entries) for o in OUTCOMES}
        for family in FAMILIES
    }
    short = sorted({entry.shortfall for entry in entries if entry.shortfall})
    return {
        "tasks": len(entries),
        **counts,
        "families": families,
        "shortfalls": {name: sum(entry.shortfall == name for entry in entries) for name in short},
        "account": Account.of(entry.account for entry in entries).to_json(),
    }


def protocol(
    *,
    model: str,
    per_family: int | None = None,
    chosen: Sequence[Task] | None = None,
    sampling: Sampling = PAPER,
    condition: Condition = PLAIN_L0,
) -> dict[str, Any]:
    """What a lock of this experiment freezes: tasks in their order, seeds, prompts, settings."""
    tasks = round_robin(draw_order(load("natural")), per_family) if chosen is None else chosen
    return {
        "tasks": [task.to_json() for task in tasks],
        "seeds": [FIRST_SEED + task_index(task) for task in tasks],
        "suites": suites_of(RULE),
        "prompts": prompt_set(condition.prompts).digest(*condition.prompt_files()),
        "model": {"name": model, **sampling.to_json()},
        "analysis": {"rule": RULE, "threshold": THRESHOLD, "language": condition.language.value},
    }


def natural_lock(
    tasks: Sequence[Task], model: str, sampling: Sampling = PAPER, condition: Condition = PLAIN_L0
) -> Lock:
    """The lock of a bank over these tasks, made before the first call."""
    return make_lock("natural", protocol(model=model, chosen=tasks, sampling=sampling, condition=condition))
