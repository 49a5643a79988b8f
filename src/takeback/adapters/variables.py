"""The variables in which bindings find passwords and tokens: given by whoever runs the program, never looked up here.

The command line gives the environment's; a program of one's own calls `use_variables(os.environ)`.
"""

from __future__ import annotations

from collections.abc import Mapping


class _Variables:
    given: Mapping[str, str] = {}


def use_variables(variables: Mapping[str, str]) -> None:
    """Have bindings find their passwords and tokens in a mapping, such as the environment."""
    _Variables.given = variables


def find_variable(name: str) -> str | None:
    """Return the value of a variable; None where it was not given."""
    return _Variables.given.get(name)
