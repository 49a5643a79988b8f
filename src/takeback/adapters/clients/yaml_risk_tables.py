"""Risky settings of the clients that keep them in YAML: Continue, Aider, Goose, Hermes, CrewAI, Roo's modes."""

from __future__ import annotations

from typing import Final

from takeback.adapters.clients.risk_rules import (
    Risk,
    RiskRule,
    RiskTable,
    make_list_rules,
    make_mode_rule,
    make_rules,
    make_switch_rules,
)

_CONTINUE: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "mcpServers hooks.**"),
    **make_rules(Risk.REDIRECTS, "models requestOptions.** model_defaults.** embeddingsProvider.** reranker.** data"),
    **make_rules(Risk.LOADS, "uses context docs"),
    **make_rules(Risk.INJECTS, "env.*"),
    **make_list_rules(Risk.GROWING, {"allow": "allows more"}),
    **make_list_rules(Risk.SHRINKING, {"exclude": "excludes fewer tools", "ask": "asks less"}),
    **make_rules(Risk.HARMLESS, "version schema metadata.** disableIndexing"),
}

_AIDER: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "lint-cmd test-cmd notifications-command load editor"),
    **make_rules(
        Risk.REDIRECTS,
        "openai-api-base openai-api-type model-settings-file model-metadata-file analytics-posthog-host "
        "analytics-log input-history-file chat-history-file llm-history-file",
    ),
    **make_rules(Risk.INJECTS, "set-env api-key env-file openai-api-key anthropic-api-key openai-organization-id"),
    **make_list_rules(Risk.GROWING, {"read": "brings in more instructions", "file": "opens more files"}),
    **make_list_rules(Risk.GUARD, {"aiderignore": "hides fewer files"}),
    **make_switch_rules(
        True,
        {
            "yes-always": "answers every question with yes",
            "suggest-shell-commands": "suggests commands to run",
            "auto-accept-architect": "accepts edits without asking",
            "auto-test": "runs the tests by itself",
            "auto-lint": "runs the linters by itself",
            "add-gitignore-files": "opens files that git ignores",
            "watch-files": "takes orders from comments in files",
        },
    ),
    **make_switch_rules(
        False,
        {
            "verify-ssl": "no longer checks certificates",
            "git-commit-verify": "commits without the hooks of git",
            "gitignore": "no longer keeps its own files from git",
        },
    ),
    **make_rules(
        Risk.HARMLESS,
        "map-tokens check-update analytics-disable dark-mode light-mode pretty stream auto-commits dirty-commits "
        "attribute-author attribute-committer vim encoding line-endings show-diffs edit-format alias map-refresh "
        "cache-prompts chat-language commit-language commit-prompt",
    ),
}

_GOOSE: Final[dict[str, RiskRule]] = {
    **make_rules(Risk.EXECUTES, "extensions.** GOOSE_SEARCH_PATHS slash_commands GOOSE_RECIPE_PATH"),
    **make_rules(
        Risk.REDIRECTS,
        "OPENAI_HOST ANTHROPIC_HOST OLLAMA_HOST LITELLM_HOST DATABRICKS_HOST AZURE_OPENAI_ENDPOINT OPENAI_BASE_PATH "
        "SECURITY_PROMPT_CLASSIFIER_ENDPOINT otel_exporter_otlp_endpoint GOOSE_PROVIDER GOOSE_RECIPE_GITHUB_REPO",
    ),
    **make_list_rules(
        Risk.GROWING, {"user.always_allow": "allows more", "smart_approve.always_allow": "allows more"}
    ),
    **make_list_rules(
        Risk.SHRINKING,
        {
            "user.never_allow": "denies less",
            "user.ask_before": "asks less",
            "smart_approve.never_allow": "denies less",
            "smart_approve.ask_before": "asks less",
        },
    ),
    **make_mode_rule("GOOSE_MODE", "chat approve smart_approve auto", "auto"),
    **make_list_rules(
        Risk.GUARD,
        {
            "GOOSE_ALLOWLIST": "no longer limits extensions",
            "SECURITY_PROMPT_ENABLED": "is no longer on",
            "SECURITY_PROMPT_CLASSIFIER_ENABLED": "is no longer on",
        },
    ),
    **make_rules(Risk.LOADS, "CONTEXT_FILE_NAMES"),
    **make_rules(Risk.HARMLESS, "GOOSE_TEMPERATURE GOOSE_CLI_THEME GOOSE_MAX_TURNS GOOSE_CONTEXT_STRATEGY EDIT_MODE"),
}

