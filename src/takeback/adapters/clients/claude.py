"""Claude Code, and repositories that are plugins of it or a marketplace of such."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from takeback.adapters.clients.checks import (
    Types,
    check_choices,
    check_hooks,
    check_needed_keys,
    check_text_lists,
    check_types,
    combine_checks,
    find_at_imports,
    list_members,
    spread_types,
)
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills
from takeback.adapters.clients.common_parts import (
    AGENTS,
    HOOKS,
    check_reachable,
    declare_hooks,
    declare_models,
    declare_servers,
    declare_texts,
)
from takeback.adapters.formats.json_document import JsonDocument

_EVENT_NAMES: Final = (
    "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion "
    "SessionStart SessionEnd Stop StopFailure SubagentStart SubagentStop PreCompact PostCompact PreModelSwitch "
    "PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted Elicitation "
    "ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged "
    "DirectoryAdded MessageDisplay"
)
EVENTS: Final = frozenset(_EVENT_NAMES.split())
_TYPES: Final[Types] = {
    str: """
$schema advisorModel agent apiKeyHelper attribution.commit attribution.pr attributionProject
autoMemoryDirectory awsAuthRefresh awsCredentialExport claudeMd fileSuggestion.command gcpAuthRefresh
language minimumVersion model otelHeadersHelper outputStyle plansDirectory pluginTrustMessage
processWrapper proxyAuthHelper prUrlTemplate requiredMaximumVersion requiredMinimumVersion
statusLine.command timeZone
""",
    bool: """
agentPushNotifEnabled allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp alwaysThinkingEnabled
autoCompactEnabled autoDreamEnabled autoMemoryEnabled autoScrollEnabled awaySummaryEnabled
bashEditDiffEnabled clawdFileProgressEnabled disableAllHooks disableReplyCheck doneMeansMerged
emojiCompletionEnabled fastMode fileCheckpointingEnabled forceRemoteSettingsRefresh idleCompaction
includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled precomputeCompactionEnabled
prefersReducedMotion promptSuggestionEnabled respectGitignore respondToBashCommands
sandbox.allowUnsandboxedCommands sandbox.autoAllowBashIfSandboxed sandbox.enabled
sandbox.enableWeakerNestedSandbox sandbox.failIfUnavailable showClearContextOnPlanAccept
showMessageTimestamps showThinkingSummaries showTurnDuration spinnerTipsEnabled switchModelsOnFlag
syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename todoFeatureEnabled
totalTokensReminderAfterUserTurn verbose voice.enabled wheelScrollAccelerationEnabled
workflowKeywordTriggerEnabled wslInheritsWindowsSettings
""",
    (bool, type(None)): """
allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly
autoContinueAtUsageLimit autoUploadSessions channelsEnabled disableAgentView disableArtifact
disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources disableRemoteControl
disableSideloadFlags disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows
enableAllProjectMcpServers enableArtifact enableWorkflows enforceAvailableModels fastModePerSessionOptIn
isolatePeerMachines remoteControlAtStartup responseComparisonEnabled skipDangerousModePermissionPrompt
skipWebFetchPreflight skipWorkflowUsageWarning syncClaudeAiPlugins syncClaudeAiSkills
""",
    int: "cleanupPeriodDays desktopSessionCleanupPeriodDays skillListingMaxDescChars totalTokensReminderBudget",
    float: "feedbackSurveyRate skillListingBudgetFraction",
    dict: """
breakReminder enabledPlugins env fileSuggestion hooks modelOverrides permissions pluginConfigs
quietHours remote remoteTools sandbox sandbox.filesystem sandbox.ignoreViolations sandbox.network
skillOverrides spinnerVerbs statusLine voice worktree
""",
    list: """
