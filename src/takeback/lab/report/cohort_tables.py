"""Tables of the cohorts: accounting, strata, stability, controlled defects, contract audit, snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from takeback.lab.report import published
from takeback.lab.report.inputs import ContractAudit, Controlled, Natural, Oracle, Snapshots, Stability
from takeback.lab.report.table import Cell, Figure, Share, Table

OUTCOMES = ("admissible", "inadequate", "defective")
STRATA = ("S0", "S1", "residual")
PUBLISHED_METHODS = {"full": "Full snapshot", "scoped": "Effect-scoped snapshot", "evoundo": "EvoUndo"}
MODES = {"none": "regeneration", "raw trace": "raw", "raw-trace": "raw", "raw_trace": "raw"}


def families_of(names: Sequence[str]) -> list[str]:
    """Families in the paper's order, others after them as they come."""
    known = [
        name
        for key in published.FAMILIES
        for name in dict.fromkeys(names)
        if published.family(name) == published.FAMILIES[key]
    ]
    return known + [name for name in dict.fromkeys(names) if name not in known]


def natural_tables(data: Natural) -> Iterator[Table]:
    """The accounting and the family table."""
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
    columns = ("Outcome at turn 0", "ours", "published")
    yield Table("natural-accounting", f"Accounting of {n} tasks", columns, tuple(rows))
    yield _families(data)


def _families(data: Natural) -> Table:
    keys = [*OUTCOMES, *STRATA]
    count = Counter((task.family, str(key)) for task in data.tasks for key in (task.outcome, task.stratum) if key)
    rows: list[tuple[Cell, ...]] = []
    for name in families_of([task.family for task in data.tasks]):
        known = published.family(name)
        printed = published.paper().row(f"families.{known[0]}") if known else [None] * len(keys)
        pairs = zip(keys, printed, strict=True)
        rows.append((name, *(f"{count[name, key]} ({_or_dash(value)})" for key, value in pairs)))
    totals = published.paper().row("families.Total")
    rows.append(
        (
            "Total",
            *(
                f"{sum(count[f, key] for f, k in count if k == key)} ({t})"
                for key, t in zip(keys, totals, strict=True)
            ),
        )
    )
    columns = ("Family", "Adm.", "Inad.", "Def.", "S0", "S1", "Resid.")
    note = "Ours, and the paper's in brackets."
    rule = frozenset({len(rows) - 1})
    return Table("natural-families", "Cohort by family", columns, tuple(rows), note, rule)


def _or_dash(value: int | None) -> str:
    return "–" if value is None else str(value)


def oracle_tables(data: Oracle) -> Iterator[Table]:
    """The solvability audit: recovered under L0 and L1, strata by family."""
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
            "Published",
            published.share("cohort.oracle_L0"),
            published.share("cohort.oracle_L1"),
            *(str(count(f"cohort.{stratum}")) for stratum in STRATA),
        )
    )
    columns = ("Family", "Recovered under L0", "Recovered under L1", "S0", "S1", "Residual")
    rules = frozenset({len(rows) - 2, len(rows) - 1})
    yield Table("oracle-strata", "Oracle solvability", columns, tuple(rows), "", rules)


def stability_tables(data: Stability) -> Iterator[Table]:
    """Migrations between strata and Jaccard similarity against the first seed."""
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
    note = f"Migrations: {total} in {evaluations:,} evaluations; published: 0 in {printed:,}, Jaccard 1.0000."
    yield Table("stability", "Strata under resampled states", columns, tuple(rows), note)


def _jaccard(first: list[str], now: list[str], stratum: str) -> Figure | None:
    union = sum(stratum in pair for pair in zip(first, now, strict=True))
    both = sum(a == b == stratum for a, b in zip(first, now, strict=True))
    return Figure(both / union, 4) if union else None


def controlled_tables(data: Controlled) -> Iterator[Table]:
    """Rescue by feedback mode and budget."""
    found = dict.fromkeys(mode for candidate in data.candidates for mode in candidate.turns)
    modes = sorted(found, key=lambda mode: (_rank(mode), mode))
    rows: list[tuple[Cell, ...]] = []
    for mode in modes:
        turns = [candidate.turns[mode] for candidate in data.candidates if mode in candidate.turns]
        reached = (
            Share(sum(turn is not None and turn <= budget for turn in turns), len(turns))
            for budget in range(1, data.budget + 1)
        )
        rows.append((mode, *reached, published.share(f"controlled.{MODES.get(mode, mode)}")))
    columns = ("Feedback", *(f"B = {budget}" for budget in range(1, data.budget + 1)), "published, B = 4")
    yield Table("controlled", "Controlled defects repaired", columns, tuple(rows))


def _rank(mode: str) -> int:
    """The paper's order of feedback modes, ours after them."""
    order = ("regeneration", "generic", "raw", "typed", "prescriptive")
    name = MODES.get(mode, mode)
    return order.index(name) if name in order else len(order)


def audit_tables(data: ContractAudit) -> Iterator[Table]:
    """The contract audit's three counts."""
    rows: tuple[tuple[Cell, ...], ...] = (
        ("Incomplete contracts caught", Share(*data.incomplete), published.share("audit.incomplete")),
        ("False alarms on complete contracts", Share(*data.complete), published.share("audit.complete")),
        (
            "False alarms under nondeterminism",
            Share(*data.nondeterminism),
            published.measured_share("audit.nondeterminism"),
        ),
    )
    yield Table("contract-audit", "Effect-contract coverage audit", ("Audit", "ours", "published"), rows)


def snapshot_tables(data: Snapshots) -> Iterator[Table]:
    """Selective undo by method; the paper's three methods below ours."""
    rows: list[tuple[Cell, ...]] = [
        (
            method.name,
            *(Share(*trials) if trials else None for trials in (method.different, method.same, method.front)),
            Figure(method.mean_bytes, 1),
            Figure(method.median_bytes, 1),
            Figure(method.latency_us, 1),
        )
        for method in data.methods
    ]
    rule = len(rows)
    for key, name in PUBLISHED_METHODS.items():
        mean, median, latency = published.snapshot_cost(key)
        shares = [published.share(f"snapshots.{key}.{protocol}") for protocol in ("different", "same")]
        rows.append((f"{name}, published", *shares, None, Figure(mean, 1), Figure(median, 1), Figure(latency, 1)))
    columns = (
        "Method",
        "Different surface",
        "Same surface",
        "Front insertion",
        "Mean bytes",
        "Median bytes",
        "Undo (µs)",
    )
    note = "Published latencies were measured on the authors' machine; compare ratios, not absolute times."
    yield Table("snapshots", "Selective undo by method", columns, tuple(rows), note, frozenset({rule}))
