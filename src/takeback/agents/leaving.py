"""Takes what is ours out of clients' files without the journal, for a harness that cannot be opened.

The files alone say what stands in them: they are read, what is ours is known again by what it says, and each file is
written only if it still is what was read. Nothing is recorded, since there is nowhere to record it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from takeback.adapters.clients import members_of
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.init import detect
from takeback.adapters.directory import Directory
from takeback.agents.installing import candidate_of
from takeback.agents.own_traces import find_plugins, list_removals
from takeback.errors import HarnessError
from takeback.harness.adapter import Reading, Unsayable
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.writing import finish
from takeback.journal.memory import MemoryStore
from takeback.state import State
from takeback.state.installed import install_surfaces
from takeback.undo.recording import run_recorded


class ClientFiles:
    """The clients' files of one directory, as they are."""

    def __init__(self, adapter: ClientAdapter) -> None:
        self._adapter = adapter
        self.reading: Reading = adapter.read(State())

    def take_out(self, ops: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        """Take some of ours out of the files; returns the files that someone else was writing meanwhile."""
        before = self.reading.state
        done = run_recorded(candidate_of(ops, before).mutation, before)
        changes = self._adapter.render(before, done.state)
        if isinstance(changes, Unsayable):
            raise HarnessError(f"{changes.path}: {changes.reason}", hint="take it out by hand")
        store = MemoryStore()
        with store.lock(LOCK_SECONDS):
            return finish(self._adapter.place, store, changes)


def list_own(state: State) -> list[dict[str, Any]]:
    """Return the operations that take everything of ours out of a harness, plugins of its settings too."""
    plugins = [{"op_type": "unset_config", "target": key} for key in find_plugins(state)]
    return [*list_removals(state), *plugins]


@contextmanager
def open_client_files(root: Path, *, user: bool) -> Iterator[ClientFiles]:
    """Open the files of the clients that a directory has, without a journal."""
    install_surfaces()
    directory = Directory(root)
    try:
        yield ClientFiles(ClientAdapter(directory, members_of(list(detect(root, user=user)), user=user), ask="never"))
    finally:
        directory.close()
