"""Real clients' files as a harness: documents, prompts and plain files of one directory, of one or several clients.

Reading splits documents into what each surface has of them; rendering joins that again and splices only what
differs. A result that the client would not load is refused before it is written.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from takeback.adapters.clients import file_facts
from takeback.adapters.clients.client import Effect
from takeback.adapters.clients.contents import BoundDocument, find_ordered_mappings, normalize_value, require_mapping
from takeback.adapters.clients.file_facts import (
    FreshReading,
    find_behind,
    find_links,
    find_writer,
    has_nothing_at,
    is_nothing_read,
    is_read_through,
    why_not_written,
)
from takeback.adapters.clients.hooks import find_moved_hooks, make_listener, rekey_trust, require_kept_off
from takeback.adapters.clients.layout import (
    STORED,
    SURFACES_OF_DOCUMENTS,
    ClientLayout,
    Homes,
    Member,
    StoredIn,
    find_layout,
    include_instructions,
    keep_included_files,
)
from takeback.adapters.clients.ownership import can_read, list_readers
from takeback.adapters.clients.validators import describe_complaints, list_complaints
from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.formats.document import (
    Document,
    decode_text,
    is_alike,
    look_up,
    patch_document,
    transform_in_order,
)
from takeback.adapters.harness_places import why_no_place
from takeback.adapters.last_look import LARGEST_EDIT, OTHER, PLAIN, TEXT, is_bare_text, read_settled_files
from takeback.adapters.manifest import PRIVATE
from takeback.adapters.workspace.storage import list_missing_directories
from takeback.errors import CannotSplice, HarnessError, InputError, UnsafePathError
from takeback.harness.adapter import Broken, NotExpressible, Reading
from takeback.harness.images import FileChange, FileImage, Image, LinkImage
from takeback.state import ABSENT, SURFACES, State, tree
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.slots import Slot
from takeback.state.values import thaw


class ClientAdapter(FilesAdapter):
    """The files of one directory that some clients load."""

    name = "clients"
    surfaces = STORED

    def __init__(self, directory: Directory, members: Sequence[Member], *, ask: str = "") -> None:
        super().__init__(directory)
        self.members = tuple(members)
        self._ask = ask
        self._images: dict[str, FileImage] = {}
        self._as_known: set[str] = set()
        """Plain files that are, to the last byte and bit, what the state says: nothing is left for a layout."""
        self._links: dict[str, LinkImage] = {}
        self._found: Homes | None = None
        self._documents: dict[str, tuple[bytes, Document]] = {}
        self._unloaded: dict[str, str] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The names of the clients."""
        return tuple(member.client.name for member in self.members)

    @property
    def _homes(self) -> Homes:
        """Where everything is, by the last reading; the first to ask before there was one has the files read."""
        if self._found is None:
            self.read(State())
        return self._found or Homes(ClientLayout(self.members), self._directory.root)

    @property
    def _layout(self) -> ClientLayout:
        return self._homes.layout

    def read(self, known: State) -> Reading:
        """Return the state that the files hold; `known` itself if it is the same."""
        self._images, self._as_known = {}, set()
        broken: list[Broken] = []
        self._directory.begin_reading()
        trail = self._directory.trail
        layout = find_layout(self._directory.root, self.members, self._peek, trail.listed)
        self._found = Homes(layout, self._directory.root)
        file_facts.bind_inner_documents(layout, known)
        values = self._values(known, broken)
        self._include(values)
        self._unloaded = dict(file_facts.list_unloaded(layout, values))
        keep_included_files(layout, self._directory.root, known.part("prompts"), trail.listed)
        fresh = FreshReading()
        settings = thaw(known.part("config"))
        for path, value in values.items():
            bound = layout.documents[path]
            try:
                fresh.take(bound.divide_value(value, self._where(path), settings), known)
            except InputError as fault:
                broken.append(Broken(path, fault.where, fault.message))
                fresh.take(self._homes.contents(known, bound), known)
        self._take_settled_files(fresh)
        self._directory.recall_all((*layout.prompts, *layout.files))
        for path, name in layout.prompts.items():
            self._read_prompt(path, name, known, fresh, broken)
        known_files = fresh.list_known_files(known)
        for path in layout.files:
            self._read_file(path, known_files, fresh, broken)
        file_facts.keep_inner_files(self._homes, known, fresh)
        self._links = dict(find_links(self._directory, layout))
        self._look_for_leftovers()
        state = fresh.state(known)
        unknown = file_facts.list_unknown_events(self.members, state.part("listeners"))
        faults = [reason for path, reason in self._unloaded.items() if path not in {fault.path for fault in broken}]
        return Reading(state, tuple(broken), (*layout.strange, *faults, *unknown), tuple(layout.notes))

    def _take_settled_files(self, fresh: FreshReading) -> None:
        """Take plain files that are as a look noted them for what the journal says: they are not read."""
        if self._opened_at is None:
            return
        (end, state), self._opened_at = self._opened_at, None
        signs = read_settled_files(str(self._directory.root), end)
        self._is_settled = bool(signs)
        if not signs:
            return
        settled = {}
        for steps, leaf in fresh.list_known_files(state).items():
            path = "/".join(steps)
            sign = signs.get(path) if type(leaf) is File else None
            if sign is not None and leaf.at is None and leaf.mode == stat.S_IMODE(sign[-1]):
                source = leaf.source
                if not isinstance(source, bytes) or len(source) == sign[0]:
                    settled[path] = (sign, FileImage(source, leaf.mode))
        self._directory.take_settled(settled)

    def behind(self, path: str, image: LinkImage) -> str | None:
        """Return the file inside the directory that a link leads to; None if it leads elsewhere or nowhere."""
        return find_behind(self._directory.root, path, image)

    def _values(self, known: State, broken: list[Broken]) -> dict[str, dict[str, Any]]:
        """Return the value of every document; for one that cannot be read, the last known value."""
        values: dict[str, dict[str, Any]] = {}
        for path, bound in self._layout.documents.items():
            try:
                if self._layout.inner.find_above(path) is not None:
                    values[path] = bound.join_document(self._homes.contents(known, bound), {})
                    continue
                unread = is_nothing_read(self._directory, self._homes, bound, known)
                image = None if unread else self._look(path)
                value = {} if image is None else self._document(bound, image.content).value
                values[path] = require_mapping(value, self._where(path))
            except InputError as fault:
                broken.append(Broken(path, fault.where, fault.message))
                values[path] = bound.join_document(self._homes.contents(known, bound), {})
            except (HarnessError, UnsafePathError) as fault:
                broken.append(Broken(path, self._where(path), fault.message))
                values[path] = bound.join_document(self._homes.contents(known, bound), {})
        return values

    def _include(self, values: dict[str, dict[str, Any]]) -> None:
        named = dict.fromkeys(
            pattern
            for path, value in values.items()
            for member in self.members
            if self._layout.documents[path].documents in member.client.documents
            for pattern in member.client.includes(value)
        )
        if named:
            include_instructions(
                self._layout, self._directory.root, tuple(named), self._peek, self._directory.trail.listed
            )

    def _read_prompt(self, path: str, name: str, known: State, fresh: FreshReading, broken: list[Broken]) -> None:
        try:
            image = self._look(path)
            if image is not None:
                text = decode_text(image.content, self._where(path))
                SURFACES["prompts"].read({name: text}, self._where(path))
                fresh.prompts[name] = text
        except (HarnessError, InputError, UnsafePathError) as fault:
            where = fault.where if isinstance(fault, InputError) else self._where(path)
            broken.append(Broken(path, where, fault.message))
            if name in known.part("prompts"):
                fresh.prompts[name] = thaw(known.part("prompts")[name])

    def _read_file(
        self, path: str, known: Mapping[tuple[str, ...], Any], fresh: FreshReading, broken: list[Broken]
    ) -> None:
        steps = tuple(path.split("/"))
        try:
            image = self._look(path)
            if image is None:
                return
            leaf = known.get(steps)
            if isinstance(leaf, File) and leaf.is_of(image.source, image.mode):
                self._as_known.add(path)
                fresh.files.append((steps, leaf))
            else:
                fresh.files.append((steps, File(image.content, image.mode)))
        except (HarnessError, UnsafePathError) as fault:
            broken.append(Broken(path, self._where(path), fault.message))
            content = known.get(steps)
            if not isinstance(content, File):
                return
            fresh.files.append((steps, content))
        if path in self._layout.loaded:
            event, name = self._layout.loaded[path]
            fresh.loaded.setdefault(event, []).append((name, {"file": path}))

    def _look(self, path: str) -> FileImage | None:
        image = self._directory.recall_file(path)
        if image is not None:
            self._images[path] = image
        return image

    def _peek(self, path: str) -> FileImage | None:
        try:
            return self._directory.recall_file(path)
        except (HarnessError, UnsafePathError):
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

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | NotExpressible:
        """Return the changes of the files that differ, edited in place."""
        path = ""
        changes: list[FileChange] = []
        try:
            self._homes.require_loaded(after)
            moved = find_moved_hooks(self._layout, self._directory.root, before, after)
            if moved and any(member.client.name == "codex" and not member.client.user for member in self.members):
                require_kept_off(moved)
            ledgers = {
                path: document for path, document in self._layout.documents.items() if moved and document.keeps_books
            }
            for path, home in {**self._homes.differing(before, after), **ledgers}.items():
                rendered = self._render_file(path, home, before, after)
                if rendered is not None and rendered.before is None:
                    changes += [
                        directory
                        for directory in list_missing_directories(self._directory, path)
                        if directory not in changes
                    ]
                changes += [] if rendered is None else [rendered]
            if self._ask == "always":
                self._require_accepted(changes)
        except CannotSplice as fault:
            return NotExpressible.from_fault(path, fault)
        return tuple(changes)

    def _require_accepted(self, changes: Sequence[FileChange]) -> None:
        """Ask each client whose documents change, where it is installed."""
        changed = {change.path: change.after for change in changes if change.path in self._layout.documents}
        for member in self.members if changed else ():
            said = self._ask_client(member, changed)
            if said:
                raise CannotSplice(f"the client would not load it: {said}", where=self._where(next(iter(changed))))

    def _ask_client(self, member: Member, changed: Mapping[str, Image | None]) -> str:
        """Return what a client reports about its changed documents and did not report about the present ones."""
        there: dict[str, Image | None] = {
            path: self._images.get(path)
            for path, bound in self._layout.documents.items()
            if bound.documents in member.client.documents
        }
        if there.keys().isdisjoint(changed):
            return ""
        documents, now = (
            {path: image.content for path, image in images.items() if isinstance(image, FileImage)}
            for images in (there | {path: changed[path] for path in there.keys() & changed.keys()}, there)
        )
        title, complaints = list_complaints(member.client.name, documents, user=member.client.user)
        known = list_complaints(member.client.name, now, user=member.client.user)[1] if complaints else ()
        return describe_complaints(title, tuple(complaint for complaint in complaints if complaint not in known))

    def _render_file(self, path: str, home: StoredIn, before: State, after: State) -> FileChange | None:
        image = self._images.get(path)
        why = why_no_place(path)
        if why is not None:
            raise CannotSplice(why, where=self._where(path))
        file_facts.require_not_inner(self._layout, str(self._directory.root), path, self._where(path))
        if path in self._links:
            raise CannotSplice(why_not_written(self._layout, path, self._links[path]), where=self._where(path))
        if isinstance(home, BoundDocument):
            return self._render_document(home, image, before, after)
        if home is not None and self._layout.place_of(home) is None:
            image = self._peek(path) if image is None else image
            if self._homes.is_left_alone(home, after):
                return None
        if home is None:
            leaf = tree.get(after.part("files"), tuple(path.split("/")))
            new = FileImage(leaf.content, leaf.mode) if isinstance(leaf, File) else None
        else:
            text = after.part("prompts").get(home, ABSENT)
            mode = 0o644 if image is None else image.mode
            new = None if text is ABSENT else FileImage(thaw(text).encode(), mode)
            self._require_loadable_text(path, image, new)
        return None if new == image else FileChange(path, image, new)

    def _render_document(
        self, bound: BoundDocument, image: FileImage | None, before: State, after: State
    ) -> FileChange | None:
        data = bound.documents.fresh if image is None else image.content
        document = self._document(bound, data)
        old = bound.join_document(self._homes.contents(before, bound), document.value)
        wanted_parts = self._homes.contents(after, bound)
        new = bound.join_document(wanted_parts, document.value)
        taken = bound.find_hidden_key(wanted_parts, new)
        if taken:
            raise CannotSplice(
                f"config[{taken!r}] is not config in this client's file",
                where=self._where(bound.path),
                hint=bound.suggest_surface(taken, new),
            )
        rules = bound.documents.rules
        edited = patch_document(document, old, new)
        for path in find_ordered_mappings(new, rules):
            edited = transform_in_order(edited, look_up(new, path), path)
        if bound.keeps_books:
            moved = find_moved_hooks(self._layout, self._directory.root, before, after)
            edited = rekey_trust(edited, moved, bound.documents.open)
        if not is_alike(normalize_value(edited.value, rules), normalize_value(new, rules)):
            raise CannotSplice("the edit would not say what it should", where=self._where(bound.path))
        wrong = bound.documents.check(edited.value)
        if wrong is not None and bound.documents.check(document.value) is None:
            raise self._refuse_unloadable(bound, wrong, edited.data)
        if edited.data == data:
            return None
        return FileChange(bound.path, image, FileImage(edited.data, 0o644 if image is None else image.mode))

    def _refuse_unloadable(self, bound: BoundDocument, wrong: str, data: bytes) -> CannotSplice:
        """Return the refusal, with the client's own message where the client is installed."""
        owner = next(member for member in self.members if bound.documents in member.client.documents)
        said = self._ask_client(owner, {bound.path: FileImage(data)}) if self._ask != "never" else ""
        words = f" ({said})" if said else ""
        return CannotSplice(f"the client would not load it: {wrong}{words}", where=self._where(bound.path))

    def _require_loadable_text(self, path: str, image: FileImage | None, new: FileImage | None) -> None:
        declared = self._layout.text_of(path)
        if declared is None or new is None:
            return
        wrong = declared.check(new.content.decode())
        if wrong is not None and (image is None or declared.check(image.content.decode("utf-8", "replace")) is None):
            raise CannotSplice(f"the client would not load it: {wrong}", where=self._where(path))

    def writes_aside(self, before: State, after: State) -> bool:
        """Whether a change makes entries of approved hooks move, or a client is asked about every change."""
        return self._ask == "always" or bool(find_moved_hooks(self._layout, self._directory.root, before, after))

    def find_edit_kind(self, path: str) -> str:
        """Return what a file is to a hook that notes edits: bytes, bare instructions, or something to understand."""
        image, layout = self._images.get(path), self._layout
        if image is None or len(image.content) > LARGEST_EDIT or path in layout.documents or path in layout.loaded:
            return OTHER
        if path in layout.files:
            return PLAIN
        own = layout.prompts.get(path) == path and path not in layout.texts and layout.is_instruction_file(path)
        return TEXT if own and is_bare_text(image.content) else OTHER

    def find_plain_slot(self, path: str, state: State) -> Slot | None:
        steps = tuple(path.split("/"))
        if path in self._layout.documents:
            return None
        if isinstance(tree.get(state.part("files"), steps), File):
            return ("files", *steps)
        return ("prompts", path) if path in state.part("prompts") else None

    def find_touched_files(self, before: State, after: State) -> tuple[str, ...]:
        """Return the files in which two states differ."""
        return tuple(self._homes.differing(before, after))

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Return whether a file with this image would mean what the state says."""
        if isinstance(image, LinkImage):
            return self._link_means(path, image, state)
        if not isinstance(image, FileImage | None):
            return False
        bound = self._layout.document_at(path)
        try:
            if bound is not None:
                return self._document_means(bound, image, state)
            name = self._homes.prompt_at(path, state)
            if name is not None:
                text = state.part("prompts").get(name, ABSENT)
                if text is ABSENT:
                    return image is None or (
                        self._layout.place_of(name) is None and self._homes.is_left_alone(name, state)
                    )
                return image is not None and bool(thaw(text).encode() == image.content)
        except (InputError, CannotSplice):
            return False
        leaf = tree.get(state.part("files"), tuple(path.split("/")))
        if isinstance(leaf, File):
            return image is not None and image.mode == leaf.mode and leaf.reads_as(image.content)
        return image is None

    def _link_means(self, path: str, image: LinkImage, state: State) -> bool:
        """Return whether a link at a path leaves everything as the state has it: its target, or nothing."""
        real = self.behind(path, image)
        if real is None or (self._layout.is_taken(real) and not is_read_through(self._layout, path, real)):
            return has_nothing_at(self._homes, path, state)
        there = self._peek(real)
        return there is not None and self.means(path, there, state)

    def _document_means(self, bound: BoundDocument, image: FileImage | None, state: State) -> bool:
        rules = bound.documents.rules
        value = {} if image is None else bound.documents.open(image.content, self._where(bound.path)).value
        wanted = bound.join_document(self._homes.contents(state, bound), value if isinstance(value, dict) else {})
        return is_alike(normalize_value(value, rules), normalize_value(wanted, rules))

    def list_remembered_files(self) -> Iterable[tuple[str, FileImage]]:
        """Return every file as last read."""
        return tuple(self._images.items())

    def list_formatted(self) -> Iterable[tuple[str, FileImage | LinkImage | None]]:
        """Return every file and link: comments count as changes, and so do empty documents that come or go."""
        documents = self._layout.documents
        named = (name for member in self.members for name in member.client.instructions)
        there = self._images.keys() | self._links.keys()
        missing = (path for path in dict.fromkeys((*documents, *named)) if path not in there)
        files = ((path, image) for path, image in self._images.items() if path not in self._as_known)
        return (*files, *self._links.items(), *file_facts.list_missing(self._layout, missing))

    def is_document(self, path: str) -> bool:
        """Return whether a client has a document at a path."""
        return self._layout.is_document(path)

    def is_bare(self, path: str, image: FileImage) -> bool:
        """Return whether a document is empty, without even a comment."""
        return self.is_document(path) and self._layout.documents[path].is_bare(image.content, self._where(path))

    def owns(self, path: str) -> bool:
        """Return whether a path is, or could be, one of the clients' files."""
        return self._layout.owns(path)

    def effect(self, slot: Slot) -> str:
        """Return when the client notices a change of a slot."""
        surface, path = slot[0], [step for step in slot[1:] if not is_part(step)]
        if surface == "files":
            return str(self._layout.file_home("/".join(path)) or Effect.NEXT_SESSION)
        bound = self._layout.owner(surface, path[0])
        if bound is None:
            return str(self._layout.prompt_effect(path[0]))
        return str(bound.effect(surface, path))

    def list_other_readers(self, path: str, surfaces: Collection[str]) -> tuple[str, ...]:
        """Return the clients that read a file too, besides the first of this directory that does."""
        if any(member.client.user for member in self.members):
            return ()
        owner = next((member.client.name for member in self.members if can_read(member.client, path)), "")
        return (
            tuple(name for name in list_readers(path, hooks="listeners" in surfaces) if name != owner)
            if owner
            else ()
        )

    def why_unheeded(self, slot: Slot) -> str:
        """Return why the client ignores the value of a slot, as the files are now; empty if it does not."""
        surface, path = slot[0], [step for step in slot[1:] if not is_part(step)]
        bound = self._layout.owner(surface, path[0]) if surface in SURFACES_OF_DOCUMENTS else None
        if bound is not None:
            return self._unloaded.get(bound.path, "")
        place = self._layout.prompt_path(path[0]) if surface == "prompts" else None
        return file_facts.why_text_unloaded(self._layout, place, self._images.get(place or ""))

    def why_unknown(self, slot: Slot) -> str:
        """Return why the client will never use the value of a slot, whatever it is; empty if it may."""
        return file_facts.why_event_unknown(self.members, slot[1]) if slot[0] == "listeners" and len(slot) > 1 else ""

    def from_client_value(self, surface: str, key: str, value: Any, state: State) -> Any:
        """Return a hook group, as the client writes it, as a listener with an id from its matcher."""
        if surface != "listeners":
            return value
        return make_listener(value, (link.id for link in state.part(surface).get(key, ())))

    def writer(self, slot: Slot, before: Any, after: Any) -> str | None:
        """Return the client that makes such a change of a slot itself; None if no client does."""
        return find_writer(self.members, self._layout, slot, before, after)
