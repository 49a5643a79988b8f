"""A workspace: a directory of plain files in Takeback's own layout."""

from takeback.adapters.workspace.adapter import WorkspaceAdapter, open_workspace
from takeback.adapters.workspace.init import init_workspace

__all__ = ["WorkspaceAdapter", "init_workspace", "open_workspace"]
