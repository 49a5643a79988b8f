"""A journal that names a surface which is not installed opens for reading, names it, and loses nothing."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from tests.support.changes import candidate, config, prompt
from tests.support.ninth import Alarms
from tests.support.running import op
from typer.testing import CliRunner

from takeback import (
    Applied,
    RefusalReason,
    Refused,
    TakebackError,
    Undone,
    init_workspace,
    open_memory,
    open_workspace,
)
from takeback.adapters.doctor import examine_workspace
from takeback.cli import app
from takeback.harness.dependencies import find_dependencies, find_dependents
from takeback.harness.entry_log import rebuild_state_before
from takeback.harness.ledger import MIN_CHECKPOINT
from takeback.harness.outcomes import describe_left_out, describe_missing_surfaces
from takeback.language import read_candidate
from takeback.state import register, unregister
from takeback.state.slots import describe_slot


def alarm(name, hour, *more):
    """A candidate that sets an alarm, and does more."""
    rest = candidate(*more).to_json() if more else {"mutation": [], "witness": [], "recovery": []}
    plain = {
        "mutation": [op("set_alarm", name, value=hour), *rest["mutation"]],
        "witness": [op("capture_alarm", name, witness_key="alarm"), *rest["witness"]],
        "recovery": [*rest["recovery"], op("restore_alarm", name, witness_key="alarm")],
    }
    return read_candidate(plain)


@contextmanager
def with_alarms():
    register(Alarms())
    try:
        yield
    finally:
        unregister("alarms")


@pytest.fixture
def root(tmp_path):
    """A workspace with an entry on config, one on alarms, one on both, and one on prompts."""
    with with_alarms():
        made = init_workspace(tmp_path / "agent")
        with open_workspace(made) as harness:
            changes = (candidate(config("a", 1)), alarm("early", 5), alarm("late", 22, config("b", 2)))
            for change in (*changes, candidate(prompt("p", "x"))):
                assert isinstance(harness.apply(change), Applied)
    return made


def test_a_journal_with_a_missing_surface_opens_and_status_names_it(root):
    with open_workspace(root) as harness:
        assert harness.state.write() == {"config": {"a": 1, "b": 2}, "prompts": {"p": "x"}}
        problems = harness.status().problems
        assert any("'alarms' is not installed: what the journal says of it can be read" in one for one in problems)
        assert harness.status().drift == ()
        assert [entry.addresses for entry in harness.log()][2] == ('alarms["early"]',)


def test_entries_about_it_are_refused_by_name_and_all_others_can_be_taken_back(root):
    with open_workspace(root) as harness:
        for ask in (harness.plan_undo, harness.undo):
            for entry in ("#3", "#4"):
                refused = ask(entry)
                assert isinstance(refused, Refused)
                assert refused.why is RefusalReason.UNSTORED
                assert "'alarms' is not installed" in refused.message
        assert isinstance(harness.restore("#2"), Refused)
        for entry in ("#2", "#5"):
            assert isinstance(harness.undo(entry), Undone)
        assert harness.state.write() == {"config": {"b": 2}}


def test_a_later_entry_over_a_partly_readable_one_can_be_undone(root):
    with open_workspace(root) as harness:
        later = harness.apply(candidate(config("b", 3)))
        assert isinstance(harness.undo(later), Undone)
        assert harness.state["config", "b"] == 2


def test_past_states_and_dependencies_can_be_queried(root):
    with open_workspace(root) as harness:
        assert rebuild_state_before(harness, harness.journal.get(2)).write() == {}
        for number in range(2, 6):
            assert (find_dependents(harness.ledger, number), find_dependencies(harness.ledger, number)) == ((), ())


def test_the_doctor_finds_nothing_else_wrong(root):
    found = examine_workspace(root, deep=True)
    assert {finding.check for finding in found if not finding.good} == {"problems"}
    assert found[-1].detail.endswith("2 about a surface that is not installed")


def test_values_of_the_missing_surface_survive_many_other_changes(root):
    before = (root / "alarms.json").read_bytes()
    with open_workspace(root) as harness:
        harness.undo("#2")
        for at in range(MIN_CHECKPOINT + 10):
            harness.apply(candidate(config("n", at)))
        with pytest.raises(TakebackError, match="'alarms' is not installed"):
            harness.forget("#3")
        assert harness.journal.latest("checkpoint") is None
    assert (root / "alarms.json").read_bytes() == before
    with with_alarms(), open_workspace(root) as harness:
        assert harness.status().clean
        assert harness.state["alarms"] == {"early": 5, "late": 22}
        assert isinstance(harness.undo("#3"), Undone)
        assert json.loads((root / "alarms.json").read_text()) == {"late": 22}


def test_a_missing_surface_known_only_from_a_checkpoint_is_kept(root):
    with with_alarms(), open_workspace(root) as harness:
        harness.ledger.checkpoint()
    with open_workspace(root) as harness:
        assert harness.ledger.missing == {"alarms"}
        assert isinstance(harness.undo("#2"), Undone)  # looks at the state at the beginning, which has no alarms
        assert harness.ledger.missing == {"alarms"}
        assert not harness.ledger.is_checkpoint_due()
    with with_alarms(), open_workspace(root) as harness:
        assert harness.state["alarms"] == {"early": 5, "late": 22}


def test_a_memory_harness_with_a_missing_surface_opens(tmp_path):
    with with_alarms(), open_memory(journal=tmp_path / "journal.db") as harness:
        harness.apply(alarm("early", 5, config("a", 1)))
    with open_memory(journal=tmp_path / "journal.db") as harness:
        assert harness.state.write() == {"config": {"a": 1}}
        assert "'alarms' is not installed" in harness.status().problems[0]
    with with_alarms(), open_memory(journal=tmp_path / "journal.db") as harness:
        assert harness.state["alarms", "early"] == 5


@pytest.mark.parametrize(
    "words", [["export"], ["show", "#3", "--state"], ["diff", "#1", "#4"]], ids=["export", "show", "diff"]
)
def test_a_shown_state_names_the_surface_left_out(root, words):
    told = CliRunner().invoke(app, [*words, "--dir", str(root), "--json"])
    assert told.exit_code == 0
    assert "early" not in json.dumps(json.loads(told.stdout).get("state", {}))
    assert told.stderr == "the surface 'alarms' is not installed: what the journal says of it is left out\n"


def test_several_missing_surfaces_are_listed_and_joined_in_sentences():
    assert (
        describe_left_out({"b", "a"})
        == "the surfaces 'a', 'b' are not installed: what the journal says of them is left out"
    )
    assert [one.split(":")[0] for one in describe_missing_surfaces({"b", "a"})] == [
        "the surface 'a' is not installed",
        "the surface 'b' is not installed",
    ]


def test_a_surface_of_one_slot_is_shown_by_its_name():
    assert describe_slot(("alarms",)) == "alarms"
    assert describe_slot(("alarms", "a", "b")) == 'alarms["a/b"]'
