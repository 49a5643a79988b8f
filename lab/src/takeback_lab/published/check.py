"""One check: a printed figure, the same figure recomputed, and whether they agree.

The rule of agreement: the recomputed value, rounded to the printed digits, is the printed value. Where the
exact value is a tie both half-even and half-up are accepted. A figure computed from rounded figures is a
range, and agrees if some value of the range rounds to what is printed. What the printed counts do not
determine is `not derivable`, never forced.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from takeback_lab.published.paper import Printed

Number = int | float | Fraction


class Agreement(StrEnum):
    """`equal`: agrees; `differs`: does not; `not derivable`: the printed counts do not determine it."""

    EQUAL = "equal"
    DIFFERS = "differs"
    NOT_DERIVABLE = "not derivable"


@dataclass(frozen=True, slots=True)
class Check:
    """A recomputed figure of the paper.

    `printed` is the text in the paper and `where` its place; `published` and `recomputed` are numbers, pairs
    of numbers (an interval or range) or words; `note` explains everything that is not plainly equal, and
    `explained` says that the exception is a known one.
    """

    name: str
    where: str
    printed: str
    published: Any
    recomputed: Any
    status: Agreement
    note: str = ""
    explained: bool = False

    @property
    def equal(self) -> bool:
        """Whether the recomputed figure agrees with the printed one."""
        return self.status is Agreement.EQUAL

    def to_json(self) -> dict[str, Any]:
        """The check as plain JSON."""
        return {
            "name": self.name,
            "where": self.where,
            "printed": self.printed,
            "published": self.published,
            "recomputed": self.recomputed,
            "equal": self.equal,
            "status": self.status.value,
            "explained": self.explained,
            "note": self.note,
        }


def rounds_to(value: Number, printed: Printed) -> bool:
    """Whether `value` rounded to the printed digits is the printed value (a tie may go either way up)."""
    unit = printed.half_digit * 2
    scaled, target = Fraction(value) / unit, printed.value / unit
    if abs(scaled - target) != Fraction(1, 2):
        return abs(scaled - target) < Fraction(1, 2)
    tie = Decimal(scaled.numerator) / Decimal(scaled.denominator)
    return any(tie.quantize(Decimal(1), rounding=rule) == target for rule in (ROUND_HALF_EVEN, ROUND_HALF_UP))


def is_tie(value: Number, printed: Printed) -> bool:
    """Whether `value` lies exactly half way between two printed values."""
    return abs(Fraction(value) - printed.value) == printed.half_digit


def plain(value: Number) -> int | float:
    """A number JSON can carry."""
    whole = Fraction(value)
    return int(whole) if whole.denominator == 1 else float(value)


DIFFERS = "The printed figure does not follow from the printed counts it rests on."


def same(name: str, printed: Printed, value: Number, note: str = "", *, if_not: str = "") -> Check:
    """Compare a value that follows exactly from printed counts; `if_not` explains a known difference."""
    status = Agreement.EQUAL if rounds_to(value, printed) else Agreement.DIFFERS
    if status is Agreement.DIFFERS:
        note = f"{note} {if_not or DIFFERS}".strip()
    if status is Agreement.EQUAL and is_tie(value, printed):
        note = f"{note} An exact tie: half-even and half-up are both accepted.".strip()
    known = status is Agreement.DIFFERS and bool(if_not)
    return Check(name, printed.where, printed.text, plain(printed.value), plain(value), status, note, known)


def within(name: str, printed: Printed, low: Number, high: Number, note: str) -> Check:
    """Compare a printed value with a range; `note` says why it is a range."""
    slack = printed.half_digit
    status = Agreement.EQUAL if low - slack <= printed.value <= high + slack else Agreement.DIFFERS
    return Check(name, printed.where, printed.text, plain(printed.value), [plain(low), plain(high)], status, note)


def holds(name: str, where: str, claim: str, recomputed: object, *, true: bool, note: str = "") -> Check:
    """Compare a claim in words with what follows from the counts."""
    return Check(name, where, claim, claim, recomputed, Agreement.EQUAL if true else Agreement.DIFFERS, note)


def not_derivable(name: str, printed: Printed, recomputed: object, note: str) -> Check:
    """A printed figure that the printed counts do not determine."""
    published, status = plain(printed.value), Agreement.NOT_DERIVABLE
    return Check(name, printed.where, printed.text, published, recomputed, status, note, explained=True)
