"""Where each surface lives in a workspace: one line per surface.

A surface from outside is kept as JSON in `<surface>.json`, unless it says otherwise itself with an attribute
`workspace_storage`, a function that returns a `Storage`. Resources live in no file: they are held by a process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from takeback.adapters.workspace.document_storage import DocumentStorage, JsonStorage, RoutingStorage, TablesStorage
from takeback.adapters.workspace.folder_storage import JsonFolderStorage, TextStorage, TreeStorage
from takeback.adapters.workspace.storage import Storage
from takeback.state import SURFACES

HELD: Final = frozenset({"resources"})
"""Surfaces of which a workspace has no file."""

_STORAGES: dict[str, Callable[[], Storage]] = {
    "config": lambda: DocumentStorage("config", "config.toml", "# Settings of the agent.\n"),
    "routing": lambda: RoutingStorage(
        "routing", "routing.toml", "# Which model serves what. A key set to false is explicitly disabled.\n"
    ),
    "middleware": lambda: TablesStorage(
        "middleware",
        "middleware.toml",
        "# The middleware chain: the first [[middleware]] runs first.\n",
        "middleware",
    ),
    "listeners": lambda: TablesStorage(
        "listeners",
        "listeners.toml",
        "# Callbacks by event: the [[listener]] tables of one event run in the order they stand in.\n",
        "listener",
        events=True,
    ),
    "prompts": lambda: TextStorage("prompts", "prompts", ".md"),
    "tools": lambda: JsonFolderStorage("tools", "tools", ".json"),
    "files": lambda: TreeStorage("files", "files"),
}


def storages() -> tuple[Storage, ...]:
    """A storage for each surface that is installed and lives in files."""
    return tuple(_storage(name) for name in SURFACES if name not in HELD)


def _storage(name: str) -> Storage:
    made: Callable[[], Storage] | None = getattr(SURFACES[name], "workspace_storage", None) or _STORAGES.get(name)
    return JsonStorage(name) if made is None else made()
