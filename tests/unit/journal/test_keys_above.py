"""The keys above a key are its beginnings, whatever stands in the names."""

from __future__ import annotations

import random

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
