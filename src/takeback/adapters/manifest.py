"""The manifest of a workspace, `takeback.toml`: which adapter opens it, where each surface and the journal are.

Checked when it is read; a mistake is named with the file, the place in it, what was found, what was expected. A place
for a surface that is not installed is kept and told, not refused.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from takeback.adapters.directory import parse_path
from takeback.adapters.formats.toml_values import format_key, format_value, load_toml
from takeback.adapters.harness_places import require_harness_place
from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, find_manifest_path, find_root
from takeback.errors import InputError, UnsafePathError

KEYS: Final = f"{PRIVATE}/journal.keys"
"""Keys of a sealed journal, apart from it: a copy of the journal is worth nothing without them."""
VERSION: Final = 1
_EXPECTED: Final = {"extra_forbidden": "no such key", "string_type": "a text", "missing": "a value for it"}
"""What was expected where pydantic found a mistake of some type."""


class Workspace(BaseModel):
    """Identity, adapter and journal of a workspace."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    version: int = VERSION
    id: str
    adapter: str = "workspace"
    journal: str = f"{PRIVATE}/journal.db"
    kinds: list[str] = Field(default_factory=list)
    """The clients whose files these are, in the order in which they were found."""
    user: bool = False
    """Whether it is a user's own folder, not a project."""
    ask_client: Literal["", "always", "never"] = ""
    """When a client that is installed is asked about its documents: always, never, or where a change is refused."""


class Manifest(BaseModel):
    """A whole manifest; `surfaces` says where each lives, relative to the workspace."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    workspace: Workspace
    surfaces: dict[str, str] = Field(default_factory=dict)


def read_manifest(data: bytes, where: str) -> Manifest:
    """Return the manifest in a file's bytes; raise `InputError` that names the mistake."""
    try:
        raw = load_toml(data.decode().removeprefix("\ufeff"), where)
        manifest = Manifest.model_validate(raw)
    except UnicodeDecodeError:
        raise InputError(where, found="bytes that are not UTF-8", expected="UTF-8 text") from None
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        found = f"{first['input']!r}" if first["type"] != "missing" else "nothing"
        expected = _EXPECTED.get(first["type"], f"{place} ({first['msg']})")
        raise InputError(f"{where}: {place}", found=found, expected=expected) from None
    if manifest.workspace.version != VERSION:
        raise InputError(f"{where}: workspace.version", found=manifest.workspace.version, expected=f"{VERSION}")
    check_places(manifest.surfaces, where)
    return manifest


def write_manifest(manifest: Manifest) -> bytes:
    """Return a fresh manifest, with an explanation in it, as bytes."""
    lines = ["# A Takeback workspace. Paths are relative to this file."]
    workspace = {key: value for key, value in manifest.workspace.model_dump().items() if value not in ([], False, "")}
    for name, part in (("workspace", workspace), ("surfaces", manifest.surfaces)):
        if part:
            lines += [f"[{name}]", *(f"{format_key(key)} = {format_value(value)}" for key, value in part.items()), ""]
    return "\n".join(lines).encode()


def check_places(surfaces: dict[str, str], where: str) -> None:
    """Refuse unsafe paths of surfaces, and paths that overlap."""
    taken: dict[tuple[str, ...], str] = {(MANIFEST,): "the manifest", (PRIVATE,): "Takeback's own directory"}
    for name, place in surfaces.items():
        spot = f"{where}: surfaces.{name}"
        try:
            parts = parse_path(place)
            require_harness_place(place)
        except UnsafePathError as fault:
            raise InputError(spot, found=place, expected=f"a path inside the workspace ({fault.message})") from None
        for other, owner in taken.items():
            short = min(len(parts), len(other))
            if parts[:short] == other[:short]:
                raise InputError(spot, found=f"{place}, which is or contains {owner}", expected="a place of its own")
        taken[parts] = f"surfaces.{name}"


__all__ = [
    "HIDDEN",
    "KEYS",
    "MANIFEST",
    "PRIVATE",
    "Manifest",
    "Workspace",
    "check_places",
    "find_manifest_path",
    "find_root",
    "read_manifest",
    "write_manifest",
]
