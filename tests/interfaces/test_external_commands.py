"""Records of other systems over the command line: what others wrote stays and is said, and nothing is half done."""

from __future__ import annotations

import json
import sqlite3

import pytest
from tests.support.record_server import serve_records
from typer.testing import CliRunner

pytest.importorskip("sqlalchemy")

from takeback.adapters import open_workspace
from takeback.adapters.bindings import sql
from takeback.adapters.bindings.probe import probe_binding
from takeback.cli import app
from takeback.errors import TakebackError, UntrustedError
from takeback.harness import Applied, Refused, Undone
from takeback.harness.external import NO_ISOLATION
from takeback.journal.failpoint import arm_failpoints
from takeback.state import unregister
from takeback.state.surface import SURFACES
from takeback.state.surfaces.external import EXTERNAL


@pytest.fixture(autouse=True)
def surface():
    yield
    if EXTERNAL in SURFACES:
        unregister(EXTERNAL)


class World:
    """A workspace with a database and a server of records bound to it."""

    def __init__(self, root, database, server):
        self.root, self.database, self.server = root, database, server

    def run(self, *words):
        result = CliRunner().invoke(app, [*map(str, words), "-C", str(self.root)])
        if isinstance(result.exception, TakebackError):
            return 2, f"{result.output}{result.exception}"  # as `main` says it
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    def json(self, *words):
        code, text = self.run(*words, "--json")
        return code, json.loads(text)

    def sql(self, text, *given):
        with sqlite3.connect(self.database) as at:
            return [tuple(row) for row in at.execute(text, given)]

    def rows(self):
        return {key: (text, weight) for key, text, weight in self.sql("select id, text, weight from memory")}


@pytest.fixture
def world(tmp_path, monkeypatch):
    database = tmp_path / "memory.db"
    with sqlite3.connect(database) as at:
        at.execute("create table memory(id text primary key, text text, weight integer, secret text)")
        at.execute("insert into memory values ('a', 'old', 1, 'hidden-column')")
    monkeypatch.setenv("AGENT_DB", f"sqlite:///{database}")
    for name, number in (("writers", 2), ("writes", 3)):  # a smaller race: its size is not what is tested here
        monkeypatch.setitem(probe_binding.__kwdefaults__, name, number)
    with serve_records() as server:
        made = World(tmp_path / "agent", database, server)
        assert CliRunner().invoke(app, ["init", str(made.root)]).exit_code == 0
        words = ["--table", "memory", "--key", "id", "--fields", "text,weight"]
        assert made.json("bind", "memory", "--sql-env", "AGENT_DB", *words)[1]["guard"] == "atomic"
        assert made.json("bind", "registry", "--http", server.base)[1]["guard"] == "atomic"
        yield made
    for engine in sql._ENGINES.values():
        engine.dispose()
    sql._ENGINES.clear()


def edit(world, key, field, value, *, code=0):
    change = {"op_type": "edit_external", "target": key, "value": {"field": field, "value": value}}
    return apply(world, [change], code=code)


def apply(world, changes, *, code=0):
    with open_workspace(world.root) as harness:
        outcome = harness.apply(changes)
        assert isinstance(outcome, Refused if code else Applied), outcome
        return outcome if code else outcome.entry.id


def test_undoing_a_field_keeps_other_fields_written_by_others(world):
    entry = edit(world, "memory/a", "text", "new")
    assert world.rows()["a"] == ("new", 1)
    world.sql("update memory set weight = 99 where id = 'a'")
    code, told = world.json("undo", entry)
    assert (code, told["kept"]) == (0, [])
    assert world.rows()["a"] == ("old", 99)
    assert world.json("redo", "--last")[0] == 0
    assert world.rows()["a"] == ("new", 99)


def test_head_and_times_skip_writes_by_others(world):
    ours = edit(world, "memory/a", "text", "ours")
    world.sql("update memory set text = 'theirs' where id = 'a'")
    plan = world.json("undo", "HEAD", "--plan")[1]
    assert [one["because"] for one in plan["kept"]] == ["outside"]
    assert world.json("show", "HEAD")[1]["id"].startswith(ours)
    for words in (["HEAD"], ["--since", "1h"]):
        code, told = world.json("undo", *words, "--plan")
        assert (code, len(told["off"])) == (0, 1)
        assert told["ids"][str(told["off"][0])].startswith(ours)
    assert world.json("undo", "HEAD")[0] == 0
    assert world.rows()["a"] == ("theirs", 1)


def test_undo_keeps_a_field_others_wrote_unless_over_is_given(world):
    entry = edit(world, "memory/a", "text", "new")
    world.sql("update memory set text = 'THEIRS' where id = 'a'")
    code, told = world.json("undo", entry, "--strict")
    assert (code, told["why"]) == (1, "kept")
    assert world.run("undo", entry, "--over")[0] == 2
    code, plan = world.json("undo", entry, "--over", "--plan")
    assert (code, world.rows()["a"]) == (0, ("THEIRS", 1))
    code, told = world.json("undo", entry, "--plan")
    assert [one["because"] for one in told["kept"]] == ["outside"]
    code, told = world.json("undo", entry, "--over", "--token", plan["token"])
    assert (code, world.rows()["a"]) == (0, ("old", 1))


