"""Clients that keep their settings in YAML: Continue, Aider, Goose, Hermes, CrewAI, and the modes of Roo."""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import Types, check_types, combine_checks, list_members, list_texts
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.common_parts import HOOKS, declare_models, declare_texts, open_yaml, open_yaml_12
from takeback.adapters.formats.json_document import JsonDocument

_CONTINUE_TYPES: Final[Types] = {
    str: "name version schema",
    list: "models rules prompts mcpServers context docs data",
}
_CONTINUE_PERMISSIONS: Final = ("allow", "ask", "exclude")
_CONTINUE_RISKS: Final = """
executes: mcpServers hooks.**
redirects: models requestOptions.** model_defaults.** embeddingsProvider.** reranker.** data
injects: env.*
loads: uses context docs
growing, allows more: allow
shrinking, excludes fewer tools: exclude
shrinking, asks less: ask
harmless: version schema metadata.** disableIndexing
"""


def _check_blocks(value: Any) -> str | None:
    """Return what is wrong with a server or a model."""
    for at, server in list_members(value, "mcpServers"):
        if not isinstance(server, dict) or not ({"command", "url", "uses"} & server.keys()):
            return f"mcpServers.{at} must have a command, a url or 'uses'"
    for at, model in list_members(value, "models"):
        if not isinstance(model, dict):
            return f"models.{at} must be a mapping"
        if "uses" not in model and not all(isinstance(model.get(key), str) for key in ("name", "provider", "model")):
            return f"models.{at} must have a name, a provider and a model"
    return None


def _check_permissions(value: Any) -> str | None:
    strange = [key for key in value if key not in _CONTINUE_PERMISSIONS] if isinstance(value, dict) else []
    return f"{strange[0]!r} is no key of it, and the client drops the whole file" if strange else None


def continue_dev(*, user: bool = False) -> Client:
    """Return the declaration of Continue: `.continue/`, AGENTS.md; with `user`, of the user's own folder.

    `config.yaml`, blocks of servers and models, rules and prompts. YAML 1.2, unless the file says `%YAML 1.1`, which
    anchors with `<<` need. One wrong type and it does not start. Its hooks are declared and never run. The user's
    `permissions.yaml` is dropped for one key that is not known.
    """
    base = "" if user else ".continue/"
    check = combine_checks(check_types(_CONTINUE_TYPES), _check_blocks)
    documents = [
        Documents(f"{base}{path}.yaml", open_yaml_12, (), scope, fresh=b"", check=check)
        for path, scope in {"config": "", "mcpServers/*": "mcpServers/{}", "models/*": "models/{}"}.items()
    ]
    if user:
        lists = check_types({list: " ".join(_CONTINUE_PERMISSIONS)})
        permissions = combine_checks(lists, _check_permissions)
        own = frozenset((key,) for key in _CONTINUE_PERMISSIONS)
        documents.append(
            Documents("permissions.yaml", open_yaml_12, (), "permissions", fresh=b"", check=permissions, own=own)
        )
    return Client(
        "continue",
        ("config.yaml",) if user else (".continue",),
        tuple(documents),
        texts=declare_texts(base, "rules prompts"),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md",),
        nested=False,
        user_folder=".continue",
        user=user,
        risks=_CONTINUE_RISKS,
    )


_AIDER_CONF: Final = ".aider.conf.yml"
_AIDER_TYPES: Final[Types] = {
    str: "model weak-model editor-model openai-api-base edit-format test-cmd load",
    (list, str): "read file lint-cmd alias set-env api-key",
    bool: "auto-commits dirty-commits auto-test auto-lint yes-always",
    int: "map-tokens",
}
_AIDER_RISKS: Final = """
executes: lint-cmd test-cmd notifications-command load editor config apply install-main-branch upgrade
loads: message message-file
redirects: openai-api-base openai-api-type model-settings-file model-metadata-file analytics-posthog-host
    analytics-log input-history-file chat-history-file llm-history-file
injects: set-env api-key env-file openai-api-key anthropic-api-key openai-organization-id
growing, brings in more instructions: read
growing, opens more files: file
switch on, answers every question with yes: yes-always
switch on, suggests commands to run: suggest-shell-commands
switch on, accepts edits without asking: auto-accept-architect
switch on, runs the tests by itself: auto-test
switch on, runs the linters by itself: auto-lint
switch on, opens files that git ignores: add-gitignore-files
switch on, takes orders from comments in files: watch-files
switch on, takes orders from the clipboard: copy-paste
switch on, opens a server: gui
switch on, no longer checks the repository: skip-sanity-check-repo
switch off, no longer checks certificates: verify-ssl
switch off, commits without the hooks of git: git-commit-verify
switch off, no longer keeps its own files from git: gitignore
switch off, no longer commits what it changes: git
protected, names which files are hidden, and changed: aiderignore
harmless: map-tokens check-update analytics-disable dark-mode light-mode pretty stream auto-commits dirty-commits
    attribute-author attribute-committer vim encoding line-endings show-diffs edit-format alias map-refresh
    cache-prompts chat-language commit-language commit-prompt
"""


