"""Reports that do not mislead: what was measured on what, and what a draw or so few cases cannot show."""

import lab_samples
import pytest
from matplotlib.text import Text

from takeback_lab.lock import make_lock
from takeback_lab.registry import experiment_named
from takeback_lab.report.banks import shown_data
from takeback_lab.report.build import build_report
from takeback_lab.report.table import Share
from takeback_lab.results import read_results, write_results

pytestmark = pytest.mark.long
"""Each draws its samples many times over."""


def tables_of(name, raw):
    return {table.slug: table for table in experiment_named(name).tables(raw)}


def words_of(name, raw):
    figures = dict(experiment_named(name).plots(raw))
    return {slug: "\n".join(text.get_text() for text in figure.findobj(Text)) for slug, figure in figures.items()}


def drawn(s0, s1, **strata):
    """The sample's factorial on a draw of so many cases of each stratum."""
    raw = lab_samples.factorial()
    cases = [[task for task in raw["tasks"] if task["stratum"] == name] for name in ("S0", "S1")]
    return {**raw, "bank": {**raw["bank"], **strata}, "tasks": cases[0][:s0] + cases[1][:s1]}


def test_every_table_warns_about_a_stratum_of_fewer_than_twenty():
    for slug, table in tables_of("factorial", drawn(16, 15)).items():
        assert "too few cases for a contrast" in table.note, slug
    assert "S0 has n = 16, S1 has n = 15" in tables_of("factorial", drawn(16, 15))["factorial-rescue"].note
    assert "no contrast" not in tables_of("factorial", drawn(20, 20))["factorial-efficiency"].note


@pytest.mark.parametrize("name", ["oracle", "stability", "contract-audit", "snapshots", "fresh"])
def test_every_table_of_a_small_run_without_failures_warns_too(name):
    raw = lab_samples.ALL[name]()
    if name == "contract-audit":
        raw |= {"incomplete": [19, 19], "complete": [0, 19], "nondeterminism": [0, 19]}
    elif name == "snapshots":
        raw["methods"] = [{**one, "different": [19, 19], "same": [19, 19]} for one in raw["methods"]]
    elif name == "fresh":
        raw["suites"] = [{**suite, "tasks": suite["tasks"][:19]} for suite in raw["suites"]]
    else:
        raw["tasks"] = raw["tasks"][:19]
    for slug, table in tables_of(name, raw).items():
        assert "too few cases for a contrast" in table.note, slug


def test_a_table_by_family_warns_about_small_families():
    raw = lab_samples.fresh()
    kept = [at for at, _ in enumerate(raw["suites"][0]["tasks"]) if at % 5 == 0]
    raw["suites"] = [{**suite, "tasks": [suite["tasks"][at] for at in kept]} for suite in raw["suites"]]
    assert "tasks in a family: too few cases" in tables_of("fresh", raw)["fresh-families"].note


def test_the_yield_of_a_draw_is_projected_stratum_by_stratum():
    raw = drawn(24, 36, S0=48, S1=143, residual=6)
    table = tables_of("factorial", raw)["factorial-yield"]
    row = next(row for row in table.rows if str(row[0]).startswith("with D0L1"))
    rescued = [sum(t["turns"]["D0L1"] is not None for t in raw["tasks"] if t["stratum"] == s) for s in ("S0", "S1")]
    assert row[1] == Share(281 + sum(rescued), 600)
    assert str(row[2]) == f"{100 * (281 + 48 * rescued[0] / 24 + 143 * rescued[1] / 36) / 600:.1f}"


def test_a_yield_is_not_projected_without_strata_or_rates():
    for raw in (drawn(24, 36), drawn(24, 0, S0=48, S1=143, residual=6)):
        table = tables_of("factorial", raw)["factorial-yield"]
        assert table.columns == ("End-to-end yield", "admissible + rescued", "published")
        assert "rate of their stratum" not in table.note
        assert "the others count as not rescued" in table.note


def test_a_yield_of_all_failures_is_counted_not_projected():
    table = tables_of("factorial", {**lab_samples.factorial(), "model": "portfolio"})["factorial-yield"]
    assert len(table.columns) == 3
    assert "the others" not in table.note
    assert table.title == "End-to-end yield: 600 natural tasks, failures repaired by portfolio"


def test_counts_of_drawn_cases_are_labelled_as_drawn():
    raw = drawn(24, 36)
    tables = tables_of("factorial", raw)
    assert tables["factorial-rescue"].columns[1] == "All drawn (N=60)"
    assert "60 natural failures drawn from 197" in tables["factorial-contrasts"].title
    assert "60 natural failures drawn from 197" in words_of("factorial", raw)["rescue-by-budget"]
    assert tables_of("factorial", lab_samples.factorial())["factorial-rescue"].columns[1] == "Full cohort (N=197)"


