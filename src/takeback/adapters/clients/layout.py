"""Which file holds what: the files of a directory's clients, and where something new would go.

A `ClientLayout` is made anew at every reading. Documents are bound by their prefix; prompts and plain files
by their path. A file belongs to the first client that claims it. A file that is only imported (`@file`,
`{file:…}`, lists of instructions) is the project's: when nothing imports it any more, it is left in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from takeback.adapters.clients.client import ANY, Client, Documents, Effect, Scripts, Texts
from takeback.adapters.clients.contents import (
    BoundDocument,
    Contents,
    build_prefix,
    fill_template,
    find_longest_prefix,
)
from takeback.adapters.clients.discovery import Finder, SeenFile, matches_pattern
from takeback.adapters.clients.ownership import is_in_folder, is_instruction
from takeback.adapters.harness_places import InnerHarnesses
from takeback.errors import CannotSplice
from takeback.harness.images import FileImage
from takeback.state import SURFACES, PMap, State, tree
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.values import thaw

SKILL = "SKILL.md"
SURFACES_OF_DOCUMENTS = ("config", "routing", "tools", "listeners", "prompts")
ReadImage = Callable[[str], FileImage | None]


@dataclass(frozen=True, slots=True)
class Member:
    """One client of a directory; `prefix` is what its names begin with."""

    client: Client
    prefix: str = ""

    @property
    def start(self) -> str:
        """What its names begin with, the colon included."""
        return build_prefix(self.prefix)


@dataclass(slots=True)
class ClientLayout:
    """The files that were found, by the path of the file itself."""

    members: Sequence[Member]
    documents: dict[str, BoundDocument] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    """Prompts' names by path."""
    texts: dict[str, Texts] = field(default_factory=dict)
    """How the files of some prompts are declared."""
    files: dict[str, Effect] = field(default_factory=dict)
    loaded: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Event and id of plain files that a client loads by itself."""
    outside: set[str] = field(default_factory=set)
    """Links that lead out of the directory, or nowhere."""
    links: dict[str, str] = field(default_factory=dict)
    """Where links lead that stand where a file of ours could: the path inside the directory, or nothing."""
    strange: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    inner: InnerHarnesses = field(default_factory=lambda: InnerHarnesses(""))

    def leave(self, seen: SeenFile) -> None:
        """Report a file that is left alone; one of a harness inside this one is reported later."""
        if seen.inner:
            return
        self.outside.add(seen.path)
        self.links[seen.path] = ""
        reason = f"{seen.path}: {seen.outside}; left alone"
        self.strange += [] if reason in self.strange else [reason]

    def is_taken(self, path: str) -> bool:
        """Return whether a file already belongs to a client."""
        return path in self.documents or path in self.prompts or path in self.files

    def owner(self, surface: str, key: str) -> BoundDocument | None:
        """Return the document that holds a value, or would hold it."""
        own = next((member.start for member in self.members if member.prefix and key.startswith(member.start)), "")
        bound = [
            document
            for document in self.documents.values()
            if document.stores(surface) and document.prefix(surface).startswith(own)
        ]
        start = find_longest_prefix(
            key, (document.prefix(surface) for document in bound if document.holds(surface, key))
        )
        for document in bound:
            if document.prefix(surface) == start and document.holds(surface, key):
                return document
        return None

    def document_at(self, path: str) -> BoundDocument | None:
        """The document at a path, or behind a link there; one that would be if a file stood there."""
        document = self.documents.get(path) or self.documents.get(self.links.get(path, ""))
        if document is not None or self.is_taken(path):
            return document
        for member in self.members:
            for documents in member.client.documents:
                name = name_in(documents.path, path) if ANY in documents.path else ""
                if name:
                    self.documents[path] = BoundDocument(documents, path, client=member.prefix, name=name)
                    return self.documents[path]
        return None

    def is_document(self, path: str) -> bool:
        """Whether a document of a client stands at a path, and not only behind a link to it."""
        bound = self.documents.get(path)
        return bound is not None and bool(name_in(bound.documents.path, path))

    def with_room_for(self, surface: str, key: str) -> BoundDocument | None:
        """Return the document that holds a value; a new one in a folder if the name asks for it."""
        for member in self.members:
            for documents in member.client.documents:
                bound = _bind_new_document(member, documents, surface, key)
                if bound is not None and bound.path not in self.documents:
                    self.documents[bound.path] = bound
        return self.owner(surface, key)

    def suggest_name(self, surface: str, key: str) -> str:
        """Return how to name a thing that has no place under `key`."""
        things = "'takeback help things' shows how to name a thing"
        if surface == "tools" and self.with_room_for(surface, f"mcp:{key}") is not None:
            return f"a server is named mcp:{key}; {things}"
        if surface == "routing":
            names = dict.fromkeys(name for bound in self.documents.values() for name in bound.list_routing_names())
            return f"the routes here are {', '.join(names)}; {things}" if names else things
        if surface == "prompts":
            members = [(member.start, member.client) for member in self.members]
            names = dict.fromkeys(start + name for start, client in members for name in client.list_prompt_names())
            return f"the prompts here are {', '.join(names)}; {things}" if names else things
        return things

    def prompt_path(self, key: str) -> str | None:
        """Return the file of a prompt, or the path for a new one; None if no client would read it there."""
        prompt_path = next((path for path, name in self.prompts.items() if name == key), None)
        return self.place_of(key) if prompt_path is None else prompt_path

    def place_of(self, key: str) -> str | None:
        """Return the path of a prompt by its name; None if it is read only where something imports it."""
        for member in self.members:
            if not key.startswith(member.start):
                continue
            rest = key.removeprefix(member.start)
            for texts in member.client.texts:
                name = _match_template(rest, texts.name)
                if name:
                    return f"{texts.start}{name}{texts.ending}"
            for skills in member.client.skills:
                name = _match_template(rest, skills.name)
                if name and "/" not in name:
                    return f"{skills.folder}/{name}/{SKILL}"
        return key if self.is_instruction_file(key) else None

    def is_instruction_file(self, path: str) -> bool:
        """Return whether a client reads a path as its instructions."""
        return any(is_instruction(member.client, path) for member in self.members)

    def file_home(self, path: str) -> Effect | None:
        """Return when a change of a plain file is noticed; None if no client would use it there."""
        if path in self.files:
            return self.files[path]
        for member in self.members:
            folders = [(script.folder, script.endings, script.effect) for script in member.client.scripts]
            folders += [(skill.folder, (), skill.effect) for skill in member.client.skills]
            for folder, endings, effect in folders:
                if is_in_folder(path, folder, endings):
                    return effect
        return None

    def prompt_effect(self, key: str) -> Effect:
        """Return when a change of a prompt in a file of its own is noticed."""
        path = self.prompt_path(key)
        declared = None if path is None else self.text_of(path)
        if declared is not None:
            return declared.effect
        return (None if path is None else self.file_home(path)) or Effect.NEXT_SESSION

    def text_of(self, path: str) -> Texts | None:
        """Return how a prompt's file is declared, also for a file that does not exist yet."""
        for member in self.members:
            for texts in member.client.texts:
                if path.startswith(texts.start) and path.endswith(texts.ending):
                    return texts
        return None

    def owns(self, path: str) -> bool:
        """Return whether a path is, or could be, one of the clients' files."""
        if self.is_taken(path) or self.text_of(path) is not None or self.file_home(path) is not None:
            return True
        return self.is_instruction_file(path)


