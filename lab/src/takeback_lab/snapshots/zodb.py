"""Peer: ZODB's undo of a transaction, an OOBTree for each surface, in a FileStorage of its own."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import transaction
import ZODB
import ZODB.FileStorage
from BTrees.OOBTree import OOBTree
from ZODB.POSException import ConflictError, UndoError

from takeback.state import SURFACES
from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, timed
from takeback_lab.snapshots.rows import StateRow, StateRows, changed, rows_of, state_of
from takeback_lab.snapshots.situations import AnyJson, Situation


class Zodb(PlainMethod):
    """Transactional undo with the conflict resolution of OOBTree buckets."""

    fractional = True

    def __init__(self) -> None:
        self.folder = TemporaryDirectory()
        self.storage = ZODB.FileStorage.FileStorage(str(Path(self.folder.name) / "data.fs"))
        self.db = ZODB.DB(self.storage)
        self.manager = transaction.TransactionManager()
        self.connection = self.db.open(transaction_manager=self.manager)
        self.root = self.connection.root()

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        before = rows_of(trial.before.write(), fractional=self.fractional)
        between = rows_of(trial.between.write(), fractional=self.fractional, known=before, change=trial.change)
        after = rows_of(trial.after.write(), fractional=self.fractional, known=between, change=trial.later)
        for name in SURFACES:
            self.root[name] = OOBTree()
        self.step({}, before)
        size = self.storage.getSize()
        self.step(before, between)
        stored = self.storage.getSize() - size
        entry = self.db.undoInfo(0, 1)[0]["id"]
        self.step(between, after)
        done, seconds = timed(lambda: self.undo(entry))
        return UndoAttempt(self.read() if done else None, stored, seconds)

    def step(self, one: StateRows, two: StateRows) -> None:
        """Make the trees what `two` says, in one transaction."""
        for (surface, key), row in changed(one, two):
            if row is None:
                del self.root[surface][key]
            else:
                self.root[surface][key] = tuple(row)
        self.manager.commit()

    def undo(self, entry: bytes) -> bool:
        """Undo one transaction; whether that could be done."""
        try:
            self.db.undo(entry, self.manager.get())
            self.manager.commit()
        except (UndoError, ConflictError):
            self.manager.abort()
            return False
        return True

    def read(self) -> AnyJson | None:
        """The state in the trees."""
        self.manager.begin()
        rows = {(surface, key): StateRow(*row) for surface in SURFACES for key, row in self.root[surface].items()}
        try:
            return state_of(rows)
        except ValueError:
            return None

    def close(self) -> None:
        """Close the database and remove its files."""
        self.manager.abort()
        self.connection.close()
        self.db.close()
        self.folder.cleanup()


class DenseZodb(Zodb):
    """The same with positions 0, 1, 2, …"""

    fractional = False
