"""Tables of the cohorts that need no model: strata, stability, contract audit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from takeback_lab.report import published, wording
from takeback_lab.report.families import families_of
from takeback_lab.report.inputs import ContractAuditData, OracleData, StabilityData, read_input
from takeback_lab.report.table import Cell, Figure, Share, Table

STRATA = ("S0", "S1", "residual")


def read_oracle(raw: Mapping[str, Any]) -> OracleData:
    """The data of an oracle run, checked."""
    data = read_input("oracle", raw, "oracle")
    assert isinstance(data, OracleData)  # noqa: S101  (the name decides the model)
    return data


def oracle_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """The solvability audit: recovered under L0 and L1, strata by family."""
    data = read_oracle(raw)
    if any(task.L2 is not None for task in data.tasks):
        yield _inside_table(data)
        return
    rows: list[tuple[Cell, ...]] = []
    for name in [*families_of([task.family for task in data.tasks]), "Total"]:
        tasks = [task for task in data.tasks if name in (task.family, "Total")]
        l0, l1 = sum(task.L0 for task in tasks), sum(task.L1 for task in tasks)
        residual = sum(not task.L0 and not task.L1 for task in tasks)
        gained = sum(task.L1 and not task.L0 for task in tasks)
        rows.append((name, Share(l0, len(tasks)), Share(l1, len(tasks)), str(l0), str(gained), str(residual)))
    count = published.paper().count
    rows.append(
        (
            f"(published: {wording.COHORT})",
            published.share("cohort.oracle_L0"),
            published.share("cohort.oracle_L1"),
            *(str(count(f"cohort.{stratum}")) for stratum in STRATA),
        )
    )
    columns = ("Family", "Recovered under L0", "Recovered under L1", "S0", "S1", "Residual")
    rules = frozenset({len(rows) - 2, len(rows) - 1})
    title = f"Oracle solvability, rule {data.rule}: {data.population}"
    another = "The last row is another population: natural failures, not reference mutations."
    note = wording.note(another, wording.few(len(data.tasks)))
    yield Table("oracle-strata", title, columns, tuple(rows), note, rules)


def _inside_table(data: OracleData) -> Table:
    """Recovered under L2, which the paper does not have."""
    rows: list[tuple[Cell, ...]] = []
    for name in [*families_of([task.family for task in data.tasks]), "Total"]:
        tasks = [task for task in data.tasks if name in (task.family, "Total")]
        counts = [sum(bool(getattr(task, level)) for task in tasks) for level in ("L0", "L1", "L2")]
        rows.append((name, *(Share(count, len(tasks)) for count in counts)))
    columns = ("Family", *(f"Recovered under {level}" for level in ("L0", "L1", "L2")))
    title = f"Oracle solvability, rule {data.rule}: {data.population}"
    return Table(
        "oracle-strata", title, columns, tuple(rows), wording.few(len(data.tasks)), frozenset({len(rows) - 1})
    )


def stability_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """Migrations between strata and Jaccard similarity against the first seed."""
    data = read_input("stability", raw, "stability")
    assert isinstance(data, StabilityData)  # noqa: S101  (the name decides the model)
    first = [str(task.strata[0]) for task in data.tasks]
    rows: list[tuple[Cell, ...]] = []
    for index, seed in enumerate(data.seeds):
        now = [str(task.strata[index]) for task in data.tasks]
        moved = sum(a != b for a, b in zip(first, now, strict=True))
        alike: list[Cell] = [_jaccard(first, now, stratum) for stratum in ("S0", "S1")]
        rows.append((str(seed), *(str(now.count(s)) for s in STRATA), str(moved), *alike))
    total = sum(
        a != b for task in data.tasks for a, b in zip(task.strata, [task.strata[0]] * len(data.seeds), strict=True)
    )
    evaluations = len(data.seeds) * len(data.tasks)
    columns = ("Seed", "S0", "S1", "Residual", "Migrations", "Jaccard S0", "Jaccard S1")
    printed = published.paper().count("stability.evaluations")
    note = wording.note(
        f"Migrations: {total} in {evaluations:,} evaluations; published, on 197 natural failures: 0 in {printed:,}, "
        "Jaccard 1.0000.",
        wording.few(len(data.tasks)),
    )
    title = f"Strata under resampled states: {data.population}"
    yield Table("stability", title, columns, tuple(rows), note)


def _jaccard(first: list[str], now: list[str], stratum: str) -> Figure | None:
    union = sum(stratum in pair for pair in zip(first, now, strict=True))
    both = sum(a == b == stratum for a, b in zip(first, now, strict=True))
    return Figure(both / union, 4) if union else None


def audit_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """The contract audit's three counts."""
    data = read_input("contract-audit", raw, "contract-audit")
    assert isinstance(data, ContractAuditData)  # noqa: S101  (the name decides the model)
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Incomplete contracts caught", Share(*data.incomplete), published.share("audit.incomplete")),
        ("False alarms on complete contracts", Share(*data.complete), published.share("audit.complete")),
        (
            "False alarms under nondeterminism",
            Share(*data.nondeterminism),
            published.measured_share("audit.nondeterminism"),
        ),
    )
    title = f"Effect-contract coverage audit: {data.population}"
    note = wording.note("Published: 300 mutations of the paper's own tasks.", wording.few(data.incomplete[1]))
    yield Table("contract-audit", title, ("Audit", "ours", "published"), rows, note)
