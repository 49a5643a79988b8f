"""Signed heads, how far a journal has come, as C2SP signed notes that others can keep and check; and bundles.

A head names an origin, a number of records and the root over them (`merkle`). Whoever keeps one can tell later
that the journal still begins with the same records. The frontier is kept beside the journal, and only used where it
fits the journal's records; a head is checked against the records themselves.

A bundle is for somebody who has no journal, one JSON object a line: the signed head, then records as they are
stored, each with the nodes that lead to the head's root. Contents are never in it, only their ids, which are salted
digests; of a record that must not be shown it has the digest. `examples/verify_bundle.py` checks a bundle and
shares no code with this.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.canonical import parse_strict
from takeback.errors import InputError
from takeback.govern.merkle import Frontier, MerkleTree
from takeback.journal import Record, Store
from takeback.journal.content import encode
from takeback.journal.record import describe_columns

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


DASH: Final = "\u2014"
ED25519: Final = b"\x01"
KEY_BYTES: Final = 32
MOST_NOTE: Final = 1 << 16
"""A note longer than this is not read."""


class HeadError(InputError):
    """A head that does not hold; `problem` names what is wrong with it."""

    def __init__(self, problem: str, fact: str, expected: str, hint: str = "") -> None:
        super().__init__(f"head: {problem}", found=fact, expected=expected, hint=hint)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Head:
    """How far a journal has come."""

    origin: str
    size: int
    root: bytes

    def to_text(self) -> str:
        """Return the text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def load_or_make_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in a file, which is made, readable only by its owner, where there is none."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - needs the extra

    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return Ed25519PrivateKey.from_private_bytes(_read_key(path))
    except OSError as fault:
        raise InputError(
            str(path), found=fault.strerror or "nothing", expected="a key file, or a place for one"
        ) from None
    key = Ed25519PrivateKey.generate()
    with os.fdopen(made, "w") as file:
        file.write(base64.b64encode(key.private_bytes_raw()).decode() + "\n")
    return key


def format_public_key(origin: str, public: bytes) -> str:
    """Return a verifier key as C2SP writes it: name, key id, and the key with its kind."""
    return f"{origin}+{_make_key_id(origin, public).hex()}+{base64.b64encode(ED25519 + public).decode()}"


def read_public_key(text: str) -> tuple[str, bytes]:
    """Return the name and the bytes of a verifier key."""
    name, _, rest = text.strip().partition("+")
    identity, _, encoded = rest.partition("+")
    raw = _decode("key", encoded)
    if not name or raw[:1] != ED25519 or len(raw) != KEY_BYTES + 1 or identity != _make_key_id(name, raw[1:]).hex():
        raise HeadError("key", repr(text[:60]), "a verifier key, NAME+ID+KEY, as 'takeback head' prints it")
    return name, raw[1:]


def sign_head(head: Head, key: Ed25519PrivateKey) -> str:
    """Return the signed note of a head."""
    text = head.to_text()
    signed = _make_key_id(head.origin, key.public_key().public_bytes_raw()) + key.sign(text.encode())
    return f"{text}\n{DASH} {head.origin} {base64.b64encode(signed).decode()}\n"


