"""An agent with a memory database and a prompt registry: six changes, the third taken back while others keep writing.

The memory is a table in SQLite, the registry an HTTP server on loopback, in this process. Another program, a process
of its own, adds to the same rows and records all the time. Run it with `make demo-external`.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from takeback import Applied
from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.bindings.probe import probe_binding
from takeback.adapters.bound import BoundRecords, describe_guard
from takeback.adapters.manifest import read_manifest
from takeback.adapters.opener import trust_workspace
from takeback.adapters.variables import use_variables
from takeback.harness import Undone

USERS = ("users-7", "users-9", "users-42")
PROMPTS = {"planner": {"text": "You plan.", "alias": 6, "uses": 0}, "reviewer": {"text": "You review.", "uses": 0}}
BINDINGS = """
[bindings.memory]
kind = "sql"
url_env = "AGENT_DB"
table = "memory"
key = ["id"]
fields = ["text", "weight"]

[bindings.registry]
kind = "http"
base = "{base}"
fields = ["text", "alias"]
"""


def edit(target: str, field: str, value: Any) -> dict[str, Any]:
    """Return the operation that writes one field of a record."""
    return {"op_type": "edit_external", "target": target, "value": {"field": field, "value": value}}


CHANGES: list[tuple[str, list[dict[str, Any]]]] = [
    ("remember what users-42 drinks", [edit("memory/users-42", "text", "likes tea")]),
    ("use version 7 of the planner", [edit("registry/planner", "alias", 7)]),
    (
        "trust users-7 with everything",
        [
            edit("memory/users-7", "text", "may do everything"),
            edit("registry/planner", "text", "You plan. Do what users-7 says."),
        ],
    ),
    ("users-9 matters more", [edit("memory/users-9", "weight", 5)]),
    ("a stricter reviewer", [edit("registry/reviewer", "text", "You review. Ask twice.")]),
    ("users-7 matters less", [edit("memory/users-7", "weight", 0)]),
]
THIRD = 2
STALE = 412


class Registry(ThreadingHTTPServer):
    """Prompts by path, each with a version that is its ETag; a write with a stale one is refused."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.kept = {f"/{name}": (dict(body), 1) for name, body in PROMPTS.items()}
        self.mutex = threading.Lock()
        self.base = f"http://127.0.0.1:{self.server_port}/"


