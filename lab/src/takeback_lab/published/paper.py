"""The printed counts and figures of the paper, one entry each, with the place where it stands.

`paper.json` holds them as printed: counts as whole numbers, figures as text so that the printed digits are
kept, measurements (from which nothing follows) under `measured`. Nothing here computes; the check modules do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from typing import Any

from takeback.canonical import parse
from takeback.errors import InputError


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure exactly as printed (`text`) and where in the paper it stands."""

    text: str
    where: str

    @property
    def value(self) -> Fraction:
        """The printed number."""
        return Fraction(self.text)

    @property
    def half_digit(self) -> Fraction:
        """Half a unit of the last printed digit: how far rounding may have moved it."""
        mantissa, _, exponent = self.text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return Fraction(1, 2) * Fraction(10) ** (int(exponent or 0) - decimals)


@dataclass(frozen=True)
class Paper:
    """All entries of `paper.json` by name."""

    entries: Mapping[str, Mapping[str, Any]]

    def _field(self, name: str, field: str) -> Any:
        try:
            return self.entries[name][field]
        except KeyError:
            raise InputError(f"paper.json: {name}", found="no such entry or field", expected=field) from None

    def where(self, name: str) -> str:
        """Where in the paper the entry stands."""
        return str(self._field(name, "where"))

    def count(self, name: str, field: str = "count") -> int:
        """A printed whole number."""
        return int(self._field(name, field))

    def k(self, name: str) -> int:
        """The numerator of a printed fraction."""
        return self.count(name, "k")

    def n(self, name: str) -> int:
        """The denominator of a printed fraction."""
        return self.count(name, "n")

    def row(self, name: str) -> list[int]:
        """A printed table row of whole numbers."""
        return [int(value) for value in self._field(name, "row")]

    def figure(self, name: str, field: str = "printed") -> Printed:
        """A printed figure, or a whole number of an entry as a figure."""
        return Printed(str(self._field(name, field)), self.where(name))

    def figures(self, name: str, field: str) -> list[Printed]:
        """A printed list of figures (`interval`, `means`, `percent`, …)."""
        return [Printed(str(text), self.where(name)) for text in self._field(name, field)]

    def names(self, prefix: str) -> list[str]:
        """The last part of each entry's name directly under `prefix`, in the order of the file."""
        found = [name[len(prefix) + 1 :].split(".")[0] for name in self.entries if name.startswith(prefix + ".")]
        return list(dict.fromkeys(found))

    def shares(self) -> list[str]:
        """Names of all entries that are a fraction with a printed percentage."""
        return [name for name, entry in self.entries.items() if entry.get("percent")]


def load_paper() -> Paper:
    """Read the entries that ship with Takeback."""
    return Paper(parse(files(__package__).joinpath("paper.json").read_bytes(), "paper.json"))
