"""Models by name: the providers of this package and those that other packages bring.

A provider is found through the entry point group `takeback.models`; the entry point names a `Provider`. None is
imported before it is asked for. What a provider needs of the machine it is given: it reads no environment itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from takeback.errors import InputError
from takeback.plugins import make_missing_package_error
from takeback.repair.models.chat import ChatModel

GROUP: Final = "takeback.models"
LOCAL: Final = "local"
BUILT_IN: Final = {
    "replay": "takeback.repair.models.replies:PROVIDER",
    "openai": "takeback.repair.models.settings:PROVIDER",
}
"""As in this package's own metadata, for a source tree that is not installed."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What providers may use to open a model."""

    environment: Mapping[str, str]
    home: Path
    cache: Path
    """Where weights are kept."""
    recordings: tuple[Path, ...] = ()
    """What plain `replay` means."""
    threads: int = 1
    slots: int = 1
    """How many requests will be asked at once."""
    say: Callable[[str], None] = lambda _: None
    """Tells the person who waits."""


@dataclass(frozen=True, slots=True)
class Provider:
    """How a kind of model is opened by what stands after its name and a colon."""

    argument: str
    """What that is, as it is shown: `<model>`."""
    required: bool
    open: Callable[[str, Surroundings], ChatModel]

    def form(self, name: str) -> str:
        """Return how a model of this kind is written."""
        return f"{name}:{self.argument}" if self.required else f"{name}[:{self.argument}]"


def cache_directory(environment: Mapping[str, str], platform: str, home: Path) -> Path:
    """Return the user's cache directory for Takeback, by the custom of the platform."""
    if chosen := environment.get("TAKEBACK_CACHE"):
        return Path(chosen)
    if platform == "win32" and (local := environment.get("LOCALAPPDATA")):
        return Path(local) / "takeback" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "takeback"
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else home / ".cache") / "takeback"


def list_provider_names() -> tuple[str, ...]:
    """Return the names of all providers: ours first, then the others in order."""
    others = {point.name for point in entry_points(group=GROUP)} - BUILT_IN.keys()
    return (*BUILT_IN, *sorted(others))


def find_provider(name: str) -> Provider | None:
    """Return the provider with a name; None if there is none."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return _check_provider(name, getattr(import_module(module), attribute))
    for point in entry_points(group=GROUP, name=name):
        try:
            return _check_provider(name, point.load())
        except (ImportError, AttributeError) as fault:
            raise InputError(
                f"the entry point {name} of {GROUP}", found=str(fault), expected="a provider that can be loaded"
            ) from fault
    if name == LOCAL:
        raise make_missing_package_error("a model on this machine")
    return None


def _check_provider(name: str, provider: object) -> Provider:
    if not isinstance(provider, Provider):
        raise InputError(f"the entry point {name} of {GROUP}", found=type(provider).__name__, expected="a Provider")
    return provider
