"""The contract of a journal store as checks any backend can run; `CHECKS` is the whole list.

Each check takes an `Opener`, which opens the same journal (empty at first) again at every call, and raises
`ConformanceError` with what it expected. A new backend joins by running `CHECKS` against its opener.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import pairwise

from takeback.errors import JournalError, StaleHeadError, TakebackError, UnknownEntryError
from takeback.journal.encoding import Json, decode
from takeback.journal.record import ROOT, Draft, Record
from takeback.journal.store import FIND_LIMIT, Store, resolve

Opener = Callable[[], Store]
Check = Callable[[Opener], None]

VALUES: Mapping[str, Json] = {
    "i": 1,
    "f": 1.0,
    "b": True,
    "n": None,
    "s": "snöw ☃ 😀",
    "l": [1, [2.5, {"k": ""}]],
}


class ConformanceError(TakebackError):
    """A store does not keep the contract."""


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ConformanceError(message)


def _apply(number: int, *keys: str) -> Draft:
    return Draft("apply", {"n": number, "touches": list(keys)}, {"before": {"n": number}})


def begins_empty(opener: Opener) -> None:
    """A new journal has no head, no records, and nothing wrong with it."""
    with closing(opener()) as store:
        _expect(store.head() is None, "a new journal has a head")
        _expect(list(store.records()) == [], "a new journal has records")
        _expect(store.check().whole, "a new journal has faults")


def keeps_values_and_their_types(opener: Opener) -> None:
    """What goes in comes out, by value and by type, also after opening again."""
    with closing(opener()) as store:
        store.append([Draft("apply", VALUES, {"before": VALUES})])
        record = store.get(1)
        _expect(repr(sorted(record.payload.items())) == repr(sorted(VALUES.items())), "payload changed")
        text = store.attachment(1, "before")
        _expect(
            text is not None and repr(decode(text)) == repr(dict(sorted(VALUES.items()))),
            "attachment changed",
        )


def chains_every_record(opener: Opener) -> None:
    """Numbers are dense from 1 and each record names the one before."""
    with closing(opener()) as store:
        records = [store.append([_apply(n)])[0] for n in range(3)]
        _expect([record.seq for record in records] == [1, 2, 3], "numbers are not 1, 2, 3")
        _expect(records[0].prev == ROOT, "the first record does not follow the root")
        _expect(all(b.prev == a.digest for a, b in pairwise(records)), "the chain is broken")
        _expect(store.head() == records[-1], "the head is not the last record")
        _expect(list(store.records()) == records, "reading back differs from what append returned")
        _expect(list(store.records(2, reverse=True)) == records[:0:-1], "reading backwards is wrong")


def pages_through_long_histories(opener: Opener) -> None:
    """More records than fit a page are read once each, both ways."""
    with closing(opener()) as store:
        store.append([_apply(n) for n in range(1101)])
        _expect([r.seq for r in store.records()] == list(range(1, 1102)), "forward reading skips or repeats")
        _expect([r.seq for r in store.records(reverse=True)] == list(range(1101, 0, -1)), "backward reading does")


def appends_all_or_nothing(opener: Opener) -> None:
    """One bad draft among several leaves nothing behind."""
    with closing(opener()) as store:
        store.append([_apply(0)])
        for bad in (Draft("gossip", {}), Draft("apply", {"x": float("nan")})):
            try:
                store.append([_apply(1), bad])
            except ValueError:
                pass
            else:
                raise ConformanceError(f"the store accepted {bad}")
        _expect([record.seq for record in store.records()] == [1], "half of a failed append stayed")
        _expect([store.append([_apply(2)])[0].seq] == [2], "a failed append used up a number")


def refuses_a_stale_head(opener: Opener) -> None:
    """`expect` lets exactly one of two writers through."""
    with closing(opener()) as store:
        (first,) = store.append([_apply(0)], expect=ROOT)
        store.append([_apply(1)], expect=first.digest)
        try:
            store.append([_apply(2)], expect=first.digest)
        except StaleHeadError:
            pass
        else:
            raise ConformanceError("a stale head was accepted")
        _expect([record.seq for record in store.records()] == [1, 2], "the refused record was written")


def finds_by_abbreviated_name(opener: Opener) -> None:
    """HEAD, #number and the beginning of an id name one record; anything else is an error."""
    with closing(opener()) as store:
        records = store.append([_apply(n) for n in range(40)])
        _expect(resolve(store, records[7].digest[:12]) == records[7], "an abbreviated id is not found")
        _expect(resolve(store, records[7].digest.upper()) == records[7], "capital letters are not found")
        _expect(resolve(store, "#8") == records[7], "a number is not found")
        _expect(resolve(store, "HEAD") == records[-1], "HEAD is not found")
        _expect(len(store.find("")) == FIND_LIMIT, "find does not stop at ten")
        missing = next(p for p in (f"{n:04x}" for n in range(1 << 16)) if not _starting(records, p))
        for name in ("#99", missing, "xyz", "12", ""):
            try:
                resolve(store, name)
            except UnknownEntryError:
                continue
            raise ConformanceError(f"{name!r} found something")


