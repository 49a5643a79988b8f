"""Kills real processes that change files, rows and keys and send mail, at every boundary, and counts what is left.

Rows are in PostgreSQL and keys in etcd, where another program writes to the same records all the time
(`torture_records`). Mail goes over SMTP to a sink on loopback. Some calls can be asked about, some are repeated by
key, and compensations are refused now and then while the mail program is out of order. In the end every change is
taken back: each record is as before or as the others have it, and each mail has exactly one correction.
"""

from __future__ import annotations

import os
import random
import signal
import socketserver
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.bindings.probe import WRITERS, WRITES
from takeback.adapters.manifest import read_manifest
from takeback.adapters.opener import trust_workspace
from takeback.errors import ChangedMeanwhile, HarnessError, InputError, TakebackError
from takeback.harness import Applied, Harness, Refused, Undone
from takeback.journal.failpoint import BOUNDARIES, arm_failpoints
from takeback.language.program import read_program
from takeback.repair import invert_mutation
from takeback.state import SURFACES, Stage
from takeback.state.surfaces.calls import CALLS
from takeback_lab.torture_records import TorturedRecords, start_records

WANTED: Final = (
    "change.announced",
    "change.written",
    "change.settled",
    "call.tried",
    "call.made",
    "call.noted",
    "recovery.begun",
    "recovery.written",
    "rollback.step",
    "journal.append.begin",
    "journal.append.inserted",
    "journal.append.done",
)
WANTED_OF_RECORDS: Final = ("record.begin", "record.written", "record.back")
WANTED_OF_ROWS: Final = ("record.open",)
BROKEN: Final = "out-of-order"
WORK: Final = 6
GIVEN_UP: Final = ("was refused", "again and again; nothing was changed")
"""What a change says that was given up: a call of it was refused, or others kept writing where it would."""
MANIFEST: Final = """
[calls.mail]
run = [{python}, "mail.py", "send"]
compensate = [{python}, "mail.py", "correct"]
ask = [{python}, "mail.py", "ask"]
stays = "sent"
says = "a correction is sent"

[calls.notice]
run = [{python}, "mail.py", "send"]
compensate = [{python}, "mail.py", "correct"]
repeats = true

[calls.late]
run = [{python}, "mail.py", "refuse"]
compensate = [{python}, "mail.py", "correct"]
ask = [{python}, "mail.py", "ask"]

[admit]
compensable = "yes"
"""
PROGRAM: Final = """
import json, os, smtplib, sys
verb, key, port = sys.argv[1], os.environ["TAKEBACK_KEY"], int(open("port").read())
arguments = json.load(sys.stdin)
if verb == "refuse" or (verb == "correct" and os.path.exists("out-of-order")):
    sys.exit("out of order")
with smtplib.SMTP("127.0.0.1", port, timeout=20) as post:
    if verb == "ask":
        code, _ = post.docmd("VRFY", key)
        sys.exit(0 if code == 250 else 1 if code == 550 else 2)
    head = f"X-Key: {key}\\nX-Verb: {verb}\\nX-Call: {os.environ['TAKEBACK_CALL_KEY']}\\n"
    post.sendmail("takeback@localhost", arguments["to"], f"{head}Subject: change\\n\\nchanged\\n")
print(key)
"""


class Mail(dict[str, str]):
    """One mail that arrived, by its headers."""


class MailSink(socketserver.ThreadingTCPServer):
    """An SMTP server on loopback that keeps what arrives; VRFY tells whether a key did, a key is kept once."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.mails: list[Mail] = []
        self.repeated = 0
        """Mails that came again under a key that was there, and were not kept, as a service with keys does."""
        self.guard = threading.Lock()

    def take(self, text: str) -> None:
        """Keep a mail, unless one came under its key and its kind is kept once."""
        lines = text.partition("\n\n")[0].splitlines()
        mail = Mail(line.split(": ", 1) for line in lines if ": " in line)
        with self.guard:
            if "notice" in mail["X-Call"] and any(one["X-Key"] == mail["X-Key"] for one in self.mails):
                self.repeated += 1
            else:
                self.mails.append(mail)

    def has(self, key: str) -> bool:
        """Tell whether a mail came under a key."""
        with self.guard:
            return any(one["X-Key"] == key for one in self.mails)


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
                self.server.take(self._read_data())
                self._say("250 kept")
            elif verb.upper() == "VRFY":
                self._say("250 it came" if self.server.has(rest.strip()) else "550 no")
            else:
                self._say("250 yes")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _read_data(self) -> str:
        lines: list[str] = []
        while (line := self.rfile.readline(4096).decode(errors="replace")) not in {".\r\n", ""}:
            lines.append(line.rstrip("\r\n"))
        return "\n".join(lines)


@dataclass
class ExternalTorture:
    """What a run did and found."""

    kills: int = 0
    survived: int = 0
    checks: int = 0
    acknowledged: int = 0
    mails_sent: int = 0
    corrections_sent: int = 0
    repeated_by_key: int = 0
    opened: int = 0
    """Undos that were left open because a compensation was refused, and ended later."""
    wrong_ends: int = 0
    calls_made_twice: int = 0
    foreign_writes_lost: int = 0
    their_writes: int = 0
    """What another program wrote to the same records meanwhile."""
    systems: list[str] = field(default_factory=lambda: ["mail"])
    left_out: dict[str, str] = field(default_factory=dict)
    """Systems that are not to be had here, and why."""
    guards: dict[str, str] = field(default_factory=dict)
    failpoints: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(WANTED, 0)))
    examples: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the findings as JSON."""
        plain = dict(vars(self))
        return plain | {
            "failpoints": dict(self.failpoints),
            "missed": [name for name, hits in self.failpoints.items() if not hits],
            "examples": self.examples[:5],
        }

    @property
    def holds(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.wrong_ends or self.calls_made_twice or self.foreign_writes_lost)