def _list_read_files(value: Any) -> tuple[str, ...]:
    return list_texts(value, "read")


def aider(*, user: bool = False) -> Client:
    """Return the declaration of Aider; with `user`, of the files in the home directory.

    Every long option is a key of `.aider.conf.yml`, in YAML 1.1, whose `read` names files. It does not start with an
    unknown key or a wrong type, and reads everything once. Model settings are a list, so that the file is a text of
    lines here, as is `.aiderignore`.
    """
    rules = declare_models("model", "weak-model", "editor-model")
    documents = [Documents(_AIDER_CONF, open_yaml, rules, fresh=b"", check=check_types(_AIDER_TYPES))]
    if not user:
        documents.append(Documents(".aider.model.metadata.json", JsonDocument, (), "metadata"))
    settings = ".aider.model.settings.yml"
    return Client(
        "aider",
        (_AIDER_CONF,) if user else (_AIDER_CONF, ".aiderignore", settings),
        tuple(documents),
        instructions=(settings,) if user else ("CONVENTIONS.md", settings, ".aiderignore"),
        nested=False,
        includes=_list_read_files,
        user_folder="",
        user=user,
        risks=_AIDER_RISKS,
    )


_GOOSE_MODES: Final = ("chat", "approve", "smart_approve", "auto")
_GOOSE_TYPES: Final[Types] = {dict: "extensions", str: "GOOSE_MODE GOOSE_MODEL GOOSE_PROVIDER"}
_GOOSE_RISKS: Final = """
executes: extensions.** GOOSE_SEARCH_PATHS slash_commands GOOSE_RECIPE_PATH
redirects: OPENAI_HOST ANTHROPIC_HOST OLLAMA_HOST LITELLM_HOST DATABRICKS_HOST AZURE_OPENAI_ENDPOINT OPENAI_BASE_PATH
    SECURITY_PROMPT_CLASSIFIER_ENDPOINT otel_exporter_otlp_endpoint GOOSE_PROVIDER GOOSE_RECIPE_GITHUB_REPO
loads: CONTEXT_FILE_NAMES
growing, allows more: user.always_allow smart_approve.always_allow
shrinking, denies less: user.never_allow smart_approve.never_allow
shrinking, asks less: user.ask_before smart_approve.ask_before
ordered chat approve smart_approve auto, auto: GOOSE_MODE
guard, no longer limits extensions: GOOSE_ALLOWLIST
guard: SECURITY_PROMPT_ENABLED SECURITY_PROMPT_CLASSIFIER_ENABLED
harmless: GOOSE_TEMPERATURE GOOSE_CLI_THEME GOOSE_MAX_TURNS GOOSE_CONTEXT_STRATEGY EDIT_MODE
"""


def _check_goose_mode(value: Any) -> str | None:
    mode = value.get("GOOSE_MODE") if isinstance(value, dict) else None
    return None if mode in {None, *_GOOSE_MODES} else f"GOOSE_MODE is {mode!r}; known are {', '.join(_GOOSE_MODES)}"


