"""Records of other systems for `takeback torture --external`: PostgreSQL, etcd, others who write there, what is lost.

Each record of `SHARED` is written by another program all the time, in a field of its own and now and then in ours. A
write of theirs is lost where its field has less than they added, or where a word of theirs was neither kept nor noted
in the journal before it was written over. Records of ours alone come and go with the changes.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.adapters.bindings import open_binding
from takeback.adapters.bindings.probe import probe_binding
from takeback.adapters.bindings.protocol import Binding
from takeback.adapters.bound import BoundRecords, describe_guard
from takeback.adapters.variables import use_variables
from takeback.canonical import encode
from takeback.harness import Harness
from takeback.harness.external import is_outside
from takeback.harness.records import load_record_writes
from takeback.state import ABSENT, SURFACES
from takeback.state.surfaces.external import EXTERNAL
from takeback_lab.servers import NotToBeHad, RunningServer, start_etcd, start_postgres

SHARED: Final = ("shared-0", "shared-1", "shared-2")
OWN: Final = ("own-0", "own-1")
OLD: Final = "as it was"
BOUND: Final = {"memory": ("postgresql", start_postgres), "registry": ("etcd", start_etcd)}
Plain = dict[str, Any]


class Lost(NamedTuple):
    """What a look found: what is not as the journal says, and what of others was lost."""

    wrong: list[str]
    theirs: list[str]


class TorturedRecords:
    """The systems of one run, with the program that writes to them."""

    def __init__(self, servers: Mapping[str, RunningServer], left_out: Mapping[str, str]) -> None:
        self.servers = servers
        self.left_out = left_out
        self.guards: dict[str, str] = {}
        self.their_writes = 0
        self._writer: subprocess.Popen[str] | None = None
        self._open: dict[str, Binding] = {}
        self._noted: set[tuple[str, Any]] = set()
        self._read = 0
        use_variables({name: value for one in servers.values() for name, value in one.variables.items()})

    @property
    def systems(self) -> list[str]:
        """The systems, by name."""
        return [BOUND[name][0] for name in self.servers]

    def write_manifest(self) -> str:
        """Return the bindings as a manifest declares them."""
        tables = []
        for name, server in self.servers.items():
            given = {**server.settings, "fields": ["text", "theirs"]}
            lines = (f"{key} = {json.dumps(item)}" for key, item in given.items())
            tables.append("\n".join((f"[bindings.{name}]", *lines)))
        return "\n\n".join(tables)

    def begin(self, root: Path, declared: Mapping[str, Mapping[str, Any]], race: tuple[int, int]) -> None:
        """Make the shared records, measure the guards, and let the other program write."""
        with closing(BoundRecords(root, declared)) as records:
            for name in self.servers:
                binding = records.find(name)
                for record in SHARED:
                    binding.swap(record, None, {"text": OLD, "theirs": 0})
                found = probe_binding(binding, writers=race[0], writes=race[1]).to_json()
                records.keep_guard(name, found)
                self.guards[name] = describe_guard(found)
        if self.servers:
            self._writer = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-m", "takeback_lab.torture_writers", json.dumps(self._list_places())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )

    def _list_places(self) -> Plain:
        places: Plain = {}
        for name, server in self.servers.items():
            given = server.settings
            url = server.variables.get(given.get("url_env", ""))
            where = {"postgres": url} if url else {"base": given["base"], "prefix": given["prefix"]}
            places[name] = {**where, "names": SHARED}
        return places

    def end(self) -> None:
        """End the other program, and let go."""
        for binding in self._open.values():
            binding.close()
        if self._writer is not None and self._writer.stdin is not None:
            self._writer.stdin.close()
            try:
                self._writer.wait(30)
            except subprocess.TimeoutExpired:
                self._writer.kill()
                self._writer.wait()

    def list_first_edits(self) -> list[Plain]:
        """Return a first edit of each shared record."""
        value = {"field": "text", "value": "begun"}
        keys = [f"{name}/{record}" for name in self.servers for record in SHARED]
        return [{"op_type": "edit_external", "target": key, "value": value} for key in keys]

    def draw(self, rng: random.Random) -> list[Plain]:
        """Return operations of one change: on records that others write to, and on records of ours."""
        ops: list[Plain] = []
        for name in self.servers:
            way = rng.randrange(5)
            text = f"ours {rng.randrange(10**9)}"
            if way < 3:  # noqa: PLR2004 - mostly
                value = {"field": "text", "value": text}
                ops.append({"op_type": "edit_external", "target": f"{name}/{rng.choice(SHARED)}", "value": value})
            elif way == 3:  # noqa: PLR2004 - now and then
                record = {"text": text, "theirs": rng.randrange(99)}
                ops.append({"op_type": "set_external", "target": f"{name}/{rng.choice(OWN)}", "value": record})
            else:
                ops.append({"op_type": "unset_external", "target": f"{name}/{rng.choice(OWN)}"})
        return ops

    def compare(self, harness: Harness) -> Lost:
        """Have the others pause, and compare what is there with what they wrote and with what the journal says."""
        found = Lost([], [])
        told = self._ask("pause")
        try:
            there = {
                f"{name}/{record}": self._look(name, record) for name in self.servers for record in (*SHARED, *OWN)
            }
        finally:
            self._ask("go")
        said = SURFACES[EXTERNAL].write(harness.state.part(EXTERNAL)) if self.servers else {}
        words = {(key, word) for key, word, _ in told["words"]}
        self.their_writes = sum(told["counts"].values()) + len(words)
        for key, record in there.items():
            wanted = said.get(key)
            if key.endswith(OWN):
                if encode(record) != encode(wanted):
                    found.wrong.append(f"{key} is {record}, the journal says {wanted}")
                continue
            added = told["counts"].get(key, 0)
            if record is None or record["theirs"] != added:
                found.theirs.append(f"{key}: they added {added} times, {record} is there")
            elif wanted is not None and record["text"] != wanted["text"] and (key, record["text"]) not in words:
                found.wrong.append(f"{key} is {record['text']!r}, the journal says {wanted['text']!r}")
        noted = self._read_noted(harness)
        written_over = {(key, over) for key, _, over in told["words"]}
        for key, word in sorted(words - written_over - noted):
            if (there[key] or {}).get("text") != word:
                found.theirs.append(f"{key}: their word {word!r} is gone, and the journal does not have it")
        return found

    def _read_noted(self, harness: Harness) -> set[tuple[str, Any]]:
        """Return what the journal has of what others wrote in fields of ours, by key; goes on where it stopped."""
        for record in harness.journal.records(self._read + 1):
            self._read = record.seq
            if record.kind == "start" or not is_outside(record):
                continue
            for write in load_record_writes(harness.journal, record):
                if write.slot[0] == EXTERNAL and write.after is not ABSENT:
                    field = write.slot[2:] == ("text",)
                    self._noted.add((write.slot[1], write.after if field else _get_text(write.after)))
        return self._noted

    def _look(self, name: str, record: str) -> Plain | None:
        if name not in self._open:
            self._open[name] = open_binding(name, {**self.servers[name].settings, "fields": ["text", "theirs"]})
        return self._open[name].show(self._open[name].look(record))

    def _ask(self, word: str) -> Plain:
        writer = self._writer
        if writer is None or writer.stdin is None or writer.stdout is None:
            return {"counts": {}, "words": []}
        with suppress(BrokenPipeError):
            writer.stdin.write(f"{word}\n")
            writer.stdin.flush()
        if word != "pause":
            return {}
        line = writer.stdout.readline()
        if not line:
            raise RuntimeError("the program that writes beside ended")
        told: Plain = json.loads(line)
        return told


def _get_text(record: Any) -> Any:
    return record.get("text") if hasattr(record, "get") else None


@contextmanager
def start_records(place: str | None = None) -> Iterator[TorturedRecords]:
    """Start the systems that are to be had, with their data below a place, if one is given."""
    with ExitStack() as stack:
        servers: dict[str, RunningServer] = {}
        left_out: dict[str, str] = {}
        for name, (system, start) in BOUND.items():
            try:
                servers[name] = stack.enter_context(start(place))
            except NotToBeHad as reason:
                left_out[system] = str(reason)
        records = TorturedRecords(servers, left_out)
        try:
            yield records
        finally:
            records.end()
            use_variables({})
