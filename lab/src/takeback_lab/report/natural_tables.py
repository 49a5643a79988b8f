"""Tables of the natural bank: accounting, families, mistakes against the controlled taxonomy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from takeback_lab.report import published, wording
from takeback_lab.report.families import families_of
from takeback_lab.report.inputs import NaturalData, read_input
from takeback_lab.report.table import Cell, Share, Table

OUTCOMES: Final = ("admissible", "inadequate", "defective")
STRATA: Final = ("S0", "S1", "residual")
TAXONOMY: Final = (
    "MISSING_CAPTURE",
    "DUMMY_CAPTURE",
    "WRONG_RECOVERY_OPERATION",
    "RESOURCE_LEAK",
    "OMITTED_EFFECT",
)
"""The defect classes of the controlled benchmark, as the diagnosis names them."""


def natural_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """All tables of `natural`."""
    data = read_natural(raw)
    yield _accounting(data)
    yield _families(data)
    yield _mistakes(data)


def read_natural(raw: Mapping[str, Any]) -> NaturalData:
    """The data of a natural run, checked."""
    data = read_input("natural", raw, "natural")
    assert isinstance(data, NaturalData)  # noqa: S101  (the name decides the model)
    return data


def _note(data: NaturalData) -> str:
    under = f"Witness and recovery in {data.language}, prompts {data.prompts}."
    n, paper = len(data.tasks), f"Published: {wording.TASKS}."
    return wording.note(under, wording.unfinished(n, data), paper, wording.few(n))


def _accounting(data: NaturalData) -> Table:
    n = len(data.tasks)
    count = Counter(str(task.outcome) for task in data.tasks)
    positive = n - count["inadequate"]
    rows: list[tuple[Cell, ...]] = [
        (f"{name.capitalize()}", Share(count[name], n), published.share(f"accounting.{name}")) for name in OUTCOMES
    ]
    rows.append(("Capability-positive", Share(positive, n), published.share("accounting.capability_positive")))
    rows.append(
        (
            "Defective among capability-positive",
            Share(count["defective"], positive),
            published.share("accounting.defective_of_positive"),
        )
    )
    title = wording.titled("Accounting at turn 0", wording.ran(n, data), "natural tasks", data)
    return Table("natural-accounting", title, ("Outcome at turn 0", "ours", "published"), tuple(rows), _note(data))


def _families(data: NaturalData) -> Table:
    keys = [*OUTCOMES, *STRATA]
    count = Counter((task.family, str(key)) for task in data.tasks for key in (task.outcome, task.stratum) if key)
    rows: list[tuple[Cell, ...]] = []
    for name in families_of([task.family for task in data.tasks]):
        known = published.family(name)
        printed = published.paper().row(f"families.{known[0]}") if known else [None] * len(keys)
        pairs = zip(keys, printed, strict=True)
        rows.append((name, *(f"{count[name, key]} ({'–' if value is None else value})" for key, value in pairs)))
    totals = zip(keys, published.paper().row("families.Total"), strict=True)
    rows.append(("Total", *(f"{sum(count[f, key] for f, k in count if k == key)} ({t})" for key, t in totals)))
    columns = ("Family", "Adm.", "Inad.", "Def.", "S0", "S1", "Resid.")
    title = wording.titled("Cohort by family", wording.ran(len(data.tasks), data), "natural tasks", data)
    note = wording.note("Ours, and the paper's in brackets.", _note(data))
    return Table("natural-families", title, columns, tuple(rows), note, frozenset({len(rows) - 1}))


def _mistakes(data: NaturalData) -> Table:
    wrong = [task for task in data.tasks if task.outcome == "defective"]
    inside = sum(bool(set(task.mistakes) & set(TAXONOMY)) for task in wrong)
    count = Counter(mistake for task in wrong for mistake in task.mistakes)
    printed = published.paper()
    outside = Share(printed.count("natural.outside_taxonomy"), printed.count("cohort.defective"))
    rows: list[tuple[Cell, ...]] = [
        ("Outside the controlled taxonomy", Share(len(wrong) - inside, len(wrong)) if wrong else None, outside),
        *((name, Share(found, len(wrong)), None) for name, found in count.most_common()),
    ]
    title = wording.titled("Mistakes of the defective candidates", len(wrong), "defective candidates", data)
    said = "Outside: none of its mistakes is one of the five classes of the controlled benchmark."
    unfinished = wording.unfinished(len(data.tasks), data)
    published_on = f"Published: {wording.COHORT}."
    note = wording.note(
        said,
        "A candidate can make several.",
        published_on,
        unfinished,
        wording.few(len(wrong), "defective candidates"),
    )
    return Table("natural-mistakes", title, ("Mistake", "ours", "published"), tuple(rows), note, frozenset({1}))
