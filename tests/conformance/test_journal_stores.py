"""Every journal store keeps the one contract: memory, SQLite, and a real PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from takeback.journal import open_journal
from takeback.journal.conformance import CHECKS, DURABLE_CHECKS

counter = itertools.count()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_store_conforms(check):
    check(lambda: open_journal(":memory:"))


@pytest.mark.parametrize("check", CHECKS + DURABLE_CHECKS, ids=lambda check: check.__name__)
def test_sqlite_store_conforms(check, tmp_path):
    check(lambda: open_journal(tmp_path / "journal.db"))


@pytest.mark.parametrize("check", CHECKS + DURABLE_CHECKS, ids=lambda check: check.__name__)
def test_postgresql_store_conforms(check, postgres_url):
    name = f"{postgres_url}#c{next(counter)}"
    check(lambda: open_journal(name))
