"""Prompts from template files: repair prompts by version, and the request for a change in plain words.

A set of prompts is a folder of templates and reply schemas, frozen together: changing one is a new version,
so that recorded replies stay replayable. What stays the same between calls comes first. Nothing here knows
tasks or verdicts. A change request and its reply schema hold only what the harness stores; the caller decides
what is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any, Final, Literal

from takeback.canonical import parse, sha256, write_compact, write_pretty
from takeback.errors import InputError
from takeback.language import candidate_schema, find_widest_level
from takeback.repair.diagnosis import VERSION as TEMPLATES_VERSION
from takeback.repair.models import Message, Request, Sampling
from takeback.state import KINDS, SURFACES, Level

GUIDED: Final = "v3-guided"
VERSION: Final = GUIDED
"""What a repair is asked with unless it says otherwise."""
MAX_OPERATIONS: Final = 4


@dataclass(frozen=True, slots=True)
class PromptSource:
    """Where a version's files lie, and which version of the diagnosis goes with it."""

    package: str
    diagnosis: str = TEMPLATES_VERSION
    ordered: bool = True
    """Whether the order of a schema's properties, which steers constrained decoding, names a request too."""


_SOURCES: Final = {GUIDED: PromptSource("takeback.repair")}


def register_prompts(version: str, source: PromptSource) -> None:
    """Add a version of the prompts that another package holds."""
    _SOURCES[version] = source


def diagnosis_version(version: str) -> str:
    """Return the version of the diagnosis that goes with a version of the prompts."""
    return _find_source(version).diagnosis


def _find_source(version: str) -> PromptSource:
    source = _SOURCES.get(version)
    if source is None:
        raise InputError("the version of the prompts", found=version, expected=f"one of {', '.join(_SOURCES)}")
    return source


@dataclass(frozen=True, slots=True)
class ShownParts:
    """What a repair shows beside the verifier's words: how much of the mutation, and whether the rejected attempt."""

    mutation: Literal["full", "operations", "none"] = "full"
    attempt: bool = True


ALL_SHOWN: Final = ShownParts()
ATTEMPT: Final = "attempt.md"
"""The file of sets that can leave the mutation or the attempt out."""


@dataclass(frozen=True)
class PromptSet:
    """The templates and schemas of one version, by file name."""

    version: str
    files: Mapping[str, str]

    def digest(self, *names: str) -> str:
        """Return the SHA-256 over names and contents, of the named files or of all, for a lock."""
        chosen = {name: self.files[name] for name in names or self.files}
        return sha256(write_pretty([self.version, sorted(chosen.items())], indent=None))

    def fill(self, name: str, **values: str) -> str:
        """Return a template with its fields filled; a field without a value is an internal error."""
        return Template(self.files[name]).substitute(values).strip()

    @property
    def ordered(self) -> bool:
        """Whether the order of a schema's properties, which steers constrained decoding, names a request too."""
        return _find_source(self.version).ordered

    def repair(
        self, level: Level, *, mutation: Any, attempt: Any, diagnosis: str, shown: ShownParts = ALL_SHOWN
    ) -> tuple[Message, ...]:
        """Ask for witness, recovery and contract anew, with the mutation locked."""
        words, rejected = self._tell_mutation(mutation, shown), write_compact(attempt)
        if ATTEMPT in self.files and shown.attempt:
            words = self.fill(ATTEMPT, mutation=words, attempt=rejected)
        return self.fill_messages("repair.md", level, mutation=words, attempt=rejected, diagnosis=diagnosis)

    def regenerate(self, level: Level, *, mutation: Any, shown: ShownParts = ALL_SHOWN) -> tuple[Message, ...]:
        """Ask for witness, recovery and contract with no word about earlier attempts."""
        return self.fill_messages("regenerate.md", level, mutation=self._tell_mutation(mutation, shown))

    def _tell_mutation(self, mutation: Any, shown: ShownParts) -> str:
        """Return the locked mutation in the words of the set, as much of it as is to be shown."""
        if ATTEMPT not in self.files:
            if shown != ALL_SHOWN:
                expected = "prompts that can leave it out: v4 and later"
                raise InputError("--show-mutation, --show-attempt", found=self.version, expected=expected)
            return write_compact(mutation)
        names = ", ".join(str(op["op_type"]) for op in mutation)
        text = names if shown.mutation == "operations" else write_compact(mutation)
        return self.fill(f"mutation_{shown.mutation}.md", mutation=text)

    def schema(self, level: Level, *, mutation: bool) -> dict[str, Any]:
        """Return the schema a reply is held to; frozen with the version where it has one for the level."""
        name = f"{'candidate' if mutation else 'repair'}_{level.value}.json"
        frozen = self.files.get(name)
        if frozen is None:
            return build_level_schema(level, mutation=mutation)
        schema: dict[str, Any] = parse(frozen, name)
        return schema

    def language(self, level: Level) -> str:
        """Return the description of the language: the version's own, or today's where the language is newer."""
        name = f"language_{level.value}.md"
        return self.fill(name) if name in self.files else read_shared_text(name)

    def fill_messages(self, name: str, level: Level, **values: str) -> tuple[Message, ...]:
        """Return the messages of a request: a template with its fields filled, and the language described."""
        language = self.language(level)
        return Message("system", self.fill("system.md")), Message(
            "user", self.fill(name, language=language, **values)
        )


