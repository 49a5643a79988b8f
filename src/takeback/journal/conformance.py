"""The contract of a journal store as checks any backend can run; `CHECKS` is the whole list.

Each check takes an `Opener`, which opens the same journal (empty at first) again at every call, and raises
`ConformanceError` with what it expected. A new backend runs `CHECKS` against its opener, and `DURABLE_CHECKS`
if it outlives its process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import pairwise

from takeback.errors import (
    JournalBusyError,
    JournalError,
    NotHeldError,
    StaleHeadError,
    TakebackError,
    UnknownEntryError,
)
from takeback.journal.content import Json, Leaf, Stored, Tree, make_leaf
from takeback.journal.record import ROOT, Draft, Record
from takeback.journal.store import FIND_LIMIT, Store, resolve_record

Opener = Callable[[], Store]
StoreCheck = Callable[[Opener], None]

VALUES: Mapping[str, Json] = {
    "i": 1,
    "f": 1.0,
    "b": True,
    "n": None,
    "s": "snöw ☃ 😀 \x00 \ud800",
    "l": [1, [2.5, {"k": ""}]],
}


class ConformanceError(TakebackError):
    """A store does not keep the contract."""


def expect(condition: bool, message: str) -> None:
    """Raise unless something holds."""
    if not condition:
        raise ConformanceError(message)


def expect_fault(faults: type[Exception], ask: Callable[[], object], message: str) -> Exception:
    """Return the fault of a kind that asking raises; raise unless it does."""
    try:
        ask()
    except faults as fault:
        return fault
    raise ConformanceError(message)


def draft_entry(number: int, *keys: str) -> Draft:
    """Build the draft of an entry that touches keys and captures a number."""
    return Draft("apply", {"n": number, "touches": list(keys)}, {"before": make_leaf({"n": number})})


def get_only_content(store: Store, record: Record, name: str) -> Stored | None:
    """Return the one content that a record has under a name."""
    (ref,) = record.refs(name)
    return store.content(ref or "")


def begins_empty(opener: Opener) -> None:
    """Check that a new journal has no head, no records, and no faults."""
    with closing(opener()) as store:
        expect(store.head() is None, "a new journal has a head")
        expect(list(store.records()) == [], "a new journal has records")
        expect(store.latest("checkpoint") is None, "a new journal has a checkpoint")
        expect(store.check().whole, "a new journal has faults")


def keeps_values_and_their_types(opener: Opener) -> None:
    """Check that what goes in comes out, by value and by type."""
    with closing(opener()) as store:
        store.append([Draft("apply", VALUES, {"before": make_leaf(VALUES), "after": [None, Leaf(b"\xff\x00raw")]})])
        record = store.get(1)
        expect(repr(sorted(record.payload.items())) == repr(sorted(VALUES.items())), "payload changed")
        held = get_only_content(store, record, "before")
        expect(held is not None and repr(held.json()) == repr(dict(sorted(VALUES.items()))), "content changed")
        nothing, raw = record.refs("after")
        expect(nothing is None, "nothing became something")
        expect(store.content(raw or "") == Stored(b"\xff\x00raw"), "bytes changed")


def keeps_large_contents(opener: Opener) -> None:
    """Check that a content of several pieces comes back whole, compressible or not."""
    plain = bytes(range(256)) * 12_000
    noise = b"".join(make_leaf(n * 7919 % 1_000_003).data for n in range(400_000))
    with closing(opener()) as store:
        (record,) = store.append([Draft("apply", {}, {"before": Leaf(plain), "after": Leaf(noise)})])
        for name, data in (("before", plain), ("after", noise)):
            held = get_only_content(store, record, name)
            expect(held is not None and held.data == data, f"a large content changed ({name})")
        expect(store.check().whole, f"large contents are faulty: {store.check().faults}")


def keeps_equal_contents_once(opener: Opener) -> None:
    """Check that equal values in one scope are one content, and small ones in different scopes are not."""
    with closing(opener()) as store:
        first, second = store.append([Draft("apply", {}, {"after": make_leaf("on", "a")}) for _ in range(2)])
        (other,) = store.append([Draft("apply", {}, {"after": make_leaf("on", "b")})])
        expect(first.refs("after") == second.refs("after"), "one value in one place is stored twice")
        expect(first.refs("after") != other.refs("after"), "values in different places share a content")
        big = [Draft("apply", {}, {"after": make_leaf("x" * 9000, scope)}) for scope in "ab"]
        three, four = store.append(big)
        expect(three.refs("after") == four.refs("after"), "a large content is stored twice")


def keeps_trees_with_their_parts(opener: Opener) -> None:
    """Check that a tree names its parts, and that a part shared by two trees is one content."""
    with closing(opener()) as store:
        trees = [Tree({"x": 0, "n": n}, [make_leaf("shared", "k"), make_leaf(n, "own")], "t") for n in range(2)]
        records = store.append([Draft("apply", {}, {"after": tree}) for tree in trees])
        opened = [
            held.open_tree() for record in records if (held := get_only_content(store, record, "after")) is not None
        ]
        expect([value for _, value in opened] == [{"x": 0, "n": 0}, {"x": 0, "n": 1}], "a tree changed")
        (shared, own), (again, other) = opened[0][0], opened[1][0]
        expect(shared == again and own != other, "parts are not shared as they should be")
        expect(store.content(shared) == Stored(b'"shared"'), "a part changed")
        expect(store.check().whole, f"trees are faulty: {store.check().faults}")


def chains_every_record(opener: Opener) -> None:
    """Check that records and entries are numbered densely from 1, and that each record names the one before."""
    with closing(opener()) as store:
        drafts = [
            draft_entry(0),
            Draft("commit", {"entry": 1}),
            draft_entry(1),
            Draft("abort", {"entry": 2}),
            draft_entry(2),
        ]
        records = [store.append([draft])[0] for draft in drafts]
        expect([record.seq for record in records] == [1, 2, 3, 4, 5], "places are not 1, 2, 3, …")
        expect([record.number for record in records] == [1, None, 2, None, 3], "entries are not 1, 2, 3")
        expect(records[0].prev == ROOT, "the first record does not follow the root")
        expect(all(b.prev == a.digest for a, b in pairwise(records)), "the chain is broken")
        expect(store.head() == records[-1], "the head is not the last record")
        expect(list(store.records()) == records, "reading back differs from what append returned")
        expect(list(store.records(4, reverse=True)) == records[:2:-1], "reading backwards is wrong")
        expect(store.get(2) == records[2] and store.record(4) == records[3], "a record is found under another's name")
        expect(list(store.many([3, 1])) == [records[4], records[0]], "several entries at once are others")
        expect(store.latest("abort") == records[3], "the last record of a kind is another")
        expect(store.latest("apply", before=5) == records[2], "the last record before a place is another")


def pages_through_long_histories(opener: Opener) -> None:
    """Check that more records than fit a page are read once each, both ways."""
    with closing(opener()) as store:
        store.append([draft_entry(n) for n in range(1101)])
        expect([r.seq for r in store.records()] == list(range(1, 1102)), "forward reading skips or repeats")
        expect([r.seq for r in store.records(reverse=True)] == list(range(1101, 0, -1)), "backward reading does")


def appends_all_or_nothing(opener: Opener) -> None:
    """Check that one bad draft among several leaves nothing behind."""
    with closing(opener()) as store:
        store.append([draft_entry(0)])
        for bad in (Draft("gossip", {}), Draft("apply", {"x": float("nan")})):
            expect_fault(ValueError, partial(store.append, [draft_entry(1), bad]), f"the store accepted {bad}")
        expect([record.seq for record in store.records()] == [1], "half of a failed append stayed")
        expect([store.append([draft_entry(2)])[0].number] == [2], "a failed append used up a number")


def refuses_a_stale_head(opener: Opener) -> None:
    """Check that `expect` lets exactly one of two writers through."""
    with closing(opener()) as store:
        (first,) = store.append([draft_entry(0)], expect=ROOT)
        store.append([draft_entry(1)], expect=first.digest)
        late = partial(store.append, [draft_entry(2)], expect=first.digest)
        expect_fault(StaleHeadError, late, "a stale head was accepted")
        expect([record.seq for record in store.records()] == [1, 2], "the refused record was written")


def finds_by_abbreviated_name(opener: Opener) -> None:
    """Check that HEAD, a number and the beginning of an id name one record, and anything else is an error."""
    with closing(opener()) as store:
        records = store.append([draft_entry(n) for n in range(40)])
        expect(resolve_record(store, records[7].digest[:12]) == records[7], "an abbreviated id is not found")
        expect(resolve_record(store, records[7].digest.upper()) == records[7], "capital letters are not found")
        expect(resolve_record(store, "#8") == records[7] == resolve_record(store, "8"), "a number is not found")
        expect(resolve_record(store, "HEAD") == records[-1], "HEAD is not found")
        expect(len(store.find("")) == FIND_LIMIT, "find does not stop at ten")
        taken = {record.digest[:4] for record in records}
        missing = next(prefix for prefix in (f"{n:03x}f" for n in range(1 << 12)) if prefix not in taken)
        for name in ("#0", "#99", "#99999999999999999999999", "#²", missing, "xyz", "41", "abc", ""):
            expect_fault(UnknownEntryError, partial(resolve_record, store, name), f"{name!r} found something")


def looks_up_by_key(opener: Opener) -> None:
    """Check that entries are found by the key they touch, or beneath a key, and by nothing similar."""
    with closing(opener()) as store:
        keys = (
            ['["config","a"]'],
            ['["config","a","b"]', '["config","a","c","d"]'],
            ['["config","ab"]', '["config","a","b"]', '["config","a","b"]'],
            ['["files","a"]', '["config","a","\\u00e9"]'],
        )
        store.append([draft_entry(n, *touched) for n, touched in enumerate(keys)])
        expect(store.touching('["config","a"]') == (1,), "lookup of one key")
        expect(store.touching('["config","a"]', below=True) == (2, 3, 4), "lookup beneath a key")
        expect(store.touching('["config","a","b"]') == (2, 3, 3), "lookup of a key touched twice")
        expect(store.touching('["config","a","c"]', below=True) == (2,), "lookup beneath a deeper key")
        expect(store.touching('["tools","a"]') == (), "lookup of a key nobody touched")
        expect(store.check().whole, f"the index is faulty: {store.check().faults}")


def forgets_contents(opener: Opener) -> None:
    """Check that forgetting removes a content everywhere, records it, and keeps the chain and other contents."""
    with closing(opener()) as store:
        secret, kept = make_leaf("secret", "k"), make_leaf("kept", "k")
        first, second = store.append([Draft("apply", {}, {"before": secret, "after": kept}) for _ in range(2)])
        (ref,) = first.refs("before")
        erased = store.forget([ref or ""])
        expect(erased.record.kind == "forget", "forgetting left no record")
        expect(
            get_only_content(store, first, "before") is None and get_only_content(store, second, "before") is None,
            "it is still there",
        )
        expect(get_only_content(store, second, "after") == Stored(b'"kept"'), "another content was lost")
        expect(store.check().whole, f"forgetting broke the journal: {store.check().faults}")
        (again,) = store.append([Draft("apply", {}, {"before": make_leaf("secret", "k")})])
        expect(again.refs("before") != (ref,), "a forgotten content came back under its old id")
        expect(
            get_only_content(store, again, "before") == Stored(b'"secret"'),
            "what was forgotten cannot be captured again",
        )
        expect(
            b"secret" in {held.data.strip(b'"') for _, held in store.every_content()}, "not all contents are listed"
        )
        store.forget([ref or ""])
        expect(store.check().whole, "forgetting twice broke the journal")


def drops_contents_with_their_ids(opener: Opener) -> None:
    """Check that dropping removes contents, says how many, keeps the chain, and hides no other loss."""
    with closing(opener()) as store:
        leaves = [make_leaf(f"value {number}", str(number)) for number in range(3)]
        (record,) = store.append([Draft("apply", {}, {"after": leaves})])
        first, second, third = (ref or "" for ref in record.refs("after"))
        store.forget([second])
        erased = store.drop([first], {first})
        expect(erased.record.kind == "forget", "dropping left no record")
        contents = store.contents([first, second, third])
        expect(
            contents == {first: None, second: None, third: Stored(b'"value 2"')},
            "other contents went than those dropped",
        )
        expect(store.check().whole, f"dropping broke the journal: {store.check().faults}")
        store.drop([third], ())
        expect(not store.check().whole, "a content that went without a word is not noticed")


def unknown_names_are_errors(opener: Opener) -> None:
    """Check that asking for a record or a content that does not exist is an error."""
    with closing(opener()) as store:
        for ask in (store.get, store.record, lambda n: list(store.many([n]))):
            expect_fault(UnknownEntryError, partial(ask, 5), "a record that is not there was found")
        for ask_content in (store.content, lambda ref: store.forget([ref])):
            expect_fault(JournalError, partial(ask_content, "nonsense"), "a content that is not there was found")


def tells_whether_the_lock_is_held(opener: Opener) -> None:
    """Check that only the holder of the lock may go on."""
    with closing(opener()) as store:
        store.append([draft_entry(0)])
        with store.lock():
            store.assert_held()
            store.append([draft_entry(1)])
            store.assert_held()
        expect_fault(NotHeldError, store.assert_held, "the lock is held after it was let go")


def serialises_threads(opener: Opener) -> None:
    """Check that four threads on one store lose nothing, and that the lock keeps a read and a write together."""
    with closing(opener()) as store:
        problems: list[BaseException] = []

        def work() -> None:
            try:
                for _ in range(25):
                    with store.lock():
                        head = store.head()
                        store.append([draft_entry(0)], expect=head.digest if head else ROOT)
            except JournalError as error:
                problems.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(not problems, f"a thread failed: {problems[:1]}")
        expect([r.seq for r in store.records()] == list(range(1, 101)), "records were lost")
        expect(store.check().whole, "the chain is broken")


CHECKS: tuple[StoreCheck, ...] = (
    begins_empty,
    keeps_values_and_their_types,
    keeps_large_contents,
    keeps_equal_contents_once,
    keeps_trees_with_their_parts,
    chains_every_record,
    pages_through_long_histories,
    appends_all_or_nothing,
    refuses_a_stale_head,
    finds_by_abbreviated_name,
    looks_up_by_key,
    forgets_contents,
    drops_contents_with_their_ids,
    unknown_names_are_errors,
    tells_whether_the_lock_is_held,
    serialises_threads,
)
"""Checks every store passes."""


def stays_after_closing(opener: Opener) -> None:
    """Check that appended records are there when the journal is opened again."""
    with closing(opener()) as store:
        records = store.append([draft_entry(1, '["config","a"]'), draft_entry(2)])
    with closing(opener()) as store:
        expect(tuple(store.records()) == records, "records differ after opening again")
        expect(store.touching('["config","a"]') == (1,), "the index is gone after opening again")
        expect(
            get_only_content(store, records[1], "before") == Stored(b'{"n":2}'),
            "contents are gone after opening again",
        )


def two_connections_share_one_chain(opener: Opener) -> None:
    """Check that two connections extend one chain and see each other's records and contents."""
    with closing(opener()) as first, closing(opener()) as second:
        for n in range(10):
            (first, second)[n % 2].append([draft_entry(n % 3, '["config","a"]')])
        expect(
            [r.payload["n"] for r in first.records()] == [n % 3 for n in range(10)], "a record is lost or misplaced"
        )
        expect(first.head() == second.head(), "two connections see different heads")
        expect(
            first.touching('["config","a"]') == tuple(range(1, 11)), "one connection misses what the other touched"
        )
        expect(second.touching('["config","a"]') == tuple(range(1, 11)), "the other misses what the first touched")
        expect(first.check().whole, "the chain is broken")


