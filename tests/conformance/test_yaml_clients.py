"""The adapter keeps the contract on the files of clients that keep their settings in YAML; edits by hand go alone."""

from __future__ import annotations

import itertools
import random
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import edit, files_of, with_edits
from tests.support.yaml_harnesses import YAML_HARNESSES, write_yaml_harness

from takeback.adapters.clients.init import detect_clients, init_clients
from takeback.adapters.conformance import Subject, examine_adapter
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Adopted, Undone

NAMES = pytest.mark.parametrize("name", YAML_HARNESSES)


def subject(name: str, root: Path) -> Subject:
    """A harness and what can be done to it."""
    harness = YAML_HARNESSES[name]
    write_yaml_harness(root, name)
    init_clients(root, (harness.client,), user=harness.user)

    def by_hand() -> None:
        edit(root, harness.edits[0])

    def spoil() -> str:
        (root / harness.main).write_bytes(b'{"a": [' + (root / harness.main).read_bytes())
        return harness.main

    return Subject(lambda: open_workspace(root), harness.changes, root, by_hand, spoil)


@NAMES
def test_the_adapter_conforms(name: str, tmp_path: Path) -> None:
    numbers = itertools.count()

    def fresh() -> Subject:
        below = tmp_path / str(next(numbers))
        below.mkdir()
        return subject(name, below)

    report = examine_adapter(fresh)
    assert report.conforms, [one for one in report.outcomes if one.outcome == "failed"]
    assert not [one.check for one in report.outcomes if one.outcome == "left out"]


@NAMES
def test_the_client_is_found_by_its_files(name: str, tmp_path: Path) -> None:
    write_yaml_harness(tmp_path, name)
    assert name in detect_clients(tmp_path, user=YAML_HARNESSES[name].user)


def test_the_folder_at_home_tells_clients_with_the_same_file_apart(tmp_path: Path) -> None:
    for folder, name in ((".hermes", "hermes"), (".config/goose", "goose"), (".continue", "continue")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.yaml").write_text("a: 1\n")
        assert detect_clients(tmp_path / folder, user=True) == (name,)


@NAMES
@pytest.mark.parametrize("seed", range(3))
def test_edits_by_hand_are_taken_back_one_by_one_in_any_order(name: str, seed: int, tmp_path: Path) -> None:
    harness, rnd = YAML_HARNESSES[name], random.Random(f"{name} {seed}")
    write_yaml_harness(tmp_path, name)
    start = files_of(tmp_path)
    init_clients(tmp_path, (harness.client,), user=harness.user)
    entries = []
    with closing(open_workspace(tmp_path)) as opened:
        for one in harness.edits:
            edit(tmp_path, one)
            adopted = opened.adopt(one.path)
            assert isinstance(adopted, Adopted), one
            entries.append(adopted.entry.id)
        left = list(range(len(entries)))
        for at in rnd.sample(left, len(left)):
            outcome = opened.undo(entries[at])
            assert isinstance(outcome, Undone), (harness.edits[at], outcome)
            left.remove(at)
            assert files_of(tmp_path) == with_edits(start, [harness.edits[one] for one in left]), harness.edits[at]
    assert files_of(tmp_path) == start
