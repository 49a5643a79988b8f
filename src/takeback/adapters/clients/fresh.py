"""What was read of clients' files, put together as a state that keeps the identities of what is known."""

from __future__ import annotations

from typing import Any

from takeback.adapters.clients.contents import Contents
from takeback.adapters.clients.hooks import identified
from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS
from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.file import File
from takeback.state.values import thaw


class FreshReading:
    """What was read, surface by surface, before it is joined with what is known."""

    def __init__(self) -> None:
        self.contents = Contents()
        self.prompts: dict[str, str] = {}
        self.files: list[tuple[tuple[str, ...], File]] = []
        self.loaded: dict[str, list[tuple[str, Any]]] = {}

    def take(self, contents: Contents, known: State) -> None:
        """Add what one document has; raises `InputError` if a surface cannot hold it."""
        for surface in ("config", "routing", "tools"):
            SURFACES[surface].read(getattr(contents, surface), surface)
        self._chains(contents.listeners, known)
        for surface in SURFACES_OF_DOCUMENTS:
            getattr(self.contents, surface).update(getattr(contents, surface))

    def _chains(self, events: dict[str, list[Any]], known: State) -> dict[str, list[Any]]:
        part = known.part("listeners")
        chains = {}
        for event, groups in events.items():
            there = [(link.id, thaw(link.record["options"])) for link in part.get(event, ())]
            chains[event] = [_listener(name, group) for name, group in identified(groups, there)]
        SURFACES["listeners"].read(chains, "hooks")
        return chains

    def state(self, known: State) -> State:
        """What was read as a state, `known` itself if that is the same."""
        raw: dict[str, Any] = {
            "config": self.contents.config,
            "routing": self.contents.routing,
            "tools": self.contents.tools,
            "listeners": self._chains(self.contents.listeners, known)
            | {event: [_listener(*one) for one in files] for event, files in self.loaded.items()},
            "prompts": {**self.contents.prompts, **self.prompts},
        }
        values = {surface: SURFACES[surface].read(value, surface) for surface, value in raw.items()}
        values["files"] = self._files(known.part("files"))
        changed = {}
        for surface, value in values.items():
            there = known.part(surface)
            placed = SURFACES[surface].placed(value, there)
            if next(SURFACES[surface].differing(there, placed), None) is not None:
                changed[surface] = placed
        return State.of({**known.parts, **changed}) if changed else known

    def _files(self, known: PMap) -> PMap:
        """The files as a tree, built on the known one where nothing of that is gone."""
        found = dict(self.files)
        leaves = list(tree.leaves(known))
        is_whole = all(path in found for path, leaf in leaves if isinstance(leaf, File))
        files: PMap = known if is_whole else SURFACES["files"].empty
        for path, file in found.items():
            if tree.get(files, path) is not file:
                files = tree.put(files, path, file)
        for path, leaf in () if is_whole else leaves:
            if not isinstance(leaf, File) and tree.get(files, path) is ABSENT:
                files = tree.put(files, path, leaf)  # a folder that was left with nothing
        return files


def _listener(name: str, group: Any) -> dict[str, Any]:
    return {"id": name, "handler": name, "options": group}
