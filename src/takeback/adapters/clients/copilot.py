"""Copilot CLI: `.github/`, `.mcp.json` and the instruction files of many. It silently drops a file of the repository
that has a comment, a byte-order mark or one wrong type, so that its guard is gone; files at home may have comments.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import check_flat_hooks, check_front_matter, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Skills, Texts
from takeback.adapters.clients.risk_rules import (
    Risk,
    RiskRule,
    make_list_rules,
    make_mode_rule,
    make_rules,
    make_switch_rules,
)
from takeback.adapters.clients.servers import SERVER_RISKS, declare_servers
from takeback.adapters.formats.json_document import JsoncDocument, MarklessJsonDocument

_RULES: Final = (DocumentRule(("hooks",), "hooks"), DocumentRule(("model",), "model"))
EVENTS: Final = frozenset(
    {
        *("sessionStart", "sessionEnd", "userPromptSubmitted", "userPromptTransformed", "preToolUse", "postToolUse"),
        *("postToolUseFailure", "preCompact", "permissionRequest", "notification", "agentStop", "subagentStart"),
        *("subagentStop", "errorOccurred", "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse"),
        *("PostToolUse", "PostToolUseFailure", "PreCompact", "PermissionRequest", "Notification", "Stop"),
        *("SubagentStart", "SubagentStop"),
    }
)
"""Its own names, and those of Claude Code, with which a hook gets Claude Code's fields."""
_TYPES: Final = {
    "model": (str,),
    "effortLevel": (str,),
    "contextTier": (str,),
    "deniedUrls": (list,),
    "disabledMcpServers": (list,),
    "disabledSkills": (list,),
    "disableAllHooks": (bool,),
    "enabledPlugins": (dict,),
    "extraKnownMarketplaces": (dict,),
    "includeCoAuthoredBy": (bool,),
    "respectGitignore": (bool,),
}
RISKS: Final[dict[str, RiskRule]] = {
    **SERVER_RISKS,
    **make_rules(Risk.EXECUTES, "statusLine.** lspServers.**"),
    **make_rules(Risk.REDIRECTS, "proxyUrl sandbox.userPolicy.network.proxy"),
    **make_rules(Risk.INJECTS, "bashEnv.**"),
    **make_rules(Risk.LOADS, "enabledPlugins.* extraKnownMarketplaces.** skillDirectories"),
    **make_list_rules(
        Risk.GROWING,
        {
            "trustedFolders": "trusts more directories",
            "allowedUrls": "lets it reach more",
            "disabledSkills": "disables more skills",
        },
    ),
    **make_list_rules(
        Risk.SHRINKING, {"deniedUrls": "lets it reach more", "disabledMcpServers": "rejects fewer servers"}
    ),
    **make_switch_rules(
        True,
        {"disableAllHooks": "disables every hook", "sandbox.allowBypass": "allows commands outside of the sandbox"},
    ),
    **make_list_rules(
        Risk.GUARD,
        {
            "sandbox.enabled": "is no longer on",
            "permissions.disableBypassPermissionsMode": "is no longer set",
            "respectGitignore": "is no longer on",
        },
    ),
    **make_mode_rule("defaultPermissionMode", "plan default acceptEdits autopilot bypassPermissions", "default"),
    **make_rules(Risk.PROTECTED, "permissions.** sandbox.**", "is part of the permissions, and changed"),
    **make_rules(
        Risk.HARMLESS, "companyAnnouncements contextTier effortLevel includeCoAuthoredBy mergeStrategy version theme"
    ),
}
GITHUB: Final = ".github/"
INSTRUCTIONS: Final = ".github/copilot-instructions.md"


def declare_hook_files(folder: str) -> Documents:
    """Return the declaration of a folder with files of hooks."""
    rules = (DocumentRule(("hooks",), "hooks"),)
    return Documents(f"{folder}/*.json", MarklessJsonDocument, rules, "hooks/{}", check=check_flat_hooks(version=1))


def copilot(*, user: bool = False) -> Client:
    """Return the declaration of Copilot CLI; with `user`, of the user's own folder."""
    base = "" if user else GITHUB
    check = combine_checks(check_types(_TYPES), check_flat_hooks())
    readable = check_front_matter()
    if user:
        documents = [
            Documents("settings.json", JsoncDocument, _RULES, check=check),
            declare_servers("mcp-config.json"),
        ]
    else:
        place = f"{base}copilot/settings"
        documents = [
            Documents(f"{place}.json", MarklessJsonDocument, _RULES, check=check),
            Documents(f"{place}.local.json", MarklessJsonDocument, _RULES, "local", check=check),
            declare_servers(".mcp.json", form=MarklessJsonDocument),
            declare_servers(f"{base}mcp.json", ".github", tools=".github", form=MarklessJsonDocument),
        ]
    return Client(
        "copilot",
        ("settings.json", "mcp-config.json", "copilot-instructions.md")
        if user
        else (
            INSTRUCTIONS,
            *(f"{base}{name}" for name in ("copilot", "hooks", "instructions", "agents", "skills", "mcp.json")),
        ),
        (*documents, declare_hook_files(f"{base}hooks")),
        texts=(
            Texts(f"{base}instructions", ".instructions.md", "instructions/{}"),
            Texts(f"{base}agents", ".agent.md", "agents/{}", check=readable),
        ),
        skills=(Skills(f"{base}skills"), *(() if user else (Skills(".agents/skills", name=".agents/skills/{}"),))),
        instructions=("copilot-instructions.md",) if user else (INSTRUCTIONS, "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
        nested=not user,
        events=EVENTS,
        user_folder=".copilot",
        user=user,
        also_reads=(".claude/commands/", ".claude/skills/"),
        runs_hooks_of=(".claude/settings.json", ".claude/settings.local.json"),
        risks=RISKS,
    )
