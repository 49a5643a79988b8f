"""Every journal store keeps the one contract: memory, SQLite sealed and not, and a real PostgreSQL."""

from __future__ import annotations

import itertools

import pytest

from takeback.journal import conformance, open_journal

CHECKS = conformance.CHECKS
DURABLE = CHECKS + conformance.DURABLE_CHECKS
counter = itertools.count()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_store_conforms(check):
    check(lambda: open_journal(":memory:"))


@pytest.mark.parametrize("check", DURABLE, ids=lambda check: check.__name__)
@pytest.mark.parametrize("seal", [False, True], ids=["plain", "sealed"])
def test_sqlite_store_conforms(check, seal, tmp_path):
    check(lambda: open_journal(tmp_path / "journal.db", seal=seal))


@pytest.mark.parametrize("check", DURABLE, ids=lambda check: check.__name__)
def test_postgresql_store_conforms(check, postgres_url, tmp_path):
    name = f"{postgres_url}#c{next(counter)}"
    check(lambda: open_journal(name, keys=tmp_path / "journal.keys"))
