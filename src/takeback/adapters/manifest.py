"""The manifest of a workspace, `takeback.toml`: which adapter opens it, where each surface and the journal are.

Checked when it is read; a mistake is named with the file, the place in it, what was found, what was expected. A place
for a surface that is not installed is kept and reported, not refused. `[[documents]]` are files of one's own that
become surfaces. `[calls.NAME]`, `[admit]` and `[tell]` say which programs a change may start, and when: reading
starts nothing, and what is declared is part of what a user trusts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_type_hints

from takeback.adapters.directory import parse_path
from takeback.adapters.formats.toml_values import format_key, format_value, load_toml
from takeback.adapters.harness_places import require_harness_place
from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, find_manifest_path, find_root
from takeback.canonical import encode
from takeback.errors import InputError, UnsafePathError
from takeback.state.values import read_name
from takeback.track.rules import read_settings

if TYPE_CHECKING:
    from takeback.harness.calls import CallRules, DeclaredCall

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
    """Which programs a change may have started, by name; `read_call_rules` reads this and the next two."""
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
    """Return whether every key and value is one that a manifest may have; `require_valid` says what is not."""
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


Format = Literal["", "json", "jsonc", "json5", "toml", "yaml", "text", "markdown"]
FORMATS: Final = ("json", "jsonc", "json5", "toml", "yaml", "text", "markdown")
TEXTS: Final = frozenset({"text", "markdown"})
"""Formats of files that are prompts as a whole, by lines."""
_ENDINGS: Final = {"yml": "yaml", "md": "markdown", "txt": "text", **{name: name for name in FORMATS}}
_LISTS: Final = ("prompts", "routing", "ordered", "ignore")
_TEXTS: Final = ("path", "format", "name", "tools", "effect")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDocument:
    """One file; parts are dotted paths in it, in which `*` is any one key. What no part names is config."""

    path: str
    format: Format = ""
    """If left out, by the ending of the file's name."""
    name: str = ""
    """What its names begin with, before a colon; if left out, the file's name without its ending."""
    prompts: list[str] = field(default_factory=list)
    """Texts that are prompts, with lines."""
    routing: list[str] = field(default_factory=list)
    """Names of models."""
    tools: str = ""
    """A mapping of tools by name."""
    ordered: list[str] = field(default_factory=list)
    """Mappings whose order counts."""
    ignore: list[str] = field(default_factory=list)
    """Parts that some program writes, and that are never touched."""
    effect: Literal["", "live", "next session"] = ""

    @property
    def kind(self) -> str:
        """The format; empty if the name does not tell it."""
        return self.format or _ENDINGS.get(self.path.rpartition("/")[2].rpartition(".")[2].lower(), "")

    @property
    def scope(self) -> str:
        """What its names begin with."""
        file = self.path.rpartition("/")[2]
        return self.name or file.lstrip(".").partition(".")[0] or file


def is_well_formed_document(raw: Any) -> bool:
    """Return whether every key and value is one that an entry may have."""
    if type(raw) is not dict or "path" not in raw or not raw.keys() <= {*_LISTS, *_TEXTS}:
        return False
    return (
        all(type(raw.get(key, "")) is str for key in _TEXTS)
        and all(
            type(raw.get(key, [])) is list and all(type(item) is str for item in raw.get(key, [])) for key in _LISTS
        )
        and raw.get("format", "") in {"", *FORMATS}
        and raw.get("effect", "") in {"", "live", "next session"}
    )


