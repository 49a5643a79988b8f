"""Secrets in what people and agents are shown: masked by the name of their setting, or by what they look like.

`mask_secrets` returns a JSON value with a placeholder in place of each secret, `mask_text_secrets` a text.
`find_placeholder` finds a placeholder in what somebody sends back, so that it never becomes a value. Files are never
masked. `secret_mask` decides what looks like a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from takeback.canonical import encode
from takeback.secret_mask import (
    ANY_PLACEHOLDER,
    PLACEHOLDER,
    Mask,
    find_blocks,
    find_secrets,
    find_setting,
    is_revealing,
    reveal_secrets,
)

__all__ = [
    "PLACEHOLDER",
    "Mask",
    "find_blocks",
    "find_placeholder",
    "find_secrets",
    "find_setting",
    "has_placeholder",
    "is_revealing",
    "mask_secrets",
    "mask_text_secrets",
    "reveal_secrets",
]

_BLANKS: Final = re.compile(r"(?i)[\[(<{«]*(redacted|masked|hidden|secret removed|forgotten)[\])>}»]*|[*•x…]{3,}")
"""Whole values that stand for something left out, here or elsewhere."""


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return a JSON value without its secrets; `name` is the setting that holds it, if one does.

    Operations and changes are JSON too: what they say of a setting is hidden as the setting is.
    """
    return Mask().mask(value, name)


def mask_text_secrets(text: str) -> str:
    """Return a text without what looks like a secret in it."""
    return Mask().mask_text(text)


def find_placeholder(value: Any) -> str | None:
    """Return the first value that stands for something that was masked; None if there is none."""
    if isinstance(value, Mapping):
        placeholders = (find_placeholder(item) for pair in value.items() for item in pair)
    elif isinstance(value, list | tuple):
        placeholders = (find_placeholder(item) for item in value)
    elif isinstance(value, str) and (ANY_PLACEHOLDER.search(value) or _BLANKS.fullmatch(value.strip())):
        return value
    else:
        return None
    return next((placeholder for placeholder in placeholders if placeholder is not None), None)


def has_placeholder(value: Any) -> bool:
    """Tell whether a JSON value holds one of Takeback's own placeholders."""
    return bool(ANY_PLACEHOLDER.search(encode(value)))
