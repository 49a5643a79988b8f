"""Tables of the factorial and its replication, in the paper's layout, the printed figure beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Any

from takeback_lab.report import published, wording
from takeback_lab.report.counting import (
    CONTRASTS,
    PARTS,
    Contrast,
    cells_of,
    contrasts,
    factorial_interaction,
    in_part,
    rescue,
    without_each_family,
)
from takeback_lab.report.discordant import discordant_table
from takeback_lab.report.inputs import FactorialData, read_factorial
from takeback_lab.report.power import ENOUGH, MOST, pairs_needed, power_of
from takeback_lab.report.table import Cell, Figure, Interval, Share, Table
from takeback_lab.report.yields import yield_table

STRATA = ("S0", "S1")
CELL_NAMES = {
    "D0L0": "D0L0 (coarse diagnosis, base language)",
    "D1L0": "D1L0 (grounded bundle, base language)",
    "D0L1": "D0L1 (coarse diagnosis, rich language)",
    "D1L1": "D1L1 (grounded bundle, rich language)",
    "genericL0": "generic feedback, base language",
    "rawL0": "raw trace, base language",
    "typedL0": "typed diagnosis, base language",
    "prescriptiveL0": "prescriptive diagnosis, base language",
    "noneL0": "regeneration, base language",
}


def factorial_tables(raw: Mapping[str, Any], experiment: str) -> Iterator[Table]:
    """All tables of `factorial`, `conventional` or `replication`."""
    data = read_factorial(experiment, raw)
    effects = "replication" if experiment == "replication" else "contrast"
    yield _rescue(data, experiment)
    yield _budget(data, experiment)
    if experiment != "conventional":
        yield _contrasts(data, experiment, effects)
    if experiment == "factorial":
        yield _efficiency(data)
    if data.bank:
        yield yield_table(data, experiment, CELL_NAMES, _few(data))
    if experiment != "conventional":
        yield _left_out(data, experiment)
        yield from discordant_table(data, experiment)
    yield _cost(data, experiment)
    if data.gate:
        yield _gate(data, experiment)


def _title(what: str, data: FactorialData) -> str:
    return wording.titled(what, wording.ran(len(data.tasks), data), failures(data), data)


def failures(data: FactorialData) -> str:
    """What the cases are: all failures of a bank, or some drawn from it."""
    return f"natural failures drawn from {data.bank['defective']}" if is_draw(data) else "natural failures"


def is_draw(data: FactorialData) -> bool:
    """Whether the bank has more failures than were locked for repair."""
    return (data.locked or len(data.tasks)) < data.bank.get("defective", 0)


def _note(data: FactorialData, *more: str) -> str:
    return wording.note(wording.prompted(data), *more, wording.unfinished(len(data.tasks), data), _few(data))


def _few(data: FactorialData) -> str:
    """Says so where all cases, or those of a stratum, are too few."""
    return wording.few(len(data.tasks)) or wording.few_parts({part: len(in_part(data, part)) for part in STRATA})


def _mixed(data: FactorialData) -> str:
    """Says so where cases were drawn by stratum."""
    if not is_draw(data):
        return ""
    return "A draw has different stratum proportions from the cohort: compare stratum by stratum."


def _printed(experiment: str, cell: str, part: str) -> Share | None:
    """The paper's count for a cell, on the same part of its own cohort."""
    if experiment == "conventional":
        regeneration = cell == "noneL0"
        return published.share(f"natural.{'regeneration' if regeneration else 'repair'}") if part == "all" else None
    prefix = "factorial" if experiment == "factorial" else "replication.qwen"
    return published.share(f"{prefix}.{cell}.{part}")


def _rescue(data: FactorialData, experiment: str) -> Table:
    columns = ["Factorial condition"]
    for part in PARTS:
        size = len(in_part(data, part))
        whole = "All drawn" if is_draw(data) else "Full cohort"
        columns += [f"{whole if part == 'all' else f'Stratum {part}'} (N={size})", "published"]
    historical = STRATA if experiment == "replication" else ()
    columns += [f"{wording.PAPER}, {part}, published" for part in historical]
    rows: list[tuple[Cell, ...]] = []
    for cell in cells_of(data):
        row: list[Cell] = [CELL_NAMES.get(cell, cell)]
        for part in PARTS:
            ours = rescue(data, cell, part, data.budget)
            row += [ours if ours.n else None, _printed(experiment, cell, part)]
        row += [published.share(f"replication.gpt-oss.{cell}.{part}") for part in historical]
        rows.append(tuple(row))
    what = "Conventional repair" if experiment == "conventional" else "Rescue"
    title = _title(f"{what} by condition at B = {data.budget}", data)
    return Table(
        f"{experiment}-rescue", title, tuple(columns), tuple(rows), _note(data, _mixed(data), _theirs(experiment))
    )


def _theirs(experiment: str) -> str:
    """What the paper's figures for the experiment were measured on."""
    return f"Published: {wording.REPLICATED if experiment == 'replication' else wording.COHORT}."


def _budget(data: FactorialData, experiment: str) -> Table:
    budgets = range(1, data.budget + 1)
    rows: list[tuple[Cell, ...]] = [
        (CELL_NAMES.get(cell, cell), *(rescue(data, cell, "all", b) for b in budgets)) for cell in cells_of(data)
    ]
    if experiment == "factorial":
        reached, total = published.paper().row("progress.D1L0"), published.paper().count("cohort.defective")
        shown = [Share(k, total) for k in reached][: data.budget]
        rows.append(("D1L0, published", *shown, *[None] * (data.budget - len(shown))))
    columns = ("Factorial condition", *(f"B = {b}" for b in budgets))
    note = _note(data, _mixed(data), _theirs(experiment) if experiment == "factorial" else "")
    return Table(f"{experiment}-budget", _title("Rescue by budget", data), columns, tuple(rows), note)


