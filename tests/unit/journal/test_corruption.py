"""However a journal is damaged, every command answers with a result or a documented error, never with a crash."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import closing, suppress

import pytest
from tests.support.changes import candidate, config, file, listener, middleware, prompt, socket, tool
from tests.support.corruption import damage
from tests.support.trusted import trust

from takeback import State
from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.errors import TakebackError
from takeback.harness.entry_log import iter_entries, load_entry_writes
from takeback.harness.entry_names import build_restore_request
from takeback.journal import examine_journal

SEEDS = range(200)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole") / "agent"
    start = {
        "config": {"a": {"b": 1}},
        "middleware": [{"id": "auth", "handler": "h"}],
        "files": {"d/a": {"content": "x"}},
    }
    init_workspace(root, start=State.read(start))
    with closing(open_workspace(root, hold=False)) as harness:
        ids = [
            harness.apply(candidate(*ops)).entry.id
            for ops in (
                (config("a.c", "secret"),),
                (prompt("p", "one"), tool("t")),
                (middleware("m", index=0),),
                (listener("e", "cb"),),
                (file("d/a", "y" * 9000), file("d/e", "z")),
                (socket("s", 0),),
                (config("a", {"z": [1, 2]}),),
            )
        ]
        harness.undo(ids[1])
        harness.ledger.checkpoint()
        harness.forget(ids[0])
        harness.undo(ids[3])
        harness.redo()
    return root


def use(root):
    """What a person would try, one after the other."""
    report = examine_journal(root / ".takeback" / "journal.db")
    found = examine_workspace(root)
    with closing(open_workspace(root, hold=False)) as harness:
        for view in iter_entries(harness):
            with suppress(TakebackError):
                load_entry_writes(harness, harness.journal.get(view.seq))
        harness.status()
        for number in (2, 4, 6, 8):
            with suppress(TakebackError):
                harness.undo(f"#{number}")
        with suppress(TakebackError):
            harness.plan(lambda ledger: build_restore_request(ledger, "#3"))
    return report, found


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.long] * (seed >= 100)) for seed in SEEDS])
def test_a_damaged_journal_never_crashes_a_command(whole, tmp_path, seed):
    root = tmp_path / "agent"
    shutil.copytree(whole, root, symlinks=True)
    trust(root)
    damage(root / ".takeback" / "journal.db", seed)
    with suppress(TakebackError):
        use(root)


def test_most_damage_is_noticed_and_an_intact_journal_passes(whole, tmp_path):
    root = tmp_path / "agent"
    shutil.copytree(whole, root)
    trust(root)
    report, found = use(root)
    assert report.whole
    assert all(finding.good for finding in found)
    noticed = Counter()
    for seed in range(60):
        path = tmp_path / f"journal{seed}.db"
        shutil.copy(whole / ".takeback" / "journal.db", path)
        how = damage(path, seed)
        try:
            noticed[examine_journal(path).whole] += "empty" not in how and "refused" not in how
        except TakebackError:
            noticed[False] += 1
    assert noticed[False] > noticed[True]
