"""git as a source of facts: what it ignores, the ids in its index, contents by id, where HEAD went.

It is run only as `ls-files`, `check-ignore` and `cat-file --batch`, in ways that start no program of the
repository's: the file system monitor is off, hooks are nowhere, and git's own variables are left out. Imported by
hooks, so that it imports little.
"""

from __future__ import annotations

import os
import stat
import time

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

NO_PROGRAMS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
QUIET = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
NO_FETCH = {"GIT_NO_LAZY_FETCH": "1"}
SECONDS = 60
LOCK_SECONDS = 0.3
"""So long a look waits for git to finish what it is writing."""
POLL = 0.01
ID = 40
FEW = 50
"""So many paths git is asked about one by one."""
AT_ONCE = 1000
"""So many contents git is asked for at once."""
EMPTY = ".takeback/track.git"
"""A git directory with nothing in it, for ignore files of a project that is in no repository."""
SMALL = 1 << 16
NO_FILES = ("commit", "branch: ", "Branch: ")
"""What the log of HEAD says where HEAD moved and no file did."""


class GitFailedError(Exception):
    """git is missing, or did not answer."""


def keep_environment(environment: Mapping[str, str], kept: tuple[str, ...] = ()) -> dict[str, str]:
    """Return an environment without git's own variables, but for those that begin with a kept word, and quiet."""
    plain = {
        name: value for name, value in environment.items() if not name.startswith("GIT_") or name.startswith(kept)
    }
    return {**plain, **QUIET}