def find_layout(
    root: Path, members: Sequence[Member], read: ReadImage, listed: set[str] | None = None
) -> ClientLayout:
    """Look for every file of some clients; the folders that were looked into are added to `listed`."""
    finder = Finder(root, listed)
    layout = ClientLayout(members, inner=finder.inner)
    for member in members:
        for path, bound in _find_documents(finder, member, layout):
            layout.documents.setdefault(path, bound)
        _find_files(finder, member, layout)
        _find_texts(finder, member, layout)
    for seen in sorted(_find_instructions(finder, members), key=lambda seen: (seen.path != seen.real, seen.path)):
        _claim_prompt(layout, seen, seen.path)
    _find_imports(finder, layout, read, [item for item in layout.prompts.items() if item[0] not in layout.texts])
    layout.strange += finder.limits
    return layout


def _find_instructions(finder: Finder, members: Sequence[Member]) -> Iterator[SeenFile]:
    named = [(name, member.client.nested) for member in members for name in member.client.instructions]
    nested = frozenset(name for name, anywhere in named if anywhere and "/" not in name)
    if nested:
        yield from finder.find_named_files(nested)
    for name in dict.fromkeys(name for name, _ in named if name not in nested):
        seen = finder.one(name)
        if seen is not None and not (finder.root / name).is_dir():
            yield seen


