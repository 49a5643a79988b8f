"""Live harnesses: a state bound to real things, changed atomically, with changes made elsewhere noticed."""

from takeback.harness.adapter import Adapter, NotExpressible
from takeback.harness.harness import Harness
from takeback.harness.outcomes import (
    Adopted,
    Applied,
    Discarded,
    Preview,
    Recovered,
    RefusalReason,
    Refused,
    Stale,
    Status,
    Unchanged,
    Undone,
)

__all__ = [
    "Adapter",
    "Adopted",
    "Applied",
    "Discarded",
    "Harness",
    "NotExpressible",
    "Preview",
    "Recovered",
    "RefusalReason",
    "Refused",
    "Stale",
    "Status",
    "Unchanged",
    "Undone",
]
