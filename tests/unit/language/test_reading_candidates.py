"""Reading candidates: exact errors, bounds, digests, the inferred contract."""

from __future__ import annotations

import json

import pytest
from tests.support.running import op

from takeback.canonical import parse
from takeback.errors import InputError, LimitError
from takeback.language import load_json, read_candidate

SET = op("set_config", "a.b", value=1)
CAPTURE = op("capture_config", "a.b", witness_key="w")
RESTORE = op("restore_config", "a.b", witness_key="w")
GOOD = {"mutation": [SET], "witness": [CAPTURE], "recovery": [RESTORE], "contract": ["config"]}


def _mutation(**fields: object) -> dict:
    return {**GOOD, "mutation": [{key: item for key, item in {**SET, **fields}.items() if item is not ...}]}


DEEP = 1
for _ in range(20):
    DEEP = [DEEP]

BAD = [
    ([], "candidate: found [], expected a mapping with mutation"),
    ({**GOOD, "notes": 1}, "candidate: found the field 'notes', expected only mutation"),
    ({"recovery": []}, "candidate: found no mutation"),
    ({"mutation": {}}, "candidate.mutation: found {}, expected a list of operations"),
    ({"mutation": ["x"]}, "candidate.mutation[0]: found x, expected a mapping with op_type and target"),
    (_mutation(op_type=...), "candidate.mutation[0].op_type: found no op_type, expected one of set_config"),
    (_mutation(op_type="fly"), "candidate.mutation[0].op_type: found fly, expected one of"),
    (_mutation(op_type=["set_config"]), "candidate.mutation[0].op_type: found ['set_config']"),
    (_mutation(op_type="restore_config"), "mutation[0].op_type: found restore_config, expected one of set_config"),
    ({**GOOD, "witness": [SET]}, "candidate.witness[0].op_type: found set_config, expected one of capture_config"),
    (_mutation(target=...), "candidate.mutation[0].target: found None, expected the text of a target"),
    (_mutation(target=""), "candidate.mutation[0].target"),
    (_mutation(target=7), "candidate.mutation[0].target: found 7"),
    (_mutation(target="a..b"), "candidate.mutation[0].target: found a..b, expected names with one dot between two"),
    (_mutation(target=".".join("a" * 17)), "found 17 levels, expected at most 16"),
    (_mutation(target="x" * 201), "found 201 characters, expected at most 200"),
    (_mutation(value=...), "candidate.mutation[0]: found no value, expected set_config with a value"),
    (
        _mutation(witness_key="w"),
        "candidate.mutation[0].witness_key: found w, expected no witness_key for set_config",
    ),
    (_mutation(extra=1), "candidate.mutation[0]: found the field 'extra', expected only after"),
    (_mutation(index=1), "candidate.mutation[0].index: found index, expected no such place for set_config"),
    (_mutation(value=2**63), "candidate.mutation[0].value: found a whole number"),
    (_mutation(value=10**4000), "found a whole number of"),
    (_mutation(value=float("inf")), "candidate.mutation[0].value: found inf, expected a finite number"),
    (_mutation(value=DEEP), "found deeper nesting"),
    (_mutation(value={"\ud800": 1}), "found a lone surrogate"),
    ({**GOOD, "witness": [{**CAPTURE, "witness_key": "w_existed"}]}, "expected a key that does not end in _existed"),
    ({**GOOD, "witness": [op("capture_config", "a")]}, "candidate.witness[0]: found no witness_key"),
    ({**GOOD, "witness": [{**CAPTURE, "witness_key": ["w"]}]}, "candidate.witness[0].witness_key: found ['w']"),
    ({**GOOD, "mutation": [SET] * 65}, "candidate.mutation: found 65 operations, expected at most 64"),
    ({**GOOD, "contract": None}, "candidate.contract: found None, expected a list of surfaces and addresses"),
    ({**GOOD, "contract": "config"}, "candidate.contract: found config, expected a list of surfaces and addresses"),
    ({**GOOD, "contract": ["colour"]}, "candidate.contract[0]: found colour, expected one of config"),
    ({**GOOD, "contract": ["config[a]"]}, "candidate.contract[0]: found config[a], expected a surface"),
    ({**GOOD, "contract": ['config["a"']}, "candidate.contract[0]"),
    ({**GOOD, "contract": ['files["../x"]']}, "candidate.contract[0]: found ../x"),
    ({**GOOD, "contract": [1]}, "candidate.contract[0]: found 1, expected the text of a surface or an address"),
    ({**GOOD, "contract": ["config"] * 257}, "found 257 entries, expected at most 256"),
]
MIDDLEWARE = op("add_middleware", "m", value={"handler": "h"})
BAD += [
    ({"mutation": [{**MIDDLEWARE, **place}]}, message)
    for place, message in [
        ({"index": 0, "before": "a"}, "found index and before, expected at most one of index"),
        ({"index": -1}, "mutation[0].index: found -1, expected a position from 0 to 10000"),
        ({"index": 1.0}, "mutation[0].index: found 1.0, expected a whole number"),
        ({"index": True}, "mutation[0].index: found True, expected a whole number"),
        ({"before": "m"}, "mutation[0].before: found m, expected another id than the target"),
        ({"after": ""}, "mutation[0].after"),
        ({"priority": 10**7}, "mutation[0].priority: found 10000000, expected a whole number"),
        ({"target": "*"}, "mutation[0].target: found *, expected the id of one middleware"),
        ({"value": {"id": "other", "handler": "h"}}, "mutation[0].value.id: found other, expected the target 'm'"),
    ]
]


