"""Every adapter keeps the one contract: memory, a workspace, and a toy one from outside, opened by its manifest."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path
from unittest.mock import ANY

import pytest
from tests.support import toy_adapter
from tests.support.changes import candidate, config, file, middleware, prompt, tool
from tests.support.trusted import trust
from typer.testing import CliRunner

from takeback.adapters import init_workspace, list_adapter_names, open_memory, open_workspace, opener
from takeback.adapters.conformance import OPTIONAL, REQUIRED, Subject, examine_adapter
from takeback.adapters.directory import Directory
from takeback.adapters.init import init_adapter
from takeback.adapters.manifest import Manifest, Workspace, write_manifest
from takeback.cli import app
from takeback.errors import HarnessError, InputError
from takeback.harness import Harness, NotExpressible
from takeback.journal import open_journal
from takeback.state import State

SMALL = (candidate(config("a.b", 1), prompt("system", "new")), candidate(config("c", [1, {"x": None}])))
LARGE = (
    *SMALL,
    candidate(middleware("auth"), tool("web"), file("d/e/f", "x\n", mode="0600")),
    candidate(prompt("other", "text\n"), config("keep.it", False)),
)
TOY = '{ "settings" : {"keep": {"it": true}}\n, "prompts": {"system": "old"} }'


class Point:
    """The entry point another package would have."""

    name = "toy"

    @staticmethod
    def load():
        return toy_adapter.open_adapter


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    def points(group, name=None):
        return [Point] if group == opener.GROUP and name in {None, "toy"} else []

    monkeypatch.setattr(opener, "entry_points", points)


def memory(tmp_path):
    place = tmp_path / "journal.db"
    return Subject(lambda: open_memory(State.read({"config": {"keep": 1}}), journal=place), SMALL)


def workspace(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "config.toml").write_text("# why\nkeep = { it = true }  # because\n")
    init_workspace(root)

    def edit():
        (root / "config.toml").write_text("keep = { it = false }\n")
        (root / "prompts/by-hand.md").write_text("x")

    def spoil():
        (root / "config.toml").write_text("keep = [")
        return "config.toml"

    return Subject(lambda: open_workspace(root), LARGE, root, edit, spoil)


def toy(tmp_path):
    root = tmp_path / "agent"
    (root / ".takeback").mkdir(parents=True)
    (root / "toy.json").write_text(TOY)
    manifest = Manifest(workspace=Workspace(id="0" * 32, adapter="toy"))
    (root / "takeback.toml").write_bytes(write_manifest(manifest))
    adapter = toy_adapter.ToyAdapter(Directory(root))
    Harness(adapter, open_journal(root / ".takeback/journal.db"), about={"identity": "0" * 32}).close()
    trust(root)

    def edit():
        (root / "toy.json").write_text('{"settings": {"keep": {"it": false}}, "prompts": {"system": "old"}}')

    def spoil():
        (root / "toy.json").write_text('{"settings": [1}')
        return "toy.json"

    return Subject(lambda: open_workspace(root), SMALL, root, edit, spoil)


@pytest.mark.parametrize("make", [memory, workspace, toy])
def test_an_adapter_conforms(make, tmp_path):
    numbers = itertools.count()

    def fresh():
        below = tmp_path / str(next(numbers))
        below.mkdir()
        return make(below)

    report = examine_adapter(fresh)
    assert report.conforms, [one for one in report.outcomes if one.outcome == "failed"]
    assert len(report.outcomes) == len(REQUIRED) + len(OPTIONAL)
    left_out = [one.check for one in report.outcomes if one.outcome == "left out"]
    assert (
        left_out
        == {
            "memory": [check.__name__ for check in OPTIONAL],
            "workspace": [],
            "toy": ["sweeps_only_its_own"],
        }[make.__name__]
    )


def test_the_suite_reports_an_adapter_that_forgets_its_files(tmp_path, monkeypatch):
    monkeypatch.setattr(toy_adapter.ToyAdapter, "means", lambda *_: False)
    numbers = itertools.count()
    report = examine_adapter(lambda: toy(_made(tmp_path / str(next(numbers)))))
    assert [one.check for one in report.outcomes if one.outcome == "failed"] == [
        "shows_edits_by_hand_and_takes_them_back",
        "tells_of_a_broken_file_and_puts_it_back",
    ]
    assert not report.conforms


def _made(path):
    path.mkdir()
    return path


def test_a_change_an_adapter_cannot_express_is_refused_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(
        toy_adapter.ToyAdapter, "render", lambda *_: NotExpressible("toy.json", "it is carved in stone")
    )
    harness = toy(tmp_path).open()
    refused = harness.apply(SMALL[0])
    assert (refused.why.value, "carved in stone" in refused.message) == ("unsayable", True)
    assert (tmp_path / "agent/toy.json").read_text() == TOY


def test_the_manifest_names_the_adapter_and_an_unknown_one_is_named(tmp_path):
    assert list_adapter_names() == ("clients", "memory", "project", "toy", "workspace")
    root = toy(tmp_path).root
    assert open_workspace(root).adapter.name == "toy"
    text = (root / "takeback.toml").read_text()
    (root / "takeback.toml").write_text(text.replace('"toy"', '"lost"'))
    trust(root)
    with pytest.raises(
        InputError, match="found the adapter 'lost', expected one of clients, memory, project, toy, workspace"
    ):
        open_workspace(root)


def test_a_directory_with_nothing_but_a_journal_is_a_harness_in_memory(tmp_path):
    root = toy(tmp_path).root
    text = (root / "takeback.toml").read_text()
    (root / "takeback.toml").write_text(text.replace('"toy"', '"memory"'))
    trust(root)
    harness = open_workspace(root)
    assert harness.adapter.name == "memory"
    harness.apply(SMALL[0])
    assert open_workspace(root).state.write()["config"]["a"] == {"b": 1}


def test_the_adapters_of_this_package_are_registered_like_any_other():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][opener.GROUP] == opener.BUILT_IN


def run(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout


def test_a_directory_is_put_under_an_adapter_from_outside_by_its_name(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "toy.json").write_text(TOY)
    assert run("init", root, "--kind", "toy") == (0, ANY)
    assert run("init", root, "--kind", "toy") == (0, ANY)
    assert sorted(path.name for path in root.iterdir()) == [".takeback", "takeback.toml", "toy.json"]
    assert run("set", "config", "keep.it", "2", "--dir", root) == (0, ANY)
    assert run("set", "tool", "web", "{}", "--dir", root)[0] != 0
    assert run("undo", "--last", "--dir", root) == (0, ANY)
    assert (root / "toy.json").read_text() == TOY
    assert run("doctor", "--deep", "--dir", root) == (0, ANY)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind", "tow"], "found tow, expected one of workspace, claude-code, codex,"),
        (["--kind", "toy", "--kind", "codex"], "found toy, codex, expected toy alone"),
        (["--kind", "toy", "--state", "state.json"], "found it with --kind toy, expected a workspace to fill"),
    ],
)
def test_an_unusable_adapter_is_refused_before_anything_is_created(tmp_path, words, said):
    done = CliRunner().invoke(app, ["init", str(tmp_path / "agent"), *words])
    assert said in str(done.exception)
    assert not (tmp_path / "agent").exists()


def test_a_harness_cannot_be_taken_over_by_another_adapter(tmp_path):
    root = init_workspace(tmp_path / "agent")
    with pytest.raises(InputError, match="found a harness of the adapter 'workspace', expected one of 'toy'"):
        init_adapter(root, "toy")


def test_a_file_that_cannot_be_read_leaves_nothing_behind(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "toy.json").write_text("{")
    with pytest.raises(HarnessError, match=r"toy\.json"):
        init_adapter(root, "toy")
    assert [path.name for path in root.iterdir()] == ["toy.json"]