def torture_external(
    directory: Path,
    *,
    kills: int,
    seed: int = 0,
    race: tuple[int, int] = (WRITERS, WRITES),
    progress: Callable[[int], None] = lambda _: None,
) -> ExternalTorture:
    """Kill `kills` children that change files and records and send mail; stops at the first check that fails.

    `race` is how many writers a probe of the guards has, and how many writes each.
    """
    unknown = {*WANTED, *WANTED_OF_RECORDS, *WANTED_OF_ROWS} - set(BOUNDARIES)
    if unknown:
        raise ValueError(f"no such boundaries: {sorted(unknown)}")
    root, rng = directory / "agent", random.Random(seed)
    with start_records() as records, MailSink() as sink:
        thread = threading.Thread(target=sink.serve_forever, daemon=True)
        thread.start()
        try:
            _set_up(root, sink, records, race)
            run = _Run(root, sink, records, rng)
            while run.found.kills < kills and run.found.holds:
                run.one_child()
                run.write_beside()
                if rng.random() < 0.3:  # noqa: PLR2004 - now and then
                    run.check()
                progress(run.found.kills)
            run.end()
            return run.found
        finally:
            sink.shutdown()


def _set_up(root: Path, sink: MailSink, records: TorturedRecords, race: tuple[int, int]) -> None:
    init_workspace(root)
    (root / "mail.py").write_text(PROGRAM)
    (root / "port").write_text(str(sink.server_address[1]))
    with (root / "takeback.toml").open("a") as manifest:
        manifest.write(MANIFEST.replace("{python}", repr(sys.executable)) + records.write_manifest() + "\n")
    trust_workspace(root)
    declared = read_manifest((root / "takeback.toml").read_bytes(), "takeback.toml").bindings
    records.begin(root, declared, race)
    with open_workspace(root) as harness:  # the journal takes the shared records in
        for op in records.list_first_edits():
            harness.undo(_require_applied(harness.apply([op])).entry.id)


def _require_applied(outcome: Applied | Refused) -> Applied:
    if isinstance(outcome, Refused):
        raise HarnessError(outcome.message)
    return outcome


