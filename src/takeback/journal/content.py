"""Contents: captured values, stored once per journal and referred to by id.

A content is a leaf (a JSON value, or the bytes of a file) or a tree: JSON that refers to other contents by
their position in its list of parts. Its id is a digest over its bytes and a random salt that is stored and
deleted with the bytes, so that nothing that stays lets a short secret be guessed. Large contents are cut into
pieces and compressed where that helps. A `ContentStore` turns what a draft refers to into ids and stores
equal contents once.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from json import loads
from typing import Any, Final, NamedTuple, TypeAlias

from takeback import canonical
from takeback.canonical import Json, sha256
from takeback.errors import InputError, JournalCorruptError, OperationFailed
from takeback.progress import report_progress

__all__ = ["Json", "decode", "encode", "guard_against_corruption", "sha256"]


def encode(value: Json) -> str:
    """Return the canonical text of a JSON value."""
    return canonical.encode(value, ascii_only=True)


def decode(text: str | bytes) -> Any:
    """Return the value of a canonical text."""
    return canonical.decode(text if isinstance(text, str) else text.decode())


@contextmanager
def guard_against_corruption(what: str, *, seq: int | None = None) -> Iterator[None]:
    """Raise `JournalCorruptError` if what is read inside the block does not have the form the journal writes."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as fault:
        raise JournalCorruptError(f"{what} is not what a journal holds ({type(fault).__name__})", seq=seq) from fault
    except (InputError, OperationFailed) as fault:
        raise JournalCorruptError(f"{what} is not what a journal holds ({fault.message})", seq=seq) from fault


FORGOTTEN: Final = ""
"""Stands for a content that was not captured because it was forgotten before."""

LARGE: Final = 4096
"""From this size on equal contents are copies of one thing and share a row, wherever they stand; smaller ones
(`true`, `30`) are equal by chance, and share one only where they stand in the same place."""


def sum_refs(refs: Iterable[Ref]) -> str:
    """Return a digest of a set of contents: the sum of their digests, whatever their order."""
    total = sum(int.from_bytes(hashlib.sha256(ref.encode()).digest()) for ref in refs)
    return f"{total % (1 << 256):064x}"


PIECE: Final = 1 << 20
SALT: Final = 16
_ID_BYTES: Final = 24
PLAIN: Final = b"\x00"
"""Begins a piece that is stored as it is."""
_ZSTD: Final = b"\x01"

Ref: TypeAlias = str
"""Id of a content; `FORGOTTEN` for one that was not captured."""


REDACTED: Final = "~"
"""Begins the id of a content that was not stored: a salt and a digest are all that is kept of it."""


def make_redacted_ref(data: bytes) -> Ref:
    """Return what stands for a content that is not stored."""
    salt = make_salt().hex()
    return f"{REDACTED}{salt}.{_digest(salt, data)}"


def is_redacted(ref: Ref | None) -> bool:
    """Tell whether an id stands for a content that was never stored."""
    return ref is not None and ref.startswith(REDACTED)


def is_digest_of(ref: Ref, data: bytes) -> bool:
    """Tell whether a redacted content was these bytes."""
    salt, _, digest = ref.removeprefix(REDACTED).partition(".")
    return _digest(salt, data) == digest


def _digest(salt: str, data: bytes) -> str:
    return hashlib.sha256(salt.encode() + data).hexdigest()


class Leaf:
    """A value to be stored, which may be read each time it is needed. `ref` is its id once it is stored."""

    __slots__ = ("_data", "ref", "scope")

    def __init__(self, data: bytes | Callable[[], bytes], scope: str = "") -> None:
        self._data = data
        self.scope = scope
        """Where it stands."""
        self.ref: Ref | None = None

    @property
    def data(self) -> bytes:
        """The bytes."""
        return self._data if isinstance(self._data, bytes) else self._data()


class Tree(NamedTuple):
    """JSON in which whole numbers at known places stand for `parts`."""

    value: Json
    parts: Sequence[Content]
    scope: str = ""