@pytest.mark.parametrize(("plain", "message"), BAD, ids=[message[-45:] for _, message in BAD])
def test_a_mistake_in_a_candidate_is_reported_with_its_place(plain, message):
    with pytest.raises(InputError) as caught:
        read_candidate(plain)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "file, line 1, column 2: found malformed JSON"),
        ('{"a": 1,\n "a": 2}', "file: found the key 'a' twice in one object, expected each key once"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": Infinity}', "Infinity is not a JSON number"),
        (b'{"a": "\xff"}', "found bytes that are not UTF-8"),
        ("[" * 100_000, "found deeper nesting, expected at most 32 levels"),
        ("9" * 5000, "expected valid JSON"),
        ("", "found malformed JSON"),
    ],
)
def test_text_that_is_not_json_is_refused_with_its_place(text, message):
    with pytest.raises(InputError) as caught:
        parse(text, "file")
    assert message in str(caught.value)


def test_a_duplicate_among_many_keys_is_found_without_comparing_all_pairs():
    text = "{" + ",".join(f'"k{at}": 0' for at in range(200_000)) + ', "k199999": 1}'
    with pytest.raises(InputError, match="'k199999' twice"):
        parse(text, "file")


def test_many_items_below_a_very_long_key_are_read():
    plain = {"mutation": [op("set_config", "a", value={"k" * 900_000: [[0] * 10_000] * 3})]}
    assert read_candidate(plain).mutation[0].value


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(InputError, match="expected a readable file") as caught:
        load_json(tmp_path / "gone.json")
    assert "gone.json" in str(caught.value)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    file = tmp_path / "large.json"
    with file.open("wb") as out:
        out.truncate(4_000_001)
    with pytest.raises(LimitError, match="expected at most 4000000 bytes"):
        load_json(file)


def test_long_findings_are_cut_short_in_messages():
    with pytest.raises(InputError) as caught:
        read_candidate({"mutation": "x" * 10_000})
    assert len(caught.value.found) == 120


def test_an_omitted_contract_is_inferred_from_the_mutation():
    candidate = read_candidate({"mutation": [SET, op("add_listener", "e", value="x")]})
    assert candidate.contract.to_json() == ['config["a.b"]', 'listeners["e"]']


def test_a_candidate_reads_back_from_its_json():
    plain = {**GOOD, "mutation": [SET, {**MIDDLEWARE, "index": 2}, op("write_file", "f", value={"content": "x"})]}
    candidate = read_candidate(plain)
    assert candidate.to_json() == plain
    again = read_candidate(json.loads(json.dumps(candidate.to_json())))
    assert again.digest() == candidate.digest()


def test_the_mutation_digest_is_that_of_the_mutation_alone_and_strict_about_types():
    base = read_candidate(GOOD).mutation_digest()
    assert read_candidate({**GOOD, "recovery": [], "contract": []}).mutation_digest() == base
    digests = {read_candidate(_mutation(value=value)).mutation_digest() for value in (1, 1.0, True, "1", None)}
    assert len(digests) == 5
    assert base in digests


def test_the_digest_does_not_depend_on_the_order_of_fields():
    turned = dict(reversed(SET.items()))
    assert read_candidate({**GOOD, "mutation": [turned]}).digest() == read_candidate(GOOD).digest()
