#!/usr/bin/env python3
"""Checks a bundle that `takeback export --bundle` wrote. It needs Python 3.9 or later and nothing else.

    python verify_bundle.py BUNDLE KEY [--whole] [--head FILE]

KEY is the signer's key, NAME+ID+KEY, as `takeback head` prints it; get it from the signer, not with the bundle.
With --whole, a bundle that leaves records out is refused. With --head, the bundle must stand under exactly that head.
Exit code 0 if everything holds; otherwise 1, and the first word printed says what does not.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import typing

LINE = 64 << 20  # a longer line is not read
COLUMNS = {"seq", "entry", "kind", "created_at", "payload", "contents", "touched", "prev", "proof"}
WITHHELD = {"seq", "digest", "withheld", "proof"}

Point = tuple[int, int, int, int]
Key = tuple[str, bytes]
Line = dict[str, typing.Any]


class RefusedError(Exception):
    """Something does not hold; `problem` is its name."""

    def __init__(self, problem: str, told: str) -> None:
        super().__init__(f"{problem}: {told}")
        self.problem = problem


# Ed25519 (RFC 8032): points are (x, y, z, t) with x/z, y/z on the curve and x*y = z*t.
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)


def add_points(a: Point, b: Point) -> Point:
    left, right = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = right - left, d - c, d + c, right + left
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply_point(number: int, point: Point) -> Point:
    result: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add_points(result, point)
        point, number = add_points(point, point), number >> 1
    return result


def read_point(data: bytes) -> Point | None:
    """Return the point that 32 bytes stand for; None if they stand for none."""
    y, sign = int.from_bytes(data, "little") & (1 << 255) - 1, data[31] >> 7
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if (x * x - square) % P or (not x and sign):
        return None
    x = x if x & 1 == sign else P - x
    return x, y, 1, x * y % P


BASE = typing.cast("Point", read_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little")))


def is_signed(public: bytes, text: bytes, signature: bytes) -> bool:
    """Return whether a signature of a text is by the holder of a key."""
    if len(public) != 32 or len(signature) != 64:
        return False
    key, commitment = read_point(public), read_point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + text).digest(), "little") % ORDER
    left, right = multiply_point(scalar, BASE), add_points(commitment, multiply_point(challenge, key))
    return not (left[0] * right[2] - right[0] * left[2]) % P and not (left[1] * right[2] - right[1] * left[2]) % P


def read_base64(problem: str, text: typing.Any, length: int | None = None) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        raise RefusedError(problem, "no base64") from None
    if base64.b64encode(data).decode() != text or (length is not None and len(data) != length):
        raise RefusedError(problem, "not as long as it must be, or written in another way")
    return data


def make_key_id(name: str, public: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n\x01" + public).digest()[:4]


def read_key(text: str) -> Key:
    """Return the name and the bytes of a signer's key."""
    name, _, rest = text.strip().partition("+")
    identity, _, encoded = rest.partition("+")
    data = read_base64("key", encoded, 33)
    if not name or data[0] != 1 or identity != make_key_id(name, data[1:]).hex():
        raise RefusedError("key", "expected NAME+ID+KEY, as 'takeback head' prints it")
    return name, data[1:]


def open_head(note: typing.Any, key: Key) -> tuple[int, bytes]:
    """Return the size and the root that a signed note names."""
    name, public = key
    if not isinstance(note, str) or not note.endswith("\n") or "\n\n" not in note:
        raise RefusedError("form", "the head is no signed note")
    text, _, signatures = note.partition("\n\n")
    for line in signatures[:-1].split("\n"):
        words = line.split(" ")
        if len(words) != 3 or words[0] != "\u2014":
            raise RefusedError("form", "a line of the head is no signature")
        signature = read_base64("signature", words[2])
        if words[1] == name and signature[:4] == make_key_id(name, public):
            break
    else:
        raise RefusedError("signer", f"the head is not signed by {name}")
    if not is_signed(public, f"{text}\n".encode(errors="surrogatepass"), signature[4:]):
        raise RefusedError("signature", "it does not fit the head")
    lines = text.split("\n")
    if len(lines) != 3 or lines[0] != name:
        raise RefusedError("origin", "the head is of another journal, or has other lines")
    if not lines[1].isascii() or not lines[1].isdigit() or len(lines[1]) > 18 or str(int(lines[1])) != lines[1]:
        raise RefusedError("size", "the head's is no number")
    return int(lines[1]), read_base64("root", lines[2], 32)


