"""Running the program as a person would, on a terminal or into a pipe, and looking at every character it prints."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from takeback.cli import app

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What we ourselves send to a terminal."""
ALLOWED = {"\n", "\u200c", "\u200d"}
CODES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class Done(NamedTuple):
    """How a run ended, and what it printed."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def raw_characters(text: str) -> set[str]:
    """Characters that a terminal would obey or a person could not see."""
    return {c for c in COLOUR.sub("", text) if unicodedata.category(c) in CODES} - ALLOWED


def environment(**more: str) -> dict[str, str]:
    """What a run of the program sees: this source, no colours of the tester's own."""
    unset = {"NO_COLOR", "FORCE_COLOR", "PAGER", "TAKEBACK_PAGER", "COLUMNS", "LINES"}
    plain = {name: value for name, value in os.environ.items() if name not in unset}
    return {**plain, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **more}


def program(*arguments: object) -> list[str]:
    """The words that run the program."""
    return [sys.executable, "-m", "takeback", *map(str, arguments)]


def run(*arguments: object, stdout: int = subprocess.PIPE, **variables: str) -> Done:
    """Run the real program in a process of its own, into pipes."""
    ended = subprocess.run(
        program(*arguments),
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        env=environment(**variables),
        check=False,
    )
    return Done(ended.returncode, (ended.stdout or b"").decode(), ended.stderr.decode())


def run_on_terminal(arguments: Sequence[object], variables: Mapping[str, str], columns: int = 80) -> Done:
    """Run the real program on a terminal of its own; stdout and stderr are one there."""
    leader, follower = pty.openpty()
    pty_size = (24).to_bytes(2, sys.byteorder) + columns.to_bytes(2, sys.byteorder) + bytes(4)
    import fcntl
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, pty_size)
    child = subprocess.Popen(
        program(*arguments),
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment(**variables),
        start_new_session=True,
    )
    os.close(follower)
    printed = b"".join(_read(leader))
    os.close(leader)
    return Done(child.wait(60), printed.decode(errors="backslashreplace").replace("\r\n", "\n"), "")


def _read(leader: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the last writer has gone
            return
        if not piece:
            return
        yield piece


@contextmanager
def streams(*, terminal: bool) -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """stdout and stderr replaced, as a terminal or as pipes."""
    made = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = made
    try:
        yield made
    finally:
        sys.stdout, sys.stderr = before


def in_process(*arguments: object, terminal: bool) -> tuple[str, str]:
    """Run a command in this process; what it printed on stdout and stderr."""
    from takeback.cli import output

    with streams(terminal=terminal) as (out, err):
        output.begin()
        fault: Exception | None = None
        try:
            app(list(map(str, arguments)), standalone_mode=False)
        except Exception as found:  # noqa: BLE001 - as main does
            fault = found
        output.end(0, fault, as_json="--json" in arguments)
    return out.getvalue(), err.getvalue()
