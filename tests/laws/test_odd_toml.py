"""Every edit of oddly written TOML: the value comes out as asked, and what came goes without trace.

Exceptions, which `leaves_a_trace` names: a container that held nothing but blanks; a pair put into a table that only
the headers below it made, which gets a header of its own.
"""

from __future__ import annotations

import pytest
from tests.support.odd_json import paths
from tests.support.odd_toml import ODD_TOML

from takeback.adapters.formats.document import insert_value, is_alike, look_up, move_value, put_value, remove_value
from takeback.adapters.formats.toml_document import TomlDocument
from takeback.adapters.formats.toml_tree import TableOrigin, TomlTable
from takeback.errors import CannotSplice

NEW = [5, "s", [], [1, "b"], {}, {"k": 1}, {"k": {"j": [{"x": 1}]}}, [{"id": "n", "h": [{"t": 1}]}]]


def documents():
    for name, text in ODD_TOML.items():
        for crlf in (False, True):
            for bare in (False, True):
                found = text.replace("\n", "\r\n") if crlf else text
                found = "\ufeff" + found.rstrip("\r\n") if bare else found
                yield pytest.param(found.encode(), id=f"{name}{' crlf' * crlf}{' mark, no final newline' * bare}")


EVERY = pytest.mark.parametrize("data", list(documents()))


def within(short, long):
    left = iter(long)
    return all(byte in left for byte in short)


def comments(document):
    return sorted(document.data[slice(*span)] for span in document.tree.comments)


def attempted(edit, *reasons):
    """The result of an edit; None where it was refused for one of some reasons."""
    try:
        return edit()
    except CannotSplice as fault:
        if not any(reason in str(fault) for reason in reasons):
            raise
        return None


def leaves_a_trace(document, path, new):
    spot, there = document._find(path), document.get(path)
    if isinstance(spot, TomlTable):
        return spot.made is TableOrigin.BELOW and not isinstance(new, dict)
    return not there and b" " in spot_text(document, spot)


def spot_text(document, spot):
    value = getattr(spot, "value", spot)
    return document.data[slice(*value.span)]


@EVERY
def test_any_value_is_added_and_removed_without_trace(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        if not isinstance(document.get(path), dict):
            continue
        for new in NEW:
            for below in ((), ("y",)):
                added = (*path, "zz", *below)
                after = document.set(added, new)
                assert is_alike(after.value, put_value(document.value, added, new))
                assert within(data, after.data)
                if not leaves_a_trace(document, path, new if not below else {}):
                    assert after.remove((*path, "zz")).data == data


@EVERY
def test_items_are_inserted_and_removed_at_every_place(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        if not isinstance(there, list):
            continue
        tables = bool(there) and isinstance(there[0], dict)
        for at in {0, len(there) // 2, len(there)}:
            for new in [new for new in NEW if isinstance(new, dict)] if tables else NEW:
                place = (*path, at)
                after = document.insert(place, new)
                assert is_alike(after.value, insert_value(document.value, place, new))
                assert within(data, after.data)
                if not leaves_a_trace(document, path, new):
                    assert after.remove(place).data == data


@EVERY
def test_inserting_an_item_creates_a_missing_list(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        for new in (1, {"a": 1, "b": [{"c": 2}]}):
            if isinstance(document.get(path), dict):
                place = (*path, "zz", 0)
                after = document.insert(place, new)
                assert is_alike(after.value, insert_value(document.value, place, new))
                assert within(data, after.data)


@EVERY
def test_items_are_moved_and_moved_back_byte_for_byte(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        for at in range(min(len(there), 5)) if isinstance(there, list) else ():
            for to in {0, len(there) // 2, len(there) - 1} - {at}:
                after = attempted(lambda place=(*path, at), to=to: document.move(place, to), "split by others")
                if after is None:
                    continue
                assert is_alike(after.value, move_value(document.value, (*path, at), to))
                assert comments(after) == comments(document)
                assert after.move((*path, to), at).data == data


@EVERY
def test_a_removal_keeps_the_comments_of_other_keys(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        if not path:
            continue
        after = document.remove(path)
        assert is_alike(after.value, remove_value(document.value, path))
        lost = [comment for comment in comments(document) if comment not in comments(after)]
        if not isinstance(document.get(path), dict | list):
            assert len(lost) <= 1
        assert len(after.data) <= len(data)


@EVERY
def test_any_value_can_be_set_to_any_other_or_is_refused_with_a_reason(data):
    document = TomlDocument(data, "f")
    for path in paths(document.value):
        for new in NEW if path else ():
            after = attempted(lambda path=path, new=new: document.set(path, new), "a table cannot become something")
            if after is None:
                assert isinstance(path[-1], int)
                continue
            assert is_alike(after.value, put_value(document.value, path, new))
            if not isinstance(look_up(document.value, path), dict | list) and not isinstance(new, dict | list):
                assert comments(after) == comments(document)
