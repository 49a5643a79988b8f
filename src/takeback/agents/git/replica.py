"""A copy of a harness's files as some commit has them, brought from one tree to the next.

Git writes the files, so that line endings and links are as it would check them out. Permission bits that git does not
know are those of the working tree; files that no commit has are copied from there, and stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.roots import PRIVATE
from takeback.agents.git.running import Git

EMPTY: Final = "hash-object", "-t", "tree", "--stdin"
SUBMODULE: Final = "160000"
EXECUTABLE: Final = "100755"
ANY_EXECUTE: Final = 0o111


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """A path in which two trees differ; `mode` is git's, empty where the later one has nothing there."""

    path: str
    mode: str


@contextmanager
def scratch_git(git: Git) -> Iterator[tuple[Git, Path]]:
    """Git that writes objects and an index apart from the repository, from its top; and the folder they are in."""
    with TemporaryDirectory(prefix="takeback-git-") as made:
        place = Path(made).resolve()
        (place / "objects").mkdir()
        top = Path(git.line("rev-parse", "--show-toplevel"))
        objects = (git.place / git.line("rev-parse", "--git-path", "objects")).resolve()
        yield (
            git.without_programs().at(
                top,
                GIT_OBJECT_DIRECTORY=str(place / "objects"),
                GIT_ALTERNATE_OBJECT_DIRECTORIES=str(objects),
                GIT_INDEX_FILE=str(place / "index"),
            ),
            place,
        )


class Replica:
    """The copy. `prefix` is where the harness is in the repository, empty or ending in a slash."""

    def __init__(self, git: Git, place: Path, prefix: str) -> None:
        self._git = git
        self._top = place / "files"
        self._prefix = prefix
        self._tree = git.line(*EMPTY)
        self.root = self._top / prefix
        (self.root / PRIVATE).mkdir(parents=True)
        self._modes: dict[str, int] = {}

    def keep(self, working: Path, loose: Iterable[str], tracked: Mapping[str, int]) -> None:
        """Copy files that no commit has, and take over permission bits of those that commits have."""
        for path in loose:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(working / path, self.root / path, follow_symlinks=False)
        self._modes = {self._prefix + path: mode for path, mode in tracked.items()}

    def go(self, tree: str) -> None:
        """Bring the files to another tree."""
        found = differences(self._git, self._tree, tree, self._prefix)
        for one in found:
            if not one.mode:
                self._remove(self._top / one.path)
        wanted = [one for one in found if one.mode and one.mode != SUBMODULE]
        if wanted:
            self._git.run("read-tree", tree)
            listed = b"".join(os.fsencode(one.path) + b"\0" for one in wanted)
            self._git.run("checkout-index", "-f", "-z", "--stdin", f"--prefix={self._top}/", given=listed)
        for one in wanted:
            if one.path in self._modes:
                self._set_mode(self._top / one.path, self._modes[one.path], executable=one.mode == EXECUTABLE)
        self._tree = tree

    def _remove(self, place: Path) -> None:
        with suppress(FileNotFoundError, IsADirectoryError):
            place.unlink()
        for above in place.parents:
            if above == self.root or not above.is_relative_to(self._top):
                return
            try:
                above.rmdir()
            except OSError:
                return

    @staticmethod
    def _set_mode(place: Path, known: int, *, executable: bool) -> None:
        if place.is_symlink() or not place.is_file():
            return
        readers = (known & 0o444) >> 2
        place.chmod(known & ~ANY_EXECUTE | readers if executable else known & ~ANY_EXECUTE)


def differences(git: Git, one: str, two: str, prefix: str = "") -> list[TreeDifference]:
    """The paths in which two trees differ."""
    only = ("--", prefix) if prefix else ()
    printed = git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", one, two, *only)
    words = [os.fsdecode(word) for word in printed.split(b"\0")]
    found = []
    for about, path in zip(words[0::2], words[1::2], strict=False):
        _, mode, *_, status = about.removeprefix(":").split(" ")
        found.append(TreeDifference(path, "" if status == "D" else mode))
    return found
