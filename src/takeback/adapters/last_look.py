"""What a look at a harness's files rested on, noted so that a hook can tell that nothing has changed since.

The note holds the signatures of every file that was read and of every folder that was listed, and where the journal
ended; it is written only where the files were as the journal says, and where all of them had been quiet for so long
that a later change cannot look alike. It only saves work: on a difference, or without a note, everything is looked
at.

In a harness of many files the note also says which of them a hook may note an edit of without looking at the rest,
and a second, small note says what was recorded since: by the digest of each content, whatever its file's times are.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from itertools import islice

from takeback.adapters.roots import HIDDEN, MANIFEST, PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any, Final, Literal

NOTE = f"{PRIVATE}/seen"
SINCE = f"{PRIVATE}/seen-since"
"""What was recorded since the note; only in a harness of many files."""
HEAD = f"{PRIVATE}/HEAD"
VERSION = 2
LARGEST = 64 << 20
"""Bytes of a note that are read at most."""
WIDTH = 5
"""Numbers of one signature."""
_COLUMN: Final[tuple[Literal["q", "Q"], ...]] = ("q", "q", "q", "Q", "Q")
"""How the numbers of all files are written, one column after the other: times may lie before 1970."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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


def is_later(sign: tuple[int, ...], time: int) -> bool:
    """Return whether a file or folder with a signature changed after a time."""
    return sign[1] > time or sign[2] > time


def build_look_note(
    root: str,
    files: dict[str, tuple[int, ...]],
    folders: Iterable[str],
    latest: int,
    kinds: str = "",
    by_content: Collection[str] = (),
) -> bytes | None:
    """Return the note of a look, for whoever writes it; None where something changed after the `latest` time.

    `kinds` says of each file what it is to a hook, in a harness of many files. Files that are compared `by_content`
    may have changed later.
    """
    with _Root(root) as place:
        names = sorted({"", *folders, *_list_folders_above(files), *_list_folders_above(folders)})
        signs = [place.numbers(name, folder=True) for name in names]
        listed = {name: sign for name, sign in zip(names, signs, strict=True) if sign is not None}
        settled = (sign for path, sign in files.items() if path not in by_content)
        if any(is_later(sign, latest) for sign in (*settled, *listed.values())):
            return None
        groups = _group_files(files, listed)
        paths = [path for group in groups.values() for path in group]
        whole = {
            "version": VERSION,
            "order": sys.byteorder,
            "journal": place.text(HEAD),
            "manifest": place.manifest(),
            "folders": list(listed),
            "folder_numbers": [number for sign in listed.values() for number in sign],
            "counts": [len(group) for group in groups.values()],
        }
        if kinds:
            kind_of = dict(zip(files, kinds, strict=True))
            whole |= {
                "kinds": "".join(kind_of[path] for path in paths),
                "names": [place.digest_names(name) for name in listed],
            }
    inside = [os.fsencode(name) for group in groups.values() for name in group.values()]
    return _pack_look(whole, inside, [files[path] for path in paths])


