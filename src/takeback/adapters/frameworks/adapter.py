"""The adapter of a framework's agent, and a harness with its agent.

The state in the journal is what is there: the agent reads it at every call, through one thing that never changes. So
`write` has nothing to do, and a change is refused beforehand if it names what the host has not registered.
"""

from __future__ import annotations

from typing import Any

from takeback.adapters.frameworks.catalogue import SURFACES, AgentParts, Assembly
from takeback.errors import HarnessError, InputError
from takeback.harness.adapter import Reading
from takeback.harness.engine import LOCK_SECONDS
from takeback.harness.harness import Harness, Verifier
from takeback.journal import Store
from takeback.state import State
from takeback.state.slots import Slot


class FrameworkAdapter:
    """An agent in this process; `assembly` makes of the state what the agent works with."""

    def __init__(self, name: str, assembly: Assembly) -> None:
        self._name = name
        self._known = State()
        self.assembly = assembly

    @property
    def name(self) -> str:
        """The framework."""
        return self._name

    @property
    def surfaces(self) -> frozenset[str]:
        """Prompts, tools, middleware, models and config."""
        return SURFACES

    def read(self, known: State) -> Reading:
        """What the journal says: there is no other place where it could be changed."""
        self._known = known
        return Reading(known)

    def write(self, before: State, after: State) -> None:
        """Nothing: the next call reads the state anew."""
        del before, after

    def effect(self, slot: Slot) -> str:
        """Every change is seen by the next call."""
        del slot
        return "live"

    def prepare(self, before: State, after: State) -> str | None:
        """Why a change cannot be made here: what it brings in that is not registered, or does not fit."""
        _, there = self.assembly.parts(before)
        _, faults = self.assembly.parts(after)
        new = [fault for fault in faults if fault not in there]
        return "; ".join(new) or None

    def hold(self, state: State) -> None:
        """Keep what was made for a state, and let go of what was made for others."""
        self._known = state
        self.assembly.parts(state, keep=True)

    def problems(self) -> tuple[str, ...]:
        """What the journal's state names and this process has not registered."""
        return self.assembly.parts(self._known)[1]

    def close(self) -> None:
        """Nothing to let go of."""


class AgentHarness(Harness):
    """A harness whose things are the parts of one agent; `agent` is the framework's own object, to be run as ever."""

    agent: Any

    def __init__(self, adapter: FrameworkAdapter, journal: Store, *, start: State, verifier: Verifier) -> None:
        self.assembly = adapter.assembly
        if journal.head() is None:
            for fault in self.assembly.parts(start)[1]:
                raise InputError("state", found=fault, expected="only what is registered")
        about = {"identity": f"framework:{adapter.name}"}
        super().__init__(adapter, journal, verifier=verifier, start=start, about=about)

    def parts(self) -> AgentParts:
        """What the agent works with now, changes by other processes included; `HarnessError` if some is not here."""
        with self.journal.lock(LOCK_SECONDS):
            self.ledger.refresh()
            state = self.state
        parts, faults = self.assembly.parts(state, keep=True)
        if parts is None:
            raise HarnessError(
                f"the agent cannot run: {'; '.join(faults)}",
                hint="register what is missing, or undo the change that names it",
            )
        return parts