allowedChannelPlugins allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements
fallbackModel httpHookAllowedEnvVars permissions.additionalDirectories permissions.allow permissions.ask
permissions.deny pluginSuggestionMarketplaces sandbox.excludedCommands spinnerVerbs.verbs sshConfigs
worktree.sparsePaths worktree.symlinkDirectories
""",
    (list, type(None)): "blockedMarketplaces strictKnownMarketplaces",
    (str, list): "disabledMcpjsonServers enabledMcpjsonServers",
    (bool, dict): "attribution",
}
"""The types that Claude Code checks in its settings: with one of them wrong, it drops the whole file.

Found by giving version 2.1.325 every key with a value of each type and reading what `claude doctor` said. Keys that
it ignores one by one when they are wrong (`effortLevel`, `theme`, `modelSettings` and the like) are not in here.
"""
TYPES: Final = spread_types(_TYPES)
CHOICES: Final = {
    "permissions.defaultMode": frozenset({"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}),
    "permissions.disableBypassPermissionsMode": frozenset({"disable"}),
    "permissions.disableAutoMode": frozenset({"disable"}),
    "statusLine.type": frozenset({"command"}),
    "fileSuggestion.type": frozenset({"command"}),
    "spinnerVerbs.mode": frozenset({"append", "replace"}),
    "voice.mode": frozenset({"hold", "tap"}),
}
"""Texts of which only some are known."""
_TEXTS_IN: Final = (
    "permissions.additionalDirectories worktree.symlinkDirectories worktree.sparsePaths sandbox.excludedCommands "
    "availableModels companyAnnouncements"
)
"""Lists in which one item that is not a text is enough."""
_NEEDED: Final = {"statusLine": ("type", "command"), "fileSuggestion": ("type", "command")}
_RISKS: Final = """
executes: statusLine.** subagentStatusLine.** apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh
    otelHeadersHelper proxyAuthHelper policyHelper.** processWrapper fileSuggestion.** sandbox.ripgrep.**
    mcpServers.** hooks.** pluginConfigs.** remoteTools.**
redirects: modelOverrides.** sshConfigs remote.** prUrlTemplate plansDirectory autoMemoryDirectory
    sandbox.network.httpProxyPort sandbox.network.socksProxyPort
injects: env.*
loads: enabledPlugins.* extraKnownMarketplaces.** outputStyle
growing, allows more: permissions.allow
growing, opens more directories: permissions.additionalDirectories
growing, takes more commands out of the sandbox: sandbox.excludedCommands
growing, lets the sandbox write more: sandbox.filesystem.allowWrite
growing, lets the sandbox read more: sandbox.filesystem.allowRead
growing, lets the sandbox reach more: sandbox.network.allowedDomains sandbox.network.allowUnixSockets
growing, ignores more of what the sandbox finds: sandbox.ignoreViolations.*
growing, approves more servers: enabledMcpjsonServers
growing, lets hooks reach more: allowedHttpHookUrls
growing, passes more of the environment to hooks: httpHookAllowedEnvVars
growing, lets more plugins send messages: allowedChannelPlugins
growing, suggests plugins of more places: pluginSuggestionMarketplaces
growing, leaves out more instructions: claudeMdExcludes
shrinking, denies less: permissions.deny
shrinking, asks less: permissions.ask
shrinking, lets the sandbox read more: sandbox.filesystem.denyRead
shrinking, lets the sandbox write more: sandbox.filesystem.denyWrite
shrinking, lets the sandbox reach more: sandbox.network.deniedDomains
shrinking, rejects fewer servers: disabledMcpjsonServers deniedMcpServers
shrinking, blocks fewer sources of plugins: blockedMarketplaces
limiting: availableModels strictKnownMarketplaces allowedMcpServers
ordered plan dontAsk default acceptEdits auto bypassPermissions, default auto: permissions.defaultMode
switch on, disables every hook: disableAllHooks
switch on, disables the hooks of this harness: allowManagedHooksOnly
switch on, disables the permission rules of this harness: allowManagedPermissionRulesOnly
switch on, approves every server: enableAllProjectMcpServers
switch on, approves every server of the account: allowAllClaudeAiMcps
switch on, allows the browser beside managed servers: allowClaudeInChromeWithManagedMcp
switch on, skips the prompt of the mode without permissions: skipDangerousModePermissionPrompt
switch on, skips the prompt of the mode that decides by itself: skipAutoPermissionPrompt
switch on, skips the check of addresses: skipWebFetchPreflight
switch on, lets the client decide by itself while planning: useAutoModeDuringPlan
switch on, weakens the sandbox: sandbox.enableWeakerNestedSandbox sandbox.enableWeakerNetworkIsolation
switch on, lets the sandbox reach more: sandbox.network.allowAllUnixSockets
switch on, lets the sandbox listen: sandbox.network.allowLocalBinding
switch on, checks commands less: disableWindowsBashCommandSplit
switch on, lets the session be controlled from elsewhere: remoteControlAtStartup
switch on, lets others send messages into the session: channelsEnabled
switch on, sends sessions elsewhere: autoUploadSessions
switch on, brings in plugins of the account: syncClaudeAiPlugins
switch on, brings in skills of the account: syncClaudeAiSkills
switch on, lets the output of commands start a turn: respondToBashCommands
switch on by default, allows commands without asking: sandbox.autoAllowBashIfSandboxed
switch on by default, allows commands outside of the sandbox: sandbox.allowUnsandboxedCommands
guard: sandbox.enabled sandbox.failIfUnavailable
guard, is no longer set: permissions.disableBypassPermissionsMode permissions.disableAutoMode disableAutoMode
    disableSkillShellExecution disableCommandPluginSources disableSideloadFlags disableRemoteControl
    disableClaudeAiConnectors isolatePeerMachines enforceAvailableModels allowManagedMcpServersOnly
    sandbox.network.allowManagedDomainsOnly sandbox.filesystem.allowManagedReadPathsOnly forceLoginMethod
    forceLoginOrgUUID env.CLAUDE_CODE_SUBPROCESS_ENV_SCRUB
