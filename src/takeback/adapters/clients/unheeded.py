"""What of a harness its clients do not heed: files that they drop for one wrong type, hooks of unknown events.

Said of what others wrote: of a change through Takeback, the first is refused before it is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from takeback.adapters.clients.layout import ClientLayout, Member
from takeback.adapters.clients.names import prefix
from takeback.harness.images import FileImage
from takeback.language.near import suggestion

UNLOADED: Final = "will not load it"
"""In what is said of a file that its client drops."""


def list_unloaded(layout: ClientLayout, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield documents that their client will not load, with the reason."""
    for path, value in values.items():
        bound = layout.documents[path]
        wrong = bound.documents.check(value)
        owner = next((member for member in layout.members if bound.documents in member.client.documents), None)
        if wrong is not None and owner is not None:
            yield path, f"{path}: {owner.client.name} {UNLOADED}: {wrong}"


def why_text_unloaded(layout: ClientLayout, path: str | None, image: FileImage | None) -> str:
    """Return why a client will not load a text; empty if it will."""
    declared = None if path is None else layout.text_of(path)
    if declared is None or image is None:
        return ""
    wrong = declared.check(image.content.decode("utf-8", "replace"))
    return "" if wrong is None else f"{path}: the client {UNLOADED}: {wrong}"


def list_unknown_events(members: Sequence[Member], events: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Yield what is said of hooks whose event their client does not have."""
    for key in events:
        told = why_event_unknown(members, key)
        if told:
            yield told


def why_event_unknown(members: Sequence[Member], key: str) -> str:
    """Return that a client does not have an event, with the one that may be meant; empty if it has, or who knows."""
    others = [member for member in members if member.prefix and key.startswith(prefix(member.prefix))]
    owner = others[0] if others else next((member for member in members if not member.prefix), None)
    if owner is None or not owner.client.events:
        return ""
    event = key.removeprefix(prefix(owner.prefix)).rpartition(":")[2]
    if event in owner.client.events:
        return ""
    meant = suggestion(event, sorted(owner.client.events))
    return f"{owner.client.name} has no event {event!r}, and ignores its hooks{f': {meant}' if meant else ''}"