def build_level_schema(level: Level, *, mutation: bool) -> dict[str, Any]:
    """Return the language's schema, shortened, with a contract of surfaces: small models run on in lists."""
    schema = candidate_schema(level, mutation=mutation)
    properties = {name: {**part, "maxItems": MAX_OPERATIONS} for name, part in schema["properties"].items()}
    properties["contract"]["items"] = {
        "enum": [name for name, surface in SURFACES.items() if surface.kinds and not surface.outside]
    }
    return {**schema, "properties": properties}


@cache
def read_shared_text(name: str) -> str:
    """Return a text shared by versions that were frozen before it existed."""
    return resources.files("takeback.repair").joinpath("prompt_files", name).read_text(encoding="utf-8").strip()


@cache
def load_prompt_set(version: str = VERSION) -> PromptSet:
    """Return the prompts of a version."""
    folder = resources.files(_find_source(version).package).joinpath("prompt_files", version)
    files = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
    return PromptSet(version, files)


def strip_language(text: str) -> str:
    """Return a message from where the request itself begins."""
    return text[text.find("\n# ", 1) + 1 :]


TEMPLATE: Final = "change.md"
MAX_CHANGE_OPERATIONS: Final = 8
LONGEST: Final = 8000
"""Characters of a text in a reply: a whole prompt may be written anew."""
SEED: Final = 7000
_TEXT: Final = 400
"""From this length on, a bound of the language's schema is one of texts, not of names."""
_SCALARS: Final[list[dict[str, Any]]] = [
    {"type": "string", "maxLength": LONGEST},
    {"type": "number", "minimum": -1_000_000_000, "maximum": 1_000_000_000},
    {"type": "boolean"},
    {"type": "null"},
]
_FORMED: Final = frozenset({"tools", "listeners"})
"""Surfaces of which every kind of harness has records of its own form."""


def build_change_request(
    model: str,
    *,
    kind: str,
    surfaces: Collection[str],
    state: str,
    instruction: str,
    sampling: Sampling,
    earlier: Sequence[tuple[str, str]] = (),
) -> Request:
    """Return the request for a whole candidate; `earlier` holds replies that fell short, each with what was wrong."""
    text = Template(read_shared_text(TEMPLATE)).substitute(
        language=describe_language(surfaces), kind=kind, state=state, instruction=instruction
    )
    messages = [Message("system", load_prompt_set().fill("system.md")), Message("user", text)]
    for reply, wrong in earlier:
        messages.append(Message("assistant", reply))
        messages.append(Message("user", f"That is not accepted: {wrong}\nGive the whole candidate anew."))
    return Request(
        model=model,
        messages=tuple(messages),
        schema=build_reply_schema(surfaces),
        seed=SEED + len(earlier),
        ordered=True,
        **sampling.to_json(),
    )


def describe_language(surfaces: Collection[str]) -> str:
    """Return the description of the language, without the surfaces that a harness does not store."""
    left_out = tuple(f"| {name} |" for name in SURFACES if name not in surfaces)
    lines = read_shared_text(f"language_{find_widest_level().value}.md").splitlines()
    return "\n".join(line for line in lines if not line.startswith(left_out))


def build_reply_schema(surfaces: Collection[str]) -> dict[str, Any]:
    """Return a reply's schema, without surfaces that a harness does not store, with room for real texts."""
    schema = candidate_schema(find_widest_level())
    properties: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        if name == "contract":
            properties[name] = {**part, "maxItems": len(surfaces), "items": {"enum": sorted(surfaces)}}
            continue
        forms = [_widen_form(form) for form in part["items"]["anyOf"] if _find_form_surface(form) in surfaces]
        properties[name] = {**part, "maxItems": MAX_CHANGE_OPERATIONS, "items": {"anyOf": forms}}
    return {**schema, "properties": properties}


def _find_form_surface(form: dict[str, Any]) -> str:
    return KINDS[form["properties"]["op_type"]["const"]].surface


def _widen_form(form: dict[str, Any]) -> dict[str, Any]:
    """Return one operation's form with longer texts, and any object for records of a harness's own form."""
    properties = {name: _lengthen_texts(schema) for name, schema in form["properties"].items()}
    wanted = form["properties"].get("value", {}).get("type")
    if _find_form_surface(form) in _FORMED and wanted == "object":
        properties["value"] = _build_object_schema(3)
    return {**form, "properties": properties}


def _lengthen_texts(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: LONGEST if key == "maxLength" and item >= _TEXT else _lengthen_texts(item)
            for key, item in schema.items()
        }
    return [_lengthen_texts(item) for item in schema] if isinstance(schema, list) else schema


def _build_object_schema(depth: int) -> dict[str, Any]:
    return {"type": "object", "maxProperties": 24, "additionalProperties": _build_any_schema(depth)}


def _build_any_schema(depth: int) -> dict[str, Any]:
    if not depth:
        return {"anyOf": _SCALARS}
    listed = {"type": "array", "maxItems": 24, "items": _build_any_schema(depth - 1)}
    return {"anyOf": [*_SCALARS, listed, _build_object_schema(depth - 1)]}
