"""How a synthesizer is named: `oracle`, `portfolio[:MODEL]`, `replay[:DIR]`, `openai:MODEL`, `local[:GGUF]`.

Parses the name into a value; building a model from it needs settings, which the command line owns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from takeback.errors import InputError

Kind = Literal["oracle", "portfolio", "replay", "openai", "local"]
EXPECTED = "oracle, portfolio[:<model>], replay[:<directory>], openai:<model> or local[:<file.gguf>]"
MODEL_KINDS = frozenset({"replay", "openai", "local"})


@dataclass(frozen=True, slots=True)
class Spec:
    """A synthesizer's kind, what it was given, and for a portfolio the model behind the oracle, if any."""

    kind: Kind
    argument: str = ""
    behind: Spec | None = None

    def __str__(self) -> str:
        rest = str(self.behind) if self.behind is not None else self.argument
        return f"{self.kind}:{rest}" if rest else self.kind


def parse_spec(text: str) -> Spec:
    """The synthesizer that `text` names, or an error that lists the possibilities."""
    kind, _, argument = text.strip().partition(":")
    if kind == "oracle" and not argument:
        return Spec("oracle")
    if kind == "openai" and argument:
        return Spec("openai", argument)
    if kind == "replay":
        return Spec("replay", argument)
    if kind == "local":
        return Spec("local", argument)
    if kind == "portfolio":
        behind = parse_spec(argument) if argument else None
        if behind is None or behind.kind in MODEL_KINDS:
            return Spec("portfolio", behind=behind)
    raise InputError("--synthesizer", found=text, expected=EXPECTED)
