"""What `takeback install` adds to clients, as one folder that they install themselves: `plugin/` in the repository.

Claude Code, Codex and Gemini CLI read the same folder, each by its own manifest; opencode loads one file of it. The
folder's files are made here, from the same hooks, server and skill, so that they cannot say something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from takeback.agents.installing import HOOKS, NAME, SKILL, Hook, group_of, server_of
from takeback.agents.opencode_plugin import plugin_text
from takeback.canonical import pretty

MARKET: Final = "takeback-local"
PROGRAM: Final = ("takeback",)
LICENCE: Final = "Apache-2.0"
ABOUT: Final = "Guards and records changes of an agent's own files, so that each can be taken back."
ONLY_GEMINI: Final = 'if [ -n "$GEMINI_PROJECT_DIR" ]; then {}; fi'
"""Claude Code reads Gemini's file of hooks as well, and has events of the same names."""
README: Final = """# Takeback as a plugin

This folder adds Takeback to an agent: hooks that guard and record changes of its own instructions, settings, tools
and hooks, an MCP server through which it has such changes judged, made and taken back, and a skill that tells it how.
It is what `takeback install --shared` adds to a project, in a form that the clients install themselves.

`takeback` must be installed where the client finds it (`pip install 'takeback[mcp]'`), and the project must be under
its care (`takeback init`). In other projects the hooks do nothing; where `takeback` is missing they let every edit
pass, and say so.

From a checkout of the repository:

- Claude Code: `claude plugin marketplace add ./plugin`, then `claude plugin install takeback@takeback-local`.
  For one session: `claude --plugin-dir ./plugin`.
- Codex: `codex plugin marketplace add ./plugin`, then `codex plugin add takeback@takeback-local`. Its hooks run once
  they are trusted in the client.
- Gemini CLI: `gemini extensions link ./plugin`.
- opencode, which has no such folders: copy `opencode/takeback.js` to `.opencode/plugins/`, and the entry of
  `opencode/opencode.json` into your settings.

Made by `make plugin` from the package itself; a test holds the two the same.
"""


def plugin_files(version: str) -> dict[str, str]:
    """Every file of the folder, by its path."""
    author = {"name": "Takeback"}
    about = {"name": NAME, "version": version, "description": ABOUT}
    listed = {"name": NAME, "source": "./", "description": ABOUT}
    files: dict[str, Any] = {
        ".claude-plugin/marketplace.json": {
            "name": MARKET,
            "owner": author,
            "description": "Takeback, from a checkout of its repository.",
            "plugins": [listed],
        },
        ".claude-plugin/plugin.json": {
            **about,
            "author": author,
            "license": LICENCE,
            "hooks": "./hooks/claude.json",
        },
        ".mcp.json": _servers("claude-code"),
        "hooks/claude.json": {"description": ABOUT, "hooks": _hooks("claude-code")},
        ".codex-plugin/plugin.json": {
            **about,
            "author": author,
            "license": LICENCE,
            "skills": "./skills/",
            "mcpServers": "./mcp.codex.json",
            "hooks": "./hooks/codex.json",
        },
        "mcp.codex.json": _servers("codex"),
        "hooks/codex.json": {"hooks": _hooks("codex")},
        "gemini-extension.json": {**about, **_servers("gemini")},
        "hooks/hooks.json": {"hooks": _hooks("gemini")},
        "opencode/opencode.json": {"mcp": {NAME: server_of("opencode", PROGRAM)}},
    }
    texts = {path: pretty(value) + "\n" for path, value in files.items()}
    return texts | {
        f"skills/{NAME}/SKILL.md": SKILL,
        f"opencode/{NAME}.js": plugin_text(PROGRAM),
        "README.md": README,
    }


def _servers(client: str) -> dict[str, Any]:
    return {"mcpServers": {NAME: server_of(client, PROGRAM)}}


def _hooks(client: str) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for hook in HOOKS[client]:
        found.setdefault(hook.event, []).append(_group(client, hook, PROGRAM))
    return found


def _group(client: str, hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    group = group_of(client, hook, program, fails_open=True)
    if client != "gemini":
        return group
    guarded = [{**one, "command": ONLY_GEMINI.format(one["command"])} for one in group["hooks"]]
    return {**group, "hooks": guarded}
