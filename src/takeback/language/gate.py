"""The language gate: is a program in L0, L1, …? Decided before anything runs.

L0 has config, prompts, tools and routing, and no composition whose result depends on order: two operations of
one program that can see each other's effect, and are not the same operation, are out. L1 adds the other
surfaces and ordered composition. Every operation that is out is named with its position.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from takeback.canonical import encode
from takeback.language.program import PROGRAMS, Candidate, Program
from takeback.state import KINDS, SURFACES, Level, Operation, Stage


def find_widest_level() -> Level:
    """Return the widest language of which any operation is installed: what is used where none is named."""
    return max((kind.level for kind in KINDS.values()), key=lambda level: level.value)


@dataclass(frozen=True, slots=True)
class OutOfLanguage:
    """One operation that the language does not have: where it stands and why it is out."""

    program: str
    position: int
    op_type: str
    level: str
    why: str

    def __str__(self) -> str:
        return f"{self.program}[{self.position}] {self.op_type}: {self.why}"


@dataclass(frozen=True, slots=True)
class NoInverse:
    """There is no recovery in a language: which operations it lacks."""

    level: Level
    lacking: tuple[OutOfLanguage, ...]

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"no recovery in {self.level.value}: {'; '.join(map(str, self.lacking))}"

    def __repr__(self) -> str:
        return f"NoInverse({self.level.value}, lacking: {len(self.lacking)})"


def gate(candidate: Candidate, level: Level, programs: Iterable[str] = PROGRAMS) -> tuple[OutOfLanguage, ...]:
    """Return every operation of the named programs that is not in the language; none: it is in."""
    refusals: list[OutOfLanguage] = []
    for name in programs:
        program: Program = getattr(candidate, name)
        for at, op in enumerate(program):
            if not level.includes(op.kind.level):
                why = f"belongs to {op.kind.level.value}, not to {level.value}"
                refusals.append(OutOfLanguage(name, at, op.kind.name, level.value, why))
        if level is Level.L0:
            refusals.extend(_find_order_conflicts(name, program))
    return tuple(refusals)


def _find_order_conflicts(name: str, program: Program) -> Iterable[OutOfLanguage]:
    for at, op in enumerate(program):
        for before in range(at):
            if _can_order_matter(program[before], op):
                why = f"its order with {name}[{before}] {program[before].kind.name} matters, which needs L1"
                yield OutOfLanguage(name, at, op.kind.name, Level.L0.value, why)
                break


def _can_order_matter(first: Operation, second: Operation) -> bool:
    if encode(first.to_json()) == encode(second.to_json()):
        return False
    if first.kind.stage is Stage.CAPTURE:
        return first.witness_key == second.witness_key
    if first.kind.surface != second.kind.surface:
        return False
    return SURFACES[first.kind.surface].overlaps(first, second)
