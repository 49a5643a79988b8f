"""Tables of the controlled benchmark: repairs by feedback mode and budget, by class, and where nothing shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from takeback_lab.report import published, wording
from takeback_lab.report.counting import Contrast, modes_contrast
from takeback_lab.report.inputs import ControlledCandidate, ControlledData, read_input
from takeback_lab.report.power import power_of
from takeback_lab.report.table import Cell, Figure, Interval, Share, Table

MODES: Final = {"none": "regeneration", "raw trace": "raw", "raw-trace": "raw", "raw_trace": "raw"}
ORDER: Final = ("regeneration", "generic", "raw", "typed", "prescriptive")


def controlled_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """All tables of `controlled`."""
    data = read_controlled(raw)
    yield _modes(data)
    yield _classes(data)
    if (found := modes_contrast(data)) is not None:
        yield _contrast(data, found)


def read_controlled(raw: Mapping[str, Any]) -> ControlledData:
    """The data of a controlled run, checked."""
    data = read_input("controlled", raw, "controlled")
    assert isinstance(data, ControlledData)  # noqa: S101  (the name decides the model)
    return data


def modes_of(data: ControlledData) -> list[str]:
    """The modes that were run, the paper's first and in its order."""
    found = dict.fromkeys(mode for candidate in data.candidates for mode in candidate.turns)
    return sorted(found, key=lambda mode: (_rank(mode), mode))


def repaired(candidates: Sequence[ControlledCandidate], mode: str, budget: int) -> Share:
    """How many of the candidates a mode brings through within a budget."""
    turns = [candidate.turns[mode] for candidate in candidates if mode in candidate.turns]
    return Share(sum(turn is not None and turn <= budget for turn in turns), len(turns))


def printed(mode: str) -> Share | None:
    """The paper's count for a mode."""
    return published.share(f"controlled.{MODES.get(mode, mode)}")


def _title(what: str, data: ControlledData) -> str:
    return wording.titled(what, wording.ran(len(data.candidates), data), "candidates with one injected defect", data)


def _modes(data: ControlledData) -> Table:
    budgets = range(1, data.budget + 1)
    hidden = [candidate for candidate in data.candidates if candidate.nominal_pass]
    rows: list[tuple[Cell, ...]] = []
    for mode in modes_of(data):
        reached = (repaired(data.candidates, mode, budget) for budget in budgets)
        unseen = repaired(hidden, mode, data.budget) if hidden else None
        rows.append((mode, *reached, unseen, printed(mode)))
    columns = (
        "Feedback",
        *(f"B = {budget}" for budget in budgets),
        f"of those that pass on the nominal state, B = {data.budget}",
        "published, B = 4",
    )
    n = len(data.candidates)
    note = wording.note(
        wording.prompted(data),
        wording.unfinished(n, data),
        f"Published: 120 candidates, {wording.PAPER}.",
        wording.few(n) or wording.few_parts({"the part that passes on the nominal state": len(hidden)}),
    )
    return Table("controlled", _title("Controlled defects repaired", data), columns, tuple(rows), note)


def _classes(data: ControlledData) -> Table:
    modes = modes_of(data)
    rows: list[tuple[Cell, ...]] = []
    for defect in dict.fromkeys(candidate.defect for candidate in data.candidates):
        mine = [candidate for candidate in data.candidates if candidate.defect == defect]
        rows.append((defect, *(repaired(mine, mode, data.budget) for mode in modes)))
    title = _title(f"Repaired by class, B = {data.budget}", data)
    smallest = min(Counter(candidate.defect for candidate in data.candidates).values())
    note = wording.note(wording.few(smallest, "candidates in a class"))
    return Table("controlled-classes", title, ("Defect", *modes), tuple(rows), note)


def _contrast(data: ControlledData, found: Contrast) -> Table:
    counts = found.counts
    row: tuple[Cell, ...] = (
        found.name,
        str(counts.pairs),
        str(counts.only_new),
        str(counts.only_old),
        Figure(100 * counts.difference, 2, signed=True),
        Interval(100 * found.interval.lower, 100 * found.interval.upper),
        Figure(found.p_value, 4, power=True),
        Figure(power_of(found)["observed"], 2),
    )
    columns = ("Repaired, paired", "n", "only typed", "only D1", "Δ (pp)", "95% CI", "exact p", "power, as observed")
    title = _title("Typed feedback against the grounded bundle", data)
    how = "Exact two-sided McNemar, 100,000 paired bootstrap resamples. The paper has no such contrast."
    note = wording.note(how, wording.unfinished(counts.pairs, data), wording.few(counts.pairs))
    return Table("controlled-contrast", title, columns, (row,), note)


def _rank(mode: str) -> int:
    """The paper's order of feedback modes, ours after them."""
    name = MODES.get(mode, mode)
    return ORDER.index(name) if name in ORDER else len(ORDER)
