"""A table that becomes a value stands where its first key did; new lines end as the others do."""

from __future__ import annotations

import pytest

from takeback.adapters.formats.document import patch_document
from takeback.adapters.formats.toml_document import ClientTomlDocument, TomlDocument


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# about\na.b = 1 # why\nx = 2\na.c = 3\n", "# about\na = 5 # why\nx = 2\n"),
        ("[t]\n# about\n  a.b.c = 1 # why\n  a.b.d=2\n[u]\n", "[t]\n# about\n  a = 5 # why\n[u]\n"),
        ("a.b=1", "a=5"),
    ],
)
def test_dotted_keys_become_a_value_in_their_place(text, expected):
    path = ("t", "a") if "[t]" in text else ("a",)
    assert TomlDocument(text.encode(), "t").set(path, 5).data.decode() == expected


def test_a_clients_dotted_keys_become_a_date():
    document = ClientTomlDocument(b"a.b = 1 # why\n", "t").set(("a",), {"$toml": "2031-05-27"})
    assert document.data == b"a = 2031-05-27 # why\n"


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        ("[t.a]\r\nb=1", {"t": {"a": {"b": 1}}}, {"t": {"a": 5}}, "[t]\r\na = 5"),
        ("\ufeff[t]\r\na.b=1", {"t": {"a": {"b": 1}}}, {"t": {"c": 5}}, "\ufeff[t]\r\nc = 5"),
        ("a = 1\r\n", {"a": 1}, {"b": 2}, "b = 2\r\n"),
    ],
)
def test_the_line_ending_survives_an_emptied_document(text, before, after, expected):
    assert patch_document(TomlDocument(text.encode(), "t"), before, after).data.decode() == expected
