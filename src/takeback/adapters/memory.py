"""The simplest harness: a state in memory. Its journal may be durable all the same, and outlive the process."""

from __future__ import annotations

from os import PathLike

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import Manifest
from takeback.harness.adapter import Reading
from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.state import SURFACES, State
from takeback.state.installed import install_surfaces
from takeback.state.slots import differing_slots, placed_state
from takeback.verify import verify


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
        """Change the state behind the harness's back."""
        self._edited = state

    def read(self, known: State) -> Reading:
        """The state as it is; parts that are still there keep their identity."""
        if self._edited is not None:
            there = placed_state(self._edited, known)
            if next(differing_slots(there, known), None) is not None:
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
        """Nothing to let go of."""


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> MemoryAdapter:
    """The adapter of a directory that holds nothing but a manifest and a journal."""
    del manifest, hold
    directory.close()
    return MemoryAdapter()


def open_memory(
    state: State | None = None,
    *,
    journal: str | PathLike[str] = ":memory:",
    keys: str | PathLike[str] | None = None,
    verifier: Verifier = verify,
) -> Harness:
    """A harness over `state`, or over what a journal that was begun before says; `keys` is a sealed journal's."""
    install_surfaces()
    store = open_journal(journal, keys=keys)
    return Harness(MemoryAdapter(), store, verifier=verifier, start=State() if state is None else state)
