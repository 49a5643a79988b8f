"""Goose: `.goosehints`, AGENTS.md and recipes in a project; `config.yaml` and `permission.yaml` of the user.

YAML 1.2. A recipe is a template that is no YAML until it is filled in, and so a text. A broken config is replaced by
the client's own backup. The client writes its config anew when it changes something, and needs a restart.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import check_types, combine_checks
from takeback.adapters.clients.client import Client, DocumentRule, Documents, Skills, Texts
from takeback.adapters.clients.yaml_files import open_yaml_12

_MODES: Final = ("chat", "approve", "smart_approve", "auto")
_RULES: Final = (
    DocumentRule(("extensions",), "servers", "mcp:"),
    DocumentRule(("GOOSE_MODEL",), "model"),
)
_TYPES: Final = {"extensions": (dict,), "GOOSE_MODE": (str,), "GOOSE_MODEL": (str,), "GOOSE_PROVIDER": (str,)}


def _check_mode(value: Any) -> str | None:
    mode = value.get("GOOSE_MODE") if isinstance(value, dict) else None
    return None if mode in {None, *_MODES} else f"GOOSE_MODE is {mode!r}; known are {', '.join(_MODES)}"


def goose(*, user: bool = False) -> Client:
    """Return the declaration of Goose; with `user`, of the user's own folder."""
    if user:
        return Client(
            "goose",
            ("config.yaml",),
            (
                Documents(
                    "config.yaml",
                    open_yaml_12,
                    _RULES,
                    fresh=b"",
                    check=combine_checks(check_types(_TYPES), _check_mode),
                    own=frozenset({("experiments",), ("GOOSE_CLI_THEME",)}),
                ),
                Documents("permission.yaml", open_yaml_12, (), "permission", fresh=b""),
            ),
            texts=(Texts("recipes", ".yaml", "recipes/{}"),),
            instructions=(".goosehints",),
            nested=False,
            user_folder=".config/goose",
            user=True,
        )
    return Client(
        "goose",
        (".goosehints", ".goose"),
        (),
        texts=(Texts(".goose/recipes", ".yaml", "recipes/{}"),),
        skills=(Skills(".goose/skills"), Skills(".agents/skills", name=".agents/skills/{}")),
        instructions=(".goosehints", ".gooseignore", "AGENTS.md"),
        user_folder=".config/goose",
    )
