"""What harnesses are bound to: memory, a workspace directory; and the formats their files are written in.

Names are imported when they are first used: the guard in front of an agent's edits has no time for what it needs not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from takeback.adapters.memory import MemoryAdapter, open_memory
    from takeback.adapters.open_by_manifest import open_workspace
    from takeback.adapters.registry import adapter_named, adapter_names
    from takeback.adapters.workspace import WorkspaceAdapter, init_workspace
    from takeback.harness.adapter import Adapter, FileAdapter, LiveAdapter

__all__ = [
    "Adapter",
    "FileAdapter",
    "LiveAdapter",
    "MemoryAdapter",
    "WorkspaceAdapter",
    "adapter_named",
    "adapter_names",
    "init_workspace",
    "open_memory",
    "open_workspace",
]

_HOMES = {
    "takeback.adapters.memory": ("MemoryAdapter", "open_memory"),
    "takeback.adapters.open_by_manifest": ("open_workspace",),
    "takeback.adapters.registry": ("adapter_named", "adapter_names"),
    "takeback.adapters.workspace": ("WorkspaceAdapter", "init_workspace"),
    "takeback.harness.adapter": ("Adapter", "FileAdapter", "LiveAdapter"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(home), name)
    globals()[name] = found
    return found
