"""Ways to damage a journal: bits, columns, tables, lengths; seeded, so that a bad case can be made again."""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import closing
from pathlib import Path

TEXTS = (
    "",
    "x",
    "[]",
    "{}",
    "null",
    '{"touches": 5}',
    '{"contents": [1]}',
    '"',
    "0" * 64,
    "zz",
    "apply",
    "\x00",
    "é",
)
BYTES = (b"", b"\x00", b"\x00{}", b"\x01zz", b"\xff\xfe", b"x" * 5000)
VALUES = (None, 0, -1, 3, 2**62, 1.5, *TEXTS, *BYTES)


def damage(path: Path, seed: int) -> str:
    """Damage a closed SQLite journal in one way; says how."""
    rng = random.Random(seed)
    return rng.choice((_bits, _column, _column, _column, _column, _schema, _length))(path, rng)


def _bits(path: Path, rng: random.Random) -> str:
    raw = bytearray(path.read_bytes())
    places = [rng.randrange(len(raw)) for _ in range(rng.choice((1, 1, 3, 20)))]
    for place in places:
        raw[place] ^= 1 << rng.randrange(8)
    path.write_bytes(raw)
    return f"bits at {places[:5]}"


def _column(path: Path, rng: random.Random) -> str:
    with closing(sqlite3.connect(path)) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS records_no_{verb}")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = rng.choice(sorted(tables))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column, value = rng.choice(columns), rng.choice(VALUES)
        (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        if not count:
            return f"{table} is empty"
        skip = rng.randrange(count)
        key = ", ".join(row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5])
        chosen = connection.execute(f"SELECT {key} FROM {table} LIMIT 1 OFFSET {skip}").fetchone()
        where = " AND ".join(f"{name.strip()} IS ?" for name in key.split(","))
        verb = rng.random()
        try:
            if verb < 0.15:
                connection.execute(f"DELETE FROM {table} WHERE {where}", chosen)
                column = "(row deleted)"
            else:
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *chosen))
        except sqlite3.IntegrityError:
            return "refused by a constraint"
        connection.commit()
    return f"{table}.{column} of {chosen} = {value!r:.40}"


def _schema(path: Path, rng: random.Random) -> str:
    tables = (
        "records",
        "contents",
        "pieces",
        "touches",
        "touched_keys",
        "touched_buckets",
        "about",
        "schema_version",
    )
    table = rng.choice(tables)
    statement = rng.choice(
        (
            f"DROP TABLE {table}",
            f"DELETE FROM {table}",
            "UPDATE schema_version SET version = 2",
            "UPDATE about SET value = 'nonsense'",
            "INSERT INTO schema_version VALUES (77, 'x')",
            f"ALTER TABLE {table} RENAME TO gone",
            "DROP TABLE schema_version; CREATE TABLE schema_version AS SELECT 'three' AS version",
            "DROP TABLE about; CREATE TABLE about (name TEXT, value BLOB); INSERT INTO about VALUES ('sealed', 1)",
        )
    )
    with closing(sqlite3.connect(path)) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS records_no_{verb}")
        connection.executescript(statement)
    return statement


def _length(path: Path, rng: random.Random) -> str:
    size = path.stat().st_size
    cut = rng.choice((0, 1, 50, 100, 512, 4096, size // 2, size - 1, size - 4096, rng.randrange(size)))
    os.truncate(path, cut)
    return f"cut to {cut} of {size}"
