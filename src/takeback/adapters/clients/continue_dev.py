"""Continue: `.continue/` with `config.yaml`, blocks of servers and models, rules and prompts; AGENTS.md.

YAML 1.2, unless the file says `%YAML 1.1`, which anchors with `<<` need. One wrong type and it does not start. Its
hooks are declared and never run. The user's `permissions.yaml` is dropped for one key that is not known.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks
from takeback.adapters.clients.client import Client, Documents, Scripts, Texts
from takeback.adapters.clients.yaml_files import open_yaml_12

_TYPES: Final = {
    "name": (str,),
    "version": (str,),
    "schema": (str,),
    **dict.fromkeys(("models", "rules", "prompts", "mcpServers", "context", "docs", "data"), (list,)),
}
_PERMISSIONS: Final = ("allow", "ask", "exclude")


def _check_servers(value: Any) -> str | None:
    for at, server in enumerate(value.get("mcpServers") or () if isinstance(value, dict) else ()):
        if not isinstance(server, dict) or not ({"command", "url", "uses"} & server.keys()):
            return f"mcpServers.{at} must have a command, a url or 'uses'"
    return None


def _check_models(value: Any) -> str | None:
    for at, model in enumerate(value.get("models") or () if isinstance(value, dict) else ()):
        if not isinstance(model, dict):
            return f"models.{at} must be a mapping"
        if "uses" not in model and not all(isinstance(model.get(key), str) for key in ("name", "provider", "model")):
            return f"models.{at} must have a name, a provider and a model"
    return None


def _check_permissions(value: Any) -> str | None:
    strange = [key for key in value if key not in _PERMISSIONS] if isinstance(value, dict) else []
    return f"{strange[0]!r} is no key of it, and the client drops the whole file" if strange else None


def continue_dev(*, user: bool = False) -> Client:
    """Return the declaration of Continue; with `user`, of the user's own folder."""
    base = "" if user else ".continue/"
    check = combine_checks(check_types(_TYPES), _check_servers, _check_models)
    documents = [Documents(f"{base}config.yaml", open_yaml_12, fresh=b"", check=check)]
    documents += [
        Documents(f"{base}{folder}/*.yaml", open_yaml_12, (), f"{folder}/{{}}", fresh=b"", check=check)
        for folder in ("mcpServers", "models")
    ]
    if user:
        lists = check_types(dict.fromkeys(_PERMISSIONS, (list,)))
        permissions = combine_checks(lists, _check_permissions)
        own = frozenset({("allow",), ("ask",), ("exclude",)})
        documents.append(
            Documents("permissions.yaml", open_yaml_12, (), "permissions", fresh=b"", check=permissions, own=own)
        )
    return Client(
        "continue",
        ("config.yaml",) if user else (".continue",),
        tuple(documents),
        texts=(Texts(f"{base}rules", ".md", "rules/{}"), Texts(f"{base}prompts", ".md", "prompts/{}")),
        scripts=(Scripts(f"{base}hooks"),),
        instructions=() if user else ("AGENTS.md",),
        nested=False,
        user_folder=".continue",
        user=user,
    )
