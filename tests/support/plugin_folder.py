"""plugin/, which clients install themselves, made of the hooks, server and skill that `takeback install` adds.

`python -m tests.support.plugin_folder` makes the folder anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import takeback
from takeback.agents.hook_files import COMMAND, COMMAND_ABOUT, SKILL, build_opencode_command, build_opencode_plugin
from takeback.agents.installation import HOOKS, NAME, TRACK_HOOKS, Hook, build_hook_group, build_server
from takeback.canonical import write_pretty

FOLDER = Path(__file__).parents[2] / "plugin"
MARKET = "takeback-local"
PROGRAM = ("takeback",)
LICENCE = "Apache-2.0"
ABOUT = "Guards and records changes to an agent's own files, so that each can be undone."
ONLY_GEMINI = 'if [ -n "$GEMINI_PROJECT_DIR" ]; then {}; fi'
"""Claude Code reads Gemini's file of hooks as well, and has events of the same names."""
README = """# Takeback as a plugin

This folder adds Takeback to an agent: hooks that guard and record changes to its own instructions, settings, tools
and hooks, an MCP server that judges, makes and undoes such changes, and a skill that explains how to use it.
It contains what `takeback install --shared` adds to a project, in a form that the clients install themselves.

The client must find `takeback` (`pip install 'takeback[mcp]'`), and the project must be tracked (`takeback init`). In
other projects the hooks do nothing. If `takeback` is missing they let every edit pass, and say so.

From a checkout of the repository:

- Claude Code: `claude plugin marketplace add ./plugin`, then `claude plugin install takeback@takeback-local`.
  For one session: `claude --plugin-dir ./plugin`.
- Codex: `codex plugin marketplace add ./plugin`, then `codex plugin add takeback@takeback-local`. Its hooks run after
  you trust them in the client.
- Gemini CLI: `gemini extensions link ./plugin`.
- opencode, which has no such folders: copy `opencode/takeback.js` to `.opencode/plugins/`,
  `opencode/commands/takeback.md` to `.opencode/commands/`, and the entry of `opencode/opencode.json` into your
  settings.

`make plugin` builds this folder from the package; a test keeps the two identical.
"""


def files_of_plugin(version: str) -> dict[str, str]:
    """Return every file of the folder by its path."""
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
        ".mcp.json": _build_servers("claude-code"),
        "hooks/claude.json": {"description": ABOUT, "hooks": _build_hooks("claude-code")},
        ".codex-plugin/plugin.json": {
            **about,
            "author": author,
            "license": LICENCE,
            "skills": "./skills/",
            "mcpServers": "./mcp.codex.json",
            "hooks": "./hooks/codex.json",
        },
        "mcp.codex.json": _build_servers("codex"),
        "hooks/codex.json": {"hooks": _build_hooks("codex")},
        "gemini-extension.json": {**about, **_build_servers("gemini")},
        "hooks/hooks.json": {"hooks": _build_hooks("gemini")},
        "opencode/opencode.json": {"mcp": {NAME: build_server("opencode", PROGRAM)}},
    }
    texts = {path: write_pretty(value) + "\n" for path, value in files.items()}
    return texts | {
        f"skills/{NAME}/SKILL.md": SKILL,
        f"commands/{NAME}.toml": build_gemini_command(),
        f"opencode/{NAME}.js": build_opencode_plugin(PROGRAM),
        f"opencode/commands/{NAME}.md": build_opencode_command(),
        "README.md": README,
    }


def _build_servers(client: str) -> dict[str, Any]:
    return {"mcpServers": {NAME: build_server(client, PROGRAM)}}


def _build_hooks(client: str) -> dict[str, list[Mapping[str, Any]]]:
    hooks: dict[str, list[Mapping[str, Any]]] = {}
    for hook in (*HOOKS[client], *TRACK_HOOKS[client]):
        hooks.setdefault(hook.event, []).append(_build_group(client, hook, PROGRAM))
    return hooks


def _build_group(client: str, hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    group = build_hook_group(client, hook, program, fails_open=True)
    if client != "gemini":
        return group
    guarded = [{**hook, "command": ONLY_GEMINI.format(hook["command"])} for hook in group["hooks"]]
    return {**group, "hooks": guarded}


def build_gemini_command() -> str:
    """Return Gemini CLI's command, as its file has it."""
    return f'description = "{COMMAND_ABOUT}"\nprompt = """\n{COMMAND % "{{args}}"}"""\n'


def written(folder: Path) -> dict[str, str]:
    """Every file of a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path = FOLDER) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in files_of_plugin(takeback.__version__).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


if __name__ == "__main__":
    write()
