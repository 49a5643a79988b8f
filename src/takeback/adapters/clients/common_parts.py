"""What declarations have in common: documents of servers and hooks, folders of texts, rules, YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from takeback.adapters.clients.checks import check_front_matter, check_servers, check_types, combine_checks
from takeback.adapters.clients.client import DocumentRule, Documents, Effect, Texts, ValueCheck
from takeback.adapters.formats.json_document import JsonDocument

if TYPE_CHECKING:
    from takeback.adapters.formats.document import Document

SERVERS: Final = "mcpServers"
HOOKS: Final = DocumentRule(("hooks",), "hooks")
AGENTS: Final = check_front_matter("name", "description")
"""What most clients demand of an agent."""
AT_HOME_OF_CLAUDE: Final = (".claude/settings.json", ".claude/settings.local.json")
"""Files of Claude Code of which others run the hooks."""


def declare_models(*places: str) -> tuple[DocumentRule, ...]:
    """Return the rules that settings at dotted places are names of models."""
    return tuple(DocumentRule(tuple(place.split(".")), "model") for place in places)


def declare_texts(
    base: str, names: str, *, check: ValueCheck = lambda _: None, effect: Effect = Effect.NEXT_SESSION
) -> tuple[Texts, ...]:
    """Return folders of Markdown below a base, by names between spaces; their prompts are named `FOLDER/FILE`."""
    return tuple(Texts(base + name, ".md", f"{name}/{{}}", check=check, effect=effect) for name in names.split())


def declare_servers(
    path: str,
    scope: str = "mcp.json",
    *,
    key: str = SERVERS,
    tools: str = "",
    form: Callable[[bytes, str], Document] = JsonDocument,
    effect: Effect = Effect.APPROVAL,
) -> Documents:
    """Return the declaration of a document of servers; `tools` is the scope that their names have."""
    return Documents(
        path,
        form,
        (DocumentRule((key,), "servers", "mcp:", scope=tools),),
        scope,
        fresh=f'{{\n  "{key}": {{\n  }}\n}}\n'.encode(),
        check=combine_checks(check_types({dict: key}), check_reachable(key)),
        effects={key: effect},
    )


def check_reachable(key: str = SERVERS) -> ValueCheck:
    """Return a check that every server has a command or an address."""
    return check_servers(key, "command", "url", texts=("command", "url", "type"))


def declare_hooks(path: str, check: ValueCheck, *, effect: Effect = Effect.NEXT_SESSION) -> Documents:
    """Return the declaration of a document of hooks, whose events have bare names."""
    rules = (DocumentRule(("hooks",), "hooks", scope=""),)
    return Documents(path, JsonDocument, rules, "hooks.json", check=check, effect=effect)


def open_yaml(content: bytes, where: str) -> Document:
    """Open a document of YAML 1.1, by a codec that is loaded with the first of them: most projects have none."""
    from takeback.adapters.formats.yaml_document import YamlDocument  # noqa: PLC0415 - start-up

    return YamlDocument(content, where)


def open_yaml_12(content: bytes, where: str) -> Document:
    """Open a document of YAML 1.2."""
    from takeback.adapters.formats.yaml_document import Yaml12Document  # noqa: PLC0415 - start-up

    return Yaml12Document(content, where)
