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
    check_half,
    edit_first,
    edit_second,
    say_after,
    wait_for,
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


def test_ten_calls_and_two_hand_edits_are_entries_undone_each_alone(project: Tracked) -> None:
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


def test_denied_calls_leave_nothing_and_failed_ones_record_their_changes(project: Tracked) -> None:
    loose = ('-sandbox_mode = "danger-full-access"', '+sandbox_mode = "none"')
    told = use(
        project,
        "try it",
        patch(1, "*** Update File: .codex/config.toml", "@@", *loose),
        [shell(2, "printf 'half\\n' >> src/app.txt; exit 3")],
        patch(3, "*** Update File: src/util.txt", "@@", "-no such line", "+x"),
    )
    assert "codex would no longer load it" in told["c1"]
    assert "exited with code 3" in told["c2"]
    assert "Failed to find expected lines" in told["c3"]
    (entry,) = project.log()
    check_half(project, entry, "Bash")


def test_concurrent_commands_name_each_other_and_lose_nothing(project: Tracked) -> None:
    one, two = shell(1, "sleep 1; printf 'one\\n' > one.txt"), shell(2, "sleep 1; printf 'two\\n' > two.txt")
    use(project, "do all", [one, two], patch(3, "*** Add File: three.txt", "+three"))
    *both, last = project.log()
    assert sorted(path for entry in both for path in entry["files"]) == ["one.txt", "two.txt"]
    assert len(both) == 2 or "/c2" in both[0]["origin"]["beside"] or "/c1" in both[0]["origin"]["beside"]
    assert (last["files"], last["origin"].get("beside")) == (["three.txt"], None)
    project.say("undo", "--prompt", "do all")
    assert project.read() == project.first


def test_later_writes_of_a_leftover_process_name_the_call(project: Tracked) -> None:
    begin = shell(1, "sleep 3; printf 'late\\n' > late.txt; sleep 60")
    begin["arguments"] = json.dumps({**json.loads(begin["arguments"]), "yield_time_ms": 500})
    late = project.root / "late.txt"
    use(project, "serve it", [begin], lambda: wait_for(late), [shell(2, "printf 'x\\n' > after.txt")])
    found = next(entry for entry in project.log() if "late.txt" in entry["files"])
    assert (found["by"], found["origin"].get("tool")) == (None, None)
    assert "Bash c1 may still run" in found["what"]
    assert "c2" not in found["what"]
    after = next(entry for entry in project.log() if "after.txt" in entry["files"])
    assert (after["files"], "/c1" in after["origin"]["beside"]) == (["after.txt"], True)
