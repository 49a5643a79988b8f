"""Any JSON value goes into TOML and comes out the same, by type and value; edits of text come out exactly."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.adapters.formats.toml_values import decode_toml, format_value
from takeback.adapters.workspace.adapter import list_storages
from takeback.errors import InputError
from takeback.harness.images import FileImage
from takeback.state import SURFACES, State

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT,
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
MAPPING = st.dictionaries(st.sampled_from(["a", "b", "$json", "sp ace", "ü.x"]) | NAME, VALUE, max_size=4)


def same(one, two):
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


@settings(max_examples=150, deadline=None)
@given(VALUE)
def test_a_value_survives_toml(value):
    assert same(decode_toml(tomllib.loads(f"x = {format_value(value)}")["x"], "x"), value)


def check_edit(surface, one, two):
    storage = next(found for found in list_storages() if found.name == surface)
    before, after = SURFACES[surface].read(one, "one"), SURFACES[surface].read(two, "two")
    image, value = FileImage(storage.heading.encode()), SURFACES[surface].empty
    for wanted in (before, after, before):
        (change,) = tuple(storage.render(Nowhere(), "f", {"f": image}, value, wanted)) or (None,)
        image, value = (image if change is None else change.after), wanted
        assert storage.same(storage.value(image.content, "f", wanted), wanted)


class Nowhere:
    """A directory of which only the name is needed."""

    root = Path("/nowhere")


def storable(mapping):
    try:
        State.read({"config": mapping})
    except InputError:
        return False
    return True


@settings(max_examples=80, deadline=None)
@given(MAPPING.filter(storable), MAPPING.filter(storable))
def test_any_config_can_be_edited_into_any_other_and_back(one, two):
    check_edit("config", one, two)


ROUTES = st.dictionaries(NAME, st.none() | NAME, max_size=4)


@settings(max_examples=40, deadline=None)
@given(ROUTES, ROUTES)
def test_any_routing_can_be_edited_into_any_other_and_back(one, two):
    check_edit("routing", one, two)


RECORD = st.fixed_dictionaries(
    {"handler": TEXT},
    optional={"options": st.dictionaries(NAME, SCALAR, max_size=2), "priority": st.integers(0, 200)},
)
CHAIN = st.dictionaries(st.sampled_from("abcde"), RECORD, max_size=4).map(
    lambda found: [{"id": name, **record} for name, record in found.items()]
)


@settings(max_examples=60, deadline=None)
@given(CHAIN, CHAIN)
def test_any_chain_can_be_edited_into_any_other_and_back(one, two):
    check_edit("middleware", one, two)


def callbacks(chain):
    return [{key: value for key, value in item.items() if key != "priority"} for item in chain]


EVENTS = st.dictionaries(st.sampled_from(["on_a", "on_b"]), CHAIN.map(callbacks), max_size=2)


@settings(max_examples=60, deadline=None)
@given(EVENTS, EVENTS)
def test_any_listeners_can_be_edited_into_any_others_and_back(one, two):
    check_edit("listeners", one, two)
