"""Tables of the factorial and its replication, in the paper's layout, the printed figure beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from takeback.lab.report import published
from takeback.lab.report.counting import (
    CONTRASTS,
    PARTS,
    cells_of,
    contrasts,
    factorial_interaction,
    in_part,
    rescue,
    without_each_family,
)
from takeback.lab.report.inputs import Factorial
from takeback.lab.report.table import Cell, Figure, Share, Span, Table

CELL_NAMES = {
    "D0L0": "D0L0 (coarse diagnosis, base language)",
    "D1L0": "D1L0 (grounded bundle, base language)",
    "D0L1": "D0L1 (coarse diagnosis, rich language)",
    "D1L1": "D1L1 (grounded bundle, rich language)",
}


def factorial_tables(data: Factorial, experiment: str) -> Iterator[Table]:
    """All tables of `factorial` or `replication`."""
    cells = "factorial" if experiment == "factorial" else "replication.qwen"
    effects = "contrast" if experiment == "factorial" else "replication"
    yield _rescue(data, experiment, cells)
    yield _budget(data, experiment)
    yield _contrasts(data, experiment, effects)
    if experiment == "factorial":
        yield _efficiency(data)
    yield _left_out(data, experiment)
    if data.gate:
        yield _gate(data, experiment)


def _rescue(data: Factorial, experiment: str, prefix: str) -> Table:
    columns = ["Factorial condition"]
    for part in PARTS:
        size = len(in_part(data, part))
        columns += [f"{'Full cohort' if part == 'all' else f'Stratum {part}'} (N={size})", "published"]
    rows: list[tuple[Cell, ...]] = []
    for cell in cells_of(data):
        row: list[Cell] = [CELL_NAMES.get(cell, cell)]
        for part in PARTS:
            ours = rescue(data, cell, part, data.budget)
            row += [ours if ours.n else None, published.share(f"{prefix}.{cell}.{part}")]
        rows.append(tuple(row))
    title = f"Rescue by condition at B = {data.budget}, {data.model}"
    return Table(f"{experiment}-rescue", title, tuple(columns), tuple(rows))


def _budget(data: Factorial, experiment: str) -> Table:
    budgets = range(1, data.budget + 1)
    rows: list[tuple[Cell, ...]] = [
        (CELL_NAMES.get(cell, cell), *(rescue(data, cell, "all", b) for b in budgets)) for cell in cells_of(data)
    ]
    if experiment == "factorial":
        reached, total = published.paper().row("progress.D1L0"), published.paper().count("cohort.defective")
        shown = [Share(k, total) for k in reached][: data.budget]
        rows.append(("D1L0, published", *shown, *[None] * (data.budget - len(shown))))
    columns = ("Factorial condition", *(f"B = {b}" for b in budgets))
    return Table(f"{experiment}-budget", "Rescue by budget, full cohort", columns, tuple(rows))


def _contrasts(data: Factorial, experiment: str, prefix: str) -> Table:
    ours = {contrast.name: contrast for contrast in contrasts(data)}
    rows: list[tuple[Cell, ...]] = []
    for name, (new, old, stratum) in CONTRASTS.items():
        printed = f"{prefix}.{name}"
        found = ours.get(name)
        mine: tuple[Cell, ...] = (None, None, None, None)
        if found:
            mine = (
                Figure(100 * found.counts.difference, 2, signed=True),
                Span(100 * found.interval.lower, 100 * found.interval.upper),
                Figure(found.p_value, 4, power=True),
                Figure(found.p_holm, 4, power=True),
            )
        rows.append(
            (
                f"{name}: {new} − {old} on {stratum}",
                *mine,
                published.figure(f"{printed}.difference", signed=True),
                published.span(f"{printed}.interval"),
                _printed_p(printed),
            )
        )
    columns = (
        "Contrast",
        "Δ (pp)",
        "95% CI",
        "p",
        "Holm p",
        "published Δ",
        "published CI",
        "published Holm p",
    )
    note = "Exact two-sided McNemar, Holm over the contrasts that were run, 100,000 paired bootstrap resamples."
    title = f"Confirmatory paired contrasts, {data.model}"
    return Table(f"{experiment}-contrasts", title, columns, tuple(rows), note)


def _printed_p(prefix: str) -> Cell:
    if "(as p <" in published.paper().where(f"{prefix}.holm"):
        return f"<{published.paper().figure(f'{prefix}.holm').text}"
    return published.figure(f"{prefix}.holm", digits=4, power=True)


def _efficiency(data: Factorial) -> Table:
    s0, s1 = len(in_part(data, "S0")), len(in_part(data, "S1"))
    rows: list[tuple[Cell, ...]] = []
    for cell in cells_of(data):
        solvable = s0 if cell.endswith("L0") else s0 + s1
        k = rescue(data, cell, "all", data.budget).k
        printed = published.figure(f"efficiency.{cell}", digits=1)
        rows.append((CELL_NAMES.get(cell, cell), Share(k, solvable) if solvable else None, printed))
    found = factorial_interaction(data)
    rule = len(rows)
    if found:
        text = f"{100 * found.estimate:+.2f} {Span(100 * found.lower, 100 * found.upper)}"
        value, interval = (
            published.figure("interaction.estimate", signed=True),
            published.span("interaction.interval"),
        )
        rows.append(("Interaction (pp, 95% CI)", text, f"{value} {interval}"))
    columns = ("Factorial condition", "Rescued / oracle-recoverable", "published (%)")
    return Table(
        "factorial-efficiency",
        "Synthesis efficiency and interaction",
        columns,
        tuple(rows),
        "",
        frozenset({rule}),
    )


def _left_out(data: Factorial, experiment: str) -> Table:
    ran = {contrast.name for contrast in contrasts(data)}
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            left.family,
            str(left.tasks),
            None if left.difference is None else Figure(100 * left.difference, 2, signed=True),
            None if left.p_value is None else Figure(left.p_value, 4, power=True),
        )
        for name in CONTRASTS
        if name in ran
        for left in without_each_family(data, name)
    ]
    columns = ("Contrast", "Without family", "Tasks left", "Δ (pp)", "p")
    return Table(f"{experiment}-families", "Contrasts without each family", columns, tuple(rows))


def _gate(data: Factorial, experiment: str) -> Table:
    printed = {("D1L0", "S0"): "gate.rejected_S0", ("D1L0", "S1"): "gate.rejected_S1"}
    rows: list[tuple[Cell, ...]] = [
        (
            g.cell,
            g.stratum,
            Share(g.rejected, g.responses),
            published.share(printed.get((g.cell, g.stratum), "")),
        )
        for g in data.gate
    ]
    columns = ("Condition", "Stratum", "Responses out of the language", "published")
    return Table(f"{experiment}-gate", "Rejections by the language gate", columns, tuple(rows))
