"""One request, one reply: the contract every model behind the loop keeps, and how models are found by name.

A `Request` is a value with a canonical digest, so that a reply can be recorded and found again. A
`ChatModel` answers it or raises `ServiceFault`; what a reply is worth is decided elsewhere.

A `Provider` opens models of one kind: ours, or one that an entry point of the group `takeback.models` names. None is
imported before it is asked for. What it needs of the machine it is given: it reads no environment itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from takeback.canonical import decode, digest, write_compact
from takeback.errors import InputError
from takeback.plugins import find_entry_points, make_missing_package_error

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


GROUP: Final = "takeback.models"
LOCAL: Final = "local"
BUILT_IN: Final = {
    "replay": "takeback.repair.models.replies:PROVIDER",
    "openai": "takeback.repair.models.settings:PROVIDER",
}
"""As in this package's own metadata, for a source tree that is not installed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What providers may use to open a model."""

    environment: Mapping[str, str]
    home: Path
    cache: Path
    """Where weights are kept."""
    recordings: tuple[Path, ...] = ()
    """What plain `replay` means."""
    threads: int = 1
    slots: int = 1
    """How many requests will be asked at once."""
    say: Callable[[str], None] = lambda _: None
    """Tells the person who waits."""


@dataclass(frozen=True, slots=True)
class Provider:
    """How a kind of model is opened by what stands after its name and a colon."""

    argument: str
    """What that is, as it is shown: `<model>`."""
    required: bool
    open: Callable[[str, Surroundings], ChatModel]

    def form(self, name: str) -> str:
        """Return how a model of this kind is written."""
        return f"{name}:{self.argument}" if self.required else f"{name}[:{self.argument}]"


def cache_directory(environment: Mapping[str, str], platform: str, home: Path) -> Path:
    """Return the user's cache directory for Takeback, by the custom of the platform."""
    if chosen := environment.get("TAKEBACK_CACHE"):
        return Path(chosen)
    if platform == "win32" and (local := environment.get("LOCALAPPDATA")):
        return Path(local) / "takeback" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "takeback"
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else home / ".cache") / "takeback"


def list_provider_names() -> tuple[str, ...]:
    """Return the names of all providers: ours first, then the others in order."""
    others = {point.name for point in find_entry_points(GROUP)} - BUILT_IN.keys()
    return (*BUILT_IN, *sorted(others))


def find_provider(name: str) -> Provider | None:
    """Return the provider with a name; None if there is none."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _check_provider(name, getattr(import_module(module), attribute))
    for point in find_entry_points(GROUP, name):
        try:
            return _check_provider(name, point.load())
        except (ImportError, AttributeError) as fault:
            raise InputError(
                f"the entry point {name} of {GROUP}", found=str(fault), expected="a provider that can be loaded"
            ) from fault
    if name == LOCAL:
        raise make_missing_package_error("a model on this machine")
    return None


def _check_provider(name: str, provider: object) -> Provider:
    if not isinstance(provider, Provider):
        raise InputError(f"the entry point {name} of {GROUP}", found=type(provider).__name__, expected="a Provider")
    return provider
