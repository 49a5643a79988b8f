"""Edits by hand of clients' files are adopted by parts and taken back byte for byte, in any order."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import EDITS, HARNESSES, edit, files_of, with_edits, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Adopted, Undone


@pytest.mark.parametrize("client", HARNESSES)
def test_each_edit_alone_is_taken_back_byte_for_byte(client: str, tmp_path: Path) -> None:
    root = write_harness(tmp_path, client)
    init_clients(root)
    before = files_of(root)
    with closing(open_workspace(root)) as harness:
        for one in EDITS[client]:
            edit(root, one)
            adopted = harness.adopt()
            assert isinstance(adopted, Adopted), one
            assert isinstance(harness.undo(adopted), Undone), one
            assert files_of(root) == before, one


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("client", HARNESSES)
def test_any_of_several_hand_edits_is_undone_and_the_others_stay(client: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{client} {seed}")
    root = write_harness(tmp_path, client)
    init_clients(root)
    before = files_of(root)
    edits = rng.sample(EDITS[client], 7)
    with closing(open_workspace(root)) as harness:
        entries = []
        for one in edits:
            edit(root, one)
            adopted = harness.adopt()
            assert isinstance(adopted, Adopted), one
            entries.append(adopted.entry)
        left = list(range(len(edits)))
        for gone in rng.sample(left, len(left)):
            outcome = harness.undo(entries[gone].id)
            assert isinstance(outcome, Undone), (edits[gone], outcome)
            assert outcome.plan.visible
            left.remove(gone)
            assert files_of(root) == with_edits(before, [edits[at] for at in left]), edits[gone]
        for back in rng.sample(range(len(edits)), len(edits)):
            harness.redo(entries[back].id)
            left = sorted((*left, back))
            assert files_of(root) == with_edits(before, [edits[at] for at in left]), edits[back]


def test_a_file_that_is_made_executable_is_an_entry_and_is_taken_back(tmp_path: Path) -> None:
    root = write_harness(tmp_path, "codex")
    init_clients(root)
    place = root / "AGENTS.md"
    place.chmod(0o600)
    with closing(open_workspace(root)) as harness:
        assert harness.status().layout == ("AGENTS.md",)
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        harness.undo(adopted)
        assert place.stat().st_mode & 0o777 == 0o644
        harness.redo(adopted.entry.id)
        assert place.stat().st_mode & 0o777 == 0o600


def test_undoing_all_edits_of_a_rewritten_file_restores_its_bytes(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    start = '{"model":"opus","permissions":{"allow":["Read","Edit"],\n"deny":[]}}'
    settings.write_text(start)
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        value = json.loads(start)
        value["permissions"]["allow"].append("Write")
        settings.write_text(json.dumps(value, indent=4) + "\n")
        first = harness.adopt()
        settings.write_text(settings.read_text().replace('"opus"', '"haiku"'))
        second = harness.adopt()
        assert isinstance(first, Adopted)
        assert isinstance(second, Adopted)
        assert isinstance(harness.undo(first), Undone)
        assert json.loads(settings.read_text()) == {**json.loads(start), "model": "haiku"}
        assert isinstance(harness.undo(second), Undone)
        assert settings.read_text() == start
        assert isinstance(harness.redo(second.entry.id), Undone)
        assert isinstance(harness.redo(first.entry.id), Undone)
        assert settings.read_text() == json.dumps({**value, "model": "haiku"}, indent=4) + "\n"


def test_the_mode_of_the_last_live_entry_counts(tmp_path: Path) -> None:
    place = tmp_path / "CLAUDE.md"
    place.write_text("# X\n\ny\n")
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        entries = []
        for mode in (0o600, 0o444):
            place.chmod(mode)
            adopted = harness.adopt()
            assert isinstance(adopted, Adopted)
            entries.append(adopted.entry.id)
        place.chmod(0o644)
        place.write_text("# X\n\nz\n")
        place.chmod(0o444)
        assert isinstance(harness.adopt(), Adopted)
        for entry, mode in ((entries[0], 0o444), (entries[1], 0o644)):
            assert isinstance(harness.undo(entry), Undone)
            assert place.stat().st_mode & 0o777 == mode
            assert place.read_text() == "# X\n\nz\n"


@pytest.mark.parametrize("path", [".agents/skills/x/SKILL.md", ".codex/skills/x/SKILL.md"])
def test_a_deleted_file_is_restored_at_its_own_path(path: str, tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("# X\n")
    for folder in (".agents/skills/x", ".codex/skills/x"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "SKILL.md").write_text(f"---\nname: x\ndescription: {folder}\n---\n")
    init_clients(tmp_path, ("codex",))
    before = files_of(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        (tmp_path / path).unlink()
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert isinstance(harness.undo(adopted), Undone)
        assert files_of(tmp_path) == before
