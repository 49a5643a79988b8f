"""One harness used by several threads: none meets another's change half made."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_memory
from takeback.harness import Applied, Undone
from takeback.harness.ledger import Ledger
from takeback.state import State
from takeback.undo import Plan

SECONDS = 240
ROUNDS = 12
USES = {
    "undo": lambda harness, entry: harness.undo(entry),
    "plan_undo": lambda harness, entry: harness.plan_undo(entry),
    "status": lambda harness, entry: harness.status(),
    "log": lambda harness, entry: list(harness.log()),
    "preview": lambda harness, entry: harness.preview(candidate(config("p", 1))),
    "adopt": lambda harness, entry: harness.adopt(),
    "refresh": lambda harness, entry: harness.ledger.refresh(),
    "tally": lambda harness, entry: harness.ledger.tally(),
    "touching": lambda harness, entry: harness.journal.touching('["config","a"]'),
}


class WatchedMutex:
    """A mutex that tells when somebody comes to it."""

    def __init__(self, mutex, came):
        self._mutex, self._came = mutex, came

    def __enter__(self):
        self._came()
        return self._mutex.__enter__()

    def __exit__(self, *fault):
        return self._mutex.__exit__(*fault)

    def acquire(self, *args, **options):
        self._came()
        return self._mutex.acquire(*args, **options)

    def release(self):
        self._mutex.release()

    def _is_owned(self):
        return self._mutex._is_owned()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def journal(request, tmp_path):
    if request.param == "memory":
        return ":memory:"
    if request.param == "sqlite":
        return tmp_path / "journal.db"
    return f"{request.getfixturevalue('postgres_url')}#t{abs(hash(str(tmp_path))) % 10**9}"


@pytest.mark.parametrize("use", USES)
def test_a_thread_waits_for_another_to_finish_its_recorded_change(journal, use):
    with closing(open_memory(State.read({"config": {"a": 1}}), journal=journal)) as harness:
        first = harness.apply(candidate(config("a", 2))).entry.id
        second_is_here, recorded = threading.Event(), threading.Event()
        faults, answers = [], []
        writer = threading.current_thread()

        def tell():
            if threading.current_thread() is not writer:
                second_is_here.set()

        watched = WatchedMutex(harness.journal._mutex, tell)
        harness.journal._mutex = harness.ledger.mutex = watched
        if harness._engine._lock is not None:
            harness._engine._lock = harness.journal.lock(SECONDS)
        append = harness.journal.append

        def append_and_wait(drafts, **options):
            made = append(drafts, **options)
            if threading.current_thread() is writer and not recorded.is_set():
                recorded.set()
                assert second_is_here.wait(SECONDS), "the other thread never came"
            return made

        harness.journal.append = append_and_wait

        def meet():
            recorded.wait(SECONDS)
            try:
                answers.append(USES[use](harness, first))
            except Exception as fault:  # noqa: BLE001 - told by the test
                faults.append(fault)
            finally:
                second_is_here.set()

        other = threading.Thread(target=meet)
        other.start()
        done = harness.apply(candidate(config("b", 3)))
        other.join(SECONDS)
        assert not other.is_alive()
        assert faults == []
        assert isinstance(done, Applied)
        if use == "undo":
            assert isinstance(answers[0], Undone)
            assert harness.state.write() == {"config": {"a": 1, "b": 3}}
        if use == "plan_undo":
            assert isinstance(answers[0], Plan)
        if use == "log":
            assert [entry.status for entry in answers[0]] == ["live", "live", "done"]
        assert_as_written(harness)


def assert_as_written(harness):
    fresh = Ledger(harness.journal)
    assert fresh.state == harness.state
    assert fresh.tally() == harness.ledger.tally()
    assert fresh.head == harness.ledger.head
    assert harness.journal.check().whole


def test_many_threads_apply_and_undo_with_one_harness(journal):
    with closing(open_memory(State.read({"config": {"a": 1}}), journal=journal)) as harness:
        start = threading.Barrier(4)
        faults = []

        def work(name):
            start.wait(SECONDS)
            try:
                for at in range(ROUNDS):
                    made = harness.apply(candidate(config(f"{name}.k{at}", at)))
                    assert isinstance(made, Applied)
                    harness.ledger.refresh()
                    assert sum(1 for _ in harness.log()) >= at
                    assert isinstance(harness.undo(made.entry.id), Undone)
                    assert not harness.status().drift
            except Exception as fault:  # noqa: BLE001 - told by the test
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(f"t{at}",)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert faults == []
        assert harness.ledger.tally() == (0, 4 * ROUNDS, 0)
        assert harness.state.write() == {"config": {"a": 1}}
        assert_as_written(harness)