protected: permissions.** sandbox.** autoMode.** permissions.defaultMode.**
harmless: statusLine.type statusLine.padding statusLine.refreshInterval fileSuggestion.type subagentStatusLine.type
    env.LANG env.LC_ALL env.TZ env.TERM env.COLORTERM env.NO_COLOR env.FORCE_COLOR env.CI env.MAX_THINKING_TOKENS
    env.CLAUDE_CODE_MAX_OUTPUT_TOKENS env.MAX_MCP_OUTPUT_TOKENS env.BASH_DEFAULT_TIMEOUT_MS env.BASH_MAX_TIMEOUT_MS
    env.BASH_MAX_OUTPUT_LENGTH env.MCP_TIMEOUT env.MCP_TOOL_TIMEOUT env.API_TIMEOUT_MS env.DISABLE_TELEMETRY
    env.DISABLE_ERROR_REPORTING env.DISABLE_COST_WARNINGS env.DISABLE_BUG_COMMAND env.DISABLE_AUTOUPDATER
    env.CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC env.CLAUDE_CODE_DISABLE_TERMINAL_TITLE env.ANTHROPIC_MODEL
    env.ANTHROPIC_SMALL_FAST_MODEL env.CLAUDE_CODE_SUBAGENT_MODEL env.ANTHROPIC_DEFAULT_OPUS_MODEL
    env.ANTHROPIC_DEFAULT_SONNET_MODEL env.ANTHROPIC_DEFAULT_HAIKU_MODEL $schema effortLevel theme modelSettings.**
    editorMode viewMode tui autoUpdatesChannel attribution.** voice.** worktree.** spinnerVerbs.** quietHours.**
    breakReminder.** skillOverrides.**
