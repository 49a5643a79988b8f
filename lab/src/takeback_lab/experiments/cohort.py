"""Which mutations an experiment runs on: the tasks' reference mutations, or a frozen bank's defective ones.

A case is plain data, so that it can be sent to a worker process. Recoveries are never taken along: whoever
runs a case has to find one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from takeback.errors import InputError
from takeback.language import Program, read_program
from takeback.state import Stage, State
from takeback_lab.experiments.bank import defective, load_bank
from takeback_lab.experiments.draws import at_most, draw_order
from takeback_lab.experiments.recorded import shipped_recording
from takeback_lab.tasks import Task, load

SHIPPED = "bank"


@dataclass(frozen=True, slots=True)
class Case:
    """A mutation and the nominal state it was made for, as JSON."""

    id: str
    family: str
    state: Any
    mutation: tuple[Any, ...]

    def nominal(self) -> State:
        """The nominal state."""
        return State.read(self.state, self.id)

    def program(self) -> Program:
        """The mutation, read."""
        return read_program(list(self.mutation), Stage.FORWARD, f"{self.id}.mutation")

    def to_json(self) -> dict[str, Any]:
        """The case as a lock freezes it."""
        return {"id": self.id, "family": self.family, "state": self.state, "mutation": list(self.mutation)}

    @classmethod
    def from_json(cls, raw: Any) -> Case:
        """The case that `to_json` wrote."""
        return cls(raw["id"], raw["family"], raw["state"], tuple(raw["mutation"]))


TaskOrCase = TypeVar("TaskOrCase", Task, Case)


def reference_cases(sets: Iterable[str], limit: int | None = None) -> tuple[Case, ...]:
    """The reference mutations of task sets, recoveries removed; `limit` draws so many, families in equal parts.

    The set `bank` stands for the defective candidates of the shipped bank.
    """
    cases: list[Case] = []
    for name in sets:
        cases += bank_cases() if name == SHIPPED else (_case(task, task.reference) for task in load(name))
    return tuple(balanced(cases, limit))


def bank_cases(folder: Path | None = None, limit: int | None = None) -> tuple[Case, ...]:
    """The recovery-defective candidates of a frozen bank, the shipped one by default."""
    found = defective(load_bank(folder).entries)
    cases = [_case(task, tuple(candidate["mutation"])) for task, candidate in found]
    if not cases:
        raise InputError(
            str(folder or shipped_recording("natural")), found="no defective entry", expected="at least one"
        )
    return tuple(balanced(cases, limit))


def _case(task: Task, mutation: tuple[Any, ...]) -> Case:
    return Case(task.id, task.family, task.state, mutation)


def balanced(items: Sequence[TaskOrCase], limit: int | None) -> list[TaskOrCase]:
    """So many items, drawn by seed, families taking turns; all of them in their order without a limit."""
    if limit is None or limit == len(items):
        return list(items)
    return list(at_most(draw_order(items), limit))
