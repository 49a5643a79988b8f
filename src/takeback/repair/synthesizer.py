"""Synthesizers by name, with their sampling: `oracle`, `portfolio[:MODEL]`, `replay[:DIR]`, `openai:MODEL`.

Names and settings such as `temperature=0.7,top_p=none` are parsed into values; the providers know which
models there are (`models/chat.py`). `make_method` gives oracle, model and portfolio one call signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from takeback.errors import InputError
from takeback.repair.attempt import Attempt
from takeback.repair.loop import Judge, Repair, Settings, repair_attempt, repair_with_oracle, repair_with_portfolio
from takeback.repair.models import PAPER, Sampling
from takeback.repair.models.chat import ChatModel, Surroundings, find_provider, list_provider_names
from takeback.state import State

MOST_TOKENS: Final = 1_000_000


def read_sampling(text: str, base: Sampling = PAPER) -> Sampling:
    """Return `base` with the changes in `text`, such as `temperature=0.7,top_p=none`."""
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (side.strip() for side in pair.partition("="))
        if name not in _SAMPLED or name in given:
            raise InputError("--sampling", found=pair, expected=f"each of {', '.join(_SAMPLED)} once at most")
        given[name] = _SAMPLED[name](name, value)
    return replace(base, **given)


def _read_number(name: str, text: str) -> float | None:
    most = {"temperature": 2.0, "top_p": 1.0}[name]
    try:
        value = None if text == "none" else float(text)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= most:
        raise InputError("--sampling", found=f"{name}={text}", expected=f"a number from 0 to {most:g}, or none")
    return value


def _read_limit(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_TOKENS:
        raise InputError("--sampling", found=f"{name}={text}", expected=f"a number of tokens from 1 to {MOST_TOKENS}")
    return int(text)


def _read_effort(name: str, text: str) -> str:
    if not text.isidentifier():
        raise InputError(
            "--sampling", found=f"{name}={text}", expected="a word the service knows, such as low or high"
        )
    return text


_SAMPLED: Final[Mapping[str, Callable[[str, str], object]]] = {
    "temperature": _read_number,
    "top_p": _read_number,
    "max_tokens": _read_limit,
    "reasoning_effort": _read_effort,
}


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
    """Return the synthesizer that `text` names, or raise with the possibilities."""
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
    raise InputError("--synthesizer", found=text, expected=_describe_expected())


def open_model(spec: Spec, around: Surroundings) -> ChatModel:
    """Open the model that a specification names."""
    provider = find_provider(spec.kind) if spec.is_model else None
    if provider is None:
        raise InputError("--synthesizer", found=str(spec), expected="a model")
    return provider.open(spec.argument, around)


def _describe_expected() -> str:
    *forms, last = (_describe_form(name) for name in list_provider_names())
    return f"{ORACLE}, {PORTFOLIO}[:<model>], {', '.join(forms)} or {last}"


def _describe_form(name: str) -> str:
    try:
        provider = find_provider(name)
    except InputError:
        return f"{name} (cannot be loaded)"
    return name if provider is None else provider.form(name)


Method = Callable[[Attempt, Judge, Settings, State | None], Repair]


def make_method(spec: Spec, model: ChatModel | None) -> Method:
    """Return the method a specification names; `model` is the model behind it, where it has one."""
    if spec.kind == "oracle":
        return repair_with_oracle
    if spec.kind == "portfolio":
        return lambda start, judge, settings, nominal: repair_with_portfolio(start, model, judge, settings, nominal)
    if model is None:
        raise InputError("--synthesizer", found=str(spec), expected="a model that was opened")
    return lambda start, judge, settings, nominal: repair_attempt(start, model, judge, settings, nominal)
