"""The adapters that bind harnesses to memory or to a directory, and the formats of their files.

Names are imported when they are first used: the guard in front of an agent's edits must load little.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from typing import Any

    from takeback.adapters.memory import MemoryAdapter, open_memory
    from takeback.adapters.opener import find_adapter, list_adapter_names, open_workspace
    from takeback.adapters.workspace import WorkspaceAdapter, init_workspace
    from takeback.harness.adapter import Adapter, FileAdapter, LiveAdapter

__all__ = [
    "Adapter",
    "FileAdapter",
    "LiveAdapter",
    "MemoryAdapter",
    "WorkspaceAdapter",
    "find_adapter",
    "init_workspace",
    "list_adapter_names",
    "open_memory",
    "open_workspace",
]

_HOMES = {
    "takeback.adapters.memory": ("MemoryAdapter", "open_memory"),
    "takeback.adapters.opener": ("find_adapter", "list_adapter_names", "open_workspace"),
    "takeback.adapters.workspace": ("WorkspaceAdapter", "init_workspace"),
    "takeback.harness.adapter": ("Adapter", "FileAdapter", "LiveAdapter"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
