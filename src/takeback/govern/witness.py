"""A witness: keeps the last signed head of each journal it knows, and takes only heads that continue it.

It speaks `add-checkpoint` of C2SP tlog-witness, without cosignatures: the size that the sender thinks was last, a
consistency proof, an empty line, the signed head. It is served on loopback only, to clients with the token.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Final

from takeback.errors import HarnessError, InputError
from takeback.govern.heads import MOST_NOTE, Head, HeadError, open_head, read_public_key
from takeback.govern.merkle import MerkleTree, is_continuation

LOOPBACK: Final = "127.0.0.1"
PATH: Final = "/add-checkpoint"
MOST_BODY: Final = MOST_NOTE
MOST_PROOF: Final = 63
SECONDS: Final = 5.0
"""So long a sender may keep the witness waiting for each piece."""
MOST_DIGITS: Final = 18
NODE_BYTES: Final = 32
TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class WitnessAnswer:
    """What a witness answers: a status of HTTP, and a line."""

    status: int
    text: str


class HeadWitness:
    """Keeps heads in a folder, one file for each journal whose key it was given."""

    def __init__(self, folder: Path, public_keys: Iterable[str]) -> None:
        self._folder = folder
        self._keys = {read_public_key(key)[0]: key for key in public_keys}
        self._mutex = threading.Lock()

    def consider(self, body: bytes) -> WitnessAnswer:
        """Keep the head in a request if it continues the one that was kept; say why not otherwise."""
        try:
            old, proof, note = _read_request(body)
        except ValueError:
            return WitnessAnswer(400, "expected: old SIZE, a proof, an empty line and a signed head")
        key = self._keys.get(note.partition("\n")[0])
        if key is None:
            return WitnessAnswer(404, "no journal of that name is known here")
        try:
            head = open_head(note, key)
        except HeadError as fault:
            return WitnessAnswer(403, f"{fault.problem}: {fault.message}")
        if old > head.size:
            return WitnessAnswer(400, "the old size is larger than the head's")
        with self._mutex:
            return self._continue(head, note, key, old, proof)

    def _continue(self, head: Head, note: str, key: str, old: int, proof: list[bytes]) -> WitnessAnswer:
        last = self._load(head.origin, key)
        size = 0 if last is None else last.size
        if old != size:
            return WitnessAnswer(409, str(size))
        if last is not None and size == head.size and last.root != head.root:
            return WitnessAnswer(409, str(size))
        if not is_continuation((size, b"" if last is None else last.root), (head.size, head.root), proof):
            return WitnessAnswer(422, "the proof does not show that this head continues the one that was kept")
        self._save(head.origin, note)
        return WitnessAnswer(200, f"kept {head.size}")

    def _find_place(self, origin: str) -> Path:
        return self._folder / f"{hashlib.sha256(origin.encode()).hexdigest()}.head"

    def _load(self, origin: str, key: str) -> Head | None:
        """Return the head that was kept; one that was tampered with stops the witness from going on."""
        place = self._find_place(origin)
        try:
            return open_head(place.read_text(encoding="utf-8"), key)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, HeadError) as fault:
            raise HarnessError(f"the head that was kept in {place} does not hold: {fault}") from None

    def _save(self, origin: str, note: str) -> None:
        place = self._find_place(origin)
        aside = place.with_suffix(".new")
        with aside.open("w", encoding="utf-8") as file:
            file.write(note)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(place)


class WitnessServer(HTTPServer):
    """Serves a witness on loopback, one request after the other."""

    def __init__(self, witness: HeadWitness, token: str, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.witness = witness
        self.token = token

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://{LOOPBACK}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Go on with the next request: a sender that went away is no fault of the witness."""