def lock_keeps_other_connections_out(opener: Opener) -> None:
    """Check that while one connection holds the lock, another waits and then fails with a clear error."""
    with closing(opener()) as first, closing(opener()) as second:
        with first.lock(), first.lock():
            fault = expect_fault(
                JournalError, second.lock(timeout=0.2).__enter__, "two connections hold the lock at once"
            )
            expect("another process" in str(fault), f"the message does not say who is in the way: {fault}")
        with second.lock(timeout=5):
            second.append([draft_entry(1)])


def notices_that_another_has_written(opener: Opener) -> None:
    """Check that nobody can write while the lock is held, or that its holder notices before it goes on."""
    with closing(opener()) as first, closing(opener()) as second:
        first.append([draft_entry(0)])
        with first.lock():
            first.assert_held()
            try:
                second.append([draft_entry(9)])
            except JournalBusyError:
                first.assert_held()
                return
            expect_fault(NotHeldError, first.assert_held, "a writer that was overtaken goes on")


def forgets_for_other_connections_too(opener: Opener) -> None:
    """Check that what one connection forgets is gone for another open one as well."""
    with closing(opener()) as first, closing(opener()) as second:
        (record,) = first.append([Draft("apply", {}, {"before": make_leaf("secret", "k")})])
        expect(get_only_content(second, record, "before") == Stored(b'"secret"'), "a content is not shared")
        (ref,) = record.refs("before")
        first.forget([ref or ""])
        expect(
            get_only_content(second, record, "before") is None, "another connection still finds what was forgotten"
        )
        expect(second.check().whole, "forgetting looks like damage from another connection")


DURABLE_CHECKS: tuple[StoreCheck, ...] = (
    stays_after_closing,
    two_connections_share_one_chain,
    lock_keeps_other_connections_out,
    notices_that_another_has_written,
    forgets_for_other_connections_too,
)
"""Checks for stores that outlive their process."""
