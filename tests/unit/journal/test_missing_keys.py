"""A content that is sealed with a key that is not here is said to be that, and never to be forgotten."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from types import SimpleNamespace

import pytest
from tests.support.changes import candidate, config
from typer.testing import CliRunner

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.manifest import KEYS
from takeback.agents.server.service import ProposalService
from takeback.cli import app
from takeback.errors import KEYS_HINT
from takeback.repair.synthesizer import make_method, parse_spec
from takeback.undo import Gone

SECRET = "what the other copy wrote"


@pytest.fixture
def lacking(tmp_path):
    """A sealed harness whose last two changes were recorded with keys that are not here."""
    root = init_workspace(tmp_path / "agent", seal=True)
    with closing(open_workspace(root, hold=False)) as harness:
        harness.apply(candidate(config("one", "first")))
    shutil.copy(root / KEYS, tmp_path / "keys")
    with closing(open_workspace(root, hold=False)) as harness:
        strange = harness.apply(candidate(config("one", SECRET))).entry
        last = harness.apply(candidate(config("one", "third"))).entry
    for ending in ("-wal", "-shm"):
        (root / f"{KEYS}{ending}").unlink(missing_ok=True)
    shutil.copy(tmp_path / "keys", root / KEYS)
    return SimpleNamespace(root=root, strange=strange, last=last, keys=tmp_path / "keys")


def run(root, *words):
    done = CliRunner().invoke(app, [*words, "--dir", str(root)])
    return " ".join(done.output.split())


def says_sealed(told, root):
    """Whether it is said which key is missing, and where it was looked for."""
    where = str(root / KEYS)
    return "the key of content " in told and "".join(where.split()) in "".join(told.split()) and SECRET not in told


@pytest.mark.parametrize("words", [("show",), ("diff",), ("show", "--json")], ids=" ".join)
def test_commands_name_a_missing_key_instead_of_forgetting(lacking, words):
    name = f"{lacking.strange.entry}"
    told = run(lacking.root, words[0], name, *words[1:])
    assert says_sealed(told, lacking.root), told
    assert "forgotten" not in told


def test_an_undo_that_needs_a_missing_key_names_the_key_and_a_remedy(lacking):
    with closing(open_workspace(lacking.root, hold=False)) as harness:
        outcome = harness.plan_undo(lacking.last.id)
        assert isinstance(outcome, Gone)
        assert [slot for slot, _ in outcome.sealed] == [("config", "one")]
        desk = ProposalService(harness, str(lacking.root), make_method(parse_spec("portfolio"), None))
        planned = desk.plan_undo([lacking.last.id], "agent", cascade=False)
    assert planned.outcome == "gone"
    assert says_sealed(planned.message, lacking.root), planned.message
    told = run(lacking.root, "undo", f"{lacking.last.entry}")
    assert says_sealed(told, lacking.root), told
    assert "".join(KEYS_HINT.split()) in "".join(told.split())
    answer = json.loads(
        CliRunner().invoke(app, ["undo", lacking.last.id, "--json", "--dir", str(lacking.root)]).output
    )
    assert answer["result"] == "witness gone"
    assert "the key of content" in next(iter(answer["sealed"].values()))


def test_the_doctor_counts_contents_sealed_with_other_keys(lacking):
    found = next(one for one in examine_workspace(lacking.root) if one.check == "keys")
    assert not found.good
    assert str(lacking.root / KEYS) in found.detail
    whole = init_workspace(lacking.root.parent / "whole", seal=True)
    assert next(one for one in examine_workspace(whole) if one.check == "keys").good


def test_forgotten_contents_are_still_reported_as_forgotten(lacking):
    with closing(open_workspace(lacking.root, hold=False)) as harness:
        first = harness.apply(candidate(config("two", "old"))).entry
        second = harness.apply(candidate(config("two", "new"))).entry
        harness.forget(first.id)
        outcome = harness.plan_undo(second.id)
    assert isinstance(outcome, Gone)
    assert outcome.sealed == ()
    assert "was forgotten" in run(lacking.root, "undo", f"{second.entry}")
