"""Tables of the fresh holdout, in the paper's layout, the printed figure beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from takeback.lab.report import published
from takeback.lab.report.cohort_tables import families_of
from takeback.lab.report.counting import bound_of, mean_rate_and_bound, sensitivity
from takeback.lab.report.inputs import Fresh, FreshSuite
from takeback.lab.report.table import Cell, Figure, Share, Table

THRESHOLDS = (0.75, 0.80, 0.85, 0.90, 0.95)
SIZES = (10, 20, 30, 50, 100)
COLUMNS = ("dev", "false_positive", "rescue", "hidden", "gap")
TITLES = ("Dev pass", "False positive", "Rescue", "Hidden criterion", "Conservatism gap")


def fresh_tables(data: Fresh) -> Iterator[Table]:
    """All tables of `fresh`."""
    yield _sensitivity(data)
    yield _sizes(data)
    yield _thresholds(data)
    yield _cost(data)
    yield _families(data, strictest(data))


def strictest(data: Fresh) -> FreshSuite:
    """Q20 as in the paper, or the suite that passes the fewest tasks where it was not run."""
    by_name = {suite.name: suite for suite in data.suites}
    return by_name.get("Q20") or min(data.suites, key=lambda suite: sum(task.dev for task in suite.tasks))


def _sensitivity(data: Fresh) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for suite in data.suites:
        ours = sensitivity(suite.tasks, data.threshold)
        row: list[Cell] = [suite.name]
        for column in COLUMNS:
            found: Share = getattr(ours, column)
            row += [found if found.n else None, published.share(f"fresh.{suite.name}.{column}")]
        rows.append(tuple(row))
    columns = ("Condition", *(name for title in TITLES for name in (title, "published")))
    states = len(data.suites[0].tasks[0].hidden)
    title = f"Fresh holdout: {len(data.suites[0].tasks)} tasks, {states} hidden states, B = {data.budget}"
    note = f"Hidden criterion: Wilson lower bound at least {data.threshold}."
    return Table("fresh-sensitivity", title, columns, tuple(rows), note)


def _sizes(data: Fresh) -> Table:
    available = len(data.suites[0].tasks[0].hidden)
    sizes = [size for size in SIZES if size <= available]
    rows: list[tuple[Cell, ...]] = []
    for suite in data.suites:
        row: list[Cell] = [suite.name]
        for size in sizes:
            rate, bound = mean_rate_and_bound(suite, size)
            row += [f"{rate:.1f} / {bound:.1f}", _printed_size(suite.name, size)]
        rows.append(tuple(row))
    columns = ("Condition", *(name for size in sizes for name in (f"n = {size}", "published")))
    note = "Mean recovery rate / mean 95% Wilson lower bound, in percent, on the first n hidden states."
    return Table("fresh-hidden-size", "Hidden sample size", columns, tuple(rows), note)


def _printed_size(suite: str, size: int) -> Cell:
    name = f"hidden_size.{suite}"
    if name not in published.paper().entries:
        return None
    place = SIZES.index(size)
    rate, bound = (published.paper().figures(name, field)[place].text for field in ("rates", "bounds"))
    return f"{rate} / {bound}"


def _thresholds(data: Fresh) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for suite in data.suites:
        name = f"thresholds.{suite.name}"
        printed = published.paper().row(name) if name in published.paper().entries else None
        row: list[Cell] = [suite.name]
        for place, threshold in enumerate(THRESHOLDS):
            ours = sum(task.dev and bound_of(task) >= threshold for task in suite.tasks)
            row += [str(ours), str(printed[place]) if printed else None]
        rows.append(tuple(row))
    columns = ("Condition", *(name for t in THRESHOLDS for name in (f"τ = {t:.2f}", "published")))
    return Table("fresh-thresholds", "Rescue by recovery threshold", columns, tuple(rows))


def _cost(data: Fresh) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for suite in data.suites:
        tasks, n = suite.tasks, len(suite.tasks)
        rescues = sensitivity(tasks, data.threshold).rescue.k
        calls = sum(task.calls for task in tasks)
        tokens = [task.tokens for task in tasks if task.tokens is not None]
        latencies = [task.latency_s for task in tasks if task.latency_s is not None]
        total = sum(tokens) if len(tokens) == n else None
        rows.append(
            (
                suite.name,
                Figure(calls / n),
                None if total is None else Figure(total / n, 0),
                Figure(median(latencies)) if len(latencies) == n else None,
                str(rescues),
                Figure(total / rescues, 0) if total is not None and rescues else None,
                Figure(calls / rescues) if rescues else None,
                *_printed_cost(suite.name),
            )
        )
    columns = (
        "Condition",
        "Calls/task",
        "Tokens/task",
        "Median lat. (s)",
        "Rescues",
        "Tokens/success",
        "Calls/success",
        "published tokens/success",
        "published calls/success",
    )
    return Table("fresh-cost", "Inference cost", columns, tuple(rows))


def _printed_cost(suite: str) -> tuple[Cell, Cell]:
    name = f"cost.{suite}"
    if name not in published.paper().entries:
        return None, None
    tokens, calls = (published.paper().figure(name, f"{what}_a_success") for what in ("tokens", "calls"))
    return Figure(float(tokens.value), 0), Figure(float(calls.value))


def _families(data: Fresh, suite: FreshSuite) -> Table:
    parts = ("dev", "hidden", "rescue", "gap")
    rows: list[tuple[Cell, ...]] = []
    for name in [*families_of([task.family for task in suite.tasks]), "Total"]:
        tasks = [task for task in suite.tasks if name in (task.family, "Total")]
        ours = sensitivity(tasks, data.threshold)
        known = published.family(name)
        prefix = f"fresh_families.{known[1]}" if known else "fresh.Q20"
        beside = suite.name == "Q20" and (known is not None or name == "Total")
        row: list[Cell] = [name]
        for part in parts:
            found: Share = getattr(ours, part)
            row += [found if found.n else None, published.share(f"{prefix}.{part}") if beside else None]
        rows.append(tuple(row))
    titles = dict(zip(COLUMNS, TITLES, strict=True))
    columns = ("Family", *(name for part in parts for name in (titles[part], "published")))
    rule = frozenset({len(rows) - 1})
    return Table("fresh-families", f"Fresh holdout by family under {suite.name}", columns, tuple(rows), "", rule)
