"""What each dialect of JSON accepts and refuses, and how new values are written in it."""

from __future__ import annotations

import math

import pytest

from takeback.adapters.formats.document import MISSING, transform_in_order
from takeback.adapters.formats.json_document import (
    CommentedJsonDocument,
    Json5Document,
    JsoncDocument,
    JsonDocument,
    UnambiguousJsonDocument,
)
from takeback.errors import CannotSplice, InputError


class BlankJson(JsonDocument):
    blank = True


class MarklessJson(CommentedJsonDocument):
    byte_order_mark = False


COMMENT, TRAILING, BARE = b'{"a": 1 /* x */} // y', b'{"a": [1,],}', b"{a: 'b'}"


@pytest.mark.parametrize(
    ("kind", "accepted", "refused"),
    [
        (JsonDocument, [], [COMMENT, TRAILING, BARE]),
        (CommentedJsonDocument, [COMMENT], [TRAILING, BARE]),
        (JsoncDocument, [COMMENT, TRAILING], [BARE, b"[,]", b"[1,,]"]),
        (Json5Document, [COMMENT, TRAILING, BARE], [b"[,]", b"[1,,]", b"{a b: 1}", b"{1a: 1}", b"[01]", b"['a\nb']"]),
    ],
)
def test_a_dialect_accepts_exactly_what_its_clients_accept(kind, accepted, refused):
    for text in (*accepted, b"{}", b'\xef\xbb\xbf{"a":\r\n1}'):
        kind(text, "f")
    for text in (*refused, b"", b" \n", b"{", b"{} {}", b"nul", b"/* open"):
        with pytest.raises(InputError) as fault:
            kind(text, "f")
        assert fault.value.where.startswith("f, line ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x4A61", 0x4A61),
        ("-0xF", -15),
        ("+7", 7),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e-1", -0.05),
        ("5.e2", 500.0),
        ("1e3", 1000.0),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("'it\\'s \"x\"'", 'it\'s "x"'),
        ('"a\\\nb\\\r\nc"', "abc"),
        ("'\\x41\\u00e9\\0\\v\\q'", "Aé\0\vq"),
        ("'\\ud83d\\ude00'", "😀"),
        ("'tab\there'", "tab\there"),
        ("'\u2028'", "\u2028"),
        ("\u00a0\u3000true\v\f", True),
    ],
)
def test_json5_reads_its_own_number_and_string_forms(text, value):
    found = Json5Document(f"{{k: {text}}}".encode(), "f").value["k"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "text", ["'\\ud83d'", "'\\1'", "'\\x4'", "'\\u12'", "0x", "1.2.3", "+", "truex", "5a", "Nan"]
)
def test_json5_refuses_meaningless_values(text):
    with pytest.raises(InputError):
        Json5Document(f"[{text}]".encode(), "f")


@pytest.mark.parametrize(
    ("text", "key"),
    [("$a_1", "$a_1"), ("ünï", "ünï"), ("\\u0061b", "ab"), ("null", "null"), ("Infinity", "Infinity")],
)
def test_json5_has_bare_keys(text, key):
    assert Json5Document(f"{{{text}: 1}}".encode(), "f").value == {key: 1}


def test_numbers_that_are_not_finite_are_kept_and_never_written():
    document = Json5Document(b"{a: NaN, b: -Infinity, c: 1}", "f")
    assert document.set(("c",), 2).data == b"{a: NaN, b: -Infinity, c: 2}"
    with pytest.raises(CannotSplice, match="no JSON value"):
        document.set(("c",), math.nan)


def test_new_values_follow_the_documents_style():
    document = Json5Document(b"{\n  a: 'x', // why\n  'b-c': { d: 1, },\n}\n", "f")
    assert document.set(("e",), {"f": "it's", "g-h": [1]}).data == (
        b"{\n  a: 'x', // why\n  'b-c': { d: 1, },\n  e: { f: 'it\\'s', 'g-h': [1] },\n}\n"
    )
    quoted = Json5Document(b'{ "a" : "x" }', "f")
    assert quoted.set(("b",), "y").data == b'{ "a" : "x", "b" : "y" }'


