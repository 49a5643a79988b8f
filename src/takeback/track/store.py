"""What settling, undoing and showing need of the track database: rows, prompts, contents, facts.

Contents come from the store, then from git's objects; one whose digest is another's counts as missing. What our own
undo wrote is taken into the cache as it is, as nobody's change.

A row, one for each tool call or for what was found, is settled later into an entry of the journal. What neither the
cache nor a row needs is dropped beyond the bounds, the oldest first; where unsettled rows alone hold more than the
bound, the contents of the oldest rows go too, and the rows say so. Imported by commands, not by hooks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Self

from takeback.track.cache import DIGEST, ENCODING, FACTS, NO_DIGEST, OWNED, SECRET, SEEN
from takeback.track.call import Call
from takeback.track.capture import read_facts, sign_manifests, take_as_written
from takeback.track.database import FRAME, GIT, TOGETHER, TRACK, Database, hold_lock, write_setup
from takeback.track.git import GitFailedError, Repository
from takeback.track.rules import DEFAULT_SETTINGS

WRITTEN = 2000
"""So many files are taken in at once as they were written."""
__all__ = ["Call", "TrackStats", "TrackStore"]
DAY = 86_400_000_000_000
WHY_GONE = "content dropped: unsettled rows held more than keep_bytes"
FactsKind = Literal["file", "link", "seen"]
RowKind = Literal["call", "found", "git"]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file as it stood at a look."""

    kind: FactsKind
    """`seen` is a file whose content was not kept: a secret, a file above the cap, or no regular file."""
    mode: int
    size: int
    digest: str
    """Names the content: keyed BLAKE2b-160 in hex, of a link its target's; of a file that was not read, of its size
    and time, and empty where nothing is known."""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """One file that changed between two looks; None where it was not there."""

    path: str
    before: FileFacts | None
    after: FileFacts | None
    before_known: bool = True
    """Whether it is known what was there before; if not, `before` is None and says nothing."""


@dataclass(frozen=True, slots=True)
class IntakeRow:
    """Everything that one capture found, in the order of the numbers."""

    number: int
    kind: RowKind
    client: str
    session: str
    call: str
    tool: str
    command: str
    """The command of a shell call, masked."""
    prompt: int | None
    """The number of the prompt that it belongs to, for `TrackStore.prompt`."""
    began: int
    ended: int
    """Nanoseconds by the file system's clock."""
    beside: tuple[str, ...]
    """Other calls that were under way meanwhile, each as `tool session/call`."""
    git: str
    """What git's log of HEAD says of a movement meanwhile; empty if HEAD did not move."""
    edits: tuple[tuple[str, str, str], ...]
    """What an edit tool announced: path, text that is replaced, text in its place."""
    deltas: tuple[FileDelta, ...]
    unkept: tuple[tuple[str, str], ...]
    """Files whose content was not kept, and why."""
    notes: tuple[str, ...]
    said: Mapping[str, str] = field(default_factory=dict)
    """What was said of the call for its entry: `note`, `by`, `exit_code`."""


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A person's prompt: its first line, masked."""

    number: int
    client: str
    session: str
    text_first_line_masked: str
    time: int


@dataclass(frozen=True, slots=True)
class TrackStats:
    """How tracking stands."""

    files: int
    folders: int
    kept_by_git: int
    """Files whose content is only in git's objects."""
    secrets: tuple[str, ...]
    """Secrets that are seen, not kept."""
    unkept: int
    """Other files that are seen, not kept."""
    owned: int
    """Files of a client's adapter, which records them in its own way."""
    nested: tuple[str, ...]
    """Repositories and projects inside, which are left out."""
    contents: int
    stored_bytes: int
    """Bytes that the stored contents take up."""
    database_bytes: int
    growth_per_day: int
    """Bytes a day by which the stored contents grew in the last seven days."""
    rows: int
    """Rows that are not settled yet."""
    in_git: bool
    sealed: bool
    settings: Mapping[str, Any]