class Repository:
    """The working tree of git that a directory lies in; without one, a directory of ours for its ignore files."""

    def __init__(self, root: str, environment: Mapping[str, str], empty: str = "") -> None:
        self.root = root
        self._environment = environment
        self._empty = empty or os.path.join(root, EMPTY)
        self.top, self.directory = _find_directory(root)
        self.common = _find_common(self.directory) if self.directory else ""

    @property
    def there(self) -> bool:
        """Whether the directory lies in a working tree."""
        return bool(self.directory)

    def run(self, *words: str, given: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
        """Return what git prints; raise `GitFailedError` if it ends with another code, or is not there."""
        import subprocess  # noqa: PLC0415 - start-up

        env = {**keep_environment(self._environment), **NO_FETCH}
        if not self.directory:
            env |= {"GIT_DIR": _make_empty(self._empty), "GIT_WORK_TREE": self.root}
        try:
            done = subprocess.run(  # noqa: S603 - words of our own, names on standard input
                ["git", *NO_PROGRAMS, *words],  # noqa: S607 - whichever git the user has
                cwd=self.root,
                env=env,
                input=given,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as fault:
            raise GitFailedError(f"git {words[0]}: {fault}") from fault
        if done.returncode not in codes:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitFailedError(f"git {words[0]}: {lines[-1] if lines else done.returncode}")
        return done.stdout

    def list_ignored(self, paths: Sequence[str]) -> set[str]:
        """Return those of some relative paths that git ignores; folders have a slash behind.

        What is in the index is not ignored. git itself would compare each path with the whole index, so that it is
        asked without, and then for the few that are left.
        """
        given = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
        output = self.run("check-ignore", "--no-index", "-z", "--stdin", given=given, codes=(0, 1))
        ignored = {os.fsdecode(name[2:]) for name in output.split(b"\0") if name}
        for path in self.list_tracked([name.rstrip("/") for name in ignored]):
            ignored.discard(path)
            for at, char in enumerate(path):
                if char == "/":
                    ignored.discard(path[: at + 1])
        return ignored

    def list_ids(self) -> dict[str, str]:
        """Return the id in the index of every file in it; of conflicts none."""
        ids: dict[str, str] = {}
        for line in self.run("ls-files", "-s", "-z").split(b"\0"):
            about, _, name = line.partition(b"\t")
            words = about.split()
            if len(words) == 3 and words[2] == b"0" and len(words[1]) == ID:  # noqa: PLR2004 - mode, id, stage
                ids[os.fsdecode(name)] = words[1].decode()
        return ids

    def list_tracked(self, paths: Sequence[str]) -> set[str]:
        """Return the files of the index at some paths, and below them; of many paths, all there are."""
        if not self.directory or not paths:
            return set()
        words = [f":(literal){path}" for path in paths] if len(paths) <= FEW else []
        return {os.fsdecode(name) for name in self.run("ls-files", "-z", "--", *words).split(b"\0") if name}

    def list_sparse(self) -> set[str]:
        """Return the files of the index that are kept out of the working tree."""
        lines = self.run("ls-files", "-t", "-z").split(b"\0")
        return {os.fsdecode(line[2:]) for line in lines if line.startswith(b"S ")}

    @property
    def sparse(self) -> bool:
        """Whether files of the index may be kept out of the working tree."""
        return bool(self.directory) and os.path.exists(os.path.join(self.directory, "info", "sparse-checkout"))

    def list_missing(self, ids: Iterable[str]) -> set[str]:
        """Return those of some ids whose object is gone."""
        given = "".join(f"{object_id}\n" for object_id in ids).encode()
        lines = self.run("cat-file", "--batch-check", given=given).splitlines() if given else []
        return {line.split()[0].decode() for line in lines if line.endswith(b" missing")}

    def read_blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield contents by id; None for one that is not there."""
        asked = list(ids)
        for start in range(0, len(asked), AT_ONCE):  # what git prints of them is held at once
            yield from self._read_some_blobs(asked[start : start + AT_ONCE])

    def _read_some_blobs(self, asked: Sequence[str]) -> Iterator[tuple[str, bytes | None]]:
        data = self.run("cat-file", "--batch", given="".join(f"{object_id}\n" for object_id in asked).encode())
        at = 0
        for object_id in asked:
            end = data.find(b"\n", at)
            words = data[at:end].split()
            if len(words) == 3 and words[1] == b"blob":  # noqa: PLR2004 - id, type, size
                size = int(words[2])
                yield object_id, data[end + 1 : end + 1 + size]
                at = end + 1 + size + 1
            else:
                yield object_id, None
                at = end + 1 if len(words) < 3 else end + 2 + int(words[2])  # noqa: PLR2004

    def can_give(self) -> bool:
        """Return whether contents may be had from its objects: not where they would be fetched from elsewhere."""
        if not self.directory:
            return False
        settings = _read_small(os.path.join(self.common, "config")).lower()
        return b"partialclone" not in settings and b"promisor" not in settings

    def sign_objects(self) -> str:
        """Return what changes when objects are packed or pruned; empty without a repository."""
        if not self.directory:
            return ""
        return _sign(os.path.join(self.common, "objects", "pack"))

    def sign_rules(self, environment: Mapping[str, str]) -> list[str]:
        """Return what changes when ignore rules outside of the directory change."""
        home = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME") or "/", ".config")
        places = [os.path.join(home, "git", "ignore")]
        if self.directory:
            places.append(os.path.join(self.common, "info", "exclude"))
            folder = os.path.dirname(self.root)
            while len(folder) >= len(self.top):
                places.append(os.path.join(folder, ".gitignore"))
                folder, last = os.path.dirname(folder), folder
                if folder == last:
                    break
        return [self.directory, *(_sign(place) for place in places)]

    def read_head(self) -> list[str | int]:
        """Return where HEAD is: its text, and how long its log is."""
        if not self.directory:
            return ["", 0]
        head = _read_small(os.path.join(self.directory, "HEAD"))
        try:
            size = os.stat(os.path.join(self.directory, "logs", "HEAD")).st_size
        except OSError:
            size = 0
        return [head.decode("utf-8", "replace").strip(), size]

    def read_movement(self, before: Sequence[str | int]) -> str:
        """Return what the log of HEAD says of its movement since: the last that changed files, or else the last.

        Empty if there was none.
        """
        now = self.read_head()
        if now == list(before) or not self.directory:
            return ""
        start, end = int(before[1]), int(now[1])
        place = os.path.join(self.directory, "logs", "HEAD")
        log = _read_small(place, max(start, end - SMALL)) if end > start else b""
        lines = [line.partition(b"\t")[2].decode("utf-8", "replace") for line in log.splitlines()]
        moving = [line for line in lines if not line.startswith(NO_FILES)]
        return (moving or lines or [""])[-1] or f"HEAD moved to {now[0]}"

    def wait_for_lock(self) -> bool:
        """Wait a moment for git to finish writing; return whether it still is."""
        lock = os.path.join(self.directory, "index.lock")
        end = time.monotonic() + LOCK_SECONDS
        while self.directory and os.path.lexists(lock):
            if time.monotonic() > end:
                return True
            time.sleep(POLL)
        return False


def find_git_top(start: str) -> str:
    """Return the top of the working tree that a directory lies in; empty if it lies in none."""
    return _find_directory(start)[0]


def _find_directory(root: str) -> tuple[str, str]:
    """Return the top of the working tree around a directory, and git's directory for it."""
    folder = root
    while True:
        place = os.path.join(folder, ".git")
        try:
            status = os.stat(place)
        except OSError:
            status = None
        if status is not None and stat.S_ISDIR(status.st_mode) and os.path.exists(os.path.join(place, "HEAD")):
            return folder, place
        if status is not None and stat.S_ISREG(status.st_mode):
            said = _read_small(place).decode("utf-8", "surrogateescape")
            target = os.path.join(folder, said.removeprefix("gitdir:").strip())
            return (folder, os.path.normpath(target)) if os.path.isdir(target) else ("", "")
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return "", ""


def _find_common(directory: str) -> str:
    said = _read_small(os.path.join(directory, "commondir")).decode("utf-8", "surrogateescape").strip()
    return os.path.normpath(os.path.join(directory, said)) if said else directory


def _make_empty(place: str) -> str:
    if not os.path.exists(os.path.join(place, "config")):
        for name in ("objects", "refs"):
            os.makedirs(os.path.join(place, name), 0o700, exist_ok=True)
        for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", "[core]\n\trepositoryformatversion = 0\n")):
            with open(os.path.join(place, name), "w", encoding="ascii") as file:
                file.write(text)
    return place


def _read_small(place: str, start: int = 0) -> bytes:
    """Return some bytes of a file of git's; nothing for what is no file, and never waiting for one."""
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            file.seek(start)
            return file.read(SMALL)
    except OSError:
        return b""


def _sign(place: str) -> str:
    try:
        status = os.stat(place)
    except OSError:
        return ""
    return f"{status.st_ctime_ns}.{status.st_mtime_ns}.{status.st_ino}.{status.st_size}"
