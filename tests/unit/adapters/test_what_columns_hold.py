"""What a column of SQLite holds comes back as it was, whatever its type; what does not fit is refused in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import sql
from takeback.adapters.bindings.protocol import RecordChange
from takeback.adapters.variables import use_variables
from takeback.canonical import encode
from takeback.errors import InputError
from takeback.state import ABSENT


@pytest.fixture
def database(tmp_path):
    use_variables({"ROWS": f"sqlite:///{tmp_path}/rows.db"})
    with closing(sqlite3.connect(tmp_path / "rows.db", isolation_level=None)) as at:
        yield at
    for engine in sql._ENGINES.values():
        engine.dispose()
    sql._ENGINES.clear()
    use_variables({})


def bind(fields=("v",), key=("id",)):
    given = {"kind": "sql", "url_env": "ROWS", "table": "t", "key": list(key), "fields": list(fields)}
    return closing(sql.SqlBinding("rows", given))


HELD = [
    ("TEXT", "'ü\U0001f600'", "ü\U0001f600"),
    ("TEXT", "x'00ff'", {"sqlite": "blob", "value": "AP8="}),
    ("", "x'0102'", {"sqlite": "blob", "value": "AQI="}),
    ("VECTOR", "x'01'", {"sqlite": "blob", "value": "AQ=="}),
    ("INTEGER", "'abc'", {"sqlite": "text", "value": "abc"}),
    ("INTEGER", "9223372036854775807", 9223372036854775807),
    ("REAL", "3", 3.0),
    ("REAL", "1e400", {"sqlite": "real", "value": "inf"}),
    ("REAL", "'abc'", {"sqlite": "text", "value": "abc"}),
    ("TIMESTAMP", "'2026-01-02 03:04:05'", "2026-01-02 03:04:05"),
    ("TIMESTAMP", "'2026-01-02T03:04:05Z'", "2026-01-02T03:04:05Z"),
    ("TIMESTAMP", "1700000000", {"sqlite": "integer", "value": 1700000000}),
    ("TIMESTAMP", "'yesterday'", {"sqlite": "text", "value": "yesterday"}),
    ("TIME", "'03:04'", "03:04"),
    ("NUMERIC(10,2)", "9.90", "9.90"),
    ("NUMERIC(10,2)", "10", "10.00"),
    ("NUMERIC(10,2)", "9.999", {"sqlite": "real", "value": 9.999}),
    ("NUMERIC", "0.123456789012345", 0.123456789012345),
    ("DECIMAL(10,5)", "'abc'", {"sqlite": "text", "value": "abc"}),
    ("BOOLEAN", "1", True),
    ("BOOLEAN", "2", {"sqlite": "integer", "value": 2}),
    ("JSON", "'[1, null]'", [1, None]),
    ("JSON", "'null'", None),
    ("JSON", "5", 5),
    ("JSON", "'not json'", {"sqlite": "text", "value": "not json"}),
    ("BLOB", "x'0102'", "AQI="),
    ("BLOB", "'text'", {"sqlite": "text", "value": "text"}),
]


@pytest.mark.parametrize(("kind", "held", "shown"), HELD, ids=[f"{kind} {held}" for kind, held, _ in HELD])
def test_what_a_column_holds_comes_back_exactly(database, kind, held, shown):
    database.execute(f"create table t(id text primary key, v {kind})")
    database.execute(f"insert into t values ('a', {held})")

    def look():
        return database.execute("select v, typeof(v) from t").fetchall()

    before = look()
    with bind() as binding:
        body = binding.look("a").body
        assert encode(body) == encode({"v": shown})
        binding.put(RecordChange("a", body, {"v": ABSENT}))
        assert look() == [(None, "null")]
        binding.put(RecordChange("a", {"v": ABSENT}, body))
        assert look() == before
        binding.put(RecordChange("a", body, None))
        binding.put(RecordChange("a", None, body))
    assert look() == before


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        ("INTEGER", "abc"),
        ("INTEGER", 1.5),
        ("INTEGER", 1 << 70),
        ("REAL", "abc"),
        ("TEXT", 5),
        ("BOOLEAN", 1),
        ("TIMESTAMP", "yesterday"),
        ("TIMESTAMP", 5),
        ("NUMERIC(10,2)", "9.999"),
        ("BLOB", "?"),
        ("INTEGER", {"sqlite": "text", "value": 5}),
    ],
)
def test_a_value_that_is_not_of_the_columns_type_is_refused_and_nothing_is_written(database, kind, item):
    database.execute(f"create table t(id text primary key, v {kind})")
    database.execute("insert into t values ('a', null)")
    with bind() as binding, pytest.raises(InputError, match=r"external\[rows/a\]"):
        binding.put(RecordChange("a", {"v": ABSENT}, {"v": item}))
    assert database.execute("select v from t").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("rule", "body"),
    [("not null", {}), ("check (v < 10)", {"v": 10}), ("unique", {"v": 1})],
)
def test_a_record_that_a_rule_of_the_table_forbids_is_refused_and_no_outage(database, rule, body):
    database.execute(f"create table t(id text primary key, v integer {rule})")
    database.execute("insert into t values ('a', 1)")
    with bind() as binding, pytest.raises(InputError, match="a record that the database does not take") as told:
        binding.put(RecordChange("b", None, body))
    assert "constraint failed" in str(told.value)
    assert database.execute("select id, v from t").fetchall() == [("a", 1)]


def test_a_key_of_several_columns_and_of_numbers_names_one_row(database):
    database.execute("create table t(ns text, n integer, v text, primary key (ns, n))")
    database.execute("insert into t values ('a', 1, 'one'), ('a', 2, 'two')")
    with bind(key=("ns", "n")) as binding:
        binding.put(RecordChange("a/2", {"v": "two"}, {"v": "2"}))
        assert binding.look("a/1").body == {"v": "one"}
        with pytest.raises(InputError, match="NS/N"):
            binding.look("a")
    assert database.execute("select v from t order by n").fetchall() == [("one",), ("2",)]
