"""What a client's settings may do, by its declaration's table: run programs, redirect traffic, widen permissions.

A table is text (`Client.risks`), a line for each risk with what is said of it: `growing, allows more: a.b c.*.d`. A
place has steps between dots; `*` is any one step, `**` at the end is everything below. The most specific place
counts. Guard, recorder, server, page and command line all decide by these tables; a key in none of them is judged by
its looks (`settings_risk.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple

REST: Final = "**"
ONE: Final = "*"
Path = tuple[str, ...]
ANYBODYS: Final = (
    *("claude-code", "codex", "gemini", "opencode", "continue", "aider", "goose", "hermes", "crewai", "roomodes"),
)
"""Clients whose tables count where it is not known whose a setting is."""


class Risk(StrEnum):
    """What makes a setting risky, as it begins a line of a table."""

    EXECUTES = "executes"
    """A value runs a program."""
    REDIRECTS = "redirects"
    """A value sends traffic or files elsewhere."""
    INJECTS = "injects"
    """A value goes into the environment of programs."""
    LOADS = "loads"
    """A value brings in code or instructions of others."""
    GROWING = "growing"
    """A list of which a new item loosens."""
    SHRINKING = "shrinking"
    """A list of which a missing item loosens."""
    LIMITING = "limiting"
    """A list that limits by being there: a new item loosens, and so does leaving the list out."""
    ORDERED = "ordered"
    """A mode; a looser one loosens, and one that is not known. `ordered STRICT … LOOSE, UNSET: place`: UNSET is what
    it counts as that is not set, or two: before a change, and after one, where clients' defaults differ."""
    SWITCH = "switch"
    """A value that loosens when it is set: `switch on`, `switch off`, `switch WORD`; `switch on by default`."""
    GUARD = "guard"
    """A value that guards while it is set to anything but false; `guard docker podman`: others run a program."""
    PROTECTED = "protected"
    """Part of the permissions: whatever is not known there loosens when it changes."""
    HARMLESS = "harmless"
    """Known to do none of that, whatever its name looks like."""


WORDS: Final[Mapping[Risk, str]] = {
    Risk.EXECUTES: "runs a program",
    Risk.REDIRECTS: "sends traffic or files elsewhere",
    Risk.INJECTS: "goes into the environment of programs",
    Risk.LOADS: "brings in code or instructions of others",
    Risk.LIMITING: "limits less",
    Risk.GUARD: "is no longer on",
    Risk.PROTECTED: "is part of the permissions, and changed",
}
"""What is said of a risk that its line says nothing of."""


class RiskRule(NamedTuple):
    """What is known of one place."""

    risk: Risk
    words: str = ""
    """What is said of a change that loosens."""
    modes: Sequence[str] = ()
    """Of a mode, all that are known, strict ones first."""
    unset: tuple[str, str] = ("", "")
    """What a mode that is not set counts as, before a change and after one."""
    loose: Any = None
    """Of a switch, the value that loosens."""
    default: Any = None
    """Of a switch, what it is when it is not set."""
    fine: Sequence[Any] = ()
    """Of a guard, the values that are known; another one may run a program."""
    beneath: Path = ()
    """Of a harmless place that stands for everything below, what a path has there: its looks still count."""


@dataclass(frozen=True, slots=True)
class RiskTable:
    """Everything that is known of one client's settings, by place."""

    client: str
    rules: Mapping[str, RiskRule]
    dotted: bool = False
    """Whether a dot in a name is a step, as in the settings of editors."""
    _tree: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for place, rule in self.rules.items():
            node = self._tree
            for step in place.split("."):
                node = node.setdefault(step, {})
            node[""] = rule

    def rule_of(self, path: Path) -> tuple[int, RiskRule] | None:
        """Return what is known of a path, behind how exactly it is named there; None if nothing is."""
        return _find_rule(self._tree, tuple(".".join(path).split(".")) if self.dotted else path, 0)


def _find_rule(node: dict[str, Any], path: Path, exact: int) -> tuple[int, RiskRule] | None:
    rest = node.get(REST, {}).get("")
    if not path:
        rule = node.get("", rest)
        return None if rule is None else (exact, rule)
    for step, more in ((path[0], 2), (ONE, 1)):
        below = node.get(step) if step else None
        inner = None if below is None else _find_rule(below, path[1:], exact + more)
        if inner is not None:
            return inner
    if rest is not None and rest.risk is Risk.HARMLESS:
        rest = rest._replace(beneath=path)
    return None if rest is None else (exact, rest)


def parse_rules(text: str) -> Iterator[tuple[str, RiskRule]]:
    """Yield the rule for each place of a table; an indented line goes on with the places of the one above it."""
    for line in re.split(r"\n(?=\S)", text.strip()):
        title, _, places = line.partition(": ")
        title, _, words = title.partition(", ")
        risk, *more = title.split()
        yield from ((place, _make_rule(Risk(risk), more, words)) for place in places.split())


def _make_rule(risk: Risk, more: list[str], words: str) -> RiskRule:
    if risk is Risk.ORDERED:
        before, *after = words.split()
        return RiskRule(risk, modes=more, unset=(before, after[0] if after else before))
    if risk is Risk.SWITCH:
        loose = {"on": True, "off": False}.get(more[0], more[0])
        return RiskRule(risk, words, loose=loose, default=loose if more[1:] else None)
    return RiskRule(risk, words or WORDS.get(risk, ""), fine=(True, *more) if more else ())


@cache
def load_table(client: str) -> RiskTable | None:
    """Return the table of a client, from its declaration; None for a stranger."""
    from takeback.adapters.clients import CLIENTS  # noqa: PLC0415 - declarations are loaded when they are asked for

    if client not in CLIENTS:
        return None
    declared = CLIENTS[client]()
    rules = dict(parse_rules(declared.risks)) if declared.risks else {}
    table = RiskTable(client, rules, declared.dotted)
    plain = (place for place, types in declared.known.items() if dict not in types)
    more = {place: RiskRule(Risk.HARMLESS) for place in plain if table.rule_of(tuple(place.split("."))) is None}
    return RiskTable(client, rules | more, declared.dotted)


def find_rules(path: Path, clients: Sequence[str] = ()) -> list[RiskRule]:
    """Return what the tables of some clients know of a path; of the first clients where it is not known whose it is.

    Where one table names it more exactly than another, only that one counts.
    """
    own = [table for client in clients if (table := load_table(client)) is not None]
    tables = own or [table for client in ANYBODYS if (table := load_table(client)) is not None]
    rules = [known for table in tables if (known := table.rule_of(path)) is not None]
    best = max((exact for exact, _ in rules), default=0)
    return [rule for exact, rule in rules if exact == best]
