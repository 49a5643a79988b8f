"""Random YAML documents, random changes: PyYAML reads what was asked, every other line stays, what came goes."""

from __future__ import annotations

import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from takeback.adapters.formats.document import (
    insert_value,
    is_alike,
    look_up,
    patch_document,
    put_value,
    remove_value,
    reorder_items,
    transform_document,
)
from takeback.adapters.formats.yaml_document import YamlDocument

KEYS = st.sampled_from(["a", "b", "c d", "e.f", "ü", "yes", "1", "-x", "k:", "# k", "long key with words"])
TEXTS = st.sampled_from(
    [
        "",
        "x",
        "yes",
        "no",
        "on",
        "null",
        "~",
        "0123",
        "1:30",
        "2024-01-01",
        "x: y",
        "x #y",
        "- x",
        "a\nb\n",
        "a\n\n b",
        "\n",
    ]
) | st.text(max_size=12)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False), TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
STYLE = st.fixed_dictionaries(
    {
        "flow": st.sampled_from([None, False, True]),
        "quote": st.sampled_from([None, "'", '"', "|", ">"]),
        "indent": st.sampled_from([2, 3, 4]),
        "dashes": st.booleans(),
        "comments": st.booleans(),
        "start": st.booleans(),
        "crlf": st.booleans(),
        "mark": st.booleans(),
        "final": st.booleans(),
    }
)


class Dumper(yaml.SafeDumper):
    """PyYAML's own, with lists to the right of their keys where that is asked for."""

    dashes = False

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, indentless and not self.dashes)

    def ignore_aliases(self, data):
        return True


def write(value, style):
    """A document as PyYAML writes it, in some style; comments only where they cannot be taken for text."""
    dumper = type("Styled", (Dumper,), {"dashes": style["dashes"]})
    text = yaml.dump(
        value,
        Dumper=dumper,
        default_flow_style=style["flow"],
        default_style=style["quote"],
        indent=style["indent"],
        explicit_start=style["start"],
        allow_unicode=True,
        sort_keys=False,
        width=40,
    )
    if style["comments"] and not style["start"]:
        text = "# head\n\n" + text
    if style["comments"] and not text.endswith("+\n\n"):
        text += "# foot\n"
    if not style["final"] and style["comments"]:
        text = text.rstrip("\n")
    if style["crlf"]:
        text = text.replace("\n", "\r\n")
    return (("\ufeff" if style["mark"] else "") + text).encode()


def open_written(value, style):
    """The document of a value, if PyYAML reads again what it wrote: it does not for every line separator."""
    data = write(value, style)
    assume(is_alike(read(data), value))
    return YamlDocument(data, "f")


def paths(value, above=()):
    yield above
    if isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*above, step))


def lines_between(one, two):
    """How many lines at the start and at the end two texts share."""
    first, second = (text.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True) for text in (one, two))
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    return first[start : len(first) - end]


def lines_of(document, path):
    """The lines on which the value at a path stands, the one before, and the one behind, which may take its place."""
    node = document._find(path)
    first = document.data.count(b"\n", 0, node.start)
    last = document.data.count(b"\n", 0, node.end)
    return document.data.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True)[max(0, first - 1) : last + 2]


def read(data):
    return yaml.safe_load(data.decode("utf-8-sig"))


@settings(max_examples=400, deadline=None)
@given(st.data(), DOCUMENTS, STYLE)
def test_any_edit_gives_the_requested_value_and_keeps_every_other_line(data, value, style):
    before = open_written(value, style)
    assert is_alike(before.value, value)
    path = data.draw(st.sampled_from([path for path in paths(value) if path]))
    there, new = look_up(value, path), data.draw(VALUES)
    removes = data.draw(st.booleans())
    if removes:
        after, wanted = before.remove(path), remove_value(value, path)
    elif isinstance(there, list):
        at = data.draw(st.integers(0, len(there)))
        after, wanted = before.insert((*path, at), new), insert_value(value, (*path, at), new)
    elif isinstance(there, dict):
        after, wanted = before.set((*path, "zz"), new), put_value(value, (*path, "zz"), new)
    else:
        after, wanted = before.set(path, new), put_value(value, path, new)
    assert is_alike(after.value, wanted)
    assert is_alike(read(after.data) or {}, wanted)
    changed = lines_between(before.data, after.data)
    near = path[:-1] if removes and path[:-1] and len(look_up(value, path[:-1])) == 1 else path
    allowed = lines_of(before, near) if not (removes and near == ()) else before.data.splitlines(keepends=True)
    assert len(changed) <= len(allowed)
    assert all(line in allowed for line in changed)
    assert after.data.startswith("\ufeff".encode()) is style["mark"]
    if style["crlf"]:
        assert b"\n" not in after.data.replace(b"\r\n", b"")


@settings(max_examples=200, deadline=None)
@given(st.data(), DOCUMENTS, STYLE)
def test_removing_an_addition_leaves_no_trace(data, value, style):
    before = open_written(value, style)
    mappings = [path for path in paths(value) if isinstance(look_up(value, path), dict) and look_up(value, path)]
    path, new = data.draw(st.sampled_from(mappings)), data.draw(VALUES)
    added = before.set((*path, "zz"), new)
    assert added.remove((*path, "zz")).data == before.data
    lists = [path for path in paths(value) if isinstance(look_up(value, path), list) and look_up(value, path)]
    for path in lists:
        at = data.draw(st.integers(0, len(look_up(value, path))))
        assert before.insert((*path, at), new).remove((*path, at)).data == before.data


@settings(max_examples=250, deadline=None)
@given(DOCUMENTS, DOCUMENTS, STYLE)
def test_any_document_can_be_transformed_into_any_other(one, two, style):
    before = open_written(one, style)
    for after in (transform_document(before, two), patch_document(before, one, two)):
        assert is_alike(after.value, two)
        assert is_alike(read(after.data), two)


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(4)), STYLE, st.lists(VALUES, min_size=4, max_size=4))
def test_a_list_can_be_put_in_any_order(order, style, items):
    before = open_written({"l": items, "last": 1}, style)
    after = reorder_items(before, ("l",), order)
    assert is_alike(after.value, {"l": [items[at] for at in order], "last": 1})
    assert is_alike(read(after.data), after.value)
    assert sorted(after.data) == sorted(before.data)
