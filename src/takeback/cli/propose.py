"""`takeback propose --task ID`: ask a model for a candidate, judge it, repair it, or search jointly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from takeback.canonical import compact
from takeback.cli.completing import RULES, one_of
from takeback.cli.inputs import LanguageOption, read_level
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.repair import show_repair
from takeback.cli.sampling import SamplingOption, read_sampling
from takeback.cli.synthesizers import (
    BudgetOption,
    FeedbackOption,
    Opened,
    RecordOption,
    ThreadsOption,
    opened,
    plain_replay,
    read_mode,
    read_rule,
)
from takeback.errors import InputError
from takeback.state import Level, State
from takeback.synthesize.joint import Joint, joint
from takeback.synthesize.judging import judge_for
from takeback.synthesize.loop import Repair, Settings
from takeback.synthesize.portfolio import repair_with_portfolio
from takeback.synthesize.prompting import FIRST as FIRST_PROMPTS
from takeback.synthesize.prompting import VERSION
from takeback.synthesize.spec import parse_spec
from takeback.verify import RULE_NAMES

if TYPE_CHECKING:
    from takeback.lab.tasks import Task

SEED_STEP = 100_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("propose")(propose)


def propose(
    task_id: str = typer.Option(..., "--task", metavar="ID", help="A task of the lab, such as nat_mw_001."),
    synthesizer: str = typer.Option(
        "replay", "--synthesizer", metavar="NAME", help="The model: openai:MODEL, local or replay[:DIR]."
    ),
    proposals: int = typer.Option(
        1, "--joint", min=1, max=64, metavar="N", help="How many proposals to choose the best from."
    ),
    feedback: str = FeedbackOption,
    budget: int = BudgetOption,
    language: str | None = LanguageOption,
    rule: str = typer.Option(
        "split-wald",
        "--rule",
        metavar="NAME",
        help=f"Who judges: {', '.join(RULE_NAMES)}.",
        autocompletion=one_of(RULES),
    ),
    oracle: bool = typer.Option(True, "--oracle/--no-oracle", help="Mend with the oracle before asking again."),
    sampling: str = SamplingOption,
    record: Path | None = RecordOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Ask a model to carry out a task, and mend what cannot be taken back.

    Of several proposals, the best that can be taken back is chosen. Plain `replay` answers in L1 and with the first
    prompts, as it was recorded.

    Example: `takeback propose --task nat_cfg_001 --synthesizer replay`
    """
    from takeback.lab.experiments.draws import first_seed  # noqa: PLC0415 - the command line starts without the lab
    from takeback.lab.tasks import get  # noqa: PLC0415 - likewise

    task = get(task_id)
    shipped = plain_replay(parse_spec(synthesizer))
    settings = Settings(
        mode=read_mode(feedback),
        budget=budget,
        level=Level.L1 if shipped and language is None else read_level(language),
        seed=first_seed(task),
        sampling=read_sampling(sampling),
        prompts=FIRST_PROMPTS if shipped else VERSION,
    )
    read_rule(rule)
    with opened(synthesizer, record, threads) as found:
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
    from takeback.lab.experiments.turn0 import FIRST, improvement, proposal_request  # noqa: PLC0415 - likewise

    model = found.model
    if model is None:
        raise InputError("--synthesizer", found=str(found.spec), expected="a model")
    nominal = State.read(task.state, task.id)
    judge = judge_for(rule, settings.level, nominal)
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
        out.print(f"  {compact(proposal.attempt.raw)}")
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
