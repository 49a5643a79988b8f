"""What a look at a harness's files rested on, noted so that a hook can tell that nothing has changed since.

The note holds the signatures of every file that was read and of every folder that was listed, and where the journal
ended; it is written only where the files were as the journal says, and where all of them had been quiet for so long
that a later change cannot look alike. It only saves work: whoever finds a difference, or no note, looks at all.

In a harness of many files the note also says which of them a hook may note an edit of without looking at the rest,
and a second, small note says what was recorded since: by the digest of each content, whatever its file's times are.
"""

from __future__ import annotations

import json
import os
import stat

from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

NOTE = f"{PRIVATE}/seen"
SINCE = f"{PRIVATE}/seen-since"
"""What was recorded since the note; only in a harness of many files."""
HEAD = f"{PRIVATE}/HEAD"
VERSION = 1
LARGEST = 64 << 20
"""Bytes of a note that are read at most."""
WIDTH = 5
"""Numbers of one signature."""
MANY = 1_000
"""A harness of so many files is large: its hooks only note edits, which the next command makes entries of."""
MOST_SINCE = 200
"""So many files may have been recorded since a look; beyond that, all are looked at anew."""
LARGEST_EDIT = 1 << 20
"""Bytes of a file whose edit is noted."""
TEMPORARY = ".takeback-tmp-"
OTHER, PLAIN, TEXT = "0", "1", "2"
"""What a file is to a hook: one that has to be understood, one of bytes alone, or instructions without settings."""


def measure_file(status: os.stat_result) -> tuple[int, ...]:
    """Return the numbers that change when a file changes, without reading it."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def measure_folder(status: os.stat_result) -> tuple[int, ...]:
    """Return the numbers that change when a name in a folder comes or goes, without size and links."""
    return (0, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def build_look_note(
    root: str, files: dict[str, tuple[int, ...]], folders: Iterable[str], began: int, settled: int, kinds: str = ""
) -> bytes | None:
    """Return the note of a look that began at a time, for whoever writes it; None where something was too fresh.

    `kinds` says of each file what it is to a hook, in a harness of many files.
    """
    with _Root(root) as place:
        names = sorted({"", *folders, *_list_folders_above(files), *_list_folders_above(folders)})
        signs = [place.numbers(name, folder=True) for name in names]
        listed = [(name, sign) for name, sign in zip(names, signs, strict=True) if sign is not None]
        numbers = [*files.values(), *(sign for _, sign in listed)]
        if any(max(sign[1], sign[2]) > began - settled for sign in numbers):
            return None
        whole = {
            "version": VERSION,
            "journal": place.text(HEAD),
            "manifest": place.manifest(),
            "folders": [name for name, _ in listed],
            "folder_numbers": [number for _, sign in listed for number in sign],
            "files": list(files),
            "file_numbers": [number for sign in files.values() for number in sign],
        }
        if kinds:
            whole |= {"kinds": kinds, "names": [place.digest_names(name) for name, _ in listed]}
    return json.dumps(whole, separators=(",", ":")).encode()


def build_since_note(look: str, journal: str, files: dict[str, list[Any]]) -> bytes:
    """Return the note of what was recorded since a look: where the journal ended then and now, and the files."""
    return json.dumps({"look": look, "journal": journal, "files": files}, separators=(",", ":")).encode()


def read_since(root: str) -> tuple[str, str, dict[str, list[Any]]] | None:
    """Return what a note of what was recorded since a look says; None where there is none."""
    try:
        with _Root(root) as place:
            return place.since()
    except OSError:
        return None


def measure_content(content: bytes, mode: int) -> list[Any]:
    """Return what tells a file's content and permission bits from others, whatever its times."""
    from hashlib import blake2b  # noqa: PLC0415 - start-up

    return [blake2b(content, digest_size=16).hexdigest(), stat.S_IMODE(mode)]


