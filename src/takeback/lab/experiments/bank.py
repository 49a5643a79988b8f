"""The frozen natural bank: what became of each task at turn 0, kept as data with the lock it was made under.

The defective entries are the cohort that other experiments take by default. The shipped bank comes from the
recording beside it; freezing another one is `takeback lab natural --freeze DIR`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from takeback.errors import InputError, RecordingError
from takeback.lab.experiments.natural import (
    FIRST,
    OUTCOMES,
    PLAIN_L0,
    Condition,
    Entry,
    Outcome,
    natural_lock,
    protocol,
)
from takeback.lab.lock import Lock, check, digest_of, read_json, read_lock, write_lock, write_whole
from takeback.lab.tasks import Task, get
from takeback.language import read_program
from takeback.state import Level, Stage, State
from takeback.synthesize.attempt import Attempt, attempt_from
from takeback.synthesize.judging import recovery_judge
from takeback.synthesize.loop import Settings
from takeback.synthesize.models import PAPER, Sampling
from takeback.synthesize.portfolio import repair_with_oracle

Stratum = Literal["S0", "S1", "residual"]
STRATA: Final[Mapping[Level, Stratum]] = {Level.L0: "S0", Level.L1: "S1"}
DEFECTIVE: Final[Outcome] = "defective"
BANK = "bank.json"
LOCK = "lock.json"


@dataclass(frozen=True, slots=True)
class Case:
    """One defective task of the bank: its task, the attempt to repair, and the oracle's stratum."""

    task: Task
    attempt: Attempt
    stratum: Stratum

    @property
    def nominal(self) -> State:
        """The task's nominal state."""
        return State.read(self.task.state, self.task.id)


@dataclass(frozen=True, slots=True)
class Bank:
    """A frozen bank: the model and condition it was made under, the tasks that were locked, the entries that ran."""

    model: str
    sampling: Sampling
    locked: tuple[str, ...]
    lock: Lock
    entries: tuple[dict[str, Any], ...]
    condition: Condition = FIRST

    def tasks(self) -> tuple[Task, ...]:
        """The tasks that ran, in their order."""
        return tuple(get(entry["id"]) for entry in self.entries)

    def locked_tasks(self) -> tuple[Task, ...]:
        """The tasks that were locked before the first call; raises `LockChanged` if one is another now."""
        tasks = tuple(get(task_id) for task_id in self.locked)
        parts = protocol(model=self.model, chosen=tasks, sampling=self.sampling, condition=self.condition)
        check(self.lock, parts)
        return tasks


def shipped() -> Path:
    """The folder of the bank and recordings that come with Takeback."""
    return Path(str(resources.files("takeback.lab").joinpath("recorded", "natural")))


def freeze(
    folder: Path,
    model: str,
    tasks: Sequence[Task],
    entries: Sequence[Entry],
    sampling: Sampling = PAPER,
    condition: Condition = PLAIN_L0,
) -> Bank:
    """Write a bank and its lock: `tasks` are all that were locked, `entries` those that ran."""
    lock = natural_lock(tasks, model, sampling, condition)
    ids = tuple(task.id for task in tasks)
    bank = Bank(model, sampling, ids, lock, tuple(entry.to_json() for entry in entries), condition)
    body = {
        "model": model,
        "condition": condition.to_json(),
        "sampling": sampling.to_json(),
        "locked": list(ids),
        "lock": lock.digest,
        "digest": digest_of(bank.entries, "entries"),
        "entries": list(bank.entries),
    }
    write_whole(folder / BANK, (json.dumps(body, ensure_ascii=False, indent=1) + "\n").encode("utf-8"))
    write_lock(lock, folder / LOCK)
    return bank


def load_bank(folder: Path | None = None) -> Bank:
    """Read a frozen bank, the shipped one by default; one that was altered since, or has another lock, is refused."""
    path = (folder or shipped()) / BANK
    raw, lock = read_json(path), read_lock(path.with_name(LOCK))
    try:
        sampling, under = Sampling(**raw["sampling"]), raw.get("condition")
        condition = FIRST if under is None else Condition(Level(under["language"]), str(under["prompts"]))
        bank = Bank(raw["model"], sampling, tuple(raw["locked"]), lock, tuple(raw["entries"]), condition)
        held = {"lock": raw["lock"], "digest": raw["digest"]}
    except (KeyError, TypeError, ValueError):
        expected = "a bank: model, sampling, locked, lock, digest, entries"
        raise InputError(str(path), found="another form", expected=expected) from None
    for name, wanted in (("lock", lock.digest), ("digest", digest_of(raw["entries"], "entries"))):
        if held[name] != wanted:
            raise InputError(f"{path}: {name}", found=str(held[name]), expected=f"{wanted}: it was altered since")
    for at, entry in enumerate(bank.entries):
        _check_entry(entry, f"{path}: entries[{at}]")
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


def check_replayed(bank: Bank, model: str, entries: Sequence[Entry]) -> None:
    """Refuse a replay that does not give the bank it was frozen as: another recording, or another verifier."""
    if model != bank.model:
        raise RecordingError(f"replies of {model}, but the bank beside them was made by {bank.model}")
    for held, entry in zip(bank.entries, entries, strict=True):
        if held != entry.to_json():
            raise RecordingError(
                f"{entry.task.id} comes out as {entry.outcome}, not as it was frozen ({held['outcome']})",
                hint="freeze the bank anew (--freeze) if the verifier has changed since",
            )


def defective(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Task, dict[str, Any]]]:
    """The tasks of a bank's entries that ended as defective, each with its candidate as it was written."""
    for entry in entries:
        if entry["outcome"] == DEFECTIVE:
            yield get(entry["id"]), entry["candidate"]


def cohort(entries: Sequence[Mapping[str, Any]]) -> tuple[Case, ...]:
    """The defective tasks of a bank's entries with their strata, in the bank's order."""
    cases = []
    for task, candidate in defective(entries):
        attempt = attempt_from(candidate)
        cases.append(Case(task, attempt, stratum_of(task, attempt)))
    return tuple(cases)


def stratum_of(task: Task, attempt: Attempt) -> Stratum:
    """S0 if the oracle recovers the mutation in L0, S1 if only in L1, else residual."""
    nominal = State.read(task.state, task.id)
    for level, stratum in STRATA.items():
        settings = Settings(level=level, any_mutation=True)
        judge = recovery_judge("split-wald", level, nominal)
        if repair_with_oracle(attempt, judge, settings, nominal).admitted is not None:
            return stratum
    return "residual"


def stratified(cases: Sequence[Case], per_stratum: int | None) -> tuple[Case, ...]:
    """The first cases of each stratum, in the bank's order; all of them without a number."""
    if per_stratum is None:
        return tuple(cases)
    kept: list[Case] = []
    for stratum in ("S0", "S1", "residual"):
        kept += [case for case in cases if case.stratum == stratum][:per_stratum]
    return tuple(case for case in cases if case in kept)
