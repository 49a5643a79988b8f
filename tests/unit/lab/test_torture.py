"""Torture itself: it hits every boundary, and it would notice a harness that loses something."""

from __future__ import annotations

import os

import pytest

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilePlace, KeptFile
from takeback.harness.engine import Engine
from takeback.harness.file_transaction import FileTransaction, Left
from takeback.journal.failpoint import failpoint
from takeback_lab import torture_faults
from takeback_lab.torture import torture


@pytest.mark.long
def test_kills_at_every_boundary_violate_nothing(tmp_path):
    found = torture(tmp_path, kills=60, seed=3)
    assert found.violations == []
    assert [name for name, hits in found.failpoints.items() if not hits] == []
    assert found.acknowledged > 20
    assert found.gave_up > 0
    assert found.failed > 0
    every = {torture_faults.FULL, torture_faults.UNWRITABLE, torture_faults.CUT, torture_faults.STALE}
    assert set(found.faults) == every


def test_torture_runs_without_mounts_or_immutable_files(tmp_path, monkeypatch):
    monkeypatch.setattr(torture_faults, "_run", lambda *_: False)
    found = torture(tmp_path, kills=20, seed=5)
    assert found.violations == []
    assert found.gave_up > 0


def test_a_harness_that_writes_before_it_announces_is_caught(tmp_path, monkeypatch):
    def careless(self, draft, writes, after, changes):
        for change in changes:
            self.files.place.settle(self.files.place.put(change))
        return self.ledger.record(draft, writes)

    monkeypatch.setattr(Engine, "make", careless)
    assert torture(tmp_path, kills=20, seed=1).violations


def test_a_write_that_is_not_atomic_is_caught(tmp_path, monkeypatch):
    def torn(self, parent, name, change, image):
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=parent)
        failpoint("file.temp.created")
        os.write(fd, image.content)
        failpoint("file.temp.written")
        os.fchmod(fd, image.mode)
        os.close(fd)
        failpoint("file.renamed")
        return KeptFile(change)

    monkeypatch.setattr(FilePlace, "_write", torn)
    assert torture(tmp_path, kills=40, seed=2).violations


def test_a_rollback_that_forgets_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(FileTransaction, "roll_back", lambda _: None)
    monkeypatch.setattr(FileTransaction, "inspect_leftovers", lambda _: Left((), ()))
    assert torture(tmp_path, kills=40, seed=4).violations


def test_temporaries_that_are_never_swept_are_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(Directory, "own_temporaries", lambda *_: [])
    assert torture(tmp_path, kills=40, seed=6).violations


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_two_hundred_kills(tmp_path, backend, request):
    journal = None if backend == "sqlite" else request.getfixturevalue("postgres_url") + "#torture"
    found = torture(tmp_path, kills=200, journal=journal)
    assert found.violations == []
