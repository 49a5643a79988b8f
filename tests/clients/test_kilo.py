"""The real Kilo sees a change after it is applied, and no longer after it is undone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.clients.conftest import Place, change, make_place
from tests.clients.conversations import Call, require_seen_and_gone

from takeback.harness import Refused

FILES = {
    "AGENTS.md": "# Harbour\n\n- Knots, never km/h.\n",
    "kilo.jsonc": """\
// for all of us
{ "$schema": "https://app.kilo.ai/config.json",
  "model": "a/b", // the usual one
  "mcp": { "buoys": { "type": "local", "command": ["true"], "enabled": false, }, },
  "permission": { "bash": { "*": "ask", "git *": "allow" /* not push */, "git push *": "deny" }, },
}
""",
    ".kilo/agent/pilot.md": "---\ndescription: Knows the shallows.\n---\nSteer.\n",
    ".kilo/.gitignore": "node_modules\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place("kilo", FILES, tmp_path)


def ask(place: Place) -> str:
    """What the client says it loaded, by name and value."""
    return json.dumps(json.loads(place.run("debug", "config")))


KINDS: dict[str, tuple[Call, str]] = {
    "a server": (
        {"op_type": "register_tool", "target": "mcp:tides", "value": {"type": "local", "command": ["true"]}},
        '"tides"',
    ),
    "a model": ({"op_type": "set_routing", "target": "model", "value": "a/c"}, '"model": "a/c"'),
    "a permission before another": (
        {"op_type": "insert_config", "target": "permission.bash", "value": ["ls *", "allow"], "index": 1},
        '"ls *"',
    ),
    "an agent": (
        {"op_type": "set_prompt", "target": "agents/mate", "value": "---\ndescription: Helps.\n---\nHelp.\n"},
        "Helps.",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kilo_sees_a_change_after_apply_and_not_after_undo(kind: str, place: Place) -> None:
    op, told = KINDS[kind]
    require_seen_and_gone(place, [op], told, lambda: ask(place))


def test_a_change_that_makes_kilo_drop_its_file_is_refused(place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "set_routing", "target": "model", "value": "{env:MODEL}"})
        assert isinstance(refused, Refused)
        assert "drops the file" in refused.message
    assert place.files() == before
