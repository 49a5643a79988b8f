"""A change that changes nothing makes no entry, and a setting that looks misspelled is doubted."""

from __future__ import annotations

import json

import pytest
from tests.support.terminal import converse, run

from takeback.adapters import open_workspace

SETTINGS = '{"permissions": {"allow": ["Bash(ls:*)"], "defaultMode": "plan"}}\n'


@pytest.fixture
def project(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude/settings.json").write_text(SETTINGS)
    (tmp_path / "CLAUDE.md").write_text("# Rules\n")
    assert run("init", tmp_path).code == 0
    return tmp_path


def entries(project) -> int:
    with open_workspace(project, hold=False) as harness:
        return sum(1 for _ in harness.log())


def tell(project, *words) -> tuple[int, dict]:
    done = run(*words, "--json", "-C", project)
    return done.code, json.loads(done.out)


@pytest.mark.parametrize(
    "words",
    [
        ("set", "config", "permissions.defaultMode", "plan"),
        ("set", "config", "permissions.allow", '["Bash(ls:*)"]'),
        ("set", "prompt", "CLAUDE.md", "# Rules\n"),
    ],
    ids=" ".join,
)
def test_setting_an_equal_value_is_unchanged_and_makes_no_entry(project, words):
    before = entries(project)
    assert tell(project, *words) == (0, {"result": "unchanged", "entry": None, "changes": [], "warnings": []})
    done = run(*words, "-C", project)
    assert (done.code, done.out) == (0, "unchanged: the harness is already so; no entry was made\n")
    assert entries(project) == before
    assert (project / ".claude/settings.json").read_text() == SETTINGS


def test_apply_and_evolve_report_unchanged(project, tmp_path):
    mutation = [{"op_type": "set_config", "target": "permissions.defaultMode", "value": "plan"}]
    path = tmp_path / "change.json"
    path.write_text(json.dumps({"mutation": mutation, "recovery": []}))
    before = entries(project)
    code, told = tell(project, "apply", path, "--repair")
    assert (code, told["result"], told["entry"]) == (0, "unchanged", None)
    done = run("evolve", project, "--task", path, "--synthesizer", "oracle", "--json")
    told = json.loads(done.out)
    assert (done.code, told["applied"], told["unchanged"], told["entry"]) == (0, False, True, None)
    assert "unchanged" in run("evolve", project, "--task", path, "--synthesizer", "oracle").out
    assert entries(project) == before


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("permissons.allow+", "X"), "permissions.allow"),
        (("permissions.alow+", "X"), "permissions.allow"),
        (("Permissions.deny+", "X"), "permissions.deny"),
        (("cleanupPeriodDay", "5"), "cleanupPeriodDays"),
        (("permissions", '{"allow": ["Bash(ls:*)"], "deni": []}'), "permissions.deny"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_misspelled_setting_is_applied_with_a_warning(project, words, meant):
    code, told = tell(project, "set", "config", *words)
    assert (code, told["result"]) == (0, "applied")
    assert [meant in warning for warning in told["warnings"]] == [True]
    run("undo", "--last", "-C", project)
    assert f"did you mean {meant}" in run("set", "config", *words, "-C", project).err


@pytest.mark.parametrize(
    "words",
    [
        ("permissions.allow+", "Bash(npm test:*)"),
        ("permissions.deny+", "WebFetch"),
        ("env.PERMISSONS", "x"),
        ("someNewThing", "5"),
        ("permissions.additionalDirectories+", "../docs"),
    ],
    ids=" ".join,
)
def test_known_and_unfamiliar_settings_are_applied_without_a_warning(project, words):
    code, told = tell(project, "set", "config", *words)
    assert (code, told["result"], told["warnings"]) == (0, "applied", [])


@pytest.mark.parametrize(
    "words", [("permissions.allow+", "5"), ("permissions.deny+", "7"), ("permissions.ask", "[1]")]
)
def test_a_non_text_item_in_a_list_of_texts_is_warned_about(project, words):
    code, told = tell(project, "set", "config", *words)
    assert told["result"] == "refused" or any("a list of texts" in one for one in told["warnings"])
    assert code == (1 if told["result"] == "refused" else 0)


def test_on_a_terminal_a_doubtful_change_needs_confirmation(project):
    words = ("set", "config", "permissons.allow+", "X", "-C", project)
    before = entries(project)
    done = converse(words, [("make it anyway? y or n: ", "n\n")], {"NO_COLOR": "1"})
    assert (done.code, entries(project)) == (1, before)
    assert "did you mean permissions.allow?" in " ".join(done.out.split())
    done = converse(words, [("make it anyway? y or n: ", "y\n")], {"NO_COLOR": "1"})
    assert (done.code, entries(project)) == (0, before + 1)
