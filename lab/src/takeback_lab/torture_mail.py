"""A mail sink on loopback in a process of its own, and the program that sends mail to it over SMTP.

The sink writes down each mail as a line of JSON before it says that it is kept, so that what came is known to whoever
reads that file, whatever became of the sender. VRFY tells whether a mail came under a key; mail of the call `notice`
is kept once for each key, as a service with idempotency keys does.
"""

from __future__ import annotations

import json
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = """
import json, os, socket, sys
verb, key, port = sys.argv[1], os.environ["TAKEBACK_KEY"], int(open("port").read())
arguments = json.load(sys.stdin)
if verb == "refuse" or (verb == "correct" and os.path.exists("out-of-order")):
    sys.exit("out of order")
post = socket.create_connection(("127.0.0.1", port), 20).makefile("rwb")

def say(text, *fine):
    post.write(text.encode() + b"\\r\\n" * bool(text))
    post.flush()
    code = int(post.readline()[:3])
    if code not in fine:
        sys.exit("the server said %d" % code)
    return code

say("", 220)
if verb == "ask":
    sys.exit(0 if say("VRFY " + key, 250, 550) == 250 else 1)
say("MAIL FROM:<takeback@localhost>", 250)
say("RCPT TO:<%s>" % arguments["to"], 250)
say("DATA", 354)
head = ("X-Key: " + key, "X-Verb: " + verb, "X-Call: " + os.environ["TAKEBACK_CALL_KEY"], "Subject: change")
say("\\r\\n".join((*head, "", "changed", ".")), 250)
print(key)
"""
"""A program without imports that take long to start: it is started hundreds of times."""


class Mail(dict[str, str]):
    """One mail that arrived, by its headers."""


class MailBox:
    """What a sink has kept, read as it grows."""

    def __init__(self, place: Path, port: int) -> None:
        self.port = port
        self.mails: list[Mail] = []
        self.repeated = 0
        """Mails that came again under a key that was there, and were not kept."""
        self._file = place.open(encoding="utf-8")

    def read(self) -> list[Mail]:
        """Return all mails that came so far."""
        for line in self._file:
            told = json.loads(line)
            if told["kept"]:
                self.mails.append(Mail(told["mail"]))
            else:
                self.repeated += 1
        return self.mails

    def close(self) -> None:
        """Let the file go."""
        self._file.close()


@contextmanager
def start_mail_sink(place: Path) -> Iterator[MailBox]:
    """Start a sink that writes to a file, and end it."""
    place.touch()
    command = [sys.executable, "-m", "takeback_lab.torture_mail", str(place)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the mail sink has no pipes")
    box = MailBox(place, int(process.stdout.readline()))
    try:
        yield box
    finally:
        box.close()
        process.stdin.close()
        process.wait()
        process.stdout.close()


class MailSink(socketserver.ThreadingTCPServer):
    """An SMTP server on loopback that writes down what arrives."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, place: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self._keys: set[str] = set()
        self._guard = threading.Lock()
        self._file = place.open("a", encoding="utf-8")

    def take(self, text: str) -> None:
        """Write a mail down, and whether it is kept."""
        lines = text.partition("\n\n")[0].splitlines()
        mail = Mail(line.split(": ", 1) for line in lines if ": " in line)
        with self._guard:
            told: dict[str, Any] = {
                "mail": mail,
                "kept": "notice" not in mail["X-Call"] or mail["X-Key"] not in self._keys,
            }
            self._keys.add(mail["X-Key"])
            self._file.write(json.dumps(told) + "\n")
            self._file.flush()

    def has(self, key: str) -> bool:
        """Tell whether a mail came under a key."""
        with self._guard:
            return key in self._keys


class _Conversation(socketserver.StreamRequestHandler):
    """One SMTP session: RFC 5321, as far as a sink needs it."""

    server: MailSink

    def handle(self) -> None:
        self._say("220 sink")
        while line := self.rfile.readline(4096).decode(errors="replace").strip():
            verb, _, rest = line.partition(" ")
            if verb.upper() == "QUIT":
                self._say("221 bye")
                return
            if verb.upper() == "DATA":
                self._say("354 go on")
                mail = self._read_data()
                if mail is None:
                    return  # whoever sent it ended in the middle of it
                self.server.take(mail)
                self._say("250 kept")
            elif verb.upper() == "VRFY":
                self._say("250 it came" if self.server.has(rest.strip()) else "550 no")
            else:
                self._say("250 yes")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _read_data(self) -> str | None:
        lines: list[str] = []
        while (line := self.rfile.readline(4096).decode(errors="replace")) != ".\r\n":
            if not line:
                return None
            lines.append(line.rstrip("\r\n"))
        return "\n".join(lines)


def serve_mail(place: Path) -> None:
    """Serve until standard input ends."""
    with MailSink(place) as sink:
        sys.stdout.write(f"{sink.server_address[1]}\n")
        sys.stdout.flush()
        threading.Thread(target=sink.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        sys.stdin.read()
        sink.shutdown()


if __name__ == "__main__":
    serve_mail(Path(sys.argv[1]))
