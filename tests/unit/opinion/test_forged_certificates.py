"""Certificates of candidates that are wrong, forged by somebody who has read the checker: each is rejected.

In each the claimed states are chosen so that the candidate holds on every one of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from tests.support.running import op
from tests.unit.opinion.forgeries import seal

from takeback.language import read_candidate
from takeback.opinion.checker import OPAQUE, _Names, check_certificate
from takeback.opinion.interpreter import Chain, RejectedError
from takeback.opinion.interpreter import read_candidate as read_program
from takeback.state import SURFACES, unregister
from takeback.state.surfaces.external import EXTERNAL, install_external_surface
from takeback.verify import Grade, prove

Plain = dict[str, Any]
HELD, TOO = "tcp://127.0.0.1:9501", "tcp://127.0.0.1:9502"
ANY_PORT, OWN, OTHER = "tcp://127.0.0.1:0", "tcp://127.0.0.1:9701", "tcp://127.0.0.1:9702"


class Forgery(NamedTuple):
    """A wrong candidate, the states claimed with where the mutation stops on each, and why that is no proof."""

    candidate: Plain
    base: Plain
    claims: list[tuple[Plain, int | None]]
    reason: str
    mode: str = "as it is"
    reach: int | None = None


def _socket(address: str, lifecycle: str) -> Plain:
    return {"address": address, "lifecycle": lifecycle}


def _element(name: str, handler: str, **more: int) -> Plain:
    return {"id": name, "handler": handler, **more}


def _below(value: Any) -> Plain:
    return {"config": {"a": [value]}}


def _list_boxes(name: str) -> list[Plain]:
    """Containers that differ in what stands at one name, and in whether there is something else."""
    inside = ({}, {name: name}, {name: {"z": f"in {name}"}})
    return [{**one, **rest} for one in inside for rest in ({}, {"z": f"beside {name}"})]


_FREED = {
    "mutation": [op("set_config", "a.b", value=1), op("unset_config", "a.b")],
    "witness": [op("capture_config", "a.b", witness_key="w")],
    "recovery": [op("restore_config", "a.b", witness_key="w")],
    "contract": ['config["a.b"]'],
}
"""It leaves `a` behind where nothing was, which its contract omits."""
_LENT = {
    "mutation": [op("allocate_socket", "p", value=ANY_PORT)],
    "witness": [op("capture_socket", key, witness_key=key) for key in "pq"],
    "recovery": [op("release_socket", to, witness_key=key) for to, key in ("qp", "pp", "qq")],
    "contract": ["resources"],
}
"""Two keys hold what the first one held, for a moment."""
_MET = {
    "mutation": [op("allocate_socket", "p", value=HELD), op("allocate_socket", "q", value=TOO)],
    "witness": [op("capture_socket", key, witness_key=key) for key in "pq"],
    "recovery": [op("release_socket", key, witness_key=key) for key in "pq"],
    "contract": ["resources"],
}
"""It gives the first key its address back while the second one may still hold it."""
_LEFT = {
    "mutation": [op("allocate_socket", "p", value=HELD)],
    "witness": [],
    "recovery": [],
    "contract": ["resources"],
}
_PUSHED = {
    "mutation": [
        op("add_middleware", "q", value={"handler": "h"}, after="m"),
        op("add_middleware", "m", value={"handler": "k"}, priority=5),
    ],
    "witness": [op("capture_middleware", "q", witness_key="q")],
    "recovery": [op("restore_middleware", "q", witness_key="q")],
    "contract": ["middleware"],
}
"""It does not restore `m`."""
_ANCHORED = {
    "mutation": [op("move_listener", "e", value="p", after="q")],
    "witness": [op("capture_listener", "e", value="p", witness_key="p")],
    "recovery": [op("restore_listener", "e", witness_key="p")],
    "contract": [],
}
"""It goes through only where both are there, and then its contract omits what it does."""
_FILLED = {
    "mutation": [op("edit_external", "b/r", value={"field": "x", "value": 1})],
    "witness": [],
    "recovery": [],
    "contract": ["external"],
}
_GROWN = {"mutation": [op("append_config", "l", value=1)], "witness": [], "recovery": [], "contract": ["config"]}
_BELOW = ("a.b.x", "a.c.d", "a.e.f")
_EMPTIED = {
    "mutation": [
        op("set_config", "a.b", value={}),
        op("set_config", "a.c.d", value=1),
        op("set_config", "a.e.f", value=2),
    ],
    "witness": [op("capture_config", path, witness_key=path) for path in _BELOW],
    "recovery": [op("restore_config", path, witness_key=path) for path in _BELOW],
    "contract": ["config"],
}
"""It removes `a.b` again, but does not bring back what stood there."""
_ROOT, _OUT = {"zz": "unnamed"}, {"zz": _socket(OTHER, "unnamed")}
_FORGERIES = {
    "a surface that is no mapping lets nothing be written": Forgery(
        _FREED,
        {"config": {**_ROOT, "a": {"b": "b", "z": "in a"}}},
        [
            (_below({"z": "in a"}), None),
            (_below({"b": "b"}), None),
            (_below({"b": {"q": "in b"}, "z": "in a"}), None),
            (_below({}), None),
            (_below("a"), 0),
            ({"config": ["zz"]}, 0),
        ],
        "impossible state",
        OPAQUE,
    ),
    "a port that the system chooses clashes with nothing": Forgery(
        _LENT,
        {"resources": {"p": _socket(ANY_PORT, "p"), "q": _socket(ANY_PORT, "q"), **_OUT}},
        [({"resources": {"p": []}}, None), ({"resources": {"q": []}}, None)],
        "not generic",
    ),
    "who holds an address in the base keeps it from another": Forgery(
        _MET,
        {"resources": {"p": _socket(OWN, "p"), "q": _socket(TOO, "q"), "zz": _socket(ANY_PORT, "unnamed")}},
        [
            ({"resources": {"p": []}}, None),
            ({"resources": {"p": [_socket(HELD, "p")]}}, None),
            ({"resources": {"q": []}}, None),
            ({"resources": {"q": [_socket(OTHER, "q")]}}, None),
            ({"resources": {"q": [_socket(HELD, "q")]}}, 0),
            ({"resources": {"zz": [_socket(HELD, "unnamed")]}}, 0),
        ],
        "wrong base",
    ),
    "something outside makes every run fail": Forgery(
        _LEFT,
        {"resources": {"p": _socket(OWN, "p"), "zz": _socket(HELD, "unnamed")}},
        [({"resources": {"p": []}}, 0)],
        "wrong base",
        reach=0,
    ),
    "an element is what it is made, priority and all": Forgery(
        _PUSHED,
        {
            "middleware": [
                _element("zz", "z", priority=1),
                _element("m", "k", priority=5),
                _element("q", "q", priority=7),
            ]
        },
        [
            ({"middleware": [_element("zz", "z", priority=1), _element("q", "q", priority=7)]}, 0),
            ({"middleware": [_element("zz", "z", priority=1), _element("m", "k", priority=5)]}, None),
        ],
        "not generic",
    ),
    "an operation wants two elements, and the base has neither": Forgery(
        _ANCHORED,
        {"listeners": {"zz": [_element("z", "z")]}},
        [({"listeners": {"e": [[_element(name, name)]]}}, 0) for name in "pqz"],
        "wrong base",
        OPAQUE,
        reach=0,
    ),
    "a field is as it is written already": Forgery(
        _FILLED,
        {"external": {"b/zz": {"z": 1}, "b/r": {"x": 1, "y": 2}}},
        [({"external": {"b/r": []}}, 0)],
        "not generic",
        OPAQUE,
    ),
    "a list is what stands for the result of an edit": Forgery(
        _GROWN,
        {"config": {**_ROOT, "l": ["left", 0]}},
        [({"config": {"l": []}}, 0), ({"config": {"l": [{"z": "in l"}]}}, 0)],
        "not generic",
        OPAQUE,
    ),
    "what stands beside makes the mutation fail": Forgery(
        _EMPTIED,
        {"config": _ROOT},
        [
            (_below("a"), 0),
            (_below({"z": "in a"}), None),
            (_below({}), None),
            (_below({"z": "in a", "b": {"x": "x"}, "c": {"d": "d"}, "e": {"f": "f"}}), None),
            (_below({"b": {"x": "x"}, "c": {"d": "d"}, "e": {"f": "f"}}), None),
            (_below({"c": "c"}), 1),
            (_below({"e": "e"}), 2),
            (_below({"b": "b", "c": "c"}), 1),
            *((_below({"b": one, "c": "c"}), 1) for one in _list_boxes("x")),
            *((_below({"c": one, "e": "e"}), 2) for one in _list_boxes("d")),
            *((_below({"e": one, "c": "c"}), 1) for one in _list_boxes("f")),
            (_below({"e": "e", "c": "c"}), 1),
        ],
        "not restored",
    ),
}


def _write(forged: Forgery) -> Plain:
    candidate = read_candidate(forged.candidate)
    names = _Names(read_program(candidate.to_json()))
    run = {
        "mode": forged.mode,
        "components": sorted(names.titles()),
        "reach": forged.reach,
        "base": forged.base,
        "classes": [{"change": change, "stops": stops, "held": True} for change, stops in forged.claims],
    }
    runs = [run]
    if forged.candidate is _GROWN:
        runs.append({**run, "mode": "mutation left out", "components": [], "classes": []})
    head = {"format": 1, "claim": "proved", "candidate": candidate.to_json(), "digest": candidate.digest()}
    return seal({**head, "runs": runs})


@pytest.fixture(autouse=True)
def _external():
    known = EXTERNAL in SURFACES
    install_external_surface()
    yield
    if not known:
        unregister(EXTERNAL)


@pytest.mark.parametrize("forged", _FORGERIES.values(), ids=_FORGERIES)
def test_a_certificate_of_a_wrong_candidate_is_rejected_whatever_states_it_claims(forged):
    assert prove(forged.candidate).grade is Grade.REFUTED
    with pytest.raises(RejectedError) as caught:
        check_certificate(_write(forged))
    assert caught.value.reason == forged.reason


def test_elements_of_two_chains_at_one_place_are_ordered_by_id():
    chain = Chain({}).insert(0, "q", "of one event")
    place, _ = chain.links["q"]
    assert chain.put("p", place, "of another").order() == ["p", "q"]