def test_an_undo_explains_why_it_keeps_a_foreign_value(world):
    entry = edit(world, "memory/a", "text", "new")
    world.sql("update memory set text = 'THEIRS' where id = 'a'")
    code, told = world.run("undo", entry)
    assert code == 0
    assert "written later in another system" in told
    assert world.rows()["a"] == ("THEIRS", 1)


@pytest.mark.parametrize(
    "by_others", ["update memory set weight = 7 where id = 'n'", "delete from memory where id = 'n'"]
)
def test_undo_leaves_a_record_that_others_changed_or_removed(world, by_others):
    code, told = world.json("set", "external", "memory/n", '{"text": "ours"}')
    assert code == 0
    world.sql(by_others)
    before = world.rows()
    assert world.json("undo", told["entry"])[0] == 0
    assert world.rows() == before


def test_undo_removes_an_untouched_record(world):
    code, told = world.json("set", "external", "memory/n", '{"text": "ours"}')
    assert code == 0
    assert world.json("undo", told["entry"])[0] == 0
    assert world.rows() == {"a": ("old", 1)}


def test_a_plan_over_two_systems_warns_about_missing_isolation(world):
    world.server.put("planner", {"text": "plan", "alias": 1})
    changes = [
        {"op_type": "edit_external", "target": "registry/planner", "value": {"field": "alias", "value": 2}},
        {"op_type": "set_external", "target": "memory/b", "value": {"text": "x"}},
    ]
    entry = apply(world, changes)
    code, plan = world.json("undo", entry, "--plan")
    assert (code, plan["isolation"]) == (0, NO_ISOLATION)
    assert {name: guard.split()[0] for name, guard in plan["guards"].items()} == {
        "memory": "atomic",
        "registry": "atomic",
    }
    assert "isolation" not in world.json("undo", edit(world, "memory/a", "text", "z"), "--plan")[1]
    world.server.put("planner", {"text": "THEIRS", "alias": 2})
    assert world.json("undo", entry)[0] == 0
    assert world.server.get("planner") == {"text": "THEIRS", "alias": 1}
    assert world.rows().keys() == {"a"}


def test_an_unreachable_system_is_exit_1_and_changes_nothing(world, monkeypatch):
    entry = edit(world, "memory/a", "text", "new")
    monkeypatch.setenv("AGENT_DB", "postgresql://me:hunter2-secret@127.0.0.1:1/none")
    for words in (["undo", entry], ["set", "external", "memory/a", '{"text": "x"}'], ["probe", "memory"]):
        code, told = world.run(*words)
        assert code == 1, told
        assert "cannot be reached" in told
        assert "hunter2" not in told
    assert world.rows()["a"] == ("new", 1)
    assert world.run("status")[0] == 0


def test_a_column_that_is_not_declared_is_never_read_written_or_shown(world):
    entry = edit(world, "memory/a", "text", "new")
    assert "hidden-column" not in world.run("show", entry, "--json")[1]
    assert b"hidden-column" not in (world.root / ".takeback/journal.db").read_bytes()
    assert edit(world, "memory/a", "secret", "x", code=1) is not None
    assert world.sql("select secret from memory where id = 'a'") == [("hidden-column",)]


class KilledError(BaseException):
    """Ends a process that is killed."""


@pytest.mark.parametrize("point", ["change.announced", "before the row", "after the row", "change.written"])
def test_a_killed_change_is_finished_or_aborted_after_a_look(world, monkeypatch, point):
    whole = sql.SqlBinding.put_together

    def put_together(binding, pairs):
        reach(point if point == "before the row" else "")
        yield from whole(binding, pairs)
        reach(point if point == "after the row" else "")

    def reach(name):
        if name == point:
            raise KilledError

    with open_workspace(world.root) as harness, monkeypatch.context() as patch:
        patch.setattr(sql.SqlBinding, "put_together", put_together)
        with pytest.raises(KilledError), arm_failpoints(reach):
            harness.apply([{"op_type": "set_external", "target": "memory/n", "value": {"text": "ours"}}])
    assert world.run("recover")[0] == 0
    rows = world.rows()
    with open_workspace(world.root) as harness:
        assert ("memory/n" in harness.state.part(EXTERNAL)) is ("n" in rows)
    assert ("n" in rows) is (point not in {"change.announced", "before the row"})
    assert world.run("status")[0] == 0


