"""The paper's tables by number: what each shows, which of our runs answers it, and what is missing.

`published` holds every entry of `paper.json` that the paper prints in the table. Ours comes from run folders, those
of `PREFERRED` first; a table without a run says how to make one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from takeback.errors import InputError
from takeback.state import KINDS, Level, Stage
from takeback.state.surface import IID, OOD
from takeback_lab.published.paper import load_paper
from takeback_lab.registry import experiment_named
from takeback_lab.report.table import Table, to_markdown
from takeback_lab.results import find_runs, read_results

PREFERRED: Final = ("v4", "plain-L0", "model-free", "first")
_SAID: Final = {"tokens": "written_a_task"}
"""Fields under another name, as what is called tokens is masked as a secret."""
STAGES: Final = {"capture": Stage.CAPTURE, "forward": Stage.FORWARD, "recovery": Stage.RECOVERY}


@dataclass(frozen=True, slots=True)
class PaperTable:
    """One table of the paper: its number and subject, the experiment that answers it, and which of its tables."""

    number: int
    subject: str
    experiment: str = ""
    slug: str = ""
    entries: str = ""
    """How entries begin that the paper prints here without saying so in `where`."""


TABLES: Final = (
    PaperTable(1, "recovery languages"),
    PaperTable(2, "factorial", "factorial", "factorial-rescue"),
    PaperTable(3, "replication: contrasts", "replication", "replication-contrasts", "replication.C"),
    PaperTable(4, "perturbations"),
    PaperTable(5, "snapshots", "snapshots", "snapshots"),
    PaperTable(6, "natural cohort by family", "natural", "natural-families"),
    PaperTable(7, "tasks the oracle does not recover", "oracle", "oracle-strata"),
    PaperTable(8, "discordant cases on S1", "factorial", "factorial-discordant"),
    PaperTable(9, "replication", "replication", "replication-rescue"),
    PaperTable(10, "fresh holdout", "fresh", "fresh-sensitivity"),
    PaperTable(11, "hidden sample size", "fresh", "fresh-hidden-size"),
    PaperTable(12, "thresholds", "fresh", "fresh-thresholds"),
    PaperTable(13, "cost", "fresh", "fresh-cost", "cost."),
    PaperTable(14, "fresh holdout by family", "fresh", "fresh-families"),
)


def find_table(number: int) -> PaperTable:
    """The table of that number."""
    for one in TABLES:
        if one.number == number:
            return one
    raise InputError("--table", found=number, expected=f"a number from 1 to {len(TABLES)}")


def tell_table(one: PaperTable, results: Path) -> dict[str, Any]:
    """A table of the paper as JSON: command, what was printed, and ours or why there is none."""
    told: dict[str, Any] = {"table": one.number, "subject": one.subject, "published": list_published(one)}
    if not one.experiment:
        return {**told, "command": f"takeback lab paper --table {one.number}", "ours": _OF_CODE[one.number]()}
    asks = experiment_named(one.experiment).asks
    told["command"] = f"takeback lab {one.experiment}{' --synthesizer replay' if asks else ''}"
    for run, data in _runs_of(one.experiment, results):
        for table in experiment_named(one.experiment).tables(data):
            if table.slug == one.slug:
                return {**told, "ours": _tell(one, table, run, data)}
    why = f"no run of {one.experiment} below {results} has it; make one with '{told['command']} --out {results}'"
    return {**told, "missing": why}


def list_published(one: PaperTable) -> dict[str, Any]:
    """Every entry that the paper prints in a table, by name."""
    entries = load_paper().entries
    return {
        name: {_SAID.get(field, field): value for field, value in entry.items()}
        for name, entry in entries.items()
        if _stands_in(one, name, str(entry["where"]))
    }


def _stands_in(one: PaperTable, name: str, where: str) -> bool:
    if one.entries and name.startswith(one.entries):
        return True
    parts = where.replace("Tables ", "Table ").replace(" and ", "; Table ").split("; ")
    return any(part.split(" (")[0] == f"Table {one.number}" for part in parts)


def _runs_of(experiment: str, results: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The runs of an experiment below a folder, the preferred ones first."""
    runs = find_runs(results) if results.is_dir() else ()

    def place(run: Path) -> int:
        return next((at for at, name in enumerate(PREFERRED) if name in run.parts), len(PREFERRED))

    for run in sorted(runs, key=place):
        found = read_results(run) if run.name.startswith(experiment) else None
        if found is not None and found.experiment == experiment:
            yield run, found.data


def _tell(one: PaperTable, table: Table, run: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    cases = data.get("tasks") or data.get("candidates") or (data.get("suites") or [{}])[0].get("tasks") or ()
    told = {
        "run": run.as_posix(),
        "model": data.get("model"),
        "prompts": data.get("prompts"),
        "imported": data.get("imported", 0),
        "n": len(cases) or _count_trials(data),
        "population": table.title,
        "markdown": to_markdown(table),
    }
    if one.number == 7:  # noqa: PLR2004 - the paper's own number
        told["unrecovered"] = [row["id"] for row in cases if not row["L1"]]
    return told


def _count_trials(data: Mapping[str, Any]) -> int:
    """On how many cases methods were compared, where outcomes are counted method by method."""
    return max((one["different"][1] for one in data.get("methods", ()) if one["different"]), default=0)


def _grammar() -> dict[str, Any]:
    """The operations of each language by stage, as the code has them."""
    return {
        f"{level.value}.{stage}": [
            kind.name for kind in KINDS.values() if kind.level is level and kind.stage is which
        ]
        for level in (Level.L0, Level.L1)
        for stage, which in STAGES.items()
    }


def _perturbations() -> dict[str, Any]:
    """The strategies by which states are varied, as the code has them."""
    return {"IID": [one.value for one in IID], "OOD": [one.value for one in OOD]}


_OF_CODE: Final = {1: _grammar, 4: _perturbations}
