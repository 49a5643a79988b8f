"""Reports: what is counted, and what is shown beside it."""

import csv
import io
import itertools

import lab_samples
import pytest

from takeback.errors import InputError
from takeback_lab.lock import make_lock
from takeback_lab.registry import MODULES, experiment_named
from takeback_lab.report.build import build_report
from takeback_lab.report.counting import CELLS, sensitivity
from takeback_lab.report.discordant import category_of
from takeback_lab.report.inputs import EXPERIMENTS, FreshTask, read_input
from takeback_lab.report.table import Figure, Interval, Share, Table, to_csv, to_latex, to_markdown
from takeback_lab.results import verify_results, write_results
from takeback_lab.runner import run_experiment

LOCK = make_lock("sample", {"tasks": []})


@pytest.fixture(scope="module")
def tables():
    return {name: tables_of(name, make()) for name, make in lab_samples.ALL.items()}


def tables_of(name, raw):
    return {table.slug: table for table in experiment_named(name).tables(raw)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("results")
    for name, make in lab_samples.ALL.items():
        write_results(root / name, name, LOCK, make())
    return root


@pytest.mark.parametrize(
    ("experiment", "slug"),
    [
        ("factorial", "factorial-rescue"),
        ("factorial", "factorial-gate"),
        ("factorial", "factorial-yield"),
        ("conventional", "conventional-rescue"),
        ("fresh", "fresh-sensitivity"),
        ("fresh", "fresh-families"),
        ("natural", "natural-accounting"),
        ("contract-audit", "contract-audit"),
    ],
)
def test_the_papers_totals_reproduce_the_papers_figures(experiment, slug, tables):
    table = tables[experiment][slug]
    beside = [i for i, column in enumerate(table.columns) if column == "published"]
    assert beside
    for row in table.rows:
        for i in beside:
            ours, theirs = row[1] if slug == "factorial-yield" else row[i - 1], row[i]
            assert theirs is None or ours == theirs or (ours is None and theirs.n == 0)


def test_the_papers_totals_reproduce_its_contrasts_and_efficiency(tables):
    for row in tables["factorial"]["factorial-contrasts"].rows:
        difference, interval, _, p, power, *printed = row[2:]
        assert power.startswith("paper ")
        assert [str(difference), str(interval), str(p)] == [str(cell) for cell in printed]
    efficiency = tables["factorial"]["factorial-efficiency"]
    for _, ours, printed in efficiency.rows[:-1]:
        assert f"{100 * ours.k / ours.n:.1f}" == str(printed)
    assert efficiency.rows[-1][1].startswith("-25.89 [")


def test_rescue_by_budget_counts_tasks_admitted_at_or_before_each_turn(tables):
    rows = {row[0]: row[1:] for row in tables["factorial"]["factorial-budget"].rows}
    grounded = next(cells for name, cells in rows.items() if name.startswith("D1L0 ("))
    assert grounded == rows["D1L0, published"] == tuple(Share(k, 197) for k in (24, 35, 37, 38))


def test_stability_counts_migrations_and_jaccard_against_the_first_seed(tables):
    table = tables["stability"]["stability"]
    assert [row[4] for row in table.rows] == ["0", "1", "0"]
    assert table.rows[1][5] == Figure(47 / 48, 4)
    assert table.rows[1][6] == Figure(143 / 144, 4)


def test_sensitivity_equals_a_count_task_by_task():
    kinds = list(itertools.product((True, False), (100, 92, 91, 0)))
    tasks = [
        FreshTask(id=f"{i}", family="tools", dev=dev, hidden="1" * k + "0" * (100 - k), calls=1)
        for i, (dev, k) in enumerate(kinds * 2 + kinds[:3])
    ]
    good = [task.hidden.count("1") >= 92 for task in tasks]
    found = sensitivity(tasks, 0.85)
    pairs = list(zip(tasks, good, strict=True))
    assert found.rescue == Share(sum(t.dev and g for t, g in pairs), len(tasks))
    assert found.false_positive == Share(sum(t.dev and not g for t, g in pairs), sum(t.dev for t in tasks))
    assert found.gap == Share(sum(g and not t.dev for t, g in pairs), sum(not t.dev for t in tasks))
    assert found.hidden == Share(sum(good), len(tasks))


def test_a_cell_that_was_not_run_is_a_dash_in_every_format():
    raw = lab_samples.factorial()
    for task in raw["tasks"]:
        del task["turns"]["D1L1"]
    shown = tables_of("factorial", raw)
    third = shown["factorial-contrasts"].rows[2]
    assert third[1:6] == (None,) * 5
    assert "| – | – | – | – | – | -6.29 |" in to_markdown(shown["factorial-contrasts"])
    assert "& -- & -- & -- & -- & -- & -6.29 &" in to_latex(shown["factorial-contrasts"])
    assert ",,,,,,-6.29," in to_csv(shown["factorial-contrasts"])
    assert all("Interaction" not in str(row[0]) for row in shown["factorial-efficiency"].rows)


def test_csv_has_one_named_column_a_number_and_reads_back(tables):
    for table in (t for group in tables.values() for t in group.values()):
        rows = list(csv.reader(io.StringIO(to_csv(table))))
        assert {len(row) for row in rows} == {len(rows[0])}
        assert len(set(rows[0])) == len(rows[0])
    rows = list(csv.DictReader(io.StringIO(to_csv(tables["fresh"]["fresh-sensitivity"]))))
    assert (rows[0]["Conservatism gap k"], rows[0]["Conservatism gap published n"]) == ("8", "121")


def test_latex_tables_use_the_papers_frame_and_escape_special_characters(tables):
    table = Table(
        "t", "50% of a_b & c", ("x", "Δ"), (("#1 {}", Share(1, 2)), ("y", Interval(-1, 2))), "", frozenset({1})
    )
    text = to_latex(table)
    assert r"\caption{50\% of a\_b \& c}" in text
    assert r"\#1 \{\} & 1/2 (50.0\%) \\" in text
    assert text.index(r"\midrule", text.index("1/2")) < text.index("y & [-1.00, +2.00]")
    for shown in (t for group in tables.values() for t in group.values()):
        lines = [line for line in to_latex(shown).splitlines() if line.endswith(r" \\")]
        assert {line.count(" & ") for line in lines} == {len(shown.columns) - 1}
        assert len(lines) == len(shown.rows) + 1


def test_a_table_of_ragged_rows_cannot_be_made():
    with pytest.raises(ValueError, match="1 cells"):
        Table("t", "t", ("a", "b"), (("only",),))


@pytest.mark.parametrize(
    ("experiment", "change", "place"),
    [
        ("factorial", lambda d: d["tasks"][3].update(stratum="S2"), r"data\.tasks\.3\.stratum"),
        ("factorial", lambda d: d["tasks"][0]["turns"].pop("D0L0"), "the same cells"),
        ("fresh", lambda d: d["suites"][0]["tasks"][0].update(hidden="10-"), "hidden"),
        ("fresh", lambda d: d["suites"][0]["tasks"][0].update(hidden="101"), "same hidden states"),
        ("natural", lambda d: d.update(extra=1), r"data\.extra"),
        ("natural", lambda d: d.update(tasks=[]), r"data\.tasks"),
        ("oracle", lambda d: d["matrix"]["rows"][0].update(passes="1"), "1 passes for 50 states"),
        ("stability", lambda d: d.update(seeds=[1]), "3 strata for 1 seeds"),
        ("snapshots", lambda d: d["methods"][0].update(bytes=0.0), r"methods\.0\.bytes"),
        ("controlled", lambda d: d["candidates"][1]["turns"].update(typed=0), r"candidates\.1\.turns\.typed"),
    ],
)
def test_a_wrong_field_is_refused_with_its_place(experiment, change, place):
    raw = lab_samples.ALL[experiment]()
    change(raw)
    with pytest.raises(InputError, match=place):
        read_input(experiment, raw, "result.json")


def test_an_unknown_experiment_is_refused_and_every_known_one_has_a_sample():
    with pytest.raises(InputError, match="one of contract-audit"):
        read_input("magic", {}, "x")
    counted_itself = {"sensitivity"}
    assert set(EXPERIMENTS) == {*lab_samples.ALL, "replication"} - counted_itself


@pytest.mark.long
def test_every_registered_experiment_has_tables_and_its_plots_say_on_what(tmp_path):
    tiny = {
        "bisect": {"histories": 2},
        "bytes": {"files": 1},
        "soundness": {"cases": 5},
        "undo-laws": {"histories": 2},
    }
    for name in MODULES:
        experiment = experiment_named(name)
        if name in tiny:
            raws = run_experiment(experiment, experiment.plan(tiny[name])).data.values()
        else:
            raws = [lab_samples.ALL["factorial" if name == "replication" else name]()]
        for raw in raws:
            shown = list(experiment.tables(raw))
            assert shown, name
            assert all(table.title and table.rows is not None for table in shown)
            for _, figure in experiment.plots(raw):
                title = figure.get_suptitle() or figure.axes[0].get_title(loc="left")
                assert any(character.isdigit() for character in title), (name, title)


@pytest.mark.long
def test_a_report_has_every_table_in_three_formats_and_every_plot_in_two(folder, tables):
    report = build_report(folder)
    names = set(report.files)
    assert {n.rsplit(".", 1)[1] for n in names if n.startswith("tables/")} == {"md", "csv", "tex"}
    for experiment, group in tables.items():
        for slug in group:
            assert {f"tables/{experiment}/{slug}.{end}" for end in ("md", "csv", "tex")} <= names
    drawn = {name.split("/", 1)[1].rsplit(".", 1)[0] for name in names if name.startswith("plots/")}
    assert drawn == {
        "controlled/repaired",
        "conventional/rescue-by-budget",
        "factorial/rescue-by-budget",
        "fresh/precision-coverage",
        "fresh/round-trips",
        "natural/strata",
        "oracle/round-trips",
        "oracle/strata",
        "snapshots/storage-latency",
    }
    assert all((report.folder / name).stat().st_size for name in names)
    assert verify_results(folder) == []


def test_a_report_of_one_run_leaves_it_verifiable(tmp_path):
    write_results(tmp_path, "contract-audit", LOCK, lab_samples.audit())
    report = build_report(tmp_path)
    assert "tables/contract-audit/contract-audit.tex" in report.files
    assert verify_results(tmp_path) == []


def test_an_altered_run_is_not_reported_and_an_empty_folder_is_refused(tmp_path):
    write_results(tmp_path / "a", "contract-audit", LOCK, lab_samples.audit())
    (tmp_path / "a" / "result.json").write_text("{}")
    with pytest.raises(InputError, match="as it was written"):
        build_report(tmp_path, tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no run"):
        build_report(tmp_path / "empty")


@pytest.mark.long
def test_a_table_of_fewer_than_twenty_cases_warns_about_contrasts():
    raw = lab_samples.factorial()
    few = {**raw, "tasks": raw["tasks"][:3] + [t for t in raw["tasks"] if t["stratum"] == "S1"][:16]}
    assert "too few cases for a contrast" in tables_of("factorial", few)["factorial-rescue"].note
    assert "C1 has n = 3, C2 has n = 16, C3 has n = 16" in tables_of("factorial", few)["factorial-contrasts"].note
    for table in tables_of("factorial", few).values():
        assert "too few cases for a contrast" in table.note, table.slug
    assert "no contrast" not in tables_of("factorial", raw)["factorial-rescue"].note


@pytest.mark.parametrize(
    ("name", "rows"), [("natural", "tasks"), ("conventional", "tasks"), ("controlled", "candidates")]
)
def test_every_table_of_a_small_run_warns_about_contrasts(name, rows):
    raw = lab_samples.ALL[name]()
    small = {**raw, rows: raw[rows][:19]}
    for table in tables_of(name, small).values():
        assert "too few cases for a contrast" in table.note, table.slug


def test_latencies_are_shown_as_medians_with_quartiles():
    raw = lab_samples.factorial()
    for at, task in enumerate(raw["tasks"]):
        task["latency_s"] = {cell: float(at) for cell in CELLS}
    table = tables_of("factorial", raw)["factorial-cost"]
    assert [str(cell) for cell in table.rows[0][-2:]] == ["98.0", "48.5–147.5"]


def test_an_unfinished_run_states_its_share_of_the_locked_tasks():
    raw = {**lab_samples.factorial(), "locked": 300}
    assert "197 of 300 locked tasks ran." in tables_of("factorial", raw)["factorial-rescue"].note


@pytest.mark.parametrize(
    ("bad", "category"),
    [
        (None, "unreadable"),
        ([("a", "x")], "omission"),
        ([("a", "x"), ("b", "y"), ("c", "z")], "over-decomposition"),
        ([("b", "y"), ("a", "x")], "sequence inversion"),
        ([("a", "x"), ("b", "z")], "ambiguous target"),
        ([("a", "x"), ("c", "y")], "other operation"),
        ([("a", "x"), ("b", "y")], "capture or contract"),
    ],
)
def test_a_losing_recovery_is_put_in_one_category(bad, category):
    assert category_of([("a", "x"), ("b", "y")], bad) == category


def test_discordant_cases_are_counted_by_category_and_winner():
    raw = lab_samples.factorial()
    good, bad = [["restore_file", "a"]], [["delete_file", "a"]]
    for task in raw["tasks"]:
        won = {cell: task["turns"][cell] is not None for cell in ("D0L1", "D1L1")}
        task["recovery"] = {cell: good if hit else bad for cell, hit in won.items()}
    rows = tables_of("factorial", raw)["factorial-discordant"].rows
    together = ("all that D0L1 wins", "10", "D0L1")
    ours = [row[:3] for row in rows if "published" not in row[0]]
    assert ours == [("other operation", "10", "D0L1"), ("other operation", "1", "D1L1"), together]
    assert ("Aggregate, published", "10", "D0L1") in [row[:3] for row in rows]
    assert ("Over-decomposition, published", "5", "D0L1") in [row[:3] for row in rows]


def test_candidates_outside_the_controlled_taxonomy_are_counted():
    raw = lab_samples.natural()
    wrong = [task for task in raw["tasks"] if task["outcome"] == "defective"]
    for at, task in enumerate(wrong):
        task["mistakes"] = ["MISSING_RECOVERY", "DUMMY_CAPTURE"] if at < 17 else ["MISSING_RECOVERY"]
    row = tables_of("natural", raw)["natural-mistakes"].rows[0]
    assert row[1:] == (Share(180, 197), Share(180, 197))


def test_q20_against_q2_is_paired_task_by_task():
    row, printed = tables_of("fresh", lab_samples.fresh())["fresh-paired"].rows
    only_new, only_old = int(row[2]), int(row[3])
    assert (only_new - only_old) / 300 == pytest.approx(-14.67 / 100, abs=5e-5)
    assert str(row[4]) == str(printed[4]) == "-14.67"
