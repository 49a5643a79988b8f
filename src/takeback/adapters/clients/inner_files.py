"""What a client's harness knows of files that belong to a harness inside it by now: it stays as it is known."""

from __future__ import annotations

from collections.abc import Iterator

from takeback.adapters.clients.client import ANY
from takeback.adapters.clients.fresh import FreshReading
from takeback.adapters.clients.homes import Homes
from takeback.adapters.clients.layout import SURFACES_OF_DOCUMENTS, ClientLayout
from takeback.adapters.inner_harness import WAY_OUT, tell_left_alone, tell_owner
from takeback.errors import CannotSplice
from takeback.state import State, tree
from takeback.state.file import File
from takeback.state.values import thaw


def bind_inner_documents(layout: ClientLayout, known: State) -> None:
    """Bind the documents of a folder that a state knows, where they belong to a harness inside this one."""
    folders = (one.path.partition(ANY)[0] for member in layout.members for one in member.client.documents)
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
    """Take prompts and files that belong to a harness inside this one as they are known, and tell of it once."""
    layout = homes.layout
    found: set[str] = {inner for path in layout.documents if (inner := layout.inner.find_above(path))}
    for name, text in known.part("prompts").items():
        if name not in fresh.prompts and name not in fresh.contents.prompts:
            inner = layout.inner.find_above(layout.place_of(name) or name)
            if inner is not None:
                found.add(inner)
                fresh.prompts[name] = thaw(text)
    there = {path for path, _ in fresh.files}
    kept: list[str] = []
    for path, leaf in tree.leaves(known.part("files")):
        inner = None if path in there or not isinstance(leaf, File) else layout.inner.find_above("/".join(path))
        if inner is not None and isinstance(leaf, File):
            found.add(inner)
            fresh.files.append((path, leaf))
            kept.append("/".join(path))
    _keep_listeners(homes, known, fresh, kept)
    layout.notes += [tell_left_alone(folder) for folder in sorted(found)]


def _keep_listeners(homes: Homes, known: State, fresh: FreshReading, kept: list[str]) -> None:
    """Keep the listeners that are files which a client loads by itself, in the order that is known."""
    for event, scripts in homes.loaded_events().items() if kept else ():
        own = [path for path in kept if path.startswith(f"{scripts.folder}/")]
        names = [path[len(scripts.folder) + 1 :] for path in own if path.endswith(scripts.endings or "")]
        if names:
            order = {link.id: at for at, link in enumerate(known.part("listeners").get(event, ()))}
            whole = [*fresh.loaded.get(event, ()), *((name, {"file": f"{scripts.folder}/{name}"}) for name in names)]
            fresh.loaded[event] = sorted(whole, key=lambda one: order.get(one[0], len(order)))


def demand_not_inner(layout: ClientLayout, root: str, path: str, where: str) -> None:
    """Refuse to write a file that belongs to a harness inside this one."""
    inner = layout.inner.find_above(path)
    if inner is not None:
        raise CannotSplice(f"{tell_owner(root, inner)}: {WAY_OUT}", where=where)


def list_missing(layout: ClientLayout, paths: Iterator[str]) -> Iterator[tuple[str, None]]:
    """Yield the paths at which nothing is, without those that belong to a harness inside this one."""
    return ((path, None) for path in paths if layout.inner.find_above(path) is None)
