"""What a column of PostgreSQL holds comes back as it was, also where JSON has no such type."""

from __future__ import annotations

from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("psycopg")

import psycopg
from tests.external.postgres import open_postgres

from takeback.adapters.bindings import sql
from takeback.adapters.bindings.protocol import RecordChange
from takeback.adapters.variables import use_variables
from takeback.canonical import encode
from takeback.state import ABSENT

pytestmark = pytest.mark.external

HELD = [
    ("timestamptz", "2026-01-02 03:04:05.5+02", "2026-01-02T01:04:05.500000+00:00"),
    ("timestamp", "2026-01-02 03:04:05", "2026-01-02T03:04:05"),
    ("interval", "1 day 2:00", "1 day 02:00:00"),
    ("numeric(10,3)", "1.500", "1.500"),
    ("numeric", "NaN", "NaN"),
    ("float8", "NaN", "nan"),
    ("float8", "-Infinity", "-inf"),
    ("float8", "3", 3.0),
    ("int[]", "{1,2}", [1, 2]),
    ("uuid[]", "{00000000-0000-0000-0000-000000000001}", "{00000000-0000-0000-0000-000000000001}"),
    ("uuid", "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
    ("jsonb", '{"a": [1, null]}', {"a": [1, None]}),
    ("jsonb", "null", None),
    ("bytea", "\\x0102", "AQI="),
    ("inet", "10.0.0.1", "10.0.0.1/32"),
    ("int4range", "[1,5)", "[1,5)"),
    ("point", "(1,2)", "(1,2)"),
    ("bit(3)", "101", "101"),
    ("mood", "happy", "happy"),
    ("positive", "5", 5),
]


@pytest.fixture(scope="module")
def database():
    with open_postgres() as url, psycopg.connect(url, autocommit=True, prepare_threshold=None) as at:
        at.execute("create type mood as enum ('sad', 'happy')")
        at.execute("create domain positive as integer check (value > 0)")
        use_variables({"ROWS": url, "ELSEWHERE": f"{url}&options=-c%20timezone%3DAsia/Tokyo"})
        yield at


def bind(variable="ROWS"):
    given = {"kind": "sql", "url_env": variable, "table": "held", "key": ["id"], "fields": ["v"]}
    return closing(sql.SqlBinding("rows", given))


@pytest.mark.parametrize(("kind", "held", "shown"), HELD, ids=[f"{kind} {held}" for kind, held, _ in HELD])
def test_what_a_column_holds_comes_back(database, kind, held, shown):
    database.execute("drop table if exists held")
    database.execute(f"create table held (id text primary key, v {kind})")
    database.execute("insert into held values ('a', %s)", (held,))

    def look():
        return database.execute("select v::text from held").fetchall()

    before = look()
    with bind() as binding:
        body = binding.look("a").body
        assert encode(body) == encode({"v": shown})
        binding.put(RecordChange("a", body, {"v": ABSENT}))
        assert look() == [(None,)]
        binding.put(RecordChange("a", {"v": ABSENT}, body))
        assert look() == before
        binding.put(RecordChange("a", body, None))
        binding.put(RecordChange("a", None, body))
    assert look() == before


def test_a_moment_is_the_same_in_whatever_zone_a_session_is(database):
    database.execute("drop table if exists held")
    database.execute("create table held (id text primary key, v timestamptz)")
    database.execute("insert into held values ('a', now())")
    with bind() as one, bind("ELSEWHERE") as two:
        assert one.look("a").body == two.look("a").body
