"""Further clients that keep their settings in JSON: Cursor, Cline, Roo, Windsurf, Zed, Amp, Kiro, OpenClaw."""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import (
    Types,
    check_flat_hooks,
    check_servers,
    check_text_lists,
    check_types,
    combine_checks,
    find_at_imports,
    list_members,
)
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts, Skills, Texts
from takeback.adapters.clients.common_parts import (
    AT_HOME_OF_CLAUDE,
    HOOKS,
    SERVERS,
    check_reachable,
    declare_hooks,
    declare_models,
    declare_servers,
    declare_texts,
)
from takeback.adapters.formats.json_document import Json5Document, JsoncDocument, JsonDocument

_LIVE: Final = Effect.LIVE
_NEXT: Final = Effect.NEXT_SESSION
_OF_AGENTS: Final = Skills(".agents/skills", name=".agents/skills/{}")

_CURSOR_EVENTS: Final = (
    "sessionStart sessionEnd preToolUse postToolUse postToolUseFailure subagentStart subagentStop "
    "beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit "
    "beforeSubmitPrompt preCompact stop afterAgentResponse afterAgentThought beforeTabFileRead afterTabFileEdit"
)
_CURSOR_RISKS: Final = """
executes: mcpServers.** hooks.** install start terminals build.** snapshot
switch on, lets the agent change the image it starts from: agentCanUpdateSnapshot
growing, allows more: terminalAllowlist mcpAllowlist permissions.allow
shrinking, denies less: permissions.deny
protected: autoRun autoRun.** permissions.**
harmless: version editor.** display.**
"""


