"""Which file holds what: the files of a directory's clients, and where something new would go.

A `ClientLayout` is made anew at every reading. Documents are bound by their prefix; prompts and plain files by their
path. A file belongs to the first client that claims it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from takeback.adapters.clients.client import ANY, Client, Documents, Effect, Texts
from takeback.adapters.clients.contents import BoundDocument
from takeback.adapters.clients.finding import Finder, SeenFile
from takeback.adapters.clients.names import filled, longest, prefix
from takeback.adapters.inner_harness import InnerHarnesses
from takeback.harness.images import FileImage

SKILL = "SKILL.md"
SURFACES_OF_DOCUMENTS = ("config", "routing", "tools", "listeners", "prompts")
ReadImage = Callable[[str], FileImage | None]


@dataclass(frozen=True, slots=True)
class Member:
    """One client of a directory; `prefix` is what its names begin with."""

    client: Client
    prefix: str = ""


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
        """Tell of a file that is left alone; of one that belongs to a harness inside this one, that is told later."""
        if seen.inner:
            return
        self.outside.add(seen.path)
        self.links[seen.path] = ""
        told = f"{seen.path}: {seen.outside}; left alone"
        self.strange += [] if told in self.strange else [told]

    def taken(self, path: str) -> bool:
        """Whether a file is already one of ours."""
        return path in self.documents or path in self.prompts or path in self.files

    def owner(self, surface: str, key: str) -> BoundDocument | None:
        """The document that holds something, or would."""
        others = (prefix(member.prefix) for member in self.members if member.prefix)
        own = next((begin for begin in others if key.startswith(begin)), "")
        bound = [
            one for one in self.documents.values() if one.stores(surface) and one.prefix(surface).startswith(own)
        ]
        start = longest(key, (one.prefix(surface) for one in bound if one.holds(surface, key)))
        for one in bound:
            if one.prefix(surface) == start and one.holds(surface, key):
                return one
        return None

    def document_at(self, path: str) -> BoundDocument | None:
        """The document at a path, or behind a link there; one that would be if a file stood there."""
        found = self.documents.get(path) or self.documents.get(self.links.get(path, ""))
        if found is not None or self.taken(path):
            return found
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
        """The document that holds something; a new one of a folder where that is what its name says."""
        for member in self.members:
            for documents in member.client.documents:
                bound = _new_document(member, documents, surface, key)
                if bound is not None and bound.path not in self.documents:
                    self.documents[bound.path] = bound
        return self.owner(surface, key)

    def prompt_path(self, key: str) -> str | None:
        """The file of a prompt, or where a new one would go; None if nothing would read it there."""
        found = next((path for path, name in self.prompts.items() if name == key), None)
        return self.place_of(key) if found is None else found

    def place_of(self, key: str) -> str | None:
        """Where a prompt goes by its name; None for one that is read only where something brings it in."""
        for member in self.members:
            rest = key.removeprefix(prefix(member.prefix))
            if prefix(member.prefix) and rest == key:
                continue
            for texts in member.client.texts:
                name = _between(rest, texts.name)
                if name:
                    return f"{texts.folder}/{name}{texts.ending}"
            for skills in member.client.skills:
                name = _between(rest, skills.name)
                if name and "/" not in name:
                    return f"{skills.folder}/{name}/{SKILL}"
        return key if self._is_instruction(key) else None

    def _is_instruction(self, path: str) -> bool:
        above, _, name = path.rpartition("/")
        return any(
            name in member.client.instructions and (member.client.nested or not above) for member in self.members
        )

    def file_home(self, path: str) -> Effect | None:
        """When a change of a plain file is noticed; None if nothing would use it there."""
        if path in self.files:
            return self.files[path]
        for member in self.members:
            folders = [(one.folder, one.effect) for one in member.client.scripts]
            folders += [(one.folder, one.effect) for one in member.client.skills]
            for folder, effect in folders:
                if path.startswith(f"{folder}/"):
                    return effect
        return None

    def prompt_effect(self, key: str) -> Effect:
        """When a change of a prompt in a file of its own is noticed."""
        path = self.prompt_path(key)
        declared = None if path is None else self.text_of(path)
        if declared is not None:
            return declared.effect
        return (None if path is None else self.file_home(path)) or Effect.NEXT_SESSION

    def text_of(self, path: str) -> Texts | None:
        """How a prompt's file is declared, also one that is not there yet."""
        for member in self.members:
            for texts in member.client.texts:
                if path.startswith(f"{texts.folder}/") and path.endswith(texts.ending):
                    return texts
        return None

    def owns(self, path: str) -> bool:
        """Whether a path is, or could be, one of the clients' files."""
        if self.taken(path) or self.text_of(path) is not None or self.file_home(path) is not None:
            return True
        return self._is_instruction(path)


def find_layout(
    root: Path, members: Sequence[Member], read: ReadImage, listed: set[str] | None = None
) -> ClientLayout:
    """Look for every file of some clients; the folders that were looked into are added to `listed`."""
    finder = Finder(root, listed)
    layout = ClientLayout(members, inner=finder.inner)
    for member in members:
        for path, bound in _documents(finder, member, layout):
            layout.documents.setdefault(path, bound)
        _find_texts(finder, member, layout)
        _find_files(finder, member, layout)
    for seen in sorted(_instructions(finder, members), key=lambda seen: (seen.path != seen.real, seen.path)):
        _claim_prompt(layout, seen, seen.path)
    _find_imports(finder, layout, read, [one for one in layout.prompts.items() if one[0] not in layout.texts])
    layout.strange += finder.limits
    return layout


