"""`takeback evolve DIR TEXT`: let an agent change its harness, if that can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from takeback.cli.context import JournalOption, NoteOption, open_harness
from takeback.cli.display import show_verdict
from takeback.cli.free_text import (
    LOOSENS,
    CheckOption,
    CheckTimeoutOption,
    Considered,
    ContextOption,
    TextArgument,
    Wish,
    consider_wish,
    make_copy_check,
    require_text_or_task,
    show_considered,
    why_not_made,
)
from takeback.cli.inputs import read_json
from takeback.cli.outcomes import UNCHANGED, show_outcome
from takeback.cli.output import JsonFlag, commit_exit_code, emit, finish, out
from takeback.cli.repair import show_repair
from takeback.cli.secrets import RevealFlag
from takeback.cli.synthesizers import (
    BudgetOption,
    FeedbackOption,
    Opened,
    RecordOption,
    SamplingOption,
    SynthesizerOption,
    ThreadsOption,
    read_mode,
    read_sampling,
)
from takeback.cli.synthesizers import open_synthesizer as opened_synthesizer
from takeback.errors import InputError
from takeback.evolve import Evolution, Propose, carry_out
from takeback.evolve import evolve as run
from takeback.harness import Harness
from takeback.plugins import load_tasks
from takeback.present.secrets import mask_text_secrets
from takeback.repair.attempt import build_attempt
from takeback.repair.loop import Settings
from takeback.repair.models import PAPER, ChatModel, Sampling


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evolve")(evolve)


def evolve(
    directory: Path = typer.Argument(..., metavar="DIR", help="The workspace."),
    text: str | None = TextArgument,
    task: str | None = typer.Option(
        None, "--task", metavar="FILE|ID", help="A candidate or mutation; with takeback-lab, a task's id."
    ),
    synthesizer: str = SynthesizerOption,
    check: str = CheckOption,
    check_timeout: float = CheckTimeoutOption,
    loosen: bool = typer.Option(
        False, "--loosen", help="With a TEXT: make the change even if it loosens permissions or removes a guard."
    ),
    context: int | None = ContextOption,
    feedback: str = FeedbackOption,
    budget: int = BudgetOption,
    sampling: str = SamplingOption,
    record: Path | None = RecordOption,
    threads: int = ThreadsOption,
    journal: str | None = JournalOption,
    note: str = NoteOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Let an agent change its harness if the change can be undone.

    One change per call: propose, verify, diagnose, repair, check, admit, record, apply. With a TEXT, a model proposes
    the change; it sees the harness with secrets masked. If its recovery falls short, the oracle or the model repairs
    it.

    Example: `takeback evolve . "ask before deleting files" --synthesizer openai:MODEL --check ./health.sh`,
    `takeback evolve agent --task change.json --synthesizer oracle`
    """
    del reveal  # read by its callback
    require_text_or_task(directory, text, task, "evolve")
    settings = Settings(mode=read_mode(feedback), budget=budget, sampling=read_sampling(sampling))
    if text is not None:
        wish = Wish(directory, text, synthesizer, settings, record, threads, journal, check, check_timeout, context)
        _evolve_text(wish, note, loosen=loosen, as_json=as_json)
        return
    with opened_synthesizer(synthesizer, record, threads) as opened, open_harness(directory, journal) as harness:
        propose, title = choose_proposer(task or "", opened, settings.sampling)
        checking = make_copy_check(harness, directory, journal, check, check_timeout)
        done = run(harness, propose, opened.method, settings=settings, check=checking, note=note or title)
        if done.applied:
            commit_exit_code(0)
        if as_json:
            emit(done.to_json())
        else:
            _show(done, task or "", harness)
    finish(yes=done.applied or done.unchanged)


def _evolve_text(wish: Wish, note: str, *, loosen: bool, as_json: bool) -> None:
    with consider_wish(wish, as_json=as_json) as considered:
        done = considered.done
        if not considered.looser or loosen:
            note = note or mask_text_secrets(considered.asking.text)
            done = carry_out(considered.harness, done, head=considered.head, note=note, by=considered.name)
        if done.applied:
            commit_exit_code(0)
        if as_json:
            asked = done.good is not None and done.result is None and not done.unchanged
            stopped = {"refused": LOOSENS} if asked else {}
            emit({**considered.to_json(), **done.to_json(), **stopped})
        else:
            show_considered(considered)
            _conclude_text(considered, done)
    finish(yes=done.applied or done.unchanged)


def _conclude_text(considered: Considered, done: Evolution) -> None:
    if done.unchanged:
        out.print(UNCHANGED)
    elif done.result is not None:
        show_outcome(done.result, considered.harness, name="the change")
    elif done.good is not None:
        out.print(LOOSENS, style="yellow")
        out.print("  next, if you want that: the same command with --loosen", style="cyan")
    else:
        out.print(why_not_made(done), style="yellow")


def choose_proposer(task: str, opened: Opened, sampling: Sampling = PAPER) -> tuple[Propose, str]:
    """Return who proposes the change, and a line for the log: a file as it is, or for a task of the lab the
    model behind the synthesizer, or without one the task's reference.
    """
    path = Path(task)
    if path.suffix == ".json" or path.exists():
        raw = read_json(path)
        if not isinstance(raw, dict):
            raise InputError(task, found=raw, expected="a candidate, or a mapping with a mutation")
        attempt = build_attempt(raw)
        return lambda _: attempt, path.name
    proposer_for_task: Callable[[str, ChatModel | None, Sampling], tuple[Propose, str]] = (
        load_tasks().proposer_for_task
    )
    return proposer_for_task(task, opened.model, sampling)


def _show(done: Evolution, name: str, harness: Harness) -> None:
    if done.proposal.rejected is not None:
        out.print(f"proposed: {done.proposal.rejected.shortfall}: {done.proposal.rejected.detail}")
    if done.verdict is not None:
        show_verdict(done.verdict, f"{name} (as proposed)")
    if done.repair is not None:
        show_repair(done.repair, name)
    if done.check is not None:
        out.print(f"check {done.check.words}", style="green" if done.check.passed else "red")
    if done.unchanged:
        out.print(UNCHANGED)
    elif done.result is not None:
        show_outcome(done.result, harness, name=name)
    else:
        out.print("nothing was changed")
