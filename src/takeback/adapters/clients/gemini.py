"""Gemini CLI and Qwen Code, which was made from it: `.gemini/` and GEMINI.md, `.qwen/` and QWEN.md.

Gemini does not start with a byte-order mark, an empty file, a trailing comma. Qwen moves settings that it cannot read
aside and goes on with none, so that the guard is off.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import (
    Types,
    check_hooks,
    check_text_lists,
    check_types,
    combine_checks,
    find_at_imports,
    list_members,
    list_texts,
)
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Scripts, Skills
from takeback.adapters.clients.common_parts import AGENTS, HOOKS, SERVERS, declare_models, declare_texts
from takeback.adapters.formats.json_document import CommentedJsonDocument
from takeback.adapters.formats.toml_document import ClientTomlDocument

_RULES: Final = (DocumentRule((SERVERS,), "servers", "mcp:"), HOOKS, *declare_models("model.name"))
_WAYS: Final = ("command", "url", "httpUrl")


def _check_servers(value: Any) -> str | None:
    for name, server in list_members(value, SERVERS):
        if not isinstance(server, dict) or not any(way in server for way in _WAYS):
            return f"mcpServers.{name} must have one of {', '.join(_WAYS)}"
    return None


def _list_context_files(value: Any) -> tuple[str, ...]:
    return list_texts(value, "context.fileName")


def _declare_commands(base: str, name: str) -> Documents:
    rules = (DocumentRule(("prompt",), "text", name),)
    check = check_types({str: "description prompt"})
    return Documents(f"{base}commands/*.toml", ClientTomlDocument, rules, name, fresh=b"", check=check)


class GeminiSettings(CommentedJsonDocument):
    """JSON with comments; with a byte-order mark the client does not start."""

    byte_order_mark = False


_GEMINI_EVENTS: Final = (
    "BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel BeforeToolSelection AfterModel SessionStart SessionEnd "
    "Notification PreCompress"
)
_GEMINI_TYPES: Final[Types] = {
    dict: "model mcpServers context tools general ui security privacy hooks hooksConfig mcp skills",
    str: "model.name",
    (str, list): "context.fileName",
}
_GEMINI_RISKS: Final = """
executes: tools.discoveryCommand tools.callCommand toolDiscoveryCommand toolCallCommand mcp.serverCommand
    mcpServerCommand mcpServers.** hooks.** general.preferredEditor tools.shell.**
redirects: telemetry.** advanced.bugCommand.** bugCommand.** security.auth.** proxy
loads: extensions.** policyPaths adminPolicyPaths experimental.extensionRegistryURI
growing, allows more: tools.allowed allowedTools
growing, disables more hooks: hooksConfig.disabled hooks.disabled
growing, opens more directories: context.includeDirectories includeDirectories
growing, lets the sandbox write more: tools.sandboxAllowedPaths
growing, passes more of the environment on: security.environmentVariableRedaction.allowed
shrinking, excludes fewer tools: tools.exclude excludeTools
shrinking, asks less: tools.confirmationRequired
shrinking, excludes fewer servers: mcp.excluded excludeMCPServers
shrinking, passes more of the environment on: security.environmentVariableRedaction.blocked advanced.excludedEnvVars
    excludedProjectEnvVars
limiting: tools.core coreTools mcp.allowed allowMCPServers security.allowedExtensions
ordered plan default auto_edit yolo, default: general.defaultApprovalMode
switch on, accepts calls without asking: tools.autoAccept autoAccept
switch on, lets approvals hold permanently: security.enablePermanentToolApproval security.autoAddToPolicyByDefault
switch on, lets the sandbox reach the network: tools.sandboxNetworkAccess
guard docker podman sandbox-exec runsc lxc windows-native: tools.sandbox sandbox
guard, disables every hook: hooksConfig.enabled
guard: security.disableYoloMode security.disableAlwaysAllow security.toolSandboxing security.blockGitExtensions
    security.folderTrust.enabled security.folderTrust.featureEnabled security.environmentVariableRedaction.enabled
    security.enableConseca
protected: security.** admin.** rule rules safety_checker
harmless: ui.** privacy.** output.** ide.** context.fileName contextFileName context.fileFiltering.**
    context.loadMemoryFromIncludeDirectories context.discoveryMaxDirs general.vimMode general.enableAutoUpdate
    general.disableAutoUpdate general.checkpointing.** general.sessionRetention.** model.** modelConfigs.**
    skills.enabled skills.disabled tools.useRipgrep hooksConfig.notifications advanced.autoConfigureMemory
    advanced.dnsResolutionOrder description
