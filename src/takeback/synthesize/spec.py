"""How a synthesizer is named: `oracle`, `portfolio[:MODEL]`, or a model such as `replay[:DIR]` or `openai:MODEL`.

Parses the name into a value; which models there are, the providers say (`models/providers.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from takeback.errors import InputError
from takeback.synthesize.models.chat import ChatModel
from takeback.synthesize.models.providers import Surroundings, find_provider, provider_names

ORACLE = "oracle"
PORTFOLIO = "portfolio"


@dataclass(frozen=True, slots=True)
class Spec:
    """A synthesizer's kind, what it was given, and for a portfolio the model behind the oracle, if any."""

    kind: str
    argument: str = ""
    behind: Spec | None = None

    @property
    def is_model(self) -> bool:
        """Whether it names a model itself."""
        return self.kind not in {ORACLE, PORTFOLIO}

    def __str__(self) -> str:
        rest = str(self.behind) if self.behind is not None else self.argument
        return f"{self.kind}:{rest}" if rest else self.kind


def parse_spec(text: str) -> Spec:
    """The synthesizer that `text` names, or an error that lists the possibilities."""
    kind, _, argument = text.strip().partition(":")
    if kind == ORACLE and not argument:
        return Spec(ORACLE)
    if kind == PORTFOLIO:
        behind = parse_spec(argument) if argument else None
        if behind is None or behind.is_model:
            return Spec(PORTFOLIO, behind=behind)
    elif kind != ORACLE:
        provider = find_provider(kind)
        if provider is not None and (argument or not provider.required):
            return Spec(kind, argument)
    raise InputError("--synthesizer", found=text, expected=_expected())


def open_model(spec: Spec, around: Surroundings) -> ChatModel:
    """The model that a specification names."""
    provider = find_provider(spec.kind) if spec.is_model else None
    if provider is None:
        raise InputError("--synthesizer", found=str(spec), expected="a model")
    return provider.open(spec.argument, around)


def _expected() -> str:
    *forms, last = (_form(name) for name in provider_names())
    return f"{ORACLE}, {PORTFOLIO}[:<model>], {', '.join(forms)} or {last}"


def _form(name: str) -> str:
    """How a model of a kind is named; one that cannot be loaded must not hide what was asked."""
    try:
        provider = find_provider(name)
    except InputError:
        return f"{name} (cannot be loaded)"
    return name if provider is None else provider.form(name)
