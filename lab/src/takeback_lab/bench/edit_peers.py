"""What others make of taking the third of six edits out: each sees the seven versions, as lines or items.

A peer answers with what is left, or with None where it reports a conflict or gives up. Peers are optional
(`pip install 'takeback[bench]'`, git from the system); one that is not there is said to be missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.util import find_spec
from itertools import pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from takeback.canonical import decode, write_pretty
from takeback_lab.bench.histories import TAKEN_OUT, joined

PeerParts = tuple[str, ...]
PeerVersions = tuple[PeerParts, ...]
PeerAnswer = PeerParts | None
_BEFORE, _AFTER = TAKEN_OUT - 1, TAKEN_OUT
_PERSON: Final = "bench <bench@localhost> 0 +0000"


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer's name, the module or program it needs, and how it answers for many histories."""

    name: str
    needs: str
    answers: Callable[[Sequence[PeerVersions]], list[PeerAnswer]]

    @property
    def there(self) -> bool:
        """Whether it is installed."""
        return shutil.which("git") is not None if self.needs == "git" else find_spec(self.needs) is not None


def _each(take_out: Callable[[PeerVersions], PeerAnswer]) -> Callable[[Sequence[PeerVersions]], list[PeerAnswer]]:
    return lambda histories: list(map(take_out, histories))


def _reverted(write: Callable[[PeerParts], str], read: Callable[[str], PeerParts]) -> Callable[..., list[PeerAnswer]]:
    """`git revert` of the third commit, with git itself, a file holding what `write` makes of each version."""

    def answers(histories: Sequence[PeerVersions]) -> list[PeerAnswer]:
        with TemporaryDirectory(prefix="takeback-bench-") as folder:
            git = _Git(Path(folder))
            git.run("init", "-q", ".")
            git.run("fast-import", "--quiet", given="".join(_stream(histories, write)))
            return [
                git.without(f"h{at}~{len(versions) - 1 - TAKEN_OUT}", f"h{at}", read)
                for at, versions in enumerate(histories)
            ]

    return answers


