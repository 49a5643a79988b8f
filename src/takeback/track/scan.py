"""The look at a project: which files changed since the last one, by their times, and what they hold now.

`walk` compares every known name with the cache and lists the folders whose times moved; `read` then reads what may
have changed, folder by folder, and hands each content on at once. Nothing is opened through a link, on another
device, or below a repository inside the project. A time that lies too close to the look counts for nothing.
"""

from __future__ import annotations

import os
from array import array

from takeback.track.cache import COLUMNS, DIGEST, FACTS, NO_DIGEST, OWNED, SECRET, SEEN, Folder
from takeback.track.git import GitFailedError
from takeback.track.reader import GONE, SETTLED, WHY_OTHER, WHY_UNREAD, FileReader, UnreadableError

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from takeback.track.reader import Entry
    from takeback.track.rules import Rules

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
IGNORE = ".gitignore"
PROJECTS = (".git", ".takeback")
"""What a folder has in it that is a project of its own."""
DEEPEST = 200
MANY = 64
"""So many files to read make it worth asking git for the ids in its index."""


class FoundChange:
    """One file that may differ from the cache."""

    __slots__ = ("entering", "known", "new", "old", "path", "why")

    def __init__(self, path: str, old: Entry | None, new: Entry | None, why: str, *, entering: bool) -> None:
        self.path, self.old, self.new, self.why = path, old, new, why
        self.entering = entering
        """Whether it only begins or ends to be tracked, which is nobody's change."""
        self.known = True
        """Whether it is known what was there before."""


