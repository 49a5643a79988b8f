"""What every request passes on its way to a harness: who may, and what is noted of reads.

A harness without a policy has this one, which lets everything pass and notes nothing; `govern.governed` has the
other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.state.slots import Slot

POLICY: Final = ".takeback/policy.toml"
"""Where the policy of a workspace is."""
AUDIT: Final = ".takeback/audit.jsonl"
"""Where reads are noted."""


class Border:
    """What a harness asks of a policy, where there is none."""

    def require(self, verb: str, by: str = "") -> None:
        """Refuse what the policy does not let this principal do."""

    def note_read(self, way: str, entry: str = "", slots: Iterable[Slot | str] | None = None, by: str = "") -> None:
        """Refuse reading contents, or note it: in which way, of which entry, which slots; None means all."""

    def treat_as_agent(self, name: str) -> None:
        """Believe no more of whoever asks from now on than that it is an agent, which says that this is its name."""

    def name_author(self, by: str) -> str:
        """Return what an entry is signed with by who says to be `by`."""
        return by
