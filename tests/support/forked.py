"""Runs of the program in processes forked from one that has imported it already.

Each is a process with arguments, environment, folder, streams and terminal of its own, and ends by itself; only the
start of the interpreter and the imports are shared, which cost more than most commands. What is about starting
(imports, encodings, `PYTHON...` variables) runs the interpreter instead: `tests.support.terminal.program`.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NoReturn

PATIENCE = 240
LARGEST = 1 << 20
LARGEST_MESSAGE = "a request to the server of forks is larger than a message"


class ForkedProcess:
    """A process of the program, forked by the server, as far as tests deal with one."""

    def __init__(self, reports: int) -> None:
        self._reports = os.fdopen(reports, "rb")
        self.pid = int(self._read_line())
        self.returncode: int | None = None

    def wait(self, timeout: float = PATIENCE) -> int:
        """Return the exit code once the process has ended; the negative signal where one ended it."""
        if self.returncode is None:
            if not select.select([self._reports], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            self.returncode = os.waitstatus_to_exitcode(int(self._read_line()))
            self._reports.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once; nothing happens where it has ended."""
        with suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)

    def _read_line(self) -> bytes:
        line = self._reports.readline()
        assert line, "the server of forks has ended"
        return line


def fork(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    *,
    cwd: str | None = None,
    terminal: bool = False,
) -> ForkedProcess:
    """Run `takeback` with arguments; `terminal`: in a session whose terminal its stdin is."""
    about = {
        "argv": ["takeback", *arguments],
        "env": dict(environment),
        "cwd": cwd or os.getcwd(),
        "terminal": terminal,
    }
    ours, theirs = os.pipe()
    try:
        _server().send(json.dumps(about).encode(), [*streams, theirs])
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return ForkedProcess(ours)


def run_forked(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    given: bytes | None = None,
    cwd: str | None = None,
) -> tuple[int, bytes, bytes]:
    """Run `takeback` to its end; return its exit code and what it printed into pipes.

    `given` is what it reads on stdin; without that it reads from this process's stdin.
    """
    pipes: dict[int, bytearray] = {}
    streams, ends = [0], []
    if given is not None:
        reader, writer = os.pipe()
        streams[0] = reader
        ends.append(reader)
    for wanted in (stdout, stderr):
        if wanted == subprocess.STDOUT:
            streams.append(streams[1])
        elif wanted == subprocess.PIPE:
            ours, theirs = os.pipe()
            pipes[ours] = bytearray()
            streams.append(theirs)
            ends.append(theirs)
        else:
            streams.append(wanted)
    order = list(pipes)
    process = fork(arguments, environment, (streams[0], streams[1], streams[2]), cwd=cwd)
    for end in ends:
        os.close(end)
    feeder = threading.Thread(target=_feed, args=(writer, given)) if given is not None else None
    if feeder is not None:
        feeder.start()
    printed = _collect(pipes, process)
    if feeder is not None:
        feeder.join(PATIENCE)
    texts = iter(printed[end] for end in order)
    out = next(texts) if stdout == subprocess.PIPE else b""
    err = next(texts) if stderr == subprocess.PIPE else b""
    return process.wait(), out, err


def run_text(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    given: str | None = None,
    cwd: object = None,
    stderr: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """Run `takeback` to its end, as `subprocess.run` does with text and pipes."""
    where = None if cwd is None else str(cwd)
    stdin = None if given is None else given.encode()
    code, out, err = run_forked(arguments, environment, given=stdin, cwd=where, stderr=stderr)
    return subprocess.CompletedProcess(["takeback", *arguments], code, out.decode(), err.decode())


def _feed(writer: int, given: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(writer, "wb") as stdin:
        stdin.write(given)


def _collect(pipes: dict[int, bytearray], process: ForkedProcess) -> dict[int, bytes]:
    waiting = set(pipes)
    while waiting:
        ready = select.select(list(waiting), [], [], PATIENCE)[0]
        if not ready:
            process.kill()
            raise subprocess.TimeoutExpired(f"process {process.pid}", PATIENCE)
        for end in ready:
            if piece := os.read(end, 65536):
                pipes[end] += piece
            else:
                os.close(end)
                waiting.discard(end)
    return {end: bytes(printed) for end, printed in pipes.items()}


class _Server:
    """The other end of the server of forks, which ends with this process."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self._socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forked", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"},
            )
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the server, once what it forked has ended."""
        self._socket.close()
        self._process.wait(PATIENCE)

    def send(self, message: bytes, streams: list[int]) -> None:
        with self._lock:
            sent = socket.send_fds(self._socket, [message], streams)
        assert sent == len(message), LARGEST_MESSAGE


@cache
def _server() -> _Server:
    return _Server()


def close_server() -> None:
    """End the server of forks where one was started."""
    if _server.cache_info().currsize:
        _server().close()
        _server.cache_clear()


def _serve(number: int) -> None:
    """Fork a process for every request, and report its id and how it ended."""
    import gc
    from importlib import import_module

    from takeback.cli.program import COMMANDS

    for listed in COMMANDS.values():
        import_module(listed.module if "." in listed.module else f"takeback.cli.{listed.module}")
    gc.freeze()
    requests = socket.socket(fileno=number)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    reports: dict[int, int] = {}
    while True:
        ready = select.select([requests, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 4096)
            _report_ended(reports)
        if requests in ready:
            message, ends, _, _ = socket.recv_fds(requests, LARGEST, 4)
            if not message:
                return
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                for end in (requests.detach(), woken, wakes, ends[3], *reports.values()):
                    os.close(end)
                _run(json.loads(message), ends[:3])
            reports[child] = ends[3]
            os.write(ends[3], f"{child}\n".encode())
            for end in ends[:3]:
                os.close(end)


def _report_ended(reports: dict[int, int]) -> None:
    while reports:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        end = reports.pop(child)
        with suppress(BrokenPipeError):
            os.write(end, f"{status}\n".encode())
        os.close(end)


def _run(about: dict[str, object], streams: list[int]) -> NoReturn:
    """Become a process of the program, as the interpreter would have started it."""
    import gc
    import random

    gc.unfreeze()
    random.seed()
    if about["terminal"]:
        os.setsid()
    for at, end in enumerate(streams):
        os.dup2(end, at)
    for end in set(streams) - {0, 1, 2}:
        os.close(end)
    if about["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(about["env"])  # type: ignore[call-overload]
    os.chdir(str(about["cwd"]))
    sys.argv = list(about["argv"])  # type: ignore[call-overload]
    for at, name in enumerate(("stdin", "stdout", "stderr")):
        was = getattr(sys, name)
        stream = open(at, "r" if at == 0 else "w", encoding=was.encoding, errors=was.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    code: object = 0
    try:
        from takeback.cli import main

        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as the interpreter says it
        sys.excepthook(*sys.exc_info())
        code = 1
    _end(code)


def _end(code: object) -> NoReturn:
    """End as the interpreter does: what is registered for the end is run, and what is printed is flushed."""
    import atexit

    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the code of the interpreter for it
        code = 120
    try:
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
