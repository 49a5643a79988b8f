"""What settings, hooks and texts of further clients run, redirect or allow is said, and what tightens is not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.batches import in_batches
from tests.support.risky_settings import ABSENT, TABLES, Case, cases_of

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.permissions import find_loosened_permissions
from takeback.adapters.clients.risk_tables import Risk, load_table
from takeback.state import State

MORE = [client for client in CLIENTS if client not in TABLES]
CASES = [case for client in MORE if (table := load_table(client)) is not None for case in cases_of(table)]


def _state(case: Case, value: Any) -> State:
    if value is ABSENT:
        return State()
    steps = [case.place] if CLIENTS[case.client]().dotted else case.place.split(".")
    for step in reversed(steps[1:]):
        value = {step: value}
    return State.read({"config": {steps[0]: value}})


@in_batches("case", CASES)
def test_only_loosened_settings_are_reported(case: Case) -> None:
    before, after = _state(case, case.before), _state(case, case.after)
    (reason,) = find_loosened_permissions(before, after, (case.client,))
    assert case.place.split(".")[0] in reason
    if case.risk is not Risk.PROTECTED:
        assert find_loosened_permissions(after, before, (case.client,)) == []


HARMLESS = [
    (client, place)
    for client in MORE
    if (table := load_table(client)) is not None
    for place, rule in table.rules.items()
    if rule.risk is Risk.HARMLESS and "*" not in place
]


@in_batches("client, place", HARMLESS)
def test_a_harmless_setting_is_not_reported(client: str, place: str) -> None:
    after = _state(Case(client, place, ABSENT, "./run.sh", Risk.HARMLESS), "./run.sh")
    assert find_loosened_permissions(State(), after, (client,)) == []


def _hooked(event: str, **options: Any) -> State:
    return State.read({"listeners": {event: [{"id": "g", "handler": "g", "options": options}]}})


@pytest.mark.parametrize(
    ("client", "event", "options"),
    [
        ("copilot", "hooks/g:preToolUse", {"type": "command", "bash": "./g.sh"}),
        ("cursor", "preToolUse", {"command": "./g.sh", "failClosed": True}),
        ("windsurf", "pre_write_code", {"command": "./g.sh"}),
        ("kiro", "agents/r.json:preToolUse", {"command": "./g.sh"}),
    ],
)
def test_adding_and_removing_a_flat_hook_is_reported(client: str, event: str, options: dict[str, Any]) -> None:
    (came,) = find_loosened_permissions(State(), _hooked(event, **options), (client,))
    assert "another hook, which runs a program" in came
    (gone,) = find_loosened_permissions(_hooked(event, **options), State(), (client,))
    assert "has a hook removed or changed" in gone


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("cline", ".cline/hooks/PreToolUse"),
        ("cline", ".clinerules/hooks/PreToolUse.sh"),
        ("cline", ".cline/plugins/p.ts"),
        ("kilo", ".kilo/plugin/p.js"),
    ],
)
def test_a_file_the_client_runs_by_its_place_is_reported(client: str, path: str) -> None:
    files: Any = {"content": "x", "mode": "0644"}
    state = State.read({"files": {path: files}})
    (reason,) = find_loosened_permissions(State(), state, (client,))
    assert "which the client runs when it starts, is new" in reason
    assert find_loosened_permissions(State(), State.read({"files": {"docs/p.js": files}}), (client,)) == []


def test_invalid_globs_loosen_nothing_but_hooks_of_an_agent_do() -> None:
    rule = State.read({"prompts": {"rules/ts": "---\nglobs: **/*.ts, src/**\n---\nNo any.\n"}})
    assert find_loosened_permissions(State(), rule, ("cursor",)) == []
    agent = State.read({"prompts": {"agents/f": "---\nhooks:\n  PostToolUse: [{command: ./f.sh}]\n---\n"}})
    assert "runs a program: hooks" in find_loosened_permissions(State(), agent, ("vscode",))[0]


@pytest.mark.parametrize(("client", "text"), [("qwen", "!{rm -rf x}"), ("kilo", "!`rm -rf x`")])
def test_a_command_in_a_text_is_reported_for_clients_that_run_it(client: str, text: str) -> None:
    state = State.read({"prompts": {"commands/c": f"Do it {text}\n"}})
    assert "runs a program when it is used" in find_loosened_permissions(State(), state, (client,))[0]
    assert find_loosened_permissions(State(), state, ("codex",)) == []


def test_permissions_of_kilo_are_judged_like_opencodes() -> None:
    states = [State.read({"config": {"permission": {"bash": [["rm *", action]]}}}) for action in ("deny", "allow")]
    assert find_loosened_permissions(*states, ("kilo",))
    assert find_loosened_permissions(*reversed(states), ("kilo",)) == []