def _group_files(files: Iterable[str], folders: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return files and their names in each folder; those in folders that are none (a link) stand in the top one."""
    groups: dict[str, dict[str, str]] = {folder: {} for folder in folders}
    for path in files:
        folder, _, name = path.rpartition("/")
        if folder in groups:
            groups[folder][path] = name
        else:
            groups[""][path] = path
    return groups


def _pack_look(whole: dict[str, Any], names: Sequence[bytes], signs: Sequence[tuple[int, ...]]) -> bytes | None:
    """Return a note as bytes: a line of JSON, the names of the files, and their numbers; None if one does not fit."""
    from array import array  # noqa: PLC0415 - start-up

    body = b"\0".join(names)
    try:
        columns = [array(code, (sign[at] for sign in signs)).tobytes() for at, code in enumerate(_COLUMN)]
    except OverflowError:
        return None
    head = json.dumps(whole | {"bytes": len(body)}, separators=(",", ":")).encode()
    return b"".join((head, b"\n", body, *columns))


class _Look:
    """A note of a look, as it was read."""

    def __init__(self, data: bytes) -> None:
        end = data.index(b"\n")
        whole = json.loads(data[:end])
        if whole["version"] != VERSION or whole["order"] != sys.byteorder:
            raise ValueError("a note of another version, or of another machine")
        at = end + 1 + whole["bytes"]
        self.journal, self.manifest, self.folders = whole["journal"], whole["manifest"], whole["folders"]
        self.kinds: str | None = whole.get("kinds")
        self.counts: list[int] = whole["counts"]
        count = sum(self.counts)
        self.names = data[end + 1 : at].split(b"\0") if count else []
        numbers, listed = whole["folder_numbers"], whole.get("names")
        fits = len(numbers) == WIDTH * len(self.folders) and len(self.counts) == len(self.folders)
        if not fits or len(self.names) != count or len(data) != at + 8 * WIDTH * count:
            raise ValueError("a note with too few numbers")
        self.folder_signs = [tuple(numbers[at : at + WIDTH]) for at in range(0, len(numbers), WIDTH)]
        self.listed = [None] * len(self.folders) if listed is None else listed
        self._columns = memoryview(data)[at:]

    def column(self, at: int) -> list[int]:
        """Return one number of every file."""
        size = 8 * len(self.names)
        return self._columns[at * size : (at + 1) * size].cast(_COLUMN[at]).tolist()

    def sign(self, at: int) -> tuple[int, ...]:
        """Return the signature of one file."""
        size = 8 * len(self.names)
        places = ((column * size + 8 * at, code) for column, code in enumerate(_COLUMN))
        return tuple(self._columns[start : start + 8].cast(code)[0] for start, code in places)

    def list_files(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield every file with its signature."""
        names, signs = iter(self.names), zip(*map(self.column, range(WIDTH)), strict=True)
        for folder, count in zip(self.folders, self.counts, strict=True):
            start = f"{folder}/" if folder else ""
            for name in islice(names, count):
                yield start + os.fsdecode(name), next(signs)

    def find(self, path: str) -> int | None:
        """Return the place of a file in the note; None if the look did not read it."""
        folder, _, name = path.rpartition("/")
        if folder not in self.folders:
            folder, name = "", path
        at = self.folders.index(folder)
        start = sum(self.counts[:at])
        try:
            return self.names.index(os.fsencode(name), start, start + self.counts[at])
        except ValueError:
            return None


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
            look = _Look(place.bytes(NOTE))
            known = _read_known(place, look)
            if known is None or look.manifest != place.manifest():
                return None
            return place.list_differing(look, known)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def find_edited_files(root: str, wanted: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return which of some files of a large harness were edited since the last look, and what each is to a hook.

    None where one of them is none that a hook notes an edit of. The other files are not looked at.
    """
    try:
        with _Root(root) as place:
            look = _Look(place.bytes(NOTE))
            known = _read_known(place, look)
            if known is None or look.kinds is None or look.manifest != place.manifest():
                return None
            edited = []
            for path in wanted:
                at = look.find(path)
                if at is None or look.kinds[at] == OTHER:
                    return None
                if place.differs(path, look.sign(at), known):
                    edited.append((path, look.kinds[at]))
            return edited
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None


def read_settled_files(root: str, journal: str) -> dict[str, tuple[int, ...]]:
    """Return the signatures with which files of a large harness hold what the journal says where it ends so.

    What was recorded since the look is left out; without a note of that end, all is.
    """
    try:
        with _Root(root) as place:
            look = _Look(place.bytes(NOTE))
            known = _read_known(place, look)
            if (
                known is None
                or look.kinds is None
                or look.manifest != place.manifest()
                or place.text(HEAD) != journal
            ):
                return {}
            return {path: sign for path, sign in look.list_files() if path not in known}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _read_known(place: _Root, look: _Look) -> dict[str, list[Any]] | None:
    """Return the contents that were recorded since a look; None where its note is of no use any more."""
    journal, since = place.text(HEAD), None if look.kinds is None else place.since()
    if since is not None and since[:2] == (look.journal, journal) and journal:
        return since[2]
    return {} if look.journal == journal != "" else None


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

    def list_differing(self, look: _Look, known: dict[str, list[Any]]) -> list[str]:
        """Return which files have neither the signature that was noted nor the content that is known.

        Raises `ValueError` where more differs: a folder that is none or has other names, permission bits.
        """
        stat_file, changed, at = os.stat, [], 0
        whens = look.column(2)
        for path in known:
            place = look.find(path)
            if place is not None:
                whens[place] = ~whens[place]  # to be compared by content
        rows = zip(look.names, whens, look.column(3), look.column(0), strict=True)
        groups = zip(look.folders, look.counts, look.folder_signs, look.listed, strict=True)
        for folder, count, sign, listed in groups:
            fd = os.open(folder or ".", _FOLDER, dir_fd=self._fd)
            try:
                if measure_folder(os.fstat(fd)) != sign and (listed is None or self.digest_names(folder) != listed):
                    raise ValueError("other names in a folder")
                for name, when, inode, size in islice(rows, count):
                    status = stat_file(name, dir_fd=fd, follow_symlinks=False)
                    if status.st_ctime_ns == when and status.st_ino == inode and status.st_size == size:
                        continue  # the time of change tells most; nothing more may be done here: this is every file
                    path = "/".join(filter(None, (folder, os.fsdecode(name))))
                    if self.differs(path, look.sign(look.names.index(name, at, at + count)), known):
                        changed.append(path)
            finally:
                os.close(fd)
            at += count
        return changed

    def differs(self, path: str, sign: tuple[int, ...], known: dict[str, list[Any]]) -> bool:
        """Return whether a file has neither a signature nor the content that is known; only its bytes may differ."""
        status = os.stat(path, dir_fd=self._fd, follow_symlinks=False)
        if path in known:
            if status.st_size > LARGEST_EDIT or stat.S_IMODE(status.st_mode) != known[path][1]:
                raise ValueError("more than a small content changed")
            return measure_content(self.bytes(path), status.st_mode) != known[path]
        if measure_file(status) == sign:
            return False
        if status.st_mode != sign[WIDTH - 1]:
            raise ValueError("permission bits changed")
        return True

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
