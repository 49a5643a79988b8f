"""Peer: SQLite's session extension (apsw). The changeset of a change, inverted, applied after later changes."""

from __future__ import annotations

import apsw

from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, timed
from takeback_lab.snapshots.rows import StateRow, StateRows, changed, rows_of, state_of
from takeback_lab.snapshots.situations import AnyJson, Situation

_PUT = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?)"


class SqliteSession(PlainMethod):
    """One table of entries in memory. A conflict leaves the later change as it is."""

    fractional = True

    def __init__(self) -> None:
        self.db = apsw.Connection(":memory:")
        self.db.execute(
            "CREATE TABLE entry(surface TEXT, key TEXT, position REAL, value TEXT, PRIMARY KEY(surface, key))"
        )

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        before, between, after = self.layout(trial)
        self.db.execute("DELETE FROM entry")
        self.step({}, before)
        session = apsw.Session(self.db, "main")
        session.attach()
        self.step(before, between)
        kept = apsw.Changeset.invert(session.changeset())
        session.close()
        self.step(between, after)
        _, seconds = timed(lambda: apsw.Changeset.apply(kept, self.db, conflict=_leave))
        return UndoAttempt(self.read(), len(kept), seconds)

    def layout(self, trial: Situation) -> tuple[StateRows, StateRows, StateRows]:
        """The rows before, between and after."""
        before = rows_of(trial.before.write(), fractional=self.fractional)
        between = rows_of(trial.between.write(), fractional=self.fractional, known=before, change=trial.change)
        after = rows_of(trial.after.write(), fractional=self.fractional, known=between, change=trial.later)
        return before, between, after

    def step(self, one: StateRows, two: StateRows) -> None:
        """Make the table what `two` says."""
        with self.db:
            for (surface, key), row in changed(one, two):
                if row is None:
                    self.db.execute("DELETE FROM entry WHERE surface = ? AND key = ?", (surface, key))
                elif (surface, key) in one:
                    self.db.execute(
                        "UPDATE entry SET position = ?, value = ? WHERE surface = ? AND key = ?", (*row, surface, key)
                    )
                else:
                    self.db.execute(_PUT, (surface, key, *row))

    def read(self) -> AnyJson | None:
        """The state in the table, None where its rows contradict each other."""
        rows = {
            (surface, key): StateRow(position, value)
            for surface, key, position, value in self.db.execute("SELECT * FROM entry")
        }
        try:
            return state_of(rows)
        except ValueError:
            return None

    def close(self) -> None:
        """Close the database."""
        self.db.close()


class DenseSession(SqliteSession):
    """The same with positions 0, 1, 2, …"""

    fractional = False


def _leave(reason: int, change: apsw.TableChange) -> int:
    del reason, change
    return int(apsw.SQLITE_CHANGESET_OMIT)
