"""The risky settings of every client's table in its own file: one by one, and many at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.risky_settings import ABSENT, Case, cases, unknown

from takeback.adapters.clients.init import init_clients
from takeback.adapters.clients.risk_tables import Risk

DOCUMENTS = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
}
START = {"opencode": "json:"}
CASES = {client: [case for case in cases() if case.client == client] for client in DOCUMENTS}
CASES["claude-code"] += [
    Case("claude-code", place, ABSENT, value, Risk.EXECUTES) for place, value in dict(unknown()).items()
]


def nested(place: str, value: Any) -> dict[str, Any]:
    """Return settings with a value at a place, and nothing else."""
    if value is ABSENT:
        return {}
    for step in reversed(place.split(".")):
        value = {step: value}
    return value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def bytes_of(client: str, content: dict[str, Any]) -> bytes:
    """Return a client's settings file."""
    if client == "codex":
        return "".join(f"{key} = {_toml(item)}\n" for key, item in content.items()).encode()
    return json.dumps(content).encode()


def make_project(root: Path, client: str) -> Path:
    """Make a project of one client with empty settings, which Takeback looks after."""
    place = root / DOCUMENTS[client]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(bytes_of(client, {}))
    init_clients(root, (client,))
    return root


def is_told(case: Case, reasons: list[str]) -> bool:
    """Whether reasons are about the setting of a case, or about something in it."""
    named = re.compile(rf"""["':]{re.escape(case.place)}["'.]""")
    return any(named.search(reason) for reason in reasons)


def batches(client: str) -> Iterator[list[Case]]:
    """Yield all cases of a client in lists of which no setting lies inside another of its list."""
    rest = CASES[client]
    while rest:
        taken: list[Case] = []
        for case in rest:
            if not any(_overlap(case.place, other.place) for other in taken):
                taken.append(case)
        yield taken
        rest = [case for case in rest if case not in taken]


def write_batch(root: Path, batch: list[Case], *, after: bool) -> None:
    """Write a client's settings with every setting of a list as it is before, or after."""
    content: dict[str, Any] = {}
    for case in batch:
        value = case.after if after else case.before
        inner = content
        *steps, last = case.place.split(".")
        if value is not ABSENT:
            for step in steps:
                inner = inner.setdefault(step, {})
            inner[last] = value
    client = batch[0].client
    (root / DOCUMENTS[client]).write_bytes(bytes_of(client, content))


def _overlap(one: str, two: str) -> bool:
    first, second = one.split("."), two.split(".")
    size = min(len(first), len(second))
    return first[:size] == second[:size]
