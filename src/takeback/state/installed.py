"""Surfaces that other packages bring: found through the entry point group `takeback.surfaces`.

An entry point names a `Surface` object, or a class or function without parameters that gives one. They are registered
once per process, before the first harness is opened or when a name is met that no surface has.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError, UnknownSurfaceError
from takeback.state.operation import Kind
from takeback.state.surface import KINDS, SURFACES, Surface, register

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "takeback.surfaces"


def entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group."""
    from importlib.metadata import entry_points as found  # noqa: PLC0415 - start-up

    return found(group=group)


@cache
def install_surfaces() -> tuple[str, ...]:
    """Register every surface that is installed; returns the names of those that are new."""
    found = [_loaded(point) for point in entry_points(group=GROUP) if point.name not in SURFACES]
    new = [surface for surface in found if type(SURFACES.get(surface.name)) is not type(surface)]
    for surface in new:
        register(surface)
    return tuple(surface.name for surface in new)


def _loaded(point: EntryPoint) -> Surface:
    """The surface that an entry point names; whatever goes wrong in another package is told as its own."""
    try:
        found: Any = point.load()
        surface = found if isinstance(found, Surface) or not callable(found) else found()
    except Exception as fault:
        raise InputError(
            f"the entry point {point.name} of {GROUP}",
            found=f"{type(fault).__name__}: {fault}",
            expected="a surface that can be loaded",
        ) from fault
    if not isinstance(surface, Surface):
        raise InputError(
            f"the entry point {point.name} of {GROUP}", found=type(surface).__name__, expected="a Surface"
        )
    return surface


def surface_named(name: str, where: str) -> Surface:
    """Return the surface called `name`, or raise."""
    if name not in SURFACES:
        install_surfaces()
    found = SURFACES.get(name)
    if found is None:
        raise UnknownSurfaceError(where, found=name, expected=f"one of {', '.join(SURFACES)}")
    return found


def kind_named(name: object) -> Kind | None:
    """Return the kind of operation called `name`; None if there is none."""
    if type(name) is not str:
        return None
    if name not in KINDS:
        install_surfaces()
    return KINDS.get(name)
