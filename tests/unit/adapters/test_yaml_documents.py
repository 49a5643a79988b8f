"""YAML documents: anchors and merges, kinds of scalars, what is refused, and where a broken file is broken."""

from __future__ import annotations

import pytest
import yaml

from takeback.adapters.formats.document import transform_document
from takeback.adapters.formats.yaml_document import Yaml12Document, YamlDocument
from takeback.errors import CannotSplice, InputError, LimitError

ANCHORED = """base: &base
  url: http://one   # ours
  key: x
one:
  <<: *base
  model: m
two: { <<: *base, model: s }
three: *base
list: [&item a, *item]
"""


def edit(text, path, value):
    return YamlDocument(text.encode(), "f").set(path, value).data.decode()


def test_a_merged_key_is_overridden_where_it_was_set():
    after = edit(ANCHORED, ("one", "url"), "http://two")
    assert after == ANCHORED.replace("  model: m\n", "  model: m\n  url: http://two\n")
    assert edit(ANCHORED, ("two", "key"), "z") == ANCHORED.replace("model: s }", "model: s, key: z }")


def test_an_alias_itself_is_replaced_alone():
    assert edit(ANCHORED, ("three",), 5) == ANCHORED.replace("three: *base", "three: 5")
    assert edit(ANCHORED, ("list", 1), "b") == ANCHORED.replace("*item]", "b]")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("base", "url"), "base has the anchor &base, and is used again at line 5"),
        (("base",), "base has the anchor &base"),
        (("three", "url"), r"three is the alias \*base \(line 8, column 8\)"),
        (("list", 0), "list.0 has the anchor &item"),
    ],
)
def test_an_edit_of_a_shared_value_is_refused_with_place_and_way_out(path, said):
    with pytest.raises(CannotSplice, match=said) as refused:
        YamlDocument(ANCHORED.encode(), "f").set(path, "new")
    assert "takeback adopt" in str(refused.value)


@pytest.mark.parametrize("path", [("one", "url"), ("base",), ("three", "url"), ("list", 0)])
def test_nothing_shared_is_removed(path):
    with pytest.raises(CannotSplice, match="adopt"):
        YamlDocument(ANCHORED.encode(), "f").remove(path)


def test_an_unused_anchor_stays():
    assert edit("a: &x 1\nb: &y\n  c: 2\n", ("a",), 5) == "a: &x 5\nb: &y\n  c: 2\n"
    assert edit("a: &x 1\nb: &y\n  c: 2\n", ("b", "c"), 5) == "a: &x 1\nb: &y\n  c: 5\n"


def test_scalars_outside_json_are_read_as_text_and_kept():
    text = "no: yes\noctal: 010\nday: 2024-01-01\nodd: !secret word\nbin: !!binary aGk=\nnan: .nan\nn: 1\n"
    document = YamlDocument(text.encode(), "f")
    assert document.value == {
        "no": True,
        "octal": 8,
        "day": "2024-01-01",
        "odd": "word",
        "bin": "aGk=",
        "nan": ".nan",
        "n": 1,
    }
    assert document.set(("n",), 2).data.decode() == text.replace("n: 1\n", "n: 2\n")
    assert edit("a: 1\n", ("a",), "2024-01-01") == 'a: "2024-01-01"\n'
    assert edit("a: '1'\n", ("a",), "no") == "a: 'no'\n"


