"""Tasks of the lab for the product's `propose` and `evolve`: what the entry point `takeback.tasks` names.

`search_task` is `takeback propose --task ID`, `proposer_for_task` who proposes for `takeback evolve DIR --task ID`,
`recorded_runs` what plain `replay` means.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from takeback.canonical import write_compact
from takeback.cli.inputs import read_level
from takeback.cli.output import emit, finish, out
from takeback.cli.repair import Opened, is_plain_replay, open_synthesizer, read_rule, show_repair
from takeback.cli.secrets import mask_value
from takeback.errors import InputError
from takeback.evolve import Propose
from takeback.repair.attempt import Attempt, build_attempt, read_proposal
from takeback.repair.loop import Repair, Settings, make_judge, repair_with_portfolio
from takeback.repair.models import ChatModel, Sampling
from takeback.repair.prompts import VERSION
from takeback.repair.synthesizer import parse_spec
from takeback.state import Level, State
from takeback_lab.experiments.draws import first_seed
from takeback_lab.experiments.recorded import first_runs
from takeback_lab.experiments.turn0 import FIRST, improvement, proposal_request
from takeback_lab.joint import Joint, joint
from takeback_lab.prompt_sets import FIRST as FIRST_PROMPTS
from takeback_lab.tasks import Task, get

SEED_STEP = 100_000


def recorded_runs() -> tuple[Path, ...]:
    """Return the recordings that come with the lab."""
    return first_runs()


def proposer_for_task(name: str, model: ChatModel | None, sampling: Sampling) -> tuple[Propose, str]:
    """Return who proposes the change for a task, and a line for the log; without a model the task's reference."""
    task = get(name)

    def propose(_: object) -> Attempt:
        if model is None:
            return build_attempt({"mutation": list(task.reference)})
        return read_proposal(model.complete(proposal_request(task, model.name, sampling, FIRST)))

    return propose, task.instruction


def search_task(
    name: str,
    synthesizer: str,
    settings: Settings,
    *,
    proposals: int,
    language: str | None,
    rule: str,
    record: Path | None,
    threads: int,
    oracle: bool,
    as_json: bool,
) -> None:
    """Search the best proposal for a task that can be taken back, and print it."""
    task = get(name)
    shipped = is_plain_replay(parse_spec(synthesizer))
    settings = replace(
        settings,
        level=Level.L1 if shipped and language is None else read_level(language),
        seed=first_seed(task),
        prompts=FIRST_PROMPTS if shipped else VERSION,
    )
    read_rule(rule)
    with open_synthesizer(synthesizer, record, threads) as found:
        if found.model is None:
            raise InputError(
                "--synthesizer", found=synthesizer, expected="a model: openai:MODEL, local or replay[:DIR]"
            )
        search = run_joint(task, found, proposals, settings, rule, oracle=oracle)
    if as_json:
        emit({"task": task.id, **search.to_json()})
    else:
        _show(task, search)
    finish(yes=search.chosen is not None)


def run_joint(task: Task, found: Opened, count: int, settings: Settings, rule: str, *, oracle: bool) -> Joint:
    """Search jointly over `count` proposals for a task; proposal 0 is that of the natural bank."""
    model = found.model
    if model is None:
        raise InputError("--synthesizer", found=str(found.spec), expected="a model")
    nominal = State.read(task.state, task.id)
    judge = make_judge(rule, settings.level, nominal)
    first = proposal_request(task, model.name, settings.sampling, FIRST)

    def mend(attempt: Any) -> Repair:
        if oracle:
            return repair_with_portfolio(attempt, model, judge, settings, nominal)
        return found.method(attempt, judge, settings, nominal)

    return joint(
        lambda number: replace(first, seed=first.seed + SEED_STEP * number),
        count,
        model,
        judge,
        lambda mutation: improvement(task, mutation),
        mend,
    )


def _show(task: Task, search: Joint) -> None:
    out.print(f"{task.id}: {task.instruction}")
    for proposal in search.proposals:
        word = "can be taken back" if proposal.candidate is not None else "cannot be taken back"
        out.print(f"proposal {proposal.number}: gain {proposal.gain}, {word}", style="bold")
        out.print(f"  {write_compact(mask_value(proposal.attempt.raw))}")
        if proposal.attempt.rejected is not None:
            out.print(f"  {proposal.attempt.rejected.shortfall}: {proposal.attempt.rejected.detail}")
        if proposal.mended is not None:
            show_repair(proposal.mended, f"proposal {proposal.number}")
    if search.chosen is None:
        out.print("nothing that improves the harness can be taken back")
        return
    out.print(f"chosen: proposal {search.chosen.number}, gain {search.chosen.gain}")
    best = search.unconstrained
    if best is not None and best.number != search.chosen.number:
        out.print(f"without asking for recoverability: proposal {best.number}, gain {best.gain}")