_HERMES: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "quick_commands.** mcp_servers.** terminal.docker_extra_args security.tirith_path terminal.shell",
    ),
    **make_rules(Risk.EXECUTES, "hooks.**", "runs a program"),
    **make_rules(
        Risk.REDIRECTS,
        "providers.** fallback_providers custom_providers terminal.backend terminal.ssh_host terminal.docker_image "
        "model.**",
    ),
    **make_rules(Risk.INJECTS, "terminal.docker_env terminal.docker_env.** terminal.env_passthrough"),
    **make_rules(Risk.LOADS, "plugins.** skills.external_dirs toolsets"),
    **make_list_rules(Risk.GROWING, {"command_allowlist": "allows more", "terminal.docker_volumes": "opens more"}),
    **make_list_rules(Risk.SHRINKING, {"approvals.deny": "denies less"}),
    **make_mode_rule("approvals.mode", "manual smart off", "manual"),
    **make_mode_rule("approvals.cron_mode", "deny approve", "deny"),
    **make_switch_rules(True, {"hooks_auto_accept": "approves every hook"}),
    **make_list_rules(
        Risk.GUARD,
        {
            "security.redact_secrets": "is no longer on",
            "security.tirith_enabled": "is no longer on",
            "privacy.redact_pii": "is no longer on",
        },
    ),
    **make_rules(Risk.PROTECTED, "security.** approvals.**", "is part of the permissions, and changed"),
    **make_rules(Risk.HARMLESS, "_config_version approvals.timeout display.** terminal.timeout terminal.cwd"),
}

_CREWAI: Final[dict[str, RiskRule]] = {
    **make_rules(
        Risk.EXECUTES,
        "*.tools *.callback *.callbacks *.guardrail *.guardrails *.step_callback *.mcps *.function_calling_llm",
        "names code that is run",
    ),
    **make_rules(Risk.REDIRECTS, "*.output_file *.embedder.** *.llm.**"),
    **make_rules(Risk.LOADS, "*.knowledge_sources"),
    **make_mode_rule("*.code_execution_mode", "safe unsafe", "safe"),
    **make_switch_rules(
        True,
        {
            "*.allow_code_execution": "lets the agent run code",
            "*.allow_delegation": "lets the agent hand work to others",
            "*.create_directory": "lets the task make folders",
        },
    ),
    **make_switch_rules(False, {"*.human_input": "asks nobody any more", "*.respect_context_window": "limits less"}),
    **make_rules(
        Risk.HARMLESS,
        "*.role *.goal *.backstory *.description *.expected_output *.agent *.context *.verbose *.max_iter *.max_rpm "
        "*.cache *.memory *.async_execution *.markdown *.max_retry_limit",
    ),
}

_ROOMODES: Final[dict[str, RiskRule]] = {
    **make_list_rules(Risk.GROWING, {"customModes": "brings in modes with groups of tools of their own"}),
}

YAML_TABLES: Final[dict[str, RiskTable]] = {
    "continue": RiskTable("continue", _CONTINUE),
    "aider": RiskTable("aider", _AIDER),
    "goose": RiskTable("goose", _GOOSE),
    "hermes": RiskTable("hermes", _HERMES),
    "crewai": RiskTable("crewai", _CREWAI),
    "roomodes": RiskTable("roomodes", _ROOMODES),
}
