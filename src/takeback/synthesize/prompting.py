"""Prompts from template files: what a model is asked, and under which version and digest.

A set of prompts is a folder of templates and reply schemas, frozen together: changing one is a new version, so
that recorded replies stay replayable. What stays the same between calls comes first. Nothing here knows tasks,
verdicts or models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template
from typing import Any, Final

from takeback.canonical import compact, parse, pretty, sha256
from takeback.diagnose.feedback import VERSION as TEMPLATES_VERSION
from takeback.errors import InputError
from takeback.language import candidate_schema
from takeback.state import SURFACES, Level, Stage
from takeback.synthesize.models import Message

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


_SOURCES: Final = {GUIDED: PromptSource("takeback.synthesize")}


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


@dataclass(frozen=True)
class PromptSet:
    """The templates and schemas of one version, by file name."""

    version: str
    files: Mapping[str, str]

    def digest(self, *names: str) -> str:
        """SHA-256 over names and contents, of the files named or of all, for a lock."""
        chosen = {name: self.files[name] for name in names or self.files}
        return sha256(pretty([self.version, sorted(chosen.items())], indent=None))

    def fill(self, name: str, **values: str) -> str:
        """A template with its places filled; a place without a value is an error of ours."""
        return Template(self.files[name]).substitute(values).strip()

    @property
    def ordered(self) -> bool:
        """Whether the order of a schema's properties, which steers constrained decoding, names a request too."""
        return _find_source(self.version).ordered

    def propose(self, level: Level, *, state: Mapping[str, Any], instruction: str) -> tuple[Message, ...]:
        """Ask for a whole candidate: `state` holds the surfaces the task concerns.

        The level bounds witness and recovery; a mutation may use all of L1.
        """
        forward = max(level, Level.L1)
        concerned = ", ".join(f"{name} ({', '.join(forward_operations(name, forward))})" for name in state)
        return self._messages(
            "propose.md",
            level,
            state=compact(state),
            instruction=instruction,
            surfaces=concerned,
            forward=self.files.get("forward.md", "").strip(),
        )

    def repair(self, level: Level, *, mutation: Any, attempt: Any, diagnosis: str) -> tuple[Message, ...]:
        """Ask for witness, recovery and contract anew, with the mutation locked."""
        return self._messages(
            "repair.md", level, mutation=compact(mutation), attempt=compact(attempt), diagnosis=diagnosis
        )

    def regenerate(self, level: Level, *, mutation: Any) -> tuple[Message, ...]:
        """Ask for witness, recovery and contract with no word about earlier attempts."""
        return self._messages("regenerate.md", level, mutation=compact(mutation))

    def schema(self, level: Level, *, mutation: bool) -> dict[str, Any]:
        """The schema a reply is held to; frozen with the version where it has one for the level."""
        name = f"{'candidate' if mutation else 'repair'}_{level.value}.json"
        frozen = self.files.get(name)
        if frozen is None:
            return reply_schema(level, mutation=mutation)
        schema: dict[str, Any] = parse(frozen, name)
        return schema

    def language(self, level: Level) -> str:
        """What the language is: as the version has it, or as it is told now where it is newer than the version."""
        name = f"language_{level.value}.md"
        return self.fill(name) if name in self.files else shared(name)

    def _messages(self, name: str, level: Level, **values: str) -> tuple[Message, ...]:
        language = self.language(level)
        return Message("system", self.fill("system.md")), Message(
            "user", self.fill(name, language=language, **values)
        )


def forward_operations(surface: str, level: Level) -> tuple[str, ...]:
    """The names of the operations that change a surface in a language."""
    return tuple(kind.name for kind in SURFACES[surface].kind(Stage.FORWARD) if level.includes(kind.level))


def reply_schema(level: Level, *, mutation: bool) -> dict[str, Any]:
    """The language's schema, shorter, and with a contract of surfaces: a small model runs on in lists."""
    schema = candidate_schema(level, mutation=mutation)
    properties = {name: {**part, "maxItems": MAX_OPERATIONS} for name, part in schema["properties"].items()}
    properties["contract"]["items"] = {"enum": list(SURFACES)}
    return {**schema, "properties": properties}


@cache
def shared(name: str) -> str:
    """What versions that were frozen before it existed say too."""
    return resources.files("takeback.synthesize").joinpath("prompts", name).read_text(encoding="utf-8").strip()


@cache
def prompt_set(version: str = VERSION) -> PromptSet:
    """The prompts of a version."""
    folder = resources.files(_find_source(version).package).joinpath("prompts", version)
    files = {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
    return PromptSet(version, files)


def without_language(text: str) -> str:
    """A message from where it says what is asked."""
    return text[text.find("\n# ", 1) + 1 :]
