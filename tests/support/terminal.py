"""Running the program as a person would, on a terminal or into a pipe, and looking at every character it prints."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tests.support.forked import fork, run_forked

from takeback.cli import app

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""What we ourselves send to a terminal."""
ALLOWED = {"\n", "\u200c", "\u200d"}
CODES = {"Cc", "Cf", "Cs", "Zl", "Zp"}


PATIENCE = 240
"""Seconds a program on a terminal may say nothing."""
OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "FORCE_")
"""What variables begin with that the interpreter, or a module that is imported, reads as it starts."""


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
    still = {"TAKEBACK_PROGRESS": "0"}  # a slow machine would show it, a fast one not
    return {**plain, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm", **still, **more}


def program(*arguments: object) -> list[str]:
    """The words that run the program."""
    return [sys.executable, "-m", "takeback", *map(str, arguments)]


def run(*arguments: object, stdout: int = subprocess.PIPE, **variables: str) -> Done:
    """Run the real program in a process of its own, into pipes."""
    if any(name.startswith(OF_THE_INTERPRETER) for name in variables):
        ended = subprocess.run(
            program(*arguments),
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            env=environment(**variables),
            check=False,
        )
        return Done(ended.returncode, (ended.stdout or b"").decode(), ended.stderr.decode())
    code, out, err = run_forked(list(map(str, arguments)), environment(**variables), stdout=stdout)
    return Done(code, out.decode(), err.decode())


def run_on_terminal(arguments: Sequence[object], variables: Mapping[str, str], columns: int = 80) -> Done:
    """Run the real program on a terminal of its own; stdout and stderr are one there."""
    return converse(arguments, (), variables, columns=columns)


def converse(
    arguments: Sequence[object],
    steps: Iterable[tuple[str, str | signal.Signals]],
    variables: Mapping[str, str],
    columns: int = 80,
) -> Done:
    """Run the real program on a terminal: wait until a text is there, then type keys or send a signal, and so on."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = (follower, follower, follower)
    child = fork(list(map(str, arguments)), environment(**variables), streams, terminal=True)
    os.close(follower)
    try:
        printed, seen = b"", 0
        for awaited, typed in steps:
            while awaited.encode() not in printed[seen:]:
                piece = _piece(leader)
                assert piece, f"{awaited!r} never came; printed: {printed[seen:].decode(errors='backslashreplace')}"
                printed += piece
            seen = len(printed)
            if isinstance(typed, str):
                os.write(leader, typed.encode())
            else:
                child.send_signal(typed)
        while piece := _piece(leader):
            printed += piece
        return Done(child.wait(PATIENCE), printed.decode(errors="backslashreplace").replace("\r\n", "\n"), "")
    finally:
        child.kill()
        child.wait(PATIENCE)
        os.close(leader)


def _piece(leader: int) -> bytes:
    """What is printed next; nothing once the program has ended, or says nothing for a while."""
    if not select.select([leader], [], [], PATIENCE)[0]:
        return b""
    try:
        return os.read(leader, 65536)
    except OSError:  # the last writer has gone
        return b""


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
