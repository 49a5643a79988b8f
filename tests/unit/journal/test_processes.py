"""Several processes on one journal: serialised, none lost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from takeback.journal import open_journal

WRITER = """
import sys
from takeback.journal import Draft, make_leaf, open_journal
store = open_journal(sys.argv[1], keys=sys.argv[4], timeout=240)
for n in range(int(sys.argv[3])):
    store.append([Draft("apply", {"writer": sys.argv[2], "n": n}, {"after": make_leaf(n)})])
"""


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_two_processes_lose_no_record_and_the_chain_is_intact(backend, tmp_path, request):
    if backend == "sqlite":
        where = str(tmp_path / "journal.db")
    else:
        where = request.getfixturevalue("postgres_url") + "#processes"
    keys = tmp_path / "keys"
    open_journal(where, keys=keys).close()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, where, name, "150", str(keys)], stderr=subprocess.PIPE)
        for name in "ab"
    ]
    for writer in writers:
        _, stderr = writer.communicate(timeout=240)
        assert writer.returncode == 0, stderr.decode()
    store = open_journal(where, keys=keys)
    numbers = {name: [r.payload["n"] for r in store.records() if r.payload["writer"] == name] for name in "ab"}
    assert numbers == {"a": list(range(150)), "b": list(range(150))}
    assert store.check().whole
