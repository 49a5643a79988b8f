"""Copilot in its command line and in VS Code: `.github/`, `.vscode/`, `.mcp.json` and the instruction files of many.

The command line silently drops a file of the repository that has a comment, a byte-order mark or one wrong type, so
that its guard is gone; files at home may have comments. The settings of VS Code are the editor's, with dots in their
names; the front matter of an agent may have hooks there, and a task may run when the folder is opened.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import Types, check_flat_hooks, check_front_matter, check_types, combine_checks
from takeback.adapters.clients.client import Client, Documents, Effect, Skills, Texts
from takeback.adapters.clients.common_parts import AT_HOME_OF_CLAUDE, HOOKS, declare_models, declare_servers
from takeback.adapters.formats.json_document import JsoncDocument, MarklessJsonDocument

_EVENTS: Final = (
    "sessionStart sessionEnd userPromptSubmitted userPromptTransformed preToolUse postToolUse postToolUseFailure "
    "preCompact permissionRequest notification agentStop subagentStart subagentStop errorOccurred SessionStart "
    "SessionEnd UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure PreCompact PermissionRequest "
    "Notification Stop SubagentStart SubagentStop"
)
"""Its own names, and those of Claude Code, with which a hook gets Claude Code's fields."""
_TYPES: Final[Types] = {
    str: "model effortLevel contextTier",
    list: "deniedUrls disabledMcpServers disabledSkills",
    bool: "disableAllHooks includeCoAuthoredBy respectGitignore",
    dict: "enabledPlugins extraKnownMarketplaces",
}
_RISKS: Final = """
executes: mcpServers.** hooks.** statusLine.** lspServers.**
redirects: proxyUrl sandbox.userPolicy.network.proxy
injects: bashEnv.**
loads: enabledPlugins.* extraKnownMarketplaces.** skillDirectories
growing, trusts more directories: trustedFolders
growing, lets it reach more: allowedUrls
growing, disables more skills: disabledSkills
shrinking, lets it reach more: deniedUrls
shrinking, rejects fewer servers: disabledMcpServers
ordered plan default acceptEdits autopilot bypassPermissions, default: defaultPermissionMode
switch on, disables every hook: disableAllHooks
switch on, allows commands outside of the sandbox: sandbox.allowBypass
guard: sandbox.enabled respectGitignore
guard, is no longer set: permissions.disableBypassPermissionsMode
protected: permissions.** sandbox.**
harmless: companyAnnouncements contextTier effortLevel includeCoAuthoredBy mergeStrategy version theme
"""
_READABLE: Final = check_front_matter()
_INSTRUCTIONS: Final = ".github/copilot-instructions.md"
_SKILLS: Final = Skills(".agents/skills", name=".agents/skills/{}")


def _declare_hooks(base: str) -> Documents:
    return Documents(
        f"{base}hooks/*.json", MarklessJsonDocument, (HOOKS,), "hooks/{}", check=check_flat_hooks(version=1)
    )


