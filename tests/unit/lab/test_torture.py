"""Torture itself: it hits every boundary, and it would notice a harness that loses something."""

from __future__ import annotations

import os

import pytest

from takeback.adapters.directory import Directory
from takeback.harness import Harness
from takeback.lab.torture import torture


def test_every_boundary_is_hit_and_nothing_is_violated(tmp_path):
    found = torture(tmp_path / "agent", kills=45, seed=3)
    assert found.violations == []
    assert [name for name, hits in found.failpoints.items() if not hits] == []
    assert found.acknowledged > 20


def test_a_harness_that_writes_before_it_announces_is_caught(tmp_path, monkeypatch):
    def careless(self, draft, writes, after):
        self.binding.write(self.state, after)
        return self._ledger.record(draft, writes)

    monkeypatch.setattr(Harness, "_make", careless)
    assert torture(tmp_path / "agent", kills=12, seed=1).violations


def test_a_write_that_is_not_atomic_is_caught(tmp_path, monkeypatch):
    def torn(self, parent, name, image, **_):
        from takeback.journal.failpoint import failpoint

        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=parent)
        failpoint("file.temp.created")
        os.write(fd, image.content)
        failpoint("file.temp.written")
        os.fchmod(fd, image.mode)
        os.close(fd)
        failpoint("file.renamed")

    monkeypatch.setattr(Directory, "_write_in", torn)
    assert torture(tmp_path / "agent", kills=40, seed=2).violations


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_two_hundred_kills(tmp_path, backend, request):
    journal = None if backend == "sqlite" else request.getfixturevalue("postgres_url") + "#torture"
    found = torture(tmp_path / "agent", kills=200, journal=journal)
    assert found.violations == []
