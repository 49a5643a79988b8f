"""Which adapters there are: those of this package and those that other packages bring.

An adapter is found by name through the entry point group `takeback.adapters`; the entry point names an object with
`open`. Nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, Protocol, cast

from takeback.adapters.directory import Directory
from takeback.adapters.manifest import Manifest
from takeback.errors import InputError
from takeback.harness.adapter import Adapter
from takeback.plugins import find_entry_points as entry_points

GROUP: Final = "takeback.adapters"
BUILT_IN: Final = {
    "clients": "takeback.adapters.clients:open_adapter",
    "memory": "takeback.adapters.memory:open_adapter",
    "project": "takeback.adapters.clients:open_adapter",
    "workspace": "takeback.adapters.workspace:open_adapter",
}
"""As in this package's own metadata, which is not asked for these: no other package can take their names."""


class OpenAdapter(Protocol):
    """How an adapter is made for a directory with a manifest; it takes over the directory and closes it."""

    def __call__(self, directory: Directory, manifest: Manifest, *, hold: bool) -> Adapter:
        """Return the adapter; with `hold` it keeps what only a process can hold."""


def list_adapter_names() -> tuple[str, ...]:
    """Return the names of all adapters, in order."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def find_adapter(name: str, where: str) -> OpenAdapter:
    """Return the function that opens the adapter with a name; raise `InputError` that lists the names."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        opener: Any = getattr(import_module(module), attribute)
        return cast("OpenAdapter", opener)
    for point in entry_points(group=GROUP, name=name):
        try:
            return cast("OpenAdapter", point.load())
        except (ImportError, AttributeError) as fault:
            raise InputError(
                f"the entry point {name} of {GROUP}", found=str(fault), expected="an adapter that can be loaded"
            ) from fault
    raise InputError(
        where,
        found=f"the adapter {name!r}",
        expected=f"one of {', '.join(list_adapter_names())}",
        hint="install the package that provides it; nothing was changed",
    )
