"""Plain files in the tree of the `files` surface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from takeback.state import PMap, tree
from takeback.state.file import File


def files_below(path: Sequence[str], one: PMap, two: PMap) -> Iterable[tuple[str, ...]]:
    """The files at or below a place at which two trees differ."""
    found: dict[tuple[str, ...], None] = {}
    for root in (one, two):
        node = tree.get(root, tuple(path))
        below = tree.leaves(node, tuple(path)) if type(node) is PMap else ((tuple(path), node),)
        found |= {place: None for place, leaf in below if isinstance(leaf, File)}
    return found


def names_below(files: PMap, folder: str, endings: tuple[str, ...]) -> set[str]:
    """The names of the files below a folder, from there on."""
    top = tree.get(files, tuple(folder.split("/")))
    found: set[str] = set()
    waiting = [("", top)]
    while waiting:
        above, node = waiting.pop()
        if isinstance(node, File) and (not endings or above.endswith(endings)):
            found.add(above)
        elif type(node) is PMap:
            waiting += [(f"{above}/{name}" if above else name, below) for name, below in node.items()]
    return found
