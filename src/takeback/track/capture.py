"""Captures: before a tool runs, after it, at a prompt, and whenever something may have changed.

Each is one look and one synced transaction: the contents that are new, one intake row, the cache. A capture never
fails a tool call: failures are reported. Rows become journal entries later, when they are settled. Imported by
hooks, so that it imports little.
"""

from __future__ import annotations

import json
import os
import stat
import time

from takeback.track.cache import DIGEST, FACTS, NO_DIGEST, OWNED, SEEN, BadCacheError, Folder
from takeback.track.call import Call, CaptureResult
from takeback.track.content_sink import MANY, WHY_FULL, WHY_MUCH, ContentSink
from takeback.track.database import (
    TRACK,
    BrokenTrackError,
    CannotSealError,
    Database,
    TrackError,
    hold_lock,
    read_setup,
    write_setup,
)
from takeback.track.git import NO_FILES, GitFailedError, Repository
from takeback.track.rules import UNKNOWN, Rules, read_settings
from takeback.track.scan import FoundChange, Scan

try:  # see `takeback.track.database`
    import _sqlite3 as sqlite3
except ImportError:
    import sqlite3  # type: ignore[no-redef]

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from takeback.track.reader import Entry

MANIFESTS = ("takeback.toml", ".takeback/manifest.toml")
SECONDS = 8.0
"""So long a capture reads at most: a client ends a hook that takes longer, and then nothing is stored."""
BACK = 1_000_000_000
"""So much the clock may go back before nothing that the cache says is believed."""
STALE = 6 * 3600 * 1_000_000_000
"""A call that began so long ago has ended without anybody's telling."""
LISTED = 1000
BATCH = 1000
FAILED = "the project's files could not be captured"


def capture_before(root: str, call: Call, environment: Mapping[str, str], *, ending: bool = False) -> CaptureResult:
    """Store what changed since the last look, before a tool can destroy it, and note that the tool begins."""
    return _capture(root, call, environment, "before", ending=ending)


def capture_after(root: str, call: Call, environment: Mapping[str, str], *, ending: bool = False) -> CaptureResult:
    """Store what changed while a tool ran."""
    return _capture(root, call, environment, "after", ending=ending)


def capture_found(
    root: str, call: Call, environment: Mapping[str, str], *, over: bool = False, ending: bool = False
) -> CaptureResult:
    """Store what changed by other ways; `over` says that no call of the session is under way any more."""
    return _capture(root, call, environment, "over" if over else "found", ending=ending)


def capture_prompt(
    root: str, call: Call, line: str, environment: Mapping[str, str], *, ending: bool = False
) -> CaptureResult:
    """Store what changed until a person's prompt, and the prompt's first line, as it may be shown."""
    return _capture(root, call, environment, "prompt", line=line, ending=ending)


def begin_tracking(
    root: str,
    settings: Mapping[str, Any],
    environment: Mapping[str, str],
    *,
    owned: tuple[Sequence[str], Sequence[str]] = ((), ()),
    sealed: bool = False,
    seal: str = "",
    anew: bool = False,
) -> None:
    """Take a project in as it is: a cache of everything, and the contents that git does not have.

    `anew` says that it was tracked before, and that what is known of that is to be compared with what is there.
    Raises `TrackError` where git does not say what it ignores: nothing is guessed at the beginning.
    """
    with hold_lock(root, 60.0) as clock:
        if _is_begun(root):
            return
        _set_aside(root)
        database = Database(root, create=True)
        try:
            setup: dict[str, Any] = {"settings": dict(settings), "owned": [list(owned[0]), list(owned[1])]}
            setup |= {"sealed": sealed, "seal": seal}
            write_setup(root, setup)
            database.set_up(setup)
            _Capture(root, database, environment, clock).take_in(
                _describe_anew("was lost") if anew else "", strict=True
            )
        finally:
            database.close()


def _describe_anew(why: str) -> str:
    return f"{TRACK} {why}: tracking begins anew here, and what changed since the last look is not known"


def take_as_written(
    root: str,
    database: Database,
    environment: Mapping[str, str],
    clock: int,
    paths: Sequence[str],
    ids: dict[str, str] | None = None,
) -> dict[str, str] | None:
    """Take files into the cache as they are now, as nobody's change; their contents are stored.

    `ids` are those of git's index, where they are known already; what is known then is returned.
    """
    return _Capture(root, database, environment, clock).take_written(paths, ids)