class _Handler(BaseHTTPRequestHandler):
    server: WitnessServer
    timeout = SECONDS

    def do_POST(self) -> None:
        """Answer one request."""
        answer = self._refuse() or self._consider()
        data = f"{answer.text}\n".encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/x.tlog.size" if answer.status == 409 else "text/plain")  # noqa: PLR2004
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class names it
        """Say nothing: a request may hold what others should not read."""

    def _refuse(self) -> WitnessAnswer | None:
        """Return why a request is not read; None if it is."""
        hosts = self.headers.get_all("Host", [])
        if hosts != [f"{LOOPBACK}:{self.server.server_port}"] or self.headers.get("Origin") is not None:
            return WitnessAnswer(421, "this witness is served to programs on this machine only")
        given = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, f"Bearer {self.server.token}".encode()):
            return WitnessAnswer(401, "another token, or none")
        if self.path != PATH:
            return WitnessAnswer(404, f"only {PATH} is served")
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > MOST_DIGITS:
            return WitnessAnswer(411, "no Content-Length")
        return WitnessAnswer(413, f"more than {MOST_BODY} bytes") if int(length) > MOST_BODY else None

    def _consider(self) -> WitnessAnswer:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            return self.server.witness.consider(body)
        except (HarnessError, OSError) as fault:
            return WitnessAnswer(500, str(fault))


def load_or_make_token(place: Path) -> str:
    """Return the token in a file, which is made, readable only by its owner, where there is none."""
    try:
        made = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        token = place.read_text().strip()
        if not token or not token.isascii() or not token.isprintable():
            raise InputError(str(place), found="no token", expected="one line") from None
        return token
    with os.fdopen(made, "w") as file:
        token = os.urandom(NODE_BYTES).hex()
        file.write(f"{token}\n")
    return token


def submit_head(url: str, token: str, note: str, tree: MerkleTree) -> int:
    """Give a signed head of a tree to a witness; return the size that it had kept before.

    Raise `HarnessError` if the witness refuses: then it has kept another history, or a longer one.
    """
    port = _read_port(url)
    old = 0
    for _ in range(TRIES):
        proof = "".join(f"{base64.b64encode(node).decode()}\n" for node in tree.prove_consistency(old))
        answer = _send(port, token, f"old {old}\n{proof}\n{note}".encode())
        if answer.status == 200:  # noqa: PLR2004 - kept
            return old
        known = answer.text.strip()
        moved = answer.status == 409 and known.isdigit() and len(known) <= MOST_DIGITS and int(known) != old  # noqa: PLR2004
        if not moved or int(known) > tree.size:
            break
        old = int(known)
    raise HarnessError(
        f"the witness refused this head of {tree.size} records ({answer.status}): {answer.text.strip()[:200]}",
        hint="409 and 422: it has kept another history, or a longer one, than this journal's",
    )


def _read_port(url: str) -> int:
    port = url.rstrip("/").removeprefix(f"http://{LOOPBACK}:")
    if not port.isascii() or not port.isdigit() or int(port[:6]) > 65535:  # noqa: PLR2004 - the last port
        raise InputError("--witness", found=repr(url[:80]), expected=f"http://{LOOPBACK}:PORT")
    return int(port)


def _send(port: int, token: str, body: bytes) -> WitnessAnswer:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=SECONDS)
    try:
        connection.request("POST", PATH, body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return WitnessAnswer(answer.status, answer.read(MOST_BODY).decode(errors="replace"))
    except (OSError, http.client.HTTPException) as fault:
        raise HarnessError(f"the witness at port {port} does not answer: {fault}") from None
    finally:
        connection.close()


def _read_request(body: bytes) -> tuple[int, list[bytes], str]:
    """Return the old size, the proof and the signed head of a request; `ValueError` if it has another form."""
    before, blank, note = body.decode().partition("\n\n")
    first, *lines = before.split("\n")
    word, _, size = first.partition(" ")
    if not blank or word != "old" or not size.isascii() or not size.isdigit() or len(size) > MOST_DIGITS:
        raise ValueError(first)
    proof = [base64.b64decode(line, validate=True) for line in lines]
    if len(proof) > MOST_PROOF or any(len(node) != NODE_BYTES for node in proof):
        raise ValueError(len(proof))
    return int(size), proof, note
