"""How a harness fared since a time: changes, authors, loosened permissions, failed checks, refused attempts.

Answers the question whether the agent is healthy: looser permissions are listed with their entry, so that it can be
undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from takeback.errors import TakebackError
from takeback.harness import Harness
from takeback.harness.attempts import read_attempts
from takeback.harness.entry_log import load_entry_writes
from takeback.present.attempts import find_root
from takeback.present.search_index import SearchIndex
from takeback.present.titles import format_count
from takeback.present.warnings import weigh_states
from takeback.secret_mask import mask_text_secrets
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import put_slots

DAY: Final = timedelta(days=1)
WEIGHED: Final = 60
"""So many of the newest entries are weighed."""
GUARDED: Final = frozenset({"config", "tools", "listeners", "prompts", "files"})
"""Surfaces that permissions can stand in."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened since a time."""

    changes: int = 0
    authors: tuple[str, ...] = ()
    loosened: tuple[tuple[int, str], ...] = ()
    """Live entries that allow or run what was not allowed or run before, each with what."""
    failed: tuple[int, ...] = ()
    """Entries whose check failed."""
    refused: int = 0

    @property
    def suspect(self) -> int | None:
        """The entry to look at first: the newest that loosened permissions, or whose check failed."""
        numbers = [*(number for number, _ in self.loosened), *self.failed]
        return max(numbers) if numbers else None

    def describe(self) -> str:
        """Return it on a line."""
        phrases = [format_count(self.changes, "change")]
        if self.changes:
            phrases.append(format_count(len(self.authors), "author"))
        phrases += [format_count(len(self.loosened), "loosened permission")] if self.loosened else []
        phrases += [format_count(len(self.failed), "failed check")] if self.failed else []
        phrases += [format_count(self.refused, "refused attempt")] if self.refused else []
        return f"since yesterday: {', '.join(phrases)}"

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "changes": self.changes,
            "authors": list(self.authors),
            "loosened": [{"entry": number, "what": what} for number, what in self.loosened],
            "failed_checks": list(self.failed),
            "refused": self.refused,
            "suspect": self.suspect,
        }


def summarize_since(harness: Harness, index: SearchIndex | None = None, now: datetime | None = None) -> Summary:
    """Return what happened in the day before `now`."""
    since = (now or datetime.now(UTC)) - DAY
    if index is None:
        with closing(SearchIndex(harness)) as own:
            own.refresh()
            facts = own.list_since(since)
    else:
        facts = index.list_since(since)
    ledger = harness.ledger
    live = [fact for fact in facts if fact["seq"] not in ledger.history.undone]
    root = find_root(harness)
    refused = [attempt for attempt in read_attempts(root) if is_after(attempt["at"], since)] if root else []
    return Summary(
        len(facts),
        tuple(sorted({fact["by"] or "not said" for fact in facts})),
        tuple(_find_loosened(harness, [fact["seq"] for fact in live if GUARDED & set(fact["surface"].split())])),
        tuple(fact["seq"] for fact in live if fact["failed"]),
        len(refused),
    )


def is_after(at: str, since: datetime) -> bool:
    """Tell whether a time, as it was written down, is not before another; what is no time is."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) >= since


def _find_loosened(harness: Harness, numbers: Iterable[int]) -> list[tuple[int, str]]:
    loosened: list[tuple[int, str]] = []
    for number in list(numbers)[:WEIGHED]:
        record = harness.journal.get(number)
        known = record.origin.get("loosens")
        if known:
            loosened.append((number, mask_text_secrets(known)))
            continue
        try:
            writes = load_entry_writes(harness, record)
            if any(has_forgotten(write.before) for write in writes):
                continue  # what was there before is gone, so nothing can be compared
            before = put_slots(harness.state, [(write.slot, write.before) for write in reversed(writes)])
            reasons = weigh_states(harness, before, harness.state)
        except (TakebackError, ValueError, KeyError, TypeError):  # a state with forgotten contents cannot be weighed
            continue
        if reasons:
            loosened.append((number, mask_text_secrets("; ".join(reasons))))
    return loosened
