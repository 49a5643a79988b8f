"""Edits by hand of clients' files are adopted by parts and taken back byte for byte, in any order."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import EDITS, HARNESSES, edit, files_of, with_edits, write_harness

from takeback.adapters.clients.init import init_clients
from takeback.adapters.open_by_manifest import open_workspace
from takeback.harness.results import Adopted, Undone


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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("client", HARNESSES)
def test_any_of_several_edits_goes_and_the_others_stay(client: str, seed: int, tmp_path: Path) -> None:
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
