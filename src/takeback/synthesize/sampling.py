"""How replies are drawn, as a person writes it: `temperature=0.7,top_p=none`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from takeback.errors import InputError
from takeback.synthesize.models import PAPER, Sampling

MOST_TOKENS: Final = 1_000_000


def read_sampling(text: str, base: Sampling = PAPER) -> Sampling:
    """`base` with what `text` says otherwise, such as `temperature=0.7,top_p=none`."""
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (side.strip() for side in pair.partition("="))
        if name not in _SAMPLED or name in given:
            raise InputError("--sampling", found=pair, expected=f"each of {', '.join(_SAMPLED)} once at most")
        given[name] = _SAMPLED[name](name, value)
    return replace(base, **given)


def _number(name: str, text: str) -> float | None:
    most = {"temperature": 2.0, "top_p": 1.0}[name]
    try:
        value = None if text == "none" else float(text)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value <= most:
        raise InputError("--sampling", found=f"{name}={text}", expected=f"a number from 0 to {most:g}, or none")
    return value


def _limit(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_TOKENS:
        raise InputError("--sampling", found=f"{name}={text}", expected=f"a number of tokens from 1 to {MOST_TOKENS}")
    return int(text)


def _effort(name: str, text: str) -> str:
    if not text.isidentifier():
        raise InputError(
            "--sampling", found=f"{name}={text}", expected="a word the service knows, such as low or high"
        )
    return text


_SAMPLED: Final[Mapping[str, Callable[[str, str], object]]] = {
    "temperature": _number,
    "top_p": _number,
    "max_tokens": _limit,
    "reasoning_effort": _effort,
}
