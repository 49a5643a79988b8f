"""Codex: `.codex/`, AGENTS.md and `.agents/skills`. A wrong type, or a key twice, keeps every command from starting.

Hooks run in parallel; a hook is trusted by its position, so that new groups go to the end. Trust itself is the
client's bookkeeping: it is no part of the state, and it is never written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from takeback.adapters.clients.checks import Types, check_hooks, check_servers, check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills
from takeback.adapters.clients.common_parts import declare_models
from takeback.adapters.formats.json_document import MarklessJsonDocument
from takeback.adapters.formats.toml_document import ClientTomlDocument

_EVENTS: Final = (
    "PreToolUse PermissionRequest PostToolUse PreModelRequest PostModelRequest PreCompact PostCompact SessionStart "
    "SessionEnd UserPromptSubmit SubagentStart SubagentStop Stop Interrupt"
)
_TYPES: Final[Types] = {
    str: "model review_model model_provider model_reasoning_effort model_reasoning_summary model_verbosity "
    "sandbox_mode developer_instructions",
    (str, dict): "approval_policy",
    dict: "features tui mcp_servers hooks shell_environment_policy sandbox_workspace_write projects model_providers",
    list: "notify",
    int: "project_doc_max_bytes",
}
_CHOICES: Final = {
    "sandbox_mode": frozenset({"read-only", "workspace-write", "danger-full-access"}),
    "approval_policy": frozenset({"untrusted", "on-failure", "on-request", "never"}),
    "model_reasoning_effort": frozenset({"none", "minimal", "low", "medium", "high", "xhigh"}),
}
_HOOKS: Final = check_hooks(frozenset({"command", "mcp_tool", "prompt", "agent"}))
_RISKS: Final = """
executes: notify mcp_servers.** hooks.** zsh_path js_repl_node_path js_repl_node_module_dirs plugins.*.command
redirects: model_providers.** model_provider openai_base_url chatgpt_base_url experimental_realtime_ws_base_url
    oss_provider otel.** mcp_oauth_callback_url mcp_oauth_callback_port mcp_oauth_credentials_store
    cli_auth_credentials_store log_dir sqlite_home
injects: shell_environment_policy.set.**
loads: plugins.** marketplaces.** skills.** apps.** model_instructions_file experimental_instructions_file
    experimental_compact_prompt_file model_catalog_json agents.*.config_file
loads, switches a feature of the client, of which is not known what it does: features.*
growing, lets the sandbox write more: sandbox_workspace_write.writable_roots
growing, passes more of the environment on: shell_environment_policy.include_only
shrinking, passes more of the environment on: shell_environment_policy.exclude
ordered untrusted on-request on-failure never, on-request: approval_policy
ordered read-only workspace-write danger-full-access, read-only: sandbox_mode
ordered none core all, all: shell_environment_policy.inherit
ordered disabled cached live, cached: web_search
switch on, lets the sandbox reach the network: sandbox_workspace_write.network_access
switch on, passes secrets of the environment on: shell_environment_policy.ignore_default_excludes
switch on, runs the profile of the shell: shell_environment_policy.experimental_use_profile allow_login_shell
switch on, lets the model search the web: tools.web_search
switch on, sends prompts elsewhere: otel.log_user_prompt
switch trusted, trusts a directory: projects.*.trust_level
guard, disables every hook: features.hooks features.codex_hooks
guard: sandbox_workspace_write.exclude_tmpdir_env_var sandbox_workspace_write.exclude_slash_tmp
guard, is no longer set: forced_login_method forced_chatgpt_workspace_id
protected: permissions.** default_permissions approval_policy.** approvals_reviewer.** auto_review.**
    sandbox_workspace_write.** windows.** shell_environment_policy.** requirements.** projects.**
harmless: model_reasoning_effort model_reasoning_summary model_verbosity model_context_window
    model_auto_compact_token_limit personality service_tier tui.** history.** notice.** project_doc_max_bytes
    project_doc_fallback_filenames project_root_markers developer_instructions hide_agent_reasoning
    show_raw_agent_reasoning check_for_update_on_startup commit_attribution disable_paste_burst file_opener
    feedback.** agents.*.description name description nickname_candidates
"""


def _check_values(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    for key, allowed in _CHOICES.items():
        item = value.get(key)
        if isinstance(item, str) and item not in allowed:
            return f"{key} is {item!r}; known are {', '.join(sorted(allowed))}"
    legacy = next((key for key in ("profile", "profiles") if key in value), None)
    return None if legacy is None else f"{legacy!r} is a legacy key with which the client does not start"


def codex(*, user: bool = False) -> Client:
    """Return the declaration of Codex; with `user`, of the user's own folder."""
    base = "" if user else ".codex/"
    servers = check_servers("mcp_servers", "command", "url", texts=("command", "url"))
    rules = (
        DocumentRule(("hooks", "state"), "bookkeeping"),
        DocumentRule(("hooks",), "hooks", scope="toml"),
        DocumentRule(("mcp_servers",), "servers", "mcp:"),
        *declare_models("model", "review_model"),
    )
    profile = Documents(
        "*.config.toml",
        ClientTomlDocument,
        rules,
        "{}",
        fresh=b"",
        check=combine_checks(check_types(_TYPES), _check_values, servers, _HOOKS),
    )
    documents = [
        replace(
            profile,
            path=f"{base}config.toml",
            scope="",
            effects={"hooks": Effect.APPROVAL},
            own=frozenset({("projects",), ("tui",), ("plugins",), ("marketplaces",), ("notice",)}),
        ),
        Documents(
            f"{base}hooks.json",
            MarklessJsonDocument,
            (DocumentRule(("hooks",), "hooks", scope=""),),
            "hooks.json",
            fresh=b'{\n  "hooks": {\n  }\n}\n',
            check=combine_checks(_HOOKS, check_types({dict: "hooks"})),
            effects={"hooks": Effect.APPROVAL},
        ),
        Documents(
            f"{base}agents/*.toml",
            ClientTomlDocument,
            (DocumentRule(("developer_instructions",), "text", "agents/{}"), *declare_models("model")),
            "agents/{}",
            fresh=b"",
            check=check_types({str: "name description developer_instructions model"}),
        ),
    ]
    return Client(
        "codex",
        ("config.toml", "AGENTS.md") if user else (".codex", "AGENTS.override.md"),
        (*documents, profile) if user else tuple(documents),
        skills=(Skills("skills"),)
        if user
        else (Skills(".agents/skills"), Skills(".codex/skills", name=".codex/skills/{}")),
        scripts=(Scripts(f"{base}hooks"), Scripts(f"{base}rules", (".rules",), effect=Effect.NEXT_SESSION)),
        instructions=("AGENTS.md", "AGENTS.override.md"),
        nested=not user,
        events=frozenset(_EVENTS.split()),
        user_folder=".codex",
        user=user,
        risks=_RISKS,
    )