class _Git:
    """Git in a folder, with nobody's settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = shutil.which("git") or "git"
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(folder)}
        self.environment = {**settings, "PATH": str(Path(self.program).parent), "LC_ALL": "C"}

    def run(self, *words: str, given: str | None = None) -> bool:
        done = subprocess.run(  # noqa: S603 - the words are ours
            [self.program, *words],
            cwd=self.folder,
            env=self.environment,
            input=None if given is None else given.encode(),
            capture_output=True,
            check=False,
            timeout=120,
        )
        return done.returncode == 0

    def without(self, commit: str, onto: str, read: Callable[[str], PeerParts]) -> PeerAnswer:
        if not self.run("checkout", "-q", "-f", "--detach", onto):
            raise AssertionError(f"git did not check out {onto}")
        if not self.run("revert", "--no-commit", commit):
            return None
        return read((self.folder / "file").read_bytes().decode())


def _stream(histories: Sequence[PeerVersions], write: Callable[[PeerParts], str]) -> Iterator[str]:
    """What `git fast-import` reads: a branch for each history, a commit for each version."""
    for at, versions in enumerate(histories):
        yield f"reset refs/heads/h{at}\n\n"
        for version in versions:
            text = write(version)
            yield f"commit refs/heads/h{at}\ncommitter {_PERSON}\ndata 1\n-\nM 100644 inline file\n"
            yield f"data {len(text.encode())}\n{text}\n"


def _lines(text: str) -> PeerParts:
    return tuple(text.split("\n")[:-1])


def _json(items: PeerParts) -> str:
    return write_pretty({"allow": list(items)}) + "\n"


def _items(text: str) -> PeerParts:
    return tuple(decode(text)["allow"])


def _patched(versions: PeerVersions) -> PeerAnswer:
    """diff-match-patch: the patch back, found again by its surroundings."""
    from diff_match_patch import diff_match_patch  # noqa: PLC0415 - a peer may be missing

    tool = diff_match_patch()
    text, applied = tool.patch_apply(
        tool.patch_make(joined(versions[_AFTER]), joined(versions[_BEFORE])), joined(versions[-1])
    )
    return _lines(text) if all(applied) else None


def _merged(versions: PeerVersions) -> PeerAnswer:
    """merge3: a three-way merge of the last version and the one before the edit, seen from the one after it."""
    from merge3 import Merge3  # noqa: PLC0415 - a peer may be missing

    merge = Merge3(versions[_AFTER], versions[-1], versions[_BEFORE])
    found: list[str] = []
    for what, *lines in merge.merge_groups():
        if what == "conflict":
            return None
        found += lines[0]
    return tuple(found)


def _shared_text(versions: PeerVersions) -> PeerAnswer:
    """Yjs, one shared text: each edit a transaction of its own, an undo manager that watches the third."""
    from pycrdt import Text  # noqa: PLC0415 - a peer may be missing

    shared: Any = Text(joined(versions[0]))

    def write(old: PeerParts, new: PeerParts, begin: int) -> None:
        gone, come = joined(old), joined(new)
        same = _shared_begin(gone, come)
        rest = _shared_begin(gone[same:][::-1], come[same:][::-1])
        first = len(joined(_lines(str(shared))[:begin]).encode()) + len(gone[:same].encode())
        del shared[first : first + len(gone[same : len(gone) - rest].encode())]
        shared.insert(first, come[same : len(come) - rest])

    _undo(shared, versions, write)
    return _lines(str(shared))


def _shared_begin(one: str, two: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def _shared_lines(versions: PeerVersions) -> PeerAnswer:
    """Yjs, a shared array of lines or items."""
    from pycrdt import Array  # noqa: PLC0415 - a peer may be missing

    shared: Any = Array(list(versions[0]))

    def write(old: PeerParts, new: PeerParts, begin: int) -> None:
        del shared[begin : begin + len(old)]
        for at, line in enumerate(new):
            shared.insert(begin + at, line)

    _undo(shared, versions, write)
    return tuple(shared)


def _undo(shared: Any, versions: PeerVersions, write: Callable[[PeerParts, PeerParts, int], None]) -> None:
    """Make the six edits of a shared value, and let its undo manager take the third out."""
    from pycrdt import Doc, UndoManager  # noqa: PLC0415 - a peer may be missing

    doc: Any = Doc({"shared": shared})
    watch = UndoManager(scopes=[shared], capture_timeout_millis=0)
    watch.include_origin(f"edit {TAKEN_OUT}")
    for number, (old, new) in enumerate(pairwise(versions), start=1):
        with doc.transaction(origin=f"edit {number}"):
            for tag, low, high, first, last in reversed(
                SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            ):
                if tag != "equal":
                    write(old[low:high], new[first:last], low)
    watch.undo()


def _patch_of_lists(versions: PeerVersions) -> PeerAnswer:
    """jsonpatch: the patch back, by index."""
    import jsonpatch  # noqa: PLC0415 - a peer may be missing

    patch = jsonpatch.make_patch(list(versions[_AFTER]), list(versions[_BEFORE]))
    try:
        return tuple(patch.apply(list(versions[-1])))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
        return None


TEXT_PEERS: Final = (
    Peer("git revert", "git", _reverted(joined, _lines)),
    Peer("diff-match-patch", "diff_match_patch", _each(_patched)),
    Peer("merge3", "merge3", _each(_merged)),
    Peer("Yjs text", "pycrdt", _each(_shared_text)),
    Peer("Yjs array of lines", "pycrdt", _each(_shared_lines)),
)
LIST_PEERS: Final = (
    Peer("git revert of indented JSON", "git", _reverted(_json, _items)),
    Peer("jsonpatch inverse", "jsonpatch", _each(_patch_of_lists)),
    Peer("merge3", "merge3", _each(_merged)),
    Peer("Yjs array of items", "pycrdt", _each(_shared_lines)),
)
