"""The validators of the real clients: a refusal has the client's own words, and so has one that only it knows of."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import TWO_MINUTES, change, make_place
from tests.clients.install import program

from takeback.adapters.clients import validators
from takeback.harness import Applied, Refused

MAIN = {
    "claude-code": (".claude/settings.json", "{}\n"),
    "codex": (".codex/config.toml", 'model = "gpt-5.5"\n'),
    "opencode": ("opencode.json", '{"$schema": "https://opencode.ai/config.json"}\n'),
    "gemini": (".gemini/settings.json", "{}\n"),
}
WRONG = {
    "claude-code": ("permissions.deny", "everything", "Expected array, but received string"),
    "codex": ("sandbox_mode", "open", "unknown variant `open`"),
    "opencode": ("json:share", 5, "share"),
    "gemini": ("model", "big", "model: Expected object"),
}
"""What our own tables refuse, and some of what the client says of it."""
UNKNOWN = {
    "claude-code": ("cleanupPeriodDays", -1, "cleanupPeriodDays"),
    "codex": ("web_search", "perhaps", "web_search"),
    "opencode": ("json:snapshot", "yes", "snapshot"),
    "gemini": ("general.vimMode", "yes", "general.vimMode"),
}
"""What our own tables let through and the client does not."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    def made(client: str) -> Any:
        path, text = MAIN[client]
        found = make_place(client, {path: text}, tmp_path)
        binary = program(client)
        assert binary is not None
        monkeypatch.setenv("PATH", f"{binary.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("HOME", str(found.home))
        monkeypatch.setattr(validators, "SECONDS", TWO_MINUTES)
        return found

    return made


def setting(target: str, value: Any) -> dict[str, Any]:
    return {"op_type": "set_config", "target": target, "value": value}


@pytest.mark.parametrize("client", MAIN)
def test_a_refusal_quotes_the_real_client(client: str, place: Callable[[str], Any]) -> None:
    found = place(client)
    before, home = found.files(), sorted(os.listdir(found.home))
    target, value, words = WRONG[client]
    with closing(found.opened()) as harness:
        refused = change(harness, setting(target, value))
    assert isinstance(refused, Refused)
    assert f"{validators.VALIDATORS[client].title} itself says: " in refused.message
    assert words in refused.message.partition("itself says")[2]
    assert found.files() == before
    assert sorted(os.listdir(found.home)) == home


@pytest.mark.parametrize("client", MAIN)
def test_the_client_asked_before_every_change_refuses_unknown_faults(
    client: str, place: Callable[[str], Any]
) -> None:
    found = place(client)
    manifest = found.root / ".takeback" / "manifest.toml"
    manifest.write_text(manifest.read_text().replace("[workspace]\n", '[workspace]\nask_client = "always"\n'))
    before = found.files()
    target, value, words = UNKNOWN[client]
    with closing(found.opened()) as harness:
        refused = change(harness, setting(target, value))
        assert isinstance(refused, Refused), refused
        assert words in refused.message.partition("itself says")[2]
        assert found.files() == before
        assert isinstance(change(harness, setting("json:x" if client == "opencode" else "x", 1)), Applied)
