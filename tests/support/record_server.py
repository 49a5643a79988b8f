"""A small HTTP server of JSON records on loopback, with ETags; it can ignore conditions, or be down."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RecordServer(ThreadingHTTPServer):
    """Records by path; `heeds` tells whether it heeds conditions."""

    daemon_threads = True

    def __init__(self, *, heeds=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.records: dict[str, tuple[dict, int]] = {}
        self.heeds, self.asked, self.mutex, self.count = heeds, 0, threading.Lock(), 0

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server_port}/records/"

    def put(self, name, body):
        with self.mutex:
            self.count += 1
            self.records[f"/records/{name}"] = (body, self.count)

    def get(self, name):
        return self.records.get(f"/records/{name}", (None,))[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet

    def log_message(self, *_):
        pass

    def _answer(self, code, body=None, tag=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        if tag is not None and self.server.heeds:
            self.send_header("etag", f'"{tag}"')
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        self.server.asked += 1
        found = self.server.records.get(self.path)
        self._answer(404) if found is None else self._answer(200, *found)

    do_HEAD = do_GET  # noqa: N815

    def _write(self, body):
        self.server.asked += 1
        with self.server.mutex:
            found = self.server.records.get(self.path)
            wanted, none = self.headers.get("if-match"), self.headers.get("if-none-match")
            stale = (wanted is not None and (found is None or f'"{found[1]}"' != wanted)) or (none and found)
            if stale and self.server.heeds:
                return self._answer(412)
            if body is None:
                self.server.records.pop(self.path, None)
                return self._answer(204)
            self.server.count += 1
            self.server.records[self.path] = (body, self.server.count)
            return self._answer(200, body, self.server.count)

    def do_PUT(self):
        self._write(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def do_DELETE(self):
        self._write(None)


@contextmanager
def serve_records(*, heeds=True):
    """Yield a server that runs."""
    server = RecordServer(heeds=heeds)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
