"""Which file each thing of a state is in, and what the state has of one document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from takeback.adapters.clients.brought import brings_in
from takeback.adapters.clients.client import Scripts
from takeback.adapters.clients.contents import BoundDocument, Contents
from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS, ClientLayout
from takeback.adapters.clients.leaves import files_below, names_below
from takeback.adapters.clients.names import prefix
from takeback.errors import CannotSplice
from takeback.state import SURFACES, State
from takeback.state.parts import is_part
from takeback.state.values import thaw

STORED = frozenset({"config", "routing", "tools", "listeners", "prompts", "files"})
StoredIn = BoundDocument | str | None
"""A document, the name of a prompt in a file of its own, or None for a plain file."""


class Homes:
    """Finds files for things, in one layout."""

    def __init__(self, layout: ClientLayout, root: Path) -> None:
        self.layout = layout
        self._root = root

    def where(self, path: str) -> str:
        """A path for people."""
        return str(self._root / path)

    def differing(self, before: State, after: State) -> dict[str, StoredIn]:
        """The files of things that differ."""
        homes: dict[str, StoredIn] = {}
        for surface in sorted(STORED):
            one, two = before.part(surface), after.part(surface)
            if one is two:
                continue
            for path in SURFACES[surface].differing(one, two):
                steps = tuple(step for step in path if not is_part(step))
                for place in files_below(steps, one, two) if surface == "files" else (steps,):
                    found = self._home(surface, place, (before, after))
                    if found is not None:
                        homes[found[0]] = found[1]
        return homes

    def _home(self, surface: str, path: Sequence[str], states: tuple[State, State]) -> tuple[str, StoredIn] | None:
        layout = self.layout
        if surface == "files":
            place = "/".join(path)
            if layout.file_home(place) is None:
                raise CannotSplice("no client of this directory would use a file there", where=self.where(place))
            return place, None
        key = path[0]
        if surface == "listeners" and key in self.loaded_events():
            return None
        bound = layout.with_room_for(surface, key)
        if bound is not None:
            return bound.path, bound
        home = layout.prompt_path(key) if surface == "prompts" else None
        if home is None and surface == "prompts" and any(self._brought_in(key, state) for state in states):
            home = key
        if home is None:
            kinds = ", ".join(member.client.name for member in layout.members)
            server = surface == "tools" and layout.with_room_for(surface, f"mcp:{key}") is not None
            told = f"{surface}[{key!r}] has no place in the files of {kinds}"
            raise CannotSplice(f"{told}; a server is named mcp:{key}" if server else told, where=self.where(""))
        return home, key

    def _brought_in(self, path: str, state: State) -> bool:
        """Whether something in a state brings a file in."""
        values = (
            (one.documents, one.joined(self.contents(state, one), {})) for one in self.layout.documents.values()
        )
        texts = {key: thaw(text) for key, text in state.part("prompts").items()}
        return brings_in(self.layout, texts, values, path)

    def left_alone(self, name: str, state: State) -> bool:
        """Whether a file that was only brought in stays where it is, because a state no longer has it."""
        return name not in state.part("prompts") and not self._brought_in(name, state)

    def prompt_at(self, path: str, state: State) -> str | None:
        """The prompt that is, or would be, in the file at a path."""
        found = self.layout.prompts.get(path)
        if found is not None:
            return found
        if path in self.layout.links and path in state.part("prompts"):
            return path
        return next((key for key in state.part("prompts") if (self.layout.prompt_path(key) or key) == path), None)

    def loaded_events(self) -> dict[str, Scripts]:
        """Events whose listeners are files, and where these lie."""
        return {
            prefix(member.prefix) + scripts.event: scripts
            for member in self.layout.members
            for scripts in member.client.scripts
            if scripts.event
        }

    def demand_loaded(self, after: State) -> None:
        """Files that a client loads by itself are listeners as long as they are there, and no longer."""
        for event, scripts in self.loaded_events().items():
            names = names_below(after.part("files"), scripts.folder, scripts.endings)
            chain = after.part("listeners").get(event, ())
            if {link.id for link in chain} != names:
                raise CannotSplice(
                    f"the listeners of {event!r} are files that the client loads by itself: add or remove the file",
                    where=self.where(""),
                )

    def contents(self, state: State, bound: BoundDocument) -> Contents:
        """What the surfaces have of one document."""
        found = Contents()
        for surface in SURFACES_OF_DOCUMENTS:
            if not bound.stores(surface):
                continue
            into: dict[str, Any] = getattr(found, surface)
            for key, content in state.part(surface).items():
                if key.startswith(bound.prefix(surface)) and self.layout.owner(surface, key) is bound:
                    into[key] = self._groups(content) if surface == "listeners" else thaw(content)
        return found

    def _groups(self, chain: Any) -> list[Any]:
        groups = []
        for link in chain:
            if link.record["handler"] != link.id:
                raise CannotSplice(
                    f"the hook {link.id!r} has a handler of its own, which the client's file cannot say; "
                    "what a hook does is said in its options",
                    where=self.where(""),
                )
            groups.append(thaw(link.record["options"]))
        return groups
