"""Equality by type, what differs and where, canonical form and digest."""

from __future__ import annotations

import pytest

from takeback.state import Address, Contract, State, diff
from takeback.state.address import format_dotted_path, parse_dotted_path, read_address

MIDDLEWARE = [{"id": name, "handler": name} for name in "abc"]


def _differs(one: dict, two: dict) -> list[str]:
    return sorted(str(change.address) for change in diff(State.read(one), State.read(two)))


def test_a_diff_names_the_deepest_config_keys():
    one = {"config": {"a": {"b": 1, "c": 2}, "d": 3}}
    two = {"config": {"a": {"b": 1, "c": 4}, "e": {"f": 5}}}
    assert _differs(one, two) == ['config["a.c"]', 'config["d"]', 'config["e.f"]']


def test_an_empty_mapping_is_not_the_same_as_none():
    assert _differs({"config": {"a": {}}}, {}) == ['config["a"]']
    assert _differs({"config": {"a": {}}}, {"config": {"a": {"b": {}}}}) == ['config["a.b"]']
    assert _differs({"files": {"d": {"directory": True}}}, {}) == ['files["d"]']


def test_file_content_and_mode_count():
    one = {"files": {"f": {"content": "x"}, "g": {"content": "x"}, "h": {"content": "x"}}}
    two = {"files": {"f": {"content": "y"}, "g": {"content": "x", "mode": "0600"}, "h": {"content": "x"}}}
    assert _differs(one, two) == ['files["f"]', 'files["g"]']


def test_a_file_is_not_a_directory_of_the_same_name():
    assert _differs({"files": {"d": {"content": ""}}}, {"files": {"d": {"directory": True}}}) == ['files["d"]']


def test_the_order_of_middleware_counts():
    moved = [MIDDLEWARE[1], MIDDLEWARE[2], MIDDLEWARE[0]]
    assert _differs({"middleware": MIDDLEWARE}, {"middleware": moved}) != []
    assert State.read({"middleware": MIDDLEWARE}).digest() != State.read({"middleware": moved}).digest()


def test_the_order_of_callbacks_counts():
    assert _differs({"listeners": {"e": ["x", "y"]}}, {"listeners": {"e": ["y", "x"]}}) == ['listeners["e"]']


@pytest.mark.parametrize("surface", ["tools", "middleware", "listeners", "resources"])
def test_volatile_fields_and_object_addresses_do_not_count(surface):
    def state(pointer: str, handle: int) -> State:
        reference = f"<function run at {pointer}>"
        record = {
            "tools": {"t": {"implementation": reference}},
            "middleware": [{"id": "m", "handler": reference}],
            "listeners": {"e": [{"id": "x", "handler": reference}]},
            "resources": {"s": {"address": "tcp://127.0.0.1:0"}},
        }[surface]
        inner = record[0] if isinstance(record, list) else next(iter(record.values()))
        (inner[0] if isinstance(inner, list) else inner)["volatile"] = {"handle": handle}
        return State.read({surface: record})

    one, two = state("0x7f01", 1), state("0xffee", 2)
    assert one == two
    assert one.digest() == two.digest()
    assert list(diff(one, two)) == []


def test_whether_a_volatile_field_is_there_does_count():
    assert _differs({"tools": {"t": {"volatile": {"handle": 1}}}}, {"tools": {"t": {}}}) == ['tools["t"]']


def test_records_nested_to_the_limit_can_be_compared():
    nested = 1
    for _ in range(31):
        nested = {"k": nested}
    one = {"tools": {"t": {"parameters": {"p": nested}}}}
    assert _differs(one, {"tools": {"t": {"parameters": {"p": 2}}}}) == ['tools["t"]']


def test_the_canonical_form_hashes_contents_and_keeps_order():
    state = State.read({"files": {"f": {"content": "secret"}}, "middleware": MIDDLEWARE})
    shown = state.canonical()
    assert "secret" not in str(shown)
    assert len(shown["files"]["f"]["sha256"]) == 64
    assert [item["id"] for item in shown["middleware"]] == ["a", "b", "c"]


def test_the_digest_of_a_known_state_never_changes():
    state = State.read({"config": {"b": [1, 1.0, True, None], "a": "é"}, "prompts": {"p": ""}})
    assert state.digest() == "9051dc3cc37ff583fac8d6f6306e19f42d1a5ee8a809fc81b35108d663795897"


def test_a_state_is_not_equal_to_anything_else_and_cannot_be_hashed():
    assert State() != {}
    with pytest.raises(TypeError):
        hash(State())


@pytest.mark.parametrize("path", [("a",), ("a", "b"), ("a.b", "c"), ("a\\", "b."), (".",), ("\\.", "x")])
def test_dotted_paths_can_be_joined_and_split_again(path):
    assert parse_dotted_path(format_dotted_path(path)) == path


def test_a_dotted_path_and_a_key_with_a_dot_are_two_addresses():
    assert format_dotted_path(("a", "b")) != format_dotted_path(("a.b",))


@pytest.mark.parametrize(
    "address", [Address("config", "a.b"), Address("files", 'd/"quoted"'), Address("prompts", "é\n")]
)
def test_an_address_reads_back_from_its_text(address):
    assert read_address(str(address), "here") == address


def test_a_contract_covers_its_addresses_and_everything_below():
    contract = Contract.read(["prompts", 'config["a.b"]', 'files["d"]', 'middleware["m"]'], "contract")
    covered = [
        Address("prompts", "any"),
        Address("config", "a.b"),
        Address("config", "a.b.c"),
        Address("files", "d/e/f"),
        Address("middleware", "m"),
    ]
    outside = [
        Address("config", "a"),
        Address("config", "a.bc"),
        Address("files", "dd"),
        Address("files", "e"),
        Address("middleware", "n"),
        Address("routing", "r"),
    ]
    assert all(map(contract.covers, covered))
    assert not any(map(contract.covers, outside))


def test_an_empty_contract_covers_nothing():
    assert not Contract.read([], "contract").covers(Address("config", "a"))
