"""The manifest of a workspace, `takeback.toml`: which adapter opens it, where each surface and the journal are.

Checked when it is read; a mistake is named with the file, the place in it, what was found, what was expected. A place
for a surface that is not installed is kept and reported, not refused.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from takeback.adapters.directory import parse_path
from takeback.adapters.formats.toml_values import format_key, format_value, load_toml
from takeback.adapters.harness_places import require_harness_place
from takeback.adapters.manifest_documents import OwnDocument, check_documents, is_well_formed_document, list_pairs
from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, find_manifest_path, find_root
from takeback.errors import InputError, UnsafePathError
from takeback.track.rules import read_settings

CALL_TABLES: Final = ("calls", "admit", "tell")
KEYS: Final = f"{PRIVATE}/journal.keys"
"""Keys of a sealed journal, apart from it: a copy of the journal is worth nothing without them."""
VERSION: Final = 1
_TYPES: Final = {
    "version": int,
    "id": str,
    "adapter": str,
    "journal": str,
    "kinds": list,
    "user": bool,
    "ask_client": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Identity, adapter and journal of a workspace."""

    version: int = VERSION
    id: str
    adapter: str = "workspace"
    journal: str = f"{PRIVATE}/journal.db"
    kinds: list[str] = field(default_factory=list)
    """The clients whose files these are, in the order in which they were found."""
    user: bool = False
    """Whether it is a user's own folder, not a project."""
    ask_client: Literal["", "always", "never"] = ""
    """When a client that is installed is asked about its documents: always, never, or where a change is refused."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole manifest; `surfaces` says where each lives, relative to the workspace."""

    workspace: Workspace
    surfaces: dict[str, str] = field(default_factory=dict)
    track: dict[str, Any] | None = None
    """What `[track]` says of the project's own files; None where they are not tracked."""
    documents: list[OwnDocument] = field(default_factory=list)
    """Files of one's own, beside clients' files or alone."""
    calls: dict[str, Any] = field(default_factory=dict)
    """Which programs a change may have started, by name; `manifest_calls.py` reads this and the next two."""
    admit: dict[str, Any] = field(default_factory=dict)
    tell: dict[str, Any] = field(default_factory=dict)
    bindings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Records of other systems, by the name of their binding."""


def read_manifest(data: bytes, where: str) -> Manifest:
    """Return the manifest in a file's bytes; raise `InputError` that names the mistake."""
    try:
        raw = load_toml(data.decode().removeprefix("\ufeff"), where)
    except UnicodeDecodeError:
        raise InputError(where, found="bytes that are not UTF-8", expected="UTF-8 text") from None
    if not _is_well_formed(raw):
        from takeback.adapters.manifest_model import require_valid  # noqa: PLC0415 - only for an error

        require_valid(raw, where)
    own = [OwnDocument(**document) for document in raw.get("documents", ())]
    rules = {name: raw[name] for name in (*CALL_TABLES, "bindings") if name in raw}
    manifest = Manifest(Workspace(**raw["workspace"]), raw.get("surfaces", {}), raw.get("track"), own, **rules)
    if manifest.workspace.version != VERSION:
        raise InputError(f"{where}: workspace.version", found=manifest.workspace.version, expected=f"{VERSION}")
    check_places(manifest.surfaces, where)
    try:
        read_settings(manifest.track or {})
    except ValueError as fault:
        spot, _, said = str(fault).partition(": found ")
        fact, _, expected = said.partition(", expected ")
        raise InputError(f"{where}: {spot}", found=fact, expected=expected) from None
    if own and manifest.workspace.adapter not in {"clients", "project"}:
        raise InputError(
            f"{where}: documents",
            found=f"documents of one's own in a harness of the adapter {manifest.workspace.adapter!r}",
            expected="them beside clients' files, or alone",
            hint="remove them here, and track the files from a directory of their own: takeback init --document FILE",
        )
    check_documents(own, where)
    return manifest


def _is_well_formed(raw: dict[str, Any]) -> bool:
    """Return whether every key and value is one that a manifest may have; `manifest_model` says what is not."""
    about, surfaces = raw.get("workspace"), raw.get("surfaces", {})
    if not raw.keys() <= {"workspace", "surfaces", "track", "documents", "bindings", *CALL_TABLES}:
        return False
    if any(type(raw.get(name, {})) is not dict for name in CALL_TABLES):
        return False
    if type(about) is not dict or type(surfaces) is not dict or type(raw.get("track", {})) is not dict:
        return False
    bindings = raw.get("bindings", {})
    if type(bindings) is not dict or not all(type(binding) is dict for binding in bindings.values()):
        return False
    return (
        "id" in about
        and type(raw.get("documents", [])) is list
        and all(map(is_well_formed_document, raw.get("documents", [])))
        and about.keys() <= _TYPES.keys()
        and all(type(value) is _TYPES[key] for key, value in about.items())
        and all(type(kind) is str for kind in about.get("kinds", ()))
        and about.get("ask_client", "") in {"", "always", "never"}
        and all(type(place) is str for place in surfaces.values())
    )


def write_manifest(manifest: Manifest) -> bytes:
    """Return a fresh manifest, with an explanation in it, as bytes."""
    lines = ["# A Takeback workspace. Paths are relative to this file."]
    workspace = {key: value for key, value in asdict(manifest.workspace).items() if value not in ([], False, "")}
    for name, part in (("workspace", workspace), ("surfaces", manifest.surfaces), ("track", manifest.track)):
        if part or (name == "track" and part is not None):
            lines += [f"[{name}]", *(f"{format_key(key)} = {format_value(value)}" for key, value in part.items()), ""]
    for name, given in manifest.bindings.items():
        lines += [f"[bindings.{format_key(name)}]", *(f"{k} = {format_value(v)}" for k, v in given.items()), ""]
    for document in manifest.documents:
        lines += [
            "[[documents]]",
            *(f"{key} = {format_value(value)}" for key, value in list_pairs(document).items()),
            "",
        ]
    tables = {f"calls.{format_key(name)}": call for name, call in manifest.calls.items()}
    for title, table in {**tables, "admit": manifest.admit, "tell": manifest.tell}.items():
        if table:
            lines += [
                f"[{title}]",
                *(f"{format_key(key)} = {format_value(value)}" for key, value in table.items()),
                "",
            ]
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
    "OwnDocument",
    "Workspace",
    "check_places",
    "find_manifest_path",
    "find_root",
    "read_manifest",
    "write_manifest",
]
