"""Real clients' files as a harness: documents, prompts and plain files of one directory, of one or several clients.

Reading splits documents into what each surface has of them; rendering joins that again and splices only what
differs. A result that the client would not load is refused before it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from takeback.adapters.clients.brought import brings_in
from takeback.adapters.clients.client import Effect, Scripts
from takeback.adapters.clients.contents import BoundDocument, Contents, normal, ordered_places
from takeback.adapters.clients.fresh import FreshReading
from takeback.adapters.clients.hooks import as_listener
from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS, ClientLayout, Member, find_layout, include, keep
from takeback.adapters.clients.leaves import files_below, names_below
from takeback.adapters.clients.names import prefix
from takeback.adapters.clients.trust import moved_hooks, rekeyed
from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.formats.document import Document, alike, look_up, patch, transform_in_order
from takeback.adapters.manifest import PRIVATE
from takeback.adapters.workspace.storage import decode_text, missing_directories
from takeback.errors import CannotSplice, HarnessError, InputError
from takeback.harness.adapter import Broken, Reading, Unsayable
from takeback.harness.images import FileChange, FileImage, Image
from takeback.state import ABSENT, SURFACES, State, tree
from takeback.state.file import File
from takeback.state.parts import is_part
from takeback.state.slots import Slot
from takeback.state.values import thaw

STORED = frozenset({"config", "routing", "tools", "listeners", "prompts", "files"})


class ClientAdapter(FilesAdapter):
    """The files of one directory that some clients load."""

    name = "clients"
    surfaces = STORED

    def __init__(self, directory: Directory, members: Sequence[Member]) -> None:
        super().__init__(directory)
        self.members = tuple(members)
        self._images: dict[str, FileImage] = {}
        self._layout = ClientLayout(self.members)
        self._documents: dict[str, tuple[bytes, Document]] = {}

    def read(self, known: State) -> Reading:
        """What the files say; `known` itself if that is the same."""
        self._images = {}
        broken: list[Broken] = []
        layout = self._layout = find_layout(self._directory.root, self.members, self._peek)
        values = self._values(known, broken)
        self._include(values)
        keep(layout, self._directory.root, known.part("prompts"))
        fresh = FreshReading()
        settings = thaw(known.part("config"))
        for path, value in values.items():
            bound = layout.documents[path]
            try:
                fresh.take(bound.split(value, self._where(path), settings), known)
            except InputError as fault:
                broken.append(Broken(path, fault.where, fault.message))
                fresh.take(self._contents(known, bound), known)
        for path, name in layout.prompts.items():
            self._read_prompt(path, name, known, fresh, broken)
        for path in layout.files:
            self._read_file(path, known, fresh, broken)
        self._look_for_leftovers()
        return Reading(fresh.state(known), tuple(broken), tuple(layout.strange))

    def _values(self, known: State, broken: list[Broken]) -> dict[str, dict[str, Any]]:
        """The value of every document; of one that cannot be read, what is known of it."""
        values: dict[str, dict[str, Any]] = {}
        for path, bound in self._layout.documents.items():
            try:
                image = self._look(path)
                value = {} if image is None else self._document(bound, image.content).value
                values[path] = _mapping(value, self._where(path))
            except InputError as fault:
                broken.append(Broken(path, fault.where, fault.message))
                values[path] = bound.joined(self._contents(known, bound), {})
            except HarnessError as fault:
                broken.append(Broken(path, self._where(path), fault.message))
                values[path] = bound.joined(self._contents(known, bound), {})
        return values

    def _include(self, values: dict[str, dict[str, Any]]) -> None:
        """Take in what documents name as instructions."""
        for path, value in values.items():
            for member in self.members:
                if self._layout.documents[path].documents in member.client.documents:
                    include(self._layout, self._directory.root, member.client.includes(value), self._peek)

    def _read_prompt(self, path: str, name: str, known: State, fresh: FreshReading, broken: list[Broken]) -> None:
        try:
            image = self._look(path)
            if image is not None:
                fresh.prompts[name] = decode_text(image.content, self._where(path))
        except HarnessError as fault:
            where = fault.where if isinstance(fault, InputError) else self._where(path)
            broken.append(Broken(path, where, fault.message))
            if name in known.part("prompts"):
                fresh.prompts[name] = thaw(known.part("prompts")[name])

    def _read_file(self, path: str, known: State, fresh: FreshReading, broken: list[Broken]) -> None:
        steps = tuple(path.split("/"))
        try:
            image = self._look(path)
            if image is None:
                return
            fresh.files.append((steps, File(image.content, image.mode)))
        except HarnessError as fault:
            broken.append(Broken(path, self._where(path), fault.message))
            content = tree.get(known.part("files"), steps)
            if not isinstance(content, File):
                return
            fresh.files.append((steps, content))
        if path in self._layout.loaded:
            event, name = self._layout.loaded[path]
            fresh.loaded.setdefault(event, []).append((name, {"file": path}))

    def _look(self, path: str) -> FileImage | None:
        image = self._directory.read(path)
        if image is not None:
            self._images[path] = image
        return image

    def _peek(self, path: str) -> FileImage | None:
        try:
            return self._directory.read(path)
        except HarnessError:
            return None

    def _where(self, path: str) -> str:
        return str(self._directory.root / path)

    def _document(self, bound: BoundDocument, content: bytes) -> Document:
        seen = self._documents.get(bound.path)
        if seen is None or seen[0] != content:
            seen = (content, bound.documents.open(content, self._where(bound.path)))
            self._documents[bound.path] = seen
        return seen[1]

    def _look_for_leftovers(self) -> None:
        folders = {path.rpartition("/")[0] for path in self._images} | {"", PRIVATE}
        self._leftovers = tuple(
            path for folder in sorted(folders) for path in self._directory.own_temporaries(folder)
        )

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | Unsayable:
        """The files that differ, spliced."""
        path = ""
        changes: list[FileChange] = []
        try:
            self._demand_loaded(after)
            moved = moved_hooks(self._layout, self._directory.root, before, after)
            ledgers = {path: one for path, one in self._layout.documents.items() if moved and one.keeps_books}
            for path, home in {**self._homes(before, after), **ledgers}.items():
                found = self._rendered(path, home, before, after)
                if found is not None and found.before is None:
                    changes += [one for one in missing_directories(self._directory, path) if one not in changes]
                changes += [] if found is None else [found]
        except CannotSplice as fault:
            return Unsayable(path, str(fault))
        return tuple(changes)

    def _rendered(
        self, path: str, home: BoundDocument | str | None, before: State, after: State
    ) -> FileChange | None:
        image = self._images.get(path)
        if path in self._layout.outside:
            raise CannotSplice("a link stands there that leads out of the directory", where=self._where(path))
        if isinstance(home, BoundDocument):
            return self._rendered_document(home, image, before, after)
        if home is not None and self._layout.place_of(home) is None:
            image = self._peek(path) if image is None else image
            if self._left_alone(home, after):
                return None
        if home is None:
            leaf = tree.get(after.part("files"), tuple(path.split("/")))
            new = FileImage(leaf.content, leaf.mode) if isinstance(leaf, File) else None
        else:
            text = after.part("prompts").get(home, ABSENT)
            mode = 0o644 if image is None else image.mode
            new = None if text is ABSENT else FileImage(thaw(text).encode(), mode)
            self._demand_loadable_text(path, image, new)
        return None if new == image else FileChange(path, image, new)

    def _rendered_document(
        self, bound: BoundDocument, image: FileImage | None, before: State, after: State
    ) -> FileChange | None:
        data = bound.documents.fresh if image is None else image.content
        document = self._document(bound, data)
        old = bound.joined(self._contents(before, bound), document.value)
        new = bound.joined(self._contents(after, bound), document.value)
        rules = bound.documents.rules
        edited = patch(document, old, new)
        for path in ordered_places(new, rules):
            edited = transform_in_order(edited, look_up(new, path), path)
        if bound.keeps_books:
            moved = moved_hooks(self._layout, self._directory.root, before, after)
            edited = rekeyed(edited, moved, bound.documents.open)
        if not alike(normal(edited.value, rules), normal(new, rules)):
            raise CannotSplice("the edit would not say what it should", where=self._where(bound.path))
        wrong = bound.documents.check(edited.value)
        if wrong is not None and bound.documents.check(document.value) is None:
            raise CannotSplice(f"the client would not load it: {wrong}", where=self._where(bound.path))
        if edited.data == data and image is not None:
            return None
        return FileChange(bound.path, image, FileImage(edited.data, 0o644 if image is None else image.mode))

    def _demand_loadable_text(self, path: str, image: FileImage | None, new: FileImage | None) -> None:
        declared = self._layout.text_of(path)
        if declared is None or new is None:
            return
        wrong = declared.check(new.content.decode())
        if wrong is not None and (image is None or declared.check(image.content.decode("utf-8", "replace")) is None):
            raise CannotSplice(f"the client would not load it: {wrong}", where=self._where(path))

    def _demand_loaded(self, after: State) -> None:
        """Files that a client loads by itself are listeners as long as they are there, and no longer."""
        for event, scripts in self._loaded_events().items():
            names = names_below(after.part("files"), scripts.folder, scripts.endings)
            chain = after.part("listeners").get(event, ())
            if {link.id for link in chain} != names:
                raise CannotSplice(
                    f"the listeners of {event!r} are files that the client loads by itself: add or remove the file",
                    where=self._where(""),
                )

    def _homes(self, before: State, after: State) -> dict[str, BoundDocument | str | None]:
        """Which file each thing that differs is in: its document, the prompt's name, or None for a plain file."""
        homes: dict[str, BoundDocument | str | None] = {}
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

    def _home(
        self, surface: str, path: Sequence[str], states: tuple[State, State]
    ) -> tuple[str, BoundDocument | str | None] | None:
        layout = self._layout
        if surface == "files":
            place = "/".join(path)
            if layout.file_home(place) is None:
                raise CannotSplice("no client of this directory would use a file there", where=self._where(place))
            return place, None
        key = path[0]
        if surface == "listeners" and key in self._loaded_events():
            return None
        bound = layout.with_room_for(surface, key)
        if bound is not None:
            return bound.path, bound
        home = layout.prompt_path(key) if surface == "prompts" else None
        if home is None and surface == "prompts" and any(self._brought_in(key, state) for state in states):
            home = key
        if home is None:
            kinds = ", ".join(member.client.name for member in self.members)
            raise CannotSplice(f"{surface}[{key!r}] has no place in the files of {kinds}", where=self._where(""))
        return home, key

    def _brought_in(self, path: str, state: State) -> bool:
        """Whether something in a state brings a file in."""
        values = (
            (one.documents, one.joined(self._contents(state, one), {})) for one in self._layout.documents.values()
        )
        texts = {key: thaw(text) for key, text in state.part("prompts").items()}
        return brings_in(self._layout, texts, values, path)

    def _left_alone(self, name: str, state: State) -> bool:
        """Whether a file that was only brought in stays where it is, because a state no longer has it."""
        return name not in state.part("prompts") and not self._brought_in(name, state)

    def _loaded_events(self) -> dict[str, Scripts]:
        """Events whose listeners are files, and where these lie."""
        return {
            prefix(member.prefix) + scripts.event: scripts
            for member in self.members
            for scripts in member.client.scripts
            if scripts.event
        }

    def _contents(self, state: State, bound: BoundDocument) -> Contents:
        """What the surfaces have of one document."""
        found = Contents()
        for surface in SURFACES_OF_DOCUMENTS:
            if not bound.stores(surface):
                continue
            into: dict[str, Any] = getattr(found, surface)
            for key, content in state.part(surface).items():
                if key.startswith(bound.prefix(surface)) and self._layout.owner(surface, key) is bound:
                    into[key] = self._groups(content) if surface == "listeners" else thaw(content)
        return found

    def _groups(self, chain: Any) -> list[Any]:
        groups = []
        for link in chain:
            if link.record["handler"] != link.id:
                raise CannotSplice(
                    f"the hook {link.id!r} has a handler of its own, which the client's file cannot say; "
                    "what a hook does is said in its options",
                    where=self._where(""),
                )
            groups.append(thaw(link.record["options"]))
        return groups

    def touched(self, before: State, after: State) -> tuple[str, ...]:
        """The files in which two states differ."""
        return tuple(self._homes(before, after))

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Whether a file with this image would say what the state says."""
        if not isinstance(image, FileImage | None):
            return False
        bound = self._layout.documents.get(path)
        try:
            if bound is not None:
                return self._document_means(bound, image, state)
            name = self._layout.prompts.get(path) or self._prompt_at(path, state)
            if name is not None:
                text = state.part("prompts").get(name, ABSENT)
                if text is ABSENT:
                    return image is None or (self._layout.place_of(name) is None and self._left_alone(name, state))
                return image is not None and bool(thaw(text).encode() == image.content)
        except (InputError, CannotSplice):
            return False
        leaf = tree.get(state.part("files"), tuple(path.split("/")))
        if isinstance(leaf, File):
            return image is not None and image.content == leaf.content and image.mode == leaf.mode
        return image is None

    def _prompt_at(self, path: str, state: State) -> str | None:
        return next((key for key in state.part("prompts") if (self._layout.prompt_path(key) or key) == path), None)

    def _document_means(self, bound: BoundDocument, image: FileImage | None, state: State) -> bool:
        rules = bound.documents.rules
        value = {} if image is None else bound.documents.open(image.content, self._where(bound.path)).value
        wanted = bound.joined(self._contents(state, bound), value if isinstance(value, dict) else {})
        return alike(normal(value, rules), normal(wanted, rules))

    def remembered(self) -> Iterable[tuple[str, FileImage]]:
        """Every file as last read."""
        return tuple(self._images.items())

    def formatted(self) -> Iterable[tuple[str, FileImage]]:
        """Every file: a comment in one is a change too."""
        return self.remembered()

    def owns(self, path: str) -> bool:
        """Whether a path is, or could be, one of the clients' files."""
        return self._layout.owns(path)

    def effect(self, slot: Slot) -> str:
        """When the client notices a change of a slot."""
        surface, path = slot[0], [step for step in slot[1:] if not is_part(step)]
        if surface == "files":
            return str(self._layout.file_home("/".join(path)) or Effect.NEXT_SESSION)
        bound = self._layout.owner(surface, path[0])
        if bound is None:
            return str(self._layout.prompt_effect(path[0]))
        return str(bound.effect(surface, path))

    def understood(self, surface: str, key: str, value: Any, state: State) -> Any:
        """A hook group as the client writes it is a listener, called by its matcher."""
        if surface != "listeners":
            return value
        return as_listener(value, (link.id for link in state.part(surface).get(key, ())))

    def writer(self, slot: Slot, before: Any, after: Any) -> str | None:
        """The client that makes such a change of a slot itself, if one does."""
        surface, path = slot[0], tuple(step for step in slot[1:] if not is_part(step))
        bound = self._layout.owner(surface, path[0]) if surface in SURFACES_OF_DOCUMENTS else None
        if bound is None or surface != "config":
            return None
        steps = (path[0].removeprefix(bound.prefix("config")), *path[1:])
        changed = [
            place for value in (before, after) if value is not ABSENT for place, _ in tree.leaves(value, steps)
        ]
        if not all(any(place[: len(own)] == own for own in bound.documents.own) for place in changed):
            return None
        return next(member.client.name for member in self.members if bound.documents in member.client.documents)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(where, found=value, expected="settings: a mapping")
    return value
