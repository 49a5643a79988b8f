"""Qwen Code: `.qwen/` and QWEN.md, much as Gemini CLI. It moves settings that it cannot read aside and goes on with
none, so that the guard is off: a trailing comma or an empty file is refused.
"""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.checks import (
    check_front_matter,
    check_hooks,
    check_text_lists,
    check_types,
    combine_checks,
    find_at_imports,
)
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Scripts, Skills, Texts
from takeback.adapters.clients.gemini import check_server_ways, list_context_files
from takeback.adapters.clients.risk_rules import (
    Risk,
    RiskRule,
    make_list_rules,
    make_mode_rule,
    make_rules,
    make_switch_rules,
)
from takeback.adapters.clients.servers import SERVER_RISKS
from takeback.adapters.formats.json_document import CommentedJsonDocument
from takeback.adapters.formats.toml_document import ClientTomlDocument

_RULES: Final = (
    DocumentRule(("mcpServers",), "servers", "mcp:"),
    DocumentRule(("hooks",), "hooks"),
    DocumentRule(("model", "name"), "model"),
)
_EVENTS: Final = frozenset(
    {
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd"),
        *("SessionDelete", "MessageDisplay", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact"),
        *("PostCompact", "Notification", "PermissionRequest", "PermissionDenied", "TodoCreated", "TodoCompleted"),
    }
)
_MAPPINGS: Final = (
    "model",
    "mcpServers",
    "context",
    "tools",
    "general",
    "ui",
    "security",
    "hooks",
    "mcp",
    "permissions",
)
_TYPES: Final = {
    **dict.fromkeys(_MAPPINGS, (dict,)),
    "model.name": (str,),
    "model.maxSessionTurns": (int,),
    "context.fileName": (str, list),
    "tools.approvalMode": (str,),
    "permissions.allow": (list,),
    "permissions.ask": (list,),
    "permissions.deny": (list,),
    "disableAllHooks": (bool,),
}
RISKS: Final[dict[str, RiskRule]] = {
    **SERVER_RISKS,
    **make_rules(
        Risk.EXECUTES, "mcp.serverCommand tools.discoveryCommand tools.callCommand ui.statusLine.** tools.shell.**"
    ),
    **make_rules(
        Risk.GUARD,
        "tools.sandbox",
        "is no longer on",
        fine=(True, "docker", "podman", "sandbox-exec", "lxc", "runsc"),
    ),
    **make_rules(Risk.REDIRECTS, "proxy modelProviders.** model.baseUrl security.auth.** telemetry.**"),
    **make_rules(Risk.INJECTS, "env.**"),
    **make_rules(Risk.LOADS, "extensions.**"),
    **make_list_rules(
        Risk.GROWING,
        {
            "permissions.allow": "allows more",
            "tools.allowed": "allows more",
            "context.includeDirectories": "opens more directories",
        },
    ),
    **make_list_rules(
        Risk.SHRINKING,
        {
            "permissions.deny": "denies less",
            "permissions.ask": "asks less",
            "mcp.excluded": "excludes fewer servers",
            "tools.exclude": "excludes fewer tools",
            "advanced.excludedEnvVars": "passes more of the environment on",
        },
    ),
    **make_list_rules(
        Risk.LIMITING,
        dict.fromkeys(("mcp.allowed", "tools.core", "security.allowedHttpHookUrls"), "limits less"),
    ),
    **make_mode_rule("tools.approvalMode", "plan default auto-edit auto yolo", "default"),
    **make_switch_rules(True, {"disableAllHooks": "disables every hook"}),
    **make_list_rules(Risk.GUARD, {"security.folderTrust.enabled": "is no longer on"}),
    **make_rules(Risk.PROTECTED, "permissions.** security.**", "is part of the permissions, and changed"),
    **make_rules(
        Risk.HARMLESS,
        "$version ui.** general.** privacy.** ide.** model.** context.fileName context.fileFiltering.** description",
    ),
}


def qwen(*, user: bool = False) -> Client:
    """Return the declaration of Qwen Code; with `user`, of the user's own folder."""
    base = "" if user else ".qwen/"
    lists = check_text_lists(("permissions.allow", "permissions.ask", "permissions.deny"))
    kinds = frozenset({"command", "http", "prompt"})
    check = combine_checks(check_types(_TYPES), lists, check_server_ways, check_hooks(kinds))
    return Client(
        "qwen",
        ("settings.json", "QWEN.md") if user else (".qwen", "QWEN.md"),
        (
            Documents(
                f"{base}settings.json", CommentedJsonDocument, _RULES, check=check, own=frozenset({("$version",)})
            ),
            Documents(
                f"{base}commands/*.toml",
                ClientTomlDocument,
                (DocumentRule(("prompt",), "text", "commands/{}.toml"),),
                "commands/{}.toml",
                fresh=b"",
                check=check_types({"description": (str,), "prompt": (str,)}),
            ),
        ),
        texts=(
            Texts(f"{base}commands", ".md", "commands/{}"),
            Texts(f"{base}agents", ".md", "agents/{}", check=check_front_matter("name", "description")),
            Texts(f"{base}team-memory", ".md", "team-memory/{}"),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("QWEN.md", "QWEN.local.md", "AGENTS.md"),
        nested=not user,
        events=_EVENTS,
        imports=find_at_imports,
        includes=list_context_files,
        user_folder=".qwen",
        user=user,
        risks=RISKS,
    )
