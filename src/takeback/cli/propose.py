"""`takeback propose DIR TEXT`: ask a model for a candidate, judge it, repair it; with `--task`, search jointly."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.completion import RULES, offer_words
from takeback.cli.context import JournalOption
from takeback.cli.free_text import (
    CheckOption,
    CheckTimeoutOption,
    ContextOption,
    TextArgument,
    Wish,
    consider_wish,
    require_text_or_task,
    show_considered,
    show_plan,
    why_not_made,
)
from takeback.cli.inputs import LanguageOption
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.secrets import RevealFlag
from takeback.cli.synthesizers import (
    BudgetOption,
    FeedbackOption,
    RecordOption,
    SamplingOption,
    ThreadsOption,
    read_mode,
    read_sampling,
)
from takeback.errors import InputError
from takeback.harness import Refused
from takeback.plugins import load_tasks
from takeback.repair.loop import Settings
from takeback.verify import RULE_NAMES

SEED_STEP = 100_000


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("propose")(propose)


def propose(
    directory: Path | None = typer.Argument(None, metavar="DIR", help="The workspace.", show_default=False),
    text: str | None = TextArgument,
    task_id: str | None = typer.Option(
        None, "--task", metavar="ID", help="With takeback-lab: a task of the lab instead, such as nat_mw_001."
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
        autocompletion=offer_words(RULES),
    ),
    oracle: bool = typer.Option(True, "--oracle/--no-oracle", help="Repair with the oracle before asking again."),
    sampling: str = SamplingOption,
    record: Path | None = RecordOption,
    threads: int = ThreadsOption,
    journal: str | None = JournalOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Ask a model for a change, and repair it if it cannot be undone. Nothing is changed.

    The model sees the harness with secrets masked. The output shows its candidate, the verdict, the check and the
    changes it would make. For a task of the lab, the best of several proposals that can be undone is chosen; plain
    `replay` answers in L1 and with the first prompts, as it was recorded.

    Example: `takeback propose . "ask before deleting files" --synthesizer openai:MODEL`,
    `takeback propose --task nat_cfg_001 --synthesizer replay`
    """
    del reveal  # read by its callback
    require_text_or_task(directory, text, task_id, "propose")
    settings = Settings(mode=read_mode(feedback), budget=budget, sampling=read_sampling(sampling))
    if text is not None and directory is not None:
        _refuse_task_options(proposals, language, rule)
        wish = Wish(
            directory, text, synthesizer, settings, record, threads, journal, check, check_timeout, context, oracle
        )
        _propose_text(wish, as_json=as_json)
    else:
        _refuse_harness_options(directory, check)
        search_task = load_tasks().search_task
        search_task(
            task_id or "",
            synthesizer,
            settings,
            proposals=proposals,
            language=language,
            rule=rule or "split-wald",
            record=record,
            threads=threads,
            oracle=oracle,
            as_json=as_json,
        )


def _refuse_task_options(proposals: int, language: str | None, rule: str | None) -> None:
    given = {"--joint": proposals != 1, "--language": language is not None, "--rule": rule not in {None, "proof"}}
    for name in (name for name, is_given in given.items() if is_given):
        raise InputError(name, found="a text", expected="a task of the lab: --task ID")


def _refuse_harness_options(directory: Path | None, check: str) -> None:
    for name, is_given in (("DIR", directory is not None), ("--check", bool(check))):
        if is_given:
            raise InputError(name, found="--task", expected="what to change in DIR, in plain words")


def _propose_text(wish: Wish, *, as_json: bool) -> None:
    with consider_wish(wish, as_json=as_json) as considered:
        good = considered.done.good is not None and not isinstance(considered.plan, Refused)
        if as_json:
            emit(considered.to_json())
        else:
            show_considered(considered)
            show_plan(considered)
            out.print("it may be made; nothing was changed" if good else why_not_made(considered.done), style="bold")
    finish(yes=good)
