"""The tables of risky settings: every place of every client's, both ways, and settings that no table has."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.batches import in_batches
from tests.support.risky_settings import ABSENT, TABLES, Case, cases, harmless, unknown

from takeback.adapters.clients import CLIENTS, risk_tables
from takeback.adapters.clients.permissions import find_loosened_permissions
from takeback.adapters.clients.risk_tables import ANYBODYS, Risk, load_table
from takeback.state import State


def _state(place: str, value: Any, start: str = "") -> State:
    if value is ABSENT:
        return State()
    steps = place.split(".")
    for step in reversed(steps[1:]):
        value = {step: value}
    return State.read({"config": {start + steps[0]: value}})


@in_batches("case", cases())
@pytest.mark.parametrize("start", ["", "codex:", "local:"])
def test_every_loosened_setting_of_the_tables_is_reported(case: Case, start: str) -> None:
    before, after = _state(case.place, case.before, start), _state(case.place, case.after, start)
    reasons = find_loosened_permissions(before, after)
    assert reasons
    assert all(f"{start}{case.place.split('.')[0]}" in reason for reason in reasons)
    assert find_loosened_permissions(after, after) == []


@in_batches("case", cases())
def test_a_setting_is_judged_by_the_table_of_its_own_client(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in [client for client in TABLES if client != case.client]:
        for clients, own, strange in (
            ((case.client, other), "", f"{other}:"),
            ((other, case.client), f"{case.client}:", ""),
        ):
            mine = [_state(case.place, value, own) for value in (case.before, case.after)]
            (reason,) = find_loosened_permissions(*mine, clients)
            assert f"{own}{case.place.split('.')[0]}" in reason
            theirs = [_state(case.place, value, strange) for value in (case.before, case.after)]
            told = find_loosened_permissions(*theirs, clients)
            with monkeypatch.context() as only:
                only.setattr(risk_tables, "ANYBODYS", (other,))
                assert told == find_loosened_permissions(*theirs, clients), (clients, strange)


@pytest.mark.parametrize(
    ("client", "other", "before", "after"),
    [
        ("opencode", "claude-code", {"share": "manual"}, {"share": "auto"}),
        ("gemini", "claude-code", {"coreTools": ["a"]}, {"coreTools": ["a", "b"]}),
        ("codex", "opencode", {"web_search": "disabled"}, {"web_search": "live"}),
        ("claude-code", "gemini", {"disableAutoMode": True}, {}),
        ("opencode", "codex", {"tools": {"write": False}}, {"tools": {"write": True}}),
    ],
)
def test_a_setting_of_one_client_does_not_concern_another(client: str, other: str, before: Any, after: Any) -> None:
    states = [State.read({"config": one}) for one in (before, after)]
    assert find_loosened_permissions(*states, (client,))
    assert find_loosened_permissions(*states, (other,)) == []


@in_batches("case", [case for case in cases() if case.risk is not Risk.PROTECTED])
def test_no_tightened_setting_of_the_tables_is_reported(case: Case) -> None:
    assert find_loosened_permissions(_state(case.place, case.after), _state(case.place, case.before)) == []


@in_batches("place, value", unknown())
def test_an_unknown_executable_looking_setting_is_reported(place: str, value: Any) -> None:
    assert find_loosened_permissions(State(), _state(place, value))
    assert find_loosened_permissions(_state(place, value), State()) == []


@in_batches("place, value", harmless())
def test_known_and_harmless_settings_are_not_reported(place: str, value: Any) -> None:
    assert find_loosened_permissions(State(), _state(place, value)) == []
    assert find_loosened_permissions(_state(place, value), State()) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"denyWhatever": ["a", "b"]}, {"denyWhatever": ["a"]}),
        ({"sandboxing": True}, {"sandboxing": False}),
        ({"sandboxing": True}, {}),
        ({"requireReview": "always"}, {"requireReview": "never"}),
    ],
)
def test_the_removal_of_an_unknown_protection_is_reported(before: Any, after: Any) -> None:
    assert find_loosened_permissions(State.read({"config": before}), State.read({"config": after}))


def test_a_guard_switched_off_in_another_file_is_reported() -> None:
    on = {"sandbox": {"enabled": True}}
    off = {**on, "local:sandbox": {"enabled": False}}
    assert find_loosened_permissions(State.read({"config": on}), State.read({"config": off}))


def test_a_mode_that_overrides_a_stricter_file_is_reported() -> None:
    strict = {"permissions": {"defaultMode": "plan"}}
    over = {**strict, "local:permissions": {"defaultMode": "default"}}
    assert find_loosened_permissions(State.read({"config": strict}), State.read({"config": over}))
    assert not find_loosened_permissions(
        State(), State.read({"config": {"local:permissions": {"defaultMode": "default"}}})
    )


def test_reasons_do_not_repeat_values() -> None:
    (reason,) = find_loosened_permissions(State(), _state("env.TOKEN", "tok-screaming"))
    assert "screaming" not in reason


SERVER = {"command": "m", "args": ["-x"], "env": {"A": "1"}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (None, SERVER, "is a server that runs a program"),
        (None, {"type": "http", "url": "http://127.0.0.1:1"}, "sends traffic elsewhere"),
        (SERVER, {**SERVER, "command": "n"}, "command"),
        (SERVER, {**SERVER, "args": ["-x", "-y"]}, "args"),
        (SERVER, {**SERVER, "env": {"A": "2"}}, "env"),
        (SERVER, {**SERVER, "cwd": "/"}, "cwd"),
        ({**SERVER, "enabled": False}, SERVER, "is a server that runs a program"),
        ({**SERVER, "includeTools": ["a"]}, SERVER, "offers more tools"),
        ({**SERVER, "excludeTools": ["a"]}, {**SERVER, "excludeTools": []}, "offers more tools"),
    ],
)
def test_a_server_with_another_command_or_address_is_reported(before: Any, after: Any, told: str) -> None:
    old, new = (State.read({"tools": {"mcp:m": one}} if one else {}) for one in (before, after))
    (reason,) = find_loosened_permissions(old, new)
    assert told in reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SERVER, None),
        (SERVER, {**SERVER, "timeout": 5}),
        (SERVER, {**SERVER, "enabled": False}),
        (SERVER, {**SERVER, "disabled": True, "command": "n"}),
        (SERVER, {**SERVER, "excludeTools": ["a"]}),
        (SERVER, {**SERVER, "includeTools": ["a"]}),
    ],
)
def test_a_removed_or_reduced_server_is_not_reported(before: Any, after: Any) -> None:
    old, new = (State.read({"tools": {"mcp:m": one}} if one else {}) for one in (before, after))
    assert find_loosened_permissions(old, new) == []


AGENT = "---\nname: a\ndescription: A\n{}---\nDo it.\n"


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        ("agents/a", AGENT.format("tools: Read\n"), AGENT.format("tools: Read, Bash\n"), "more tools: Bash"),
        ("agents/a", AGENT.format("tools: [Read]\n"), AGENT.format("tools: [Read, Write]\n"), "more tools: Write"),
        ("agents/a", None, AGENT.format("tools: Bash\n"), "more tools: Bash"),
        ("agents/a", AGENT.format(""), AGENT.format("tools: Bash\n"), "more tools: Bash"),
        ("agents/a", AGENT.format("tools: Read\n"), AGENT.format(""), "every tool"),
        ("agents/a", AGENT.format("tools: Read\n"), AGENT.format("tools: '*'\n"), "more tools: *"),
        ("agents/a", AGENT.format("disallowedTools: Bash\n"), AGENT.format(""), "more tools: Bash"),
        ("agents/a", AGENT.format(""), AGENT.format("hooks:\n  Stop: []\n  PreToolUse: [{}]\n"), "runs a program"),
        ("agents/a", AGENT.format(""), AGENT.format("mcpServers:\n  - x\n"), "runs a program"),
        ("agents/a", AGENT.format(""), AGENT.format("permissionMode: acceptEdits\n"), "is loosened"),
        ("agents/a", AGENT.format("permissionMode: plan\n"), AGENT.format(""), "is loosened"),
        (
            "agent/a",
            AGENT.format("permission:\n  bash: ask\n"),
            AGENT.format("permission:\n  bash: allow\n"),
            "loosened",
        ),
        (
            "agent/a",
            AGENT.format("tools:\n  bash: false\n"),
            AGENT.format("tools:\n  bash: true\n"),
            "more tools: bash",
        ),
        ("codex:skills/a", AGENT.format(""), AGENT.format("allowed-tools: Bash\n"), "allows more: Bash"),
        ("commands/a", "Ship it.\n", "Ship it: !`git push`\n", "runs a program when it is used"),
        ("gemini:commands/a", "Ship it.\n", "Ship it: !{git push}\n", "runs a program when it is used"),
        (".claude/commands/x/a.md", "Ship.\n", "Ship: !`git push`\n", "runs a program when it is used"),
        ("skills/a", AGENT.format(""), "---\nname: [\nallowed-tools: Bash\n---\n", "cannot be read"),
    ],
)
def test_a_text_that_gains_tools_hooks_or_commands_is_reported(name: str, before: Any, after: str, told: str) -> None:
    old = State.read({"prompts": {name: before}} if before else {})
    new = State.read({"prompts": {name: after}})
    (reason,) = find_loosened_permissions(old, new)
    assert told in reason
    assert name in reason


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("agents/a", AGENT.format("tools: Read, Bash\n"), AGENT.format("tools: Read\n")),
        ("agents/a", AGENT.format(""), AGENT.format("tools: Read, Grep\n")),
        ("agents/a", AGENT.format("tools: Read\n"), AGENT.format("tools: Read, Grep\n")),
        ("agents/a", AGENT.format("hooks:\n  Stop: [{}]\n"), AGENT.format("")),
        ("agents/a", AGENT.format("tools: Bash\n"), AGENT.format("tools: Bash\n").replace("Do it", "Do that")),
        ("agents/a", AGENT.format("model: opus\n"), AGENT.format("model: haiku\n")),
        ("commands/a", "Ship it: !`git push`\n", "Ship it.\n"),
        ("CLAUDE.md", "Rules.\n", "Run !`git push` first.\n"),
        ("CLAUDE.md", "Rules.\n", "---\n\nRules, with a line above.\n\n---\n"),
    ],
)
def test_a_text_that_loses_tools_or_rewords_is_not_reported(name: str, before: str, after: str) -> None:
    states = [State.read({"prompts": {name: text}}) for text in (before, after)]
    assert find_loosened_permissions(*states) == []


INJECTED = "Ship it: !{git push}\n"
MODE = AGENT.format("permissionMode: bypassPermissions\n")


@pytest.mark.parametrize(
    ("name", "text", "clients", "is_said"),
    [
        ("commands/a", INJECTED, ("gemini", "claude-code"), True),
        ("commands/a", INJECTED, ("claude-code", "gemini"), False),
        ("gemini:commands/a", INJECTED, ("claude-code", "gemini"), True),
        (".gemini/commands/a.toml", INJECTED, ("claude-code", "gemini"), True),
        (".claude/commands/a.md", INJECTED, ("claude-code", "gemini"), False),
        ("shared/commands/a.md", INJECTED, ("claude-code", "gemini"), True),
        ("shared/commands/a.md", INJECTED, ("claude-code", "codex"), False),
        ("agents/a", MODE, ("claude-code", "opencode"), True),
        ("opencode:agents/a", MODE, ("claude-code", "opencode"), False),
        ("agents/a", MODE, (), True),
    ],
)
def test_a_text_is_judged_by_the_clients_that_read_it(
    name: str, text: str, clients: tuple[str, ...], *, is_said: bool
) -> None:
    assert bool(find_loosened_permissions(State(), State.read({"prompts": {name: text}}), clients)) is is_said


def test_files_run_by_one_client_do_not_concern_another() -> None:
    plugin = State.read({"files": {".opencode/plugin/x.js": {"content": "a"}}})
    rules = State.read({"files": {".codex/rules/x.rules": {"content": "a"}}})
    assert find_loosened_permissions(State(), plugin, ("opencode",))
    assert find_loosened_permissions(State(), plugin, ("codex",)) == []
    assert find_loosened_permissions(State(), rules, ("claude-code", "codex"))
    assert find_loosened_permissions(State(), rules, ("claude-code",)) == []


RUN = {"statusLine": {"type": "command", "command": "bash tools/line.sh"}}


def test_a_changed_file_that_a_setting_or_server_runs_is_reported() -> None:
    for part in ({"config": RUN}, {"tools": {"mcp:m": {"command": "node", "args": ["./tools/line.sh"]}}}):
        old = {**part, "files": {"tools/line.sh": {"content": "a"}, "line.sh": {"content": "a"}}}
        new = {**part, "files": {"tools/line.sh": {"content": "b"}, "line.sh": {"content": "a"}}}
        (reason,) = find_loosened_permissions(State.read(old), State.read(new))
        assert reason.endswith("is changed")
    other = {"config": RUN, "files": {"tools/line.sh": {"content": "a"}, "ls": {"content": "b"}}}
    assert (
        find_loosened_permissions(
            State.read({**other, "files": {"tools/line.sh": {"content": "a"}}}), State.read(other)
        )
        == []
    )


def test_a_plugin_file_the_client_runs_is_reported() -> None:
    new = State.read({"files": {".opencode/plugin/x.js": {"content": "a"}}})
    assert find_loosened_permissions(State(), new)


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_every_line_of_a_table_says_what_a_looser_setting_does(client: str) -> None:
    table = load_table(client)
    assert table is not None
    for place, rule in table.rules.items():
        if rule.risk is Risk.ORDERED:
            assert set(rule.unset) <= set(rule.modes), place
        else:
            assert rule.words or rule.risk is Risk.HARMLESS, place


def test_settings_of_nobody_known_are_judged_by_tables_that_there_are() -> None:
    assert set(ANYBODYS) <= set(CLIENTS)
    assert load_table("nobody") is None