class Answer(BaseHTTPRequestHandler):
    """One request to the registry."""

    server: Registry
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _say(self, code: int, body: object = None, version: int | None = None) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(code)
        if version is not None:
            self.send_header("etag", f'"{version}"')
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else data)

    def do_GET(self) -> None:
        """Answer with a prompt."""
        kept = self.server.kept.get(self.path)
        self._say(404) if kept is None else self._say(200, *kept)

    do_HEAD = do_GET  # noqa: N815

    def _swap(self, body: dict[str, Any] | None) -> None:
        with self.server.mutex:
            kept = self.server.kept.get(self.path)
            wanted = self.headers.get("if-match")
            if (wanted is None and kept) or (wanted and (kept is None or wanted != f'"{kept[1]}"')):
                return self._say(STALE)
            if body is None:
                del self.server.kept[self.path]
                return self._say(204)
            self.server.kept[self.path] = (body, kept[1] + 1 if kept else 1)
            return self._say(200, *self.server.kept[self.path])

    def do_PUT(self) -> None:
        """Take a prompt, if the version is the one that is there."""
        self._swap(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def do_DELETE(self) -> None:
        """Remove a prompt, if the version is the one that is there."""
        self._swap(None)


def keep_writing(database: str, base: str) -> None:
    """Be the other program: count reads and uses until standard input ends, then say how many were counted."""
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    counted, begun = {**dict.fromkeys(USERS, 0), **dict.fromkeys(PROMPTS, 0)}, False
    with closing(sqlite3.connect(database, timeout=60, isolation_level=None)) as at:
        while not ended.is_set():
            for user in USERS:
                at.execute("UPDATE memory SET reads = reads + 1 WHERE id = ?", (user,))
                counted[user] += 1
            for prompt in PROMPTS:
                counted[prompt] += add_use(f"{base}{prompt}")
            if not begun:
                print("begun", flush=True)
                begun = True
            time.sleep(0.005)
    print(json.dumps(counted))


def add_use(url: str) -> int:
    """Add one to a prompt's uses; return 1 if nobody came between, 0 if somebody did."""
    with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - loopback
        body, version = json.load(answer), answer.headers["etag"]
    body["uses"] += 1
    data, condition = json.dumps(body).encode(), {"if-match": version}
    put = urllib.request.Request(url, data, condition, method="PUT")  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(put, timeout=20):  # noqa: S310 - loopback
            return 1
    except urllib.error.HTTPError as refused:
        if refused.code == STALE:
            return 0
        raise


def set_up(root: Path, registry: Registry) -> None:
    """Make the workspace, declare its two bindings, and measure how each guards others' writes."""
    init_workspace(root)
    manifest = root / "takeback.toml"
    manifest.write_text(manifest.read_text() + BINDINGS.replace("{base}", registry.base))
    trust_workspace(root)
    records = BoundRecords(root, read_manifest(manifest.read_bytes(), str(manifest)).bindings)
    with closing(records):
        for name in ("memory", "registry"):
            found = probe_binding(records.find(name), writers=2, writes=10).to_json()
            records.keep_guard(name, found)
            print(f"  {name}: {describe_guard(found)}")


def play(root: Path, database: Path, registry: Registry) -> None:
    """Make six changes and take back the third."""
    with open_workspace(root) as harness:
        entries = []
        for note, operations in CHANGES:
            done = harness.apply(operations, note=note)
            if not isinstance(done, Applied):
                raise SystemExit(done.message)
            print(f"  applied {done.entry.id[:8]}: {note} ({done.verdict.grade.value})")
            entries.append(done.entry.id)
        print("The third is taken back, in both systems:")
        undone = harness.undo(entries[THIRD])
        if not isinstance(undone, Undone):
            raise SystemExit(str(undone))
    with closing(sqlite3.connect(database)) as at:
        for row in at.execute("SELECT id, text, weight FROM memory ORDER BY id"):
            print(f"  memory/{row[0]}: {row[1]}, weight {row[2]}")
    for path, (body, _) in sorted(registry.kept.items()):
        print(f"  registry{path}: {body['text']} (alias {body.get('alias')})")


def check(database: Path, registry: Registry, counted: dict[str, int]) -> dict[str, Any]:
    """Compare what is there with what should be, and with what the other program says it wrote."""
    with closing(sqlite3.connect(database)) as at:
        rows = {row[0]: row[1:] for row in at.execute("SELECT id, text, weight, reads FROM memory")}
    prompts = {path[1:]: body for path, (body, _) in registry.kept.items()}
    ours = {
        "users-7": rows["users-7"][:2] == ("is a customer", 0),
        "users-9": rows["users-9"][:2] == ("is a customer", 5),
        "users-42": rows["users-42"][:2] == ("likes tea", 1),
        "planner": (prompts["planner"]["text"], prompts["planner"]["alias"]) == ("You plan.", 7),
        "reviewer": prompts["reviewer"]["text"] == "You review. Ask twice.",
    }
    there = {name: row[2] for name, row in rows.items()} | {name: body["uses"] for name, body in prompts.items()}
    lost = sum(counted[name] - there[name] for name in counted)
    return {
        "good": all(ours.values()) and not lost and all(counted.values()),
        "ours": ours,
        "their_writes": sum(counted.values()),
        "lost": lost,
    }


def main(scratch: Path) -> dict[str, Any]:
    """Tell the story; return what was found."""
    database, root = scratch / "memory.db", scratch / "agent"
    with closing(sqlite3.connect(database)) as at, at:
        at.execute("PRAGMA journal_mode = WAL")
        at.execute("CREATE TABLE memory (id TEXT PRIMARY KEY, text TEXT, weight INTEGER, reads INTEGER DEFAULT 0)")
        at.executemany("INSERT INTO memory (id, text, weight) VALUES (?, 'is a customer', 1)", [(u,) for u in USERS])
    use_variables({**os.environ, "AGENT_DB": f"sqlite:///{database}"})
    registry = Registry()
    threading.Thread(target=registry.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    print("A memory database and a prompt registry are bound; how each guards others' writes is measured:")
    set_up(root, registry)
    print("Another program begins to write to both. Meanwhile, six changes are made, each proved:")
    command = [sys.executable, __file__, "keep-writing", str(database), registry.base]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:  # noqa: S603 - ourselves
        try:
            if other.stdout is None or other.stdout.readline() != "begun\n":
                raise SystemExit("the other program did not begin")
            play(root, database, registry)
        finally:
            counted, _ = other.communicate(timeout=120)
    registry.shutdown()
    registry.server_close()
    return check(database, registry, json.loads(counted))


if __name__ == "__main__":
    if sys.argv[1:2] == ["keep-writing"]:
        keep_writing(*sys.argv[2:4])
    else:
        with tempfile.TemporaryDirectory(prefix="takeback-external-") as directory:
            told = main(Path(directory))
        if told["good"]:
            print(f"The other five are there, and all {told['their_writes']} writes of the other program.")
        print(json.dumps(told))
        sys.exit(not told["good"])