def cursor(*, user: bool = False) -> Client:
    """Return the declaration of Cursor: `.cursor/`, AGENTS.md, `.cursorrules`; with `user`, of the user's own folder.

    Globs in the front matter of a rule are no YAML, so that rules are lines of text. A hook that fails lets the call
    pass unless it says `failClosed`.
    """
    base = "" if user else ".cursor/"
    limits = combine_checks(
        check_types({dict: "permissions", list: "permissions.allow permissions.deny"}),
        check_text_lists(("terminalAllowlist", "mcpAllowlist", "permissions.allow", "permissions.deny")),
    )
    documents = (
        Documents(f"{base}permissions.json", JsoncDocument, check=limits, effect=_LIVE),
        Documents(f"{base}{'cli-config' if user else 'cli'}.json", JsonDocument, scope="cli", check=limits),
        declare_servers(f"{base}mcp.json"),
        declare_hooks(f"{base}hooks.json", check_flat_hooks(version=1), effect=_LIVE),
        *(() if user else (Documents(f"{base}environment.json", JsonDocument, scope="environment"),)),
    )
    return Client(
        "cursor",
        ("mcp.json", "hooks.json", "permissions.json", "cli-config.json") if user else (".cursor", ".cursorrules"),
        documents,
        texts=(
            Texts(f"{base}rules", ".mdc", "rules/{}", effect=_LIVE),
            *declare_texts(base, "commands", effect=_LIVE),
            *declare_texts(base, "agents"),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md", ".cursorrules"),
        nested=not user,
        events=frozenset(_CURSOR_EVENTS.split()),
        user_folder=".cursor",
        user=user,
        runs_hooks_of=AT_HOME_OF_CLAUDE,
        risks=_CURSOR_RISKS,
    )


_CLINE_RISKS: Final = """
executes: mcpServers.** hooks.**
redirects: baseUrl
protected: autoApprove autoApprove.** yolo
"""


def cline(*, user: bool = False) -> Client:
    """Return the declaration of Cline: `.clinerules`, `.cline/`, AGENTS.md; with `user`, of the user's own folder.

    A project has no settings file; a hook is a file named by its event, which runs even where it is not executable.
    At home its servers are strict JSON, dropped for one comment.
    """
    base = "" if user else ".cline/"
    texts: tuple[Texts, ...] = declare_texts(base, "rules agents")
    skills: tuple[Skills, ...] = (Skills(f"{base}skills"),)
    hooks: tuple[Scripts, ...] = (Scripts(f"{base}hooks", event="hooks", effect=_NEXT),)
    documents: tuple[Documents, ...] = (
        declare_servers("data/settings/cline_mcp_settings.json", "mcp", effect=_NEXT),
        Documents("data/settings/global-settings.json", JsonDocument, scope="global"),
    )
    if not user:
        documents = ()
        rules = (Texts(".clinerules", ".md", ".clinerules/{}"), Texts(".clinerules", ".txt", ".clinerules/{}.txt"))
        texts = (Texts(".clinerules/workflows", ".md", "workflows/{}", effect=_LIVE), *rules, *texts)
        skills = (*skills, Skills(".clinerules/skills", name=".clinerules/skills/{}"), _OF_AGENTS)
        hooks = (*hooks, Scripts(".clinerules/hooks", event=".clinerules/hooks", effect=_NEXT))
    return Client(
        "cline",
        ("rules", "data", "hooks") if user else (".clinerules", ".cline"),
        documents,
        texts=texts,
        skills=skills,
        scripts=(
            *hooks,
            Scripts(f"{base}plugins", (".js", ".ts"), "plugins", _NEXT),
            Scripts(f"{base}cron", effect=_NEXT),
        ),
        instructions=() if user else ("AGENTS.md", ".clinerules"),
        nested=not user,
        user_folder=".cline",
        user=user,
        risks=_CLINE_RISKS,
    )


def roo(*, user: bool = False) -> Client:
    """Return the declaration of Roo: `.roo/`, AGENTS.md, rules of others; with `user`, of the user's own folder.

    Its files are watched; the extension writes what was allowed for ever into `.roo/mcp.json`. Its modes, in YAML,
    are a client of their own.
    """
    base = "" if user else ".roo/"
    rules = [(f"{base}rules", "rules/{}"), (f"{base}rules-*", "rules-{}")]
    return Client(
        "roo",
        ("rules", "commands", "skills") if user else (".roo", ".roorules"),
        () if user else (declare_servers(".roo/mcp.json", effect=_LIVE),),
        texts=(
            *(Texts(folder, ".md", name, effect=_LIVE) for folder, name in rules),
            *(Texts(folder, ".txt", f"{name}.txt", effect=_LIVE) for folder, name in rules),
            *declare_texts(base, "commands", effect=_LIVE),
        ),
        skills=(Skills(f"{base}skills", _LIVE),),
        instructions=() if user else ("AGENTS.md", "AGENTS.local.md", ".roorules", ".clinerules"),
        nested=not user,
        user_folder=".roo",
        user=user,
        risks="executes: mcpServers.** hooks.**",
    )


_WINDSURF_EVENTS: Final = (
    "pre_read_code pre_write_code pre_run_command pre_mcp_tool_use pre_user_prompt post_read_code post_write_code "
    "post_run_command post_mcp_tool_use post_user_prompt post_cascade_response post_setup_worktree"
)
_WINDSURF_RISKS: Final = """
executes: mcpServers.** hooks.**
redirects: serverUrl
growing, allows more: windsurf.cascadeCommandsAllowList
shrinking, denies less: windsurf.cascadeCommandsDenyList
"""


def windsurf(*, user: bool = False) -> Client:
    """Return the declaration of Windsurf: `.windsurf/`, AGENTS.md, `.windsurfrules`; `user`: of the user's own.

    Its servers are at home; a hook blocks with exit code 2.
    """
    base = "" if user else ".windsurf/"
    ways = check_servers(SERVERS, "command", "url", "serverUrl", texts=("command", "url", "serverUrl"))
    servers = Documents(
        "mcp_config.json",
        JsonDocument,
        (DocumentRule((SERVERS,), "servers", "mcp:", scope=""),),
        "mcp.json",
        check=combine_checks(check_types({dict: SERVERS}), ways),
    )
    return Client(
        "windsurf",
        ("hooks.json", "mcp_config.json", "memories") if user else (".windsurf", ".windsurfrules"),
        (declare_hooks(f"{base}hooks.json", check_flat_hooks()), *((servers,) if user else ())),
        texts=(
            Texts("memories" if user else ".windsurf/rules", ".md", "rules/{}", effect=_LIVE),
            *declare_texts(base, "workflows", effect=_LIVE),
        ),
        skills=(Skills(f"{base}skills"),),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md", ".windsurfrules"),
        nested=not user,
        events=frozenset(_WINDSURF_EVENTS.split()),
        user_folder=".codeium/windsurf",
        user=user,
        risks=_WINDSURF_RISKS,
        dotted=True,
    )


_ZED_SERVERS: Final = "context_servers"
_ZED_FIRST_OF: Final = (
    *(".rules", ".cursorrules", ".windsurfrules", ".clinerules", ".github/copilot-instructions.md"),
    *("AGENT.md", "AGENTS.md", "CLAUDE.md", "GEMINI.md"),
)
_ZED_RISKS: Final = """
executes: context_servers.** lsp.** dap.** agent_servers.** terminal.shell.** formatter.**
redirects: language_models.** proxy server_url
injects: terminal.env.**
growing, allows more: agent.tool_permissions.tools.*.always_allow
shrinking, denies less: agent.tool_permissions.tools.*.always_deny
shrinking, asks less: agent.tool_permissions.tools.*.always_confirm
ordered deny confirm allow, confirm: agent.tool_permissions.default agent.tool_permissions.tools.*.default
switch on, trusts every directory: trust_all_worktrees session.trust_all_worktrees
switch on, accepts calls without asking: agent.always_allow_tool_actions
switch on, approves every server: agent.profiles.*.enable_all_context_servers enable_all_context_servers
switch on, gives the profile another tool: agent.profiles.*.tools.*
protected: agent.tool_permissions.**
harmless: theme tab_size vim_mode buffer_font_size ui_font_size format_on_save agent.default_profile
"""


def zed(*, user: bool = False) -> Client:
    """Return the declaration of Zed: `.zed/settings.json`; with `user`, of the user's own folder.

    Its instructions are the first of nine names: a new `.rules` silences AGENTS.md.
    """
    base = "" if user else ".zed/"
    rules = (DocumentRule((_ZED_SERVERS,), "servers", "mcp:"), *declare_models("agent.default_model.model"))
    check = combine_checks(
        check_types({dict: f"{_ZED_SERVERS} agent language_models agent.tool_permissions"}),
        check_servers(_ZED_SERVERS, "command", "url", "settings"),
    )
    return Client(
        "zed",
        ("settings.json",) if user else (".zed", ".rules"),
        (Documents(f"{base}settings.json", JsoncDocument, rules, check=check, effect=_LIVE),),
        skills=() if user else (Skills(".agents/skills"),),
        scripts=() if user else (Scripts(".zed", ("tasks.json", "debug.json")),),
        instructions=("AGENTS.md",) if user else _ZED_FIRST_OF,
        nested=False,
        user_folder=".config/zed",
        user=user,
        risks=_ZED_RISKS,
    )


_AMP_SERVERS: Final = "amp.mcpServers"
_AMP_TYPES: Final = {"amp.permissions": list, _AMP_SERVERS: dict, "amp.tools.disable": list}
_AMP_ACTIONS: Final = frozenset({"allow", "reject", "ask", "delegate"})
_AMP_RISKS: Final = """
executes: amp.mcpServers.** amp.toolbox.**
redirects: amp.url amp.proxy
growing, allows more: amp.commands.allowlist
shrinking, may use more tools: amp.tools.disable
shrinking, denies less: amp.commands.denylist
switch on, accepts calls without asking: amp.dangerouslyAllowAll
protected: amp.permissions amp.permissions.**
harmless: amp.git.** amp.notifications.** amp.terminal.** amp.showCosts
"""


def _check_amp(value: Any) -> str | None:
    """Return what is wrong with types and permissions; dots in names are no steps here."""
    for key, kind in _AMP_TYPES.items():
        if key in value and not isinstance(value[key], kind):
            return f"{key} must be a {'list' if kind is list else 'mapping'}"
    for rule in value.get("amp.permissions", ()):
        if not isinstance(rule, dict) or rule.get("action") not in _AMP_ACTIONS:
            return f"each of amp.permissions needs one of the actions {', '.join(sorted(_AMP_ACTIONS))}"
        if rule["action"] == "delegate" and not isinstance(rule.get("to"), str):
            return "one of amp.permissions delegates, and does not say to which program"
    return None


def amp(*, user: bool = False) -> Client:
    """Return the declaration of Amp: `.amp/settings.json` and AGENTS.md; with `user`, of the user's own folder.

    The first of its permissions that matches counts, so that their order does; one of them may hand the call to a
    program.
    """
    base = "" if user else ".amp/"
    check = combine_checks(check_types({}), _check_amp, check_reachable(_AMP_SERVERS))
    rules = (DocumentRule((_AMP_SERVERS,), "servers", "mcp:"),)
    return Client(
        "amp",
        ("settings.json",) if user else (".amp",),
        (Documents(f"{base}settings.json", JsoncDocument, rules, check=check),),
        texts=() if user else declare_texts(".agents/", "commands"),
        skills=() if user else (Skills(".agents/skills"),),
        scripts=(Scripts(f"{base}plugins", (".js", ".ts"), "plugins", _NEXT),),
        instructions=("AGENTS.md", "AGENT.md"),
        nested=not user,
        imports=find_at_imports,
        user_folder=".config/amp",
        user=user,
        risks=_AMP_RISKS,
        dotted=True,
    )


_KIRO_RISKS: Final = """
executes: mcpServers.** then.command when.**
loads: resources prompt includeMcpJson toolAliases.*
growing, may use more tools: tools
growing, allows more: allowedTools toolsSettings.*.allowedCommands
growing, opens more directories: toolsSettings.*.allowedPaths
shrinking, denies less: toolsSettings.*.deniedCommands toolsSettings.*.deniedPaths
protected, has hooks, which run programs or guard, and they changed: hooks hooks.**
protected: toolsSettings.** enabled
harmless: name description version then.type then.prompt
"""


def _check_kiro_hooks(value: Any) -> str | None:
    hooks = value.get("hooks", []) if isinstance(value, dict) else []
    if not isinstance(hooks, list):
        return "hooks must be a list of hooks"
    for hook in hooks:
        action = hook.get("action") if isinstance(hook, dict) else None
        if not isinstance(action, dict) or not isinstance(hook.get("trigger"), str):
            return "each hook needs a trigger and an action"
        if action.get("type") == "command" and not isinstance(action.get("command"), str):
            return f"the hook {hook.get('name', '')!r} has no command"
    return None


def kiro(*, user: bool = False) -> Client:
    """Return the declaration of Kiro: `.kiro/` and AGENTS.md; with `user`, of the user's own folder.

    Its hooks are lists in files of their own, and stay settings; an agent without a list of tools has none.
    """
    base = "" if user else ".kiro/"
    types = check_types({str: "name model", list: "tools allowedTools", dict: "hooks"})
    agent = (HOOKS, *declare_models("model"))
    return Client(
        "kiro",
        ("settings", "steering", "agents") if user else (".kiro",),
        (
            declare_servers(f"{base}settings/mcp.json", effect=_LIVE),
            Documents(f"{base}hooks/*.json", JsonDocument, (), "hooks/{}", check=_check_kiro_hooks),
            Documents(f"{base}hooks/*.kiro.hook", JsonDocument, (), "hooks/{}.kiro.hook"),
            Documents(f"{base}agents/*.json", JsonDocument, agent, "agents/{}.json", check=types),
        ),
        texts=declare_texts(base, "steering agents" if user else "steering agents specs"),
        skills=(Skills(f"{base}skills"),),
        instructions=() if user else ("AGENTS.md",),
        nested=not user,
        user_folder=".kiro",
        user=user,
        risks=_KIRO_RISKS,
    )


_OPENCLAW_TYPES: Final[Types] = {
    dict: "agents mcp tools hooks plugins gateway channels models env meta skills mcp.servers agents.defaults "
    "agents.entries",
    list: "tools.allow tools.deny",
    str: "tools.profile",
}
_OPENCLAW_TEXTS: Final = "AGENTS.md SOUL.md TOOLS.md IDENTITY.md USER.md HEARTBEAT.md BOOTSTRAP.md MEMORY.md"
_OPENCLAW_RISKS: Final = """
executes: mcp.** hooks.** browser.executablePath tools.exec.**
redirects: models.providers.** gateway.** channels.** diagnostics.otel.**
injects: env.**
loads: plugins.** skills.** $include
growing, brings in agents with tools of their own: agents.list
growing, allows more: tools.allow tools.alsoAllow agents.entries.*.tools.allow tools.elevated.allowFrom.*
shrinking, denies less: tools.deny agents.entries.*.tools.deny
ordered minimal messaging coding full, full: tools.profile
protected: tools.** agents.defaults.sandbox.** agents.entries.*.sandbox.** agents.entries.*.tools.** approvals.**
harmless: meta.** ui.** logging.** agents.defaults.model.fallbacks agents.defaults.workspace
"""


def _check_openclaw_servers(value: Any) -> str | None:
    for name, server in list_members(value, "mcp.servers"):
        if not isinstance(server, dict) or ("command" in server) == ("url" in server):
            return f"mcp.servers.{name} must have command or url, and only one of them"
    return None


def openclaw(*, user: bool = False) -> Client:
    """Return the declaration of OpenClaw's workspace: Markdown files, skills; with `user`, of the user's own.

    Its settings are JSON5; an unknown key or a wrong type makes them invalid as a whole. It writes `meta` itself.
    """
    settings = Documents(
        "openclaw.json",
        Json5Document,
        (
            DocumentRule(("mcp", "servers"), "servers", "mcp:"),
            *declare_models("agents.defaults.model.primary", "agents.entries.*.model"),
        ),
        check=combine_checks(check_types(_OPENCLAW_TYPES), _check_openclaw_servers),
        effect=_LIVE,
        own=frozenset({("meta",)}),
    )
    at_home = Skills("workspace/skills", name="workspace/skills/{}")
    return Client(
        "openclaw",
        ("openclaw.json",) if user else ("openclaw.json", "SOUL.md"),
        (settings,),
        texts=declare_texts("", "workspace" if user else "memory"),
        skills=(at_home, Skills("skills")) if user else (Skills("skills"),),
        scripts=(Scripts("hooks", effect=_NEXT),) if user else (),
        instructions=() if user else tuple(_OPENCLAW_TEXTS.split()),
        nested=False,
        user_folder=".openclaw",
        user=user,
        risks=_OPENCLAW_RISKS,
    )
