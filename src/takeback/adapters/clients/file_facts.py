"""What is read of clients' files: the state, inner harnesses, links, and what clients ignore.

Files of a harness inside this one stay as they are known. Nothing is written at the path of a link.
Reported are files that a client drops for one wrong type, hooks of unknown events, and changes that a
client makes by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from takeback.adapters.clients.client import ANY
from takeback.adapters.clients.contents import BoundDocument, Contents, is_hollow
from takeback.adapters.clients.discovery import Finder
from takeback.adapters.clients.hooks import assign_ids
from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS, ClientLayout, Homes, Member
from takeback.adapters.directory import Directory
from takeback.adapters.harness_places import WAY_OUT, describe_left_alone, describe_owner
from takeback.errors import CannotSplice, HarnessError, UnsafePathError
from takeback.harness.images import FileImage, LinkImage
from takeback.language.suggestions import suggest_name
from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.slots import Slot
from takeback.state.values import thaw


class FreshReading:
    """What was read, surface by surface, before it is joined with what is known."""

    def __init__(self) -> None:
        self.contents = Contents()
        self.prompts: dict[str, str] = {}
        self.files: list[tuple[tuple[str, ...], File]] = []
        self.loaded: dict[str, list[tuple[str, Any]]] = {}
        self._known: tuple[PMap, dict[tuple[str, ...], Any]] | None = None

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
            chains[event] = [_name_listener(name, group) for name, group in assign_ids(groups, there)]
        SURFACES["listeners"].read(chains, "hooks")
        return chains

    def state(self, known: State) -> State:
        """Return what was read as a state; `known` itself if it is the same."""
        raw: dict[str, Any] = {
            "config": self.contents.config,
            "routing": self.contents.routing,
            "tools": self.contents.tools,
            "listeners": self._chains(self.contents.listeners, known)
            | {event: self._order_loaded(event, files, known) for event, files in self.loaded.items()},
            "prompts": {**self.contents.prompts, **self.prompts},
        }
        values = {surface: SURFACES[surface].read(value, surface) for surface, value in raw.items()}
        values["files"] = self._files(known)
        changed = {}
        for surface, value in values.items():
            there = known.part(surface)
            placed = SURFACES[surface].transfer_places(value, there)
            if next(SURFACES[surface].differing(there, placed), None) is not None:
                changed[surface] = placed
        return State.of({**known.parts, **changed}) if changed else known

    @staticmethod
    def _order_loaded(event: str, files: list[tuple[str, Any]], known: State) -> list[Any]:
        """Return files that a client loads as listeners, in the order that is known: a folder has none."""
        order = {link.id: at for at, link in enumerate(known.part("listeners").get(event, ()))}
        return [_name_listener(*file) for file in sorted(files, key=lambda item: order.get(item[0], len(order)))]

    def list_known_files(self, known: State) -> dict[tuple[str, ...], Any]:
        """Return the files and empty folders of a state by their path, listed once."""
        files: PMap = known.part("files")
        if self._known is None or self._known[0] is not files:
            self._known = files, dict(tree.iter_leaves(files))
        return self._known[1]

    def _files(self, known: State) -> PMap:
        """The files as a tree, built on the known one where nothing of that is gone."""
        contents, leaves = dict(self.files), self.list_known_files(known)
        is_whole = all(path in contents for path, leaf in leaves.items() if isinstance(leaf, File))
        files: PMap = known.part("files") if is_whole else SURFACES["files"].empty
        there = leaves if is_whole else {}
        for path, file in contents.items():
            if there.get(path) is not file:
                files = tree.put(files, path, file)
        for path, leaf in () if is_whole else leaves.items():
            if not isinstance(leaf, File) and tree.get(files, path) is ABSENT:
                files = tree.put(files, path, leaf)  # a folder that was left with nothing
        return files


def _name_listener(name: str, group: Any) -> dict[str, Any]:
    return {"id": name, "handler": name, "options": group}


def bind_inner_documents(layout: ClientLayout, known: State) -> None:
    """Bind the documents of a folder that a state knows, where they belong to a harness inside this one."""
    folders = (document.path.partition(ANY)[0] for member in layout.members for document in member.client.documents)
    if not any(layout.inner.find_above(folder) for folder in folders):
        return
    there = set(layout.documents)
    for surface in SURFACES_OF_DOCUMENTS:
        for key in known.part(surface):
            layout.with_room_for(surface, key)
    for path in layout.documents.keys() - there:
        if layout.inner.find_above(path) is None:
            del layout.documents[path]


def keep_inner_files(homes: Homes, known: State, fresh: FreshReading) -> None:
    """Keep the known prompts and files of a harness inside this one, and report it once."""
    layout = homes.layout
    paths: set[str] = {inner for path in layout.documents if (inner := layout.inner.find_above(path))}
    for name, text in known.part("prompts").items():
        if name not in fresh.prompts and name not in fresh.contents.prompts:
            inner = layout.inner.find_above(layout.place_of(name) or name)
            if inner is not None:
                paths.add(inner)
                fresh.prompts[name] = thaw(text)
    there = {path for path, _ in fresh.files}
    kept: list[str] = []
    for path, leaf in fresh.list_known_files(known).items():
        if path in there:
            continue
        inner = layout.inner.find_above("/".join(path)) if isinstance(leaf, File) else None
        if inner is not None and isinstance(leaf, File):
            paths.add(inner)
            fresh.files.append((path, leaf))
            kept.append("/".join(path))
    _keep_listeners(homes, known, fresh, kept)
    layout.notes += [describe_left_alone(folder) for folder in sorted(paths)]


def _keep_listeners(homes: Homes, known: State, fresh: FreshReading, kept: list[str]) -> None:
    """Keep the listeners that are files which a client loads by itself, in the order that is known."""
    for event, scripts in homes.map_loaded_events().items() if kept else ():
        own = [path for path in kept if path.startswith(f"{scripts.folder}/")]
        names = [path[len(scripts.folder) + 1 :] for path in own if path.endswith(scripts.endings or "")]
        if names:
            order = {link.id: at for at, link in enumerate(known.part("listeners").get(event, ()))}
            whole = [*fresh.loaded.get(event, ()), *((name, {"file": f"{scripts.folder}/{name}"}) for name in names)]
            fresh.loaded[event] = sorted(whole, key=lambda item: order.get(item[0], len(order)))


def require_not_inner(layout: ClientLayout, root: str, path: str, where: str) -> None:
    """Refuse to write a file that belongs to a harness inside this one."""
    inner = layout.inner.find_above(path)
    if inner is not None:
        raise CannotSplice(f"{describe_owner(root, inner)}: {WAY_OUT}", where=where)


def list_missing(layout: ClientLayout, paths: Iterator[str]) -> Iterator[tuple[str, None]]:
    """Yield the paths at which nothing is, without those that belong to a harness inside this one."""
    return ((path, None) for path in paths if layout.inner.find_above(path) is None)


LINK_WAY_OUT = "put a file in its place and adopt that, or 'takeback discard' brings back the file that was there"


def find_links(directory: Directory, layout: ClientLayout) -> Iterator[tuple[str, LinkImage]]:
    """Yield links at paths where a client's file could be; a folder that is a link hides what is in it."""
    for path in layout.links:
        try:
            image = directory.recall(path)
        except (HarnessError, UnsafePathError):
            continue
        if isinstance(image, LinkImage):
            yield path, image


