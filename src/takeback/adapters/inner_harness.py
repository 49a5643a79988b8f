"""Finds harnesses inside a harness: a folder that got one of its own, to which its files belong from then on.

The outer harness leaves these files alone: they are neither drift nor deleted, and nothing is written there. Only a
harness that this user made or trusted counts, here or where it was copied or moved from: a `.takeback` that came with
a clone or a pull takes no file out of anybody's care.
"""

from __future__ import annotations

import os
import shlex
from typing import Final

from takeback.adapters.harness_places import demand_harness_place
from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE, above
from takeback.adapters.trust_record import is_trusted, read_former_record
from takeback.errors import NoPlaceError

WAY_OUT: Final = (
    "its changes are taken back there, or takeback leave, run there, gives the files back to this harness"
)


class InnerHarnesses:
    """The harnesses below one directory, looked for once in each folder."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._known: dict[str, bool] = {}

    def is_one(self, folder: str) -> bool:
        """Tell whether a folder below the directory has a harness of its own."""
        if folder not in self._known:
            self._known[folder] = is_inner_harness(self._root, folder)
        return self._known[folder]

    def find_above(self, path: str) -> str | None:
        """Return the folder with a harness of its own that a path lies in, the outermost; None if there is none."""
        parts = path.split("/")[:-1]
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return next((folder for folder in folders if self.is_one(folder)), None)


def is_inner_harness(root: str, folder: str) -> bool:
    """Tell whether a folder below a directory has a harness of its own that this user made or trusted."""
    place = os.path.join(root, folder)
    if not os.path.isdir(os.path.join(place, PRIVATE)):
        return False
    there = any(os.path.isfile(os.path.join(place, name)) for name in (MANIFEST, HIDDEN))
    return there and read_former_record(place) is not None


def demand_own_place(root: str | os.PathLike[str], path: str) -> None:
    """Refuse a path at which nothing of a harness may be, or that belongs to a harness inside this one."""
    demand_harness_place(path)
    folder = InnerHarnesses(root).find_above(path)
    if folder is not None:
        raise NoPlaceError(f"path {path!r} is refused: {tell_owner(root, folder)}", hint=WAY_OUT)


def tell_owner(root: str | os.PathLike[str], folder: str) -> str:
    """Return the words that say to which harness the files of a folder belong."""
    return f"it belongs to the harness in {shlex.quote(os.path.join(os.fspath(root), folder))}"


def tell_left_alone(folder: str) -> str:
    """Return the line that `status` has for a harness inside this one."""
    return f"{folder}: it has a harness of its own now, to which its files belong; left alone here ({WAY_OUT})"


def tell_outer(root: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the line about the harness around a new one, which covered its files until now; nothing without one."""
    place = os.path.realpath(root)
    outer = above(os.path.dirname(place))
    if outer is None or not is_trusted(outer):
        return ()
    told = f"the harness in {outer} covers these files already; from now on they belong to this one, and that one "
    return (f"{told}leaves them alone (if you do not want that, run: takeback leave -C {shlex.quote(place)})",)
