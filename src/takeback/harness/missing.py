"""What a journal says of surfaces that are not installed: it can be read and is named, and nothing of it is lost.

It is left out of the state, so a state is not written down while something is missing in it, and entries about such a
surface are neither taken back nor brought back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from takeback.errors import HarnessError, UnknownSurfaceError
from takeback.harness.results import Refused, Why
from takeback.state import SURFACES
from takeback.undo import Write

HINT = "install the package that provides it; nothing is lost meanwhile"


def installed(writes: Iterable[Write], missing: set[str]) -> Iterator[Write]:
    """The writes to surfaces that are installed; the names of the others are added to those that are missing."""
    for write in writes:
        if write.slot[0] in SURFACES:
            yield write
        else:
            missing.add(write.slot[0])


def demand_installed(missing: set[str]) -> None:
    """Refuse what would lose what is not in the state."""
    if missing:
        raise HarnessError(f"{_named(missing)}; nothing was changed", hint=HINT)


def not_installed(fault: UnknownSurfaceError) -> Refused:
    """The answer to a plan that would need a surface that is not installed."""
    return Refused(Why.UNSTORED, f"{_named((fault.found,))}; {HINT}")


def missing_told(missing: set[str]) -> tuple[str, ...]:
    """What a person is told who looks at a harness."""
    return tuple(
        f"{_named((name,))}: what the journal says of it can be read, and cannot be taken back here"
        for name in sorted(missing)
    )


def left_out(missing: set[str]) -> str:
    """What a person is told who is shown a state in which something is missing; empty if nothing is."""
    return f"{_named(missing)}: what the journal says of {_it(missing)} is left out" if missing else ""


def _named(surfaces: Collection[str]) -> str:
    shown = ", ".join(repr(name) for name in sorted(surfaces))
    return (
        f"the surface {shown} is not installed" if len(surfaces) == 1 else f"the surfaces {shown} are not installed"
    )


def _it(surfaces: Collection[str]) -> str:
    return "it" if len(surfaces) == 1 else "them"
