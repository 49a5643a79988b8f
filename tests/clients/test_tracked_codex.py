"""The real Codex in a project whose files are tracked: each call is an entry, and each is taken back alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import make_place
from tests.clients.models import responses_server
from tests.clients.test_guard_codex import DONE, shell, trusted
from tests.clients.tracked import (
    FILES,
    PROMPTS,
    SETTINGS,
    SHELL,
    Tracked,
    check_all_together,
    check_each_alone,
    check_entries,
    edit_first,
    edit_second,
    say_after,
)

TOOLS = {"edit": "apply_patch", "write": "apply_patch", "shell": "Bash"}
ALLOWED = 'prefix_rule(pattern=["rm", "-rf"], decision="allow")\n'
"""What a person writes who lets the agent remove folders: without it the client itself refuses such a command."""
CONFIG = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'


@pytest.fixture
def project(tmp_path: Path) -> Tracked:
    files = {**FILES, "AGENTS.md": "# Notes\n", ".codex/config.toml": CONFIG}
    place = make_place("codex", files, tmp_path, known=False)
    (place.home / ".codex/rules").mkdir(parents=True)
    (place.home / ".codex/rules/default.rules").write_text(ALLOWED)
    user = place.home / ".codex/config.toml"
    user.write_text(f'[projects."{place.root}"]\ntrust_level = "trusted"\n')
    found = Tracked(place)
    user.write_text(user.read_text() + trusted(place))
    return found


def use(project: Tracked, prompt: str, *turns: Sequence[dict[str, Any]] | Callable[[], None]) -> dict[str, str]:
    """Give a prompt and have the model make the calls of each turn; a function is called before the next turn."""
    user = project.place.home / ".codex/config.toml"
    known = user.read_text()
    with responses_server(say_after(turns, [DONE])) as server:
        provider = f'[model_providers.here]\nname = "here"\nbase_url = "{server.url}/v1"\nwire_api = "responses"\n'
        user.write_text(f'model_provider = "here"\n{known}{provider}')
        project.place.run("exec", "--json", prompt, seconds=300)
        items = [item for request in server.requests for item in request.get("input", ())]
    user.write_text(known)
    outputs = [item for item in items if item.get("type", "").endswith("call_output")]
    return {item["call_id"]: json.dumps(item["output"]) for item in outputs}


def patch(number: int, *lines: str) -> list[dict[str, Any]]:
    text = "\n".join(("*** Begin Patch", *lines, "*** End Patch"))
    return [{"type": "custom_tool_call", "call_id": f"c{number}", "name": "apply_patch", "input": text}]


def test_ten_calls_and_two_edits_by_hand_are_entries_and_each_call_is_taken_back_alone(project: Tracked) -> None:
    root = project.root
    old = FILES["src/settings.ini"].splitlines()
    first = use(
        project,
        f"{PROMPTS[0]}\nand say nothing of it",
        patch(1, "*** Update File: src/app.txt", "@@", " line 2", "-line 3", "+the third line", " line 4"),
        patch(2, "*** Add File: src/new.txt", "+new", "+file"),
        [shell(3, SHELL["sed -i"])],
        lambda: edit_first(root),
        [shell(4, SHELL["mv src/util.txt"])],
        [shell(5, SHELL["rm -rf docs"])],
    )
    second = use(
        project,
        PROMPTS[1],
        [shell(6, SHELL["tools/format.py"])],
        lambda: edit_second(root),
        [shell(7, SHELL["git checkout"])],
        patch(8, "*** Update File: lib/util.txt", "@@", "-helper 6", "+helper the sixth"),
        [shell(9, SHELL["chmod"])],
        patch(
            10,
            "*** Update File: src/settings.ini",
            "@@",
            *(f"-{line}" for line in old),
            *(f"+{line}" for line in SETTINGS.splitlines()),
        ),
    )
    assert len({*first, *second}) == 10, (first, second)
    calls = check_entries(project, TOOLS)
    check_each_alone(project, calls)
    check_all_together(project, calls)