def copilot(*, user: bool = False) -> Client:
    """Return the declaration of Copilot CLI; with `user`, of the user's own folder."""
    base = "" if user else ".github/"
    rules = (HOOKS, *declare_models("model"))
    check = combine_checks(check_types(_TYPES), check_flat_hooks())
    if user:
        documents = [
            Documents("settings.json", JsoncDocument, rules, check=check),
            declare_servers("mcp-config.json"),
        ]
    else:
        place = f"{base}copilot/settings"
        documents = [
            Documents(f"{place}.json", MarklessJsonDocument, rules, check=check),
            Documents(f"{place}.local.json", MarklessJsonDocument, rules, "local", check=check),
            declare_servers(".mcp.json", form=MarklessJsonDocument),
            declare_servers(f"{base}mcp.json", ".github", tools=".github", form=MarklessJsonDocument),
        ]
    signs = (f"{base}{name}" for name in ("copilot", "hooks", "instructions", "agents", "skills", "mcp.json"))
    return Client(
        "copilot",
        ("settings.json", "mcp-config.json", "copilot-instructions.md") if user else (_INSTRUCTIONS, *signs),
        (*documents, _declare_hooks(base)),
        texts=(
            Texts(f"{base}instructions", ".instructions.md", "instructions/{}"),
            Texts(f"{base}agents", ".agent.md", "agents/{}", check=_READABLE),
        ),
        skills=(Skills(f"{base}skills"), *(() if user else (_SKILLS,))),
        instructions=("copilot-instructions.md",) if user else (_INSTRUCTIONS, "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
        nested=not user,
        events=frozenset(_EVENTS.split()),
        user_folder=".copilot",
        user=user,
        also_reads=(".claude/commands/", ".claude/skills/"),
        runs_hooks_of=AT_HOME_OF_CLAUDE,
        risks=_RISKS,
    )


_VSCODE_EVENTS: Final = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStart SubagentStop Stop preToolUse "
    "postToolUse sessionStart sessionEnd userPromptSubmitted"
)
_VSCODE_SIGNS: Final = (
    *(".vscode/mcp.json", '.vscode/settings.json "chat.', '.vscode/settings.json "github.copilot.'),
    ".github/prompts",
)
_VSCODE_RISKS: Final = """
executes: servers.** hooks.** tasks terminal.integrated.profiles.** python.defaultInterpreterPath
    go.alternateTools.** go.toolsEnvVars.**
redirects: http.proxy github.copilot.advanced.**
injects: terminal.integrated.env.**
loads: chat.instructionsFilesLocations.* chat.promptFilesLocations.* chat.agentFilesLocations.* chat.pluginLocations.*
    chat.agentSkillsLocations.*
growing, lets it reach more: chat.agent.allowedNetworkDomains
growing, asks for more, and may run a command: inputs
switch on, accepts calls without asking: chat.tools.autoApprove chat.tools.global.autoApprove
switch on, runs hooks of agents: chat.useCustomAgentHooks
protected, says where hooks are found, and changed: chat.hookFilesLocations.*
switch off, disables every hook: chat.useHooks
guard: chat.agent.sandbox.enabled
protected: chat.tools.** chat.mcp.** chat.agent.sandbox.** security.workspace.**
harmless: editor.** files.** search.** workbench.** explorer.** version
    github.copilot.chat.commitMessageGeneration.** chat.useAgentsMdFile chat.editor.**
"""


def vscode(*, user: bool = False) -> Client:
    """Return the declaration of Copilot in VS Code; it has no files of the user's that Takeback knows."""
    documents = (
        Documents(".vscode/settings.json", JsoncDocument, effect=Effect.LIVE),
        declare_servers(".vscode/mcp.json", key="servers", form=JsoncDocument),
        Documents(".vscode/tasks.json", JsoncDocument, scope="tasks", check=check_types({list: "tasks"})),
        _declare_hooks(".github/"),
    )
    return Client(
        "vscode",
        () if user else _VSCODE_SIGNS,
        () if user else documents,
        texts=(
            Texts(".github/prompts", ".prompt.md", "prompts/{}", check=_READABLE, effect=Effect.LIVE),
            Texts(".github/instructions", ".instructions.md", "instructions/{}"),
            Texts(".github/agents", ".agent.md", "agents/{}", check=_READABLE),
            Texts(".github/chatmodes", ".chatmode.md", "chatmodes/{}", check=_READABLE),
        ),
        skills=(Skills(".github/skills"), _SKILLS),
        instructions=(_INSTRUCTIONS, "AGENTS.md", "CLAUDE.md"),
        events=frozenset(_VSCODE_EVENTS.split()),
        user=user,
        also_reads=(".claude/skills/",),
        runs_hooks_of=AT_HOME_OF_CLAUDE,
        risks=_VSCODE_RISKS,
        dotted=True,
    )