def test_a_new_object_follows_the_ones_beside_it():
    data = b'{\n  "s": {\n    "one": { "c": "x" },\n    "two": { "c": "y" }\n  }\n}\n'
    after = JsonDocument(data, "f").set(("s", "three"), {"c": "z", "l": [1, 2]})
    assert after.data == data.replace(b'"y" }\n', b'"y" },\n    "three": { "c": "z", "l": [1, 2] }\n')


def test_a_new_last_member_follows_the_documents_trailing_comma_style():
    data = b'{\n  "s": {\n    "c": "x",\n  },\n}\n'
    after = JsoncDocument(data, "f").set(("t",), {"c": ["y"]})
    assert after.data == data[:-2] + b'  "t": {\n    "c": [\n      "y",\n    ],\n  },\n}\n'


def test_the_last_of_two_equal_keys_counts_and_is_edited():
    document = JsonDocument(b'{"a": 1, "b": 0, "a": 2}', "f")
    assert document.value == {"a": 2, "b": 0}
    assert document.set(("a",), 3).data == b'{"a": 1, "b": 0, "a": 3}'
    assert document.remove(("b",)).data == b'{"a": 1, "a": 2}'
    for refused in (lambda: document.remove(("a",)), lambda: document.move_member(("b",), 0)):
        with pytest.raises(CannotSplice, match="more than once"):
            refused()
    with pytest.raises(InputError):
        UnambiguousJsonDocument(document.data, "f")


@pytest.mark.parametrize("data", [b"", b"\n", b"  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"])
def test_a_blank_file_is_an_empty_object_where_the_client_allows_it(data):
    document = BlankJson(data, "f")
    assert document.value == {}
    assert document.get(("a",)) is MISSING
    for after in (document.set(("a", "b"), [1]), document.insert(("a", 0), 1), document.insert_member(("a",), 1, 0)):
        assert after.data.startswith(data[:3] if data.startswith(b"\xef") else b"{")
        assert after.data.endswith(b"}\r\n" if b"\r" in data else b"}\n" if b"  " not in data else b"}\n  ")
        assert set(after.value) == {"a"}
    with pytest.raises(CannotSplice):
        document.remove(("a",))


def test_a_byte_order_mark_is_refused_where_the_client_refuses_it():
    with pytest.raises(InputError, match="byte-order mark"):
        MarklessJson(b"\xef\xbb\xbf{}", "f")


RULES = b'{\n  "bash": {\n    "*": "ask", // first\n    "git *": "allow",\n    "rm *": "deny"\n  }\n}\n'


def test_members_are_read_inserted_and_moved_in_order():
    document = JsoncDocument(RULES, "f")
    assert [key for key, _ in document.members(("bash",))] == ["*", "git *", "rm *"]
    after = document.insert_member(("bash", "ls"), "allow", 1)
    assert after.data == RULES.replace(b"// first\n", b'// first\n    "ls": "allow",\n')
    last = document.move_member(("bash", "*"), 2)
    assert last.data == (
        b'{\n  "bash": {\n    "git *": "allow",\n    "rm *": "deny",\n    "*": "ask" // first\n  }\n}\n'
    )
    assert last.move_member(("bash", "*"), 0).data == RULES
    with pytest.raises(CannotSplice, match="there already"):
        document.insert_member(("bash", "*"), "deny", 0)


def test_an_object_gets_its_members_in_the_wanted_order():
    wanted = {"rm *": "ask", "*": "ask", "new": "allow", "git *": "allow"}
    after = transform_in_order(JsoncDocument(RULES, "f"), wanted, ("bash",))
    assert list(after.value["bash"].items()) == list(wanted.items())
    assert b"// first" in after.data


def test_a_missing_item_or_a_member_of_a_list_is_refused_with_a_reason():
    document = JsonDocument(b'{"l": [1], "n": 5}', "f")
    for path in (("l", 3), ("n", "x"), ("l", "x"), ("n", 0)):
        with pytest.raises(CannotSplice, match="cannot be edited in place"):
            document.set(path, 1)
