"""Many new items of a list are spliced in at once: the bytes are those of one after the other, the reading is not."""

from __future__ import annotations

import pytest

from takeback.adapters.formats.document import Document, transform_document
from takeback.adapters.formats.json_document import JsonDocument
from takeback.adapters.formats.toml_document import TomlDocument

TOML = [
    "a = []\n",
    "a = [1,2]\n",
    "a = [ 1, 2, ]\n",
    "a = [\n  1, # one\n  2 # two\n  # last\n]\nb = 1\n",
    "a = [\n  1,\n  2,\n]\n",
    "a = [ 1\n    , 2\n    ]\n",
    "a = [1,\n 2, 3,\n 4]\n",
    "a = [\r\n\t1,\r\n\t# over two\r\n\t2\r\n]\r\n",
    "b = 1\n",
    "[[a]]\nx = 1\n# about\n[[a]]\nx = 2\n  [[a.h]]\n  z = 1\n\n[u]\ny = 1\n",
]
JSON = ['{"a": []}', '{"a":[1]}', '{\n  "a": [\n    1,\n    2\n  ]\n}\n', '{\n  "a": [ 1\n    , 2\n  ]\n}\n', "{}"]


@pytest.mark.parametrize(
    ("kind", "text"), [*((TomlDocument, text) for text in TOML), *((JsonDocument, text) for text in JSON)]
)
def test_a_bulk_insert_equals_single_inserts(kind: type[Document], text: str) -> None:
    document = kind(text.encode(), "t")
    there = document.get(("a",))
    size = len(there) if isinstance(there, list) else 0
    values = [{"x": at} if "[[a]]" in text else f"v{at}" for at in range(4)]
    for place in range(size + 1):
        for count in range(1, len(values) + 1):
            one_by_one = document
            for at in range(count):
                one_by_one = one_by_one.insert(("a", place + at), values[at])
            assert document.insert_all(("a", place), values[:count]).data == one_by_one.data


@pytest.mark.parametrize("kind", [TomlDocument, JsonDocument])
def test_a_bulk_insert_reads_the_document_a_fixed_number_of_times(kind, monkeypatch):
    read = 0
    edited = Document._apply_edits

    def count(self, *args):
        nonlocal read
        read += 1
        return edited(self, *args)

    monkeypatch.setattr(Document, "_apply_edits", count)
    reads = []
    for size in (3, 60):
        read, text = 0, b'{"a": ["x"]}' if kind is JsonDocument else b'a = ["x"]\n'
        value = {"a": ["x", *(f"item {at}" for at in range(size))]}
        assert transform_document(kind(text, "t"), value).value == value
        reads.append(read)
    assert reads[0] == reads[1]
