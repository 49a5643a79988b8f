"""One index of a journal's entries: full text over lines, prompts, commands, notes and authors; facts to filter by.

A SQLite database beside the journal, made anew whenever it does not fit the journal. It has masked text only, and
nothing of contents that were forgotten. Where the journal is sealed, cannot be written or has no directory, the
index is in memory. What becomes of an entry later (undone, live) is asked of the journal, not of the index.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from takeback.canonical import encode
from takeback.harness import Harness
from takeback.harness.attempts import SEARCH
from takeback.harness.entry_log import content_to_json, load_entry_writes
from takeback.harness.ledger import CHANGES
from takeback.harness.records import list_addresses, load_call, load_writes, with_evidence
from takeback.journal import ENTRY_KINDS, Record
from takeback.present.attempts import find_root
from takeback.present.entries import Filter, make_entry_namer
from takeback.secret_mask import is_revealing, mask_secrets, mask_text_secrets, reveal_secrets
from takeback.state import ABSENT, SURFACES
from takeback.state.chain import Link
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import Slot, find_containing_slot
from takeback.undo import SlotChange, Write

VERSION: Final = 3
BATCH: Final = 200
"""Records taken in at once."""
SHORT: Final = 3
"""The index finds words from this length on; shorter ones are looked for in the texts."""
FACETS: Final = ("by", "client", "session", "surface", "grade", "class")
_TABLES: Final = """
CREATE TABLE facts (seq INTEGER PRIMARY KEY, id TEXT, at TEXT, by TEXT, client TEXT, session TEXT, surface TEXT,
  grade TEXT, class TEXT, forced INTEGER, failed INTEGER, headline TEXT, added INTEGER, removed INTEGER,
  kind TEXT, place INTEGER, body TEXT);
