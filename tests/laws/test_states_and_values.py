"""Laws of states: equality, diff, canonical form, digest, reading and writing, type strictness."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import json_values, plain_states, states

from takeback.canonical import encode, parse
from takeback.state import ABSENT, SURFACES, PMap, State, diff
from takeback.state.values import freeze, is_same_value, thaw

PAIRS = st.one_of(st.tuples(states, states), states.map(lambda state: (state, State.read(state.write()))))


def _typed(value: object) -> object:
    """Tag every value with its type, so that plain equality becomes strict."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (type(value).__name__, repr(value))


@given(states)
def test_equality_is_reflexive_even_through_a_copy(state):
    copy = State.read(json.loads(json.dumps(state.write())))
    assert state == state  # noqa: PLR0124  (the law)
    assert state == copy
    assert copy == state


@given(PAIRS)
def test_equality_is_symmetric(pair):
    one, two = pair
    assert (one == two) is (two == one)


@given(states, states, states)
def test_equality_is_transitive(one, two, three):
    if one == two and two == three:
        assert one == three
    if one == two and two != three:
        assert one != three


@given(PAIRS)
def test_digests_are_equal_exactly_where_states_are(pair):
    one, two = pair
    assert (one.digest() == two.digest()) is (one == two)


@given(PAIRS)
def test_a_diff_is_empty_exactly_where_states_are_equal(pair):
    one, two = pair
    assert (next(diff(one, two), None) is None) is (one == two)


@given(states, states)
def test_a_diff_turned_round_names_the_same_addresses(one, two):
    assert {change.address for change in diff(one, two)} == {change.address for change in diff(two, one)}


@given(states, states)
def test_applying_the_differences_of_keyed_surfaces_gives_the_other_state(one, two):
    for name in ("prompts", "routing", "tools", "listeners", "resources"):
        value = one.part(name)
        for change in SURFACES[name].diff(value, two.part(name)):
            key = change.address.key
            value = value.drop(key) if change.after is ABSENT else value.put(key, change.after)
        assert State({name: value}) == State({name: two.part(name)})


@given(states, states)
def test_applying_a_diff_of_config_or_files_gives_the_other_tree(one, two):
    for name in ("config", "files"):
        surface, value = SURFACES[name], one.part(name)
        changes = list(surface.diff(value, two.part(name)))
        flat = {
            path: content
            for path, content in _flat(surface, value).items()
            if not any(surface.covers(change.address.key, path) for change in changes)
            and not (content == {} and any(surface.covers(path, change.address.key) for change in changes))
        }
        for change in changes:
            if change.after is not ABSENT:
                flat.update(_flat(surface, change.after, change.address.key))
        wanted = _flat(surface, two.part(name))
        flat = {path: content for path, content in flat.items() if content != {} or path in wanted}
        left_empty = {path for path, content in wanted.items() if content == {}} - set(flat)
        assert {**flat, **{path: {} for path in left_empty}} == wanted


def _flat(surface: object, value: object, above: str = "") -> dict[str, object]:
    from takeback.state import tree

    path = surface.parse_key(above) if above else ()
    return {
        surface.join(at): {} if isinstance(leaf, PMap) else repr(leaf) for at, leaf in tree.iter_leaves(value, path)
    }


@given(plain_states)
def test_a_written_state_reads_back_equal(plain):
    state = State.read(plain)
    written = state.write()
    assert State.read(written) == state
    assert _typed(State.read(written).write()) == _typed(written)


@given(states)
def test_volatile_placeholders_do_not_change_the_canonical_form(state):
    plain = state.write()
    for record in plain.get("tools", {}).values():
        if "volatile" in record:
            record["volatile"] = dict.fromkeys(record["volatile"], "<volatile>")
    again = State.read(plain)
    assert again.canonical() == state.canonical()
    assert again == state


@given(states)
def test_the_canonical_form_does_not_depend_on_the_order_of_mappings(state):
    turned = json.loads(json.dumps(_reversed(state.write())))
    assert State.read(turned).digest() == state.digest()


def _reversed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(list(value))}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


@given(json_values, json_values)
def test_values_are_the_same_exactly_where_their_types_and_texts_are(one, two):
    expected = _typed(one) == _typed(two)
    assert is_same_value(freeze(one, "one"), freeze(two, "two")) is expected
    assert (encode(one) == encode(two)) is expected


@given(json_values)
def test_freezing_and_thawing_loses_nothing(value):
    assert _typed(thaw(freeze(value, "value"))) == _typed(value)
    assert _typed(parse(encode(value), "text")) == _typed(value)


@given(st.permutations([None, True, 1, 1.0, "1", False, 0, 0.0, -0.0, "", [], {}]))
def test_values_that_python_considers_equal_are_distinguished(values):
    state = State.read({"config": {"k": values[0]}})
    for other in values[1:]:
        assert State.read({"config": {"k": other}}) != state
        assert State.read({"config": {"k": other}}).digest() != state.digest()
    assert State() != state
