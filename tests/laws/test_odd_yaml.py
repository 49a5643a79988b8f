"""Every edit of oddly written YAML: the value comes out, for PyYAML too, and what came goes without trace."""

from __future__ import annotations

import pytest
import yaml
from tests.support.odd_json import paths
from tests.support.odd_yaml import ODD_YAML

from takeback.adapters.formats.document import insert_value, is_alike, move_value, put_value, remove_value
from takeback.adapters.formats.yaml_document import YamlDocument
from takeback.errors import CannotSplice

NEW = [
    5,
    "s",
    "yes",
    "2024-01-01",
    "# no: comment",
    "two\nlines\n",
    " odd\n\n lines",
    None,
    [],
    [1, "b"],
    {},
    {"k": 1},
    {"k": {"j": [{"x": 1, "y": ["z"]}]}},
    [{"id": "n", "h": [{"t": 1}]}, [[1], 2]],
]


def documents():
    for name, text in ODD_YAML.items():
        for crlf in (False, True):
            for bare in (False, True):
                found = text.replace("\n", "\r\n") if crlf else text
                found = "\ufeff" + found.rstrip("\r\n") if bare else found
                marks = [pytest.mark.long] if crlf is not bare else []  # every day: as it is, and with both oddities
                label = f"{name}{' crlf' * crlf}{' mark, no final newline' * bare}"
                yield pytest.param(found.encode(), id=label, marks=marks)


EVERY = pytest.mark.parametrize("data", list(documents()))


def as_json(value):
    """What PyYAML read, as JSON: a key is its text, what JSON has not is left out of the comparison."""
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value if value is None or isinstance(value, str | bool | int) else "?"


def plain_keys(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) for key in value) and all(map(plain_keys, value.values()))
    return all(map(plain_keys, value)) if isinstance(value, list) else True


def check(document, after, wanted):
    """The value is the one wanted, and PyYAML reads the same where all of it is JSON."""
    assert is_alike(after.value, wanted)
    read = yaml.safe_load(after.data)
    if plain_keys(read) and plain_keys(yaml.safe_load(document.data)):
        mine = after.value
        differing = [one for one in _leaves(read, mine) if one[0] != one[1]]
        assert all(isinstance(text, str) and not isinstance(other, str) for other, text in differing), differing
    assert (b"\r\n" in after.data) is (b"\r\n" in document.data) or not after.data.strip()
    if b"\r\n" in document.data:
        assert b"\n" not in after.data.replace(b"\r\n", b"")


def _leaves(one, two):
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        for key in one:
            yield from _leaves(one[key], two[key])
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for pair in zip(one, two, strict=True):
            yield from _leaves(*pair)
    else:
        yield ({} if one is None and two == {} else one), two


def lines_gone(before, after):
    """Lines of the text before that are not, in order, in the text after."""
    left = iter(after.splitlines())
    return [line for line in before.splitlines() if not any(line == other for other in left)]


def test_pyyaml_reads_the_corpus_as_we_do():
    for text in ODD_YAML.values():
        document = YamlDocument(text.encode(), "f")
        check(document, document, document.value)


@EVERY
def test_any_value_is_added_and_removed_without_trace(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        if not isinstance(there, dict):
            continue
        for new in NEW:
            for below in ((), ("y",)):
                added = (*path, "zz", *below)
                after = document.set(added, new)
                check(document, after, put_value(document.value, added, new))
                if there:
                    assert after.remove((*path, "zz")).data == data


@EVERY
def test_items_are_inserted_and_removed_at_every_place(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        for at in {0, len(there) // 2, len(there)} if isinstance(there, list) else ():
            for new in NEW:
                place = (*path, at)
                after = document.insert(place, new)
                check(document, after, insert_value(document.value, place, new))
                if there:
                    assert after.remove(place).data == data


@EVERY
def test_members_are_inserted_and_removed_at_every_place(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        for at in {0, len(there) // 2, len(there)} if isinstance(there, dict) and there else ():
            for new in NEW:
                after = document.insert_member((*path, "zz"), new, at)
                assert list(after.get(path)).index("zz") == at
                assert after.remove((*path, "zz")).data == data


@EVERY
def test_any_value_can_be_set_to_any_other(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        for new in NEW if path else ():
            after = document.set(path, new)
            check(document, after, put_value(document.value, path, new))


@EVERY
def test_any_value_can_be_removed_and_the_other_lines_stay(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        if not path:
            continue
        after = document.remove(path)
        check(document, after, remove_value(document.value, path))
        comments = [document.data[slice(*span)] for span in document.tree.comments]
        left = [after.data[slice(*span)] for span in after.tree.comments]
        lost = [comment for comment in comments if comment not in left]
        gone = lines_gone(data, after.data)
        assert all(any(comment in line for line in gone) for comment in lost)


@EVERY
def test_items_are_moved_and_moved_back_byte_for_byte(data):
    document = YamlDocument(data, "f")
    for path in paths(document.value):
        there = document.get(path)
        for at in range(min(len(there), 5)) if isinstance(there, list) else ():
            for to in {0, len(there) // 2, len(there) - 1} - {at}:
                try:
                    after = document.move((*path, at), to)
                except CannotSplice:
                    assert b"|" in data  # a block whose text ends with a line break would stand at an end without one
                    assert not data.endswith(b"\n")
                    continue
                check(document, after, move_value(document.value, (*path, at), to))
                assert after.move((*path, to), at).data == data
