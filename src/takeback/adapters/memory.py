"""The simplest harness: a state in memory. Its journal may be durable all the same, and outlive the process."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import Manifest
from takeback.errors import WrongTypeError
from takeback.harness.adapter import Reading
from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.state import SURFACES, State
from takeback.state.slots import find_differing_slots, transfer_places
from takeback.state.surface import install_surfaces


class MemoryAdapter:
    """A state in memory: what the journal says, unless someone has edited it."""

    name = "memory"

    def __init__(self) -> None:
        self._edited: State | None = None
        self._reading = Reading(State())

    @property
    def surfaces(self) -> frozenset[str]:
        """All of them."""
        return frozenset(SURFACES)

    def edit(self, state: State) -> None:
        """Change the state without the harness knowing."""
        self._edited = state

    def read(self, known: State) -> Reading:
        """Return the present state; values that are still there keep their identity."""
        if self._edited is not None:
            there = transfer_places(self._edited, known)
            if next(find_differing_slots(there, known), None) is not None:
                return Reading(there)
            self._edited = None  # what someone did is what the journal says now
        if self._reading.state is not known:
            self._reading = Reading(known)
        return self._reading

    def write(self, before: State, after: State) -> None:
        """Keep what someone did, with the change; without an edit the journal says how things are."""
        del before
        if self._edited is not None:
            self._edited = after

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> MemoryAdapter:
    """Return the adapter of a directory that holds only a manifest and a journal."""
    del manifest, hold
    directory.close()
    return MemoryAdapter()


def open_memory(
    state: State | Mapping[str, Any] | None = None,
    *,
    journal: str | PathLike[str] = ":memory:",
    keys: str | PathLike[str] | None = None,
    verifier: Verifier | None = None,
) -> Harness:
    """Open a harness over `state`, or over what an existing journal holds; `keys` are a sealed journal's.

    A state may be given as JSON: `open_memory({"config": {"timeout": 30}})`.
    """
    install_surfaces()
    if isinstance(state, Mapping):
        state = State.read(dict(state))
    if not isinstance(state, State | None):
        hint = "open_workspace(path) opens a directory; journal=path names a journal"
        raise WrongTypeError("state", state, expected="a State, its JSON object, or None", hint=hint)
    store = open_journal(journal, keys=keys)
    return Harness(MemoryAdapter(), store, verifier=verifier, start=State() if state is None else state)
