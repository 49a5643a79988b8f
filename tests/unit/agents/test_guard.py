"""The guard in front of an agent's edits: what it lets through, what it denies, what it leaves to a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import HARNESSES, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.agents.declared_files import find_home
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.guard import Answer, HookReply, answer_before, rule_on_edit
from takeback.agents.hook_dialects import translate_call
from takeback.agents.hook_events import FileEdit, read_event
from takeback.errors import HarnessError


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> str:
    return request.param


def harness(root: Path, client: str) -> Path:
    root.mkdir(exist_ok=True)
    write_harness(root, client)
    init_clients(root, (client,))
    return root


def ask(root: Path, client: str, tool: str, given: dict[str, Any], name: str = "PreToolUse") -> HookReply:
    """The guard's answer to a tool call."""
    raw = {"hook_event_name": name, "cwd": str(root), "session_id": "s1", "tool_name": tool, "tool_input": given}
    return answer_before(read_event(translate_call(json.dumps(raw).encode(), client), client, str(root)))


def decision(reply: HookReply) -> tuple[str, str]:
    """What Claude Code is told: the decision and the reason."""
    if not reply.out:
        return "", ""
    said = json.loads(reply.out)["hookSpecificOutput"]
    return said["permissionDecision"], said["permissionDecisionReason"]


BREAKING = {
    "claude-code": (".claude/settings.json", '"opus"', "5", "model must be a text"),
    "codex": (".codex/config.toml", '"never"', '"sometimes"', "approval_policy is 'sometimes'"),
    "gemini": (".gemini/settings.json", '{ "name": "g" }', '"g"', "model must be a mapping"),
    "opencode": ("opencode.jsonc", '"ask", "ls *"', '"maybe", "ls *"', "maybe"),
    "copilot": (".github/copilot/settings.json", '"high"', "5", "effortLevel must be a text"),
    "qwen": (".qwen/settings.json", '{ "name": "q", "maxSessionTurns": 40 }', '"q"', "model must be a mapping"),
    "cursor": (".cursor/mcp.json", '"command":"a"', '"commando":"a"', "must have command or url"),
    "windsurf": (".windsurf/hooks.json", '"command": "c"', '"commando": "c"', "has none of"),
    "kiro": (".kiro/hooks/guard.json", '"trigger": "PreToolUse"', '"trigger": 5', "needs a trigger"),
    "kilo": ("kilo.jsonc", '"ask", "ls *"', '"maybe", "ls *"', "maybe"),
}
SPOKEN = {
    "copilot": ("Edit", "path", "old_str", "new_str"),
    "qwen": ("edit", "file_path", "old_string", "new_string"),
    "kilo": ("edit", "filePath", "oldString", "newString"),
    "kiro": ("strReplace", "path", "oldStr", "newStr"),
    "cursor": ("StrReplace", "path", "old_string", "new_string"),
    "cline": ("editor", "path", "old_text", "new_text"),
    "windsurf": ("", "file_path", "old_string", "new_string"),
    "claude-code": ("Edit", "file_path", "old_string", "new_string"),
    "gemini": ("replace", "file_path", "old_string", "new_string"),
    "opencode": ("edit", "filePath", "oldString", "newString"),
}
EVENTS = {"gemini": "BeforeTool", "opencode": "tool.execute.before", "kilo": "tool.execute.before"}
INSTRUCTIONS = {"claude-code": "CLAUDE.md", "gemini": "GEMINI.md", "qwen": "QWEN.md", "cursor": ".cursorrules"}