def goose(*, user: bool = False) -> Client:
    """Return the declaration of Goose: `.goosehints`, AGENTS.md and recipes; with `user`, of the user's own folder.

    YAML 1.2. A recipe is a template that is no YAML until it is filled in, and so a text. A broken config is replaced
    by the client's own backup. The client writes its config anew when it changes something, and needs a restart.
    """
    if not user:
        return Client(
            "goose",
            (".goosehints", ".goose"),
            texts=(Texts(".goose/recipes", ".yaml", "recipes/{}"),),
            skills=(Skills(".goose/skills"), Skills(".agents/skills", name=".agents/skills/{}")),
            instructions=(".goosehints", ".gooseignore", "AGENTS.md"),
            user_folder=".config/goose",
            risks=_GOOSE_RISKS,
        )
    config = Documents(
        "config.yaml",
        open_yaml_12,
        (DocumentRule(("extensions",), "servers", "mcp:"), *declare_models("GOOSE_MODEL")),
        fresh=b"",
        check=combine_checks(check_types(_GOOSE_TYPES), _check_goose_mode),
        own=frozenset({("experiments",), ("GOOSE_CLI_THEME",)}),
    )
    return Client(
        "goose",
        ("config.yaml",),
        (config, Documents("permission.yaml", open_yaml_12, (), "permission", fresh=b"")),
        texts=(Texts("recipes", ".yaml", "recipes/{}"),),
        instructions=(".goosehints",),
        nested=False,
        user_folder=".config/goose",
        user=True,
        risks=_GOOSE_RISKS,
    )


_HERMES_MODES: Final = ("manual", "smart", "off")
_HERMES_RULES: Final = (
    DocumentRule(("_config_version",), "bookkeeping"),
    HOOKS,
    DocumentRule(("mcp_servers",), "servers", "mcp:"),
    *declare_models("model"),
)
_HERMES_TYPES: Final[Types] = {
    (str, dict): "model",
    dict: "providers approvals hooks mcp_servers quick_commands security terminal",
    list: "fallback_providers approvals.deny command_allowlist",
}
_HERMES_EVENTS: Final = (
    "pre_tool_call post_tool_call pre_llm_call post_llm_call pre_verify on_session_start on_session_end "
    "on_session_finalize on_session_reset subagent_start subagent_stop pre_gateway_dispatch pre_api_request "
    "post_api_request transform_tool_result transform_llm_output transform_terminal_output"
)
_HERMES_RISKS: Final = """
executes: quick_commands.** mcp_servers.** terminal.docker_extra_args security.tirith_path terminal.shell hooks.**
redirects: providers.** fallback_providers custom_providers terminal.backend terminal.ssh_host terminal.docker_image
    model.**
injects: terminal.docker_env terminal.docker_env.** terminal.env_passthrough
loads: plugins.** skills.external_dirs toolsets
growing, allows more: command_allowlist
growing, opens more: terminal.docker_volumes
shrinking, denies less: approvals.deny
ordered manual smart off, manual: approvals.mode
ordered deny approve, deny: approvals.cron_mode
switch on, approves every hook: hooks_auto_accept
guard: security.redact_secrets security.tirith_enabled privacy.redact_pii
protected: security.** approvals.**
harmless: _config_version approvals.timeout display.** terminal.timeout terminal.cwd
"""


def _check_hermes(value: Any) -> str | None:
    mode = dict(list_members(value, "approvals")).get("mode")
    if mode not in {None, False, *_HERMES_MODES}:  # `off` without quotes is false in YAML 1.1
        return f"approvals.mode is {mode!r}; known are {', '.join(_HERMES_MODES)}"
    for event, groups in list_members(value, "hooks"):
        for group in groups if isinstance(groups, list) else ():
            if not isinstance(group, dict) or not isinstance(group.get("command"), str):
                return f"a hook of {event} must have a command"
    return None


def hermes(*, user: bool = False) -> Client:
    """Return the declaration of Hermes: `.hermes.md` or AGENTS.md; with `user`, of the user's own folder.

    YAML 1.1. A broken config means the defaults in a new process: `approvals.deny` is gone. A shell hook is one
    command, which the client asks about once.
    """
    if not user:
        named = (".hermes.md", "HERMES.md")
        return Client(
            "hermes",
            named,
            instructions=(*named, "AGENTS.md"),
            nested=False,
            user_folder=".hermes",
            risks=_HERMES_RISKS,
        )
    check = combine_checks(check_types(_HERMES_TYPES), _check_hermes)
    effects = {"hooks": Effect.APPROVAL}
    return Client(
        "hermes",
        ("config.yaml", "SOUL.md"),
        (Documents("config.yaml", open_yaml, _HERMES_RULES, fresh=b"", check=check, effects=effects),),
        skills=(Skills("skills"),),
        scripts=(Scripts("agent-hooks"), Scripts("hooks", effect=Effect.NEXT_SESSION)),
        instructions=("SOUL.md",),
        nested=False,
        events=frozenset(_HERMES_EVENTS.split()),
        user_folder=".hermes",
        user=True,
        risks=_HERMES_RISKS,
    )


