"""Peers that diff documents: jsonpatch, deepdiff, dictdiffer. Each keeps the way back and applies it later.

They address elements of a list by index. A patch that cannot be applied is an attempt that gave up.
"""

from __future__ import annotations

from collections.abc import Callable

import deepdiff
import dictdiffer
import jsonpatch

from takeback.canonical import decode
from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, packed, timed
from takeback_lab.snapshots.situations import AnyJson, Situation


def _attempt(undo: Callable[[], AnyJson], stored: int) -> UndoAttempt:
    def guarded() -> AnyJson | None:
        try:
            return undo()
        except Exception:  # noqa: BLE001 - whatever a peer raises, it did not take the change back
            return None

    recovered, seconds = timed(guarded)
    return UndoAttempt(recovered, stored, seconds)


class JsonPatch(PlainMethod):
    """jsonpatch: the RFC 6902 patch from after to before."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        kept = jsonpatch.make_patch(trial.between.write(), trial.before.write()).to_string()
        patch, later = jsonpatch.JsonPatch.from_string(kept), trial.after.write()
        return _attempt(lambda: patch.apply(later, in_place=True), len(kept.encode()))


class DeepDiff(PlainMethod):
    """deepdiff: a Delta from after to before, in its own format."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        found = deepdiff.DeepDiff(trial.between.write(), trial.before.write())
        kept = deepdiff.Delta(found).dumps()
        delta, later = deepdiff.Delta(kept, mutate=True, log_errors=False, raise_errors=True), trial.after.write()
        return _attempt(lambda: later + delta, len(kept))


class DictDiffer(PlainMethod):
    """dictdiffer: its list of differences from after to before."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        kept = packed(list(dictdiffer.diff(trial.between.write(), trial.before.write())))
        changes, later = decode(kept), trial.after.write()
        return _attempt(lambda: dictdiffer.patch(changes, later, in_place=True), len(kept))
