"""`takeback tasks` counts and lists; `takeback tasks show` prints one task whole."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from takeback.cli import app
from takeback.errors import InputError
from takeback_lab.tasks import get

RUN = CliRunner()


def test_the_listing_counts_sets_and_families() -> None:
    listed = json.loads(RUN.invoke(app, ["tasks", "--json"]).stdout)
    assert {name: sum(counts.values()) for name, counts in listed["counts"].items()} == {
        "natural": 600,
        "fresh": 300,
        "controlled": 120,
        "l2": 120,
    }
    assert listed["total"] == len(listed["tasks"]) == 1140


def test_set_and_family_narrow_the_listing() -> None:
    listed = json.loads(RUN.invoke(app, ["tasks", "--set", "natural", "--family", "tools", "--json"]).stdout)
    assert listed["counts"] == {"natural": {"tools": 100}}
    assert {task["family"] for task in listed["tasks"]} == {"tools"}
    assert listed["situations"]["natural"]["tools"] >= 25


def test_people_get_a_table_and_one_line_a_task() -> None:
    shown = RUN.invoke(app, ["tasks", "--set", "fresh", "--family", "multi"]).stdout
    assert shown.splitlines()[1].split() == ["fresh", "50", "50"]
    assert sum(line.startswith("fresh_multi_") for line in shown.splitlines()) == 50


def test_show_prints_the_whole_task() -> None:
    shown = RUN.invoke(app, ["tasks", "show", "ctl_mw_001", "--json"])
    assert shown.exit_code == 0
    assert json.loads(shown.stdout) == get("ctl_mw_001").to_json()
    text = RUN.invoke(app, ["tasks", "show", "ctl_mw_001"]).stdout
    assert get("ctl_mw_001").instruction in text
    assert "missing capture" in text


@pytest.mark.parametrize(
    "line", [["tasks", "show", "nat_x_1"], ["tasks", "--set", "old"], ["tasks", "--family", "x"]]
)
def test_a_wrong_name_is_a_fault_with_its_place(line: list[str]) -> None:
    result = RUN.invoke(app, line)
    assert isinstance(result.exception, InputError)
    assert line[-1] in str(result.exception)
