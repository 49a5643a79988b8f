"""One repair of one candidate, as a unit: plain data in, plain data out.

Shared by every experiment that repairs. What the outcome keeps of each turn (how it ended, how many states of each
split passed) is enough to rescore it under another rule without asking anybody anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from takeback.canonical import sha256, write_pretty
from takeback.errors import InputError
from takeback.repair.attempt import build_attempt
from takeback.repair.diagnosis import Mode, load_templates
from takeback.repair.loop import Judge, Repair, Settings, make_judge
from takeback.repair.models import PAPER, Account, Sampling
from takeback.repair.prompts import ALL_SHOWN, ShownParts, diagnosis_version, load_prompt_set
from takeback.state import Level, State
from takeback_lab.experiment import Asked
from takeback_lab.experiments.apart import APART, PASSED, Counting, CountingJudge, read_counting
from takeback_lab.experiments.draws import first_seed
from takeback_lab.judges import make_recovery_judge
from takeback_lab.prompt_sets import V4
from takeback_lab.protocol import rests_on
from takeback_lab.tasks import Task, get

MAX_CELL: Final = 2


@dataclass(frozen=True, slots=True)
class Terms:
    """What all repairs of a run have in common; `cannot_run`: how states count on which the mutation cannot run."""

    budget: int = 4
    rule: str = "split-wald"
    sampling: Sampling = PAPER
    prompts: str = V4
    shown: ShownParts = ALL_SHOWN
    cannot_run: Counting = APART

    def to_json(self) -> dict[str, Any]:
        """The terms as a unit carries them and a recording is frozen with them."""
        terms = {
            "budget": self.budget,
            "rule": self.rule,
            "sampling": self.sampling.to_json(),
            "prompts": self.prompts,
            **self.tell_counting(),
        }
        return terms if self.shown == ALL_SHOWN else {**terms, "shown": asdict(self.shown)}

    def tell_counting(self) -> dict[str, str]:
        """How states count on which the mutation cannot run, where it is not as in the first recordings."""
        return {} if self.cannot_run == PASSED else {"cannot_run": self.cannot_run}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], prompts: str = V4) -> Terms:
        """The terms that `to_json` wrote; `prompts` are those of a recording that does not name them."""
        rule = raw.get("rule", "split-wald")
        shown = ShownParts(**raw["shown"]) if "shown" in raw else ALL_SHOWN
        sampling, counting = Sampling(**raw["sampling"]), read_counting(raw.get("cannot_run", PASSED))
        return cls(int(raw["budget"]), rule, sampling, raw.get("prompts", prompts), shown, counting)

    def prompts_digest(self) -> list[Any]:
        """What a lock freezes of the prompts: templates, schemas, the words of the diagnosis, what is shown."""
        words = diagnosis_version(self.prompts)
        templates = sha256(write_pretty([words, sorted(load_templates(words).items())], indent=None))
        found: list[Any] = [load_prompt_set(self.prompts).digest(), templates]
        return found if self.shown == ALL_SHOWN else [*found, asdict(self.shown)]

    def grounds(self, who: str) -> dict[str, Any]:
        """What a lock holds beside the plan: sources, weights, runtime; earlier prompts were locked without."""
        return rests_on(who) if self.prompts == V4 else {}


TERMS: Final = Terms()
"""The paper's, with prompts that show the mutation and the rejected attempt."""
CLOSED: Final = Terms(shown=ShownParts(attempt=False))
"""The factorial's and the holdout's: the paper's fields, and not the attempt they speak of."""


def read_cell(name: str) -> tuple[Mode, Level]:
    """The feedback mode and language of a cell: its name is the one followed by the other, as in `adaptiveL1`."""
    try:
        return Mode(name[:-MAX_CELL]), Level(name[-MAX_CELL:])
    except ValueError:
        expected = f"a feedback mode ({', '.join(Mode)}) followed by L0 or L1"
        raise InputError("cell", found=name, expected=expected) from None


def repair_unit(task: Task, candidate: Any, mode: Mode, level: Level, terms: Terms, **more: Any) -> dict[str, Any]:
    """A unit: repair this candidate for this task in this mode and language."""
    plain = {"task": task.id, "candidate": candidate, "mode": mode.value, "language": level.value}
    return {**plain, "terms": terms.to_json(), **more}


def run_repair(unit: Mapping[str, Any], asked: Asked, *, any_mutation: bool) -> dict[str, Any]:
    """Do the repair; with `any_mutation` the language bounds witness and recovery only, as in the factorial."""
    task = get(unit["task"], unit.get("edition", ""))
    level, terms = Level(unit["language"]), Terms.from_json(unit["terms"])
    nominal = State.read(task.state, task.id)
    judged = make_recovery_judge if any_mutation else make_judge
    counting = CountingJudge(judged(terms.rule, level, nominal), terms.cannot_run)
    found = repaired(unit, asked, task, counting.judge, nominal, any_mutation=any_mutation)
    return outcome_of(found, counting)


def repaired(
    unit: Mapping[str, Any],
    asked: Asked,
    task: Task,
    judge: Judge,
    nominal: State,
    *,
    any_mutation: bool = False,
    isolated: bool = False,
    dev: str = "Q10",
) -> Repair:
    """The repair that a unit describes, by whoever is asked."""
    terms = Terms.from_json(unit["terms"])
    settings = Settings(
        mode=Mode(unit["mode"]),
        budget=terms.budget,
        level=Level(unit["language"]),
        seed=first_seed(task),
        sampling=terms.sampling,
        prompts=terms.prompts,
        any_mutation=any_mutation,
        isolated=isolated,
        dev=dev,
        shown=terms.shown,
    )
    return asked.method(build_attempt(unit["candidate"]), judge, settings, nominal)


def outcome_of(found: Repair, counting: CountingJudge) -> dict[str, Any]:
    """What a repair came to: the turn it was admitted at, what each turn came to, its cost, what it ended with."""
    last = found.turns[-1].attempt.candidate if found.turns else found.admitted
    return {
        "turn": max(1, len(found.turns)) if found.admitted is not None else None,
        "turns": [{"outcome": turn.outcome, "counts": counting.count(turn.verdict)} for turn in found.turns],
        "recovery": [[op.kind.name, op.target] for op in last.recovery] if last is not None else None,
        "candidate": found.admitted.to_json() if found.admitted is not None else None,
        "calls": found.account.calls,
        "prompt_tokens": found.account.prompt_tokens,
        "tokens": found.account.completion_tokens,
        "latency_s": found.account.latency_s,
    }


def spent(done: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What all units cost together."""
    total = Account.of(
        Account(one["calls"], one["prompt_tokens"], one["tokens"], one["latency_s"]) for one in done.values()
    )
    return dict(total.to_json())