def find_behind(root: Path, path: str, image: LinkImage) -> str | None:
    """Return the file inside a directory that a link leads to; None where it leads elsewhere or nowhere."""
    seen = Finder(root).leads(path, image.target)
    return None if seen.outside else seen.real


def why_not_written(layout: ClientLayout, path: str, image: LinkImage) -> str:
    """Return why nothing is written at the path of a link, and what to do instead."""
    real = layout.links.get(path, "")
    name = layout.prompts.get(real)
    if name is not None:
        return f"a link to {real} stands there, which is not replaced: change {name!r} itself, or {LINK_WAY_OUT}"
    return f"a link to {image.target} stands there, which is not followed: {LINK_WAY_OUT}"


def is_read_through(layout: ClientLayout, path: str, real: str) -> bool:
    """Return whether a file is read under the name of the link that leads to it, and not under its own."""
    name = layout.prompts.get(real)
    if name is None:
        return layout.links.get(path) == real
    return path in {name, layout.place_of(name)}


def is_nothing_read(directory: Directory, homes: Homes, bound: BoundDocument, known: State) -> bool:
    """Tell whether a link that leads out or nowhere stands in a document's place: it is not followed.

    Where a folder above it is such a link, only a document that never was anything counts as nothing.
    """
    if bound.path not in homes.layout.outside:
        return False
    return has_nothing_of(homes, bound, known) or isinstance(directory.look(bound.path), LinkImage)


def has_nothing_at(homes: Homes, path: str, state: State) -> bool:
    """Tell whether a state has nothing that a file at a path would say."""
    name, bound = homes.prompt_at(path, state), homes.layout.document_at(path)
    if bound is not None and not has_nothing_of(homes, bound, state):
        return False
    return name is None or name not in state.part("prompts")


def has_nothing_of(homes: Homes, bound: BoundDocument, state: State) -> bool:
    """Tell whether a state has nothing of a document."""
    return is_hollow(bound.join_document(homes.contents(state, bound), {}))


def find_writer(members: Sequence[Member], layout: ClientLayout, slot: Slot, before: Any, after: Any) -> str | None:
    """Return the client that makes such a change of a slot itself, if one does."""
    surface, path = slot[0], tuple(step for step in slot[1:] if not is_part(step))
    bound = layout.owner(surface, path[0]) if surface in SURFACES_OF_DOCUMENTS else None
    if bound is None or surface != "config":
        return None
    steps = (path[0].removeprefix(bound.prefix("config")), *path[1:])
    changed = [
        place for value in (before, after) if value is not ABSENT for place, _ in tree.iter_leaves(value, steps)
    ]
    if not all(any(place[: len(own)] == own for own in bound.documents.own) for place in changed):
        return None
    return next(member.client.name for member in members if bound.documents in member.client.documents)


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
    """Yield a message for each hook whose event its client does not have."""
    for key in events:
        reason = why_event_unknown(members, key)
        if reason:
            yield reason


def why_event_unknown(members: Sequence[Member], key: str) -> str:
    """Return that a client lacks an event, with the likely one; empty if it has it, or if that is unknown."""
    others = [member for member in members if member.prefix and key.startswith(member.start)]
    owner = others[0] if others else next((member for member in members if not member.prefix), None)
    if owner is None or not owner.client.events:
        return ""
    event = key.removeprefix(owner.start).rpartition(":")[2]
    if event in owner.client.events:
        return ""
    meant = suggest_name(event, sorted(owner.client.events))
    return f"{owner.client.name} has no event {event!r}, and ignores its hooks{f': {meant}' if meant else ''}"
