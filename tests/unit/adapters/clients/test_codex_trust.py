"""Codex trusts hooks by position: new groups go to the end, and trust moves along when a group goes."""

from __future__ import annotations

import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import candidate, config

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness import Applied, Harness
from takeback.harness.outcomes import Refused, Undone

GROUP = """
[[hooks.PreToolUse]]
matcher = "{0}"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "{0}"
"""


def written(root: Path) -> Path:
    """Three groups, of which the client trusts the first two and has the second switched off."""
    place = root / ".codex/config.toml"
    place.parent.mkdir(parents=True)
    key = f"{place}:pre_tool_use"
    place.write_text(
        "".join(GROUP.format(name) for name in "abc")
        + f'\n[hooks.state."{key}:0:0"] # first\ntrusted_hash = "sha256:a"\n'
        + f'\n[hooks.state."{key}:1:0"] # second\ntrusted_hash = "sha256:b"\nenabled = false\n'
        + f"\n[hooks.state.'{key}:2:0']\ntrusted_hash = \"sha256:c\"\n"
        + '\n[hooks.state."/elsewhere/config.toml:pre_tool_use:1:0"]\ntrusted_hash = "sha256:x"\n'
    )
    return place


def ids(harness: Harness) -> list[str]:
    return [link.id for link in harness.state.part("listeners")["toml:PreToolUse"]]


def trusted(place: Path) -> dict[str, Any]:
    state = tomllib.loads(place.read_text())["hooks"]["state"]
    return {key.removeprefix(f"{place}:"): entry for key, entry in state.items()}


def applied(harness: Harness, *ops: dict[str, Any]) -> str:
    done = harness.apply(candidate(*ops))
    assert isinstance(done, Applied), done
    return done.entry.id


@pytest.fixture
def place(tmp_path: Path) -> Path:
    found = written(tmp_path)
    init_clients(tmp_path)
    return found


def remove(name: str) -> dict[str, Any]:
    return {"op_type": "remove_listener", "target": "toml:PreToolUse", "value": name}


def test_trust_follows_the_hooks_when_a_group_is_removed_and_undo_restores_it(place: Path, tmp_path: Path) -> None:
    with closing(open_workspace(tmp_path)) as harness:
        before = place.read_bytes()
        first = ids(harness)[0]
        entry = applied(harness, remove(first))
        assert trusted(place) == {
            "pre_tool_use:0:0": {"trusted_hash": "sha256:b", "enabled": False},
            "pre_tool_use:1:0": {"trusted_hash": "sha256:c"},
            "/elsewhere/config.toml:pre_tool_use:1:0": {"trusted_hash": "sha256:x"},
        }
        assert b"# second" in place.read_bytes()
        assert isinstance(harness.undo(entry), Undone)
        assert place.read_bytes() == before


def test_undoing_a_removal_after_other_changes_restores_each_hooks_trust(place: Path, tmp_path: Path) -> None:
    with closing(open_workspace(tmp_path)) as harness:
        before = trusted(place)
        entry = applied(harness, remove(ids(harness)[1]))
        applied(harness, config("tui.a", 1))
        assert isinstance(harness.undo(entry), Undone)
        assert trusted(place) == before
        assert [group["matcher"] for group in tomllib.loads(place.read_text())["hooks"]["PreToolUse"]] == [
            "a",
            "b",
            "c",
        ]


def test_a_new_group_is_appended_and_changes_no_trust(place: Path, tmp_path: Path) -> None:
    with closing(open_workspace(tmp_path)) as harness:
        text, before = place.read_text(), trusted(place)
        options = {"matcher": "d", "hooks": [{"type": "command", "command": "d"}]}
        new = {"id": "d", "handler": "d", "options": options}
        entry = applied(harness, {"op_type": "add_listener", "target": "toml:PreToolUse", "value": new})
        assert trusted(place) == before
        assert "trusted_hash" not in "".join(set(place.read_text().splitlines()) - set(text.splitlines()))
        assert [group["matcher"] for group in tomllib.loads(place.read_text())["hooks"]["PreToolUse"]][-1] == "d"
        assert isinstance(harness.undo(entry), Undone)
        assert place.read_text() == text


def test_trust_in_hooks_of_the_other_file_follows_too(tmp_path: Path) -> None:
    place = tmp_path / ".codex/config.toml"
    place.parent.mkdir()
    groups = ",".join(f'{{"matcher":"{name}","hooks":[{{"type":"command","command":"{name}"}}]}}' for name in "ab")
    (tmp_path / ".codex/hooks.json").write_text(f'{{"hooks":{{"PreToolUse":[{groups}]}}}}')
    key = f"{tmp_path}/.codex/hooks.json:pre_tool_use"
    place.write_text(f'[hooks.state]\n"{key}:1:0" = {{ trusted_hash = "sha256:b" }} # ours\n')
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        before = place.read_bytes()
        first = next(iter(harness.state.part("listeners")["PreToolUse"])).id
        entry = applied(harness, {"op_type": "remove_listener", "target": "PreToolUse", "value": first})
        assert place.read_bytes() == before.replace(b":1:0", b":0:0")
        assert isinstance(harness.undo(entry), Undone)
        assert place.read_bytes() == before


def test_trust_follows_a_hook_within_its_group(tmp_path: Path) -> None:
    place = tmp_path / ".codex/config.toml"
    place.parent.mkdir()
    hooks = ", ".join(f'{{ type = "command", command = "{name}" }}' for name in "abc")
    key = f"{place}:stop:0"
    place.write_text(
        f'hooks.Stop = [ {{ hooks = [ {hooks} ] }} ]\n[hooks.state]\n"{key}:1" = {{ enabled = false }}\n'
        f'"{key}:2" = {{ trusted_hash = "sha256:c" }}\n'
    )
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        before = place.read_bytes()
        (link,) = harness.state.part("listeners")["toml:Stop"]
        options = {"hooks": [{"type": "command", "command": name} for name in "bc"]}
        new = {"id": link.id, "handler": link.id, "options": options}
        entry = applied(harness, {"op_type": "add_listener", "target": "toml:Stop", "value": new})
        assert trusted(place) == {"stop:0:0": {"enabled": False}, "stop:0:1": {"trusted_hash": "sha256:c"}}
        assert isinstance(harness.undo(entry), Undone)
        assert place.read_bytes() == before


def test_a_projects_hook_that_the_user_switched_off_stays_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    (project / ".codex").mkdir(parents=True)
    folder = user / ".codex"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    place = project / ".codex/config.toml"
    place.write_text("".join(GROUP.format(name) for name in "abc"))
    own = f'[hooks.state."{place}:pre_tool_use:1:0"]\nenabled = false\n'
    (folder / "config.toml").write_text(own)
    init_clients(project)
    before = place.read_bytes()
    with closing(open_workspace(project)) as harness:
        first, second, third = ids(harness)
        for name in (first, second):
            refused = harness.apply(candidate(remove(name)))
            assert isinstance(refused, Refused), refused
            assert "switched off" in refused.message
            assert place.read_bytes() == before
        applied(harness, remove(third))
        assert (folder / "config.toml").read_text() == own
