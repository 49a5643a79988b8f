"""A history that tests of undo make by changes, without a journal."""

from __future__ import annotations

from tests.support.changes import mutation

from takeback.state import ABSENT, State
from takeback.state.slots import put_slots
from takeback.undo import History, Plan, plan_redo, plan_undo
from takeback.undo.record import list_writes_between, run_and_record


class World:
    """A history on a state, entries numbered from 1."""

    def __init__(self, **base):
        self.base = self.state = State.read(base)
        self.history = History(lambda: self.base)
        self.count = 0

    def do(self, *ops):
        recorded = run_and_record(mutation(*ops), self.state)
        assert recorded.receipt.succeeded, recorded.receipt.reason
        return self._add(recorded.writes, recorded.state)

    def remove_by_hand(self, *slots):
        after = put_slots(self.state, [(slot, ABSENT) for slot in slots])
        return self._add(list_writes_between(self.state, after), after)

    def _add(self, writes, state):
        self.count += 1
        self.history.add(self.count, self.history.with_parents(writes))
        self.state = state
        return self.count

    def undo(self, *entries):
        return self.settle(plan_undo(self.history, self.state, entries))

    def redo(self, *entries):
        return self.settle(plan_redo(self.history, self.state, entries))

    def settle(self, outcome):
        if isinstance(outcome, Plan):
            self.history.toggle(outcome.off, outcome.on)
            self.state = outcome.state
        return outcome

    def chain(self):
        return [link.id for link in self.state.part("middleware")]
