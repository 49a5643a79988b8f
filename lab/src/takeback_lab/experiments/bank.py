"""The frozen natural bank: what became of each task at turn 0, kept as data with the lock it was made under.

Its defective entries are the cohort that other experiments take. The shipped bank comes from the recording beside
it; freezing another one is `takeback lab natural --freeze DIR`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Literal

from takeback.errors import InputError, RecordingError
from takeback.language import read_program
from takeback.repair.attempt import Attempt, build_attempt
from takeback.repair.loop import Settings, repair_with_oracle
from takeback.repair.models import Sampling
from takeback.state import Level, Stage, State
from takeback_lab.experiments.draws import draw_order
from takeback_lab.experiments.recorded import LOCK, check_frozen_file, check_replies, shipped_recording, write_frozen
from takeback_lab.experiments.turn0 import FIRST, OUTCOMES, Condition, Turn0Outcome
from takeback_lab.judges import make_recovery_judge
from takeback_lab.lock import Lock, read_json, read_lock, write_lock
from takeback_lab.recordings import digest_replies, has_recording
from takeback_lab.results import BANK
from takeback_lab.tasks import Task, get

Stratum = Literal["S0", "S1", "residual"]
LEVELS: Final[Mapping[Level, Stratum]] = {Level.L0: "S0", Level.L1: "S1"}
STRATA: Final[tuple[Stratum, ...]] = ("S0", "S1", "residual")
ALL_STRATA: Final[Mapping[str, int | None]] = dict.fromkeys(STRATA)
DEFECTIVE: Final[Turn0Outcome] = "defective"


@dataclass(frozen=True, slots=True)
class Failure:
    """One defective task of the bank: its task, the candidate to repair as it was written, and its stratum."""

    task: Task
    candidate: dict[str, Any]
    stratum: Stratum

    @property
    def id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def family(self) -> str:
        """The task's family."""
        return self.task.family

    def to_json(self) -> list[Any]:
        """The failure as a lock freezes it."""
        return [self.task.to_json(), self.candidate, self.stratum]


@dataclass(frozen=True, slots=True)
class Bank:
    """A frozen bank: the model and condition it was made under, the tasks that were locked, the entries that ran."""

    model: str
    sampling: Sampling
    locked: tuple[str, ...]
    lock: Lock
    entries: tuple[dict[str, Any], ...]
    condition: Condition = FIRST

    def accounting(self) -> dict[str, int]:
        """How many tasks ran, and how many ended in which way."""
        found = Counter(entry["outcome"] for entry in self.entries)
        return {"tasks": len(self.entries), **{outcome: found[outcome] for outcome in OUTCOMES}}


def freeze_bank(folder: Path, bank: Bank) -> None:
    """Write a bank and its lock, with the digest of the replies beside it."""
    body = {
        "model": bank.model,
        "condition": bank.condition.to_json(),
        "sampling": bank.sampling.to_json(),
        "locked": list(bank.locked),
        "lock": bank.lock.digest,
        "replies": digest_replies(folder) if has_recording(folder) else None,
        "entries": list(bank.entries),
    }
    write_frozen(folder / BANK, body)
    write_lock(bank.lock, folder / LOCK)


def load_bank(folder: Path | None = None) -> Bank:
    """Read a frozen bank, the shipped one by default; one that was altered since, or has another lock, is refused."""
    where = folder or shipped_recording("natural")
    path = where / BANK
    raw, lock = read_json(path), read_lock(where / LOCK)
    try:
        sampling, under = Sampling(**raw["sampling"]), raw.get("condition")
        condition = FIRST if under is None else Condition.from_json(under)
        bank = Bank(raw["model"], sampling, tuple(raw["locked"]), lock, tuple(raw["entries"]), condition)
        check_frozen_file(path, raw, lock)
    except (KeyError, TypeError, ValueError):
        expected = "a bank: model, condition, sampling, locked, lock, digest, entries"
        raise InputError(str(path), found="another form", expected=expected) from None
    for at, entry in enumerate(bank.entries):
        _check_entry(entry, f"{path}: entries[{at}]")
    if has_recording(where):
        check_replies(where, bank.model, raw.get("replies"))
    return bank


def _check_entry(entry: Any, where: str) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or entry.get("outcome") not in OUTCOMES:
        raise InputError(
            where, found=entry, expected=f"an entry with id, candidate and outcome ({', '.join(OUTCOMES)})"
        )
    if entry["outcome"] == DEFECTIVE:
        candidate = entry.get("candidate")
        mutation = candidate.get("mutation") if isinstance(candidate, dict) else None
        read_program(mutation, Stage.FORWARD, f"{where}.candidate.mutation")


def check_replayed(bank: Bank, model: str, entries: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a replay that does not give the bank it was frozen as: another recording, or another verifier."""
    if model != bank.model:
        raise RecordingError(f"replies of {model}, but the bank beside them was made by {bank.model}")
    for held, entry in zip(bank.entries, entries, strict=True):
        if held != entry:
            raise RecordingError(
                f"{entry['id']} comes out as {entry['outcome']}, not as it was frozen ({held['outcome']})",
                hint="freeze the bank anew (--freeze) if the verifier has changed since",
            )


def defective(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Task, dict[str, Any]]]:
    """The tasks of a bank's entries that ended as defective, each with its candidate as it was written."""
    for entry in entries:
        if entry["outcome"] == DEFECTIVE:
            yield get(entry["id"]), entry["candidate"]


def cohort(entries: Sequence[Mapping[str, Any]]) -> tuple[Failure, ...]:
    """The defective tasks of a bank's entries with their strata, in the bank's order."""
    return tuple(
        Failure(task, candidate, stratum_of(task, build_attempt(candidate))) for task, candidate in defective(entries)
    )


def stratum_of(task: Task, attempt: Attempt) -> Stratum:
    """S0 if the oracle recovers the mutation in L0, S1 if only in L1, else residual."""
    nominal = State.read(task.state, task.id)
    for level, stratum in LEVELS.items():
        settings = Settings(level=level, any_mutation=True)
        judge = make_recovery_judge("split-wald", level, nominal)
        if repair_with_oracle(attempt, judge, settings, nominal).admitted is not None:
            return stratum
    return "residual"


def drawn(failures: Sequence[Failure], wanted: Mapping[str, int | None] = ALL_STRATA) -> tuple[Failure, ...]:
    """So many failures of each stratum, or all there are: seeded, families in turn, strata in turn."""
    rows = [
        draw_order([one for one in failures if one.stratum == stratum])[:count] for stratum, count in wanted.items()
    ]
    return tuple(one for several in zip_longest(*rows) for one in several if one is not None)
