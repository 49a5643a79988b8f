"""What harnesses are bound to: memory, a workspace directory; and the formats their files are written in."""

from takeback.adapters.memory import MemoryAdapter, open_memory
from takeback.adapters.opening import open_workspace
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