Content: TypeAlias = "Leaf | Tree | Ref"
"""What a draft refers to: something to be stored, or the id of what is stored already."""


def make_leaf(value: Json, scope: str = "") -> Leaf:
    """Build the content of a JSON value."""
    return Leaf(encode(value).encode(), scope)


class Stored(NamedTuple):
    """A content as it is read back, checked against its id."""

    data: bytes
    tree: bool = False

    def json(self) -> Any:
        """Return the value of a JSON leaf."""
        try:
            return loads(self.data)
        except (ValueError, RecursionError) as fault:
            raise JournalCorruptError("a stored content is not JSON") from fault

    def open_tree(self) -> tuple[list[Ref], Any]:
        """Return the ids of a tree's parts, and its JSON."""
        with guard_against_corruption("a stored tree"):
            whole: Any = decode(self.data)
            parts, value = whole
            if not all(isinstance(part, str) for part in parts):
                raise JournalCorruptError("a stored tree names a part that is no id")
            return list(parts), value


def encode_tree(parts: Sequence[Ref], value: Json) -> bytes:
    """Return the bytes of a tree whose parts are stored."""
    return encode([list(parts), value]).encode()


def make_lookup_key(data: bytes, scope: str, *, tree: bool) -> bytes:
    """Compute the key by which an equal content is found; it is kept and deleted with the content."""
    place = b"" if len(data) >= LARGE else scope.encode(errors="surrogatepass")
    digest = hashlib.blake2b(b"t" if tree else b"l", digest_size=16, person=b"takeback-lookup")
    digest.update(len(place).to_bytes(4, "big") + place)
    digest.update(data)
    return digest.digest()


def make_salt() -> bytes:
    """Return random bytes, so that the digest of something short reveals nothing."""
    return os.urandom(SALT)