_CREWAI_TEXTS: Final = {"agents": ("role", "goal", "backstory"), "tasks": ("description", "expected_output")}
_CREWAI_RISKS: Final = """
executes, names code that is run: *.tools *.callback *.callbacks *.guardrail *.guardrails *.step_callback *.mcps
    *.function_calling_llm
redirects: *.output_file *.embedder.** *.llm.**
loads: *.knowledge_sources
ordered safe unsafe, safe: *.code_execution_mode
switch on, lets the agent run code: *.allow_code_execution
switch on, lets the agent hand work to others: *.allow_delegation
switch on, lets the task make folders: *.create_directory
switch off, asks nobody any more: *.human_input
switch off, limits less: *.respect_context_window
harmless: *.role *.goal *.backstory *.description *.expected_output *.agent *.context *.verbose *.max_iter *.max_rpm
    *.cache *.memory *.async_execution *.markdown *.max_retry_limit
"""


def _check_entries(value: Any) -> str | None:
    entries = value.items() if isinstance(value, dict) else ()
    return next((f"{name} must be a mapping" for name, entry in entries if not isinstance(entry, dict)), None)


def _declare_crew(folder: str, kind: str, scope: str) -> Documents:
    texts = tuple(DocumentRule(("*", key), "text", f"{scope}:*.{key}") for key in _CREWAI_TEXTS[kind])
    rules = (*texts, *(declare_models("*.llm") if kind == "agents" else ()))
    return Documents(f"{folder}/{kind}.yaml", open_yaml, rules, scope, fresh=b"", check=_check_entries)


def crewai(*, user: bool = False) -> Client:
    """Return the declaration of CrewAI: `agents.yaml` and `tasks.yaml` in the `config` of a package, or at the top.

    YAML 1.1, whose keys are names of methods of `crew.py`. Roles, goals, backstories, descriptions and expected
    outputs are prompts, the model of an agent is routing. Everything is read when the crew is built; a missing file
    is an empty crew.
    """
    documents = [_declare_crew("config", kind, kind) for kind in _CREWAI_TEXTS]
    documents += [_declare_crew("src/*/config", kind, f"{{}}/{kind}") for kind in _CREWAI_TEXTS]
    return Client(
        "crewai",
        ("src/*/config/agents.yaml", "config/agents.yaml"),
        tuple(documents),
        scripts=(Scripts("knowledge", effect=Effect.NEXT_SESSION),),
        instructions=("AGENTS.md",),
        nested=False,
        user_folder=".crewai",
        user=user,
        risks=_CREWAI_RISKS,
    )


def _check_modes(value: Any) -> str | None:
    modes = value.get("customModes", []) if isinstance(value, dict) else []
    if not isinstance(modes, list):
        return "customModes must be a list"
    for at, mode in enumerate(modes):
        for key in ("slug", "name", "roleDefinition"):
            if not isinstance(mode, dict) or not isinstance(mode.get(key), str):
                return f"customModes.{at} must have a text under {key}"
        if not isinstance(mode.get("groups"), list):
            return f"customModes.{at}.groups must be a list"
    return None


def roomodes(*, user: bool = False) -> Client:
    """Return the declaration of a project's modes of Roo; those of the user lie in the editor's storage.

    YAML 1.2 (or JSON, which is YAML too), a list under `customModes`; read live. A mode's groups say which tools it
    may use. The rest of Roo's files are JSON and Markdown.
    """
    modes = Documents(".roomodes", open_yaml_12, fresh=b"", check=_check_modes, effect=Effect.LIVE)
    risks = "growing, brings in modes with groups of tools of their own: customModes"
    return Client(
        "roomodes", (".roomodes",), (modes,), instructions=(".rooignore",), nested=False, user=user, risks=risks
    )
