"""A search for a value in a journal: in contents, which can be forgotten, and in names and notes, which stay.

A content is read as it is, unescaped (JSON, hex escapes), percent-decoded, and wherever a stretch of it is
hex, base64 or compressed (gzip, zlib, zstd) as what that stands for, nested up to a depth. In each form the
value is searched for in UTF-8, UTF-16 and UTF-32. `SEARCHED` and `NOT_SEARCHED` describe this for people.
Contents are searched in clear, also where stored compressed or encrypted.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_to_bytes

import zstandard

from takeback.journal.content import Ref
from takeback.journal.record import Record
from takeback.journal.store import Store

SEARCHED: Final = (
    "text in UTF-8, UTF-16 and UTF-32",
    "JSON, \\x and percent escapes",
    "hex",
    "base64 at any alignment",
    "gzip, zlib and zstd streams",
)
NOT_SEARCHED: Final = (
    "pieces of it that stand apart",
    "archives, encryption and other compression",
    "other encodings, or encodings nested more than three deep",
)
MIN_DECODED: Final = 5
"""Shortest value that is looked for in what hex, base64 and streams stand for: a shorter one is there by chance."""
DEPTH: Final = 3
MOST_BYTES: Final = 64 << 20
"""A stream is not decompressed any further than this."""
_ESCAPE: Final = re.compile(rb"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\"\\/bfnrt]))")
_SIMPLE: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_BREAKS: Final = re.compile(rb"(?:\\+[nr]|[\r\n])[ \t]*")
SHORT_STREAM: Final = 16
"""Fewer bytes than this hold no compressed stream with a value that is longer."""
_STREAM: Final = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|\x28\xb5\x2f\xfd")
_ZSTD: Final = b"\x28"
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")


class Forms:
    """A value to look for, or several: any of them is a match."""

    def __init__(self, value: bytes, *more: bytes) -> None:
        self._plain = tuple(dict.fromkeys(form for text in (value, *more) for form in _encode_all(text)))
        shortest = min(map(len, (value, *more)))
        self._decoded = shortest >= MIN_DECODED
        least = min(shortest, SHORT_STREAM)
        self._hex = re.compile(rb"(?:[0-9a-fA-F]{2}[:\- ]?){%d,}" % least)
        self._base64 = re.compile(rb"[A-Za-z0-9+/_-]{%d,}" % (least * 4 // 3))

    @property
    def limits(self) -> tuple[str, ...]:
        """Return what is not searched for this value."""
        short = f"hex, base64 and compressed streams, for a value of fewer than {MIN_DECODED} bytes"
        return NOT_SEARCHED if self._decoded else (short, *NOT_SEARCHED)

    def has_match_in(self, data: bytes, depth: int = DEPTH) -> bool:
        """Return whether a content holds the value, in one of its forms."""
        if any(form in data for form in self._plain):
            return True
        if depth == 0:
            return False
        return any(self.has_match_in(reading, depth - 1) for reading in self._decode_readings(data))

    def _decode_readings(self, data: bytes) -> Iterator[bytes]:
        """Yield what a content says when its escapes and encodings are undone."""
        if b"\\" in data:
            yield _ESCAPE.sub(_unescape, data)
        if b"%" in data:
            yield unquote_to_bytes(data)
            if b"+" in data:
                yield unquote_to_bytes(data.replace(b"+", b" "))
        if not self._decoded:
            return
        joined = _BREAKS.sub(b"", data)
        yield from _read_hex(self._hex, joined)
        yield from _read_base64(self._base64, joined)
        yield from _read_streams(data)


def _encode_all(value: bytes) -> Iterator[bytes]:
    yield value
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield text.encode(encoding)
    for ascii_only in (True, False):
        inner = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield inner.encode()
        yield json.dumps(inner, ensure_ascii=ascii_only)[1:-1].encode()


def _unescape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return chr(int(match[1], 16)).encode("utf-8", "surrogatepass")
    if match[2]:
        return bytes([int(match[2], 16)])
    return _SIMPLE.get(match[3], match[3])


def _read_hex(runs: re.Pattern[bytes], data: bytes) -> Iterator[bytes]:
    for match in runs.finditer(data):
        digits = match[0].translate(None, b":- ")
        for start in (0, 1):
            part = digits[start:]
            yield binascii.unhexlify(part[: len(part) // 2 * 2])


def _read_base64(runs: re.Pattern[bytes], data: bytes) -> Iterator[bytes]:
    for match in runs.finditer(data):
        digits = match[0].translate(_URL_SAFE)
        for start in range(4):
            part = digits[start:]
            whole = part[: len(part) // 4 * 4]
            rest = part[len(whole) :]
            yield base64.b64decode(whole + (rest + b"=" * (4 - len(rest)) if len(rest) > 1 else b""))


def _read_streams(data: bytes) -> Iterator[bytes]:
    for match in _STREAM.finditer(data):
        stream = memoryview(data)[match.start() :]
        try:
            if match[0].startswith(_ZSTD):
                yield zstandard.ZstdDecompressor().stream_reader(stream).read(MOST_BYTES)
            else:
                yield zlib.decompressobj(wbits=47).decompress(stream, MOST_BYTES)
        except (zlib.error, zstandard.ZstdError):
            continue


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """One place where a value stands."""

    seq: int
    number: int | None
    """The entry, if the record is one."""
    kind: str
    what: str
    """`before`, `after`, `candidate`, `state`, `note`, `touches`, …: under which name the record has it."""
    ref: Ref | None
    """The content that can be forgotten; None where it stands in a name or a note, and stays."""


def find_value_places(
    store: Store, value: bytes | Forms, progress: Callable[[int], None] = lambda _: None
) -> Iterator[ValuePlace]:
    """Yield every occurrence of a value, in the order of the records."""
    wanted = Forms(value) if isinstance(value, bytes) else value
    leaves, trees, parts = _find_matching(store, wanted)
    for record in store.records():
        progress(record.seq)
        for name in record.contents:
            for ref in record.refs(name):
                yield from (
                    ValuePlace(record.seq, record.number, record.kind, name, place)
                    for place in dict.fromkeys((ref, *parts.get(ref or "", ())))
                    if place in leaves
                )
                if ref in trees:
                    yield ValuePlace(record.seq, record.number, record.kind, f"names in {name}", None)
        yield from _find_in_payload(record, wanted)


def _find_matching(store: Store, wanted: Forms) -> tuple[set[Ref], set[Ref], Mapping[Ref, list[Ref]]]:
    """Find leaves that hold the value, trees that hold it in a name, and the leaves per tree that do."""
    leaves: set[Ref] = set()
    trees: set[Ref] = set()
    opened: dict[Ref, list[Ref]] = {}
    for ref, stored in store.every_content():
        holds = wanted.has_match_in(stored.data)
        if not stored.tree:
            leaves |= {ref} if holds else set()
            continue
        inside, value = stored.open_tree()
        opened[ref] = inside
        if holds and wanted.has_match_in(json.dumps(value).encode()):
            trees.add(ref)
    parts = {ref: [part for part in inside if part in leaves] for ref, inside in opened.items()}
    return leaves, trees, {ref: inside for ref, inside in parts.items() if inside}


def _find_in_payload(record: Record, wanted: Forms) -> Iterator[ValuePlace]:
    for name, item in record.payload.items():
        text: Any = json.dumps(item).encode()
        if wanted.has_match_in(text):
            yield ValuePlace(record.seq, record.number, record.kind, name, None)
