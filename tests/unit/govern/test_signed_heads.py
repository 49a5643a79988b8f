"""Signed heads: they hold for a journal that goes on, and for no other."""

from __future__ import annotations

import hashlib

import pytest

from takeback.govern.heads import (
    Head,
    HeadError,
    format_public_key,
    load_or_make_key,
    make_head,
    open_head,
    require_continuation,
    sign_head,
)
from takeback.govern.merkle import Frontier
from takeback.journal import Draft, open_journal

ORIGIN = "example.org/agent"


def naive_root(leaves):
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1
    while half * 2 < len(leaves):
        half *= 2
    return hashlib.sha256(b"\1" + naive_root(leaves[:half]) + naive_root(leaves[half:])).digest()


def fill(store, count):
    for at in range(count):
        store.append([Draft("evidence", {"entry": at})])


@pytest.fixture
def store():
    journal = open_journal(":memory:")
    fill(journal, 11)
    return journal


@pytest.fixture
def key(tmp_path):
    return load_or_make_key(tmp_path / "sign.key")


@pytest.fixture
def public(key):
    return format_public_key(ORIGIN, key.public_key().public_bytes_raw())


@pytest.mark.parametrize("size", range(70))
def test_the_incremental_root_equals_the_root_of_the_whole_tree(size):
    leaves = [bytes([at]) for at in range(size)]
    frontier = Frontier()
    for leaf in leaves:
        frontier.add(leaf)
    assert frontier.root() == naive_root(leaves)


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    first = load_or_make_key(tmp_path / "k")
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert load_or_make_key(tmp_path / "k").private_bytes_raw() == first.private_bytes_raw()


def test_a_journal_continues_a_head_that_was_signed_earlier(store, key, public):
    note = sign_head(make_head(store, ORIGIN), key)
    fill(store, 5)
    assert require_continuation(store, open_head(note, public)) == 5


def test_a_cached_frontier_gives_the_same_head_and_a_foreign_one_is_ignored(store, tmp_path):
    cache = tmp_path / "frontier.json"
    make_head(store, ORIGIN, cache)
    fill(store, 6)
    assert make_head(store, ORIGIN, cache) == make_head(store, ORIGIN)
    other = open_journal(":memory:")
    fill(other, 20)
    assert make_head(other, ORIGIN, cache) == make_head(other, ORIGIN)
    cache.write_text("{")
    assert make_head(store, ORIGIN, cache) == make_head(store, ORIGIN)


def test_another_history_and_a_shorter_one_are_refused_by_name(store):
    other = open_journal(":memory:")
    fill(other, 12)
    head = make_head(store, ORIGIN)
    with pytest.raises(HeadError) as fault:
        require_continuation(other, head)
    assert fault.value.problem == "root"
    short = open_journal(":memory:")
    fill(short, 3)
    with pytest.raises(HeadError) as fault:
        require_continuation(short, head)
    assert fault.value.problem == "shorter"


@pytest.mark.parametrize("text", ["", "a+b+c", "a+00000000+AAAA", "+1+2", "x"])
def test_an_invalid_key_is_refused(store, key, text):
    with pytest.raises(HeadError, match="key"):
        open_head(sign_head(make_head(store, ORIGIN), key), text)


def test_a_head_by_another_key_of_the_same_name_is_refused(store, key, public, tmp_path):
    other = load_or_make_key(tmp_path / "other.key")
    with pytest.raises(HeadError) as fault:
        open_head(sign_head(Head(ORIGIN, 1, b"\0" * 32), other), public)
    assert fault.value.problem == "signer"