def test_a_server_without_conditional_writes_needs_explicit_permission(world):
    with serve_records(heeds=False) as careless:
        code, told = world.json("bind", "loose", "--http", careless.base)
        assert (code, told["guard"]) == (1, "none")
        refused = apply(world, [{"op_type": "set_external", "target": "loose/x", "value": {"n": 1}}], code=1)
        assert 'allow = "unguarded"' in refused.message
        manifest = world.root / "takeback.toml"
        manifest.write_text(manifest.read_text() + 'allow = "unguarded"\n')
        assert CliRunner().invoke(app, ["trust", str(world.root)]).exit_code == 0
        apply(world, [{"op_type": "set_external", "target": "loose/x", "value": {"n": 1}}])
        assert careless.get("x") == {"n": 1}


def test_a_binding_that_was_never_probed_is_not_written_to(world):
    assert world.json("bind", "fresh", "--http", world.server.base, "--no-probe")[0] == 0
    refused = apply(world, [{"op_type": "set_external", "target": "fresh/x", "value": {"n": 1}}], code=1)
    assert "takeback probe fresh" in refused.message
    assert world.server.get("x") is None


def test_bindings_from_a_pull_are_not_connected(world):
    entry = edit(world, "memory/a", "text", "new")
    with serve_records() as stranger:
        manifest = world.root / "takeback.toml"
        manifest.write_text(manifest.read_text().replace(world.server.base, stranger.base))
        with pytest.raises(UntrustedError, match="other bindings"):
            open_workspace(world.root)
        assert world.run("log")[0] == 0
        assert world.run("probe", "registry")[0] != 0
        assert world.run("undo", entry)[0] != 0
        assert stranger.asked == 0


def test_a_password_in_the_manifest_is_refused_and_not_repeated(world):
    code, told = world.run("bind", "bad", "--http", "http://me:hunter2@127.0.0.1:1/")
    assert code == 2
    assert "hunter2" not in told
    assert "hunter2" not in (world.root / "takeback.toml").read_text()


def test_an_undo_of_a_restore_keeps_what_others_wrote(world):
    entry = edit(world, "memory/a", "text", "new")
    world.sql("update memory set text = 'THEIRS' where id = 'a'")
    with open_workspace(world.root) as harness:
        outcome = harness.restore("#1")
        assert isinstance(outcome, Undone), outcome
    assert world.rows()["a"] == ("THEIRS", 1)
    assert entry


def test_status_all_shows_foreign_writes_and_records_nothing(world):
    edit(world, "memory/a", "text", "ours")
    entries = len(world.json("log")[1]["entries"])
    assert world.json("status", "--all")[1]["outside"] == []
    world.sql("update memory set weight = 7 where id = 'a'")
    assert "outside" not in world.json("status")[1]
    code, told = world.json("status", "--all")
    assert code == 0
    assert [one["before"] for one in told["outside"]] == [1]
    assert [one["after"] for one in told["outside"]] == [7]
    assert "written by others in other systems since" in world.run("status", "--all")[1]
    assert len(world.json("log")[1]["entries"]) == entries


def test_status_all_names_an_unreadable_record(world):
    edit(world, "memory/a", "text", "ours")
    world.sql("drop table memory")
    code, told = world.json("status", "--all")
    assert code == 1
    assert told["outside"] == []
    assert "memory/a" in told["unread"][0]
    assert "could not be read: " in told["unread"][0]


@pytest.mark.parametrize(
    ("table", "key", "fields", "said"),
    [
        ("nowhere", "id", "text", "found nowhere, expected a table of the database"),
        ("memory", "id", "colour", "found colour, expected a column of memory"),
        ("memory", "text", "weight", "found text, expected a primary or unique key"),
    ],
)
def test_a_binding_that_cannot_be_right_is_not_declared(world, table, key, fields, said):
    before = (world.root / "takeback.toml").read_bytes()
    words = ["--sql-env", "AGENT_DB", "--table", table, "--key", key, "--fields", fields]
    code, told = world.run("bind", "more", *words)
    assert (code, said in told) == (2, True), told
    assert (world.root / "takeback.toml").read_bytes() == before
    assert world.run("status")[0] == 0
    words[3], words[5], words[7] = "memory", "id", "text"
    assert world.json("bind", "more", *words)[1]["guard"] == "atomic"


def test_a_binding_that_cannot_be_reached_yet_is_declared_and_says_so(world, monkeypatch):
    words = ["--sql-env", "LATER_DB", "--table", "memory", "--key", "id", "--fields", "text"]
    code, told = world.run("bind", "later", *words)
    assert code == 1
    assert "later is declared and was not measured" in told.replace("\n", " ")
    monkeypatch.setenv("LATER_DB", f"sqlite:///{world.database}")
    assert world.json("probe", "later")[1]["guard"] == "atomic"


def test_a_value_of_another_type_is_refused_with_the_field_it_is_for(world):
    code, told = world.run("set", "external", "memory/a", '{"text": "x", "weight": "heavy"}')
    assert code == 2
    assert "external[memory/a].weight: found heavy, expected a value for INTEGER" in told
    assert world.rows()["a"] == ("old", 1)
    assert world.run("status")[0] == 0
