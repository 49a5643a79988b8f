"""A workspace: a directory of plain files in Takeback's own layout."""

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import Manifest
from takeback.adapters.workspace.adapter import WorkspaceAdapter, init_workspace


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> WorkspaceAdapter:
    """Return the adapter of a workspace directory."""
    return WorkspaceAdapter(directory, manifest, hold=hold)


__all__ = ["WorkspaceAdapter", "init_workspace", "open_adapter"]