def keep_included_files(
    layout: ClientLayout, root: Path, names: Iterable[str], listed: set[str] | None = None
) -> None:
    """Take in files that something brought in earlier, as long as they are there."""
    there = set(layout.prompts.values())
    finder = Finder(root, listed)
    for name in names:
        if name not in there and layout.place_of(name) is None:
            for seen in finder.matching(name):
                _claim_prompt(layout, seen, seen.path)


def include_instructions(
    layout: ClientLayout, root: Path, patterns: Sequence[str], read: ReadImage, listed: set[str] | None = None
) -> None:
    """Take in the instruction files that documents name, and what those bring in."""
    finder = Finder(root, listed)
    files = [seen for pattern in patterns for seen in finder.matching(pattern)]
    new = [(seen.real, seen.path) for seen in files if _claim_prompt(layout, seen, seen.path)]
    _find_imports(finder, layout, read, new)


def _find_documents(finder: Finder, member: Member, layout: ClientLayout) -> Iterator[tuple[str, BoundDocument]]:
    for documents in member.client.documents:
        if ANY not in documents.path:
            seen = finder.one(documents.path)
            if seen is not None and seen.outside:
                layout.leave(seen)
            path = documents.path if seen is None or seen.outside else seen.real
            layout.links |= {documents.path: path} if path != documents.path else {}
            yield path, BoundDocument(documents, path, client=member.prefix)
            continue
        above, _, ending = documents.path.partition(ANY)
        folder = above.rstrip("/")
        for seen in finder.below(folder) if folder else finder.beside(ending):
            if seen.outside:
                layout.leave(seen)
            elif seen.path.endswith(ending):
                layout.links |= {seen.path: seen.real} if seen.real != seen.path else {}
                name = seen.path[len(above) : len(seen.path) - len(ending)]
                yield seen.real, BoundDocument(documents, seen.real, client=member.prefix, name=name)


def _find_texts(finder: Finder, member: Member, layout: ClientLayout) -> None:
    for texts in member.client.texts:
        for seen in finder.below_all(texts.folder):
            if seen.path.endswith(texts.ending):
                name = seen.path[len(texts.start) : len(seen.path) - len(texts.ending)]
                if _claim_prompt(layout, seen, member.start + fill_template(texts.name, name)):
                    layout.texts[seen.real] = texts


def _find_files(finder: Finder, member: Member, layout: ClientLayout) -> None:
    for skills in member.client.skills:
        for seen in finder.below(skills.folder):
            name, _, rest = seen.path[len(skills.folder) + 1 :].partition("/")
            if name.startswith("."):
                continue  # what the client brings along
            if rest == SKILL:
                _claim_prompt(layout, seen, member.start + fill_template(skills.name, name))
            else:
                _claim_file(layout, seen, skills.effect)
    for scripts in member.client.scripts:
        for seen in finder.below(scripts.folder):
            if scripts.endings and not seen.path.endswith(scripts.endings):
                continue
            if _claim_file(layout, seen, scripts.effect) and scripts.event:
                event = member.start + scripts.event
                layout.loaded[seen.real] = (event, seen.path[len(scripts.folder) + 1 :])


def _find_imports(finder: Finder, layout: ClientLayout, read: ReadImage, waiting: list[tuple[str, str]]) -> None:
    """Find the files that instruction files import, directly or through other imports."""
    while waiting:
        path, name = waiting.pop()
        image = read(path)
        if image is None:
            continue
        text = image.content.decode("utf-8", "replace")
        above = name.rpartition("/")[0]
        for member in layout.members:
            for brought in member.client.imports(text):
                there = resolve_beside(above, brought)
                for seen in finder.matching(there) if there else ():
                    waiting += [(seen.real, seen.path)] if _claim_prompt(layout, seen, seen.path) else []


