"""Laws of the two structures under every surface: maps that share, chains that carry their places."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.state.chain import Chain, make_place_between
from takeback.state.pmap import ABSENT, EMPTY, PMap

KEYS = st.integers(0, 60).map(str)
EDITS = st.lists(st.tuples(st.sampled_from(["put", "put", "drop"]), KEYS, st.integers(0, 3)), max_size=120)


@given(st.dictionaries(KEYS, st.integers(0, 3)), EDITS)
def test_a_map_behaves_as_a_dict_over_long_edits(start, edits):
    ours, plain = PMap(start), dict(start)
    for action, key, value in edits:
        before, copy = ours, dict(ours)
        if action == "put":
            ours, plain = ours.put(key, value), {**plain, key: value}
        else:
            ours = ours.drop(key)
            plain.pop(key, None)
        assert dict(before) == copy
        assert (key in ours, ours.get(key, ABSENT)) == (key in plain, plain.get(key, ABSENT))
        assert len(ours) == len(plain)
    assert dict(ours) == plain
    assert sorted(ours) == sorted(plain)
    assert bool(ours) is bool(plain)
    assert ours == PMap(plain)


@given(st.dictionaries(KEYS, st.integers(0, 3)), EDITS, EDITS)
def test_candidates_name_every_key_that_differs(start, left, right):
    one, two = PMap(start), PMap(start) if len(left) % 2 else None
    two = one if two is None else two
    for action, key, value in left:
        one = one.put(key, value) if action == "put" else one.drop(key)
    for action, key, value in right:
        two = two.put(key, value) if action == "put" else two.drop(key)
    differing = {key: (mine, theirs) for key, mine, theirs in one.changes(two)}
    expected = {
        key: (one.get(key, ABSENT), two.get(key, ABSENT))
        for key in {*one, *two}
        if one.get(key, ABSENT) != two.get(key, ABSENT)
    }
    assert differing == expected
    assert (one == two) is (not expected)


def test_a_map_stays_correct_after_folding_its_overlay():
    ours, plain = PMap({str(at): at for at in range(10)}), {str(at): at for at in range(10)}
    bases = set()
    for at in range(500):
        ours, plain[str(at % 90)] = ours.put(str(at % 90), at), at
        bases.add(id(ours._base))
        assert len(ours._over) <= ours._limit
    assert dict(ours) == plain
    assert len(bases) > 1


def test_a_map_changed_back_equals_the_original():
    held = PMap({"a": 1})
    assert held.put("b", 2).drop("b") is held
    assert held.put("a", 2).put("a", held["a"]) is held
    assert EMPTY.put("a", 1).drop("a") is EMPTY
    assert EMPTY.put("a", 1).put("b", 1).drop("a").drop("b") is EMPTY


def test_a_map_distinguishes_null_from_absence():
    assert PMap({"k": None}) != PMap()
    assert "k" in PMap({"k": None})
    assert PMap({"k": True}) != PMap({"k": 1})
    assert PMap({"k": 1}) != {"k": 1}


NAMES = tuple("abcdefgh")
STEPS = st.lists(
    st.tuples(st.sampled_from(["insert", "insert", "drop", "restore"]), st.sampled_from(NAMES), st.integers(0, 9)),
    max_size=60,
)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(NAMES), unique=True), STEPS)
def test_a_chain_keeps_ids_and_places_unique_and_ordered(start, steps):
    chain = Chain.of((name, name) for name in start)
    kept = list(chain)
    for action, name, at in steps:
        if action == "insert":
            others = [other for other in chain.ids() if other != name]
            chain, link = chain.insert(at, name, name)
            kept.append(link)
            others.insert(min(at, len(others)), name)
            assert list(chain.ids()) == others
        elif action == "drop":
            chain = chain.drop(name)
        elif kept:
            chain = chain.put(kept[at % len(kept)])
        places = [link.place for link in chain]
        assert places == sorted(places)
        assert len(set(places)) == len(places)
        assert len(set(chain.ids())) == len(chain)


@settings(max_examples=200)
@given(st.lists(st.sampled_from(NAMES), unique=True, min_size=1), STEPS, st.randoms(use_true_random=False))
def test_restoring_every_touched_element_gives_the_chain_back_in_any_order(start, steps, rng):
    chain = before = Chain.of((name, name) for name in start)
    for action, name, at in steps:
        chain = chain.drop(name) if action == "drop" else chain.insert(at, name, f"{name}{at}")[0]
    touched = sorted({name for _, name, _ in steps})
    rng.shuffle(touched)
    for name in touched:
        link = before.find(name)
        chain = chain.drop(name) if link is None else chain.put(link)
    assert chain == before
    assert [link.place for link in chain] == [link.place for link in before]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=80))
def test_a_place_can_always_be_made_between_two_others(choices):
    places = [((1024, "p"),), ((1025, "q"),)]
    for at, choice in enumerate(choices):
        gap = choice % (len(places) + 1)
        low = places[gap - 1] if gap else None
        high = places[gap] if gap < len(places) else None
        new = make_place_between(low, high, f"n{at}")
        assert low is None or low < new
        assert high is None or new < high
        places.insert(gap, new)
    assert len(set(places)) == len(places)


@given(st.permutations(NAMES), st.permutations(NAMES))
def test_the_reported_moves_explain_the_new_order(one, two):
    before, after = Chain.of((name, 0) for name in one), Chain.of((name, 0) for name in two)
    moved = before.find_moved(after)
    assert [name for name in one if name not in moved] == [name for name in two if name not in moved]
    assert bool(moved) is (one != two)
