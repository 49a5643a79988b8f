"""`takeback propose DIR TEXT`: ask a model for a candidate, judge it, repair it; with `--task`, search jointly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from takeback.canonical import compact
from takeback.cli.completing import RULES, one_of
from takeback.cli.free_text import (
    CheckOption,
    CheckTimeoutOption,
    ContextOption,
    TextArgument,
    Wish,
    considered,
    demand_one,
    show_considered,
    show_plan,
    why_not,
)
from takeback.cli.inputs import LanguageOption, read_level
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.repair import show_repair
from takeback.cli.revealing import RevealFlag, mask_value
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
from takeback.cli.workspaces import JournalOption
from takeback.errors import InputError
from takeback.harness import Refused
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
    directory: Path | None = typer.Argument(None, metavar="DIR", help="The workspace.", show_default=False),
    text: str | None = TextArgument,
    task_id: str | None = typer.Option(
        None, "--task", metavar="ID", help="A task of the lab instead, such as nat_mw_001."
    ),
    synthesizer: str = typer.Option(
        "replay", "--synthesizer", metavar="NAME", help="The model: openai:MODEL, local or replay[:DIR]."
    ),
    check: str = CheckOption,
    check_timeout: float = CheckTimeoutOption,
    context: int | None = ContextOption,
    proposals: int = typer.Option(
        1, "--joint", min=1, max=64, metavar="N", help="Of a task: how many proposals to choose the best from."
    ),
    feedback: str = FeedbackOption,
    budget: int = BudgetOption,
    language: str | None = LanguageOption,
    rule: str | None = typer.Option(
        None,
        "--rule",
        metavar="NAME",
        help=f"The rule that judges: {', '.join(RULE_NAMES)}.",
        show_default="proof; split-wald for a task",
        autocompletion=one_of(RULES),
    ),
    oracle: bool = typer.Option(True, "--oracle/--no-oracle", help="Mend with the oracle before asking again."),
    sampling: str = SamplingOption,
    record: Path | None = RecordOption,
    threads: int = ThreadsOption,
    journal: str | None = JournalOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Ask a model for a change, and mend what cannot be taken back. Nothing is changed.

    For a TEXT the model sees the harness as it is, with secrets masked; shown are its candidate, the verdict, the
    check and what it would change. For a task of the lab, of several proposals the best that can be taken back is
    chosen; plain `replay` answers in L1 and with the first prompts, as it was recorded.

    Example: `takeback propose . "ask before deleting files" --synthesizer openai:MODEL`,
    `takeback propose --task nat_cfg_001 --synthesizer replay`
    """
    del reveal  # read by its callback
    demand_one(directory, text, task_id, "propose")
    settings = Settings(mode=read_mode(feedback), budget=budget, sampling=read_sampling(sampling))
    if text is not None and directory is not None:
        _demand_text_options(proposals, language, rule)
        wish = Wish(
            directory, text, synthesizer, settings, record, threads, journal, check, check_timeout, context, oracle
        )
        _propose_text(wish, as_json=as_json)
    else:
        _demand_task_options(directory, check)
        levelled = TaskSearch(task_id or "", synthesizer, proposals, language, rule or "split-wald", record, threads)
        _propose_task(levelled, settings, oracle=oracle, as_json=as_json)


def _demand_text_options(proposals: int, language: str | None, rule: str | None) -> None:
    """Refuse what is for tasks of the lab only."""
    given = {"--joint": proposals != 1, "--language": language is not None, "--rule": rule not in {None, "proof"}}
    for name in (name for name, found in given.items() if found):
        raise InputError(name, found="a text", expected="a task of the lab: --task ID")


def _demand_task_options(directory: Path | None, check: str) -> None:
    """Refuse what is for a harness only."""
    for name, found in (("DIR", directory is not None), ("--check", bool(check))):
        if found:
            raise InputError(name, found="--task", expected="what to change in DIR, in plain words")


def _propose_text(wish: Wish, *, as_json: bool) -> None:
    with considered(wish, as_json=as_json) as found:
        good = found.done.good is not None and not isinstance(found.plan, Refused)
        if as_json:
            emit(found.to_json())
        else:
            show_considered(found)
            show_plan(found)
            out.print("it may be made; nothing was changed" if good else why_not(found.done), style="bold")
    finish(yes=good)


class TaskSearch(NamedTuple):
    """A task of the lab, and how it is asked for."""

    task: str
    synthesizer: str
    proposals: int
    language: str | None
    rule: str
    record: Path | None
    threads: int


def _propose_task(asked: TaskSearch, settings: Settings, *, oracle: bool, as_json: bool) -> None:
    from takeback.lab.experiments.draws import first_seed  # noqa: PLC0415 - the command line starts without the lab
    from takeback.lab.tasks import get  # noqa: PLC0415 - likewise

    task = get(asked.task)
    shipped = plain_replay(parse_spec(asked.synthesizer))
    settings = replace(
        settings,
        level=Level.L1 if shipped and asked.language is None else read_level(asked.language),
        seed=first_seed(task),
        prompts=FIRST_PROMPTS if shipped else VERSION,
    )
    read_rule(asked.rule)
    with opened(asked.synthesizer, asked.record, asked.threads) as found:
        if found.model is None:
            raise InputError(
                "--synthesizer", found=asked.synthesizer, expected="a model: openai:MODEL, local or replay[:DIR]"
            )
        search = run_joint(task, found, asked.proposals, settings, asked.rule, oracle=oracle)
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
        out.print(f"  {compact(mask_value(proposal.attempt.raw))}")
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
