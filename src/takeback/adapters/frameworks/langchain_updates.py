"""What several middleware want written to a thread, as one update: each sees what those before it wrote.

LangGraph merges an update into the thread by the rule of its channel. Hooks that are separate nodes elsewhere run
within one node here, so the rules are applied between them, and what two of them wrote is handed over as a result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.channels import BinaryOperatorAggregate
from langgraph.types import Overwrite

JUMP = "jump_to"


class Updates:
    """The updates of one node, folded: `seen` is the thread's state with them, `out` what the node returns."""

    def __init__(self, channels: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        self._channels = channels
        self.seen = dict(state)
        self.out: dict[str, Any] = {}

    def add(self, update: Mapping[str, Any] | None) -> bool:
        """Take in what one middleware returned; whether it jumps, so that those after it do not run."""
        for key, value in (update or {}).items():
            again = key in self.out
            merges = isinstance(self._channels.get(key), BinaryOperatorAggregate)
            self.seen[key] = self._merged(key, value) if merges else value
            self.out[key] = Overwrite(self.seen[key]) if merges and again else value
        return bool(self.out.get(JUMP))

    def _merged(self, key: str, value: Any) -> Any:
        empty = self._channels[key]
        channel = empty.from_checkpoint(self.seen[key]) if key in self.seen else empty.copy()
        channel.update([value])
        return channel.get()