def _instructions(finder: Finder, members: Sequence[Member]) -> Iterator[SeenFile]:
    nested = frozenset(name for member in members if member.client.nested for name in member.client.instructions)
    if nested:
        yield from finder.named(nested)
    for name in dict.fromkeys(name for member in members for name in member.client.instructions):
        seen = finder.one(name)
        if name not in nested and seen is not None:
            yield seen


def keep(layout: ClientLayout, root: Path, names: Iterable[str], listed: set[str] | None = None) -> None:
    """Take in files that something brought in earlier, as long as they are there."""
    there = set(layout.prompts.values())
    finder = Finder(root, listed)
    for name in names:
        if name not in there and layout.place_of(name) is None:
            for seen in finder.matching(name):
                _claim_prompt(layout, seen, seen.path)


def include(
    layout: ClientLayout, root: Path, patterns: Sequence[str], read: ReadImage, listed: set[str] | None = None
) -> None:
    """Take in the instruction files that documents name, and what those bring in."""
    finder = Finder(root, listed)
    found = [seen for pattern in patterns for seen in finder.matching(pattern)]
    new = [(seen.real, seen.path) for seen in found if _claim_prompt(layout, seen, seen.path)]
    _find_imports(finder, layout, read, new)


def _documents(finder: Finder, member: Member, layout: ClientLayout) -> Iterator[tuple[str, BoundDocument]]:
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
        for seen in finder.below(texts.folder):
            if seen.path.endswith(texts.ending):
                name = seen.path[len(texts.folder) + 1 : len(seen.path) - len(texts.ending)]
                if _claim_prompt(layout, seen, prefix(member.prefix) + filled(texts.name, name)):
                    layout.texts[seen.real] = texts


def _find_files(finder: Finder, member: Member, layout: ClientLayout) -> None:
    for skills in member.client.skills:
        for seen in finder.below(skills.folder):
            name, _, rest = seen.path[len(skills.folder) + 1 :].partition("/")
            if name.startswith("."):
                continue  # what the client brings along
            if rest == SKILL:
                _claim_prompt(layout, seen, prefix(member.prefix) + filled(skills.name, name))
            else:
                _claim_file(layout, seen, skills.effect)
    for scripts in member.client.scripts:
        for seen in finder.below(scripts.folder):
            if scripts.endings and not seen.path.endswith(scripts.endings):
                continue
            if _claim_file(layout, seen, scripts.effect) and scripts.event:
                event = prefix(member.prefix) + scripts.event
                layout.loaded[seen.real] = (event, seen.path[len(scripts.folder) + 1 :])


def _find_imports(finder: Finder, layout: ClientLayout, read: ReadImage, waiting: list[tuple[str, str]]) -> None:
    """Take in the files that some instruction files bring in, and those that these bring in."""
    while waiting:
        path, name = waiting.pop()
        image = read(path)
        if image is None:
            continue
        text = image.content.decode("utf-8", "replace")
        above = name.rpartition("/")[0]
        for member in layout.members:
            for brought in member.client.imports(text):
                there = beside(above, brought)
                for seen in finder.matching(there) if there else ():
                    waiting += [(seen.real, seen.path)] if _claim_prompt(layout, seen, seen.path) else []


def beside(above: str, path: str) -> str:
    """A path that is written relative to a folder, relative to the directory; empty if it leads out."""
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
    if not _usable(layout, seen):
        return False
    layout.prompts[seen.real] = name
    return True


def _claim_file(layout: ClientLayout, seen: SeenFile, effect: Effect) -> bool:
    if not _usable(layout, seen):
        return False
    layout.files[seen.real] = effect
    return True


def _usable(layout: ClientLayout, seen: SeenFile) -> bool:
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
    return not layout.taken(seen.real)


def name_in(pattern: str, path: str) -> str:
    """What a path has in the place of a pattern's name, the path itself if there is none; empty if it is none."""
    above, star, ending = pattern.partition(ANY)
    if not star:
        return path if path == pattern else ""
    name = path[len(above) : len(path) - len(ending)]
    fits = path.startswith(above) and path.endswith(ending) and len(path) > len(above) + len(ending)
    return name if fits and (above or "/" not in name) else ""


def _between(text: str, template: str) -> str:
    """What stands for {} in a template, if a text is of that form."""
    start, _, end = template.partition("{}")
    fits = text.startswith(start) and text.endswith(end) and len(text) > len(start) + len(end)
    return text[len(start) : len(text) - len(end)] if fits else ""


def _new_document(member: Member, documents: Documents, surface: str, key: str) -> BoundDocument | None:
    if ANY not in documents.path:
        return None
    own = prefix(member.prefix)
    if not key.startswith(own):
        return None
    rest = key[len(own) :]
    if surface == "prompts":
        templates = [rule.name for rule in documents.rules if rule.what == "text"]
        name = next((found for template in templates if (found := _between(rest, template))), "")
    else:
        name = _between(rest.partition(":")[0] if ":" in rest else "", documents.scope)
    if not name:
        return None
    return BoundDocument(documents, documents.path.replace(ANY, name), client=member.prefix, name=name)
