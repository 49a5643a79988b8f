"""What harnesses are bound to: memory, a workspace directory; and the formats their files are written in."""

from takeback.adapters.memory import MemoryAdapter, open_memory
from takeback.adapters.workspace import WorkspaceAdapter, init_workspace, open_workspace
from takeback.harness.adapter import Adapter

__all__ = ["Adapter", "MemoryAdapter", "WorkspaceAdapter", "init_workspace", "open_memory", "open_workspace"]
