"""`takeback oracle` and `repair`: a witness, a recovery and a contract for a locked mutation."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.canonical import write_compact
from takeback.cli.completion import RULES, offer_words
from takeback.cli.display import show_verdict
from takeback.cli.inputs import (
    CandidateFile,
    LanguageOption,
    StateOption,
    name_input,
    read_json,
    read_level,
    read_state,
)
from takeback.cli.output import JsonFlag, emit, err, finish, out
from takeback.cli.secrets import RevealFlag, mask_value
from takeback.cli.synthesizers import (
    BudgetOption,
    FeedbackOption,
    RecordOption,
    SamplingOption,
    SynthesizerOption,
    ThreadsOption,
    open_synthesizer,
    read_mode,
    read_rule,
    read_sampling,
)
from takeback.errors import InputError
from takeback.language import NoInverse, read_candidate
from takeback.repair import oracle as find_recovery
from takeback.repair.attempt import build_attempt
from takeback.repair.loop import Repair, Settings, Turn, make_judge
from takeback.verify import RULE_NAMES


def _register_oracle(app: typer.Typer) -> None:
    """Add the command."""
    app.command("oracle")(oracle)


def oracle(
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    state: Path | None = StateOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Write a recovery for a candidate's mutation. An existing recovery is ignored.

    Prints the whole candidate as JSON. Exit code 1 if the language has no recovery for it.

    Example: `takeback oracle examples/candidates/missing-capture/candidate.json`
    """
    del reveal  # read by its callback
    given = read_candidate(read_json(file), name_input(file))
    built = find_recovery(given.mutation, read_level(language), read_state(state))
    if isinstance(built, NoInverse):
        reasons = [str(lacking) for lacking in built.lacking]
        if as_json:
            emit({"candidate": None, "reasons": reasons})
        for reason in reasons:
            err.print(f"no recovery in {built.level.value}: {reason}")
        finish(yes=False)
    emit(built.to_json(), exact=True)


def _register_repair(app: typer.Typer) -> None:
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
        autocompletion=offer_words(RULES),
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

    Each turn shows what was wrong, the question, the reply, and the verdict.

    Example: `takeback repair examples/candidates/unconditional-delete/candidate.json --synthesizer local`
    """
    del reveal  # read by its callback
    raw = read_json(file)
    if not isinstance(raw, dict):
        raise InputError(name_input(file), found=raw, expected="a candidate as a JSON object")
    start = build_attempt(raw)
    if start.mutation is None and start.rejected is not None:
        raise InputError(name_input(file), found=start.rejected.detail, expected="a mutation that can be read")
    level, nominal = read_level(language), read_state(state)
    settings = Settings(
        mode=read_mode(feedback), budget=budget, level=level, seed=seed, sampling=read_sampling(sampling)
    )
    judge = make_judge(read_rule(rule), level, nominal)
    with open_synthesizer(synthesizer, record, threads) as opened:
        done = opened.method(start, judge, settings, nominal)
    if as_json:
        emit(done.to_json())
    else:
        show_repair(done, name_input(file))
    finish(yes=done.admitted is not None)


def show_repair(done: Repair, name: str) -> None:
    """Print a repair turn by turn, then its verdict and the admitted candidate."""
    for turn in done.turns:
        show_turn(turn)
    for out_of in done.unsayable:
        out.print(f"  the language cannot say {out_of}")
    show_verdict(done.verdict, f"{name} ({done.source})")
    if done.admitted is not None:
        out.print(write_compact(mask_value(done.admitted.to_json())), whole=True)
    if done.account.calls:
        spent = done.account
        out.print(
            f"{spent.calls} calls, {spent.prompt_tokens} + {spent.completion_tokens} tokens, {spent.latency_s:.1f} s"
        )


def show_turn(turn: Turn) -> None:
    """Print one turn."""
    out.print(f"turn {turn.number}", style="bold")
    out.print("  what was wrong:")
    for line in (turn.told.text or "(this mode gives no feedback)").splitlines():
        out.print(f"    {line}")
    out.print(f"  asked: {turn.request.model}, request {turn.request.digest()[:16]}")
    request = turn.told.text
    for line in (
        turn.get_request_text().replace(request, "(as above)") if request else turn.get_request_text()
    ).splitlines():
        out.print(f"    {line}")
    out.print(f"  came back: {turn.reply.text.strip() or '(nothing)'}")
    out.print(f"  verdict: {turn.outcome}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for add in (_register_oracle, _register_repair):
        add(app)
