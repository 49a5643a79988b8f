"""A repository that is a Claude Code plugin, or a marketplace: `.claude-plugin/` and the folders beside it."""

from __future__ import annotations

from takeback.adapters.clients.checks import check_front_matter, check_hooks, check_types, combine_checks
from takeback.adapters.clients.claude_code import EVENTS
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Scripts, Skills, Texts
from takeback.adapters.clients.risk_rules import Risk, make_rules
from takeback.adapters.clients.servers import SERVER_RISKS, declare_servers
from takeback.adapters.formats.json_document import JsonDocument

RISKS = {
    **SERVER_RISKS,
    **make_rules(Risk.EXECUTES, "lspServers.**"),
    **make_rules(Risk.LOADS, "plugins commands agents skills outputStyles hooks mcpServers"),
    **make_rules(Risk.HARMLESS, "name version description author.** owner.** license keywords homepage repository"),
}


def claude_plugin(*, user: bool = False) -> Client:
    """Return the declaration of a plugin's repository; there are no files of the user's."""
    types = check_types({"name": (str,), "version": (str,), "description": (str,), "plugins": (list,)})
    hooks = DocumentRule(("hooks",), "hooks", scope="")
    servers = DocumentRule(("mcpServers",), "servers", "mcp:", scope="plugin")
    documents = (
        Documents(".claude-plugin/plugin.json", JsonDocument, (servers,), check=types),
        Documents(".claude-plugin/marketplace.json", JsonDocument, (), "marketplace", check=types),
        Documents(
            "hooks/hooks.json",
            JsonDocument,
            (hooks,),
            "hooks.json",
            check=combine_checks(check_types({}), check_hooks()),
        ),
        declare_servers(".mcp.json"),
    )
    named = check_front_matter("name", "description")
    return Client(
        "claude-plugin",
        () if user else (".claude-plugin",),
        () if user else documents,
        texts=(
            Texts("commands", ".md", "commands/{}"),
            Texts("agents", ".md", "agents/{}", check=named),
            Texts("output-styles", ".md", "output-styles/{}"),
        ),
        skills=(Skills("skills"),),
        scripts=(Scripts("hooks", (".sh", ".py", ".js", ".mjs", ".ts")), Scripts("scripts")),
        instructions=("CLAUDE.md", "AGENTS.md"),
        events=EVENTS,
        user=user,
        is_program=False,
        risks=RISKS,
    )