def resolve_beside(above: str, path: str) -> str:
    """Return a path written relative to a folder, relative to the directory; empty if it leads out."""
    parts = [] if path.startswith("/") or not above else above.split("/")
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "" if path.startswith(("/", "~")) else "/".join(parts)


def _claim_prompt(layout: ClientLayout, seen: SeenFile, name: str) -> bool:
    if usable := _is_usable(layout, seen):
        layout.prompts[seen.real] = name
    return usable


def _claim_file(layout: ClientLayout, seen: SeenFile, effect: Effect) -> bool:
    if usable := _is_usable(layout, seen):
        layout.files[seen.real] = effect
    return usable


def _is_usable(layout: ClientLayout, seen: SeenFile) -> bool:
    if seen.real != seen.path:
        layout.links[seen.path] = seen.real
    if seen.outside:
        layout.leave(seen)
        return False
    try:
        seen.real.encode()
    except UnicodeEncodeError:
        shown = seen.real.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        layout.strange.append(f"{shown}: its name is not UTF-8; left alone")
        return False
    return not layout.is_taken(seen.real)


def name_in(pattern: str, path: str) -> str:
    """What a path has in the place of a pattern's name, the path itself if there is none; empty if it is none."""
    above, star, ending = pattern.partition(ANY)
    if not star:
        return path if path == pattern else ""
    name = path[len(above) : len(path) - len(ending)]
    fits = path.startswith(above) and path.endswith(ending) and len(path) > len(above) + len(ending)
    return name if fits and (above or "/" not in name) else ""


def _match_template(text: str, template: str) -> str:
    start, _, end = template.partition("{}")
    fits = text.startswith(start) and text.endswith(end) and len(text) > len(start) + len(end)
    return text[len(start) : len(text) - len(end)] if fits else ""


def _bind_new_document(member: Member, documents: Documents, surface: str, key: str) -> BoundDocument | None:
    if ANY not in documents.path:
        return None
    own = member.start
    if not key.startswith(own):
        return None
    rest = key[len(own) :]
    if surface == "prompts":
        templates = [rule.name for rule in documents.rules if rule.what == "text"]
        name = next((filled for template in templates if (filled := _match_template(rest, template))), "")
    else:
        name = _match_template(rest.partition(":")[0] if ":" in rest else "", documents.scope)
    if not name:
        return None
    return BoundDocument(documents, documents.path.replace(ANY, name), client=member.prefix, name=name)


def is_file_imported(
    layout: ClientLayout, prompts: Mapping[str, str], documents: Iterable[tuple[Documents, Any]], path: str
) -> bool:
    """Return whether prompts, or documents with these values, import the file at a path."""
    for key, text in prompts.items():
        place = layout.prompt_path(key) or key
        if key == path or layout.text_of(place) is not None:
            continue
        above = key.rpartition("/")[0]
        for member in layout.members:
            if any(
                matches_pattern(path, resolve_beside(above, imported)) for imported in member.client.imports(text)
            ):
                return True
    for declared, value in documents:
        for member in layout.members:
            if declared not in member.client.documents:
                continue
            if any(matches_pattern(path, include.removeprefix("./")) for include in member.client.includes(value)):
                return True
    return False


def list_files_below(path: Sequence[str], old: PMap, new: PMap) -> Iterable[tuple[str, ...]]:
    """Return the files at or below a path at which two trees differ."""
    places: dict[tuple[str, ...], None] = {}
    for root in (old, new):
        node = tree.get(root, tuple(path))
        below = tree.iter_leaves(node, tuple(path)) if type(node) is PMap else ((tuple(path), node),)
        places |= {place: None for place, leaf in below if isinstance(leaf, File)}
    return places


def list_names_below(files: PMap, folder: str, endings: tuple[str, ...]) -> set[str]:
    """Return the names of the files below a folder, relative to it."""
    top = tree.get(files, tuple(folder.split("/")))
    names: set[str] = set()
    waiting = [("", top)]
    while waiting:
        above, node = waiting.pop()
        if isinstance(node, File) and (not endings or above.endswith(endings)):
            names.add(above)
        elif type(node) is PMap:
            waiting += [(f"{above}/{name}" if above else name, below) for name, below in node.items()]
    return names


