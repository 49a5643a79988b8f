"""What makes a setting risky, and how a client's list of such settings is written and asked.

A `RiskTable` is one client's list. A path in its settings has steps between dots; `*` is any one step, `**` at the
end is everything below. The most specific path counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

REST: Final = "**"
ONE: Final = "*"
Path = tuple[str, ...]


class Risk(StrEnum):
    """What makes a setting risky."""

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
    """A mode; a looser one loosens, and one that is not known."""
    SWITCH = "switch"
    """A value that loosens when it comes to be set."""
    GUARD = "guard"
    """A value that guards while it is set to anything but false."""
    PROTECTED = "protected"
    """Part of the permissions: whatever is not known there loosens when it changes."""
    HARMLESS = "harmless"
    """Known to do none of that, whatever its name looks like."""


SETS: Final[Mapping[Risk, str]] = {
    Risk.EXECUTES: "runs a program",
    Risk.REDIRECTS: "sends traffic or files elsewhere",
    Risk.INJECTS: "goes into the environment of programs",
    Risk.LOADS: "brings in code or instructions of others",
}
"""Risks of values that are set or changed, with what is said of them."""


class RiskRule(NamedTuple):
    """What is known of one place."""

    risk: Risk
    words: str = ""
    """What is said of a change that loosens."""
    modes: Sequence[str] = ()
    """Of a mode, all that are known, strict ones first."""
    unset: tuple[str, str] = ("", "")
    """What a mode that is not set counts as: before a change, and after one, where clients' defaults differ."""
    loose: Any = None
    """Of a switch, the value that loosens."""
    default: Any = None
    """Of a switch, what it is when it is not set."""
    fine: Sequence[Any] = ()
    """Of a guard, the values that are known; another one may run a program."""


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
    return None if rest is None else (exact, rest)


def make_rules(risk: Risk, text: str, words: str = "", *, fine: Sequence[Any] = ()) -> dict[str, RiskRule]:
    """Return the same rule for several places, between spaces."""
    return {place: RiskRule(risk, words or SETS.get(risk, ""), fine=fine) for place in text.split()}


def make_list_rules(risk: Risk, words: Mapping[str, str]) -> dict[str, RiskRule]:
    """Return rules about lists, guards and protected parts, each with its words."""
    return {place: RiskRule(risk, reason) for place, reason in words.items()}


def make_mode_rule(place: str, known: str, before: str, after: str = "") -> dict[str, RiskRule]:
    """Return the rule about a mode, with what it counts as when it is not set."""
    return {place: RiskRule(Risk.ORDERED, modes=known.split(), unset=(before, after or before))}


def make_switch_rules(loose: Any, words: Mapping[str, str], *, default: Any = None) -> dict[str, RiskRule]:
    """Return rules about switches that loosen with one value."""
    return {place: RiskRule(Risk.SWITCH, reason, loose=loose, default=default) for place, reason in words.items()}
