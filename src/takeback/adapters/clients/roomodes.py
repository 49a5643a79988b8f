"""Roo's own modes, `.roomodes`: YAML 1.2 (or JSON, which is YAML too), a list under `customModes`; read live.

A mode's groups say which tools it may use. The rest of Roo's files are JSON and Markdown.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.client import Client, Documents, Effect
from takeback.adapters.clients.yaml_files import open_yaml_12

_NEEDED: Final = ("slug", "name", "roleDefinition")


def _check_modes(value: Any) -> str | None:
    modes = value.get("customModes", ()) if isinstance(value, dict) else ()
    if not isinstance(modes, list | tuple):
        return "customModes must be a list"
    for at, mode in enumerate(modes):
        lacking = [key for key in _NEEDED if not isinstance(mode, dict) or not isinstance(mode.get(key), str)]
        if lacking:
            return f"customModes.{at} must have a text under {lacking[0]}"
        if not isinstance(mode.get("groups"), list):
            return f"customModes.{at}.groups must be a list"
    return None


ROO_MODES: Final = Documents(".roomodes", open_yaml_12, fresh=b"", check=_check_modes, effect=Effect.LIVE)


def roomodes(*, user: bool = False) -> Client:
    """Return the declaration of a project's modes; those of the user lie in the editor's storage."""
    return Client("roomodes", (".roomodes",), (ROO_MODES,), instructions=(".rooignore",), nested=False, user=user)
