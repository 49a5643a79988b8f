"""Replies kept as JSON lines, one per request: record with any model, replay without one.

A line is `{"digest", "request", "reply"}`, with `origin` where it is known: asked or imported, when, by which
runtime. A last line torn by a kill is dropped when the file is opened to
record again; damage anywhere else is an error that names the line. Replaying a request that is not there
is an error that names its digest.
"""

from __future__ import annotations

import gzip
import os
import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from takeback.canonical import encode, parse
from takeback.errors import InputError, RecordingError
from takeback.repair.models.chat import ChatModel, Provider, Reply, Request, Usage, digest_request

PLAIN = "recording.jsonl"
PACKED = "recording.jsonl.gz"
ASKED = "asked"
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class RecordedLine:
    """One recorded call."""

    digest: str
    request: Mapping[str, object]
    reply: Reply
    origin: Mapping[str, str] | None = None

    def to_text(self) -> str:
        """Return the line as it is written, newline included."""
        body = {"digest": self.digest, "reply": asdict(self.reply), "request": self.request}
        if self.origin is not None:
            body["origin"] = dict(self.origin)
        return f"{encode(body)}\n"


def read_lines(directory: Path) -> Iterator[RecordedLine]:
    """Yield every whole line of a directory's recordings, packed file first; skip a torn last line."""
    files = [p for p in (directory / PACKED, directory / PLAIN) if p.is_file()]
    if not files:
        raise RecordingError("no recording there", where=str(directory), hint=f"make one with --record {directory}")
    for path in files:
        yield from _parse(path, _read_bytes(path))


def tell_origin(how: str, runtime: str) -> dict[str, str]:
    """Return what a recorded reply says of itself: asked or imported, when, by which runtime."""
    return {"how": how, "at": datetime.now(UTC).isoformat(timespec="seconds"), "runtime": runtime}


class RecordingModel:
    """Asks the model behind it once for each distinct request, and writes down what it said."""

    def __init__(self, model: ChatModel, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"cannot be a directory ({error.strerror})", where=str(directory)) from None
        self._model = model
        self._path = directory / PLAIN
        _drop_torn_tail(self._path)
        has_any = self._path.exists() or (directory / PACKED).exists()
        lines = list(read_lines(directory)) if has_any else []
        others = sorted({str(line.request.get("model")) for line in lines} - {model.name})
        if others:
            raise RecordingError(
                f"holds replies of {others[0]}, not of {model.name}",
                where=str(directory),
                hint="record each model in a directory of its own",
            )
        self._known = {line.digest: line.reply for line in lines}
        self._lock = threading.Lock()
        self._file: BinaryIO | None = None

    @property
    def name(self) -> str:
        """The name of the model behind."""
        return self._model.name

    def complete(self, request: Request) -> Reply:
        """Return the recorded reply, or the model's, written to disk before it is returned."""
        name = request.digest()
        with self._lock:
            if (known := self._known.get(name)) is not None:
                return known
        reply, runtime = self._model.complete(request), getattr(self._model, "runtime", None)
        self.learn(request, reply, tell_origin(ASKED, runtime) if isinstance(runtime, str) else None)
        return self._known[name]

    def learn(self, request: Request, reply: Reply, origin: Mapping[str, str] | None = None) -> bool:
        """Write down a reply that came from elsewhere; a request that has one keeps it. Whether it was new."""
        name = request.digest()
        line = RecordedLine(name, request.to_json(), reply, origin).to_text().encode("utf-8")
        with self._lock:
            if name in self._known:
                return False
            if self._file is None:
                self._file = self._path.open("ab")
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            self._known[name] = reply
            return True

    def __contains__(self, digest: str) -> bool:
        return digest in self._known

    def close(self) -> None:
        """Close the file, if anything was written."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> RecordingModel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class ReplayModel:
    """Answers from a recording alone, or from several of the same model."""

    def __init__(self, directory: Path, *more: Path) -> None:
        self._directory = directory
        lines = [line for folder in (directory, *more) for line in read_lines(folder)]
        if not lines:
            raise RecordingError("the recording holds no call", where=str(directory))
        self._known = {line.digest: line.reply for line in lines}
        names = sorted({str(line.request.get("model")) for line in lines})
        if len(names) != 1:
            raise RecordingError(
                f"replies of several models ({', '.join(names)})",
                where=str(directory),
                hint="keep one a directory",
            )
        self._name = names[0]

    @property
    def name(self) -> str:
        """The name of the model that was recorded."""
        return self._name

    def complete(self, request: Request) -> Reply:
        """Return the recorded reply to exactly this request."""
        name = request.digest()
        reply = self._known.get(name)
        if reply is None:
            raise RecordingError(
                f"request {name} is not among the {len(self._known)} recorded calls",
                where=str(self._directory),
                hint="made in another language (try --language L1) or with other prompts? use those, or --record",
            )
        return reply


def _read_bytes(path: Path) -> bytes:
    raw = path.read_bytes()
    if path.suffix != ".gz":
        return raw
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError(f"not a readable gzip file ({error})", where=str(path)) from None


def _parse(path: Path, raw: bytes) -> Iterator[RecordedLine]:
    rows = raw.split(b"\n")
    for number, row in enumerate(rows, start=1):
        if not row:
            continue
        if number == len(rows):
            return
        yield _parse_line(path, number, row)


def _parse_line(path: Path, number: int, row: bytes) -> RecordedLine:
    where = f"{path}:{number}"
    try:
        body = parse(row, where)
        reply = body["reply"]
        line = RecordedLine(
            digest=str(body["digest"]),
            request=dict(body["request"]),
            reply=Reply(
                text=str(reply["text"]),
                finish_reason=str(reply["finish_reason"]),
                usage=Usage(**reply["usage"]),
                latency_s=float(reply["latency_s"]),
            ),
            origin={str(name): str(said) for name, said in body["origin"].items()} if "origin" in body else None,
        )
    except (InputError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"not a recorded call ({type(error).__name__}: {error})", where=where) from None
    if line.digest != digest_request(line.request):
        raise RecordingError("the digest is not that of the request: one of them was altered", where=where)
    return line


def _drop_torn_tail(path: Path) -> None:
    if not path.is_file():
        return
    raw = path.read_bytes()
    if raw and not raw.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(raw.rfind(b"\n") + 1)


PROVIDER = Provider(
    "<directory>",
    required=False,
    open=lambda argument, around: ReplayModel(*([Path(argument)] if argument else around.recordings)),
)
