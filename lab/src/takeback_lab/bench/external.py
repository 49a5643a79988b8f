"""Changes made and taken back in rows while writers keep writing other fields of them, beside a naive restore.

Ours must read right after every step, and every write of the others must be there at the end. The naive restore keeps
the whole row as it was before a change, and puts the whole row back; it runs at the same pace, beside the same
writers. On SQLite in a directory of its own, or in a scratch table of a PostgreSQL.
"""

from __future__ import annotations

import random
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.bindings.probe import probe_binding
from takeback.adapters.bindings.sql import READS, open_engine
from takeback.adapters.bound import BoundRecords
from takeback.adapters.manifest import read_manifest
from takeback.adapters.opener import trust_workspace
from takeback.adapters.variables import use_variables
from takeback.errors import HarnessError
from takeback.harness import Applied, Harness, Undone

WRITERS: Final = 4
ROWS: Final = 6
MOST_LIVE: Final = 8
"""So many changes are in effect at once."""
PAUSE: Final = 0.002
"""Seconds between two writes of one writer."""
VARIABLE: Final = "BENCH_DB"
OLD: Final = "as it was"


def measure(*, changes: int = 200, postgres: str | None = None, seed: int = 0) -> dict[str, Any]:
    """Return what both ways lost, and what of ours was wrong."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as directory:
        url = postgres or f"sqlite:///{directory}/memory.db"
        use_variables({VARIABLE: url})
        with _make_table(url) as (engine, table):
            world = _World(engine, table, seed)
            root = _set_up(Path(directory) / "agent", table.name)
            with open_workspace(root) as harness:
                ours = world.watch(lambda: _take_turns(world, _Takeback(harness), changes, pace=0.0))
            naive = world.watch(lambda: _take_turns(world, _Naive(world), changes, pace=ours["seconds_a_step"]))
            return {
                "database": engine.dialect.name,
                "writers": WRITERS,
                "rows": ROWS,
                "changes": changes,
                "takeback": ours,
                "naive": naive,
            }


@contextmanager
def _make_table(url: str) -> Iterator[tuple[sa.Engine, sa.Table]]:
    engine = open_engine(url)
    columns = (sa.Column("text", sa.Text), sa.Column("theirs", sa.BigInteger, nullable=False))
    name = f"takeback_bench_{secrets.token_hex(6)}"
    table = sa.Table(name, sa.MetaData(), sa.Column("id", sa.String(40), primary_key=True), *columns)
    table.create(engine)
    try:
        yield engine, table
    finally:
        table.drop(engine)
        engine.dispose()


def _set_up(root: Path, table: str) -> Path:
    init_workspace(root)
    manifest = root / "takeback.toml"
    fields = '["text", "theirs"]'
    settings = f'kind = "sql"\nurl_env = "{VARIABLE}"\ntable = "{table}"\nkey = ["id"]\nfields = {fields}'
    probe = 'probe = \'{"text": "{n}", "theirs": 0}\''
    manifest.write_text(f"{manifest.read_text()}\n[bindings.memory]\n{settings}\n{probe}\n")
    trust_workspace(root)
    with closing(BoundRecords(root, read_manifest(manifest.read_bytes(), str(manifest)).bindings)) as records:
        records.keep_guard("memory", probe_binding(records.find("memory")).to_json())
    return root


class _World:
    """The rows, and the writers who keep adding to them."""

    def __init__(self, engine: sa.Engine, table: sa.Table, seed: int) -> None:
        self.engine, self.table, self.rng = engine, table, random.Random(seed)
        self.names = [f"row-{number}" for number in range(ROWS)]

    def read(self, name: str) -> dict[str, Any]:
        """Return a row."""
        with self.engine.connect().execution_options(**{READS: True}) as at:
            return dict(at.execute(sa.select(self.table).where(self.table.c.id == name)).mappings().one())

    def write(self, name: str, **values: Any) -> None:
        """Write columns of a row."""
        with self.engine.begin() as at:
            at.execute(sa.update(self.table).where(self.table.c.id == name).values(**values))

    def watch(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do some work on fresh rows beside the writers; return its findings, with what the writers lost."""
        with self.engine.begin() as at:
            at.execute(sa.delete(self.table))
            rows = [{"id": name, "text": OLD, "theirs": 0} for name in self.names]
            at.execute(sa.insert(self.table), rows)
        ended, made, faults = threading.Event(), [0] * WRITERS, list[Exception]()

        def keep_writing(writer: int) -> None:
            try:
                while not ended.is_set():
                    self.write(self.names[made[writer] % ROWS], theirs=self.table.c.theirs + 1)
                    made[writer] += 1
                    time.sleep(PAUSE)
            except Exception as fault:  # noqa: BLE001 - raised below, in the thread that asked
                faults.append(fault)

        threads = [threading.Thread(target=keep_writing, args=(writer,)) for writer in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            found = work()
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        if faults:
            raise faults[0]
        there = sum(self.read(name)["theirs"] for name in self.names)
        return {**found, "their_writes": sum(made), "their_writes_lost": sum(made) - there}


class _Takeback:
    """Changes as entries, taken back by undo."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness

    def change(self, name: str, text: str) -> str:
        """Write a field; return the entry."""
        edit = {
            "op_type": "edit_external",
            "target": f"memory/{name}",
            "value": {"field": "text", "value": text},
        }
        done = self.harness.apply([edit])
        if not isinstance(done, Applied):
            raise HarnessError(f"a change was refused: {done.message}")
        return done.entry.id

    def take_back(self, name: str, entry: Any) -> None:
        """Undo an entry."""
        done = self.harness.undo(entry)
        if not isinstance(done, Undone):
            raise HarnessError(f"the undo of {entry} in {name} was not made: {done}")


class _Naive:
    """Changes after a copy of the whole row, taken back by putting the copy."""

    def __init__(self, world: _World) -> None:
        self.world = world

    def change(self, name: str, text: str) -> dict[str, Any]:
        """Write a field; return the row as it was."""
        before = self.world.read(name)
        self.world.write(name, text=text)
        return before

    def take_back(self, name: str, before: Any) -> None:
        """Put the row."""
        self.world.write(name, **{field: item for field, item in before.items() if field != "id"})


def _take_turns(world: _World, way: _Takeback | _Naive, changes: int, *, pace: float) -> dict[str, Any]:
    """Make changes and take each back, in an order of its own; compare our field after every step."""
    live: list[tuple[str, str, Any]] = []
    made = wrong = steps = 0
    began = time.perf_counter()
    while made < changes or live:
        begun = time.perf_counter()
        if made < changes and (not live or (len(live) < MOST_LIVE and world.rng.random() < 0.6)):  # noqa: PLR2004
            name, text = world.names[made % ROWS], f"change {made}"
            live.append((name, text, way.change(name, text)))
            made += 1
        else:
            # The naive way gets its best case: of one row, the newest is taken back first.
            name = world.rng.choice(live)[0]
            at = max(number for number, one in enumerate(live) if one[0] == name)
            if isinstance(way, _Takeback):
                at = world.rng.randrange(len(live))
            name, _, taken = live.pop(at)
            way.take_back(name, taken)
        expected = next((text for row, text, _ in reversed(live) if row == name), OLD)
        wrong += world.read(name)["text"] != expected
        steps += 1
        time.sleep(max(0.0, pace - (time.perf_counter() - begun)))
    return {"wrong": wrong, "steps": steps, "seconds_a_step": round((time.perf_counter() - began) / steps, 4)}