def test_yaml_1_2_has_other_booleans_and_no_merges():
    text = "a: no\nb: 010\nc: 0o10\nd: 1e3\nbase: &x {k: 1}\ne:\n  <<: *x\n"
    value = {"a": "no", "b": 10, "c": 8, "d": 1000.0, "base": {"k": 1}, "e": {"<<": {"k": 1}}}
    assert Yaml12Document(text.encode(), "f").value == value
    assert Yaml12Document(b"%YAML 1.1\n---\na: no\n", "f").value == {"a": False}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", r"f, line 3, column 1: found the key 'a' a second time"),
        ("a: {b: 1, b: 2}\n", r"f, line 1, column 11: found the key 'b' a second time"),
        ("a: 1\n---\nb: 2\n", r"f, line 2, column 1: found a second document, expected one document"),
        ("a: [1\nb: 2\n", r"f, line 2, column 2: found malformed YAML"),
        ("a:\n\tb: 1\n", r"f, line 2, column 1: found malformed YAML"),
        ("? [a]\n: 1\n", r"f, line 1, column 3: found a key that is no single value"),
        ("a: *b\n", r"f, line 1, column 4: found malformed YAML \(the alias \*b has no anchor"),
        ("a: &a [*a]\n", r"f, line 1, column 8: found the alias \*a inside its own anchor"),
        ("a: !!int x\n", r"f, line 1, column 4: found malformed YAML"),
        ("<<: 5\n", r"f, line 1, column 5: found '<<' with something else"),
        ("a: \x07\n", r"f, line 1, column 4: found malformed YAML \(the character"),
    ],
)
def test_a_broken_file_is_reported_with_line_and_column(text, said):
    with pytest.raises(InputError, match=said):
        _ = YamlDocument(text.encode(), "f").value


def test_a_text_that_grows_without_bound_is_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(LimitError):
        _ = YamlDocument("\n".join(lines).encode(), "f").value
    with pytest.raises(LimitError):
        _ = YamlDocument(b"[" * 500 + b"]" * 500, "f").value


@pytest.mark.parametrize(
    ("text", "new", "wanted"),
    [
        ("a: |\n  one\n  two\n", "one\n2\n", "a: |\n  one\n  2\n"),
        ("a: |\n  one\n  two\n", "one\ntwo", "a: |-\n  one\n  two\n"),
        ("a: >\n  one\n  two\n\n  three\n", "one too\nthree\n", "a: >\n  one\n  too\n\n  three\n"),
        ("a: >-  # why\n  one\n  two\n", "one 2", "a: >-  # why\n  one\n  2\n"),
        ('a: "x"  # why\n', "z", 'a: "z"  # why\n'),
        ("a: x  # why\n", "no", 'a: "no"  # why\n'),
        ("a: x\n", "two\nlines\n", "a: |\n  two\n  lines\n"),
    ],
)
def test_a_text_is_written_as_the_one_before_it(text, new, wanted):
    found = edit(text, ("a",), new)
    assert yaml.safe_load(found) == {"a": new}
    assert found == wanted


def test_containers_are_written_as_their_neighbours_are():
    text = "a:\n- x: 1\n  y: 2\nb: {}\n"
    document = YamlDocument(text.encode(), "f")
    assert document.insert(("a", 1), {"x": 3}).data.decode() == "a:\n- x: 1\n  y: 2\n- x: 3\nb: {}\n"
    assert document.set(("b", "k"), [1]).data.decode() == "a:\n- x: 1\n  y: 2\nb:\n  k:\n  - 1\n"
    assert document.set(("b", "k"), 1).data.decode() == "a:\n- x: 1\n  y: 2\nb: {k: 1}\n"
    assert document.remove(("a", 0, "x")).data.decode() == "a:\n- y: 2\nb: {}\n"
    assert document.remove(("a", 0)).data.decode() == "a: []\nb: {}\n"


def test_a_new_item_has_the_quotes_of_its_neighbours():
    document = YamlDocument(b"a:\n  - \"x\"\nb: ['y', 'z']\nc: [y]\n", "f")
    after = document.insert(("a", 1), "rm *").insert(("b", 0), "w").insert(("c", 1), "z")
    assert after.data.decode() == "a:\n  - \"x\"\n  - \"rm *\"\nb: ['w', 'y', 'z']\nc: [y, z]\n"


def test_an_empty_document_is_an_empty_mapping():
    for text in ("", "# only a comment\n", "---\n", "\ufeff"):
        document = YamlDocument(text.encode(), "f")
        assert document.value == {}
        after = document.set(("a", "b"), [1])
        assert yaml.safe_load(after.data.decode("utf-8-sig")) == {"a": {"b": [1]}}
        assert after.data.startswith(text.encode())
        assert transform_document(after, {}).data.startswith(text.encode())


def test_a_tab_behind_a_colon_is_a_blank():
    assert edit("a:\tb\nc: {\td: 1}\n", ("a",), "x") == "a:\tx\nc: {\td: 1}\n"