def _contrasts(data: FactorialData, experiment: str, prefix: str) -> Table:
    ours = {contrast.name: contrast for contrast in contrasts(data)}
    rows: list[tuple[Cell, ...]] = []
    for name, (new, old, stratum) in CONTRASTS.items():
        printed = f"{prefix}.{name}"
        found = ours.get(name)
        mine: tuple[Cell, ...] = (None, None, None, None, None, None)
        if found:
            mine = (
                str(found.counts.pairs),
                Figure(100 * found.counts.difference, 2, signed=True),
                Interval(100 * found.interval.lower, 100 * found.interval.upper),
                Figure(found.p_value, 4, power=True),
                Figure(found.p_holm, 4, power=True),
                _tell_power(found),
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
        "n",
        "Δ (pp)",
        "95% CI",
        "p",
        "Holm p",
        "power",
        "published Δ",
        "published CI",
        "published Holm p",
    )
    how = "Exact two-sided McNemar, Holm over the contrasts that were run, 100,000 paired bootstrap resamples."
    how += f" Power: by the effects of the paper's two models, with the pairs that a power of {ENOUGH} needs."
    unable = wording.few_parts({name: found.counts.pairs for name, found in ours.items()})
    title = _title("Confirmatory paired contrasts", data)
    note = wording.note(how, _theirs(experiment), unable, wording.unfinished(len(data.tasks), data))
    return Table(f"{experiment}-contrasts", title, columns, tuple(rows), note)


def _tell_power(found: Contrast) -> str:
    """The power on so many pairs by each effect, and how many pairs the published ones need."""
    needed = pairs_needed(found.name)
    parts = []
    for whose, chance in power_of(found).items():
        wanted = f" (needs {needed[whose] or f'more than {MOST}'})" if whose in needed else ""
        parts.append(f"{whose} {chance:.2f}{wanted}")
    return ", ".join(parts)


def _printed_p(prefix: str) -> Cell:
    if "(as p <" in published.paper().where(f"{prefix}.holm"):
        return f"<{published.paper().figure(f'{prefix}.holm').text}"
    return published.figure(f"{prefix}.holm", digits=4, power=True)


def _efficiency(data: FactorialData) -> Table:
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
        text = f"{100 * found.estimate:+.2f} {Interval(100 * found.lower, 100 * found.upper)}"
        value, interval = (
            published.figure("interaction.estimate", signed=True),
            published.span("interaction.interval"),
        )
        rows.append(("Interaction (pp, 95% CI)", text, f"{value} {interval}"))
    columns = ("Factorial condition", "Rescued / oracle-recoverable", "published (%)")
    title = _title("Synthesis efficiency and interaction", data)
    note = _note(data, _mixed(data), _theirs("factorial"))
    return Table("factorial-efficiency", title, columns, tuple(rows), note, frozenset({rule}))


def _cost(data: FactorialData, experiment: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for cell in cells_of(data):
        calls = [task.calls.get(cell, 0) for task in data.tasks]
        tokens = [task.tokens.get(cell, 0) for task in data.tasks]
        seconds = [task.latency_s.get(cell, 0.0) for task in data.tasks]
        printed = published.figure(f"calls_a_task.{cell}") if experiment == "factorial" else None
        n = len(data.tasks)
        rows.append(
            (
                CELL_NAMES.get(cell, cell),
                Figure(sum(calls) / n) if n else None,
                printed,
                Figure(sum(tokens) / n, 0) if n else None,
                *_spread(seconds),
            )
        )
    columns = (
        "Factorial condition",
        "Calls per case",
        "published",
        "Tokens per case",
        "Seconds per case, median",
        "Quartiles (s)",
    )
    theirs = _theirs(experiment) if experiment == "factorial" else ""
    note = _note(data, "Seconds are those of the recording's machine, beside other work.", theirs)
    return Table(f"{experiment}-cost", _title("Cost by condition", data), columns, tuple(rows), note)


def _spread(seconds: Sequence[float]) -> tuple[Cell, Cell]:
    """Median and quartiles, as far as there are any."""
    if not seconds:
        return None, None
    low, middle, high = quantiles(seconds, n=4) if len(seconds) > 1 else [seconds[0]] * 3
    return Figure(middle, 1), f"{low:.1f}–{high:.1f}"


def _left_out(data: FactorialData, experiment: str) -> Table:
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
    small = min((int(str(row[2])) for row in rows), default=0)
    note = wording.note(wording.unfinished(len(data.tasks), data), wording.few(small, "tasks left"))
    title = _title("Contrasts without each family", data)
    return Table(f"{experiment}-families", title, columns, tuple(rows), note)


def _gate(data: FactorialData, experiment: str) -> Table:
    beside = experiment == "factorial"
    printed = {("D1L0", part): f"gate.rejected_{part}" for part in STRATA if beside}
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
    title = _title("Rejections by the language gate", data)
    return Table(
        f"{experiment}-gate", title, columns, tuple(rows), _note(data, _theirs(experiment) if beside else "")
    )
