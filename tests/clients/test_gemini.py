"""The real Gemini CLI sees a change after it is applied, and no longer after it is undone."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, change, made, make_place, taken_back
from tests.clients.models import gemini_server

from takeback.harness import Refused

FILES = {
    "GEMINI.md": "# Lighthouse\n\n- Heights in metres.\n",
    ".gemini/settings.json": """\
{ // for all of us
  "mcpServers": { /* one */ "lamps": { "command": "true" } },
  "hooks": { "AfterTool": [ { "matcher": "nothing", "hooks": [ { "type": "command", "command": "true" } ] } ] },
  "tools": { "allowed": [ "read_file" ] }
}
""",
    ".gemini/skills/fog/SKILL.md": "---\nname: fog\ndescription: Sounds the horn.\n---\n\nTwice.\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("gemini", FILES, tmp_path)
    (found.home / ".gemini").mkdir()
    (found.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(found.root): "TRUST_FOLDER"}))
    (found.home / ".gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    return found


def listed(place: Place, what: str) -> str:
    """What the client lists, on whichever of its two outputs."""
    done = subprocess.run(
        [place.binary, what, "list"],
        cwd=place.root,
        env=place.env,
        text=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


SKILL = "---\nname: bell\ndescription: Rings the bell.\n---\n\nOnce.\n"
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a server": (
        "mcp",
        {"op_type": "register_tool", "target": "mcp:keys", "value": {"command": "true"}},
        "keys: true",
    ),
    "a skill": ("skills", {"op_type": "set_prompt", "target": "skills/bell", "value": SKILL}, "Rings the bell"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_gemini_sees_a_change_after_apply_and_not_after_undo(kind: str, place: Place) -> None:
    what, op, told = KINDS[kind]
    before = place.files()
    assert told not in listed(place, what)
    with closing(place.opened()) as harness:
        entry = made(harness, op)
        assert told in listed(place, what)
        taken_back(harness, entry)
    assert told not in listed(place, what)
    assert place.files() == before


def test_a_change_that_would_break_gemini_is_refused(place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "register_tool", "target": "mcp:bad", "value": {"args": ["x"]}})
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before
    assert "bad" not in listed(place, "mcp")


def test_gemini_follows_instructions_and_a_guard_until_their_undo(place: Place) -> None:
    call = {
        "functionCall": {"name": "write_file", "args": {"file_path": str(place.root / "new.txt"), "content": "x"}}
    }
    options = {"matcher": "write_file", "hooks": [{"type": "command", "command": "echo not here >&2; exit 2"}]}
    guard = {
        "op_type": "add_listener",
        "target": "BeforeTool",
        "value": {"id": "guard", "handler": "guard", "options": options},
    }
    line = {"op_type": "edit_prompt", "target": "GEMINI.md", "value": {"old": "metres", "new": "feet"}}

    def play() -> str:
        with gemini_server([[call], [{"text": "done"}]]) as server:
            place.env |= {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": server.url}
            place.run("-p", "write it", "-o", "stream-json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro")
            return json.dumps(server.requests)

    before = place.files()
    with closing(place.opened()) as harness:
        entry = made(harness, guard, line)
        told = play()
        assert "not here" in told
        assert "Heights in feet" in told
        assert not (place.root / "new.txt").exists()
        taken_back(harness, entry)
        assert place.files() == before
        told = play()
        assert "not here" not in told
        assert "Heights in metres" in told
        assert (place.root / "new.txt").exists()
