"""Tables of the fresh holdout, in the paper's layout, the printed figure beside ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from takeback_lab.report import published, wording
from takeback_lab.report.counting import bound_of, costs, mean_rate_and_bound, sensitivity, suites_contrast
from takeback_lab.report.families import families_of
from takeback_lab.report.inputs import FreshData, FreshSuite, read_input
from takeback_lab.report.table import Cell, Figure, Interval, Share, Table

THRESHOLDS = (0.75, 0.80, 0.85, 0.90, 0.95)
SIZES = (10, 20, 30, 50, 100)
COLUMNS = ("dev", "false_positive", "rescue", "hidden", "gap")
KINDS = (("passes", True), ("rejections", False))
TITLES = ("Dev pass", "False positive", "Rescue", "Hidden criterion", "Conservatism gap")


def fresh_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """All tables of `fresh`."""
    data = read_fresh(raw)
    yield _sensitivity(data)
    yield _paired(data)
    yield _sizes(data)
    yield _thresholds(data)
    yield _cost(data)
    yield _families(data, strictest(data))


def read_fresh(raw: Mapping[str, Any]) -> FreshData:
    """The data of a fresh run, checked."""
    data = read_input("fresh", raw, "fresh")
    assert isinstance(data, FreshData)  # noqa: S101  (the name decides the model)
    return data


def titled(what: str, data: FreshData) -> str:
    """A title with the number of tasks and who was asked."""
    kind = "fresh tasks" if data.states == "diverse" else "fresh tasks with rare states"
    return wording.titled(what, wording.ran(len(data.suites[0].tasks), data), kind, data)


def noted(data: FreshData, *more: str, small: str = "") -> str:
    """A note with what is missing and what the paper's figures stand for; `small` says which part has too few."""
    n = len(data.suites[0].tasks)
    theirs = f"Published: 300 fresh tasks, {wording.PAPER}."
    return wording.note(*more, wording.unfinished(n, data), theirs, wording.few(n) or small)


def strictest(data: FreshData) -> FreshSuite:
    """Q20 as in the paper, or the suite that passes the fewest tasks where it was not run."""
    by_name = {suite.name: suite for suite in data.suites}
    return by_name.get("Q20") or min(data.suites, key=lambda suite: sum(task.dev for task in suite.tasks))


def _sensitivity(data: FreshData) -> Table:
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
    title = titled(f"Fresh holdout, {states} hidden states each, B = {data.budget}", data)
    behind = {
        f"{suite.name} {kind}": sum(task.dev is yes for task in suite.tasks)
        for suite in data.suites
        for kind, yes in KINDS
    }
    said = f"Hidden criterion: Wilson lower bound at least {data.threshold}."
    note = noted(data, said, small=wording.few_parts(behind))
    return Table("fresh-sensitivity", title, columns, tuple(rows), note)


def _paired(data: FreshData) -> Table:
    found = suites_contrast(data)
    ours: tuple[Cell, ...] = (None,) * 6
    if found is not None:
        counts = found.counts
        ours = (
            str(counts.pairs),
            str(counts.only_new),
            str(counts.only_old),
            Figure(100 * counts.difference, 2, signed=True),
            Interval(100 * found.interval.lower, 100 * found.interval.upper),
            Figure(found.p_value, 4, power=True),
        )
    columns = ("Rescue, paired", "n", "only Q20", "only Q2", "Δ (pp)", "95% CI", "exact p")
    change = published.figure("fresh.change", signed=True)
    p_value = published.figure("fresh.change_p", digits=4, power=True)
    theirs: tuple[Cell, ...] = ("300", None, None, change, None, p_value)
    rows = (("Q20 − Q2, ours", *ours), ("Q20 − Q2, published", *theirs))
    note = noted(data, "Exact two-sided McNemar, 100,000 paired bootstrap resamples.")
    return Table("fresh-paired", titled("Q20 against Q2", data), columns, rows, note)


def _sizes(data: FreshData) -> Table:
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
    return Table("fresh-hidden-size", titled("Hidden sample size", data), columns, tuple(rows), noted(data, note))


def _printed_size(suite: str, size: int) -> Cell:
    name = f"hidden_size.{suite}"
    if name not in published.paper().entries:
        return None
    place = SIZES.index(size)
    rate, bound = (published.paper().figures(name, field)[place].text for field in ("rates", "bounds"))
    return f"{rate} / {bound}"


def _thresholds(data: FreshData) -> Table:
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
    title = titled("Rescue by recovery threshold", data)
    return Table("fresh-thresholds", title, columns, tuple(rows), noted(data))


def _cost(data: FreshData) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for suite in data.suites:
        cost = costs(suite)
        rescues = sensitivity(suite.tasks, data.threshold).rescue.k
        spread = None if cost.seconds_lower is None else f"{cost.seconds_lower:.1f}–{cost.seconds_upper:.1f}"
        rows.append(
            (
                suite.name,
                Figure(cost.calls),
                _figure(cost.tokens, 0),
                _figure(cost.seconds, 1),
                spread,
                str(rescues),
                _figure(cost.tokens_per_success, 0),
                _figure(cost.calls_per_success, 2),
                *_printed_cost(suite.name),
            )
        )
    columns = (
        "Condition",
        "Calls per task",
        "Tokens per task",
        "Seconds per task, median",
        "Quartiles (s)",
        "Rescues",
        "Tokens per success",
        "Calls per success",
        "published median latency (s)",
        "published tokens per success",
        "published calls per success",
    )
    note = noted(data, "Seconds are those of the recording's machine, beside other work.")
    return Table("fresh-cost", titled("Inference cost", data), columns, tuple(rows), note)


def _figure(value: float | None, digits: int) -> Cell:
    return None if value is None else Figure(value, digits)


def _printed_cost(suite: str) -> tuple[Cell, Cell, Cell]:
    name = f"cost.{suite}"
    if name not in published.paper().entries:
        return None, None, None
    tokens, calls = (published.paper().figure(name, f"{what}_a_success") for what in ("tokens", "calls"))
    [seconds] = published.paper().entries[name]["measured"]
    return Figure(float(seconds), 2), Figure(float(tokens.value), 0), Figure(float(calls.value))


def _families(data: FreshData, suite: FreshSuite) -> Table:
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
    title = titled(f"Fresh holdout by family under {suite.name}", data)
    smallest = min(Counter(task.family for task in suite.tasks).values())
    note = noted(data, small=wording.few(smallest, "tasks in a family"))
    return Table("fresh-families", title, columns, tuple(rows), note, rule)