def read_facts(database: Database, folder: Folder, name: str) -> tuple[Any, ...] | None:
    """Return kind, mode, size and digest of a file as the cache has it; None if it is not tracked."""
    if name not in folder.names:
        return None
    at = folder.names.index(name)
    numbers = tuple(column[at] for column in folder.columns)
    facts = database.load_facts(folder.id)[at * FACTS : (at + 1) * FACTS]
    if numbers[4] & OWNED:
        return None
    return _facts((*numbers, facts[:DIGEST], facts[DIGEST:]))  # type: ignore[arg-type]


def _capture(
    root: str, call: Call, environment: Mapping[str, str], when: str, *, line: str = "", ending: bool = False
) -> CaptureResult:
    """Capture once; what fails is said, never raised."""
    result = CaptureResult()
    try:
        with hold_lock(root) as clock:
            database = _open(root, environment, clock, result)
            try:
                _Capture(root, database, environment, clock).run(call, when, line, result)
            except (BadCacheError, sqlite3.DatabaseError) as fault:
                if isinstance(fault, sqlite3.DatabaseError) and type(fault) is not sqlite3.DatabaseError:
                    raise  # a busy or full database is a good one, as is one that we used wrongly
                database.close()
                database = _begin_anew(root, environment, clock, result, "held what is no cache")
            finally:
                if not ending:  # the last to close writes everything back, which a client need not wait for
                    database.close()
    except (TrackError, OSError, sqlite3.Error, GitFailedError, BadCacheError) as fault:
        result.said.append(f"{FAILED}: {fault}")
        result.owned_changed = True
    return result


def _open(root: str, environment: Mapping[str, str], clock: int, result: CaptureResult) -> Database:
    """Open a project's database; begin anew where it is gone or no database any more, and say so."""
    place = os.path.join(root, TRACK)
    why = "was not there"
    try:
        database = Database(root)
        database.load_folder("")
        _require_finished(database)
    except BadCacheError:
        why = "held what is no cache"
    except BrokenTrackError as fault:
        why = str(fault) if str(fault).startswith("was ") else "was no database any more"
    except TrackError:
        if os.path.lexists(place):
            raise
    else:
        return database
    return _begin_anew(root, environment, clock, result, why)


def _begin_anew(root: str, environment: Mapping[str, str], clock: int, result: CaptureResult, why: str) -> Database:
    """Put a database that is none any more aside, take everything in as it is, and say so."""
    setup = read_setup(root)
    _set_aside(root)
    database = Database(root, create=True)
    note = _describe_anew(why)
    database.set_up(setup)
    _Capture(root, database, environment, clock).take_in(note)
    result.said.append(note)
    return database


def _is_begun(root: str) -> bool:
    """Return whether a project was taken in before."""
    try:
        database = Database(root)
    except TrackError:
        return False
    database.close()
    return "looked" in database.meta


def _set_aside(root: str) -> None:
    """Give a database that is none any more, or was never finished, another name."""
    place = os.path.join(root, TRACK)
    for ending in ("-wal", "-shm", ""):
        if os.path.lexists(place + ending):
            os.rename(place + ending, f"{place}.broken{ending}")


def _require_finished(database: Database) -> None:
    if "looked" not in database.meta:
        database.close()
        raise BrokenTrackError("was begun and not finished")


