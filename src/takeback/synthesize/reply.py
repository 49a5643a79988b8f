"""What a model's reply is: a JSON object, or one of a closed list of ways to fall short of one.

Strict on purpose: one JSON object and nothing around it, except one fence around the whole. Prose beside
the JSON is not searched for something that parses; it uses up the turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from takeback.canonical import check_text, first_value_end, strict
from takeback.errors import InputError
from takeback.synthesize.models.chat import TOO_LARGE, Reply

Shortfall = Literal[
    "empty",
    "too_large",
    "truncated",
    "prose",
    "malformed_json",
    "wrong_shape",
    "out_of_language",
    "mutation_changed",
    "masked_value",
    "cannot_run",
]
"""Why a reply is no candidate. Each uses up the turn."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<body>.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply that is no candidate: which shortfall, and where it was seen."""

    shortfall: Shortfall
    detail: str


def read_object(reply: Reply) -> dict[str, Any] | Rejected:
    """The one JSON object a reply holds, or why it holds none."""
    if reply.finish_reason == TOO_LARGE:
        return Rejected("too_large", f"the reply was cut at {len(reply.text)} characters")
    text = reply.text.strip()
    if not text:
        return Rejected("empty", f"no text came back (finish reason {reply.finish_reason!r})")
    if fenced := _FENCE.match(text):
        text = fenced["body"].strip()
    try:
        value = strict(text)
        check_text(value, "reply")
    except (ValueError, RecursionError, InputError) as error:
        return _not_json(reply, text, str(error))
    if not isinstance(value, dict):
        return Rejected("wrong_shape", f"expected a JSON object, found {type(value).__name__}")
    return value


def _not_json(reply: Reply, text: str, what: str) -> Rejected:
    if reply.finish_reason == "length":
        return Rejected("truncated", f"the token limit ended the reply after {reply.usage.completion_tokens} tokens")
    if not text.startswith("{") or _has_object_then_more(text):
        return Rejected("prose", "text stands around the JSON object")
    return Rejected("malformed_json", what)


def _has_object_then_more(text: str) -> bool:
    end = first_value_end(text)
    return end is not None and end < len(text)