STORED = frozenset({"config", "routing", "tools", "listeners", "prompts", "files"})
StoredIn = BoundDocument | str | None
"""A document, the name of a prompt in a file of its own, or None for a plain file."""


class Homes:
    """Finds files for things, in one layout."""

    def __init__(self, layout: ClientLayout, root: Path) -> None:
        self.layout = layout
        self._root = root

    def where(self, path: str) -> str:
        """Return a path for messages."""
        return str(self._root / path)

    def differing(self, before: State, after: State) -> dict[str, StoredIn]:
        """Return the files that hold the values in which two states differ."""
        homes: dict[str, StoredIn] = {}
        for surface in sorted(STORED):
            old, new = before.part(surface), after.part(surface)
            if old is new:
                continue
            for path in SURFACES[surface].differing(old, new):
                steps = tuple(step for step in path if not is_part(step))
                for place in list_files_below(steps, old, new) if surface == "files" else (steps,):
                    home = self._home(surface, place, (before, after))
                    if home is not None:
                        homes[home[0]] = home[1]
        return homes

    def _home(self, surface: str, path: Sequence[str], states: tuple[State, State]) -> tuple[str, StoredIn] | None:
        layout = self.layout
        if surface == "files":
            place = "/".join(path)
            if layout.file_home(place) is None:
                raise CannotSplice(
                    "no client of this directory would use a file there",
                    where=self.where(place),
                    hint="write it with an editor; 'takeback init --track' records a project's own files too",
                )
            return place, None
        key = path[0]
        if surface == "listeners" and key in self.map_loaded_events():
            return None
        bound = layout.with_room_for(surface, key)
        if bound is not None:
            return bound.path, bound
        home = layout.prompt_path(key) if surface == "prompts" else None
        if home is None and surface == "prompts" and any(self._is_imported(key, state) for state in states):
            home = key
        if home is None:
            kinds = ", ".join(member.client.name for member in layout.members)
            message = f"{surface}[{key!r}] has no place in the files of {kinds}"
            raise CannotSplice(message, hint=layout.suggest_name(surface, key))
        return home, key

    def _is_imported(self, path: str, state: State) -> bool:
        values = (
            (document.documents, document.join_document(self.contents(state, document), {}))
            for document in self.layout.documents.values()
        )
        texts = {key: thaw(text) for key, text in state.part("prompts").items()}
        return is_file_imported(self.layout, texts, values, path)

    def is_left_alone(self, name: str, state: State) -> bool:
        """Return whether a file that was only imported stays in place because the state no longer has it."""
        return name not in state.part("prompts") and not self._is_imported(name, state)

    def prompt_at(self, path: str, state: State) -> str | None:
        """Return the prompt that is, or would be, in the file at a path."""
        prompt = self.layout.prompts.get(path)
        if prompt is not None:
            return prompt
        if path in self.layout.links and path in state.part("prompts"):
            return path
        return next((key for key in state.part("prompts") if (self.layout.prompt_path(key) or key) == path), None)

    def map_loaded_events(self) -> dict[str, Scripts]:
        """Return the events whose listeners are files, with the folders of these files."""
        return {
            member.start + scripts.event: scripts
            for member in self.layout.members
            for scripts in member.client.scripts
            if scripts.event
        }

    def require_loaded(self, after: State) -> None:
        """Refuse listeners that do not agree with the files that a client loads by itself."""
        for event, scripts in self.map_loaded_events().items():
            names = list_names_below(after.part("files"), scripts.folder, scripts.endings)
            chain = after.part("listeners").get(event, ())
            if {link.id for link in chain} != names:
                raise CannotSplice(
                    f"the listeners of {event!r} are files that the client loads by itself: add or remove the file",
                    where=self.where(""),
                )

    def contents(self, state: State, bound: BoundDocument) -> Contents:
        """Return what the surfaces have of one document."""
        contents = Contents()
        for surface in SURFACES_OF_DOCUMENTS:
            if not bound.stores(surface):
                continue
            into: dict[str, Any] = getattr(contents, surface)
            for key, content in state.part(surface).items():
                if key.startswith(bound.prefix(surface)) and self.layout.owner(surface, key) is bound:
                    into[key] = self._groups(content) if surface == "listeners" else thaw(content)
        return contents

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