class _Capture:
    """One capture of one project."""

    def __init__(self, root: str, database: Database, environment: Mapping[str, str], clock: int) -> None:
        self.root, self.database, self.environment, self.clock = root, database, environment, clock
        self.repository = Repository(root, environment)
        self.meta = database.meta
        self.notes: list[str] = []
        self.unkept: list[tuple[str, str]] = []
        self.more_unkept = 0
        self.count = 0
        self.row = 0
        self._deltas: list[Sequence[Any]] = []
        self._sparse: set[str] | None = None
        self._new_meta: dict[str, Any] = {}
        self.contents = ContentSink(database, root, clock)

    # what is looked at

    def take_in(self, note: str = "", *, strict: bool = False) -> None:
        """Take everything in as it is now, as nobody's change; `strict` refuses what could not be found out."""
        self._read_manifest()
        scan = self._begin_scan({}, relist=False, reread=False)
        self.contents.take_all(packing=True)
        try:
            scan.walk()
            scan.load_ids()
            with self.database.transaction(synced=True):
                for change in scan.read(self.contents.keep):
                    if strict and change.why.startswith("it must be sealed"):
                        raise TrackError(f"{change.path}: {change.why}")
                if strict and any(note.startswith(UNKNOWN) for note in scan.notes):
                    raise TrackError(next(note for note in scan.notes if note.startswith(UNKNOWN)))
                self.contents.flush()
                self._save(scan)
                self._note_look()
                if note:
                    self.notes.append(note)
                    self.row = self.database.next_row()
                    self._add_row("found", Call("", said={"anew": "yes"}), self.clock, "")
        finally:
            scan.close()

    def take_written(self, paths: Sequence[str], ids: dict[str, str] | None) -> dict[str, str] | None:
        """Take some files in as they are now, as nobody's change; return git's ids, where they were asked for."""
        scan = self._begin_scan(self._load_some(paths), relist=False, reread=False)
        scan.reader.ids = ids
        try:
            scan.look_at(paths)
            self.contents.take_all(packing=len(paths) > MANY)
            with self.database.transaction(synced=True):
                for change in scan.read(self.contents.keep):
                    old, new = change.old, change.new
                    if old is not None and old[6] != NO_DIGEST and (new is None or new[5] != old[5]):
                        self.database.put_git_id(old[5], old[3], old[6], self.clock)
                self.contents.flush()
                self._save(scan)
            return scan.reader.ids
        finally:
            scan.close()

    def run(self, call: Call, when: str, line: str, result: CaptureResult) -> None:
        """Look, and write what was found."""
        whole = call.paths is None
        relist = self._read_manifest() or bool(self.meta.get("rejudge"))
        moved = ""
        if whole:
            if self.repository.wait_for_lock():
                self.notes.append("git was at work meanwhile (index.lock)")
            moved = self.repository.read_movement(self.meta.get("head", ["", 0]))
            relist = relist or self.repository.sign_rules(self.environment) != self.meta.get("rules")
        folders = self.database.load_folders() if whole else self._load_some(call.paths or ())
        reread = whole and self._is_doubtful()
        scan = self._begin_scan(folders, relist=whole and relist, reread=reread)
        try:
            if whole:
                scan.walk()
                if not relist and scan.has_other_rules():
                    scan.close()
                    scan = self._begin_scan(self.database.load_folders(), relist=True, reread=reread)
                    scan.walk()
                self._distrust(scan)
                scan.take_ended(self.meta.get("nested", ()))
            else:
                scan.look_at(call.paths or ())
            self.contents.take_some(packing=scan.count() > MANY)
            scan.reader.end = time.monotonic() + SECONDS
            with self.database.transaction(synced=scan.count() > 0 or when == "prompt"):
                self._write(scan, call, when, moved, line)
                if whole:
                    self._note_look()
            result.owned_changed = scan.owned_changed
            result.row = self.row if self.count else 0
            self._tell(result)
        finally:
            scan.close()

    def _begin_scan(self, folders: dict[str, Folder], *, relist: bool, reread: bool) -> Scan:
        owned = self.meta.get("owned", [[], []])
        rules = Rules(self.meta.get("settings", {}), self.repository, (owned[0], owned[1]))
        database = self.database
        return Scan(
            self.root, rules, self.clock, folders, database.load_facts, database.digest, relist=relist, reread=reread
        )

    def _load_some(self, paths: Sequence[str]) -> dict[str, Folder]:
        """Return the folders above some paths, as far as they are known."""
        above: set[str] = set()
        for folder in {path.rpartition("/")[0] for path in paths}:
            steps = folder.split("/")
            above.update("/".join(steps[:depth]) for depth in range(len(steps) + 1))
        folders = ((name, self.database.load_folder(name)) for name in sorted(above))
        return {name: folder for name, folder in folders if folder is not None}

    def _read_manifest(self) -> bool:
        """Take over what the manifest says of tracking, where it changed; return whether that may change what is."""
        signs = sign_manifests(self.root)
        if signs == self.meta.get("manifest"):
            return False
        self._new_meta["manifest"] = signs
        try:
            table = _read_track_table(self.root)
            settings = self.meta.get("settings", {}) if table is None else read_settings(table)
        except ValueError as fault:
            self.notes.append(f"[track] of the manifest is not heeded: {fault}")
            return False
        changed: bool = settings != self.meta.get("settings")
        self.meta["settings"] = self._new_meta["settings"] = settings
        return changed

    def _is_doubtful(self) -> bool:
        """Return whether nothing that the cache says of times may be believed."""
        import sys  # noqa: PLC0415 - there already

        status = os.stat(self.root)
        return (
            self.meta.get("place") != [status.st_dev, status.st_ino]
            or self.meta.get("order") != sys.byteorder
            or int(self.meta.get("looked", 0)) > self.clock + BACK
            or self.meta.get("settings", {}).get("trust") == "content"
        )

    def _distrust(self, scan: Scan) -> None:
        """Have files read again whose contents git no longer has, while they still stand there."""
        sign = self.repository.sign_objects()
        if sign == self.meta.get("objects", ""):
            return
        self._new_meta["objects"] = sign
        held: dict[str, list[tuple[str, int]]] = {}
        by_number = {folder.id: folder.path for folder in scan.folders.values()}
        for number, body in self.database.iterate("SELECT id, body FROM facts"):
            for at in range(0, len(body), FACTS):
                name = body[at + DIGEST : at + FACTS]
                if name != NO_DIGEST and number in by_number:
                    held.setdefault(name.hex(), []).append((by_number[number], at // FACTS))
        gone = self.repository.list_missing(held) if self.repository.can_give() else set(held)
        scan.reader.distrusted = gone
        for name in gone:
            for path, at in held[name]:
                names = scan.folders[path].names
                if at < len(names) and names[at] not in scan.suspects.setdefault(path, []):
                    scan.suspects[path].append(names[at])

    # what is written

    def _write(self, scan: Scan, call: Call, when: str, moved: str, line: str) -> None:
        self.row = self.database.next_row()
        for change in scan.read(self.contents.keep):
            self._take(change)
        self.contents.flush()
        self._flush_deltas()
        self._save(scan)
        self.notes += scan.notes
        is_call = when == "after"
        began = self._find_beginning(call, when)
        if self.count or (moved and is_call):
            by_git = bool(moved) and not moved.startswith(NO_FILES)
            kind = "git" if by_git and self.count else "call" if is_call else "found"
            running = [] if is_call else self.database.run("SELECT tool, call FROM calls ORDER BY began")[:LISTED]
            self.notes += [f"found changed; {tool} {name} may still run" for tool, name in running]
            self._add_row(kind, call if is_call else Call(call.client, call.session), began, call.mask(moved))
            self.count = max(self.count, 1)
        if when == "before":
            self.database.run(
                "INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?)",
                (call.session, call.call, call.client, call.tool, self.clock),
            )
        if when == "prompt":
            self.database.run(
                "INSERT INTO prompts (client, session, line, at) VALUES (?, ?, ?, ?)",
                (call.client, call.session, line, self.clock),
            )

    def _take(self, change: FoundChange) -> None:
        """Count one change, unless nothing differs or nobody made it."""
        old, new = change.old, change.new
        if old is not None and old[6] != NO_DIGEST and (new is None or new[5] != old[5]):
            self.database.put_git_id(old[5], old[3], old[6], self.clock)
        same = change.known and _facts(old) == _facts(new)
        read = new is not None and new[5] != NO_DIGEST
        if change.why and not (same and read):  # what was read again and is as it was is no change
            self._note_unkept(change.path, change.why)
        if change.entering or same:
            return
        if new is None and self.repository.sparse and change.path in self._list_sparse():
            self.notes.append(f"{change.path}: kept out of the working tree by git (sparse checkout)")
            return
        before = _facts(old) if change.known else (None,) * 4
        self.count += 1
        self._deltas.append((os.fsencode(change.path), int(change.known), *before, *_facts(new)))
        if len(self._deltas) >= BATCH:
            self._flush_deltas()

    def _note_unkept(self, path: str, why: str) -> None:
        if len(self.unkept) < LISTED:
            self.unkept.append((path, why))
        else:
            self.more_unkept += 1

    def _list_sparse(self) -> set[str]:
        if self._sparse is None:
            try:
                self._sparse = self.repository.list_sparse()
            except GitFailedError:
                self._sparse = set()
        return self._sparse

    def _flush_deltas(self) -> None:
        self.database.add_deltas(self.row, self._deltas)
        self._deltas = []

    def _save(self, scan: Scan) -> None:
        for folder in scan.lost:
            if folder.id:
                self.database.drop_folder(folder)
        lost = set(map(id, scan.lost))
        for path in scan.changed:
            if path in scan.folders and id(scan.folders[path]) not in lost:
                self.database.save_folder(scan.folders[path])
        for name, value in self._new_meta.items():
            self.database.set(name, value)
        if self.meta.get("rejudge"):
            self.database.set("rejudge", False)
        if scan.nested or scan.ended:
            known = {*self.meta.get("nested", ())}.difference(scan.ended)
            self.database.set("nested", sorted(known.union(scan.nested))[:LISTED])

    def _note_look(self) -> None:
        """Note what this look rested on, as far as it differs from the last one's."""
        status = os.stat(self.root)
        now = {
            "place": [status.st_dev, status.st_ino],
            "head": self.repository.read_head(),
            "rules": self.repository.sign_rules(self.environment),
            "looked": self.clock,
        }
        if "objects" not in self.meta:
            now["objects"] = self.repository.sign_objects()
        for name, value in now.items():
            if self.meta.get(name) != value:
                self.database.set(name, value)

    def _find_beginning(self, call: Call, when: str) -> int:
        """Return when what was found began, and take off the notes of calls that are over."""
        looked = int(self.meta.get("looked", 0))
        if when == "after":
            rows = self.database.run(
                "SELECT began FROM calls WHERE session = ? AND call = ?", (call.session, call.call)
            )
            if not call.lasting:
                self.database.end_call(call.session, call.call)
            if not rows:
                self.notes.append("no look before the call: changes since the last look may be older than it")
            return int(rows[0][0]) if rows else looked
        if when in {"over", "prompt"}:
            self.database.run("DELETE FROM calls WHERE session = ?", (call.session,))
        return looked

    def _add_row(self, kind: str, call: Call, began: int, moved: str) -> None:
        prompts = self.database.run(
            "SELECT max(number) FROM prompts WHERE client = ? AND session = ?", (call.client, call.session)
        )
        if self.more_unkept:
            self.notes.append(f"and {self.more_unkept} more files whose contents are not kept")
        about = {
            "beside": self._list_beside(call, began),
            "git": moved,
            "unkept": self.unkept,
            "notes": list(dict.fromkeys(self.notes))[:LISTED],
            "said": call.said,
        }
        unkept = {path for path, _ in self.unkept}
        edits = [edit for edit in call.edits if edit[0] not in unkept]
        row = {
            "number": self.row,
            "kind": kind,
            "client": call.client,
            "session": call.session,
            "call": call.call,
            "tool": call.tool,
            "command": call.command,
            "prompt": prompts[0][0] if kind != "found" else None,
            "began": began,
            "ended": self.clock,
            "told": json.dumps(about),
            "edits": self._write_edits(edits) if edits else None,
        }
        self.database.add_row(row)

    def _write_edits(self, edits: Sequence[tuple[str, str, str]]) -> bytes | None:
        try:
            return self.database.write_private(json.dumps(edits))
        except CannotSealError:
            return None

    def _list_beside(self, call: Call, began: int) -> list[str]:
        """Return the calls that were under way between a time and now, without the call itself."""
        rows = self.database.run(
            "SELECT tool, session, call FROM calls WHERE began > ? AND NOT (session = ? AND call = ?) UNION "
            "SELECT tool, session, call FROM intake WHERE kind <> 'found' AND ended > ? AND NOT "
            "(session = ? AND call = ?)",
            (self.clock - STALE, call.session, call.call, began, call.session, call.call),
        )
        return [f"{tool} {session}/{name}" for tool, session, name in rows][:LISTED]

    def _tell(self, result: CaptureResult) -> None:
        if any(why == WHY_FULL for _, why in self.unkept):
            result.said.append(f"{WHY_FULL} ({len(self.unkept) + self.more_unkept} files)")
        result.said += [note for note in self.notes if note.startswith("[track]")]
        result.said += sorted({why for _, why in self.unkept if why == WHY_MUCH or "sealed" in why})


def _facts(entry: Entry | None) -> tuple[Any, ...]:
    """Return kind, mode, size and digest of an entry, as a row has them."""
    if entry is None:
        return (None,) * 4
    mode = entry[4] & 0xFFFFFFFF
    kind = "seen" if entry[4] & SEEN or entry[5] == NO_DIGEST else "link" if stat.S_ISLNK(mode) else "file"
    return kind, stat.S_IMODE(mode), entry[3], "" if entry[5] == NO_DIGEST else entry[5].hex()


def sign_manifests(root: str) -> list[list[int] | None]:
    """Return what changes when a project's manifest changes."""
    return [_sign(os.path.join(root, place)) for place in MANIFESTS]


def _sign(place: str) -> list[int] | None:
    try:
        status = os.stat(place, follow_symlinks=False)
    except OSError:
        return None
    return [status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size]


def _read_track_table(root: str) -> dict[str, Any] | None:
    """Return the table `track` of the project's manifest; None without a manifest. `ValueError` if it is broken."""
    import tomllib  # noqa: PLC0415 - only where the manifest changed

    for place in MANIFESTS:
        try:
            with open(os.path.join(root, place), "rb") as file:
                raw = tomllib.loads(file.read(1 << 20).decode())
        except OSError:
            continue
        table = raw.get("track", {})
        if not isinstance(table, dict):
            raise ValueError(f"{place}: found {table!r}, expected a table")  # noqa: TRY004 - what a reader gets
        return table
    return None
