"""Prompt sets of the recorded runs that the product no longer asks with; importing this module makes them known."""

from __future__ import annotations

from typing import Final

from takeback.repair.diagnosis import register_templates
from takeback.repair.prompts import GUIDED, PromptSource, register_prompts

FIRST: Final = "v2"
"""The version of the first recordings: requests are named without regard to the order of a schema's properties."""
PLAIN: Final = "v3-plain"
V4: Final = "v4"
"""What new runs ask with: the paper's fields and no more, an optional contract, at least one capture and restore."""
FIRST_DIAGNOSIS: Final = "v1"

register_templates(FIRST_DIAGNOSIS, "takeback_lab", terse=True)
register_prompts(FIRST, PromptSource("takeback_lab", FIRST_DIAGNOSIS, ordered=False))
register_prompts(PLAIN, PromptSource("takeback_lab"))
register_templates(V4, "takeback_lab", terse=False)
register_prompts(V4, PromptSource("takeback_lab", V4))

__all__ = ["FIRST", "FIRST_DIAGNOSIS", "GUIDED", "PLAIN", "V4"]
