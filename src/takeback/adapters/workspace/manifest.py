"""The manifest of a workspace, `takeback.toml`: where each surface lives and where the journal is.

Checked when it is read; a mistake is named with the file, the place in it, what was found, what was expected.
"""

from __future__ import annotations

import tomllib
from typing import Any, Final

import tomlkit
from pydantic import BaseModel, ConfigDict, ValidationError

from takeback.adapters.directory import split_path
from takeback.errors import InputError, UnsafePathError

MANIFEST: Final = "takeback.toml"
PRIVATE: Final = ".takeback"
VERSION: Final = 1


class Surfaces(BaseModel):
    """Where each surface lives, relative to the workspace."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    config: str = "config.toml"
    routing: str = "routing.toml"
    middleware: str = "middleware.toml"
    listeners: str = "listeners.toml"
    prompts: str = "prompts"
    tools: str = "tools"
    files: str = "files"


class Workspace(BaseModel):
    """Identity and journal of a workspace."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    version: int = VERSION
    id: str
    journal: str = f"{PRIVATE}/journal.db"


class Manifest(BaseModel):
    """A whole manifest."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    workspace: Workspace
    surfaces: Surfaces = Surfaces()


def read_manifest(text: str, where: str) -> Manifest:
    """The manifest in a text, or `InputError` naming the place of the mistake."""
    raw = parse_toml(text, where)
    try:
        manifest = Manifest.model_validate(raw)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        found = f"{first['input']!r}" if first["type"] != "missing" else "nothing"
        expected = "no such key" if first["type"] == "extra_forbidden" else _expected(place, first["msg"])
        raise InputError(f"{where}: {place}", found=found, expected=expected) from None
    if manifest.workspace.version != VERSION:
        raise InputError(f"{where}: workspace.version", found=manifest.workspace.version, expected=f"{VERSION}")
    _check_places(manifest, where)
    return manifest


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """The plain contents of a TOML text, or `InputError` with line and column."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        message, _, place = str(fault).partition(" (at ")
        spot = f"{where}, {place.rstrip(')')}" if place else where
        raise InputError(spot, found=f"malformed TOML ({message})", expected="valid TOML") from None


def write_manifest(manifest: Manifest) -> str:
    """A fresh manifest with an explanation in it."""
    document = tomlkit.document()
    document.add(tomlkit.comment("A Takeback workspace. Paths are relative to this file."))
    for name, part in (("workspace", manifest.workspace), ("surfaces", manifest.surfaces)):
        table = tomlkit.table()
        for key, value in part.model_dump().items():
            table.add(key, value)
        document.add(name, table)
    return tomlkit.dumps(document)


def _expected(place: str, message: str) -> str:
    return "a text" if message.startswith("Input should be a valid string") else f"{place} ({message})"


def _check_places(manifest: Manifest, where: str) -> None:
    """Places are safe, and no two of them overlap."""
    taken: dict[tuple[str, ...], str] = {(MANIFEST,): "the manifest", (PRIVATE,): "Takeback's own directory"}
    for name, place in manifest.surfaces.model_dump().items():
        spot = f"{where}: surfaces.{name}"
        try:
            parts = split_path(place)
        except UnsafePathError as fault:
            raise InputError(spot, found=place, expected=f"a path inside the workspace ({fault.message})") from None
        for other, owner in taken.items():
            short = min(len(parts), len(other))
            if parts[:short] == other[:short]:
                raise InputError(spot, found=f"{place}, which is or contains {owner}", expected="a place of its own")
        taken[parts] = f"surfaces.{name}"