def check_documents(documents: Sequence[OwnDocument], where: str) -> None:
    """Refuse places outside the directory, formats that are not known, and names that two files would have."""
    places: dict[str, int] = {}
    names: dict[str, int] = {}
    for at, document in enumerate(documents):
        spot = f"{where}: documents.{at}"
        _check_place(document.path, f"{spot}.path")
        if not document.kind:
            raise InputError(
                f"{spot}.format", found=f"no format, and {document.path!r} does not tell it", expected=_join(FORMATS)
            )
        if document.path in places:
            raise InputError(
                f"{spot}.path",
                found=f"{document.path}, which documents.{places[document.path]} is too",
                expected="each file once",
                hint="put all parts of a file into one entry",
            )
        places[document.path] = at
        if document.kind in TEXTS:
            _check_text(document, spot)
            continue
        if ":" in document.scope or "{" in document.scope:
            raise InputError(f"{spot}.name", found=document.scope, expected="a name without ':' and braces")
        if document.scope in names:
            raise InputError(
                f"{spot}.name",
                found=f"{document.scope!r}, which documents.{names[document.scope]} has too",
                expected="a name of its own",
                hint=f'give {document.path} another one: name = "..."',
            )
        names[document.scope] = at
        for key in ("prompts", "routing", "ordered", "ignore"):
            for part in getattr(document, key):
                _check_part(part, f"{spot}.{key}")
        if document.tools:
            _check_part(document.tools, f"{spot}.tools")


def _check_place(path: str, spot: str) -> None:
    if "*" in path:
        raise InputError(spot, found=path, expected="the path of one file", hint="write an entry for each file")
    try:
        parse_path(path)
        require_harness_place(path)
    except UnsafePathError as fault:
        raise InputError(
            spot,
            found=path,
            expected=f"a path inside the directory ({fault.message})",
            hint="name a file of this project, or init the other directory itself",
        ) from None
    if path == MANIFEST:
        raise InputError(spot, found=f"{path}, which is the manifest", expected="a file of your own")


def _check_text(document: OwnDocument, spot: str) -> None:
    given = [key for key in ("name", "tools", *_LISTS) if getattr(document, key)]
    if given:
        raise InputError(
            f"{spot}.{given[0]}",
            found=f"it for a file of the format {document.kind}",
            expected="no such key: the whole file is one prompt, named by its path",
            hint=f"remove the key, or give the file another format: {_join(FORMATS)}",
        )


def _check_part(part: str, spot: str) -> None:
    if not all(parse_part(part)):
        raise InputError(
            spot, found=f"{part!r}", expected="a dotted path such as agents.*.model", hint=r"a dot in a key is \."
        )


def parse_part(part: str) -> tuple[str, ...]:
    """Return the steps of a dotted path; a dot or backslash of a key has a backslash before it."""
    steps = [""]
    chars = iter(part)
    for char in chars:
        if char == ".":
            steps.append("")
        else:
            steps[-1] += next(chars, "") if char == "\\" else char
    return tuple(steps)


def list_pairs(document: OwnDocument) -> dict[str, Any]:
    """Return what an entry says, without what it leaves out."""
    return {key: value for key, value in asdict(document).items() if value not in ("", [])}


def _join(words: Sequence[str]) -> str:
    return f"one of {', '.join(words)}"


_VECTORS: Final = ("run", "compensate", "ask")
_KEYS: Final = frozenset({*_VECTORS, "repeats", "says", "stays", "env", "timeout", "irreversible", "hints"})
LONGEST: Final = 600


def read_call_rules(manifest: Manifest, root: Path, where: str) -> CallRules | None:
    """Return what a manifest says of calls; None if it declares none. Raise `InputError` that names the mistake."""
    from takeback.harness.calls import CallRules  # noqa: PLC0415 - start-up

    calls, admit, tell = (getattr(manifest, name) for name in CALL_TABLES)
    declared = {
        read_name(name, f"{where}: calls"): _read_call(raw, f"{where}: calls.{name}") for name, raw in calls.items()
    }
    _require_keys(admit, {"compensable"}, f"{where}: admit")
    _require_keys(tell, {"command"}, f"{where}: tell")
    rule = admit.get("compensable", "ask")
    if rule not in {"ask", "yes", "no"}:
        raise InputError(f"{where}: admit.compensable", found=rule, expected='"ask", "yes" or "no"')
    command = _read_vector(tell["command"], f"{where}: tell.command") if tell else ()
    return CallRules(root, declared, rule, command) if declared else None


