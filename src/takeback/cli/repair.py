"""`takeback oracle` and `repair`: a recovery for a locked mutation; the synthesizers that find one, by options."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from takeback.canonical import write_compact
from takeback.cli.completion import MODES, RULES, offer_words
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
from takeback.cli.options import RevealOptions, setting
from takeback.cli.output import answer, emit, err, finish, out
from takeback.cli.secrets import mask_value
from takeback.errors import InputError
from takeback.language import NoInverse, read_candidate
from takeback.plugins import load_tasks
from takeback.repair import oracle as find_recovery
from takeback.repair.attempt import build_attempt
from takeback.repair.diagnosis import Mode
from takeback.repair.loop import Repair, Settings, Turn, make_judge
from takeback.repair.models import ChatModel, RecordingModel
from takeback.repair.models.chat import Surroundings, cache_directory
from takeback.repair.synthesizer import Method, Spec, make_method, open_model, parse_spec, read_sampling
from takeback.verify import RULE_NAMES

RecordOption = setting("--record", "DIR", "Write every reply there, and resume from it.", None)
SYNTHESIZERS = "oracle, portfolio[:MODEL], replay[:DIR], openai:MODEL or local[:FILE.gguf]"
SynthesizerOption = setting("--synthesizer", "NAME", f"How to find a recovery: {SYNTHESIZERS}.", "portfolio")


@dataclass(frozen=True)
class RepairOptions(RevealOptions):
    """How often a synthesizer is asked for a repair, what it is told, and how a model's replies are sampled."""

    feedback: str = setting(
        "--feedback",
        "MODE",
        f"The feedback after a failed turn: {', '.join(Mode)}.",
        "D1",
        autocompletion=offer_words(MODES),
    )
    budget: int = setting("--budget", "N", "The most turns.", 4, min=1, max=64)
    sampling: str = setting(
        "--sampling",
        "NAME=VALUE,...",
        "temperature=0.2,top_p=0.95,max_tokens=2048 by default; also reasoning_effort. temperature=none omits it.",
    )
    record: Path | None = RecordOption
    threads: int = setting("--threads", "N", "Threads of the local model.", 1, min=1, max=256)

    def read_settings(self) -> Settings:
        """Return the settings of a repair."""
        return Settings(mode=_read_mode(self.feedback), budget=self.budget, sampling=read_sampling(self.sampling))

    def open(self, synthesizer: str) -> AbstractContextManager[Opened]:
        """Open the synthesizer with a name."""
        return open_synthesizer(synthesizer, self.record, self.threads)


def oracle(
    options: RevealOptions,
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    state: Path | None = StateOption,
) -> None:
    """Write a recovery for a candidate's mutation. An existing recovery is ignored.

    Prints the whole candidate as JSON. Exit code 1 if the language has no recovery for it.

    Example: `takeback oracle examples/candidates/missing-capture/candidate.json`
    """
    given = read_candidate(read_json(file), name_input(file))
    built = find_recovery(given.mutation, read_level(language), read_state(state))
    if isinstance(built, NoInverse):
        reasons = [str(lacking) for lacking in built.lacking]
        if options.as_json:
            emit({"candidate": None, "reasons": reasons})
        for reason in reasons:
            err.print(f"no recovery in {built.level.value}: {reason}")
        finish(yes=False)
    emit(built.to_json(), exact=True)


def repair(
    options: RepairOptions,
    file: Path = CandidateFile,
    synthesizer: str = SynthesizerOption,
    language: str | None = LanguageOption,
    rule: str = setting(
        "--rule",
        "NAME",
        f"The rule that judges: {', '.join(RULE_NAMES)}.",
        "proof",
        autocompletion=offer_words(RULES),
    ),
    state: Path | None = StateOption,
    seed: int = setting("--seed", "N", "One less than the seed of the first call.", 7000),
) -> None:
    """Repair a candidate's recovery, turn by turn. Its mutation is locked.

    Each turn shows what was wrong, the question, the reply, and the verdict.

    Example: `takeback repair examples/candidates/unconditional-delete/candidate.json --synthesizer local`
    """
    raw = read_json(file)
    if not isinstance(raw, dict):
        raise InputError(name_input(file), found=raw, expected="a candidate as a JSON object")
    start = build_attempt(raw)
    if start.mutation is None and start.rejected is not None:
        raise InputError(name_input(file), found=start.rejected.detail, expected="a mutation that can be read")
    level, nominal = read_level(language), read_state(state)
    settings = replace(options.read_settings(), level=level, seed=seed)
    judge = make_judge(read_rule(rule), level, nominal)
    with options.open(synthesizer) as opened:
        done = opened.method(start, judge, settings, nominal)
    answer(done.to_json())
    show_repair(done, name_input(file))
    finish(yes=done.admitted is not None)


def show_repair(done: Repair, name: str) -> None:
    """Print a repair turn by turn, then its verdict and the admitted candidate."""
    for turn in done.turns:
        _show_turn(turn)
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


def _show_turn(turn: Turn) -> None:
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


@dataclass(frozen=True, slots=True)
class Opened:
    """A synthesizer ready to use: its specification, the model behind it if any, and its method."""

    spec: Spec
    model: ChatModel | None
    method: Method

    @property
    def model_name(self) -> str:
        """Who answers, for a lock: the model, a portfolio with it, or a synthesizer that has none."""
        if self.model is None:
            return str(self.spec)
        return f"{self.spec.kind}:{self.model.name}" if self.spec.kind == "portfolio" else self.model.name


@contextmanager
def open_synthesizer(
    text: str, record: Path | None = None, threads: int = 1, replay: Path | None = None, slots: int = 1
) -> Iterator[Opened]:
    """Open the synthesizer that `text` names; `replay` is the recording that plain `replay` means.

    A local model answers `slots` requests at once.
    """
    spec = parse_spec(text)
    behind = spec if spec.is_model else spec.behind
    if behind is None:
        if record is not None:
            raise InputError("--record", found=str(spec), expected="a synthesizer that asks a model")
        yield Opened(spec, None, make_method(spec, None))
        return
    around = Surroundings(
        os.environ,
        Path.home(),
        cache_directory(os.environ, sys.platform, Path.home()),
        _list_recordings(behind) if replay is None else (replay,),
        threads,
        slots,
        err.print,
    )
    model = open_model(behind, around)
    with nullcontext(model) if record is None else RecordingModel(model, record) as kept:
        yield Opened(spec, kept, make_method(spec, kept))


def _list_recordings(spec: Spec) -> tuple[Path, ...]:
    return tuple(load_tasks().recorded_runs()) if is_plain_replay(spec) else ()


def is_plain_replay(spec: Spec) -> bool:
    """Return whether the recordings that come with Takeback are asked for."""
    return spec.kind == "replay" and not spec.argument


def read_rule(name: str) -> str:
    """Return the rule of admission called `name`."""
    if name not in RULE_NAMES:
        raise InputError("--rule", found=name, expected=f"one of {', '.join(RULE_NAMES)}")
    return name


def _read_mode(name: str) -> Mode:
    try:
        return Mode(name)
    except ValueError:
        raise InputError("--feedback", found=name, expected=f"one of {', '.join(Mode)}") from None