def speak(root: Path, client: str, tool: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """A call before an edit as a client that has words of its own says it."""
    match client:
        case "cursor":
            return {
                "hook_event_name": "preToolUse",
                "conversation_id": "s1",
                "workspace_roots": [str(root)],
                "tool_name": tool,
                "tool_input": given,
            }
        case "windsurf":
            edit = {key: given[key] for key in ("old_string", "new_string")}
            info = {"file_path": given["file_path"], "edits": [edit]}
            return {"agent_action_name": "pre_write_code", "trajectory_id": "s1", "tool_info": info}
        case "cline":
            about = {"id": "c", "name": tool, "input": given}
            return {"hookName": "tool_call", "taskId": "s1", "workspaceRoots": [str(root)], "tool_call": about}
    return None


def told_by(client: str, reply: HookReply) -> str:
    """Why a call is refused, as the client is told."""
    if client not in {"copilot", "cursor", "cline"}:
        assert reply.code == 2
        return reply.err
    assert (reply.code, reply.err) == (0, "")
    said = json.loads(reply.out)
    if client == "copilot":
        assert said["permissionDecision"] == "deny"
        return str(said["permissionDecisionReason"])
    if client == "cursor":
        assert said["permission"] == "deny"
        return str(said["agent_message"])
    assert said["cancel"] is True
    return str(said["errorMessage"])


def call(root: Path, client: str, path: str, old: str, new: str) -> HookReply:
    """The guard's answer to an edit, in the words of each client."""
    if client == "codex":
        lines = [line for line in (root / path).read_text().splitlines() if old in line]
        hunk = f"@@\n-{lines[0]}\n+{lines[0].replace(old, new)}"
        patch = f"*** Begin Patch\n*** Update File: {path}\n{hunk}\n*** End Patch"
        return ask(root, client, "apply_patch", {"command": patch})
    tool, *names = SPOKEN[client]
    given = dict(zip(names, (str(root / path), old, new), strict=True))
    own = speak(root, client, tool, given)
    if own is not None:
        data = translate_call(json.dumps(own).encode(), client)
        return answer_before(read_event(data, client, str(root)))
    return ask(root, client, tool, given, EVENTS.get(client, "PreToolUse"))


def test_an_edit_that_breaks_the_file_for_its_client_is_denied(client: str, tmp_path: Path) -> None:
    if client not in BREAKING:
        pytest.skip("it has no settings in a project")
    root = harness(tmp_path / "p", client)
    path, old, new, reason = BREAKING[client]
    reply = call(root, client, path, old, new)
    if client == "claude-code":
        decided, told = decision(reply)
        assert decided == "deny"
        assert reply.code == 0
    else:
        told = told_by(client, reply)
    assert reason in told
    assert path in told
    assert "Keep the file valid" in told


def test_an_edit_of_instructions_passes_silently(client: str, tmp_path: Path) -> None:
    root = harness(tmp_path / "p", client)
    path = INSTRUCTIONS.get(client, "AGENTS.md")
    old = HARNESSES[client][path].splitlines()[-1]
    assert call(root, client, path, old, "something else") == HookReply()


def test_a_denial_shows_the_smallest_breaking_content(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    _, told = decision(call(root, "claude-code", ".claude/settings.json", '"deny" : []', '"deny" : { "a": [1, 2] }'))
    assert 'The smallest content that breaks it: {"permissions":{"deny":{}}}.' in told


MALFORMED = {
    "claude-code": (".claude/settings.json", '"model" :', '"model"'),
    "codex": (".codex/config.toml", "approval_policy=", "approval_policy "),
    "gemini": (".gemini/settings.json", '"name": "g"', '"name" "g"'),
    "opencode": ("opencode.jsonc", '"edit": "ask"', '"edit" "ask"'),
    "copilot": (".github/copilot/settings.json", '"effortLevel":', '"effortLevel"'),
    "qwen": (".qwen/settings.json", '"name": "q"', '"name" "q"'),
    "cursor": (".cursor/mcp.json", '"command":"a"', '"command""a"'),
    "windsurf": (".windsurf/hooks.json", '"command": "c"', '"command" "c"'),
    "kiro": (".kiro/hooks/guard.json", '"timeout": 10', '"timeout" 10'),
    "kilo": ("kilo.jsonc", '"edit": "ask"', '"edit" "ask"'),
}


def test_a_denial_of_malformed_content_shows_its_smallest_part(client: str, tmp_path: Path) -> None:
    if client not in MALFORMED:
        pytest.skip("it has no settings in a project")
    root = harness(tmp_path / "p", client)
    path, old, new = MALFORMED[client]
    reply = call(root, client, path, old, new)
    told = decision(reply)[1] if client == "claude-code" else told_by(client, reply)
    assert "line " in told
    _, _, smallest = told.partition("The smallest content that breaks it: ")
    smallest = smallest.partition(". Keep the file valid")[0]
    assert 0 < len(smallest) < 20


def test_a_denial_of_incomplete_front_matter_shows_its_smallest_part(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    _, told = decision(call(root, "claude-code", ".claude/agents/tester.md", "name: tester", "nam: tester"))
    _, _, smallest = told.partition("The smallest content that breaks it: ")
    assert "Twice" not in smallest.partition(" Keep the file")[0]


@pytest.mark.parametrize(
    ("path", "line", "told"),
    [
        (".claude/commands/ship/it.md", "allowed-tools: Bash(rm:*), Read", "allows more: Bash(rm:*), Read"),
        (".claude/agents/tester.md", "permissionMode: bypassPermissions", "is loosened"),
        (".claude/skills/notes/SKILL.md", "allowed-tools: [Bash]", "allows more: Bash"),
    ],
)
def test_front_matter_that_loosens_permissions_needs_a_person(
    path: str, line: str, told: str, tmp_path: Path
) -> None:
    root = harness(tmp_path / "p", "claude-code")
    text = (root / path).read_text()
    text = text.replace("---\n", f"---\n{line}\n", 1) if text.startswith("---") else f"---\n{line}\n---\n{text}"
    decided, reason = decision(ask(root, "claude-code", "Write", {"file_path": str(root / path), "content": text}))
    assert decided == "ask"
    assert told in reason
    (root / path).write_text(text)
    stricter = text.replace(line, "description: nothing but words")
    given = {"file_path": str(root / path), "content": stricter}
    assert decision(ask(root, "claude-code", "Write", given))[0] == ""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (',\t"Read"', ',\t"Bash(rm:*)"', "allows more: Bash(rm:*)"),
        ('"command" : "b"', '"command" : "true"', "has a hook removed or changed"),
        ('{ "matcher" : "Bash"', '{ "matcher" : "Never"', "has a hook removed or changed"),
    ],
)
def test_removing_a_guard_or_loosening_a_permission_needs_a_person(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    root = harness(tmp_path / "p", "claude-code")
    decided, reason = decision(call(root, "claude-code", ".claude/settings.json", old, new))
    assert decided == "ask"
    assert told in reason


def test_a_looser_permission_is_denied_where_the_client_cannot_ask(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "codex")
    reply = call(root, "codex", ".codex/config.toml", '"never"', '"untrusted"')
    assert reply == HookReply()
    reply = call(root, "codex", ".codex/config.toml", "model = 'gpt-5.5'", "sandbox_mode = 'danger-full-access'")
    assert reply.code == 2
    assert "a person can make it" in reply.err


def test_changing_a_script_that_a_hook_runs_needs_a_person(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    script = root / ".claude/hooks/guard.sh"
    assert ask(root, "claude-code", "Write", {"file_path": str(script), "content": "exit 2\n"}) == HookReply()
    settings = root / ".claude/settings.json"
    settings.write_bytes(settings.read_bytes().replace(b'"command" : "a"', b'"command" : ".claude/hooks/guard.sh"'))
    decided, reason = decision(ask(root, "claude-code", "Write", {"file_path": str(script), "content": "exit 2\n"}))
    assert decided == "ask"
    assert "which a hook, a setting or a server runs, is changed" in reason


def test_deleting_the_settings_removes_their_guards(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "codex")
    patch = "*** Begin Patch\n*** Delete File: .codex/hooks.json\n*** End Patch\n"
    reply = ask(root, "codex", "Bash", {"command": f"apply_patch <<'EOF'\n{patch}EOF"})
    assert reply.code == 2
    assert "has a hook removed or changed" in reply.err


def test_edits_of_takebacks_own_files_are_denied(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    given = {"file_path": str(root / ".takeback/manifest.toml"), "content": ""}
    decided, reason = decision(ask(root, "claude-code", "Write", given))
    assert decided == "deny"
    assert "Takeback's own" in reason


def test_edits_that_repair_a_broken_file_are_allowed(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    settings = root / ".claude/settings.json"
    settings.write_text("{")
    assert ask(root, "claude-code", "Write", {"file_path": str(settings), "content": "{ }"}) == HookReply()
    assert ask(root, "claude-code", "Write", {"file_path": str(settings), "content": "{ ,"}) == HookReply()


def test_an_edit_that_cannot_be_recorded_needs_a_person(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    outside = tmp_path / "outside.md"
    outside.write_text("x\n")
    (root / "sub").mkdir()
    (root / "sub/CLAUDE.md").symlink_to(outside)
    given = {"file_path": str(root / "sub/CLAUDE.md"), "content": "y\n"}
    decided, reason = decision(ask(root, "claude-code", "Write", given))
    assert decided == "ask"
    assert "leads out" in reason
    (root / ".takeback/journal.db").unlink()
    given = {"file_path": str(root / "CLAUDE.md"), "content": "y\n"}
    decided, reason = decision(ask(root, "claude-code", "Write", given))
    assert decided == "ask"
    assert "journal" in reason


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "src/main.py", "content": "{"}),
        ("Write", {"file_path": "/nowhere/settings.json", "content": "{"}),
        ("Edit", {"file_path": ".claude/settings.json", "old_string": "not there", "new_string": "{"}),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "{"}),
        ("Bash", {"command": "echo '{' > .claude/settings.json"}),
        ("Read", {"file_path": ".claude/settings.json"}),
    ],
)
def test_calls_that_edit_no_harness_file_pass(tool: str, given: dict[str, Any], tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    assert ask(root, "claude-code", tool, given) == HookReply()


def test_several_edits_are_judged_by_their_result(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    steps = [
        {"old_string": '"opus"', "new_string": "5"},
        {"old_string": '"model" : 5', "new_string": '"model" : "haiku"'},
    ]
    given = {"file_path": str(root / ".claude/settings.json"), "edits": steps}
    assert ask(root, "claude-code", "MultiEdit", given) == HookReply()
    decided, _ = decision(ask(root, "claude-code", "MultiEdit", {**given, "edits": steps[:1]}))
    assert decided == "deny"


def test_an_edit_is_computed_in_a_file_with_other_line_endings(tmp_path: Path) -> None:
    root = harness(tmp_path / "p", "claude-code")
    old = '"model" : "opus"\n\t, "permissions"'
    decided, _ = decision(call(root, "claude-code", ".claude/settings.json", old, '"model" : 5\n\t, "permissions"'))
    assert decided == "deny"


@pytest.mark.parametrize(
    "about",
    [
        'journal = ".takeback/journal.db"\nkinds = ["claude-code"]',
        "kinds = ['claude-code'] # as TOML has it",
        "kinds = [\n  'claude-code',\n]\nuser = false",
        'kinds = ["claude-code"]\n[other]\nkinds = []',
    ],
)
def test_the_guard_reads_a_manifest_in_any_toml_style(about: str, tmp_path: Path) -> None:
    (tmp_path / ".takeback").mkdir()
    (tmp_path / ".takeback/manifest.toml").write_text(f"# ours\n\n[workspace]\n{about}\n")
    home = find_home(str(tmp_path / "CLAUDE.md"))
    assert home is not None
    assert [client.name for client in home.clients] == ["claude-code"]


def test_a_manifest_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".takeback").mkdir()
    for text in ("", "[workspace", "kinds = 5", '[workspace]\nkinds = ["claude-code"]\nkinds = ["codex"]'):
        (tmp_path / ".takeback/manifest.toml").write_text(text)
        with pytest.raises(HarnessError, match="cannot be read"):
            find_home(str(tmp_path / "CLAUDE.md"))


def test_a_setting_is_judged_by_the_client_that_owns_its_file(
    tmp_path: Path,
) -> None:
    on, off = b'{"disableAutoMode": true}', b"{}"
    for place in (".claude/settings.json", ".gemini/settings.json"):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_bytes(on)
    init_clients(tmp_path, ("claude-code", "gemini"))
    of_claude, of_gemini = (str(tmp_path / one / "settings.json") for one in (".claude", ".gemini"))
    assert rule_on_edit(FileEdit(of_claude, on, off)).answer is Answer.ASK
    assert rule_on_edit(FileEdit(of_gemini, on, off)).answer is Answer.PASS