class ContentDigest:
    """A content's id, computed while its bytes pass by: over its salt, its form and its bytes."""

    def __init__(self, salt: bytes, *, tree: bool) -> None:
        self._digest = hashlib.sha256(_FORMS[tree] + salt)

    def pass_through(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the chunks unchanged, adding each to the digest."""
        for chunk in chunks:
            self._digest.update(chunk)
            yield chunk

    def of(self, chunks: Iterable[bytes | memoryview]) -> Ref:
        """Return the id after these chunks."""
        for chunk in chunks:
            self._digest.update(chunk)
        return _make_ref(self._digest.digest())


def compute_content_id(salt: bytes, chunks: Iterable[bytes | memoryview], *, tree: bool) -> Ref:
    """Return the id of a content."""
    digest = hashlib.sha256(_FORMS[tree] + salt)
    for chunk in chunks:
        digest.update(chunk)
    return _make_ref(digest.digest())


_FORMS = (b"takeback-content-2l", b"takeback-content-2t")


def _make_ref(digest: bytes) -> Ref:
    return b2a_base64(digest[:_ID_BYTES], newline=False).translate(_URL_SAFE).decode()


_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def cut_into_pieces(data: bytes) -> Iterator[bytes]:
    """Yield the bytes as they are stored: cut, and each piece compressed where that saves an eighth."""
    view = memoryview(data)
    for start in range(0, max(len(data), 1), PIECE):
        yield _pack_piece(view[start : start + PIECE])


def _pack_piece(piece: memoryview) -> bytes:
    if len(piece) >= LARGE:
        import zstandard  # noqa: PLC0415 - only where something large is stored

        packed = zstandard.ZstdCompressor(level=3, write_checksum=False).compress(piece)
        if len(packed) < len(piece) - len(piece) // 8:
            return _ZSTD + packed
    return PLAIN + piece


def join_pieces(pieces: Iterable[bytes]) -> bytes:
    """Join what `cut_into_pieces` made; holds one piece at a time beside the result."""
    whole = BytesIO()
    for piece in pieces:
        whole.write(unpack_piece(piece))
    return whole.getvalue()


def unpack_piece(piece: bytes) -> bytes | memoryview:
    """Return one piece as it was before packing."""
    form = piece[:1]
    if form == PLAIN:
        return memoryview(piece)[1:]
    if form == _ZSTD:
        import zstandard  # noqa: PLC0415 - only where something large is read

        try:
            return bytes(zstandard.ZstdDecompressor().decompress(memoryview(piece)[1:], max_output_size=PIECE))
        except zstandard.ZstdError as fault:
            raise JournalCorruptError("a compressed content cannot be read") from fault
    raise JournalCorruptError("a stored content has no known form")


BATCH = 500

NamedContents: TypeAlias = "Content | Sequence[Content | None] | None"


class Wanted(NamedTuple):
    """A content that is to be on the shelf."""

    lookup: bytes
    data: bytes
    tree: bool


class ContentStore(ABC):
    """Where contents are kept."""

    withhold: Callable[[Sequence[Leaf]], None] | None = None
    """Says of contents that are about to be stored which are not, by giving them an id that stands for nothing."""

    @abstractmethod
    def find_refs(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        """Return the ids of stored contents by lookup key; at most `BATCH` are asked for."""

    @abstractmethod
    def take_contents(self, wanted: Sequence[Wanted]) -> Sequence[Ref]:
        """Take in contents that are not there; their new ids."""

    def put(self, contents: Mapping[str, NamedContents]) -> dict[str, Ref | list[Ref | None] | None]:
        """Return ids for everything a draft refers to, by name; leaves learn theirs."""
        leaves: list[Leaf] = []
        for value in contents.values():
            _collect_leaves(value, leaves)
        if self.withhold is not None:
            self.withhold(leaves)
            leaves = [leaf for leaf in leaves if leaf.ref is None]
        leaves = list(dict.fromkeys(leaves))  # what stands under several names is put once
        for start in range(0, len(leaves), BATCH):
            some = leaves[start : start + BATCH]
            wanted = [
                Wanted(make_lookup_key(data, leaf.scope, tree=False), data, False)
                for leaf in some
                for data in [leaf.data]
            ]
            for leaf, ref in zip(some, self._shelve(wanted), strict=True):
                leaf.ref = ref
            report_progress("contents stored", min(start + BATCH, len(leaves)), len(leaves))
        known: dict[int, Ref] = {}
        return {name: self._refs(value, known) for name, value in contents.items()}

    def _refs(self, value: NamedContents, known: dict[int, Ref]) -> Ref | list[Ref | None] | None:
        """Return the ids of what stands under one name; `known` are those of trees, by what they are in memory."""
        if value is None or isinstance(value, str | Leaf | Tree):
            return self._ref(value)
        trees = [item for item in value if isinstance(item, Tree) and id(item) not in known]
        for start in range(0, len(trees), BATCH):
            some = trees[start : start + BATCH]
            known.update(zip(map(id, some), self._shelve(list(map(self._open_tree, some))), strict=True))
        return [known[id(item)] if isinstance(item, Tree) else self._ref(item) for item in value]

    def _ref(self, value: Content | None) -> Ref | None:
        if isinstance(value, Leaf):
            return value.ref
        return self._shelve([self._open_tree(value)])[0] if isinstance(value, Tree) else value

    def _open_tree(self, tree: Tree) -> Wanted:
        data = encode_tree([self._ref(part) or FORGOTTEN for part in tree.parts], tree.value)
        return Wanted(make_lookup_key(data, tree.scope, tree=True), data, True)

    def _shelve(self, wanted: Sequence[Wanted]) -> list[Ref]:
        there = dict(self.find_refs([item.lookup for item in wanted]))
        missing = {item.lookup: item for item in wanted if item.lookup not in there}
        there.update(zip(missing, self.take_contents(list(missing.values())), strict=True))
        return [there[item.lookup] for item in wanted]


def _collect_leaves(value: Content | Iterable[Content | None] | None, leaves: list[Leaf]) -> None:
    if isinstance(value, Leaf):
        leaves.append(value)
    elif isinstance(value, Tree):
        for part in value.parts:
            _collect_leaves(part, leaves)
    elif value is not None and not isinstance(value, str):
        for item in value:
            _collect_leaves(item, leaves)
