"""Edits of documents in place: whatever the formatting, the value comes out as asked and every other byte stays."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.adapters.formats.document import (
    MISSING,
    is_alike,
    look_up,
    put_value,
    remove_value,
    reorder_items,
    transform_document,
)
from takeback.adapters.formats.json_document import JsoncDocument, JsonDocument
from takeback.adapters.formats.toml_document import TomlDocument
from takeback.errors import CannotSplice, InputError
from takeback_lab.bytes.untouched import untouched

KEYS = st.sampled_from(["a", "b", "c d", "e.f", "ü"])
SCALARS = st.sampled_from([None, True, False, 0, -5, 1.5, "", 'x"\\', "# no // comment", "é\n", 2**62])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
STYLES = st.sampled_from(["minified", "indented", "tabs", "comma first", "spaced", "commented", "crlf", "bom"])


def written(value, style, depth=0):
    """JSON in some style of writing."""
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        colon = ":" if style == "minified" else " : " if style == "spaced" else ": "
        items = [
            f"{json.dumps(key, ensure_ascii=False)}{colon}{written(item, style, depth + 1)}"
            for key, item in value.items()
        ]
        start, end = "{", "}"
    else:
        items = [written(item, style, depth + 1) for item in value]
        start, end = "[", "]"
    unit = "\t" if style == "tabs" else "  "
    pad, close = "\n" + unit * (depth + 1), "\n" + unit * depth
    if style == "minified":
        return start + ",".join(items) + end
    if style == "spaced":
        return start + "  " + " , ".join(items) + " " + end
    if style == "comma first":
        return start + " " + f"{pad}, ".join(items) + close + end
    if style == "commented":
        lines = [f"{pad}// about {number}{pad}{item}, /* {number} */" for number, item in enumerate(items)]
        return start + "".join(lines) + close + end
    return start + ",".join(pad + item for item in items) + close + end


def document(value, style):
    text = written(value, style)
    if style == "crlf":
        text = text.replace("\n", "\r\n")
    data = ("\ufeff" if style == "bom" else "").encode() + text.encode()
    return (JsoncDocument if style == "commented" else JsonDocument)(data, "f")


def paths(value, above=()):
    yield above
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*above, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from paths(item, (*above, at))


@settings(max_examples=250, deadline=None)
@given(st.data(), st.dictionaries(KEYS, VALUES, max_size=4), STYLES)
def test_any_edit_of_json_gives_the_requested_value_and_keeps_the_rest(data, value, style):
    before = document(value, style)
    assert is_alike(before.value, value)
    path = data.draw(st.sampled_from(list(paths(value))))
    there = look_up(value, path)
    new = data.draw(VALUES)
    if path and data.draw(st.booleans()):
        after, effect = before.remove(path), "remove"
        assert is_alike(after.value, remove_value(value, path))
    elif isinstance(there, list):
        at = data.draw(st.integers(0, len(there)))
        after, effect = before.insert((*path, at), new), "insert"
    elif isinstance(there, dict):
        after, effect = before.set((*path, "zz"), new), "insert"
        assert is_alike(after.value, put_value(value, (*path, "zz"), new))
    else:
        after, effect = before.set(path, new), "replace"
        assert is_alike(after.value, put_value(value, path, new))
    assert untouched({"f": before.data}, {"f": after.data}, effect)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4), st.dictionaries(KEYS, VALUES, max_size=4), STYLES)
def test_any_json_can_be_transformed_into_any_other(one, two, style):
    assert is_alike(transform_document(document(one, style), two).value, two)


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(5)), STYLES)
def test_a_list_can_be_put_in_any_order_and_comments_stay(order, style):
    before = document({"l": [f"item {number}" for number in range(5)]}, style)
    after = reorder_items(before, ("l",), order)
    assert after.value == {"l": [f"item {number}" for number in order]}
    assert sorted(before.data) == sorted(after.data)


ODD = (
    "# top\na = 1_000 # why\nr = { max = 3, w = { f = 0.5 } } # three\nd.e = 1\nd.f.g = 2\n"
    'l = [ 1, # one\n  2,\n]\n\n# about t\n[t] # here\nx = "y"\n\n'
    '[[m]]\nid = "a"\n[m.o]\nk = 1\n[[ "m" ]] # second\nid = "b"\n'
)


@settings(max_examples=250, deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.booleans())
def test_any_edit_of_odd_toml_succeeds_or_is_refused(data, crlf, bom, final):
    text = ODD if final else ODD.rstrip("\n")
    raw = ("\ufeff" if bom else "").encode() + (text.replace("\n", "\r\n") if crlf else text).encode()
    before = TomlDocument(raw, "f")
    value = before.value
    path = data.draw(st.sampled_from([path for path in paths(value) if path]))
    there, new = look_up(value, path), data.draw(VALUES)
    effect = data.draw(st.sampled_from(["remove", "set", "insert"]))
    try:
        if effect == "remove":
            after, wanted = before.remove(path), remove_value(value, path)
        elif effect == "insert" and isinstance(there, dict):
            after, wanted = before.set((*path, "zz"), new), put_value(value, (*path, "zz"), new)
            assert untouched({"f.toml": before.data}, {"f.toml": after.data}, "insert")
        else:
            after, wanted = before.set(path, new), put_value(value, path, new)
    except CannotSplice:
        assert path[0] == "m"  # an element of an array of tables cannot become something else
        return
    assert is_alike(after.value, wanted)
    assert after.data.startswith("\ufeff".encode()) is bom
    kept = [comment for comment in (b"# top", b"# why", b"# three", b"# about t") if comment in after.data]
    assert len(kept) >= 3
    if crlf:
        assert b"\n" not in after.data.replace(b"\r\n", b"")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30) | st.sampled_from(["{", '{"a":', "[1,]", '{"a":1,"a":2}', "nul", '"\\x"', "{'a':1}"]))
def test_invalid_json_is_refused_with_line_and_column(text):
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = MISSING
    try:
        found, where = JsonDocument(text.encode("utf-8", "surrogatepass"), "f").value, "f"
    except InputError as fault:
        found, where = MISSING, fault.where
    assert where.startswith("f")
    if found is not MISSING:
        assert json.dumps(found) == json.dumps(value)
