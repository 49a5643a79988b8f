"""Live harnesses: a state bound to real things, changed atomically, with changes made elsewhere noticed."""

from takeback.harness.adapter import Adapter, Unsayable
from takeback.harness.harness import Harness
from takeback.harness.results import (
    Adopted,
    Applied,
    Discarded,
    Preview,
    Recovered,
    Refused,
    Stale,
    Status,
    Unchanged,
    Undone,
    Why,
)

__all__ = [
    "Adapter",
    "Adopted",
    "Applied",
    "Discarded",
    "Harness",
    "Preview",
    "Recovered",
    "Refused",
    "Stale",
    "Status",
    "Unchanged",
    "Undone",
    "Unsayable",
    "Why",
]