CREATE TABLE about (last INTEGER, digest TEXT);
INSERT INTO about VALUES (0, '');
"""
_WORDS: Final = (
    "CREATE VIRTUAL TABLE words USING fts5(body, content='facts', content_rowid='seq', tokenize='trigram')"
)


class SearchIndex:
    """The index of one harness; one thread at a time uses it."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._named = make_entry_namer(harness)
        self._place = _find_place(harness)
        self._base = self._open()

    def close(self) -> None:
        """Let go of the database."""
        self._base.close()

    def refresh(self, most: int | None = None) -> bool:
        """Take in what was appended, at most so many records; return whether that was all."""
        try:
            if self._place is not None and not self._place.exists():  # forgotten contents take it away
                self._base.close()
                self._base = self._open()
            return self._take_in(most)
        except sqlite3.Error:
            self._base.close()
            self._place, self._base = None, _begin(":memory:")
            return self._take_in(most)

    def find(self, wanted: Filter, *, before: int | None = None, limit: int | None = None) -> list[int]:
        """Return the numbers of entries that pass, newest first; everything but prompt and path is looked at."""
        self.refresh()
        where, values = _list_conditions(wanted)
        if before is not None:
            where.append("seq < ?")
            values.append(before)
        return [row[0] for row in self._select("seq", where, values, limit)]

    def headlines(self, numbers: Iterable[int]) -> dict[int, Headline]:
        """Return the headlines of some entries."""
        headlines: dict[int, Headline] = {}
        left = iter(numbers)
        while chosen := list(islice(left, 500)):
            marks = ",".join("?" * len(chosen))
            sql = f"SELECT seq, headline, added, removed FROM facts WHERE seq IN ({marks})"  # noqa: S608 - marks
            headlines |= {row[0]: Headline(*row[1:]) for row in self._base.execute(sql, chosen)}
        return headlines

    def count_facets(self) -> dict[str, dict[str, int]]:
        """Return what entries taken in can be filtered by: each value with how many have it, the most first."""
        counted: dict[str, dict[str, int]] = {}
        for name in FACETS:
            counts: dict[str, int] = {}
            for value, number in self._base.execute(f"SELECT {name}, count(*) FROM facts GROUP BY 1"):  # noqa: S608
                for word in (value or "").split(" ") if name == "surface" else (value or "",):
                    if word:
                        counts[word] = counts.get(word, 0) + number
            counted[name] = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        return counted

    def list_since(self, since: datetime) -> list[dict[str, Any]]:
        """Return the facts of changes taken in from a time on that were not given up, newest first."""
        names = ("seq", "by", "grade", "failed", "surface")
        where = ["datetime(at) >= datetime(?)", f"kind IN ({', '.join('?' * len(CHANGES))})"]
        rows = self._select(", ".join(names), where, [since.isoformat(), *CHANGES], None)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _select(self, what: str, where: Sequence[str], values: Sequence[Any], limit: int | None) -> list[Any]:
        clause = " AND ".join(where) or "1"
        sql = f"SELECT {what} FROM facts WHERE {clause} ORDER BY seq DESC LIMIT ?"  # noqa: S608 - our own words
        return self._base.execute(sql, (*values, -1 if limit is None else limit)).fetchall()

    def _open(self) -> sqlite3.Connection:
        if self._place is None:
            return _begin(":memory:")
        try:
            return _open_file(self._place)
        except (sqlite3.Error, OSError):
            self._place = None
            return _begin(":memory:")

    def _take_in(self, most: int | None) -> bool:
        base, journal = self._base, self._harness.journal
        last, digest = base.execute("SELECT last, digest FROM about").fetchone()
        known = next(iter(journal.records(last)), None) if last else None
        if last and (known is None or known.seq != last or known.digest != digest):
            last = self._clear()
        gone = journal.latest("forget") if last else None
        if gone is not None and gone.seq > last:
            last = self._clear()
        records = journal.records(last + 1)
        taken = 0
        while batch := list(islice(records, BATCH)):
            with base:
                base.execute("BEGIN IMMEDIATE")
                self._add(batch)
                last = batch[-1].seq
                base.execute("UPDATE about SET last = ?, digest = ?", (last, batch[-1].digest))
            taken += len(batch)
            if most is not None and taken >= most:
                return False
        return True

    def _clear(self) -> int:
        with self._base as base:
            base.execute("BEGIN IMMEDIATE")
            base.execute("INSERT INTO words(words) VALUES ('delete-all')")
            base.execute("DELETE FROM facts")
            base.execute("UPDATE about SET last = 0, digest = ''")
        return 0

    def _add(self, batch: Sequence[Record]) -> None:
        journal = self._harness.journal
        made = [record for record in batch if record.kind in ENTRY_KINDS]
        changes = [record for record in made if record.kind in CHANGES]
        writes = dict(zip((record.seq for record in changes), load_writes(journal, changes), strict=True))
        with reveal_secrets(wanted=False):
            rows = [self._build(record, list(iter_changed_lines(writes.get(record.seq, ())))) for record in made]
        rows = [tuple(_write_safely(value) for value in row) for row in rows]
        marks = ", ".join("?" * 17)
        self._base.executemany(f"INSERT OR REPLACE INTO facts VALUES ({marks})", rows)  # noqa: S608 - marks
        self._base.executemany("INSERT INTO words(rowid, body) VALUES (?, ?)", [(row[0], row[-1]) for row in rows])
        for record in batch:
            if record.kind == "abort":
                self._note_given_up(record)
            if record.kind == "evidence" and record.about is not None:
                grade = with_evidence(journal, journal.get(record.about)).evidence or {}
                self._base.execute(
                    "UPDATE facts SET grade = ?, class = ? WHERE seq = ?",
                    (grade.get("grade", ""), _name_class(grade), record.about),
                )

    def _note_given_up(self, abort: Record) -> None:
        sql = "UPDATE facts SET kind = 'aborted' WHERE seq = (SELECT max(seq) FROM facts WHERE place < ?)"
        self._base.execute(sql, (abort.seq,))

    def _build(self, record: Record, lines: list[tuple[str, str]]) -> tuple[Any, ...]:
        evidence: Mapping[str, Any] = record.evidence or {}
        call = load_call(self._harness.journal, record) if record.kind == "adopt" else {}
        origin = {**record.origin, **call}
        addresses = list_addresses(record)
        headline = _make_headline_from(lines)
        said = [f"#{record.entry} {record.kind}", record.by, record.note, *origin.values(), *addresses]
        toggled = [*(("took back", n) for n in record.off), *(("brought back", n) for n in record.on)]
        said += [f"{verb} #{n} {self._named(n)}" for verb, n in toggled]
        said += [*record.paths, *(f"{mark} {line}" for mark, line in lines)]
        body = mask_text_secrets("\n".join(said)[:MOST_TEXT])
        surfaces = " ".join(dict.fromkeys(address.partition("[")[0].partition(" ")[0] for address in addresses))
        failed = record.check is not None and not record.check.get("passed")
        return (
            record.entry,
            record.id,
            record.created_at,
            mask_text_secrets(record.by),
            origin.get("client", ""),
            origin.get("session", ""),
            surfaces,
            evidence.get("grade", ""),
            _name_class(evidence),
            int(record.is_forced),
            int(failed),
            headline.line,
            headline.added,
            headline.removed,
            record.kind,
            record.seq,
            body,
        )


def _name_class(evidence: Mapping[str, Any]) -> str:
    """Return the class of a change that was looked at; what has none leaves nothing outside."""
    return str(evidence.get("class", "reversible")) if evidence else ""


