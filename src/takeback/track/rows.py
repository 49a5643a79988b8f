"""What a capture hands on: one row for each tool call, or for what was found, with the files that changed.

A row is settled later into an entry of the journal. Contents are named by their keyed digest; `TrackStore.content`
returns their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FactsKind = Literal["file", "link", "seen"]
RowKind = Literal["call", "found", "git"]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file as it stood at a look."""

    kind: FactsKind
    """`seen` is a file whose content was not kept: a secret, a file above the cap, or no regular file."""
    mode: int
    size: int
    digest: str
    """Names the content: keyed BLAKE2b-160 in hex, of a link its target's; of a file that was not read, of its size
    and time, and empty where nothing is known."""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """One file that changed between two looks; None where it was not there."""

    path: str
    before: FileFacts | None
    after: FileFacts | None
    before_known: bool = True
    """Whether it is known what was there before; if not, `before` is None and says nothing."""


@dataclass(frozen=True, slots=True)
class IntakeRow:
    """Everything that one capture found, in the order of the numbers."""

    number: int
    kind: RowKind
    client: str
    session: str
    call: str
    tool: str
    command: str
    """The command of a shell call, masked."""
    prompt: int | None
    """The number of the prompt that it belongs to, for `TrackStore.prompt`."""
    began: int
    ended: int
    """Nanoseconds by the file system's clock."""
    beside: tuple[str, ...]
    """Other calls that were under way meanwhile, each as `tool session/call`."""
    git: str
    """What git's log of HEAD says of a movement meanwhile; empty if HEAD did not move."""
    edits: tuple[tuple[str, str, str], ...]
    """What an edit tool announced: path, text that is replaced, text in its place."""
    deltas: tuple[FileDelta, ...]
    unkept: tuple[tuple[str, str], ...]
    """Files whose content was not kept, and why."""
    notes: tuple[str, ...]
    said: Mapping[str, str] = field(default_factory=dict)
    """What was said of the call for its entry: `note`, `by`, `exit_code`."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A person's prompt: its first line, masked."""

    number: int
    client: str
    session: str
    text_first_line_masked: str
    time: int
