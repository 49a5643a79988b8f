"""A stranger's repository that carries a `.takeback`, cloned as a person clones it, and what watches the clone.

Each repository has a change under way that would plant a git hook; its clone's git config names programs that leave a
trace when they are run. Everything is in one temporary directory; the only server is the test's own, on loopback.
"""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness.images import FileChange, FileImage, attach_images
from takeback.journal import Draft

HOOK = ".git/hooks/post-checkout"
PERSON = ("-c", "user.name=Stranger", "-c", "user.email=stranger@localhost", "-c", "core.hooksPath=/dev/null")


@dataclass(frozen=True)
class Clone:
    """A clone, and the file that exists once anything of it was run."""

    root: Path
    ran: Path


def git(place: Path, *words: str) -> str:
    """Run git as a person does; returns what it prints."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *PERSON, *words], cwd=place, env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    return done.stdout


def canary(ran: Path) -> bytes:
    """A program that leaves a trace."""
    return f"#!/bin/sh\ntouch {ran}\ncat\n".encode()


def workspace(top: Path) -> Path:
    """A workspace of the stranger's."""
    return init_workspace(top / "stranger")


def clients_files(top: Path) -> Path:
    """Claude Code's files, with an import of a git hook and a folder that is a link to git's hooks."""
    root = top / "stranger"
    (root / ".claude").mkdir(parents=True)
    (root / "CLAUDE.md").write_text(f"# Rules\n\n@{HOOK}\n@../../outside.md\n@~/outside.md\n")
    (root / ".claude/settings.json").write_text('{"model": "sonnet"}\n')
    (root / ".claude/commands").symlink_to("../.git/hooks")
    init_clients(root, ("claude-code",))
    return root


def begin_change(root: Path, ordinary: str, ran: Path) -> None:
    """Announce a change of two files of which one is written already, as a killed process leaves it."""
    with closing(open_workspace(root, hold=False)) as harness:
        before = (root / ordinary).read_bytes()
        after = before + b"# changed\n"
        changes = (
            FileChange(ordinary, FileImage(before), FileImage(after)),
            FileChange(HOOK, None, FileImage(canary(ran), 0o755)),
        )
        harness.ledger.announce(attach_images(Draft("discard", {"note": "tidy up"}), changes))
    (root / ordinary).write_bytes(after)


def publish(root: Path) -> None:
    """Commit everything, Takeback's own directory too."""
    (root / ".gitattributes").write_text("* filter=planted\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", "Everything")


def clone(root: Path, top: Path, ran: Path) -> Clone:
    """Clone a repository, and let its config name programs, as one that was unpacked from an archive could."""
    place = top / "clone"
    git(top, "clone", "-q", str(root), str(place))
    program = top / "planted"
    program.write_bytes(canary(ran))
    program.chmod(0o755)
    planted = {
        "core.fsmonitor": program,
        "core.pager": program,
        "core.sshCommand": program,
        "diff.external": program,
        "filter.planted.clean": program,
        "filter.planted.smudge": program,
        "gpg.program": program,
        "trailer.takeback.key": "Takeback-Head",
        "trailer.takeback.command": program,
    }
    for name, value in planted.items():
        git(place, "config", name, str(value))
    return Clone(place, ran)


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a directory, `.git` too: mode, time of change, and bytes or where a link leads."""
    found: dict[str, tuple[int, int, bytes]] = {}
    for folder, below, names in os.walk(root):
        for name in (*below, *names):
            place = os.path.join(folder, name)
            status = os.lstat(place)
            if stat.S_ISLNK(status.st_mode):
                held = os.fsencode(os.readlink(place))
            else:
                held = b"" if stat.S_ISDIR(status.st_mode) else Path(place).read_bytes()
            found[os.path.relpath(place, root)] = (status.st_mode, status.st_mtime_ns, held)
    return found


@contextmanager
def listener() -> Iterator[tuple[int, Callable[[], bytes]]]:
    """A server on loopback that answers like PostgreSQL asking for a password; its port, and what it was sent."""
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    connection, _ = server.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(2)
                    received.append(b"connected\n")
                    try:
                        while data := connection.recv(4096):
                            received.append(data)
                            asks = data[4:8] == b"\x04\xd2\x16\x2f"  # for encryption, which this server has not
                            connection.sendall(b"N" if asks else b"R\0\0\0\x08\0\0\0\x03")
                    except OSError:
                        pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1], lambda: b"".join(received)
        finally:
            ended.set()
            thread.join()
