"""Loopback model servers that answer with a script, in the clients' own protocols.

A turn of a script that is a function is called for what to answer: something may happen while the model thinks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAIN = 3
"""A request with more tools than this is the conversation itself; others are side requests of the client."""
Blocks = Sequence[dict[str, Any]]


@dataclass
class Server:
    """A running server and what it was asked."""

    url: str
    requests: list[Any] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Sequence[Any]
    told: Server
    turn: list[int]

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.answer(404, {"error": {"message": "nothing here"}})

    def do_HEAD(self) -> None:
        self.answer(200, {})

    def body(self) -> Any:
        length = int(self.headers.get("content-length") or 0)
        try:
            found = json.loads(self.rfile.read(length) if length else b"{}")
        except ValueError:
            found = {}
        self.told.requests.append(found)
        return found

    def next(self) -> Any:
        at = min(self.turn[0], len(self.script) - 1)
        self.turn[0] += 1
        said = self.script[at]
        return said() if callable(said) else said

    def answer(self, code: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, kind: str, value: dict[str, Any]) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({**value, 'type': kind})}\n\n".encode())
        self.wfile.flush()


class _Anthropic(_Handler):
    """The Messages API, as far as Claude Code asks for it."""

    def do_POST(self) -> None:
        body = self.body()
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self.answer(200, {"input_tokens": 1})
            return
        blocks: Blocks = [{"type": "text", "text": "ok"}]
        if len(body.get("tools") or ()) > MAIN:
            blocks = self.next()
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "stop_sequence": None,
        }
        usage = {"input_tokens": 1, "output_tokens": 1}
        if not body.get("stream"):
            self.answer(200, {**message, "content": list(blocks), "stop_reason": stop, "usage": usage})
            return
        self.stream()
        self.event("message_start", {"message": {**message, "content": [], "stop_reason": None, "usage": usage}})
        for at, block in enumerate(blocks):
            if block["type"] == "text":
                self.event("content_block_start", {"index": at, "content_block": {"type": "text", "text": ""}})
                delta = {"type": "text_delta", "text": block["text"]}
            else:
                begun = {**block, "input": {}}
                self.event("content_block_start", {"index": at, "content_block": begun})
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            self.event("content_block_delta", {"index": at, "delta": delta})
            self.event("content_block_stop", {"index": at})
        self.event("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage})
        self.event("message_stop", {})


class _Responses(_Handler):
    """The Responses API, as far as Codex asks for it; a script's items are output items."""

    def do_POST(self) -> None:
        self.body()
        items = self.next()
        self.stream()
        self.event("response.created", {"response": {"id": "r"}})
        for at, item in enumerate(items):
            self.event("response.output_item.done", {"output_index": at, "item": item})
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        self.event("response.completed", {"response": {"id": "r", "usage": usage, "output": list(items)}})


class _Gemini(_Handler):
    """The Gemini API, as far as Gemini CLI asks for it; a script's items are parts of the answer."""

    def do_POST(self) -> None:
        self.body()
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        if "countTokens" in self.path:
            self.answer(200, {"totalTokens": 1})
            return
        if "streamGenerateContent" not in self.path:
            self.answer(200, {"candidates": [_candidate([{"text": "{}"}])], "usageMetadata": usage})
            return
        self.stream()
        told = {"candidates": [_candidate(self.next())], "usageMetadata": usage}
        self.wfile.write(f"data: {json.dumps(told)}\r\n\r\n".encode())
        self.wfile.flush()


def _candidate(parts: Blocks) -> dict[str, Any]:
    return {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", "index": 0}


class _Chat(_Handler):
    """Chat completions, as far as opencode asks for them; a side request without tools is answered with a title."""

    def do_POST(self) -> None:
        asked = self.body()
        said = self.next() if asked.get("tools") else {"content": "title"}
        self.stream()
        if "tool" in said:
            function = {"name": said["tool"], "arguments": json.dumps(said["args"])}
            call = {"index": 0, "id": f"call_{self.turn[0]}", "type": "function", "function": function}
            self._chunk({"role": "assistant", "tool_calls": [call]}, None)
        else:
            self._chunk({"role": "assistant", "content": said["content"]}, None)
        self._chunk({}, "tool_calls" if "tool" in said else "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunk(self, delta: dict[str, Any], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        usage = (
            {}
            if finish is None
            else {"usage": dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), 1)}
        )
        chunk = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [choice],
            **usage,
        }
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()


@contextmanager
def _serving(handler: type[_Handler], script: Sequence[Any]) -> Iterator[Server]:
    told = Server("")
    bound = type("Bound", (handler,), {"script": script, "told": told, "turn": [0]})
    server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()


def anthropic_server(script: Sequence[Blocks]) -> Any:
    """A server that answers Claude Code, one list of content blocks per turn."""
    return _serving(_Anthropic, script)


def responses_server(script: Sequence[Blocks]) -> Any:
    """A server that answers Codex, one list of output items per turn."""
    return _serving(_Responses, script)


def gemini_server(script: Sequence[Blocks]) -> Any:
    """A server that answers Gemini CLI, one list of parts per turn."""
    return _serving(_Gemini, script)


def chat_server(script: Sequence[dict[str, Any]]) -> Any:
    """A server that answers opencode: per turn a tool with its arguments, or a text as content."""
    return _serving(_Chat, script)