class TrackStore:
    """The track database of one project."""

    def __init__(self, root: str, database: Database, environment: Mapping[str, str]) -> None:
        self.root = root
        self._database = database
        self._environment = environment
        self._repository = Repository(root, environment)

    @classmethod
    def open(cls, root: str | os.PathLike[str], environment: Mapping[str, str] | None = None) -> Self:
        """Open the track database of a project; `TrackError` if it has none."""
        place = os.path.realpath(root)
        return cls(place, Database(place), environment or {"PATH": os.defpath})

    @property
    def identity(self) -> str:
        """What tells this database from every other one: numbers of rows mean something only beside it."""
        return self._database.digest(b"takeback: which database").hex()[:16]

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    # rows

    def rows(self) -> Iterator[IntakeRow]:
        """Yield the rows that are not settled yet, in order."""
        columns = ("kind", "client", "session", "call", "tool", "command", "prompt", "began", "ended")
        sql = f"SELECT told, edits, number, {', '.join(columns)} FROM intake ORDER BY number"  # noqa: S608 - our own
        for text, edits, number, *about in self._database.run(sql):
            said = json.loads(text)
            yield IntakeRow(
                number=number,
                **dict(zip(columns, about, strict=True)),
                beside=tuple(said["beside"]),
                git=said["git"],
                edits=self._read_edits(edits),
                deltas=tuple(self._read_deltas(number)),
                unkept=tuple((path, why) for path, why in said["unkept"]),
                notes=tuple(said["notes"]),
                said=said.get("said", {}),
            )

    def _read_edits(self, body: bytes | None) -> tuple[tuple[str, str, str], ...]:
        text = "" if body is None else self._database.read_private(body)
        return tuple((path, old, new) for path, old, new in json.loads(text)) if text else ()

    def _read_deltas(self, number: int) -> Iterator[FileDelta]:
        rows = self._database.iterate("SELECT * FROM deltas WHERE intake = ? ORDER BY path", (number,))
        for _, path, known, *facts in rows:
            before, after = (
                None if facts_of_side[0] is None else FileFacts(*facts_of_side)
                for facts_of_side in (facts[:4], facts[4:])
            )
            yield FileDelta(os.fsdecode(path), before, after, bool(known))

    def drop_rows(self, numbers: Iterable[int]) -> None:
        """Drop rows that were settled, and what is kept beyond the bounds."""
        dropped = [(number,) for number in numbers]
        with self._database.transaction(synced=True):
            self._database.run_many("DELETE FROM deltas WHERE intake = ?", dropped)
            self._database.run_many("DELETE FROM intake WHERE number = ?", dropped)
        self.trim()

    def prompt(self, number: int) -> PromptRow | None:
        """Return a prompt by its number."""
        rows = self._database.run("SELECT number, client, session, line, at FROM prompts WHERE number = ?", (number,))
        return PromptRow(*rows[0]) if rows else None

    def find_last_prompt(self, client: str, session: str) -> PromptRow | None:
        """Return the newest prompt of a client's session; None if there was none."""
        rows = self._database.run(
            "SELECT max(number) FROM prompts WHERE client = ? AND session = ?", (client, session)
        )
        return None if rows[0][0] is None else self.prompt(rows[0][0])

    # contents

    def content(self, digest: str) -> bytes | None:
        """Return a content by its digest; None if neither the store nor git has it."""
        return self.contents([digest]).get(digest)

    def contents(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Return many contents by their digests, asking git once; those that are not there are left out."""
        contents: dict[str, bytes] = {}
        by_git: dict[str, list[str]] = {}
        asked: dict[bytes, str] = {}
        for digest in digests:
            with suppress(ValueError):
                asked[bytes.fromhex(digest)] = digest
        unknown = set(asked.values())
        for raw, form, content in self._database.get_contents(list(asked)):
            digest = asked[raw]
            unknown.discard(digest)
            if form == GIT:
                by_git.setdefault(content.hex(), []).append(digest)
            else:
                contents[digest] = content
        for digest, name in self._find_ids(unknown):
            by_git.setdefault(name, []).append(digest)
        if by_git and self._repository.there:
            with suppress(GitFailedError):
                for name, data in self._repository.read_blobs(by_git):
                    for digest in by_git[name]:
                        if data is not None and self._database.digest(data).hex() == digest:
                            contents[digest] = data
        return contents

    def _find_ids(self, digests: set[str]) -> Iterator[tuple[str, str]]:
        """Yield git's ids of contents that only the cache knows."""
        if not digests:
            return
        wanted = {bytes.fromhex(digest) for digest in digests}
        for (body,) in self._database.iterate("SELECT body FROM facts"):
            for at in range(0, len(body), FACTS):
                name = body[at + DIGEST : at + FACTS]
                if body[at : at + DIGEST] in wanted and name != NO_DIGEST:
                    yield body[at : at + DIGEST].hex(), name.hex()

    def facts(self, path: str) -> FileFacts | None:
        """Return what the cache says of a file; None if it is not tracked, or not there."""
        folder = self._database.load_folder(path.rpartition("/")[0])
        entry = None if folder is None else read_facts(self._database, folder, path.rpartition("/")[2])
        if entry is None or entry[0] is None:
            return None
        return FileFacts(*entry)

    def list_facts(self) -> Iterator[tuple[str, FileFacts]]:
        """Yield every tracked file, and what the cache says of it."""
        for path, folder in self._database.load_folders().items():
            for name in folder.names:
                entry = read_facts(self._database, folder, name)
                if entry is not None and entry[0] is not None:
                    yield f"{path}/{name}" if path else name, FileFacts(*entry)

    def digest(self, content: bytes) -> str:
        """Return the digest that names a content here."""
        return self._database.digest(content).hex()

    def list_paths(self) -> Iterator[str]:
        """Yield the paths of all tracked files."""
        for path, folder in self._database.load_folders().items():
            for name, mode in zip(folder.names, folder.columns[4], strict=True):
                if not mode & OWNED:
                    yield f"{path}/{name}" if path else name

    def list_unavailable(self) -> list[str]:
        """Return the tracked files whose last known content can be had from nowhere but the working tree."""
        stored = {
            digest for (digest,) in self._database.iterate("SELECT digest FROM contents WHERE form <> ?", (GIT,))
        }
        by_git: dict[str, list[str]] = {}
        lacking: list[str] = []
        for path, folder in self._database.load_folders().items():
            facts = self._database.load_facts(folder.id)
            for at, (name, mode) in enumerate(zip(folder.names, folder.columns[4], strict=True)):
                digest, git = facts[at * FACTS : at * FACTS + DIGEST], facts[at * FACTS + DIGEST : (at + 1) * FACTS]
                place = f"{path}/{name}" if path else name
                if mode & (SEEN | OWNED) or digest in stored:
                    continue
                if git == NO_DIGEST:
                    lacking.append(place)
                else:
                    by_git.setdefault(git.hex(), []).append(place)
        try:
            gone = self._repository.list_missing(by_git) if self._repository.there else set(by_git)
        except GitFailedError:
            gone = set(by_git)
        return sorted([*lacking, *(path for name in gone for path in by_git[name])])

    # what others tell

    def note_written(self, paths: Iterable[str]) -> None:
        """Take files that our own undo wrote or removed into the cache as they are now, as nobody's change."""
        every = iter(paths)
        ids: dict[str, str] | None = None
        while some := list(islice(every, WRITTEN)):
            with hold_lock(self.root) as clock:
                ids = take_as_written(self.root, self._database, self._environment, clock, some, ids)

    def note_writing(self, folders: Iterable[str]) -> None:
        """Note the folders in which files are about to be written; none once they are."""
        listed = sorted(set(folders))
        if listed != self.list_writing():
            with self._database.transaction(synced=True):
                self._database.set("writing", listed)
            self._database.meta["writing"] = listed

    def list_writing(self) -> list[str]:
        """Return the folders in which a process may have left temporary files."""
        return list(self._database.meta.get("writing", ()))

    @property
    def owned(self) -> tuple[Sequence[str], Sequence[str]]:
        """The paths and the patterns of the files that belong to a client's adapter."""
        paths, patterns = self._database.meta.get("owned", [[], []])
        return paths, patterns

    def set_owned(self, paths: Iterable[str], patterns: Iterable[str] = ()) -> None:
        """Say which files belong to a client's adapter: they are not taken in, and their change is only told."""
        owned = [sorted(set(paths)), sorted(set(patterns))]
        if owned == self._database.meta.get("owned"):
            return
        with self._database.transaction(synced=True):
            self._database.set("owned", owned)
            self._database.set("rejudge", True)
        self._database.meta |= {"owned": owned, "rejudge": True}
        meta = self._database.meta
        write_setup(self.root, {name: meta.get(name) for name in ("settings", "owned", "sealed", "seal")})

    def forget_call(self, session: str, call: str) -> None:
        """Forget that a call began: it is not made."""
        with self._database.transaction(synced=False):
            self._database.end_call(session, call)

    def note_manifest(self) -> None:
        """Note that the manifest as it is now was heeded, so that no hook reads it again."""
        with self._database.transaction(synced=True):
            self._database.set("manifest", sign_manifests(self.root))

    def trim(self) -> int:
        """Drop contents that nothing needs and that are beyond the bounds; return how many."""
        with hold_lock(self.root) as clock:
            return drop_unneeded(self._database, clock)

    def forget(self, matches: Callable[[bytes], bool]) -> int:
        """Drop every stored content that matches, permanently; return how many. What git has stays git's."""
        with hold_lock(self.root) as clock:
            return drop_matching(self._database, matches, clock)

    def list_problems(self) -> list[str]:
        """Return what SQLite finds wrong with the database; nothing if it is whole."""
        return [line for (line,) in self._database.run("PRAGMA integrity_check(10)") if line != "ok"]

    def check_contents(self) -> tuple[int, list[str]]:
        """Return of how many files the content is kept, and those whose last known one cannot be had any more."""
        count, lost = 0, []
        kept = [(path, facts.digest) for path, facts in self.list_facts() if facts.kind != "seen" and facts.digest]
        for start in range(0, len(kept), TOGETHER):
            batch = kept[start : start + TOGETHER]
            stored = self.contents([digest for _, digest in batch])
            lost += [path for path, digest in batch if digest not in stored]
            count += len(batch)
        return count, lost

    def has_path(self, path: str) -> bool:
        """Tell whether a file or folder is tracked, whether it is there or not."""
        return self._database.load_folder(path) is not None or self.facts(path) is not None

    def stats(self) -> TrackStats:
        """Return how tracking stands."""
        files = owned = unkept = 0
        secrets: list[str] = []
        folders = self._database.load_folders()
        for path, folder in folders.items():
            for name, mode in zip(folder.names, folder.columns[4], strict=True):
                files += not mode & OWNED
                owned += bool(mode & OWNED)
                if mode & SEEN and mode & SECRET:
                    secrets.append(f"{path}/{name}" if path else name)
                elif mode & SEEN:
                    unkept += 1
        by_git = sum(
            body[at + DIGEST : at + FACTS] != NO_DIGEST
            for (body,) in self._database.iterate("SELECT body FROM facts")
            for at in range(0, len(body), FACTS)
        )
        meta = self._database.meta
        looked = int(meta.get("looked", 0))
        week = looked - 7 * 86_400_000_000_000
        [(contents, stored)] = self._database.run(
            "SELECT count(*), coalesce(sum(length(body)), 0) + (SELECT coalesce(sum(length(body)), 0) FROM frames) "
            "FROM contents WHERE form <> ?",
            (GIT,),
        )
        [(grown, first)] = self._database.run(
            "SELECT coalesce(sum(length(body)), 0), min(at) FROM contents WHERE at > ? AND body IS NOT NULL", (week,)
        )
        days = max(1.0, (looked - int(first or looked)) / 86_400_000_000_000)
        place = os.path.join(self.root, TRACK)
        return TrackStats(
            files=files,
            folders=len(folders),
            kept_by_git=by_git,
            secrets=tuple(sorted(secrets)),
            unkept=unkept,
            owned=owned,
            nested=tuple(meta.get("nested", ())),
            contents=contents,
            stored_bytes=stored,
            database_bytes=sum(os.path.getsize(place + end) for end in ("", "-wal") if os.path.exists(place + end)),
            growth_per_day=int(grown / days),
            rows=self._database.run("SELECT count(*) FROM intake")[0][0],
            in_git=self._repository.there,
            sealed=self._database.is_sealed,
            settings={**DEFAULT_SETTINGS, **meta.get("settings", {})},
        )


def drop_unneeded(database: Database, now: int) -> int:
    """Drop contents beyond the bounds of `[track]`; return how many."""
    settings = {**DEFAULT_SETTINGS, **database.meta.get("settings", {})}
    current = _list_current(database)
    held = _list_held(database)
    kept = 0
    dropped: list[bytes] = []
    rows = database.run("SELECT digest, size, at, form FROM contents WHERE form <> ? ORDER BY at DESC", (GIT,))
    for digest, size, at, _ in rows:
        kept += size
        needed = digest in current or digest in held
        if not needed and (kept > settings["keep_bytes"] or now - at > settings["keep_days"] * DAY):
            dropped.append(digest)
            kept -= size
    over = sum(size for digest, size, _, _ in rows if digest in held and digest not in current)
    with database.transaction(synced=True):
        if over > settings["keep_bytes"]:
            dropped += _drop_oldest_rows(database, over - settings["keep_bytes"], current)
        database.run_many("DELETE FROM contents WHERE digest = ?", [(digest,) for digest in dropped])
        database.run(
            "DELETE FROM frames WHERE number NOT IN (SELECT frame FROM contents WHERE form = ?)",
            (FRAME,),
        )
        database.run(
            "DELETE FROM prompts WHERE at < ? AND number NOT IN (SELECT prompt FROM intake WHERE prompt IS NOT NULL)",
            (now - settings["keep_days"] * DAY,),
        )
    return len(dropped)


def drop_matching(database: Database, matches: Callable[[bytes], bool], now: int) -> int:
    """Drop every content that matches, for good, and what edit tools announced with it; return how many went."""
    gone: list[bytes] = []
    apart: dict[int, list[tuple[bytes, bytes]]] = {}
    for digest, frame in database.run("SELECT digest, frame FROM contents WHERE form <> ?", (GIT,)):
        content = next((body for _, _, body in database.get_contents([digest])), None)
        if content is None:
            continue
        if matches(content):
            gone.append(digest)
        if frame is not None:
            apart.setdefault(frame, []).append((digest, content))
    dropped = set(gone)
    with database.transaction(synced=True):
        for contents in apart.values():
            if dropped.isdisjoint(digest for digest, _ in contents):
                continue
            for digest, data in contents:  # what was packed with it is stored by itself
                database.put_content(digest, data, now)
        database.run_many("DELETE FROM contents WHERE digest = ?", [(digest,) for digest in gone])
        database.run("DELETE FROM frames WHERE number NOT IN (SELECT frame FROM contents WHERE form = ?)", (FRAME,))
        for number, edits in database.run("SELECT number, edits FROM intake WHERE edits IS NOT NULL"):
            if matches(database.read_private(edits).encode(*ENCODING)):
                database.run("UPDATE intake SET edits = NULL WHERE number = ?", (number,))
    if gone:
        database.erase_deleted()
    return len(gone)


def _list_current(database: Database) -> set[bytes]:
    """Return the digests of what every tracked file holds now."""
    return {
        body[at : at + DIGEST]
        for (body,) in database.iterate("SELECT body FROM facts")
        for at in range(0, len(body), FACTS)
    }


def _list_held(database: Database) -> set[bytes]:
    """Return the digests that rows need."""
    rows = database.run("SELECT old_digest, new_digest FROM deltas")
    return {bytes.fromhex(digest) for pair in rows for digest in pair if digest}


def _drop_oldest_rows(database: Database, excess: int, current: set[bytes]) -> list[bytes]:
    """Give up contents of the oldest rows until enough is free; say so in the rows."""
    dropped: list[bytes] = []
    for number, text in database.run("SELECT number, told FROM intake ORDER BY number"):
        if excess <= 0:
            break
        said = json.loads(text)
        for path, old, new in database.run(
            "SELECT path, old_digest, new_digest FROM deltas WHERE intake = ?", (number,)
        ):
            for digest in (bytes.fromhex(digest) for digest in (old, new) if digest):
                sizes = database.run("SELECT size FROM contents WHERE digest = ? AND form <> ?", (digest, GIT))
                if sizes and digest not in current and digest not in dropped:
                    dropped.append(digest)
                    excess -= sizes[0][0]
                    said["unkept"].append((bytes(path).decode("utf-8", "surrogateescape"), WHY_GONE))
        database.run("UPDATE intake SET told = ? WHERE number = ?", (json.dumps(said), number))
    return dropped