"""


def gemini(*, user: bool = False) -> Client:
    """Return the declaration of Gemini CLI; with `user`, of the user's own folder."""
    base = "" if user else ".gemini/"
    check = combine_checks(check_types(_GEMINI_TYPES), _check_servers, check_hooks(frozenset({"command"})))
    own = frozenset({("general", "enableAutoUpdate"), ("general", "disableAutoUpdate"), ("security", "auth")})
    policies = Documents("policies/*.toml", ClientTomlDocument, (), "policies/{}", fresh=b"")
    return Client(
        "gemini",
        ("settings.json", "GEMINI.md") if user else (".gemini", "GEMINI.md"),
        (
            Documents(f"{base}settings.json", GeminiSettings, _RULES, check=check, own=own),
            _declare_commands(base, "commands/{}"),
            *((policies,) if user else ()),
        ),
        texts=declare_texts(base, "agents", check=AGENTS),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("GEMINI.md",),
        nested=not user,
        events=frozenset(_GEMINI_EVENTS.split()),
        imports=find_at_imports,
        includes=_list_context_files,
        user_folder=".gemini",
        user=user,
        risks=_GEMINI_RISKS,
    )


_QWEN_EVENTS: Final = (
    "PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit SessionStart SessionEnd SessionDelete "
    "MessageDisplay Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact Notification "
    "PermissionRequest PermissionDenied TodoCreated TodoCompleted"
)
_QWEN_TYPES: Final[Types] = {
    dict: "model mcpServers context tools general ui security hooks mcp permissions",
    str: "model.name tools.approvalMode",
    int: "model.maxSessionTurns",
    (str, list): "context.fileName",
    list: "permissions.allow permissions.ask permissions.deny",
    bool: "disableAllHooks",
}
_QWEN_RISKS: Final = """
executes: mcpServers.** hooks.** mcp.serverCommand tools.discoveryCommand tools.callCommand ui.statusLine.**
    tools.shell.** general.preferredEditor
redirects: proxy modelProviders.** model.baseUrl security.auth.** telemetry.**
injects: env.**
loads: extensions.**
growing, allows more: permissions.allow tools.allowed
growing, opens more directories: context.includeDirectories
shrinking, denies less: permissions.deny
shrinking, asks less: permissions.ask
shrinking, excludes fewer servers: mcp.excluded
shrinking, excludes fewer tools: tools.exclude
shrinking, passes more of the environment on: advanced.excludedEnvVars
limiting: mcp.allowed tools.core security.allowedHttpHookUrls
ordered plan default auto-edit auto yolo, default: tools.approvalMode
switch on, disables every hook: disableAllHooks
guard docker podman sandbox-exec lxc runsc: tools.sandbox
guard: security.folderTrust.enabled
protected: permissions.** security.**
harmless: $version ui.** general.** privacy.** ide.** model.** context.fileName context.fileFiltering.** description
"""


def qwen(*, user: bool = False) -> Client:
    """Return the declaration of Qwen Code; with `user`, of the user's own folder."""
    base = "" if user else ".qwen/"
    check = combine_checks(
        check_types(_QWEN_TYPES),
        check_text_lists(_QWEN_TYPES[list].split()),
        _check_servers,
        check_hooks(frozenset({"command", "http", "prompt"})),
    )
    own = frozenset({("$version",)})
    return Client(
        "qwen",
        ("settings.json", "QWEN.md") if user else (".qwen", "QWEN.md"),
        (
            Documents(f"{base}settings.json", CommentedJsonDocument, _RULES, check=check, own=own),
            _declare_commands(base, "commands/{}.toml"),
        ),
        texts=(
            *declare_texts(base, "commands"),
            *declare_texts(base, "agents", check=AGENTS),
            *declare_texts(base, "team-memory"),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("QWEN.md", "QWEN.local.md", "AGENTS.md"),
        nested=not user,
        events=frozenset(_QWEN_EVENTS.split()),
        imports=find_at_imports,
        includes=_list_context_files,
        user_folder=".qwen",
        user=user,
        risks=_QWEN_RISKS,
    )
