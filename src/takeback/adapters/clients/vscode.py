"""Copilot in VS Code: `.vscode/` and `.github/`. Its settings are the editor's, with dots in their names; the front
matter of an agent may have hooks, and a task may run when the folder is opened.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_front_matter, check_types
from takeback.adapters.clients.client import Client, Documents, Effect, Skills, Texts
from takeback.adapters.clients.copilot import GITHUB, INSTRUCTIONS, declare_hook_files
from takeback.adapters.clients.risk_rules import Risk, RiskRule, make_list_rules, make_rules, make_switch_rules
from takeback.adapters.clients.servers import declare_servers
from takeback.adapters.formats.json_document import JsoncDocument

_EVENTS: Final = frozenset(
    {
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart"),
        *("SubagentStop", "Stop", "preToolUse", "postToolUse", "sessionStart", "sessionEnd", "userPromptSubmitted"),
    }
)
_CHANGED: Final = "is part of the permissions, and changed"
RISKS: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES, "servers.** hooks.** tasks terminal.integrated.profiles.** python.defaultInterpreterPath"
    ),
    **make_rules(Risk.REDIRECTS, "http.proxy github.copilot.advanced.**"),
    **make_rules(Risk.INJECTS, "terminal.integrated.env.**"),
    **make_rules(
        Risk.LOADS,
        "chat.instructionsFilesLocations.* chat.promptFilesLocations.* chat.agentFilesLocations.* "
        "chat.pluginLocations.* chat.agentSkillsLocations.*",
    ),
    **make_list_rules(Risk.GROWING, {"chat.agent.allowedNetworkDomains": "lets it reach more"}),
    **make_switch_rules(
        True,
        {
            "chat.tools.autoApprove": "accepts calls without asking",
            "chat.tools.global.autoApprove": "accepts calls without asking",
            "chat.useCustomAgentHooks": "runs hooks of agents",
        },
    ),
    **make_switch_rules(
        False, {"chat.hookFilesLocations.*": "leaves out hooks", "chat.useHooks": "disables every hook"}, default=True
    ),
    **make_list_rules(Risk.GUARD, {"chat.agent.sandbox.enabled": "is no longer on"}),
    **make_rules(Risk.PROTECTED, "chat.tools.** chat.mcp.** chat.agent.sandbox.** security.workspace.**", _CHANGED),
    **make_rules(
        Risk.HARMLESS,
        "editor.** files.** search.** workbench.** explorer.** version inputs "
        "github.copilot.chat.commitMessageGeneration.** chat.useAgentsMdFile chat.editor.**",
    ),
}
_READABLE: Final = check_front_matter()


def vscode(*, user: bool = False) -> Client:
    """Return the declaration of Copilot in VS Code; it has no files of the user's that Takeback knows."""
    return Client(
        "vscode",
        ()
        if user
        else (
            ".vscode/mcp.json",
            '.vscode/settings.json "chat.',
            '.vscode/settings.json "github.copilot.',
            ".github/prompts",
        ),
        ()
        if user
        else (
            Documents(".vscode/settings.json", JsoncDocument, effect=Effect.LIVE),
            declare_servers(".vscode/mcp.json", key="servers", form=JsoncDocument),
            Documents(".vscode/tasks.json", JsoncDocument, scope="tasks", check=check_types({"tasks": (list,)})),
            declare_hook_files(f"{GITHUB}hooks"),
        ),
        texts=(
            Texts(f"{GITHUB}prompts", ".prompt.md", "prompts/{}", check=_READABLE, effect=Effect.LIVE),
            Texts(f"{GITHUB}instructions", ".instructions.md", "instructions/{}"),
            Texts(f"{GITHUB}agents", ".agent.md", "agents/{}", check=_READABLE),
            Texts(f"{GITHUB}chatmodes", ".chatmode.md", "chatmodes/{}", check=_READABLE),
        ),
        skills=(Skills(f"{GITHUB}skills"), Skills(".agents/skills", name=".agents/skills/{}")),
        instructions=(INSTRUCTIONS, "AGENTS.md", "CLAUDE.md"),
        events=_EVENTS,
        user=user,
        also_reads=(".claude/skills/",),
        runs_hooks_of=(".claude/settings.json", ".claude/settings.local.json"),
        risks=RISKS,
        dotted=True,
    )
