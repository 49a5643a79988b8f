"""A table as data, and the same table as Markdown, CSV and LaTeX.

A cell is text, a number with its digits, a share, an interval, or nothing. What was not run or not printed is
an empty cell and shows as a dash: never as zero.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field

DASH = "–"
LATEX = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
}
LATEX |= {
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "Δ": r"$\Delta$",
    "τ": r"$\tau$",
    "–": "--",
    "−": "$-$",
}
LATEX |= {"µ": r"$\mu$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$"}


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, shown with its percentage."""

    k: int
    n: int

    def __str__(self) -> str:
        return f"{self.k}/{self.n} ({100 * self.k / self.n:.1f}%)" if self.n else f"{self.k}/{self.n} ({DASH})"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number shown with a fixed count of digits; `signed` shows a plus, `power` powers of ten."""

    value: float
    digits: int = 2
    signed: bool = False
    power: bool = False

    def __str__(self) -> str:
        if self.power and 0 < abs(self.value) < 10**-self.digits:
            return f"{self.value:.2e}"
        return f"{self.value:{'+' if self.signed else ''},.{self.digits}f}"


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval in percentage points."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"[{self.low:+.2f}, {self.high:+.2f}]"


Cell = str | Share | Figure | Interval | None


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; `slug` names its files, `note` stands under it, `rules` are rows with a line above."""

    slug: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    rules: frozenset[int] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.slug}: a row of {len(row)} cells in a table of {len(self.columns)} columns")


def _text(cell: Cell) -> str:
    return DASH if cell is None else str(cell)


def to_markdown(table: Table) -> str:
    """The table in GitHub's Markdown, title above, note below."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    lines = [f"### {table.title}", "", line(table.columns), line("---" for _ in table.columns)]
    lines += [line(map(_text, row)) for row in table.rows]
    return "\n".join([*lines, *(["", table.note] if table.note else [])]) + "\n"


def to_csv(table: Table, imported: int = 0) -> str:
    """The table as CSV with plain numbers: a share has columns for k and n, an interval for low and high, and each
    `published` carries the name of the column before it. Where answers were imported, a last column says how many.
    """
    names = [
        f"{table.columns[i - 1]} {column}" if column == "published" and i else column
        for i, column in enumerate(table.columns)
    ]
    wide = [_parts(column, [row[i] for row in table.rows]) for i, column in enumerate(names)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head, last = (["answers imported"], [str(imported)]) if imported else ([], [])
    writer.writerow([name for names in wide for name in names] + head)
    for row in table.rows:
        values = [value for cell, names in zip(row, wide, strict=True) for value in _values(cell, len(names))]
        writer.writerow(values + last)
    return out.getvalue()


def _parts(column: str, cells: list[Cell]) -> list[str]:
    if any(isinstance(cell, Share) for cell in cells):
        return [f"{column} k", f"{column} n"]
    if any(isinstance(cell, Interval) for cell in cells):
        return [f"{column} low", f"{column} high"]
    return [column]


def _values(cell: Cell, width: int) -> list[str]:
    match cell:
        case Share(k, n):
            return [str(k), str(n)]
        case Interval(low, high):
            return [repr(low), repr(high)]
        case Figure(value):
            return [repr(value)] + [""] * (width - 1)
        case None:
            return [""] * width
        case str():
            return [cell] + [""] * (width - 1)


def to_latex(table: Table) -> str:
    """The table as the paper sets its tables: booktabs rules, caption above, first column left."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(map(escape, cells)) + r" \\"

    body: list[str] = []
    for index, row in enumerate(table.rows):
        body += [r"\midrule"] if index in table.rules else []
        body.append(line(map(_text, row)))
    caption = table.title + (f". {table.note}" if table.note else "")
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering",
            r"\small",
            rf"\caption{{{escape(caption)}}}",
            rf"\label{{tab:{table.slug}}}",
            r"\resizebox{\textwidth}{!}{",
            rf"\begin{{tabular}}{{l{'c' * (len(table.columns) - 1)}}}",
            r"\toprule",
            " & ".join(rf"\textbf{{{escape(column)}}}" for column in table.columns) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text as LaTeX shows it."""
    return "".join(LATEX.get(character, character) for character in text)
