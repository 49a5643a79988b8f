"""Links where files of clients could stand: which there are, where they lead, and why nothing is written there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from takeback.adapters.clients.contents import BoundDocument, is_hollow
from takeback.adapters.clients.finding import Finder
from takeback.adapters.clients.homes import Homes
from takeback.adapters.clients.layout import ClientLayout
from takeback.adapters.directory import Directory
from takeback.errors import HarnessError, UnsafePathError
from takeback.harness.images import LinkImage
from takeback.state import State

WAY_OUT = "put a file in its place and adopt that, or 'takeback discard' brings back the file that was there"


def find_links(directory: Directory, layout: ClientLayout) -> Iterator[tuple[str, LinkImage]]:
    """Yield links that stand where a file of a client could; a folder that is a link makes none of what is in it."""
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
    """Return why nothing is written where a link stands, and what to do instead."""
    real = layout.links.get(path, "")
    name = layout.prompts.get(real)
    if name is not None:
        return f"a link to {real} stands there, which is not replaced: change {name!r} itself, or {WAY_OUT}"
    return f"a link to {image.target} stands there, which is not followed: {WAY_OUT}"


def is_read_through(layout: ClientLayout, path: str, real: str) -> bool:
    """Tell whether a file is read under the name of the link that leads to it, and not under its own."""
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
    return is_hollow(bound.joined(homes.contents(state, bound), {}))
