"""Small harnesses of clients with settings in YAML, as odd as the format allows, and changes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tests.support.changes import candidate, config, file, prompt, routing
from tests.support.client_harnesses import HandEdit

SKILL = "---\nname: new\ndescription: New.\n---\n\nBe new.\n"


class YamlHarness(NamedTuple):
    """A client's files, whose they are, edits by hand, changes by Takeback, and the main document."""

    client: str
    user: bool
    main: str
    files: dict[str, str]
    edits: list[HandEdit]
    changes: list[Any]


def server(record: dict[str, Any]) -> dict[str, Any]:
    return {"op_type": "register_tool", "target": "mcp:new", "value": record}


def hook(event: str, options: dict[str, Any]) -> dict[str, Any]:
    return {"op_type": "add_listener", "target": event, "value": {"id": "new", "handler": "new", "options": options}}


YAML_HARNESSES: dict[str, YamlHarness] = {
    "continue": YamlHarness(
        "continue",
        False,
        ".continue/config.yaml",
        {
            ".continue/config.yaml": "%YAML 1.1\n---\n# anchors need the header\nname: Ledger\nversion: 1.0.0\nschema: v1\n\n"
            "model_defaults: &defaults\n  provider: openai\n  apiKey: x\n\nmodels:\n  - name: main\n    <<: *defaults\n"
            "    model: m\n    roles: [chat, edit]\n  - { name: small, <<: *defaults, model: s }\n\nrules:\n"
            '  - Money is in cents.\n  - name: "Style: short"\n    rule: >-\n      Two spaces,\n      no tabs.\n\n'
            'mcpServers:\n  - name: mini\n    command: node\n    args: ["a.mjs"]\n    env:\n      DEBUG: "off"   # quoted\n',
            ".continue/mcpServers/docs.yaml": "name: Docs\r\nversion: 0.0.1\r\nschema: v1\r\nmcpServers:\r\n- name: docs\r\n"
            "  url: http://127.0.0.1:1/mcp\r\n",
            ".continue/rules/always.md": "---\nalwaysApply: true\n---\nCents.\n",
            ".continue/prompts/release.md": "Release it.\n",
            "AGENTS.md": "- a\n- b\n",
        },
        [
            HandEdit("AGENTS.md", "- b\n", ""),
            HandEdit(".continue/config.yaml", "name: Ledger", "name: The ledger"),
            HandEdit(".continue/config.yaml", "apiKey: x", "apiKey: y"),
            HandEdit(".continue/config.yaml", "schema: v1", "schema: v2"),
            HandEdit(".continue/config.yaml", "# quoted", "# in quotes"),
            HandEdit(".continue/config.yaml", "no tabs.", "never tabs."),
            HandEdit(".continue/mcpServers/docs.yaml", "docs\r\n  url", "docs\r\n  type: sse\r\n  url"),
        ],
        [
            candidate(
                config("rules", ["One.", {"name": "x", "rule": "two\nlines\n"}]), prompt("rules/new", "New.\n")
            ),
            candidate(config("new.deep", [1, {"a": None, "b": "off"}]), prompt("AGENTS.md", "All new.\n")),
            candidate(config("mcpServers/docs:name", "no"), prompt("prompts/new", "Do it.\n")),
        ],
    ),
    "aider": YamlHarness(
        "aider",
        False,
        ".aider.conf.yml",
        {
            ".aider.conf.yml": "# every long option\nmodel: openai/m\nweak-model: openai/s\n"
            'read: [CONVENTIONS.md,  docs/style.md]\nlint-cmd:\n  - "python: ruff check"   # after every edit\n'
            "  - 'js: npx eslint'\ntest-cmd: make check\nauto-test: no        # YAML: false\nalias:\n"
            '- "fast:openai/s"\nmap-tokens: 0\n',
            ".aider.model.settings.yml": "- name: openai/m\n  extra_params: &extra\n    a: 1\n- name: s\n  extra_params: *extra\n",
            ".aiderignore": "secrets/\n*.pem\n",
            "CONVENTIONS.md": "Cents.\r\nTests.\r\n",
            "docs/style.md": "Short.\n",
        },
        [
            HandEdit("CONVENTIONS.md", "Tests", "Many tests"),
            HandEdit(".aider.conf.yml", "openai/m", "openai/n"),
            HandEdit(".aider.conf.yml", "  - 'js: npx eslint'\n", ""),
            HandEdit(".aider.conf.yml", "YAML: false", "that is false"),
            HandEdit(".aider.conf.yml", "map-tokens: 0\n", "map-tokens: 1_024\ncheck-update: off\n"),
            HandEdit(".aider.model.settings.yml", "a: 1", "a: 2"),
            HandEdit(".aiderignore", "*.pem", "*.key"),
        ],
        [
            candidate(config("alias", ["a:b", "c:d", "yes"]), routing("model", "openai/new")),
            candidate(config("set-env", ["A=1"]), prompt("CONVENTIONS.md", "All new.\n")),
            candidate(routing("editor-model", "new"), prompt(".aiderignore", "*\n")),
        ],
    ),
    "goose": YamlHarness(
        "goose",
        True,
        "config.yaml",
        {
            "config.yaml": "GOOSE_PROVIDER: openai\nGOOSE_MODEL: gpt   # main\nGOOSE_MODE: approve\nextensions:\n"
            "  developer:\n    enabled: true\n    type: builtin\n    timeout: 300\n  mini:\n    type: stdio\n    cmd: node\n"
            "    args:\n    - a.mjs\n    envs: {MODE: no}\n",
            "permission.yaml": "user:\n  always_allow: [a]\n  ask_before: []\n  never_allow:\n  - shell\n",
            ".goosehints": "Cents.\n",
            "recipes/ship.yaml": "title: {{ x }}\nprompt: |\n  Ship.\n",
        },
        [
            HandEdit("recipes/ship.yaml", "Ship.", "Ship it."),
            HandEdit("config.yaml", "# main", "# the main one"),
            HandEdit("config.yaml", "timeout: 300", "timeout: 60"),
            HandEdit("config.yaml", "{MODE: no}", "{MODE: no, B: 'on'}"),
            HandEdit("permission.yaml", "[a]", "[a, b]"),
            HandEdit(".goosehints", "Cents", "Cents, please"),
        ],
        [
            candidate(server({"type": "stdio", "cmd": "new", "args": ["-a"]}), routing("GOOSE_MODEL", "new")),
            candidate(config("permission:user.always_allow", ["b", "no"]), prompt(".goosehints", "All new.\n")),
            candidate(config("new.deep", {"a": [1, "0o7"]}), prompt("recipes/new", "title: {{ y }}\n")),
        ],
    ),
    "hermes": YamlHarness(
        "hermes",
        True,
        "config.yaml",
        {
            "config.yaml": "# mine\nmodel: openai/m\nproviders: {}\nfallback_providers:\n  - &one {provider: a, model: b}\n"
            '  - *one\napprovals:\n  mode: manual          # manual | smart | off\n  deny:\n    - "git push --force*"\n'
            '    - "*curl*|*sh*"\ncommand_allowlist: []\nhooks:\n  pre_tool_call:\n    - matcher: "terminal"\n'
            "      command: ~/guard.sh\n      timeout: 10\n  post_tool_call: [{command: ~/audit.sh}]\n"
            'mcp_servers:\n  mini:\n    command: node\n    env: {MODE: ro}\n  docs: { url: "http://127.0.0.1:1" }\n'
            "security:\n  redact_secrets: yes\n_config_version: 33\n",
            "SOUL.md": "Be kind.\nBe brief.\n",
            "agent-hooks/guard.sh": "#!/bin/sh\nexit 0\n",
            "hooks/audit/HOOK.yaml": "name: audit\nevents:\n  - agent:start\n",
            "skills/notes/SKILL.md": "---\nname: notes\ndescription: Notes.\n---\nNote.\n",
        },
        [
            HandEdit("SOUL.md", "Be brief.\n", ""),
            HandEdit("config.yaml", "openai/m", "openai/n"),
            HandEdit("config.yaml", '    - "*curl*|*sh*"\n', ""),
            HandEdit("config.yaml", "timeout: 10", "timeout: 20"),
            HandEdit("config.yaml", "audit.sh}]", "audit.sh, timeout: 1}]"),
            HandEdit("config.yaml", "command_allowlist: []", 'command_allowlist: ["ls *"]'),
            HandEdit("config.yaml", "# mine", "# ours"),
            HandEdit("config.yaml", "model: b}", "model: c}"),
            HandEdit("agent-hooks/guard.sh", "exit 0", "exit 2"),
            HandEdit("hooks/audit/HOOK.yaml", "agent:start", "agent:stop"),
        ],
        [
            candidate(server({"command": "new", "args": ["-a", "no"]}), routing("model", "new")),
            candidate(
                hook("pre_tool_call", {"matcher": "x", "command": "new.sh"}),
                file("agent-hooks/new.sh", "#!/bin/sh\n", mode="0755"),
            ),
            candidate(hook("on_session_start", {"command": "new.sh"}), prompt("skills/new", SKILL)),
            candidate(config("approvals.deny", ["rm *", "*: x", "# y"]), prompt("SOUL.md", "All new.\n")),
        ],
    ),
    "crewai": YamlHarness(
        "crewai",
        False,
        "src/ledger/config/agents.yaml",
        {
            "src/ledger/config/agents.yaml": "# keys are method names\n.defaults: &defaults\n  llm: openai/m\n  verbose: no\n\n"
            "researcher:\n  <<: *defaults\n  role: >\n    {topic} researcher\n  goal: >\n    Find what changed\n    in {topic}\n"
            '  backstory: |\n    You read diffs all day.\n    "Quotes" and: colons are fine.\n  tools: [search_tool]\n\n'
            "reviewer: {role: Reviewer, goal: \"Find bugs\", backstory: 'Strict', llm: openai/m}\n",
            "src/ledger/config/tasks.yaml": "research:\r\n  description: >\r\n    Look at {topic}.\r\n"
            "  expected_output: A list of 5 points\r\n  agent: researcher\r\n  context:\r\n    - other\r\n",
            "knowledge/user.txt": "The user.\n",
            "AGENTS.md": "- a\n- b\n",
        },
        [
            HandEdit("AGENTS.md", "- b\n", ""),
            HandEdit("src/ledger/config/agents.yaml", "verbose: no", "verbose: yes"),
            HandEdit("src/ledger/config/agents.yaml", "all day", "all night"),
            HandEdit("src/ledger/config/agents.yaml", "    in {topic}\n", "    in {topic},\n    and why\n"),
            HandEdit("src/ledger/config/agents.yaml", "'Strict'", "'Kind'"),
            HandEdit("src/ledger/config/agents.yaml", "  llm: openai/m\n", "  llm: openai/n\n"),
            HandEdit("src/ledger/config/tasks.yaml", "5 points", "6 points"),
            HandEdit("src/ledger/config/tasks.yaml", "- other", "- another"),
            HandEdit("knowledge/user.txt", "user", "person"),
        ],
        [
            candidate(
                prompt("ledger/agents:researcher.backstory", "You read diffs.\nNo: really.\n"),
                routing("ledger/agents:reviewer.llm", "new"),
            ),
            candidate(
                routing("ledger/agents:researcher.llm", "own"), config("ledger/agents:researcher.tools", ["a", "on"])
            ),
            candidate(
                prompt("ledger/tasks:research.description", "Look at it.\n\nTwice.\n"),
                file("knowledge/new.txt", "x\n"),
            ),
            candidate(
                config("ledger/tasks:next", {"agent": "reviewer", "context": ["research"]}),
                prompt("AGENTS.md", "New.\n"),
            ),
        ],
    ),
    "roomodes": YamlHarness(
        "roomodes",
        False,
        ".roomodes",
        {
            ".roomodes": "customModes:\n  - slug: docs   # writes docs\n    name: 📝 Docs\n    roleDefinition: >-\n      You write\n"
            "      docs.\n    groups:\n      - read\n      - - edit\n        - fileRegex: \\.md$\n          description: only Markdown\n"
            "  - {slug: ask, name: Ask, roleDefinition: You answer., groups: [read]}\n",
            ".rooignore": "secrets/\n*.md\n",
        },
        [
            HandEdit(".rooignore", "*.md\n", ""),
            HandEdit(".roomodes", "# writes docs", "# docs"),
            HandEdit(".roomodes", "only Markdown", "Markdown"),
            HandEdit(".roomodes", "groups: [read]}", "groups: [read, mcp]}"),
        ],
        [
            candidate(config("new", ["yes", {"a": 1}]), prompt(".rooignore", "*\n")),
            candidate(config("customModes", [{"slug": "a", "name": "A", "roleDefinition": "x\ny\n", "groups": []}])),
        ],
    ),
}


def write_yaml_harness(root: Path, name: str) -> Path:
    """Put a client's files into a directory; its scripts are executable."""
    for path, text in YAML_HARNESSES[name].files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        if path.endswith(".sh"):
            place.chmod(0o755)
    return root
