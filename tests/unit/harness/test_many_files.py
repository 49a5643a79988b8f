"""A harness of many files: what is done once for a record is not done again for each file."""

from __future__ import annotations

from contextlib import closing

import pytest

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Adopted, Undone, images
from takeback.journal import sql

FEW, MANY = 40, 400


@pytest.fixture
def decoded_records(monkeypatch):
    """Every record that is read from the journal and decoded, by its place."""
    seen = []
    decode = sql.open_row

    def count(row):
        seen.append(row.seq)
        return decode(row)

    monkeypatch.setattr(sql, "open_row", count)
    return seen


@pytest.fixture
def looked_at_images(monkeypatch):
    """How many rows of images were gone through to find those of one file."""
    seen = []
    place = images._ImagePlaces.of

    def count(self, record, rows):
        if record.digest not in self._by_record:
            seen.append(len(rows))
        return place(self, record, rows)

    monkeypatch.setattr(images._ImagePlaces, "of", count)
    return seen


def harness_of(root, count):
    skills = root / ".claude/skills/all"
    skills.mkdir(parents=True)
    (root / "CLAUDE.md").write_text("# Rules\n- one\n- two\n")
    for at in range(count):
        (skills / f"f{at}.txt").write_text(f"file {at}\n")
    init_clients(root, ("claude-code",))
    return root


def adopt_all(harness, root):
    for path in sorted((root / ".claude/skills/all").iterdir()):
        path.write_text(path.read_text() + "one more\n")
    assert isinstance(harness.adopt(), Adopted)


def undo_all(harness, root):
    adopt_all(harness, root)
    assert isinstance(harness.undo("HEAD"), Undone)


def check_status(harness, root):
    assert not harness.status().drift


@pytest.mark.parametrize("use", [check_status, adopt_all, undo_all])
def test_as_many_records_are_read_for_many_files_as_for_few(tmp_path, decoded_records, looked_at_images, use):
    counts = []
    for count in (FEW, MANY):
        root = harness_of(tmp_path / str(count), count)
        decoded_records.clear()
        looked_at_images.clear()
        with closing(open_workspace(root)) as harness:
            use(harness, root)
        counts.append(len(decoded_records))
        assert sum(looked_at_images) <= 3 * (count + 1), "each record's images are gone through once"
    few, many = counts
    assert many <= few + 4, f"{few} records decoded for {FEW} files, {many} for {MANY}"
