"""What the track database keeps no longer: contents that neither the cache nor a row needs, beyond the bounds.

The oldest go first. Where unsettled rows alone hold more than the bound, the contents of the oldest rows go too, and
the rows say so. Imported by commands, not by hooks.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from takeback.track.cache import DIGEST, ENCODING, FACTS
from takeback.track.database import FRAME, GIT, Database
from takeback.track.rules import DEFAULT_SETTINGS

DAY = 86_400_000_000_000
WHY_GONE = "content dropped: unsettled rows held more than keep_bytes"


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
        content = database.get_content(digest)
        if content is None:
            continue
        if matches(content[1]):
            gone.append(digest)
        if frame is not None:
            apart.setdefault(frame, []).append((digest, content[1]))
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
