"""Makes the calls of an announced change, step by step in the journal, so that none is made twice or forgotten.

Steps stand in the record that announces the change: compensations first, the newest call first, then calls, an
irreversible one last. Each is noted when it is tried and when its outcome is known. After a kill, a step that was
tried is asked about, or repeated where the service keeps keys; otherwise it is in doubt, until someone says. A
compensation that fails leaves its entry open: it is tried again later, and never the call itself.

A program is started without a shell, with a clean environment, within a time limit. It is given the call's
arguments as JSON on standard input, and the key, the action and the receipt in its environment. Exit status 0 is
yes (made, compensated, it happened); any other is no; a program that was killed, or took too long, leaves the
answer open. What it prints is the receipt. It outlives a Takeback that is killed, so it inherits a lock: whoever
asks later whether the call happened waits until that lock is free, and then nobody is making it any more.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.canonical import encode, sha256
from takeback.errors import HarnessError, InputError
from takeback.harness.attempts import PRIVATE
from takeback.harness.calls import CallRules, DeclaredCall
from takeback.harness.calls_environment import get_call_environment
from takeback.harness.file_transaction import require_lock_held
from takeback.harness.ledger import EntryStatus, Ledger
from takeback.harness.records import load_record_writes, read_slots
from takeback.journal import Draft, Record, make_leaf
from takeback.journal.failpoint import failpoint
from takeback.state.pmap import PMap
from takeback.state.slots import Slot
from takeback.state.surfaces.calls import CALLS, is_made
from takeback.state.values import thaw
from takeback.undo import Write

MAKE, COMPENSATE = "make", "compensate"
TRIED, DONE, REFUSED, FAILED, DOUBT = "tried", "done", "refused", "failed", "doubt"
NOT_MADE, WAITING = "not made", "waiting"
SETTLED: Final = frozenset({DONE, REFUSED})
FIRST_WAIT: Final = 60
LONGEST_WAIT: Final = 86_400
A_DAY: Final = 86_400
NOT_DECLARED: Final = DeclaredCall(run=())
Fates = dict[tuple[int, str], str]
"""How far each step of an entry has come, by its number and what is done."""
USUAL: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME")
"""What of the environment every program is given; all else may be a secret."""
MOST: Final = 4_000
"""Characters of what a program says that are kept."""
ASKED_NO: Final = 1
POLL: Final = 0.02
"""Seconds between two looks at a lock."""


class CallRefused(HarnessError):  # noqa: N818  (says what happened)
    """A call of a change was refused for good: the change is given up."""


class Step(NamedTuple):
    """One call to make or to compensate, as the announcing record has it."""

    number: int
    action: str
    key: str
    call: str


class OpenStep(NamedTuple):
    """A step that keeps its entry open: which, how it stands, and when it is tried again."""

    entry: int
    step: int
    action: str
    key: str
    call: str
    state: str
    tries: int
    next: int
    told: int

    @property
    def is_doubt(self) -> bool:
        """Whether nobody knows if it happened."""
        return self.state == DOUBT

    def describe(self) -> str:
        """Return it in a sentence, with the way out."""
        what = f"{'compensating the ' if self.action == COMPENSATE else ''}call {self.call} ({self.key})"
        if self.is_doubt:
            way = f"'takeback resolve {self.entry} {self.step} --made' or --not-made says"
            return f"entry #{self.entry}, step {self.step}: {what} was tried and its outcome is unknown; {way}"
        return (
            f"entry #{self.entry} is open: step {self.step}, {what}, has not been made; "
            "'takeback recover --now' tries it again"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self._asdict()


def read_steps(record: Record) -> tuple[Step, ...]:
    """Return the steps that a record announces."""
    return tuple(Step(at, *map(str, row)) for at, row in enumerate(record.steps, 1))


class CallSteps:
    """The calls of one harness."""

    def __init__(self, ledger: Ledger, rules: CallRules | None) -> None:
        self._ledger = ledger
        self._store = ledger.store
        self._rules = rules or CallRules(Path())

    def attach(self, draft: Draft, writes: Sequence[Write]) -> Draft:
        """Return a draft with the steps that its writes mean; a call that nothing answers is made by `apply` only."""
        mine = [write for write in writes if write.slot[0] == CALLS]
        if not mine:
            return draft
        back: list[tuple[int, list[str]]] = []
        makes: list[tuple[bool, list[str]]] = []
        for write in mine:
            was, now = is_made(write.before), is_made(write.after)
            content = write.after if now else write.before
            if was == now or not isinstance(content, PMap):
                continue
            name, key = str(content["call"]), write.slot[1]
            final = self._rules.is_irreversible(name)
            making = None if now else self._find_making(key)
            if now and (draft.kind == "apply" or not final):
                makes.append((final, [MAKE, key, name]))
            elif making is not None and not final:
                back.append((making.seq, [COMPENSATE, key, name]))
        back.sort(key=lambda row: row[0], reverse=True)
        makes.sort(key=lambda row: row[0])
        rows = [row for _, row in back] + [row for _, row in makes]
        return replace(draft, payload={**draft.payload, "steps": rows}) if rows else draft

    def list_open(self, entry: int | None = None) -> tuple[OpenStep, ...]:
        """Return what keeps entries open, or one of them."""
        last = self._store.latest("step")
        rows = () if last is None else last.open_steps
        steps = (OpenStep(*row) for row in rows if len(row) == len(OpenStep._fields))
        return tuple(open_step for open_step in steps if entry in (None, open_step.entry))

    def has_begun(self, record: Record) -> bool:
        """Tell whether any step of a record was tried."""
        return bool(self._fold(record))

    def is_going_back(self, record: Record) -> bool:
        """Tell whether a call of an announced change was refused, so that the change is given up."""
        return REFUSED in self._fold(record).values()

    def run(self, record: Record, writes: Sequence[Write], *, retry: bool = False) -> None:
        """Make the steps of a record that are not made; one that fails, or is in doubt, leaves the entry open.

        Raises `CallRefused` where a call was refused for good. What failed before is tried again with `retry` only.
        """
        contents = _list_contents(writes)
        fates = self._fold(record)
        for step in read_steps(record):
            fate = fates.get((step.number, step.action))
            if fate == DONE:
                continue
            if fate == DOUBT or (fate == FAILED and not retry):
                self._leave_open(record, step, fate, "")
                return
            fate, why = self._attempt(record, step, contents.get(step.key), fate)
            answered = any(action == COMPENSATE and done == DONE for (_, action), done in fates.items())
            if fate == REFUSED and not answered:
                raise CallRefused(f"the call {step.call} ({step.key}) was refused: {why}")
            if fate != DONE:
                self._leave_open(record, step, FAILED if fate == REFUSED else fate, why)
                return
            fates[step.number, step.action] = DONE

    def run_back(self, record: Record, writes: Sequence[Write], *, retry: bool = False) -> None:
        """Compensate what was made of a change that is given up, the newest call first."""
        contents, fates = _list_contents(writes), self._fold(record)
        for step in reversed(read_steps(record)):
            fate = fates.get((step.number, COMPENSATE))
            if fates.get((step.number, MAKE)) != DONE or fate == DONE:
                continue
            back, why = step._replace(action=COMPENSATE), ""
            if fate != DOUBT and (retry or fate != FAILED):
                fate, why = self._attempt(record, back, contents.get(step.key), fate)
            if fate != DONE:
                self._leave_open(record, back, fate or FAILED, why)
                return

    def retry_open(self, *, now: bool = False) -> tuple[OpenStep, ...]:
        """Try again what keeps entries open, if it is due or wanted now; return what is still open."""
        moment = int(time.time())
        for entry in dict.fromkeys(open_step.entry for open_step in self.list_open()):
            item = self.list_open(entry)[0]
            if not item.is_doubt and (now or item.next <= moment):
                self._go_on(self._store.get(entry))
            still = self.list_open(entry)
            if still and moment - still[0].told >= A_DAY:
                self._tell(still[0], "it is still so")
        return self.list_open()

    def _go_on(self, record: Record) -> None:
        writes = load_record_writes(self._store, record)
        if self._ledger.fate(record) is EntryStatus.ABORTED:
            self.run_back(record, writes, retry=True)
            return
        try:
            self.run(record, writes, retry=True)
        except CallRefused:
            fates = self._fold(record)
            refused = next(step for step in read_steps(record) if fates.get((step.number, MAKE)) == REFUSED)
            self._note(record, refused._replace(action=MAKE), REFUSED, "", closing=True)

    def resolve(self, record: Record, number: int, *, made: bool, by: str) -> None:
        """Take someone's word for a step in doubt, and go on with its entry."""
        doubted = [item for item in self.list_open() if item.is_doubt]
        item = next((item for item in doubted if (item.entry, item.step) == (record.entry, number)), None)
        if item is None:
            doubts = [f"{item.entry} {item.step}" for item in doubted]
            raise InputError(
                f"entry #{record.entry}, step {number}",
                found="no step in doubt",
                expected=f"one that is: {', '.join(doubts) or 'there is none now'}",
            )
        step = read_steps(record)[number - 1]._replace(action=item.action)
        self._note(record, step, DONE if made else NOT_MADE, f"said by {by}", by=by)
        self._go_on(record)

    def why_blocked(self, slots: Sequence[Slot], entries: Sequence[int] = ()) -> str:
        """Return why slots or entries cannot be used, because an open entry has them; empty if they can."""
        for item in self.list_open():
            record = self._store.get(item.entry)
            taken = set(read_slots(record))
            if taken & set(slots) or {record.entry, *record.off, *record.on} & set(entries):
                return item.describe()
        return ""

    def _attempt(self, record: Record, step: Step, content: Any, fate: str | None) -> tuple[str, str]:
        """Make one step, asking first where it was tried before; return how it stands then, and why."""
        call = self._rules.declared.get(step.call, NOT_DECLARED)
        if fate == TRIED:
            asked = self._ask(call, record, step, content)
            if asked.yes:
                return self._note(record, step, DONE, asked.said or "found"), ""
            if asked.yes is None and not call.repeats:
                return self._note(record, step, DOUBT, asked.said), asked.said
        require_lock_held(self._store)
        self._note(record, step, TRIED, "")
        failpoint("call.tried")
        answer = self._start(call, record, step, content)
        failpoint("call.made")
        if answer.yes is None:
            asked = self._ask(call, record, step, content)
            if asked.yes is None and call.repeats:
                asked = self._start(call, record, step, content)
            answer = ProgramAnswer(asked.yes, asked.said or answer.said)
        if answer.yes:
            self._note(record, step, DONE, answer.said)
            failpoint("call.noted")
            return DONE, ""
        if answer.yes is None:
            return self._note(record, step, DOUBT, answer.said), answer.said
        final = FAILED if step.action == COMPENSATE else REFUSED
        return self._note(record, step, final, answer.said), answer.said

    def _start(self, call: DeclaredCall, record: Record, step: Step, content: Any) -> ProgramAnswer:
        vector = call.run if step.action == MAKE else call.compensate
        if not vector:
            return ProgramAnswer(False, f"the manifest does not declare how to {step.action} the call {step.call}")
        if not isinstance(content, PMap):
            return ProgramAnswer(False, "its arguments were forgotten")
        place = self._find_lock(record, step)
        with hold_for_program(place) as lock:
            answer = run_program(vector, **self._give(call, record, step, content), lock=lock)
        if answer.yes is not None:
            place.unlink(missing_ok=True)
        return answer

    def _find_lock(self, record: Record, step: Step) -> Path:
        """Return the place of the lock that a step's program inherits."""
        name = sha256(_name_try(record, step))[:24]
        return self._rules.root / PRIVATE / f"call-{name}.lock"

    def _ask(self, call: DeclaredCall, record: Record, step: Step, content: Any) -> ProgramAnswer:
        """Ask whether something happened: status 0 is yes, 1 is no, any other is no answer."""
        if not isinstance(content, PMap):
            return ProgramAnswer(None, "its arguments were forgotten")
        if not wait_for_program(self._find_lock(record, step), call.timeout):
            return ProgramAnswer(None, f"the program of the call {step.call} was started before and still runs")
        if not call.ask:
            return ProgramAnswer(None, "")
        answer = run_program(call.ask, **self._give(call, record, step, content))
        is_no_answer = answer.yes is False and answer.status != ASKED_NO
        return ProgramAnswer(None, answer.said) if is_no_answer else answer

    def _give(self, call: DeclaredCall, record: Record, step: Step, content: PMap) -> dict[str, Any]:
        about = {
            "TAKEBACK_CALL": step.call,
            "TAKEBACK_CALL_KEY": step.key,
            "TAKEBACK_KEY": _name_try(record, step),
            "TAKEBACK_ACTION": step.action,
        }
        if step.action == COMPENSATE:
            about["TAKEBACK_RECEIPT"] = self._load_receipt(step.key)
        return {
            "root": self._rules.root,
            "given": thaw(content["arguments"]),
            "about": about,
            "names": call.env,
            "seconds": call.timeout,
        }

    def _fold(self, record: Record) -> Fates:
        """Return how far the steps of a record have come; one that was never tried is not there."""
        fates: Fates = {}
        wanted = {(step.number, step.action) for step in read_steps(record)}
        if not wanted:
            return fates
        for later in self._store.records(record.seq + 1):
            if later.kind == "step" and later.about == record.number:
                fates[later.step] = later.outcome
            elif (
                later.kind == "commit"
                and later.about == record.number
                and wanted <= {step for step, fate in fates.items() if fate == DONE}
            ):
                break
        return fates

    def _find_making(self, key: str) -> Record | None:
        """Return the step that last made a call under a key; None where it was never made."""
        record = self._store.latest("step")
        while record is not None:
            if record.call_key == key and record.step[1] == MAKE and record.outcome in {*SETTLED, NOT_MADE}:
                return record if record.outcome == DONE else None
            record = self._store.latest("step", record.seq)
        return None

    def _load_receipt(self, key: str) -> str:
        making = self._find_making(key)
        ref = None if making is None else next(iter(making.refs("said")), None)
        stored = None if not ref else self._store.content(ref)
        return "" if stored is None else str(stored.json())

    def _note(
        self,
        record: Record,
        step: Step,
        state: str,
        said: str,
        *,
        by: str = "",
        closing: bool = False,
        opened: OpenStep | None = None,
    ) -> str:
        """Write down how a step stands, with all that is open after it."""
        items = [list(open_step) for open_step in self.list_open() if open_step.entry != record.entry]
        mine = next(iter(self.list_open(record.entry)), None)
        if opened is not None:
            items.append(list(opened))
        elif mine is not None and not closing and (state != DONE or self._is_unfinished(record, step)):
            waits = WAITING if state == DONE else mine.state if state in {TRIED, NOT_MADE} else state
            items.append(list(mine._replace(state=waits)))
        payload: dict[str, Any] = {
            "entry": record.entry,
            "step": step.number,
            "action": step.action,
            "key": step.key,
            "state": state,
            "open": items,
            **({"by": by} if by else {}),
        }
        contents = {"said": make_leaf(said, "said")} if said else {}
        self._ledger.note_step(Draft("step", payload, contents))
        return state

    def _is_unfinished(self, record: Record, step: Step) -> bool:
        fates = {**self._fold(record), (step.number, step.action): DONE}
        steps = read_steps(record)
        if self._ledger.fate(record) is EntryStatus.ABORTED:
            made = (step.number for step in steps if fates.get((step.number, MAKE)) == DONE)
            return any(fates.get((number, COMPENSATE)) != DONE for number in made)
        return any(fates.get((step.number, step.action)) != DONE for step in steps)

    def _leave_open(self, record: Record, step: Step, state: str, why: str) -> None:
        mine = next(iter(self.list_open(record.entry)), None)
        tries = 1 if mine is None else mine.tries + 1
        wait = min(FIRST_WAIT * 5 ** (tries - 1), LONGEST_WAIT)
        reported = 0 if mine is None else mine.told
        item = OpenStep(record.entry, *step, state, tries, int(time.time()) + wait, reported)
        self._note(record, step, state, why, opened=item)
        if not reported:
            self._tell(item, why)

    def _tell(self, item: OpenStep, why: str) -> None:
        """Start the `[tell]` command, once when an entry opens and once a day; its answer does not count."""
        if not self._rules.tell:
            return
        record = self._store.get(item.entry)
        step = Step(item.step, item.action, item.key, item.call)
        self._note(record, step, item.state, why, opened=item._replace(told=int(time.time())))
        about = {"TAKEBACK_ACTION": "tell"}
        given = {**item.to_json(), "message": item.describe(), "why": why}
        run_program(self._rules.tell, root=self._rules.root, given=given, about=about, seconds=FIRST_WAIT / 2)


