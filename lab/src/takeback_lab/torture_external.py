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
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
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
from takeback_lab.servers import find_place_in_memory
from takeback_lab.torture_mail import PROGRAM, MailBox, start_mail_sink
from takeback_lab.torture_records import TorturedRecords, start_records

WANTED: Final = (
    "change.announced",
    "change.written",
    "change.settled",
    "call.tried",
    "call.started",
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
WORK: Final = 8
"""So many changes a child makes at most before the boundary where it is to die."""
RECOVERING: Final = ("recovery.begun", "recovery.written")
"""Boundaries that are reached only where the process before died in the middle of a change."""
ROLLING_BACK: Final = ("rollback.step", "record.back")
"""Boundaries that are reached only where a change is given up after something of it was written."""
UNFINISHED: Final = ("change.announced", "change.written", "call.", "record.", "rollback.", "recovery.")
"""Dying here leaves a change for the next process to finish."""
CHECKED: Final = 0.3
"""How often everything is looked at after a child; the children between meet what the one before left."""
GIVEN_UP: Final = ("was refused", "again and again; nothing was changed")
"""What a change says that was given up: a call of it was refused, or others kept writing where it would."""
MANIFEST: Final = """
[calls.mail]
run = [{python}, "send"]
compensate = [{python}, "correct"]
ask = [{python}, "ask"]
stays = "sent"
says = "a correction is sent"

[calls.notice]
run = [{python}, "send"]
compensate = [{python}, "correct"]
repeats = true

[calls.late]
run = [{python}, "refuse"]
compensate = [{python}, "correct"]
ask = [{python}, "ask"]

[admit]
compensable = "yes"
"""


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
    directory.mkdir(parents=True, exist_ok=True)
    with start_records(find_place_in_memory()) as records, start_mail_sink(directory / "mails.jsonl") as sink:
        _set_up(root, sink, records, race)
        run = _Run(root, sink, records, rng)
        while run.found.kills < kills and run.found.holds:
            run.one_child()
            run.write_beside()
            if rng.random() < CHECKED:
                run.check()
            progress(run.found.kills)
        run.end()
        return run.found


def _set_up(root: Path, sink: MailBox, records: TorturedRecords, race: tuple[int, int]) -> None:
    init_workspace(root)
    (root / "mail.py").write_text(PROGRAM)
    (root / "port").write_text(str(sink.port))
    with (root / "takeback.toml").open("a") as manifest:
        manifest.write(
            MANIFEST.replace("{python}", f'{sys.executable!r}, "-I", "-S", "mail.py"')
            + records.write_manifest()
            + "\n"
        )
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

    def __init__(self, root: Path, sink: MailBox, records: TorturedRecords, rng: random.Random) -> None:
        self.root, self.sink, self.records, self.rng = root, sink, records, rng
        self.found = ExternalTorture(
            systems=[*records.systems, "mail"], left_out=dict(records.left_out), guards=dict(records.guards)
        )
        wanted = WANTED_OF_RECORDS * bool(records.servers) + WANTED_OF_ROWS * ("memory" in records.servers)
        self.found.failpoints.update(dict.fromkeys(wanted, 0))
        self.written = 0
        self.unfinished = False
        """Whether the last child left a change in the middle."""

    def one_child(self) -> None:
        """Let a child work until it dies at the boundary that was hit least."""
        points = self.found.failpoints
        within = [name for name in points if self.unfinished or name not in RECOVERING]
        fewest = min(points[name] for name in within)
        enough = fewest + 1 if fewest else 0  # what was never hit comes first
        target = self.rng.choice([name for name in within if points[name] <= enough])
        count = 1 if target in (*RECOVERING, *ROLLING_BACK) else self.rng.choice((1, 1, 2, 3))
        broken = self.rng.random() < 0.25  # noqa: PLR2004 - now and then
        (self.root / BROKEN).touch() if broken else (self.root / BROKEN).unlink(missing_ok=True)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            _child(self.root, self.records, self.rng.random(), target, count, write_end)
        os.close(write_end)
        with os.fdopen(read_end, encoding="ascii") as pipe:
            words = pipe.read().splitlines()
        _, status = os.waitpid(pid, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self.found.kills += killed
        self.found.survived += not killed
        self.unfinished = killed and target.startswith(UNFINISHED)
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
        self.unfinished = False
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
        mails = self.sink.read()
        keys = Counter(mail["X-Key"] for mail in mails)
        twice = [key for key, count in keys.items() if count > 1]
        balance: Counter[str] = Counter()
        for mail in mails:
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
        self.found.mails_sent = sum(mail["X-Verb"] == "send" for mail in mails)
        self.found.corrections_sent = len(mails) - self.found.mails_sent
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
            with arm_failpoints(lambda _: None):
                for _ in range(rng.choice((0, 0, 0, 1, 1)) if target not in RECOVERING else 0):
                    _work(harness, records, rng, "", pipe)
            for _ in range(WORK):
                _work(harness, records, rng, target, pipe)
    except TakebackError as fault:
        os.write(pipe, f"fault {fault.message}\n".encode("ascii", "replace"))
        code = 1
    finally:
        os._exit(code)


def _work(harness: Harness, records: TorturedRecords, rng: random.Random, target: str, pipe: int) -> None:
    """Make a change or take one back, such as may reach the boundary where this child is to die."""
    applied = (entry.id for entry in harness.log() if entry.kind == "apply" and entry.status == "live")
    live = list(islice(applied, 5))
    refused, outside = target in ROLLING_BACK, target.startswith("record.") or rng.random() < 0.8  # noqa: PLR2004
    done: Any = None
    try:
        if live and not refused and rng.random() < 0.45:  # noqa: PLR2004 - nearly half
            done = harness.undo(rng.choice(live), cascade=True)
        else:
            drawn = [*_draw(rng, refused=refused), *(records.draw(rng) if outside else ())]
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


def _draw(rng: random.Random, *, refused: bool) -> list[dict[str, Any]]:
    """Return operations on files, and calls; with `refused`, a call among them is refused."""
    ops: list[dict[str, Any]] = [
        {"op_type": "set_config", "target": f"k{rng.randrange(5)}", "value": rng.randrange(99)},
        {"op_type": "set_prompt", "target": f"p{rng.randrange(3)}", "value": f"text {rng.randrange(99)}\n"},
    ]
    calls = [rng.choice(("mail", "mail", "notice", "notice", "late")) for _ in range(rng.choice((1, 1, 2)))]
    for call in (*calls, *(["late"] if refused else [])):
        value = {"call": call, "arguments": {"to": "ops@localhost"}}
        ops.append({"op_type": "make_call", "target": f"{call}-{rng.randrange(10**9)}", "value": value})
    return ops