def test_the_strata_of_a_bank_are_read_off_the_natural_run_beside_a_draw(tmp_path):
    lock = make_lock("x", {})
    raw = drawn(24, 36)
    rows = [
        {"id": task["id"], "family": task["family"], "outcome": "defective", "stratum": task["stratum"]}
        for task in lab_samples.factorial()["tasks"]
    ]
    others = {"admissible": 281, "inadequate": 122}
    rows += [{"id": f"{o}{at}", "family": "config", "outcome": o} for o, n in others.items() for at in range(n)]
    write_results(tmp_path / "factorial-m", "factorial", lock, raw)
    run = tmp_path / "factorial-m"
    assert shown_data(run, read_results(run)) == raw
    write_results(tmp_path / "natural-m", "natural", lock, {"model": "m", "tasks": rows[:-1]})
    assert shown_data(run, read_results(run)) == raw
    write_results(tmp_path / "natural-m", "natural", lock, {"model": "m", "tasks": rows})
    assert shown_data(run, read_results(run))["bank"] == {**raw["bank"], "S0": 48, "S1": 143, "residual": 6}
    build_report(tmp_path, tmp_path / "report")
    assert "if all failures were repaired at these rates" in (tmp_path / "report" / "report.md").read_text()
    rows[0]["stratum"] = "residual"
    write_results(tmp_path / "natural-m", "natural", lock, {"model": "m", "tasks": rows})
    assert shown_data(run, read_results(run)) == raw


@pytest.mark.parametrize(("name", "rows"), [("controlled", "candidates"), ("natural", "tasks"), ("fresh", "suites")])
def test_a_plot_of_fewer_than_twenty_cases_warns(name, rows):
    raw = lab_samples.ALL[name]()
    if name == "fresh":
        raw["suites"] = [{**suite, "tasks": suite["tasks"][:19]} for suite in raw["suites"]]
    else:
        raw[rows] = raw[rows][:19]
    for slug, said in words_of(name, raw).items():
        assert "n = 19: too few cases for a contrast." in said, slug
    for slug, said in words_of(name, lab_samples.ALL[name]()).items():
        assert "no contrast" not in said, slug


def test_a_plot_of_strata_explains_them():
    said = words_of("natural", lab_samples.natural())["strata"]
    assert "defective, S1:\nrecoverable only in L1" in said


def test_empty_hidden_round_trips_are_labelled_separately():
    assert "failed, or no\ncandidate to run" in words_of("fresh", lab_samples.fresh())["round-trips"]


@pytest.mark.parametrize("slug", ["rescue", "budget", "efficiency"])
def test_a_draw_states_its_different_stratum_proportions(slug):
    assert "compare stratum by stratum" in tables_of("factorial", drawn(24, 36))[f"factorial-{slug}"].note
    assert "compare stratum" not in tables_of("factorial", lab_samples.factorial())[f"factorial-{slug}"].note


@pytest.mark.parametrize("slug", ["rescue", "budget", "contrasts", "efficiency", "discordant", "cost", "gate"])
def test_tables_with_published_figures_name_their_source(slug):
    note = tables_of("factorial", lab_samples.factorial())[f"factorial-{slug}"].note
    assert "Published: 197 failures of gpt-oss-120b." in note


def test_a_yield_names_the_source_of_the_published_figure():
    note = tables_of("factorial", lab_samples.factorial())["factorial-yield"].note
    assert "Published: 600 tasks, gpt-oss-120b, all of its 197 failures repaired." in note


def test_a_replications_gate_is_not_compared_with_another_models():
    table = tables_of("replication", lab_samples.factorial())["replication-gate"]
    assert all(row[-1] is None for row in table.rows)
    assert "gpt-oss-120b" not in table.note


def test_conventional_repair_lists_its_conditions_in_the_papers_order():
    table = tables_of("conventional", lab_samples.conventional())["conventional-rescue"]
    names = [str(row[0]).split(",")[0] for row in table.rows]
    assert names == ["generic feedback", "raw trace", "typed diagnosis", "prescriptive diagnosis", "regeneration"]
    said = words_of("conventional", lab_samples.conventional())["rescue-by-budget"]
    assert "Conventional repair" in said
    assert "regeneration, base language" in said


def test_a_report_without_model_calls_names_no_prompts():
    none = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "latency_s": 0.0}
    raw = {**lab_samples.factorial(), "model": "oracle", "prompts": "v3-plain", "account": none}
    assert "v3-plain" not in words_of("factorial", raw)["rescue-by-budget"]
    assert "v3-plain" not in tables_of("factorial", raw)["factorial-rescue"].note


def test_snapshot_tables_name_the_model_of_their_recoveries():
    raw = {**lab_samples.snapshots(), "model": "some-model"}
    assert "some-model" in words_of("snapshots", raw)["storage-latency"]
    assert "some-model" in tables_of("snapshots", raw)["snapshots"].note
