"""`takeback repair FILE`: find a witness, a recovery and a contract for a locked mutation."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.canonical import compact
from takeback.cli.completing import RULES, one_of
from takeback.cli.inputs import CandidateFile, LanguageOption, StateOption, name_of, read_json, read_level, read_state
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.revealing import RevealFlag, mask_value
from takeback.cli.sampling import SamplingOption, read_sampling
from takeback.cli.synthesizers import (
    BudgetOption,
    FeedbackOption,
    RecordOption,
    SynthesizerOption,
    ThreadsOption,
    opened,
    read_mode,
    read_rule,
)
from takeback.cli.verdicts import show_verdict
from takeback.errors import InputError
from takeback.synthesize.attempt import attempt_from
from takeback.synthesize.judging import judge_for
from takeback.synthesize.loop import Repair, Settings, Turn
from takeback.verify import RULE_NAMES


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("repair")(repair)


def repair(
    file: Path = CandidateFile,
    synthesizer: str = SynthesizerOption,
    feedback: str = FeedbackOption,
    budget: int = BudgetOption,
    language: str | None = LanguageOption,
    rule: str = typer.Option(
        "proof",
        "--rule",
        metavar="NAME",
        help=f"The rule that judges: {', '.join(RULE_NAMES)}.",
        autocompletion=one_of(RULES),
    ),
    state: Path | None = StateOption,
    seed: int = typer.Option(7000, "--seed", metavar="N", help="One less than the seed of the first call."),
    sampling: str = SamplingOption,
    record: Path | None = RecordOption,
    threads: int = ThreadsOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Repair a candidate's recovery, turn by turn. Its mutation is locked.

    Each turn shows what was wrong, what was asked, what came back, and the verdict.

    Example: `takeback repair examples/candidates/unconditional-delete/candidate.json --synthesizer local`
    """
    del reveal  # read by its callback
    raw = read_json(file)
    if not isinstance(raw, dict):
        raise InputError(name_of(file), found=raw, expected="a candidate as a JSON object")
    start = attempt_from(raw)
    if start.mutation is None and start.rejected is not None:
        raise InputError(name_of(file), found=start.rejected.detail, expected="a mutation that can be read")
    level, nominal = read_level(language), read_state(state)
    settings = Settings(
        mode=read_mode(feedback), budget=budget, level=level, seed=seed, sampling=read_sampling(sampling)
    )
    judge = judge_for(read_rule(rule), level, nominal)
    with opened(synthesizer, record, threads) as found:
        done = found.method(start, judge, settings, nominal)
    if as_json:
        emit(done.to_json())
    else:
        show_repair(done, name_of(file))
    finish(yes=done.admitted is not None)


def show_repair(done: Repair, name: str) -> None:
    """Print a repair turn by turn, then its verdict and the admitted candidate."""
    for turn in done.turns:
        show_turn(turn)
    for out_of in done.unsayable:
        out.print(f"  the language cannot say {out_of}")
    show_verdict(done.verdict, f"{name} ({done.source})")
    if done.admitted is not None:
        out.print(compact(mask_value(done.admitted.to_json())))
    if done.account.calls:
        spent = done.account
        out.print(
            f"{spent.calls} calls, {spent.prompt_tokens} + {spent.completion_tokens} tokens, {spent.latency_s:.1f} s"
        )


def show_turn(turn: Turn) -> None:
    """Print one turn."""
    out.print(f"turn {turn.number}", style="bold")
    out.print("  what was wrong:")
    for line in (turn.told.text or "(nothing is told in this mode)").splitlines():
        out.print(f"    {line}")
    out.print(f"  asked: {turn.request.model}, request {turn.request.digest()[:16]}")
    told = turn.told.text
    for line in (turn.asked().replace(told, "(as above)") if told else turn.asked()).splitlines():
        out.print(f"    {line}")
    out.print(f"  came back: {turn.reply.text.strip() or '(nothing)'}")
    out.print(f"  verdict: {turn.outcome}")
