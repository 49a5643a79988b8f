"""A real HTTP server on loopback that speaks the chat-completions protocol and misbehaves on demand.

Each request takes the next `Act` of the script; the last act repeats. What arrived is kept for the test to
look at. Plain replies and server-sent events are both spoken, by what the request asks for.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Act:
    """How one request is answered: what is said, and what goes wrong while saying it."""

    text: str | Callable[[dict[str, Any]], str] = ""
    finish_reason: str = "stop"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: str = "scripted"
    stall: bool = False
    drop_after: int | None = None
    raw_body: str | None = None
    echo_key: bool = False


@dataclass
class Seen:
    """One request that arrived."""

    body: dict[str, Any]
    authorization: str


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is part of the script."""


@dataclass
class FaultServer:
    """The server; use it as a context manager."""

    script: list[Act]
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> FaultServer:
        owner = self
        self._released = threading.Event()
        self._lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._answer(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._http = _QuietServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(240)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        key = handler.headers.get("Authorization", "")
        with self._lock:
            self.seen.append(Seen(body, key))
            act = self.script[min(len(self.seen), len(self.script)) - 1]
        if act.stall:
            self._released.wait(600)
            handler.close_connection = True
            return
        if act.status != 200:
            message = f"{act.error} {key}" if act.echo_key else act.error
            self._send(handler, act.status, json.dumps({"error": {"message": message}}), act.headers)
        elif act.raw_body is not None:
            self._send(handler, 200, act.raw_body, act.headers)
        else:
            text = act.text(body) if callable(act.text) else act.text
            text = f"{text} {key}" if act.echo_key else text
            (self._stream if body.get("stream") else self._whole)(handler, act, text)

    def _whole(self, handler: BaseHTTPRequestHandler, act: Act, text: str) -> None:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": act.finish_reason,
        }
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
        envelope = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        payload = json.dumps(envelope)
        if act.drop_after is None:
            self._send(handler, 200, payload, ())
            return
        self._head(handler, "application/json", len(payload))
        handler.wfile.write(payload[: act.drop_after].encode())
        _cut(handler)

    def _stream(self, handler: BaseHTTPRequestHandler, act: Act, text: str) -> None:
        self._head(handler, "text/event-stream", None)
        pieces = [text[i : i + 512] for i in range(0, len(text), 512)]
        for number, piece in enumerate(pieces):
            if act.drop_after is not None and number * 512 >= act.drop_after:
                _cut(handler)
                return
            if not _event(handler, {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}):
                return
        _event(handler, {"choices": [{"index": 0, "delta": {}, "finish_reason": act.finish_reason}]})
        _event(
            handler,
            {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}},
        )
        _chunk(handler, b"data: [DONE]\n\n")
        _chunk(handler, b"")

    @staticmethod
    def _head(handler: BaseHTTPRequestHandler, kind: str, length: int | None) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        if length is None:
            handler.send_header("Transfer-Encoding", "chunked")
        else:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, body: str, headers: tuple[tuple[str, str], ...]) -> None:
        data = body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


def _event(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> bool:
    envelope = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m", **body}
    return _chunk(handler, f"data: {json.dumps(envelope)}\n\n".encode())


def _chunk(handler: BaseHTTPRequestHandler, data: bytes) -> bool:
    try:
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        handler.wfile.flush()
    except OSError:
        handler.close_connection = True
        return False
    return True


def _cut(handler: BaseHTTPRequestHandler) -> None:
    """Reset the connection, as a server that dies does."""
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
