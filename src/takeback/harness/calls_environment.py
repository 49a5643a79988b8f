"""The environment that calls may be given variables of: whoever runs a command says it, this code reads none.

A program that uses the library gives its own with `use_call_environment`; without, a call gets the path only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class _Given:
    """What this process gives to calls."""

    environment: Mapping[str, str] = {"PATH": os.defpath}


def use_call_environment(environment: Mapping[str, str]) -> None:
    """Let calls be given the usual variables of this environment, and those that a manifest names."""
    _Given.environment = environment


def get_call_environment() -> Mapping[str, str]:
    """Return the environment that calls may be given variables of."""
    return _Given.environment
