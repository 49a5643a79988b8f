"""The contract of stores that outlive their process: several connections, reopening, reading only, forgetting."""

from __future__ import annotations

from contextlib import closing

from takeback.errors import JournalBusyError, JournalError, NotHeldError
from takeback.journal.conformance import ConformanceError, Opener, StoreCheck, applied, expect, only
from takeback.journal.content import Stored, leaf
from takeback.journal.record import Draft


def stays_after_closing(opener: Opener) -> None:
    """What was appended is there when the journal is opened again."""
    with closing(opener()) as store:
        records = store.append([applied(1, '["config","a"]'), applied(2)])
    with closing(opener()) as store:
        expect(tuple(store.records()) == records, "records differ after opening again")
        expect(store.touching('["config","a"]') == (1,), "the index is gone after opening again")
        expect(only(store, records[1], "before") == Stored(b'{"n":2}'), "contents are gone after opening again")


def two_connections_share_one_chain(opener: Opener) -> None:
    """Writers through two connections extend one chain, and each sees the other's records and contents."""
    with closing(opener()) as one, closing(opener()) as two:
        for n in range(10):
            (one, two)[n % 2].append([applied(n % 3, '["config","a"]')])
        expect([r.payload["n"] for r in one.records()] == [n % 3 for n in range(10)], "a record is lost or misplaced")
        expect(one.head() == two.head(), "two connections see different heads")
        expect(one.touching('["config","a"]') == tuple(range(1, 11)), "one connection misses what the other touched")
        expect(two.touching('["config","a"]') == tuple(range(1, 11)), "the other misses what the first touched")
        expect(one.check().whole, "the chain is broken")


def lock_keeps_other_connections_out(opener: Opener) -> None:
    """While one connection holds the lock, another waits and then gives up with a clear error."""
    with closing(opener()) as one, closing(opener()) as two:
        with one.lock(), one.lock():
            try:
                with two.lock(timeout=0.2):
                    raise ConformanceError("two connections hold the lock at once")
            except JournalError as error:
                expect("another process" in str(error), f"the message does not say who is in the way: {error}")
        with two.lock(timeout=5):
            two.append([applied(1)])


def notices_that_another_has_written(opener: Opener) -> None:
    """Nobody can write while the lock is held, or who holds it finds out before it goes on."""
    with closing(opener()) as one, closing(opener()) as two:
        one.append([applied(0)])
        with one.lock():
            one.assert_held()
            try:
                two.append([applied(9)])
            except JournalBusyError:
                one.assert_held()
                return
            try:
                one.assert_held()
            except NotHeldError:
                return
            raise ConformanceError("a writer that was overtaken goes on")


def forgets_for_other_connections_too(opener: Opener) -> None:
    """What one connection forgets, another that is open does not find either."""
    with closing(opener()) as one, closing(opener()) as two:
        (record,) = one.append([Draft("apply", {}, {"before": leaf("secret", "k")})])
        expect(only(two, record, "before") == Stored(b'"secret"'), "a content is not shared")
        (ref,) = record.refs("before")
        one.forget([ref or ""])
        expect(only(two, record, "before") is None, "another connection still finds what was forgotten")
        expect(two.check().whole, "forgetting looks like damage from another connection")


CHECKS: tuple[StoreCheck, ...] = (
    stays_after_closing,
    two_connections_share_one_chain,
    lock_keeps_other_connections_out,
    notices_that_another_has_written,
    forgets_for_other_connections_too,
)
"""Checks for stores that outlive their process."""
