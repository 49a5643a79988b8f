"""JSON text: one canonical form, one strict reader."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from tests.support.batches import in_batches
from tests.support.strategies import json_values

import takeback
from takeback.canonical import (
    check_text,
    decode,
    digest,
    encode,
    find_value_end,
    make_comparable,
    parse,
    sha256,
    write_compact,
    write_pretty,
)
from takeback.errors import InputError, LimitError

SOURCE = Path(takeback.__file__).parent
ON_THEIR_OWN = {
    "journal/content.py",
    "journal/search.py",
    "agents/hook_events.py",
    "agents/fast_hook.py",
    "adapters/last_look.py",
    "adapters/trust_record.py",
    "adapters/bindings/sql.py",
    "adapters/formats/yaml_tree.py",
    "adapters/waiting_edits.py",
    "agents/quick_edits.py",
    "agents/fast_capture.py",
    "agents/hook_dialects.py",
    "agents/overlay/namespace.py",
    "agents/overlay/runs.py",
    "agents/overlay/layer.py",
    "opinion/checker.py",
    "opinion/interpreter.py",
    "opinion/question.py",
    "opinion/solver.py",
    "track/capture.py",
    "track/database.py",
    "track/retention.py",
    "track/rules.py",
    "track/store.py",
}
"""Modules that read or write JSON text themselves: the journal, for its speed; the guard, captures and what every
hook asks, which load no more; programs that run by themselves around a command; the second opinion, which shares
nothing; scalars of YAML that are written as JSON; and the search for a value as others may have written it."""
MODULES = sorted(
    str(module.relative_to(SOURCE)) for module in SOURCE.rglob("*.py") if module != SOURCE / "canonical.py"
)


def test_canonical_text_sorts_keys_has_no_spaces_and_keeps_types_apart():
    assert encode({"b": [1, 1.0, True, None], "a": "ä"}) == '{"a":"ä","b":[1,1.0,true,null]}'
    assert encode({"a": "ä\U0001f600"}, ascii_only=True) == '{"a":"\\u00e4\\ud83d\\ude00"}'


@given(json_values)
def test_both_canonical_forms_and_the_readable_ones_mean_the_same_value(value):
    for text in (encode(value), encode(value, ascii_only=True), write_compact(value), write_pretty(value)):
        again = parse(text, "text")
        assert encode(again) == encode(value)
    assert decode(encode(value)) == json.loads(encode(value))


@given(json_values, json_values)
def test_two_values_have_one_text_only_if_they_are_one_value(one, two):
    assert (encode(one) == encode(two)) is (encode(one, ascii_only=True) == encode(two, ascii_only=True))


def test_a_digest_is_the_sha_256_of_the_canonical_text():
    assert digest({"a": 1}) == sha256('{"a":1}')
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_readable_forms_keep_the_order_of_keys():
    assert write_compact({"b": 1, "a": [1, 2]}) == '{"b":1,"a":[1,2]}'
    assert write_pretty({"b": 1}, indent=None) == '{"b": 1}'
    assert write_pretty({"b": {"a": 1}}).splitlines()[1] == '  "b": {'


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("write", [encode, write_compact, write_pretty])
def test_numbers_outside_json_are_never_written(write, number):
    with pytest.raises(ValueError, match="JSON compliant"):
        write({"a": number})


WRONG = [
    ('{"a": 1, "a": 2}', "the key 'a' twice"),
    ('{"a": {"b": 1, "b": 2}}', "the key 'b' twice"),
    ("[NaN]", "NaN is not a JSON number"),
    ("[-Infinity]", "-Infinity is not a JSON number"),
    ("[1e999]", "1e999 is beyond every number"),
    ("9" * 5_000, "a whole number of 5000 digits"),
    ('["\\ud800"]', r"text\[0\]: found a lone surrogate"),
    ('{"a": {"b\\udfff": 1}}', r"text\.a key: found a lone surrogate"),
    ('["' + "\ud800" + '"]', r"text\[0\]: found a lone surrogate"),
    ("{", "line 1, column 2: found malformed JSON"),
    ("", "line 1, column 1: found malformed JSON"),
    ("[1] x", "line 1, column 5: found malformed JSON"),
    (b'["\xff"]', "found bytes that are not UTF-8"),
    ('["a"]'.encode("utf-16"), "found bytes that are not UTF-8"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_ambiguous_and_invalid_json_is_refused_with_its_place(text, message):
    with pytest.raises(InputError, match=message):
        parse(text, "text")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000])
def test_deep_nesting_is_a_limit(text):
    with pytest.raises(LimitError, match="deeper nesting"):
        parse(text, "text")


def test_a_whole_surrogate_pair_and_a_byte_order_mark_are_fine():
    assert parse('["\\ud83d\\ude00"]', "text") == ["\U0001f600"]
    assert parse(b"\xef\xbb\xbf[1]", "text") == [1]


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "9" * 5_000])
def test_stored_text_that_cannot_be_read_is_the_same_error(text):
    with pytest.raises(InputError, match="a JSON text that Takeback wrote"):
        decode(text)


def test_text_in_any_place_of_a_value_is_looked_at():
    check_text({"a": ["x", ("y", {"b": 1.5})], "c": None}, "value")
    with pytest.raises(InputError, match=r"value\.a\[1\]\.b\[0\]"):
        check_text({"a": ["x", {"b": ("\ud83d",)}]}, "value")


@in_batches("module", MODULES)
def test_no_other_module_reads_or_writes_json_text(module):
    imported: list[str] = []
    for node in ast.walk(ast.parse((SOURCE / module).read_text())):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported.append(node.module or "")
    assert "json" not in imported or module in ON_THEIR_OWN


def test_the_end_of_the_first_value_in_a_text_is_found():
    assert find_value_end('{"a": 1} and more') == 8
    assert find_value_end("prose") is None
    assert find_value_end("[" * 100_000) is None


def test_plain_values_are_compared_by_type_and_content():
    assert make_comparable({"b": 1, "a": 2}) == make_comparable({"a": 2, "b": 1})
    assert make_comparable({"b": 1, "a": 2}, ordered=True) != make_comparable({"a": 2, "b": 1}, ordered=True)
    assert len({make_comparable(one) for one in (1, 1.0, True, "1", float("inf"), None)}) == 6
