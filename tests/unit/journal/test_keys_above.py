"""The keys above a key are its beginnings, whatever stands in the names."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from takeback.journal import Draft, Store, open_journal
from takeback.journal.content import encode
from takeback.journal.key_index import iter_keys_above


def test_the_keys_above_a_key_are_those_of_the_paths_it_lies_beneath() -> None:
    chance = random.Random(1)
    for _ in range(2_000):
        path = [
            "".join(chance.choices('a,"\\]é\udc80\n[ b', k=chance.randrange(5)))
            for _ in range(chance.randrange(1, 6))
        ]
        above = list(iter_keys_above(encode(path)))
        assert above == [encode(path[:length]) for length in range(2, len(path))]


def append_and_fail(store: Store, keys: list[str]) -> None:
    with store.transaction():
        store.append([Draft("apply", {"touches": keys})])
        raise ZeroDivisionError


def test_an_index_is_right_after_an_addition_that_was_taken_back(tmp_path: Path) -> None:
    first, second = [[encode(["files", f"{letter}{at}"]) for at in range(1_200)] for letter in "ab"]
    with closing(open_journal(tmp_path / "journal.db")) as store:
        store.append([Draft("apply", {"touches": first})])
        assert [store.touching(key) for key in first] == [(1,)] * len(first)
        with pytest.raises(ZeroDivisionError):
            append_and_fail(store, [*first, *second])
        assert [store.touching(key) for key in (*first, *second)] == [(1,)] * len(first) + [()] * len(second)
        store.append([Draft("apply", {"touches": second})])
        assert [store.touching(key) for key in (*first, *second)] == [(1,)] * len(first) + [(2,)] * len(second)
