"""What a client is, declared: its files, their formats, and which part of each is which surface.

A `Client` lists documents (settings and the like), of which rules say what is not config, and folders and names of
files that are prompts or plain files. Everything else about reading and writing them is the same for all clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from takeback.adapters.formats.document import Document

ANY: Final = "*"
Steps = tuple[str, ...]
ValueCheck = Callable[[Any], str | None]
"""Says what is wrong with a document's value for its client, if anything is."""


class Effect(StrEnum):
    """When a client notices a change."""

    LIVE = "live"
    NEXT_SESSION = "next session"
    APPROVAL = "needs approval in the client"


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """A part of a document that is not config: where it is (`*` is any one key) and what it is instead.

    `model` is a routing key, `servers` are tools, `hooks` are listeners, `text` is a prompt, `ordered` is a mapping
    whose order counts (config, as a list of pairs), `bookkeeping` is the client's own and no part of the state.
    """

    at: Steps
    what: str
    name: str = ""
    """Of servers, what their names begin with; of a text, the prompt's name: {} is the document's, * any key's."""
    scope: str | None = None
    """Another scope than the document's."""


@dataclass(frozen=True, slots=True)
class Documents:
    """A document at a path, or every document of a folder (`*` stands for its name, with folders below)."""

    path: str
    open: Callable[[bytes, str], Document]
    rules: tuple[DocumentRule, ...] = ()
    scope: str = ""
    """What its names begin with, before a colon; {} is the document's name."""
    fresh: bytes = b"{\n}\n"
    check: ValueCheck = lambda _: None
    effect: Effect = Effect.NEXT_SESSION
    effects: Mapping[str, Effect] = field(default_factory=dict)
    """By the document's first key, where that differs."""
    own: frozenset[Steps] = frozenset()
    """What the client writes itself."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Files of a folder that are prompts; `name` is the prompt's, in which {} is the file's without its ending.

    A folder that ends in `*` is every folder whose name begins so; what the star stands for is part of the name.
    """

    folder: str
    ending: str
    name: str
    check: ValueCheck = lambda _: None
    effect: Effect = Effect.NEXT_SESSION

    @property
    def start(self) -> str:
        """What the paths of its files begin with."""
        return self.folder.removesuffix(ANY) if self.folder.endswith(ANY) else f"{self.folder}/"


@dataclass(frozen=True, slots=True)
class Skills:
    """Folders with a SKILL.md each, which is a prompt; whatever else is in them is a plain file."""

    folder: str
    effect: Effect = Effect.NEXT_SESSION
    name: str = "skills/{}"
    """The prompt's, in which {} is the skill's; folders have different ones."""


@dataclass(frozen=True, slots=True)
class Scripts:
    """A folder of plain files, read when they are run; with `event`, the client loads each as a listener."""

    folder: str
    endings: tuple[str, ...] = ()
    event: str = ""
    effect: Effect = Effect.LIVE


@dataclass(frozen=True, slots=True)
class Client:
    """One kind of harness that people run."""

    name: str
    signs: tuple[str, ...]
    """Files and folders that tell it is there; `*` is any name, and what stands behind a space is in the file."""
    documents: tuple[Documents, ...] = ()
    texts: tuple[Texts, ...] = ()
    skills: tuple[Skills, ...] = ()
    scripts: tuple[Scripts, ...] = ()
    instructions: tuple[str, ...] = ()
    """Names of instruction files, and paths of those that are read in one place only."""
    nested: bool = True
    """Whether the client reads instruction files in any folder, or only at the top."""
    imports: Callable[[str], tuple[str, ...]] = lambda _: ()
    """Paths that an instruction file brings in."""
    includes: Callable[[Any], tuple[str, ...]] = lambda _: ()
    """Patterns of instruction files that the main document names."""
    events: frozenset[str] = frozenset()
    """Events that hooks can be about; none where that is not known."""
    user_folder: str = ""
    """Where the user's own files lie, below the home directory."""
    user: bool = False
    """Whether this is about the user's own files."""
    weak_signs: tuple[str, ...] = ()
    """Files that tell it is there where no other client reads them."""
    also_reads: tuple[str, ...] = ()
    """Files and folders (with a slash at the end) of other clients that this one reads too, and that stay theirs."""
    runs_hooks_of: tuple[str, ...] = ()
    """Files of other clients of which this one runs the hooks, and reads nothing else."""
    risks: str = ""
    """The table of what its settings may do; `risk_tables.py` says how it is written."""
    known: Mapping[str, tuple[type, ...]] = field(default_factory=dict)
    """Settings of a known type; those that are no mappings and not in the table are harmless."""
    is_program: bool = True
    """Whether a program of this name reads the files, or it is a kind of repository that others read."""
    dotted: bool = False
    """Whether the names of its settings have dots in them, each of which is a step of a place in `risks`."""

    def list_prompt_names(self) -> tuple[str, ...]:
        """Return how prompts of this client are named; NAME stands for a name that people choose."""
        templates = [*(text.name for text in self.texts), *(skill.name for skill in self.skills)]
        return (*self.instructions, *(template.replace("{}", "NAME") for template in templates))