def _name_try(record: Record, step: Step) -> str:
    """Return the key under which a service may tell a try from another one."""
    return f"{step.key}.{record.digest[:12]}.{step.number}{'.back' * (step.action == COMPENSATE)}"


def _list_contents(writes: Sequence[Write]) -> Mapping[str, Any]:
    """Return the calls that writes make or take back, by key."""
    return {
        write.slot[1]: write.after if is_made(write.after) else write.before
        for write in writes
        if write.slot[0] == CALLS
    }


class ProgramAnswer(NamedTuple):
    """What a program answered: yes, no, or None where nobody knows; and what it said."""

    yes: bool | None
    said: str
    status: int | None = None


def run_program(
    vector: Sequence[str],
    *,
    root: Path,
    given: Mapping[str, Any],
    about: Mapping[str, str],
    names: Sequence[str] = (),
    seconds: float,
    lock: int | None = None,
) -> ProgramAnswer:
    """Start a program and wait for its answer; it inherits a lock, if it is given one."""
    outside = get_call_environment()
    environment = {name: outside[name] for name in (*USUAL, *names) if name in outside} | dict(about)
    try:
        child = subprocess.Popen(  # noqa: S603 - the vector is the trusted manifest's, no shell reads it
            list(vector),
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )
    except OSError as fault:
        return ProgramAnswer(False, f"{vector[0]} cannot be started: {fault.strerror or fault}")
    failpoint("call.started")
    try:
        output, errors = child.communicate(encode(given).encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        _end_group(child)
        return ProgramAnswer(None, f"{vector[0]} took more than {seconds:g} seconds")
    said = (output if child.returncode == 0 else errors or output).decode(errors="replace").strip()
    for name in names:  # what a program was given in secret is not kept where it says it
        if environment.get(name):
            said = said.replace(environment[name], f"(${name})")
    said = said[:MOST]
    if child.returncode < 0:
        return ProgramAnswer(None, f"{vector[0]} was ended by signal {-child.returncode}")
    if child.returncode == 0:
        return ProgramAnswer(True, said)
    told_why = f": {said}" if said else ""
    return ProgramAnswer(False, f"{vector[0]} ended with status {child.returncode}{told_why}", child.returncode)


@contextmanager
def hold_for_program(place: Path) -> Iterator[int]:
    """Yield a lock to give to a program; it is free again when this process and the program have let it go."""
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    lock = os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)


def wait_for_program(place: Path, seconds: float) -> bool:
    """Wait until the program that was given a lock has ended, and remove the lock; return whether it has ended."""
    until = time.monotonic() + seconds
    try:
        lock = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(POLL)
            else:
                place.unlink(missing_ok=True)
                return True
    finally:
        os.close(lock)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        child.kill()
    child.communicate()
