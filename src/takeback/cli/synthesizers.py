"""Synthesizers: the options that name one, opening it, recording it, and how a model's replies are sampled."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import typer

from takeback.cli.completion import MODES, offer_words
from takeback.cli.output import err
from takeback.errors import InputError
from takeback.plugins import load_tasks
from takeback.repair.diagnosis import Mode
from takeback.repair.models import ChatModel, RecordingModel
from takeback.repair.models.providers import Surroundings, cache_directory
from takeback.repair.synthesizer import Method, Spec, make_method, open_model, parse_spec, read_sampling
from takeback.verify import RULE_NAMES

SamplingOption = typer.Option(
    "",
    "--sampling",
    metavar="NAME=VALUE,...",
    help="temperature=0.2,top_p=0.95,max_tokens=2048 by default; also reasoning_effort. temperature=none omits it.",
)

__all__ = ["SamplingOption", "read_sampling"]


SYNTHESIZERS = "oracle, portfolio[:MODEL], replay[:DIR], openai:MODEL or local[:FILE.gguf]"
_WHO = f"How to find a recovery: {SYNTHESIZERS}."
SynthesizerOption = typer.Option("portfolio", "--synthesizer", metavar="NAME", help=_WHO)
FeedbackOption = typer.Option(
    "D1",
    "--feedback",
    metavar="MODE",
    help=f"The feedback after a failed turn: {', '.join(Mode)}.",
    autocompletion=offer_words(MODES),
)
BudgetOption = typer.Option(4, "--budget", min=1, max=64, metavar="N", help="The most turns.")
RecordOption = typer.Option(None, "--record", metavar="DIR", help="Write every reply there, and resume from it.")
ThreadsOption = typer.Option(1, "--threads", min=1, max=256, metavar="N", help="Threads of the local model.")


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
        _list_shipped_recordings(behind) if replay is None else (replay,),
        threads,
        slots,
        err.print,
    )
    model = open_model(behind, around)
    with nullcontext(model) if record is None else RecordingModel(model, record) as kept:
        yield Opened(spec, kept, make_method(spec, kept))


def _list_shipped_recordings(spec: Spec) -> tuple[Path, ...]:
    if not is_plain_replay(spec):
        return ()
    recorded: tuple[Path, ...] = load_tasks().recorded_runs()
    return recorded


def is_plain_replay(spec: Spec) -> bool:
    """Return whether the recordings that come with Takeback are asked for."""
    return spec.kind == "replay" and not spec.argument


def read_rule(name: str) -> str:
    """Return the rule of admission called `name`."""
    if name not in RULE_NAMES:
        raise InputError("--rule", found=name, expected=f"one of {', '.join(RULE_NAMES)}")
    return name


def read_mode(name: str) -> Mode:
    """Return the feedback mode called `name`."""
    try:
        return Mode(name)
    except ValueError:
        raise InputError("--feedback", found=name, expected=f"one of {', '.join(Mode)}") from None