class Scan:
    """One look at one project."""

    def __init__(
        self,
        root: str,
        rules: Rules,
        clock: int,
        folders: dict[str, Folder],
        load_facts: Callable[[int], bytes],
        digest: Callable[[bytes], bytes],
        *,
        relist: bool = False,
        reread: bool = False,
    ) -> None:
        self.rules, self.clock, self.folders = rules, clock, folders
        self._load_facts = load_facts
        self.reader = FileReader(clock, rules.max_bytes, digest)
        self._relist, self._reread = relist, reread
        self._top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._device = os.fstat(self._top).st_dev
        self.suspects: dict[str, list[str]] = {}
        """Names that may have changed, by folder."""
        self.fresh: list[tuple[str, str, bool, bool]] = []
        """Names that are not tracked yet: folder, name, whether it is a folder, whether it was there before."""
        self.listed: dict[str, tuple[tuple[int, int, int], set[str]]] = {}
        """Folders that were listed: their own times, and what is left out in them."""
        self.lost: list[Folder] = []
        self.notes: list[str] = []
        self.nested: list[str] = []
        self.ended: list[str] = []
        """Folders that were projects of their own, and are no longer."""
        self.owned_changed = False
        self.changed: set[str] = set()
        """Folders whose rows have to be written."""

    def close(self) -> None:
        """Close the project's folder."""
        os.close(self._top)

    # what may have changed

    def walk(self) -> None:
        """Find what may have changed everywhere."""
        if "" not in self.folders:
            self.folders[""] = Folder("")
        stack: list[tuple[str, int]] = []
        blocked: set[str] = set()
        lost: set[str] = set()
        try:
            for path in sorted(self.folders, key=_list_steps):
                folder = self.folders[path]
                parent, _, name = path.rpartition("/")
                if path and parent in blocked:
                    blocked.add(path)
                    continue
                if path and (parent in lost or parent not in self.folders):
                    lost.add(path)
                    self.lost.append(folder)
                    continue
                while path and stack[-1][0] != parent:
                    os.close(stack.pop()[1])
                try:
                    fd = os.open(name, FOLDER, dir_fd=stack[-1][1]) if path else os.dup(self._top)
                except OSError as fault:
                    if fault.errno in GONE:
                        lost.add(path)
                        self.lost.append(folder)
                    else:
                        blocked.add(path)
                        self.notes.append(f"{path}: cannot be read ({fault.strerror}); left as it was")
                    continue
                stack.append((path, fd))
                if not self._compare(folder, fd):
                    blocked.add(path)
        finally:
            for _, fd in stack:
                os.close(fd)

    def _compare(self, folder: Folder, fd: int) -> bool:
        """Compare one folder; return whether it is one to look into."""
        status = os.fstat(fd)
        if status.st_dev != self._device:
            self.notes.append(f"{folder.path}: on another device; left as it was")
            return False
        sign = (status.st_ctime_ns, status.st_mtime_ns, status.st_ino)
        if sign != folder.sign or self._relist:
            self._list(folder, fd, sign)
        elif self._reread:
            if folder.names:
                self.suspects[folder.path] = list(folder.names)
        else:
            self._stat(folder, fd)
        return True

    def _stat(self, folder: Folder, fd: int) -> None:
        changed: list[str] = []
        stat = os.stat
        ctimes, mtimes, inodes, sizes, _ = folder.columns
        for name, ctime, mtime, inode, size in zip(folder.names, ctimes, mtimes, inodes, sizes, strict=True):
            try:
                status = stat(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                changed.append(name)
                continue
            if (
                status.st_ctime_ns != ctime
                or status.st_mtime_ns != mtime
                or status.st_ino != inode
                or status.st_size != size
            ):
                changed.append(name)
        if changed:
            self.suspects[folder.path] = changed

    def _list(self, folder: Folder, fd: int, sign: tuple[int, int, int]) -> None:
        start = f"{folder.path}/" if folder.path else ""
        tracked = set(folder.names)
        left: set[str] = set()
        there: set[str] = set()
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and name in tracked:
                    there.add(name)
                    if self._relist:
                        self.fresh.append((folder.path, name, False, True))
                    continue
                marked = f"{name}/" if is_folder else name
                if is_folder and start + name in self.folders:
                    if self._relist:
                        self.fresh.append((folder.path, name, True, True))
                elif marked in folder.left and not self._relist:
                    left.add(marked)
                else:
                    self.fresh.append((folder.path, name, is_folder, marked in folder.left))
        self.listed[folder.path] = (sign if sign[0] <= self.clock - SETTLED else (0, 0, 0), left)
        self._stat(folder, fd)
        missing = tracked - there
        if missing:
            known = self.suspects.setdefault(folder.path, [])
            known += missing.difference(known)
        if self._reread and folder.names:
            self.suspects[folder.path] = list(folder.names)

    def take_ended(self, nested: Iterable[str]) -> None:
        """Look into folders that were projects of their own when they were last looked at, and are ordinary now."""
        for path in nested:
            if self._is_project(path):
                continue
            self.ended.append(path)
            above, _, name = path.rpartition("/")
            folder = self.folders.get(above)
            if folder is None or self._relist or f"{name}/" not in folder.left:
                continue
            self.fresh.append((above, name, True, True))
            if above in self.listed:
                self.listed[above][1].discard(f"{name}/")
            folder.left -= {f"{name}/"}
            self.changed.add(above)

    def _is_project(self, path: str) -> bool:
        fd = self._open(path)
        if fd is None:
            return False
        try:
            return any(_has(fd, name) for name in PROJECTS)
        finally:
            os.close(fd)

    def has_other_rules(self) -> bool:
        """Return whether an ignore file inside the project changed: then everything is asked about again."""
        if any(folder[1] == IGNORE for folder in self.fresh):
            return True
        for path, names in self.suspects.items():
            if IGNORE in names:
                old = self._read_old(self.folders[path])[IGNORE]
                fd = self._open(path)
                if fd is None:
                    return True
                try:
                    new, _ = self.reader.read(fd, IGNORE, IGNORE, 0, lambda *_: "")
                except UnreadableError:
                    return False
                finally:
                    os.close(fd)
                if new is None or new[5] != old[5]:
                    return True
        return any(IGNORE in folder.names for folder in self.lost)

    def look_at(self, paths: Iterable[str]) -> None:
        """Find what may have changed at some paths only; the folders above them are known, or made known."""
        names = {folder.path: frozenset(folder.names) for folder in self.folders.values()}
        paths = dict.fromkeys(paths)
        split = (path.split("/") for path in paths)
        above_all = {"/".join(steps[:depth]) for steps in split for depth in range(1, len(steps))}
        unknown = [(folder, True) for folder in sorted(above_all) if folder not in self.folders]
        wanted, _, why = self.rules.choose(unknown) if unknown else (set[str](), set[str](), "")
        for path in paths:
            folder, _, name = path.rpartition("/")
            known = self.folders.get(folder)
            if name in names.get(folder, ()):
                self.suspects.setdefault(folder, []).append(name)
                continue
            if known is not None and name in known.left:
                continue
            steps = path.split("/")
            for depth in range(1, len(steps)):
                above = "/".join(steps[: depth - 1])
                folder_above = "/".join(steps[:depth])
                if folder_above in self.folders:
                    continue
                if above in self.folders and f"{steps[depth - 1]}/" in self.folders[above].left:
                    break
                if why or folder_above not in wanted or self._why_not_entered(folder_above):
                    break
                self.folders[folder_above] = Folder(folder_above)
                self.listed[folder_above] = ((0, 0, 0), set())
            else:
                self.fresh.append((folder, name, False, False))

    def measure(self) -> tuple[int, int, list[tuple[int, str]]]:
        """Return how many files would be tracked, how many bytes stored, and the largest folders by files.

        What git has in its index counts as stored there. Nothing is read.
        """
        self.load_ids()
        files = stored = 0
        by_folder: dict[str, int] = {}
        self.folders[""] = Folder("")
        level, depth = self._list_fresh("", False), 0
        while level and depth < DEEPEST:
            depth += 1
            wanted, _, _ = self.rules.choose([(_join(folder[0], folder[1]), folder[2]) for folder in level])
            below: list[tuple[str, str, bool, bool]] = []
            for folder, name, is_folder, _ in level:
                path = _join(folder, name)
                if path not in wanted:
                    continue
                if is_folder:
                    below += [] if self._why_not_entered(path) else self._list_fresh(path, False)
                    continue
                files += 1
                top = path.partition("/")[0]
                by_folder[top] = by_folder.get(top, 0) + 1
                if self.reader.ids is None or path not in self.reader.ids:
                    stored += min(self._find_size(path), self.rules.max_bytes)
            level = below
        return files, stored, sorted(((count, name) for name, count in by_folder.items()), reverse=True)[:3]

    def _find_size(self, path: str) -> int:
        try:
            return os.stat(path, dir_fd=self._top, follow_symlinks=False).st_size
        except OSError:
            return 0

    # what they hold

    def count(self) -> int:
        """Return how many names have to be looked at more closely."""
        return len(self.fresh) + len(self.lost) + sum(map(len, self.suspects.values()))

    def read(self, keep: Callable[[bytes, bytes, int], str]) -> Iterator[FoundChange]:
        """Yield what changed, folder by folder; `keep` stores a content and says why it could not.

        The folders' rows are changed on the way; `listed` and `lost` say which besides.
        """
        if self.count() > MANY:
            self.load_ids()
        for folder in self.lost:
            facts = self._read_old(folder)
            for name, old in facts.items():
                self.owned_changed |= bool(old[4] & OWNED)
                yield FoundChange(_join(folder.path, name), old, None, "", entering=bool(old[4] & OWNED))
        leaving = self._take_relisted() if self._relist else set()
        for path, names in self.suspects.items():
            yield from self._read_known(self.folders[path], names, keep, leaving)
        yield from self._read_fresh(keep)
        self.notes += [f"{path}: still being written" for path in self.reader.moving]
        for path, (sign, left) in self.listed.items():
            row = self.folders[path]
            if not row.id or row.sign != sign or row.left != left:
                self.changed.add(path)
            row.sign, row.left = sign, frozenset(left)

    def load_ids(self) -> None:
        """Ask git for the ids in its index, so that contents that it has need not be stored."""
        if self.reader.ids is None and self.rules.repository.can_give():
            try:
                self.reader.ids = self.rules.repository.list_ids()
            except GitFailedError as fault:
                self.notes.append(str(fault))

    def _take_relisted(self) -> set[str]:
        """Ask the rules about everything that is known; return the paths that leave tracking."""
        fresh = [(_join(folder, name), is_folder) for folder, name, is_folder, _ in self.fresh]
        wanted, _, why = self.rules.choose(fresh)
        if why:
            self.notes.append(why)
            wanted = {path for path, _ in fresh}
        leaving: set[str] = set()
        remaining = []
        for folder, name, is_folder, before in self.fresh:
            path = _join(folder, name)
            known = path in self.folders if is_folder else name in self.folders[folder].names
            if not known:
                remaining.append((folder, name, is_folder, before))
            elif path not in wanted:
                leaving.add(path)
                self.listed[folder][1].add(f"{name}/" if is_folder else name)
        self.fresh = remaining
        for path in list(self.folders):
            if path and any(above in leaving for above in _list_with_above(path)):
                folder_row = self.folders.pop(path)
                self.lost = [*self.lost, folder_row] if folder_row not in self.lost else self.lost
                folder_row.names, folder_row.columns = [], tuple(array("q") for _ in range(COLUMNS))
                self.suspects.pop(path, None)
                self.listed.pop(path, None)
                self.fresh = [folder for folder in self.fresh if folder[0] != path]
        for path in leaving:
            above, _, name = path.rpartition("/")
            if above in self.folders and name in self.folders[above].names:
                self._suspect(above, name)
        for row in self.folders.values():
            for name, mode in zip(row.names, row.columns[4], strict=True):
                if mode & SECRET or bool(mode & OWNED) != self.rules.is_owned(_join(row.path, name)):
                    self._suspect(row.path, name)
        return leaving

    def _suspect(self, folder: str, name: str) -> None:
        names = self.suspects.setdefault(folder, [])
        if name not in names:
            names.append(name)

    def _read_old(self, folder: Folder) -> dict[str, Entry]:
        """Return the entries of a folder with their facts."""
        facts = folder.facts if folder.facts is not None else self._load_facts(folder.id) if folder.id else b""
        if len(facts) != FACTS * len(folder.names):
            facts = bytes(FACTS * len(folder.names))
        entries: dict[str, Entry] = {}
        for at, numbers in enumerate(zip(*folder.columns, strict=True)):
            start = at * FACTS
            ctime, mtime, inode, size, mode = numbers
            digest, git = facts[start : start + DIGEST], facts[start + DIGEST : start + FACTS]
            entries[folder.names[at]] = (ctime, mtime, inode, size, mode, digest, git)
        return entries

    def _read_known(
        self, folder: Folder, names: Sequence[str], keep: Callable[[bytes, bytes, int], str], leaving: set[str]
    ) -> Iterator[FoundChange]:
        entries = self._read_old(folder)
        before = dict(entries)
        fd = self._open(folder.path)
        if fd is None:
            self._look_again(folder.path)
            return
        try:
            for name in names:
                path, old = _join(folder.path, name), entries[name]
                if path in leaving:
                    del entries[name]
                    yield FoundChange(path, old, None, "", entering=True)
                    continue
                bits = (SECRET | (0 if self.rules.keeps_secrets else SEEN)) if old[4] & SECRET else 0
                owned = OWNED if self.rules.is_owned(path) else 0
                try:
                    new, why = self.reader.read(fd, name, path, bits | owned, keep, old)
                except UnreadableError as fault:
                    self.notes.append(f"{path}: {fault}; left as it was")
                    continue
                if new is not None and why == WHY_UNREAD and _sign(new) == _sign(old):
                    continue
                change = FoundChange(path, old, new, why, entering=False)
                if owned or old[4] & OWNED:
                    self.owned_changed |= new is None or _sign(new) != _sign(old)
                    change.entering = True
                elif old[5] == NO_DIGEST:
                    change.known = False
                    change.entering = new is not None and _sign(new) == _sign(old)
                if new is None:
                    del entries[name]
                else:
                    entries[name] = new
                yield change
        finally:
            os.close(fd)
            if entries != before:
                self._fill(folder, entries)

    def _look_again(self, path: str) -> None:
        """Have a folder listed at the next look, since it moved under this one."""
        if path in self.listed:
            self.listed[path] = ((0, 0, 0), self.listed[path][1])

    def _fill(self, folder: Folder, entries: dict[str, Entry]) -> None:
        """Put entries into a folder's row; their facts go with them."""
        folder.names = list(entries)
        folder.columns = tuple(map(_make_column, zip(*(entry[:COLUMNS] for entry in entries.values()), strict=True)))
        if not entries:
            folder.columns = tuple(array("q") for _ in range(COLUMNS))
        folder.facts = b"".join(entry[5] + entry[6] for entry in entries.values())
        self.changed.add(folder.path)

    def _read_fresh(self, keep: Callable[[bytes, bytes, int], str]) -> Iterator[FoundChange]:
        level, depth = self.fresh, 0
        while level and depth < DEEPEST:
            depth += 1
            if len(level) > MANY:
                self.load_ids()
            wanted, secrets, why = self.rules.choose([(_join(folder[0], folder[1]), folder[2]) for folder in level])
            if why:
                self.notes.append(why)
            below: list[tuple[str, str, bool, bool]] = []
            files: dict[str, list[tuple[str, int, bool]]] = {}
            for folder, name, is_folder, before in level:
                path = _join(folder, name)
                left = self.listed[folder][1] if folder in self.listed else set()
                if path not in wanted:
                    if why:
                        self._look_again(folder)
                    else:
                        left.add(f"{name}/" if is_folder else name)
                elif is_folder:
                    reason = self._why_not_entered(path)
                    if reason:
                        left.add(f"{name}/")
                    else:
                        below += self._list_fresh(path, before)
                else:
                    bits = 0
                    if self.rules.is_owned(path):
                        bits = OWNED
                    elif path in secrets:
                        bits = SECRET | (0 if self.rules.keeps_secrets else SEEN)
                    files.setdefault(folder, []).append((name, bits, before))
            for folder, listed in files.items():
                yield from self._read_new(folder, listed, keep)
            level = below

    def _why_not_entered(self, path: str) -> str:
        """Return why a new folder is not looked into; empty if it is."""
        fd = self._open(path)
        if fd is None:
            return "it cannot be opened"
        try:
            if os.fstat(fd).st_dev != self._device:
                return "it is on another device"
            if path not in self.rules.nested and any(_has(fd, name) for name in PROJECTS):
                self.nested.append(path)
                return "it is a project of its own"
        finally:
            os.close(fd)
        return ""

    def _list_fresh(self, path: str, before: bool) -> list[tuple[str, str, bool, bool]]:
        fd = self._open(path)
        if fd is None:
            return []
        try:
            status = os.fstat(fd)
            with os.scandir(fd) as entries:
                listed = [(path, entry.name, entry.is_dir(follow_symlinks=False), before) for entry in entries]
        finally:
            os.close(fd)
        sign = (status.st_ctime_ns, status.st_mtime_ns, status.st_ino)
        self.folders[path] = Folder(path)
        self.listed[path] = (sign if sign[0] <= self.clock - SETTLED else (0, 0, 0), set())
        return listed

    def _read_new(
        self, path: str, listed: list[tuple[str, int, bool]], keep: Callable[[bytes, bytes, int], str]
    ) -> Iterator[FoundChange]:
        folder = self.folders[path]
        fd = self._open(path)
        if fd is None:
            self._look_again(path)
            return
        entries = self._read_old(folder)
        try:
            for name, bits, before in listed:
                place = _join(path, name)
                try:
                    new, why = self.reader.read(fd, name, place, bits, keep)
                except UnreadableError as fault:
                    self.notes.append(f"{place}: {fault}")
                    self._look_again(path)
                    continue
                if new is None:
                    continue
                if why == WHY_OTHER:
                    self.listed.get(path, ((), set()))[1].add(name)
                    continue
                entries[name] = new
                self.owned_changed |= bool(bits & OWNED) and not before
                yield FoundChange(place, None, new, why, entering=before or bool(bits & OWNED))
        finally:
            os.close(fd)
            self._fill(folder, entries)

    def _open(self, path: str) -> int | None:
        """Open a folder, step by step, through no link; None if that cannot be."""
        fd = os.dup(self._top)
        try:
            for step in path.split("/") if path else ():
                below = os.open(step, FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
        except OSError:
            os.close(fd)
            return None
        return fd


def _has(fd: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return False
    return True


def _sign(entry: Entry) -> tuple[int, ...]:
    return (abs(entry[0]), *entry[1:4])


def _list_steps(path: str) -> list[str]:
    return path.split("/") if path else []


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _list_with_above(path: str) -> list[str]:
    steps = path.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps) + 1)]


def _make_column(numbers: Iterable[int]) -> array[int]:
    return array("q", numbers)