class _Run:
    """One run."""

    def __init__(self, root: Path, sink: MailSink, records: TorturedRecords, rng: random.Random) -> None:
        self.root, self.sink, self.records, self.rng = root, sink, records, rng
        self.found = ExternalTorture(
            systems=[*records.systems, "mail"], left_out=dict(records.left_out), guards=dict(records.guards)
        )
        wanted = WANTED_OF_RECORDS * bool(records.servers) + WANTED_OF_ROWS * ("memory" in records.servers)
        self.found.failpoints.update(dict.fromkeys(wanted, 0))
        self.written = 0

    def one_child(self) -> None:
        """Let a child work until it dies at the boundary that was hit least."""
        points = self.found.failpoints
        fewest = min(points.values())
        target = self.rng.choice([name for name, hits in points.items() if hits <= fewest + 1])
        broken = self.rng.random() < 0.25  # noqa: PLR2004 - now and then
        (self.root / BROKEN).touch() if broken else (self.root / BROKEN).unlink(missing_ok=True)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            _child(self.root, self.records, self.rng.random(), target, self.rng.choice((1, 1, 2, 3)), write_end)
        os.close(write_end)
        with os.fdopen(read_end, encoding="ascii") as pipe:
            words = pipe.read().splitlines()
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self.found.kills += killed
        self.found.survived += not killed
        for word in words:
            kind, _, value = word.partition(" ")
            if kind == "at":
                points[value] += 1
            elif kind == "done":
                self.found.acknowledged += 1
            elif kind == "open":
                self.found.opened += 1
            elif kind == "fault":
                self.found.wrong_ends += 1
                self.found.examples.append(value)

    def write_beside(self) -> None:
        """Write a file that no change of ours touches, as another program would."""
        self.written += 1
        (self.root / "files").mkdir(exist_ok=True)
        (self.root / "files" / "theirs").write_text(str(self.written))

    def check(self) -> None:
        """Mend the mail program, let recovery end, and compare what was sent with what the journal calls live."""
        self.found.checks += 1
        (self.root / BROKEN).unlink(missing_ok=True)
        try:
            with open_workspace(self.root) as harness:
                left = harness.recover(now=True).open
                self._compare(harness, [item.describe() for item in left])
        except TakebackError as fault:
            self.found.wrong_ends += 1
            self.found.examples.append(f"cannot open: {fault}")

    def end(self) -> None:
        """Take back all that is live, and look once more: each mail has its correction."""
        self.check()
        if not self.found.holds:
            return
        with open_workspace(self.root) as harness:
            live = [entry.id for entry in harness.log() if entry.kind == "apply" and entry.status == "live"]
            if live:
                harness.undo(*live, cascade=True)
            self._compare(harness, [item.describe() for item in harness.status().open])

    def _compare(self, harness: Harness, wrong: list[str]) -> None:
        keys = Counter(mail["X-Key"] for mail in self.sink.mails)
        twice = [key for key, count in keys.items() if count > 1]
        balance: Counter[str] = Counter()
        for mail in self.sink.mails:
            balance[mail["X-Call"]] += 1 if mail["X-Verb"] == "send" else -1
        stand = {key for key, count in balance.items() if count}
        made = set(SURFACES[CALLS].write(harness.state.part(CALLS)))
        if stand != made or any(count not in {0, 1} for count in balance.values()):
            wrong.append(f"mails that stand: {sorted(stand)}, the journal says {sorted(made)}")
        ours = [change.slot for change in harness.status().drift if change.slot[:2] != ("files", "theirs")]
        wrong += [f"{slot} is not what the journal says" for slot in ours]
        theirs = (self.root / "files" / "theirs").read_text() if self.written else ""
        self.found.foreign_writes_lost += theirs != (str(self.written) if self.written else "")
        looked = self.records.compare(harness)
        wrong += looked.wrong
        self.found.foreign_writes_lost += len(looked.theirs)
        self.found.examples += looked.theirs
        self.found.their_writes = self.records.their_writes
        self.found.calls_made_twice += len(twice)
        self.found.wrong_ends += len(wrong)
        self.found.examples += [*wrong, *(f"{key} came twice" for key in twice)]
        self.found.mails_sent = sum(mail["X-Verb"] == "send" for mail in self.sink.mails)
        self.found.corrections_sent = len(self.sink.mails) - self.found.mails_sent
        self.found.repeated_by_key = self.sink.repeated


def _child(root: Path, records: TorturedRecords, seed: float, target: str, count: int, pipe: int) -> NoReturn:
    rng, hits, code = random.Random(seed), 0, 0

    def probe(name: str) -> None:
        nonlocal hits
        hits += name == target
        if name == target and hits == count:
            os.write(pipe, f"at {name}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        with arm_failpoints(probe), open_workspace(root) as harness:
            for _ in range(WORK):
                _work(harness, records, rng, pipe)
    except TakebackError as fault:
        os.write(pipe, f"fault {fault.message}\n".encode("ascii", "replace"))
        code = 1
    finally:
        os._exit(code)


def _work(harness: Harness, records: TorturedRecords, rng: random.Random, pipe: int) -> None:
    live = [entry.id for entry in harness.log() if entry.kind == "apply" and entry.status == "live"][:5]
    done: Any = None
    try:
        if live and rng.random() < 0.45:  # noqa: PLR2004 - nearly half
            done = harness.undo(rng.choice(live), cascade=True)
        else:
            drawn = [*_draw(rng), *(records.draw(rng) if rng.random() < 0.8 else ())]  # noqa: PLR2004 - mostly
            done = harness.apply(invert_mutation(read_program(drawn, Stage.FORWARD, "mutation"), harness.state))
    except (InputError, ChangedMeanwhile):
        return  # undone already; or others wrote there in the same moment, so that nothing was changed
    except HarnessError as fault:
        if not any(words in fault.message for words in GIVEN_UP):
            raise
    if isinstance(done, Applied | Undone):
        os.write(pipe, b"done\n" + b"open\n" * bool(done.open))
    elif isinstance(done, Refused) and done.why.value not in {"open", "drift"}:
        raise HarnessError(done.message)


def _draw(rng: random.Random) -> list[dict[str, Any]]:
    ops: list[dict[str, Any]] = [
        {"op_type": "set_config", "target": f"k{rng.randrange(5)}", "value": rng.randrange(99)},
        {"op_type": "set_prompt", "target": f"p{rng.randrange(3)}", "value": f"text {rng.randrange(99)}\n"},
    ]
    for _ in range(rng.choice((1, 1, 2))):
        call = rng.choice(("mail", "mail", "notice", "notice", "late"))
        value = {"call": call, "arguments": {"to": "ops@localhost"}}
        ops.append({"op_type": "make_call", "target": f"{call}-{rng.randrange(10**9)}", "value": value})
    return ops
