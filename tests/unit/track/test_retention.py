"""What is kept no longer: contents that nothing needs, beyond the bounds, the oldest first."""

from __future__ import annotations

from tests.support.tracked import Project

from takeback.track.store import DAY, WHY_GONE, drop_unneeded


def test_unneeded_contents_are_dropped_when_too_old(tmp_path):
    project = Project(tmp_path / "project", git=False).begin()
    for at in range(3):
        project.write("src/a.py", f"{at}\n")
        project.look()
    with project.store() as store:
        former = [row.deltas[0].before.digest for row in store.rows()]
        latest = store.facts("src/a.py").digest
        now = store._database.meta["looked"]
        assert drop_unneeded(store._database, now + 40 * DAY) == 0  # rows need them
        store.drop_rows([row.number for row in store.rows()])
        assert store.content(former[1]) == b"0\n"  # within the bounds
        assert drop_unneeded(store._database, now + 40 * DAY) == 3
        assert [store.content(one) for one in former] == [None, None, None]
        assert store.content(latest) == b"2\n"
        assert store.content(store.facts("src/b.py").digest) == b"b\n"


def test_past_the_size_limit_the_oldest_contents_are_dropped_first(tmp_path):
    project = Project(tmp_path / "project", git=False, keep_bytes=2_500).begin()
    digests = []
    for at in range(4):
        project.write("src/a.py", f"{at}" * 1_000)
        project.look()
        with project.store() as store:
            digests.append(store.facts("src/a.py").digest)
            store.drop_rows([row.number for row in store.rows()])
    with project.store() as store:
        assert [store.content(one) is not None for one in digests] == [False, False, True, True]


def test_unrecorded_rows_are_bounded_and_mark_dropped_contents(tmp_path):
    project = Project(tmp_path / "project", git=False, keep_bytes=2_500).begin()
    for at in range(5):
        project.write("src/a.py", f"{at}" * 1_000)
        project.look()
    with project.store() as store:
        store.trim()
        rows = list(store.rows())
        assert len(rows) == 5
        assert ("src/a.py", WHY_GONE) in rows[0].unkept
        assert store.content(rows[0].deltas[0].after.digest) is None
        assert store.content(rows[-1].deltas[0].after.digest) == b"4" * 1_000
