"""Which entries broke a harness: histories without some entries, each tried with a command in one scratch copy.

The harness is held only while it is copied. `tell` hears of every history that was tried; `stop` ends the search,
with the command that is running.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

from takeback.agents.scratch_copy import Rehearsal, make_scratch_copy, require_copyable_journal
from takeback.harness import Harness, Refused
from takeback.harness.bisect import Bisection, LiveEntries, find_breaking_entries
from takeback.harness.entry_names import resolve_entry

TellTrial = Callable[[LiveEntries, tuple[int, ...], bool | None], None]
"""Told of each trial: the entries in it, all entries searched, and whether it was broken."""


def search_breakage(
    harness: Harness,
    root: Path,
    command: str,
    tell: TellTrial,
    *,
    good: str | None = None,
    seconds: float,
    stop: Callable[[], bool] | None = None,
    lock: AbstractContextManager[object] | None = None,
) -> Bisection | Refused:
    """Return the smallest set of live entries, after `good`, that makes a command fail."""
    require_copyable_journal(root, None)
    harness.require("read")  # the command is run with what entries hold
    with ExitStack() as leaving:
        with lock or nullcontext(), harness.held(clean=True) as state:
            if isinstance(state, Refused):
                return state
            after = -1 if good is None else resolve_entry(harness.ledger, good).entry
            live = (entry.seq for entry in harness.log() if entry.status == "live" and entry.seq > after)
            entries = tuple(sorted(live))
            place = leaving.enter_context(make_scratch_copy(root))
        rehearsal = Rehearsal(place, entries, command, seconds, stop)

        def broken(wanted: LiveEntries) -> bool | None:
            answer = rehearsal.is_broken(wanted)
            tell(wanted, entries, answer)
            return answer

        return find_breaking_entries(entries, broken)