def open_head(note: str, public_key: str) -> Head:
    """Return what a signed note says, checked against a verifier key; raise `HeadError` if it does not hold."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - needs the extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - needs the extra

    name, public = read_public_key(public_key)
    text, blank, signatures = note.partition("\n\n")
    if not blank or len(note) > MOST_NOTE or not signatures.endswith("\n"):
        raise HeadError("form", "no signed note", "a text, an empty line and signatures")
    wanted = _make_key_id(name, public)
    for line in signatures.removesuffix("\n").split("\n"):
        words = line.split(" ")
        if len(words) != 3 or words[0] != DASH:  # noqa: PLR2004 - dash, name, signature
            raise HeadError("form", f"the line {line[:40]!r}", "— NAME SIGNATURE")
        signed = _decode("signature", words[2])
        if words[1] != name or signed[:4] != wanted:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signed[4:], f"{text}\n".encode())
        except InvalidSignature:
            raise HeadError("signature", "one that does not fit the text", f"a signature by {name}") from None
        return _read_head(text, name)
    raise HeadError(
        "signer", "no signature by that key", f"a signature by {name}", "give the signer's key with --key"
    )


class JournalRoot:
    """The root over a journal's records, followed as the journal grows; a frontier that was kept in `cache` is used
    if it fits.
    """

    def __init__(self, store: Store, cache: Path | None = None) -> None:
        self._store = store
        self._cache = cache
        self._frontier = _load_frontier(store, cache)
        self._kept = self._frontier.size
        self._last = ""

    def make_head(self, origin: str) -> Head:
        """Return the head of the journal as it is now."""
        for record in self._store.records(self._frontier.size + 1):
            self._frontier.add(bytes.fromhex(record.digest))
            self._last = record.digest
        return Head(origin, self._frontier.size, self._frontier.root())

    def keep(self) -> None:
        """Keep the frontier, so that the next one to follow the journal goes on from here."""
        frontier = self._frontier
        if self._cache is None or frontier.size <= self._kept or self._store.readonly:
            return
        note: dict[str, Any] = {
            "size": frontier.size,
            "last": self._last,
            "stack": [node.hex() for node in frontier.stack],
        }
        aside = self._cache.with_name(f"{self._cache.name}.new")
        aside.write_text(encode(note))
        aside.replace(self._cache)
        self._kept = frontier.size


def make_head(store: Store, origin: str, cache: Path | None = None) -> Head:
    """Return the head of a journal, going on from the frontier that was kept in `cache`, if it fits."""
    root = JournalRoot(store, cache)
    head = root.make_head(origin)
    root.keep()
    return head


def require_continuation(store: Store, head: Head) -> int:
    """Return how many records a journal has beyond a head; raise `HeadError` if it does not continue it."""
    frontier, more = Frontier(), 0
    for record in store.records():
        if frontier.size < head.size:
            frontier.add(bytes.fromhex(record.digest))
        else:
            more += 1
    if frontier.size < head.size:
        raise HeadError("shorter", f"{frontier.size} records", f"at least the {head.size} that were signed")
    if frontier.root() != head.root:
        raise HeadError("root", "other records than those that were signed", f"the same first {head.size} records")
    return more


def _load_frontier(store: Store, cache: Path | None) -> Frontier:
    """Return the frontier that was kept, if the journal still has the record at which it ended."""
    try:
        raw: Any = parse_strict(cache.read_text()) if cache is not None else None
        last = None if raw is None else store.record(raw["size"])
        if last is None or last.digest != raw["last"] or bin(raw["size"]).count("1") != len(raw["stack"]):
            return Frontier()
        return Frontier(raw["size"], [bytes.fromhex(node) for node in raw["stack"]])
    except (OSError, ValueError, TypeError, KeyError, RecursionError, InputError):
        return Frontier()


def _read_head(text: str, name: str) -> Head:
    lines = text.split("\n")
    if len(lines) != 3 or lines[0] != name:  # noqa: PLR2004 - origin, size, root
        raise HeadError("origin", repr(lines[0][:80]), f"{name}, a size and a root")
    if not lines[1].isascii() or not lines[1].isdigit() or str(int(lines[1][:20])) != lines[1]:
        raise HeadError("size", repr(lines[1][:40]), "a number of records")
    root = _decode("root", lines[2])
    if len(root) != hashlib.sha256().digest_size:
        raise HeadError("root", f"{len(root)} bytes", "a SHA-256 digest")
    return Head(name, int(lines[1]), root)


def _read_key(path: Path) -> bytes:
    try:
        raw = base64.b64decode(path.read_bytes().strip(), validate=True)
    except (OSError, ValueError):
        raw = b""
    if len(raw) != KEY_BYTES:
        raise InputError(str(path), found="no key", expected="a file that 'takeback head --sign' made")
    return raw


def _decode(problem: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise HeadError(problem, repr(text[:40]), "base64") from None


def _make_key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(f"{name}\n".encode() + ED25519 + public).digest()[:4]


FORMAT: Final = "takeback-bundle/1"


def build_tree(store: Store) -> MerkleTree:
    """Return the tree over all records of a journal."""
    return MerkleTree(bytes.fromhex(record.digest) for record in store.records())


def write_bundle(
    store: Store,
    tree: MerkleTree,
    sign: Callable[[Head], str],
    origin: str,
    *,
    chosen: Collection[int] | None = None,
    hides: Callable[[Record], bool] = lambda _: False,
) -> Iterator[str]:
    """Yield the lines of a bundle of the tree's records, or of those at the `chosen` numbers in the chain.

    Of a record that `hides` names, only the digest is in the bundle.
    """
    count = tree.size if chosen is None else len(set(chosen))
    note = sign(Head(origin, tree.size, tree.root()))
    yield encode({"format": FORMAT, "head": note, "records": count}) + "\n"
    for record in store.records():
        if record.seq > tree.size:
            return
        if chosen is None or record.seq in chosen:
            proof = [base64.b64encode(node).decode() for node in tree.prove_inclusion(record.seq - 1)]
            columns = _withhold(record) if hides(record) else describe_columns(record)
            yield encode({**columns, "proof": proof}) + "\n"


def _withhold(record: Record) -> dict[str, Any]:
    return {"seq": record.seq, "digest": record.digest, "withheld": "secret"}
