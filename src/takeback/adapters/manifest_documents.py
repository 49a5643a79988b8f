"""`[[documents]]` of a manifest: files of one's own that become surfaces, each with its format and its parts.

Checked when the manifest is read. A place is refused where nothing of a harness may be; an error names the file, the
key, what was found, what was expected, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from takeback.adapters.directory import parse_path
from takeback.adapters.harness_places import require_harness_place
from takeback.adapters.roots import MANIFEST
from takeback.errors import InputError, UnsafePathError

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