def _write_safely(value: Any) -> Any:
    """Return a value that a database can hold: half a character becomes a question mark."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def narrow_filter(harness: Harness, wanted: Filter) -> Filter:
    """Return a filter whose text is looked for in the whole index, as the numbers of the entries that have it."""
    if not wanted.text:
        return wanted
    with closing(SearchIndex(harness)) as index:
        return replace(wanted, text="", among=frozenset(index.find(Filter(text=wanted.text))))


def load_headline(harness: Harness, record: Record) -> Headline:
    """Return the headline of one entry, from its own writes."""
    if record.kind not in CHANGES:
        return Headline()
    return _make_headline_from(list(iter_changed_lines(load_entry_writes(harness, record))))


def _list_conditions(wanted: Filter) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    long_words = []
    for word in iter_words(wanted.text):
        if len(word) >= SHORT:
            long_words.append('"' + word.replace('"', '""') + '"')
        else:
            where.append("body LIKE ? ESCAPE '\\'")
            values.append(f"%{_escape(word)}%")
    if long_words:
        where.append("(seq IN (SELECT rowid FROM words WHERE words MATCH ?) OR id LIKE ? ESCAPE '\\')")
        values += [" AND ".join(long_words), f"{_escape(wanted.text.strip())}%"]
    for name, value in (("by", wanted.by), ("client", wanted.client), ("session", wanted.session)):
        if value:
            where.append(f"{name} LIKE ? ESCAPE '\\'")
            values.append(f"{'' if name == 'session' else '%'}{_escape(value)}%")
    if wanted.surface:
        where.append("' ' || surface || ' ' LIKE ?")
        values.append(f"% {wanted.surface} %")
    if wanted.grade:
        where.append("forced = 1" if wanted.grade == "forced" else "grade = ?")
        values += [] if wanted.grade == "forced" else [wanted.grade]
    if wanted.effect_class:
        where.append("class = ?")
        values.append(wanted.effect_class)
    if wanted.since is not None:
        where.append("datetime(at) >= datetime(?)")
        values.append(wanted.since.isoformat())
    return where, values


def iter_words(text: str) -> Iterator[str]:
    """Yield the words to look for; what is quoted is one."""
    for number, part in enumerate(text.split('"')):
        if number % 2:
            yield from (part,) if part.strip() else ()
        else:
            yield from part.split()


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _find_place(harness: Harness) -> Path | None:
    root = find_root(harness)
    sealed = bool(getattr(harness.journal, "key_place", ""))
    if not root or sealed or harness.journal.readonly:
        return None
    place = Path(root) / SEARCH
    return place if place.parent.is_dir() else None


def _open_file(place: Path) -> sqlite3.Connection:
    base = _connect(place)
    if base.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return base
    base.close()
    place.unlink()
    _connect(place).close()
    return _begin(str(place))


def _connect(place: Path) -> sqlite3.Connection:
    """Open a file that only its owner reads; a link is not followed."""
    os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return _open_base(str(place))


def _open_base(place: str) -> sqlite3.Connection:
    base = sqlite3.connect(place, timeout=5, isolation_level=None, check_same_thread=False)
    base.execute("PRAGMA secure_delete = ON")
    return base


def _begin(place: str) -> sqlite3.Connection:
    base = _open_base(place)
    base.executescript(f"BEGIN; {_TABLES} {_WORDS}; PRAGMA user_version = {VERSION}; COMMIT;")
    return base


MOST_TEXT: Final = 64 << 10
"""Characters of one entry that are searched."""
LONGEST: Final = 200
"""Characters of a headline."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The first changed line of an entry, and how many came and went."""

    line: str = ""
    """With its sign: `+ Use tabs.`, `- Use spaces.`; empty where no line tells it."""
    added: int = 0
    removed: int = 0

    @property
    def count(self) -> str:
        """How many lines came and went: `+2 −1`."""
        return f"+{self.added} −{self.removed}" if self.added or self.removed else ""


def _make_headline_from(lines: list[tuple[str, str]]) -> Headline:
    added = sum(mark == "+" for mark, _ in lines)
    shown = next((line for line in lines if line[1].strip() and line[0] == "+"), None)
    shown = shown or next((line for line in lines if line[1].strip()), None)
    text = "" if shown is None else f"{shown[0]} {' '.join(shown[1].split())}"[:LONGEST]
    return Headline(text, added, len(lines) - added)


def iter_changed_lines(writes: Iterable[Write | SlotChange]) -> Iterator[tuple[str, str]]:
    """Yield the lines that went and came, each with its mark."""
    for write in writes:
        old, new = (_list_lines(write.slot, side) for side in (write.before, write.after))
        gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
        for mark, lines, left in (("-", old, gone), ("+", new, come)):
            for line in lines:
                if left[line] > 0:
                    left[line] -= 1
                    yield mark, line


def _list_lines(slot: Slot, content: Any) -> list[str]:
    if content is ABSENT or has_forgotten(content):
        return []
    name = ".".join(map(str, find_containing_slot(slot)[1:]))
    if not isinstance(content, Link):
        text = SURFACES[slot[0]].text(content) if slot[0] in SURFACES else None
        if text is not None:
            return _mask(_decode(text[0])[:MOST_TEXT]).splitlines()
    plain = content_to_json(slot, content) if slot[0] in SURFACES else None
    if isinstance(content, Link) and isinstance(plain, str) and slot[0] not in {"config", "tools", "routing"}:
        return [_mask(plain.rstrip("\n"))]
    if isinstance(plain, list | tuple):
        return [_name_value(slot, name, item) for item in plain]
    return [_name_value(slot, name, plain)]


def _decode(data: Any) -> str:
    return data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)


def _name_value(slot: Slot, name: str, value: Any) -> str:
    shown = value if is_revealing() else mask_secrets(value, name if slot[0] == "config" else "")
    return _mask(f"{name}: {shown if isinstance(shown, str) else encode(shown)}")


def _mask(text: str) -> str:
    return text if is_revealing() else mask_text_secrets(text)
