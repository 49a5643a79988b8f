"""A place of its own for every client: home, temporary directory, a project that it trusts."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.clients.install import program
from tests.support.client_harnesses import files_of

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness import Applied, Harness, Refused, Undone
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage

TEN_SECONDS = 10
TWO_MINUTES = 120


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.clients)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many passed and failed, client by client."""
    counted: dict[str, Counter[str]] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            file = report.nodeid.partition("::")[0]
            if file.startswith("tests/clients/"):
                client = file.removeprefix("tests/clients/test_").removesuffix(".py").replace("_", "-")
                counted.setdefault(client, Counter())["failed" if outcome == "error" else outcome] += 1
    for client, counts in counted.items():
        left_out = f", {counts['skipped']} left out" if counts["skipped"] else ""
        terminalreporter.write_line(f"{client}: {counts['passed']} passed, {counts['failed']} failed{left_out}")


@dataclass
class Place:
    """A project with a client's files, opened by Takeback and by the client."""

    client: str
    root: Path
    home: Path
    env: dict[str, str]
    binary: str

    def run(self, *words: str, seconds: int = 120) -> str:
        """What the client prints."""
        done = subprocess.run(
            [self.binary, *words],
            cwd=self.root,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=seconds,
        )
        if done.returncode:
            raise AssertionError(f"{self.client} {words} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    @contextmanager
    def talking(self, *words: str) -> Iterator[Talk]:
        """A conversation in lines of JSON."""
        process = subprocess.Popen(
            [self.binary, *words],
            cwd=self.root,
            env=self.env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        late = threading.Timer(TWO_MINUTES, process.kill)
        late.start()
        try:
            yield Talk(process)
        finally:
            late.cancel()
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(TEN_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(TEN_SECONDS)

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Every file of the project."""
        return {path: found for path, found in files_of(self.root).items() if not path.startswith(".git/")}

    def opened(self) -> Harness:
        """The project as Takeback has it."""
        return open_workspace(self.root, hold=False)


class Talk:
    """A running client that answers in lines of JSON."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, message: Any) -> None:
        """Say something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def until(self, wanted: Any) -> Any:
        """The first answer that is wanted; `wanted` says what of it, or None."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = wanted(json.loads(line))
            if found is not None:
                return found
        raise AssertionError("the client ended without the answer")


def make_place(client: str, files: Mapping[str, str], where: Path, *, known: bool = True) -> Place:
    """A project with these files, `known` to Takeback; the test is left out where the client is not installed."""
    binary = program(client)
    if binary is None:
        pytest.skip(f"{client} is not installed: 'make test-clients' installs it, where npm is there")
    root, home, scratch = (where / name for name in ("project", "home", "scratch"))
    for place in (root, home, scratch):
        place.mkdir()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    env = {
        "PATH": os.pathsep.join((str(binary.parent), os.environ["PATH"])),
        "HOME": str(home),
        "TAKEBACK_TRUST": os.environ["TAKEBACK_TRUST"],
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "NO_COLOR": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=TEN_SECONDS)
    if known:
        init_clients(root, (client,))
    return Place(client, root, home, env, str(binary))


def change(harness: Harness, *ops: dict[str, Any]) -> Applied | Refused:
    """Make a change with the recovery the oracle writes."""
    return harness.apply(invert_mutation(read_program(list(ops), Stage.FORWARD, "change"), harness.state))


def made(harness: Harness, *ops: dict[str, Any]) -> str:
    """The entry of a change that must be made."""
    done = change(harness, *ops)
    assert isinstance(done, Applied), done
    return done.entry.id


def taken_back(harness: Harness, entry: str) -> None:
    """Take an entry back."""
    outcome = harness.undo(entry)
    assert isinstance(outcome, Undone), outcome
