"""Surfaces that other packages bring: found through the entry point group `takeback.surfaces`.

An entry point names a `Surface` object, or a class or function without parameters that gives one. They are registered
once per process, before the first harness is opened or the first candidate is read.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from takeback.errors import InputError
from takeback.state.surface import SURFACES, Surface, register

GROUP: Final = "takeback.surfaces"


@cache
def install_surfaces() -> tuple[str, ...]:
    """Register every surface that is installed; returns the names of those that are new."""
    new: list[str] = []
    for point in entry_points(group=GROUP):
        if point.name in SURFACES:
            continue
        try:
            found: Any = point.load()
        except (ImportError, AttributeError) as fault:
            raise InputError(
                f"the entry point {point.name} of {GROUP}", found=str(fault), expected="a surface that can be loaded"
            ) from fault
        surface = found if isinstance(found, Surface) else found()
        register(surface)
        new.append(surface.name)
    return tuple(new)
