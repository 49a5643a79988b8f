"""One request, one reply: the contract every model behind the loop keeps.

A `Request` is a value with a canonical digest, so that a reply can be recorded and found again. A
`ChatModel` answers it or raises `ServiceFault`; what a reply is worth is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from typing import Any, Final, Literal, Protocol

from takeback.canonical import decode, digest, write_compact

Role = Literal["system", "user", "assistant"]

_LONE: Final = re.compile("[\ud800-\udfff]")
TOO_LARGE = "too_large"
"""Finish reason of a reply that was cut because it passed the caller's limit."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How replies are drawn; None leaves a parameter to the service."""

    temperature: float | None = 0.2
    top_p: float | None = 0.95
    max_tokens: int = 2048
    reasoning_effort: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the parameters by name, as a lock freezes them and a request carries them."""
        return asdict(self)


PAPER: Final = Sampling()
"""The paper's parameters."""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that may change a reply; nothing about where it is sent."""

    model: str
    messages: tuple[Message, ...]
    schema: Mapping[str, object] | None = None
    temperature: float | None = 0.2
    top_p: float | None = 0.95
    seed: int = 0
    max_tokens: int = 2048
    reasoning_effort: str | None = None
    ordered: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the request as it is hashed and recorded.

        With `ordered` the schema is kept as its text, so that the order of its properties, which steers constrained
        decoding, is part of the digest. Recordings made before that hold it as a mapping.
        """
        body = asdict(self)
        if body.pop("ordered") and self.schema is not None:
            body["schema"] = write_compact(self.schema)
        return body

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Request:
        """Return the request that `to_json` wrote."""
        schema: Any = raw.get("schema")
        ordered = isinstance(schema, str)
        messages = tuple(Message(message["role"], message["content"]) for message in raw["messages"])
        rest = {name: raw[name] for name in raw if name not in {"schema", "messages"}}
        return cls(messages=messages, schema=decode(schema) if ordered else schema, ordered=ordered, **rest)

    def digest(self) -> str:
        """Return the digest under which its reply is recorded."""
        return digest_request(self.to_json())


def digest_request(request: Mapping[str, object]) -> str:
    """Return the SHA-256 of a request as JSON with sorted keys."""
    return digest(request)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call, as the service counted them (0 where it did not say)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the text, why it ended (`stop`, `length`, `too_large`, …), its cost and time.

    Half a surrogate pair, which no file can hold, is read as a replacement character.
    """

    text: str
    finish_reason: str
    usage: Usage = field(default_factory=Usage)
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _LONE.sub("\ufffd", self.text))


class ChatModel(Protocol):
    """A model that answers requests. It may be called from several threads."""

    @property
    def name(self) -> str:
        """The model's name, as requests to it must carry it."""
        ...

    def complete(self, request: Request) -> Reply:
        """Answer one request, or raise `ServiceFault`."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """Calls, tokens and seconds of a run; adding a reply gives the next account."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_s: float = 0.0

    def plus(self, reply: Reply) -> Account:
        """Return this account with one more reply in it."""
        return Account(
            calls=self.calls + 1,
            prompt_tokens=self.prompt_tokens + reply.usage.prompt_tokens,
            completion_tokens=self.completion_tokens + reply.usage.completion_tokens,
            latency_s=round(self.latency_s + reply.latency_s, 3),
        )

    def add(self, other: Account) -> Account:
        """Return the sum of both accounts."""
        return Account(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            latency_s=round(self.latency_s + other.latency_s, 3),
        )

    @classmethod
    def of(cls, accounts: Iterable[Account]) -> Account:
        """Return the sum of all accounts."""
        return reduce(cls.add, accounts, cls())

    def to_json(self) -> dict[str, object]:
        """Return the account as a JSON object."""
        return asdict(self)