def digest_call_tables(manifest: Manifest) -> str:
    """Return the digest of all that a manifest says of calls; empty if it says nothing."""
    said = {name: table for name in CALL_TABLES if (table := getattr(manifest, name))}
    return hashlib.sha256(encode(said).encode()).hexdigest() if said else ""


def _read_table(raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a table")
    return raw


def _require_keys(raw: Mapping[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    strange = next((name for name in raw if name not in known), None)
    if strange is not None:
        raise InputError(f"{where}.{strange}", found=raw[strange], expected=f"one of {', '.join(sorted(known))}")


def _read_call(raw: Any, where: str) -> DeclaredCall:
    from takeback.harness.calls import DeclaredCall, raise_class  # noqa: PLC0415 - start-up

    table = _read_table(raw, where)
    _require_keys(table, _KEYS, where)
    if "run" not in table:
        raise InputError(f"{where}.run", found="nothing", expected='a program and its arguments, ["./mail", "send"]')
    vectors: dict[str, Any] = {
        name: _read_vector(table[name], f"{where}.{name}") for name in _VECTORS if name in table
    }
    for name in ("repeats", "irreversible"):
        if type(table.get(name, False)) is not bool:
            raise InputError(f"{where}.{name}", found=table[name], expected="true or false")
    seconds = table.get("timeout", 30)
    if type(seconds) not in {int, float} or not 0 < seconds <= LONGEST:
        raise InputError(f"{where}.timeout", found=seconds, expected=f"seconds, at most {LONGEST}")
    names = table.get("env", [])
    texts = {name: table[name] for name in ("says", "stays") if name in table}
    for name, said in texts.items():
        if type(said) is not str:
            raise InputError(f"{where}.{name}", found=said, expected="a text")
    if type(names) is not list or not all(type(name) is str and name for name in names):
        raise InputError(f"{where}.env", found=names, expected="names of environment variables")
    hints = _read_table(table.get("hints", {}), f"{where}.hints")
    declared = DeclaredCall(
        **vectors,
        repeats=table.get("repeats", False),
        **texts,
        env=tuple(names),
        timeout=float(seconds),
        irreversible=table.get("irreversible", False),
    )
    return raise_class(declared, hints)


def _read_vector(raw: Any, where: str) -> tuple[str, ...]:
    if type(raw) is not list or not raw or not all(type(word) is str and "\0" not in word for word in raw):
        raise InputError(where, found=raw, expected='a list of words, ["./mail", "send"]; no shell reads it')
    return tuple(raw)


_EXPECTED: Final = {"extra_forbidden": "no such key", "string_type": "a text", "missing": "a value for it"}
"""What was expected where pydantic found a mistake of some type."""


def require_valid(raw: dict[str, Any], where: str) -> None:
    """Refuse what is no manifest, by the first mistake that a pydantic model of its classes finds."""
    from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model  # noqa: PLC0415 - for an error

    def make_model(kind: type, **inner: Any) -> type[BaseModel]:
        types = get_type_hints(kind) | inner
        members: dict[str, Any] = {}
        for member in fields(kind):
            fresh = member.default_factory
            default = member.default if fresh is MISSING else Field(default_factory=fresh)
            members[member.name] = (types[member.name], ... if default is MISSING else default)
        return create_model(kind.__name__, __config__=ConfigDict(extra="forbid", strict=True), **members)

    inner: dict[str, Any] = {"workspace": make_model(Workspace), "documents": list[make_model(OwnDocument)]}  # type: ignore[misc]
    try:
        make_model(Manifest, **inner).model_validate(raw)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        given = f"{first['input']!r}" if first["type"] != "missing" else "nothing"
        expected = _EXPECTED.get(first["type"], f"{place} ({first['msg']})")
        raise InputError(f"{where}: {place}", found=given, expected=expected) from None


__all__ = [
    "HIDDEN",
    "KEYS",
    "MANIFEST",
    "PRIVATE",
    "Manifest",
    "OwnDocument",
    "Workspace",
    "find_manifest_path",
    "find_root",
    "read_call_rules",
    "read_manifest",
    "write_manifest",
]
