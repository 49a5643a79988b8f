"""Tables of what a client's settings may do: run programs, redirect traffic, widen permissions.

Guard, recorder, server, page and command line all decide by these tables (`risk_rules.py` says how one is read); a
key in none of them is judged by its looks (`looks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from takeback.adapters.clients.claude_types import TYPES
from takeback.adapters.clients.risk_rules import (
    ONE,
    REST,
    SETS,
    Path,
    Risk,
    RiskRule,
    RiskTable,
    make_list_rules,
    make_mode_rule,
    make_rules,
    make_switch_rules,
)
from takeback.adapters.clients.yaml_risk_tables import YAML_TABLES

__all__ = ["ONE", "REST", "SETS", "TABLES", "Path", "Risk", "RiskRule", "RiskTable", "find_rules"]

_CLAUDE: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "statusLine.** subagentStatusLine.** apiKeyHelper awsAuthRefresh awsCredentialExport gcpAuthRefresh "
        "otelHeadersHelper proxyAuthHelper policyHelper.** processWrapper fileSuggestion.** sandbox.ripgrep.** "
        "mcpServers.** hooks.** pluginConfigs.** remoteTools.**",
    ),
    **make_rules(
        Risk.REDIRECTS,
        "modelOverrides.** sshConfigs remote.** prUrlTemplate plansDirectory autoMemoryDirectory "
        "sandbox.network.httpProxyPort sandbox.network.socksProxyPort",
    ),
    **make_rules(Risk.INJECTS, "env.*"),
    **make_rules(Risk.LOADS, "enabledPlugins.* extraKnownMarketplaces.** outputStyle"),
    **make_list_rules(
        Risk.GROWING,
        {
            "permissions.allow": "allows more",
            "permissions.additionalDirectories": "opens more directories",
            "sandbox.excludedCommands": "takes more commands out of the sandbox",
            "sandbox.filesystem.allowWrite": "lets the sandbox write more",
            "sandbox.filesystem.allowRead": "lets the sandbox read more",
            "sandbox.network.allowedDomains": "lets the sandbox reach more",
            "sandbox.network.allowUnixSockets": "lets the sandbox reach more",
            "sandbox.ignoreViolations.*": "ignores more of what the sandbox finds",
            "enabledMcpjsonServers": "approves more servers",
            "allowedHttpHookUrls": "lets hooks reach more",
            "httpHookAllowedEnvVars": "passes more of the environment to hooks",
            "allowedChannelPlugins": "lets more plugins send messages",
            "pluginSuggestionMarketplaces": "suggests plugins of more places",
            "claudeMdExcludes": "leaves out more instructions",
        },
    ),
    **make_list_rules(
        Risk.SHRINKING,
        {
            "permissions.deny": "denies less",
            "permissions.ask": "asks less",
            "sandbox.filesystem.denyRead": "lets the sandbox read more",
            "sandbox.filesystem.denyWrite": "lets the sandbox write more",
            "sandbox.network.deniedDomains": "lets the sandbox reach more",
            "disabledMcpjsonServers": "rejects fewer servers",
            "deniedMcpServers": "rejects fewer servers",
            "blockedMarketplaces": "blocks fewer sources of plugins",
        },
    ),
    **make_list_rules(
        Risk.LIMITING,
        dict.fromkeys(("availableModels", "strictKnownMarketplaces", "allowedMcpServers"), "limits less"),
    ),
    **make_mode_rule(
        "permissions.defaultMode", "plan dontAsk default acceptEdits auto bypassPermissions", "default", "auto"
    ),
    **make_switch_rules(
        True,
        {
            "disableAllHooks": "disables every hook",
            "allowManagedHooksOnly": "disables the hooks of this harness",
            "allowManagedPermissionRulesOnly": "disables the permission rules of this harness",
            "enableAllProjectMcpServers": "approves every server",
            "allowAllClaudeAiMcps": "approves every server of the account",
            "allowClaudeInChromeWithManagedMcp": "allows the browser beside managed servers",
            "skipDangerousModePermissionPrompt": "skips the prompt of the mode without permissions",
            "skipAutoPermissionPrompt": "skips the prompt of the mode that decides by itself",
            "skipWebFetchPreflight": "skips the check of addresses",
            "useAutoModeDuringPlan": "lets the client decide by itself while planning",
            "sandbox.enableWeakerNestedSandbox": "weakens the sandbox",
            "sandbox.enableWeakerNetworkIsolation": "weakens the sandbox",
            "sandbox.network.allowAllUnixSockets": "lets the sandbox reach more",
            "sandbox.network.allowLocalBinding": "lets the sandbox listen",
            "disableWindowsBashCommandSplit": "checks commands less",
            "remoteControlAtStartup": "lets the session be controlled from elsewhere",
            "channelsEnabled": "lets others send messages into the session",
            "autoUploadSessions": "sends sessions elsewhere",
            "syncClaudeAiPlugins": "brings in plugins of the account",
            "syncClaudeAiSkills": "brings in skills of the account",
            "respondToBashCommands": "lets the output of commands start a turn",
        },
    ),
    **make_switch_rules(
        True,
        {
            "sandbox.autoAllowBashIfSandboxed": "allows commands without asking",
            "sandbox.allowUnsandboxedCommands": "allows commands outside of the sandbox",
        },
        default=True,
    ),
    **make_list_rules(
        Risk.GUARD,
        {
            **dict.fromkeys(("sandbox.enabled", "sandbox.failIfUnavailable"), "is no longer on"),
            **dict.fromkeys(
                (
                    "permissions.disableBypassPermissionsMode",
                    "permissions.disableAutoMode",
                    "disableAutoMode",
                    "disableSkillShellExecution",
                    "disableCommandPluginSources",
                    "disableSideloadFlags",
                    "disableRemoteControl",
                    "disableClaudeAiConnectors",
                    "isolatePeerMachines",
                    "enforceAvailableModels",
                    "allowManagedMcpServersOnly",
                    "sandbox.network.allowManagedDomainsOnly",
                    "sandbox.filesystem.allowManagedReadPathsOnly",
                    "forceLoginMethod",
                    "forceLoginOrgUUID",
                    "env.CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
                ),
                "is no longer set",
            ),
        },
    ),
    **make_rules(
        Risk.PROTECTED,
        "permissions.** sandbox.** autoMode.** permissions.defaultMode.**",
        "is part of the permissions, and changed",
    ),
    **make_rules(
        Risk.HARMLESS,
        "statusLine.type statusLine.padding statusLine.refreshInterval fileSuggestion.type subagentStatusLine.type "
        "env.LANG env.LC_ALL env.TZ env.TERM env.COLORTERM env.NO_COLOR env.FORCE_COLOR env.CI "
        "env.MAX_THINKING_TOKENS env.CLAUDE_CODE_MAX_OUTPUT_TOKENS env.MAX_MCP_OUTPUT_TOKENS "
        "env.BASH_DEFAULT_TIMEOUT_MS env.BASH_MAX_TIMEOUT_MS env.BASH_MAX_OUTPUT_LENGTH env.MCP_TIMEOUT "
        "env.MCP_TOOL_TIMEOUT env.API_TIMEOUT_MS env.DISABLE_TELEMETRY env.DISABLE_ERROR_REPORTING "
        "env.DISABLE_COST_WARNINGS env.DISABLE_BUG_COMMAND env.DISABLE_AUTOUPDATER "
        "env.CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC env.CLAUDE_CODE_DISABLE_TERMINAL_TITLE "
        "env.ANTHROPIC_MODEL env.ANTHROPIC_SMALL_FAST_MODEL env.CLAUDE_CODE_SUBAGENT_MODEL "
        "env.ANTHROPIC_DEFAULT_OPUS_MODEL env.ANTHROPIC_DEFAULT_SONNET_MODEL env.ANTHROPIC_DEFAULT_HAIKU_MODEL "
        "$schema effortLevel theme modelSettings.** editorMode viewMode tui autoUpdatesChannel attribution.** "
        "voice.** worktree.** spinnerVerbs.** quietHours.** breakReminder.** skillOverrides.**",
    ),
}

_CODEX: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "notify mcp_servers.** hooks.** zsh_path js_repl_node_path js_repl_node_module_dirs plugins.*.command",
    ),
    **make_rules(
        Risk.REDIRECTS,
        "model_providers.** model_provider openai_base_url chatgpt_base_url experimental_realtime_ws_base_url "
        "oss_provider otel.** mcp_oauth_callback_url mcp_oauth_callback_port mcp_oauth_credentials_store "
        "cli_auth_credentials_store log_dir sqlite_home",
    ),
    **make_rules(Risk.INJECTS, "shell_environment_policy.set.**"),
    **make_rules(
        Risk.LOADS,
        "plugins.** marketplaces.** skills.** apps.** model_instructions_file experimental_instructions_file "
        "experimental_compact_prompt_file model_catalog_json agents.*.config_file",
    ),
    **make_list_rules(
        Risk.GROWING,
        {
            "sandbox_workspace_write.writable_roots": "lets the sandbox write more",
            "shell_environment_policy.include_only": "passes more of the environment on",
        },
    ),
    **make_list_rules(Risk.SHRINKING, {"shell_environment_policy.exclude": "passes more of the environment on"}),
    **make_mode_rule("approval_policy", "untrusted on-request on-failure never", "on-request"),
    **make_mode_rule("sandbox_mode", "read-only workspace-write danger-full-access", "read-only"),
    **make_mode_rule("shell_environment_policy.inherit", "none core all", "all"),
    **make_mode_rule("web_search", "disabled cached live", "cached"),
    **make_switch_rules(
        True,
        {
            "sandbox_workspace_write.network_access": "lets the sandbox reach the network",
            "shell_environment_policy.ignore_default_excludes": "passes secrets of the environment on",
            "shell_environment_policy.experimental_use_profile": "runs the profile of the shell",
            "allow_login_shell": "runs the profile of the shell",
            "tools.web_search": "lets the model search the web",
            "otel.log_user_prompt": "sends prompts elsewhere",
        },
    ),
    **make_switch_rules("trusted", {"projects.*.trust_level": "trusts a directory"}),
    **make_list_rules(
        Risk.GUARD,
        {
            "features.hooks": "disables every hook",
            "features.codex_hooks": "disables every hook",
            "sandbox_workspace_write.exclude_tmpdir_env_var": "is no longer on",
            "sandbox_workspace_write.exclude_slash_tmp": "is no longer on",
            "forced_login_method": "is no longer set",
            "forced_chatgpt_workspace_id": "is no longer set",
        },
    ),
    **make_rules(Risk.LOADS, "features.*", "switches a feature of the client, of which is not known what it does"),
    **make_rules(
        Risk.PROTECTED,
        "permissions.** default_permissions approval_policy.** approvals_reviewer.** auto_review.** "
        "sandbox_workspace_write.** windows.** shell_environment_policy.** requirements.** projects.**",
        "is part of the permissions, and changed",
    ),
    **make_rules(
        Risk.HARMLESS,
        "model_reasoning_effort model_reasoning_summary model_verbosity model_context_window "
        "model_auto_compact_token_limit personality service_tier tui.** history.** notice.** "
        "project_doc_max_bytes project_doc_fallback_filenames project_root_markers developer_instructions "
        "hide_agent_reasoning show_raw_agent_reasoning check_for_update_on_startup commit_attribution "
        "disable_paste_burst file_opener feedback.** agents.*.description name description nickname_candidates",
    ),
}

_GEMINI: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "tools.discoveryCommand tools.callCommand toolDiscoveryCommand toolCallCommand mcp.serverCommand "
        "mcpServerCommand mcpServers.** hooks.** general.preferredEditor tools.shell.**",
    ),
    **make_rules(
        Risk.GUARD,
        "tools.sandbox sandbox",
        "is no longer on",
        fine=(True, "docker", "podman", "sandbox-exec", "runsc", "lxc", "windows-native"),
    ),
    **make_rules(Risk.REDIRECTS, "telemetry.** advanced.bugCommand.** bugCommand.** security.auth.** proxy"),
    **make_rules(Risk.LOADS, "extensions.** policyPaths adminPolicyPaths experimental.extensionRegistryURI"),
    **make_list_rules(
        Risk.GROWING,
        {
            "tools.allowed": "allows more",
            "allowedTools": "allows more",
            "hooksConfig.disabled": "disables more hooks",
            "hooks.disabled": "disables more hooks",
            "context.includeDirectories": "opens more directories",
            "includeDirectories": "opens more directories",
            "tools.sandboxAllowedPaths": "lets the sandbox write more",
            "security.environmentVariableRedaction.allowed": "passes more of the environment on",
        },
    ),
    **make_list_rules(
        Risk.SHRINKING,
        {
            "tools.exclude": "excludes fewer tools",
            "excludeTools": "excludes fewer tools",
            "tools.confirmationRequired": "asks less",
            "mcp.excluded": "excludes fewer servers",
            "excludeMCPServers": "excludes fewer servers",
            "security.environmentVariableRedaction.blocked": "passes more of the environment on",
            "advanced.excludedEnvVars": "passes more of the environment on",
            "excludedProjectEnvVars": "passes more of the environment on",
        },
    ),
    **make_list_rules(
        Risk.LIMITING,
        dict.fromkeys(
            (
                "tools.core",
                "coreTools",
                "mcp.allowed",
                "allowMCPServers",
                "security.allowedExtensions",
            ),
            "limits less",
        ),
    ),
    **make_mode_rule("general.defaultApprovalMode", "plan default auto_edit yolo", "default"),
    **make_switch_rules(
        True,
        {
            "tools.autoAccept": "accepts calls without asking",
            "autoAccept": "accepts calls without asking",
            "security.enablePermanentToolApproval": "lets approvals hold permanently",
            "security.autoAddToPolicyByDefault": "lets approvals hold permanently",
            "tools.sandboxNetworkAccess": "lets the sandbox reach the network",
        },
    ),
    **make_list_rules(
        Risk.GUARD,
        {
            "hooksConfig.enabled": "disables every hook",
            "security.disableYoloMode": "is no longer on",
            "security.disableAlwaysAllow": "is no longer on",
            "security.toolSandboxing": "is no longer on",
            "security.blockGitExtensions": "is no longer on",
            "security.folderTrust.enabled": "is no longer on",
            "security.folderTrust.featureEnabled": "is no longer on",
            "security.environmentVariableRedaction.enabled": "is no longer on",
            "security.enableConseca": "is no longer on",
        },
    ),
    **make_rules(
        Risk.PROTECTED, "security.** admin.** rule rules safety_checker", "is part of the permissions, and changed"
    ),
    **make_rules(
        Risk.HARMLESS,
        "ui.** privacy.** output.** ide.** context.fileName contextFileName context.fileFiltering.** "
        "context.loadMemoryFromIncludeDirectories context.discoveryMaxDirs general.vimMode "
        "general.enableAutoUpdate general.disableAutoUpdate general.checkpointing.** general.sessionRetention.** "
        "model.** modelConfigs.** skills.enabled skills.disabled tools.useRipgrep hooksConfig.notifications "
        "advanced.autoConfigureMemory advanced.dnsResolutionOrder description",
    ),
}

_OPENCODE: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "formatter.** lsp.** experimental.hook.** mcp.** shell",
    ),
    **make_rules(Risk.EXECUTES, "command.*.template command.*", "is a command, which may run programs"),
    **make_rules(Risk.REDIRECTS, "provider.** server.** enterprise.**"),
    **make_list_rules(
        Risk.GROWING,
        {
            "plugin": "loads more code",
            "instructions": "brings in more instructions",
            "skills.paths": "brings in more skills",
            "skills.urls": "brings in more skills",
            "experimental.primary_tools": "allows more",
        },
    ),
    **make_list_rules(Risk.SHRINKING, {"disabled_providers": "reaches more providers"}),
    **make_list_rules(Risk.LIMITING, {"enabled_providers": "limits less"}),
    **make_mode_rule("share", "disabled manual auto", "manual"),
    **make_rules(
        Risk.HARMLESS,
        "command.*.description command.*.agent command.*.model command.*.subtask theme keybinds.** tui.** "
        "username layout logLevel autoupdate snapshot watcher.** compaction.** default_agent "
        "agent.*.prompt agent.*.description agent.*.mode agent.*.temperature agent.*.top_p agent.*.steps "
        "agent.*.maxSteps agent.*.color agent.*.hidden agent.*.variant agent.*.disable "
        "mode.*.prompt mode.*.description mode.*.temperature formatter.*.disabled lsp.*.disabled "
        "formatter.*.extensions lsp.*.extensions",
    ),
}


def _add_types(rules: dict[str, RiskRule]) -> dict[str, RiskRule]:
    """Return the rules, with every other key whose type Claude Code checks as harmless."""
    table = RiskTable("", rules)
    unlisted = [place for place, types in TYPES.items() if dict not in types]
    return rules | make_rules(
        Risk.HARMLESS, " ".join(place for place in unlisted if table.rule_of(tuple(place.split("."))) is None)
    )


TABLES: Final[dict[str, RiskTable]] = {
    "claude-code": RiskTable("claude-code", _add_types(_CLAUDE)),
    "codex": RiskTable("codex", _CODEX),
    "gemini": RiskTable("gemini", _GEMINI),
    "opencode": RiskTable("opencode", _OPENCODE),
    **YAML_TABLES,
}


def load_table(client: str) -> RiskTable | None:
    """Return the table of a client, from its declaration where it is not one of the first; None for a stranger."""
    return TABLES.get(client) or _load_declared(client)


@cache
def _load_declared(client: str) -> RiskTable | None:
    from takeback.adapters.clients import CLIENTS  # noqa: PLC0415 - declarations import this

    declared = CLIENTS[client]() if client in CLIENTS else None
    return None if declared is None else RiskTable(client, declared.risks, declared.dotted)


def find_rules(path: Path, clients: Sequence[str] = ()) -> list[RiskRule]:
    """Return what the tables of some clients know of a path; of every client where it is not known whose it is.

    Where one table names it more exactly than another, only that one counts.
    """
    tables = [table for client in clients if (table := load_table(client)) is not None] or TABLES.values()
    rules = [known for table in tables if (known := table.rule_of(path)) is not None]
    best = max((exact for exact, _ in rules), default=0)
    return [rule for exact, rule in rules if exact == best]