def _starting(records: tuple[Record, ...], prefix: str) -> bool:
    return any(record.digest.startswith(prefix) for record in records)


def looks_up_by_key(opener: Opener) -> None:
    """Records are found by the key they touch, or beneath a key, and by nothing that merely looks alike."""
    with closing(opener()) as store:
        store.append(
            [
                _apply(1, '["config","a"]'),
                _apply(2, '["config","a","b"]', '["config","a","c"]'),
                _apply(3, '["config","ab"]', '["config","a","b"]'),
                _apply(4, '["files","a"]', '["config","a","\\u00e9"]'),
            ]
        )
        _expect(store.touching('["config","a"]') == (1,), "lookup of one key")
        _expect(store.touching('["config","a"]', below=True) == (2, 3, 4), "lookup beneath a key")
        _expect(store.touching('["config","a","b"]') == (2, 3), "lookup of a deeper key")
        _expect(store.touching('["config"]', below=True) == (1, 2, 3, 4), "lookup beneath a surface")
        _expect(store.touching('["tools","a"]') == (), "lookup of a key nobody touched")


def forgets_attachments_only(opener: Opener) -> None:
    """Forgetting removes the value and says so; the chain stays whole, other values stay."""
    with closing(opener()) as store:
        store.append([Draft("apply", {"n": 1}, {"before": "secret", "after": "kept"}), _apply(2)])
        record = store.forget({1: ["before"]})
        _expect(record.kind == "forget", "forgetting left no record")
        _expect(store.attachment(1, "before") is None, "the value is still there")
        _expect(store.attachment(1, "after") == '"kept"', "another value was lost")
        _expect(store.attachment(2, "before") == '{"n":2}', "another record's value was lost")
        _expect(store.attachment(2, "nonsense") is None, "an attachment that never was is there")
        _expect(store.check().whole, f"forgetting broke the journal: {store.check().faults}")


def unknown_numbers_are_errors(opener: Opener) -> None:
    """Asking for a record that is not there says so."""
    with closing(opener()) as store:
        for ask in (store.get, lambda seq: store.forget({seq: ["before"]})):
            try:
                ask(5)
            except UnknownEntryError:
                continue
            raise ConformanceError("a record that is not there was found")


def serialises_threads(opener: Opener) -> None:
    """Four threads on one store lose nothing; the lock keeps a read and a write together."""
    with closing(opener()) as store:
        problems: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(25):
                    with store.lock():
                        head = store.head()
                        store.append([_apply(0)], expect=head.digest if head else ROOT)
            except JournalError as error:
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _expect(not problems, f"a thread failed: {problems[:1]}")
        _expect([r.seq for r in store.records()] == list(range(1, 101)), "records were lost")
        _expect(store.check().whole, "the chain is broken")


CHECKS: tuple[Check, ...] = (
    begins_empty,
    keeps_values_and_their_types,
    chains_every_record,
    pages_through_long_histories,
    appends_all_or_nothing,
    refuses_a_stale_head,
    finds_by_abbreviated_name,
    looks_up_by_key,
    forgets_attachments_only,
    unknown_numbers_are_errors,
    serialises_threads,
)
"""Checks every store passes."""


def stays_after_closing(opener: Opener) -> None:
    """What was appended is there when the journal is opened again."""
    with closing(opener()) as store:
        records = store.append([_apply(1, '["config","a"]'), _apply(2)])
    with closing(opener()) as store:
        _expect(tuple(store.records()) == records, "records differ after opening again")
        _expect(store.touching('["config","a"]') == (1,), "the index is gone after opening again")


def two_connections_share_one_chain(opener: Opener) -> None:
    """Writers through two connections extend one chain, and each sees the other's records."""
    with closing(opener()) as one, closing(opener()) as two:
        for n in range(10):
            (one, two)[n % 2].append([_apply(n)])
        _expect([r.payload["n"] for r in one.records()] == list(range(10)), "a record is lost or out of order")
        _expect(one.head() == two.head(), "two connections see different heads")
        _expect(one.check().whole, "the chain is broken")


def lock_keeps_other_connections_out(opener: Opener) -> None:
    """While one connection holds the lock, another waits and then gives up with a clear error."""
    with closing(opener()) as one, closing(opener()) as two:
        with one.lock(), one.lock():
            try:
                with two.lock(timeout=0.2):
                    raise ConformanceError("two connections hold the lock at once")
            except JournalError as error:
                _expect("another process" in str(error), f"the message does not say who is in the way: {error}")
        with two.lock(timeout=5):
            two.append([_apply(1)])


DURABLE_CHECKS: tuple[Check, ...] = (
    stays_after_closing,
    two_connections_share_one_chain,
    lock_keeps_other_connections_out,
)
"""Checks for stores that outlive their process."""
