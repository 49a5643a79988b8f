"""`named` makes a named tuple without the cost of its constructor, where round trips and plans make many of them.

All fields must be given, in their order: `named(Address, (surface, key))`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

SomeTuple = TypeVar("SomeTuple", bound=tuple[Any, ...])
named: Final[Callable[[type[SomeTuple], tuple[Any, ...]], SomeTuple]] = tuple.__new__