def is_bare_text(content: bytes) -> bool:
    """Return whether a text neither begins with settings nor may bring in another file."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return not content.startswith((b"---", b"\xef\xbb\xbf")) and b"@" not in content


def is_unchanged(root: str) -> bool:
    """Return whether nothing that the last look rested on has changed since; False where that is not known."""
    return find_changed_files(root) == []


def find_changed_files(root: str) -> list[str] | None:
    """Return the files that changed since the last look; None where more than that changed, or it is not known."""
    try:
        with _Root(root) as place:
            whole = json.loads(place.bytes(NOTE))
            known = _read_known(place, whole)
            if known is None or whole["manifest"] != place.manifest():
                return None
            names = whole.get("names")
            if not place.agrees(whole["folders"], whole["folder_numbers"], names):
                return None
            return place.list_differing(whole["files"], whole["file_numbers"], known)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def find_edited_files(root: str, wanted: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return which of some files of a large harness were edited since the last look, and what each is to a hook.

    None where one of them is none that a hook notes an edit of. The other files are not looked at.
    """
    try:
        with _Root(root) as place:
            whole = json.loads(place.bytes(NOTE))
            known = _read_known(place, whole)
            if known is None or "kinds" not in whole or whole["manifest"] != place.manifest():
                return None
            kinds = dict(zip(whole["files"], whole["kinds"], strict=True))
            if any(kinds.get(path, OTHER) == OTHER for path in wanted):
                return None
            places = [whole["files"].index(path) for path in wanted]
            numbers = [number for at in places for number in whole["file_numbers"][at * WIDTH : (at + 1) * WIDTH]]
            return [(path, kinds[path]) for path in place.list_differing(wanted, numbers, known)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _read_known(place: _Root, whole: Any) -> dict[str, list[Any]] | None:
    """Return the contents that were recorded since a look; None where its note is of no use any more."""
    if not isinstance(whole, dict) or whole.get("version") != VERSION:
        return None
    journal, since = place.text(HEAD), place.since() if "kinds" in whole else None
    if since is not None and since[:2] == (whole["journal"], journal) and journal:
        return since[2]
    return {} if whole["journal"] == journal != "" else None


class _Root:
    """A directory held open, so that names below it are looked up without joining paths."""

    def __init__(self, root: str) -> None:
        self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> _Root:
        return self

    def __exit__(self, *fault: object) -> None:
        os.close(self._fd)

    def numbers(self, name: str, *, folder: bool) -> tuple[int, ...] | None:
        """Return the signature of a file or folder; None if nothing of that kind is there."""
        try:
            status = os.stat(name or ".", dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return None
        if folder:
            return measure_folder(status) if stat.S_ISDIR(status.st_mode) else None
        return measure_file(status)

    def agrees(self, names: Sequence[str], numbers: Sequence[int], listed: Sequence[str] | None) -> bool:
        """Return whether each of some folders still has the signature that was noted, or at least the same names."""
        if len(numbers) != WIDTH * len(names):
            return False
        read_stat = os.stat
        for at, name in enumerate(names):
            status = read_stat(name or ".", dir_fd=self._fd, follow_symlinks=False)
            if measure_folder(status) != tuple(numbers[at * WIDTH : (at + 1) * WIDTH]) and (
                listed is None or not stat.S_ISDIR(status.st_mode) or self.digest_names(name) != listed[at]
            ):
                return False
        return True

    def list_differing(self, names: Sequence[str], numbers: Sequence[int], known: dict[str, list[Any]]) -> list[str]:
        """Return which of some files have neither the signature that was noted nor the content that is known."""
        if len(numbers) != WIDTH * len(names):
            raise ValueError("a note with too few numbers")
        read_stat, folder, changed, at = os.stat, self._fd, [], 0
        for name in names:
            status = read_stat(name, dir_fd=folder, follow_symlinks=False)
            if (  # the time of change tells most, and is written without a tuple: this is done for every file
                status.st_ctime_ns == numbers[at + 2]
                and status.st_ino == numbers[at + 3]
                and status.st_size == numbers[at]
                and name not in known
            ):
                at += WIDTH
                continue
            if name in known:
                if status.st_size > LARGEST_EDIT or stat.S_IMODE(status.st_mode) != known[name][1]:
                    raise ValueError("more than a small content changed")
                if measure_content(self.bytes(name), status.st_mode) != known[name]:
                    changed.append(name)
            elif measure_file(status) != tuple(numbers[at : at + WIDTH]):
                if status.st_mode != numbers[at + WIDTH - 1]:
                    raise ValueError("permission bits changed")
                changed.append(name)
            at += WIDTH
        return changed

    def digest_names(self, name: str) -> str:
        """Return what changes when a name in a folder comes or goes, or becomes something of another kind."""
        from hashlib import blake2b  # noqa: PLC0415 - start-up

        fd = os.open(name or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._fd)
        try:
            with os.scandir(fd) as entries:
                names = sorted(
                    (os.fsencode(entry.name), entry.is_dir(follow_symlinks=False), entry.is_symlink())
                    for entry in entries
                    if not entry.name.startswith(TEMPORARY)
                )
        finally:
            os.close(fd)
        return blake2b(repr(names).encode(), digest_size=8).hexdigest()

    def since(self) -> tuple[str, str, dict[str, list[Any]]] | None:
        """Return what was recorded since the look, by its note; None where there is none, or a spoilt one."""
        try:
            since = json.loads(self.bytes(SINCE))
            look, journal, files = since["look"], since["journal"], since["files"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        fits = isinstance(look, str) and isinstance(journal, str) and isinstance(files, dict)
        return (look, journal, files) if fits else None

    def manifest(self) -> list[Any]:
        """Return the signatures of the manifests that may be there."""
        signs = (self.numbers(name, folder=False) for name in (MANIFEST, HIDDEN))
        return [None if sign is None else list(sign) for sign in signs]

    def text(self, name: str) -> str:
        """Return a small file's text; empty if it is not there."""
        try:
            return self.bytes(name, 1000).decode("utf-8", "replace")
        except OSError:
            return ""

    def bytes(self, name: str, most: int = LARGEST) -> bytes:
        """Return a file's bytes, up to a bound; a link is not followed."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=self._fd)
        with open(fd, "rb") as file:
            return file.read(most)


def _list_folders_above(paths: Iterable[str]) -> set[str]:
    """Return the folders above some paths: a missing folder may appear there."""
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return folders