"""
_LIVE: Final = {"hooks": Effect.LIVE, "permissions": Effect.LIVE, "disableAllHooks": Effect.LIVE}
_APPROVALS: Final = frozenset({("enabledMcpjsonServers",), ("disabledMcpjsonServers",), ("enabledPlugins",)})


class ClaudeSettings(JsonDocument):
    """Strict JSON; an empty file means no settings."""

    blank = True


def claude_code(*, user: bool = False) -> Client:
    """Return the declaration of Claude Code: `.claude/`, CLAUDE.md; with `user`, of the user's own folder."""
    base = "" if user else ".claude/"
    rules = (HOOKS, *declare_models("model", "fallbackModel", "agent"))
    check = combine_checks(
        check_types(_TYPES),
        check_choices(CHOICES),
        check_text_lists(_TEXTS_IN.split()),
        check_needed_keys(_NEEDED),
        _find_misplaced_event,
        check_hooks(),
    )

    def settings(path: str, scope: str = "", *, own: frozenset[tuple[str, ...]] = _APPROVALS) -> Documents:
        return Documents(base + path, ClaudeSettings, rules, scope, check=check, effects=_LIVE, own=own)

    local = frozenset({*_APPROVALS, ("permissions", "allow")})
    documents = [settings("settings.json"), settings("settings.local.json", "local", own=local)]
    if not user:
        servers = declare_servers(".mcp.json")
        documents.append(replace(servers, check=combine_checks(check_types({dict: "mcpServers"}), _check_servers)))
    return Client(
        "claude-code",
        ("CLAUDE.md", "settings.json") if user else (".claude", "CLAUDE.md", "CLAUDE.local.md"),
        tuple(documents),
        texts=(
            *declare_texts(base, "agents", check=AGENTS),
            *declare_texts(base, "commands", effect=Effect.LIVE),
            *declare_texts(base, "rules output-styles"),
        ),
        skills=(Skills(f"{base}skills", Effect.LIVE),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"),
        nested=not user,
        events=EVENTS,
        imports=find_at_imports,
        user_folder=".claude",
        user=user,
        weak_signs=() if user else (".mcp.json",),
        risks=_RISKS,
        known=TYPES,
    )


def _find_misplaced_event(value: object, *, top: bool = True) -> str | None:
    """Return the complaint about a key outside of `hooks` that is named like a hook event, if there is one."""
    for key, below in value.items() if isinstance(value, dict) else ():
        if top and key == "hooks":
            continue
        if key in EVENTS:
            return f"the key {key!r} stands outside of 'hooks'"
        event_below = _find_misplaced_event(below, top=False)
        if event_below is not None:
            return event_below
    return None


def _check_servers(value: object) -> str | None:
    for name, server in list_members(value, "mcpServers"):
        if not isinstance(server, dict):
            return f"mcpServers.{name} must be a mapping"
        if "url" in server and server.get("type") not in {"http", "sse", "ws", "streamable-http"}:
            return f"mcpServers.{name} has a url but no type (http, sse or ws), so that the client would skip it"
    return check_reachable()(value)


_PLUGIN_RISKS: Final = """
executes: mcpServers.** hooks.** lspServers.**
loads: plugins commands agents skills outputStyles hooks mcpServers
harmless: name version description author.** owner.** license keywords homepage repository
"""


def claude_plugin(*, user: bool = False) -> Client:
    """Return the declaration of a repository with `.claude-plugin/`; there are no files of the user's."""
    types = check_types({str: "name version description", list: "plugins"})
    servers = DocumentRule(("mcpServers",), "servers", "mcp:", scope="plugin")
    documents = (
        Documents(".claude-plugin/plugin.json", JsonDocument, (servers,), check=types),
        Documents(".claude-plugin/marketplace.json", JsonDocument, (), "marketplace", check=types),
        declare_hooks("hooks/hooks.json", combine_checks(check_types({}), check_hooks())),
        declare_servers(".mcp.json"),
    )
    return Client(
        "claude-plugin",
        () if user else (".claude-plugin",),
        () if user else documents,
        texts=(
            *declare_texts("", "commands"),
            *declare_texts("", "agents", check=AGENTS),
            *declare_texts("", "output-styles"),
        ),
        skills=(Skills("skills"),),
        scripts=(Scripts("hooks", (".sh", ".py", ".js", ".mjs", ".ts")), Scripts("scripts")),
        instructions=("CLAUDE.md", "AGENTS.md"),
        events=EVENTS,
        user=user,
        is_program=False,
        risks=_PLUGIN_RISKS,
    )
