"""Live harnesses: a state bound to real things, changed atomically, with changes made elsewhere noticed."""

from typing import TYPE_CHECKING

from takeback.lazy_names import load_on_demand

if TYPE_CHECKING:
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

__getattr__ = load_on_demand(
    __name__,
    {
        "takeback.harness.adapter": "Adapter NotExpressible",
        "takeback.harness.harness": "Harness",
        "takeback.harness.outcomes": "Adopted Applied Discarded Preview Recovered RefusalReason Refused Stale "
        "Status Unchanged Undone",
    },
)
