"""Checks of the cohorts: percentages, 600-task accounting, family table, strata, overlaps, snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from takeback_lab.published.check import Agreement, Check, plain, same
from takeback_lab.published.paper import Paper

COLUMNS = ("admissible", "inadequate", "defective", "S0", "S1", "residual")


def percentages(paper: Paper) -> Iterator[Check]:
    """Every percentage printed next to a fraction."""
    for name in paper.shares():
        for printed in paper.figures(name, "percent"):
            label = f"percentage.{name} ({paper.k(name)}/{paper.n(name)}, {printed.text} %)"
            if paper.n(name) == 0:
                note = (
                    "0 of 0 has no value: no task of the family was rejected, so there is no share. "
                    "Printing it as 0.0 % is a convention, not a figure that follows from the counts."
                )
                text, known = f"{printed.text} %", printed.value == 0
                yield Check(label, printed.where, text, plain(printed.value), None, Agreement.DIFFERS, note, known)
            else:
                yield same(label, printed, Fraction(100 * paper.k(name), paper.n(name)))


def accounting(paper: Paper) -> Iterator[Check]:
    """What became of the 600 tasks."""
    k, figure = paper.k, paper.figure
    admissible, defective = k("accounting.admissible"), k("accounting.defective")
    positive = admissible + defective
    final = admissible + k("accounting.rescued")
    tasks = paper.count("cohort.tasks")
    yield same("accounting.tasks", figure("cohort.tasks", "count"), positive + k("accounting.inadequate"))
    yield same(
        "accounting.tasks from families",
        figure("cohort.tasks", "count"),
        paper.count("cohort.families") * paper.count("cohort.tasks_a_family"),
    )
    for name in ("admissible", "inadequate", "defective", "capability_positive", "yield"):
        yield same(f"accounting.{name}: of all tasks", figure(f"accounting.{name}", "n"), tasks)
    yield same("accounting.capability positive", figure("accounting.capability_positive", "k"), positive)
    yield same("accounting.defective of positive", figure("accounting.defective_of_positive", "k"), defective)
    yield same("accounting.positive", figure("accounting.defective_of_positive", "n"), positive)
    yield same("accounting.rescued of defective", figure("accounting.rescued", "n"), defective)
    yield same("accounting.rescued by D0L1", figure("accounting.rescued", "k"), k("factorial.D0L1.all"))
    yield same("accounting.admissible in the end", figure("accounting.admissible_of_positive", "k"), final)
    yield same("accounting.of positive in the end", figure("accounting.admissible_of_positive", "n"), positive)
    yield same("accounting.yield", figure("accounting.yield", "k"), final)
    yield same("accounting.gain in points", figure("accounting.gain"), Fraction(100 * (final - admissible), tasks))


def families(paper: Paper) -> Iterator[Check]:
    """Rows and columns of the family table, and the counts it must share with the text."""
    names = [name for name in paper.names("families") if name != "Total"]
    rows = {name: paper.row(f"families.{name}") for name in [*names, "Total"]}
    size = paper.figure("cohort.tasks_a_family", "count")
    for name in names:
        row = rows[name]
        yield same(f"families.{name}: tasks", size, sum(row[:3]))
        defective = paper.figures(f"families.{name}", "row")[2]
        yield same(f"families.{name}: defective by stratum", defective, sum(row[3:]))
    totals = paper.figures("families.Total", "row")
    for column, label in enumerate(COLUMNS):
        yield same(f"families.total {label}", totals[column], sum(rows[name][column] for name in names))
    in_text = [paper.figure(f"accounting.{name}", "k") for name in COLUMNS[:3]]
    in_text += [paper.figure(f"cohort.{name}", "count") for name in COLUMNS[3:]]
    for label, printed, total in zip(COLUMNS, in_text, rows["Total"], strict=True):
        yield same(f"families.{label} in the text", printed, total)
    middleware = rows["Middleware"][5] + rows["Multi-Surface"][5]
    yield same(
        "families.residual by middleware index",
        paper.figure("cohort.residual_middleware", "count"),
        middleware,
    )
    yield same("families.residual by tool key", paper.figure("cohort.residual_tools", "count"), rows["Tools"][5])


def strata(paper: Paper) -> Iterator[Check]:
    """Oracle strata, the stability sweep, hidden states and the fresh cohort's size."""
    count, figure = paper.count, paper.figure
    s0, s1, residual = count("cohort.S0"), count("cohort.S1"), count("cohort.residual")
    yield same("strata.defective", figure("cohort.defective", "count"), s0 + s1 + residual)
    yield same("strata.oracle under L0", figure("cohort.oracle_L0", "k"), s0)
    yield same("strata.oracle under L1", figure("cohort.oracle_L1", "k"), s0 + s1)
    for name in ("cohort.oracle_L0", "cohort.oracle_L1", "natural.repair", "natural.regeneration"):
        yield same(f"strata.{name}: of the cohort", figure(name, "n"), count("cohort.defective"))
    for group, size in (("controlled", "controlled.candidates"), ("audit", "audit.contracts")):
        for name in [name for name in paper.shares() if name.startswith(f"{group}.")]:
            yield same(f"{name}: of all", figure(name, "n"), count(size))
    yield same(
        "stability.evaluations",
        figure("stability.evaluations", "count"),
        count("cohort.defective") * count("stability.seeds"),
    )
    yield same("states.hidden", figure("states.hidden", "count"), count("states.iid") + count("states.ood"))
    yield same(
        "cohort.fresh tasks",
        figure("cohort.fresh_tasks", "count"),
        count("cohort.families") * count("cohort.fresh_a_family"),
    )


def overlap(paper: Paper) -> Iterator[Check]:
    """The two sets of 180 tasks that are not the same tasks."""
    both = paper.count("natural.overlap")
    taxonomy_only, rescue_only = paper.count("natural.taxonomy_only"), paper.count("natural.rescue_only")
    yield same(
        "overlap.outside the taxonomy",
        paper.figure("natural.outside_taxonomy", "count"),
        both + taxonomy_only,
    )
    yield same("overlap.rescued", paper.figure("factorial.D0L1.all", "k"), both + rescue_only)
    union = both + taxonomy_only + rescue_only
    left = paper.count("cohort.defective") - union
    yield Check(
        "overlap.fits in the cohort",
        paper.where("natural.overlap"),
        str(paper.count("cohort.defective")),
        paper.count("cohort.defective"),
        union,
        Agreement.EQUAL if left >= 0 else Agreement.DIFFERS,
        f"The union has {union} tasks, which leaves {left} of the cohort in neither set.",
    )


def snapshots(paper: Paper) -> Iterator[Check]:
    """Snapshot-only wins follow from the successes, since EvoUndo alone wins nowhere."""
    alone = paper.count("snapshots.evoundo_only")
    for protocol in ("different", "same"):
        wins = paper.k(f"snapshots.scoped.{protocol}") - paper.k(f"snapshots.evoundo.{protocol}") + alone
        printed = paper.figure(f"snapshots.scoped_only.{protocol}", "count")
        yield same(f"snapshots.snapshot-only wins, {protocol} surface", printed, wins)
    for name in [name for name in paper.shares() if name.startswith("snapshots.")]:
        yield same(f"{name}: of the fresh tasks", paper.figure(name, "n"), paper.count("cohort.fresh_tasks"))
