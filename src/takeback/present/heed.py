"""What of a change is not heeded by whoever loads the harness: a file that a client drops, an unknown event."""

from __future__ import annotations

from typing import Any

from takeback.harness import Adopted, Applied, Harness, Preview
from takeback.harness.adapter import Heeding


def list_unheeded(outcome: Any, harness: Harness) -> list[str]:
    """Return why some of a change that was or would be made is not heeded, one sentence each."""
    adapter = harness.adapter
    if not isinstance(adapter, Heeding) or not isinstance(outcome, Applied | Adopted | Preview):
        return []
    changes = outcome.writes if isinstance(outcome, Applied) else outcome.changes
    known: Any = outcome.entry.payload.get("unheeded", ()) if isinstance(outcome, Adopted) else ()
    told = [*(str(one) for one in known), *(adapter.why_unknown(change.slot) for change in changes)]
    return list(dict.fromkeys(reason for reason in told if reason))