def compute_digest(record: Line) -> bytes:
    """Return the digest of a record from its columns."""
    texts = [record[name] for name in ("kind", "created_at", "payload", "contents", "touched", "prev")]
    entry = record["entry"]
    if not all(isinstance(text, str) for text in texts) or not (entry is None or type(entry) is int):
        raise RefusedError("form", f"record {record['seq']} has a column of another kind")
    kind, created_at, payload, contents, touched, prev = texts
    head = f"{record['seq']}\n{entry}\n{kind}\n{created_at}\n{touched}\n{prev}\n{len(payload)}\n"
    return hashlib.sha256((head + payload + contents).encode(errors="surrogatepass")).digest()


def compute_root(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes:
    """Return the root that a proof leads to (RFC 9162, 2.1.3.2)."""
    node, last = hashlib.sha256(b"\0" + leaf).digest(), size - 1
    for sibling in proof:
        if not last:
            raise RefusedError("proof", f"that of record {index + 1} is too long")
        if index & 1 or index == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    if last:
        raise RefusedError("proof", "one is too short")
    return node


def refuse_twice(pairs: list[tuple[str, typing.Any]]) -> Line:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedError("form", "a name stands twice in one line")
    return found


def read_lines(file: typing.BinaryIO) -> typing.Iterator[Line]:
    """Yield the JSON object of each line."""
    while line := file.readline(LINE):
        try:
            found = json.loads(line.decode(), object_pairs_hook=refuse_twice) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            raise RefusedError("form", "a line is no JSON") from None
        if not isinstance(found, dict):
            raise RefusedError("form", "a line is no object, or is cut")
        yield found


def check_record(record: Line, size: int, root: bytes, last: tuple[int, bytes]) -> tuple[int, bytes]:
    """Return the number and the digest of a record that stands under the root."""
    withheld = "withheld" in record
    if record.keys() != (WITHHELD if withheld else COLUMNS) or not isinstance(record["proof"], list):
        raise RefusedError("form", "a record has other fields")
    seq = record["seq"]
    if type(seq) is not int or not 1 <= seq <= size:
        raise RefusedError("place", f"the head has {size} records, and this is record {str(seq)[:20]}")
    if seq <= last[0]:
        raise RefusedError("order", f"record {seq} comes after record {last[0]}")
    if withheld:
        try:
            digest = bytes.fromhex(record["digest"])
        except (ValueError, TypeError):
            digest = b""
        if len(digest) != 32:
            raise RefusedError("form", f"record {seq} has no digest")
    else:
        digest = compute_digest(record)
    proof = [read_base64("proof", node, 32) for node in record["proof"]]
    if compute_root(digest, seq - 1, size, proof) != root:
        raise RefusedError("record", f"record {seq} is not the one that was signed, or its proof is another's")
    if not withheld and seq == last[0] + 1 and record["prev"] != (last[1].hex() if last[1] else "0" * 64):
        raise RefusedError("chain", f"record {seq} does not name the record before it")
    return seq, digest


def verify_bundle(file: typing.BinaryIO, key: str, *, whole: bool = False, head: str | None = None) -> str:
    """Return what a bundle shows, as a sentence; raise `RefusedError` if anything in it does not hold."""
    lines = read_lines(file)
    first: Line = next(lines, {})
    if first.keys() != {"format", "head", "records"} or first["format"] != "takeback-bundle/1":
        raise RefusedError("form", "the first line is not that of a bundle")
    size, root = open_head(first["head"], read_key(key))
    if head is not None and open_head(head, read_key(key)) != (size, root):
        raise RefusedError("head", "the bundle stands under another head than the one given")
    last: tuple[int, bytes] = (0, b"")
    count = withheld = 0
    for record in lines:
        last = check_record(record, size, root, last)
        count, withheld = count + 1, withheld + ("withheld" in record)
    if type(first["records"]) is not int or count != first["records"]:
        raise RefusedError(
            "missing", f"{count} records are here, and the first line says {str(first['records'])[:20]}"
        )
    if whole and count != size:
        raise RefusedError("missing", f"{count} of {size} records are here")
    return f"{count} of {size} records of {read_key(key)[0]} are as they were signed; {withheld} shown by digest only"


def main(words: list[str]) -> int:
    whole, head = "--whole" in words, None
    words = [word for word in words if word != "--whole"]
    if "--head" in words[:-1]:
        at = words.index("--head")
        head = words[at + 1]
        del words[at : at + 2]
    if len(words) != 2 or words[0].startswith("-"):
        print(__doc__)
        return 2
    try:
        if head is not None:
            with open(head, encoding="utf-8") as file:
                head = file.read(1 << 16)
        with open(words[0], "rb") as file:
            print("ok: " + verify_bundle(file, words[1], whole=whole, head=head))
    except RefusedError as problem:
        print(problem)
        return 1
    except (OSError, UnicodeDecodeError) as fault:
        print(f"unreadable: {fault}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
