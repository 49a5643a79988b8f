"""Suites and hidden pools: sizes, prefixes, disjointness, the same states in every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.support.running import op

from takeback.errors import InputError
from takeback.language import read_program
from takeback.state import Stage, State
from takeback.verify.suites import SUITES, generate_states, make_dev_states, make_nominal_state, make_suites
from takeback_lab.hidden_states import make_hidden_states

MUTATIONS = {
    "config": [op("set_config", "agent.timeout_sec", value=60)],
    "tools": [op("register_tool", "grep", value={"id": "g"})],
    "middleware": [
        op("add_middleware", "auth", value={"handler": "h"}, before="retry"),
        op("add_middleware", "tracing", value={"handler": "h"}, after="auth"),
    ],
    "files": [op("write_file", "notes/todo.md", value="x")],
    "sockets": [op("allocate_socket", "metrics", value="tcp://127.0.0.1:9101")],
    "listeners": [op("add_listener", "on_error", value="audit")],
    "nothing": [],
}


def _program(name: str) -> tuple:
    return read_program(MUTATIONS[name], Stage.FORWARD, "mutation")


def _digests(states: tuple[State, ...]) -> list[str]:
    return [state.digest() for state in states]


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("dev", ["Q20", "Q10-narrow"])
def test_the_three_splits_have_no_state_in_common(name, dev):
    for seed in (0, 1):
        made = make_suites(make_nominal_state(), _program(name), seed=seed, dev=dev, iid=40, ood=40)
        digests = [digest for _, states in made.splits() for digest in _digests(states)]
        assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("suite", SUITES)
def test_a_dev_suite_has_its_size(suite):
    assert len(make_dev_states(make_nominal_state(), _program("config"), suite)) == SUITES[suite]


def test_dev_suites_are_prefixes_of_each_other_and_begin_with_the_nominal_state():
    q2, q5, q10, q20 = (
        _digests(make_dev_states(make_nominal_state(), _program("config"), name))
        for name in ("Q2", "Q5", "Q10", "Q20")
    )
    assert q20[:10] == q10
    assert q10[:5] == q5
    assert q5[:2] == q2
    assert q2[0] == make_nominal_state().digest()


def test_a_narrow_suite_never_varies_whether_the_touched_key_exists():
    program = _program("tools")
    narrow = make_dev_states(make_nominal_state(), program, "Q10-narrow")
    assert all("grep" in state.part("tools") for state in narrow)
    diverse = make_dev_states(make_nominal_state(), program, "Q20")
    assert any("grep" not in state.part("tools") for state in diverse)


@pytest.mark.parametrize("name", ["config", "sockets", "middleware"])
def test_smaller_hidden_pools_are_prefixes_of_larger_ones(name):
    large = make_suites(make_nominal_state(), _program(name), iid=60, ood=60)
    for iid, ood in [(5, 5), (20, 0), (0, 20), (60, 7), (3, 60)]:
        small = make_suites(make_nominal_state(), _program(name), iid=iid, ood=ood)
        assert _digests(small.iid) == _digests(large.iid[:iid])
        assert _digests(small.ood) == _digests(large.ood[:ood])


def test_hidden_states_match_those_verification_uses():
    made = make_suites(make_nominal_state(), _program("files"), iid=8, ood=8)
    for split in ("iid", "ood"):
        shown = make_hidden_states(make_nominal_state(), _program("files"), split, 8)
        assert _digests(shown) == _digests(getattr(made, split))


def test_a_fresh_pool_alternates_iid_and_ood():
    fresh = make_hidden_states(make_nominal_state(), _program("files"), "fresh", 7)
    made = make_suites(make_nominal_state(), _program("files"), iid=4, ood=3)
    assert _digests(fresh[::2]) == _digests(made.iid)
    assert _digests(fresh[1::2]) == _digests(made.ood)


def test_another_seed_gives_other_states_and_the_same_seed_the_same():
    one, again, two = (
        _digests(generate_states(make_nominal_state(), _program("config"), "ood", seed, 10)) for seed in (0, 0, 1)
    )
    assert one == again
    assert len(set(one) & set(two)) < 3


_SCRIPT = """
import json
from takeback.verify.suites import make_suites, make_nominal_state
from takeback.language import read_program
from takeback.state import Stage
found = {}
for name, mutation in json.loads(input()).items():
    program = read_program(mutation, Stage.FORWARD, "m")
    made = make_suites(make_nominal_state(), program, seed=3, dev="Q10", iid=12, ood=12)
    found[name] = [state.digest() for _, states in made.splits() for state in states]
print(json.dumps(found))
"""


def test_every_process_makes_the_same_states():
    found = []
    for salt in ("0", "1234"):
        environment = {**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            input=json.dumps(MUTATIONS),
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        found.append(json.loads(ran.stdout))
    assert found[0] == found[1]
    made = make_suites(make_nominal_state(), _program("middleware"), seed=3, dev="Q10", iid=12, ood=12)
    assert found[0]["middleware"] == [digest for _, states in made.splits() for digest in _digests(states)]


def test_the_states_of_a_seed_never_change():
    made = make_suites(make_nominal_state(), _program("config"), seed=0, dev="Q2", iid=2, ood=2)
    shown = [digest[:12] for _, states in made.splits() for digest in _digests(states)]
    assert shown == ["1d094e631bab", "8c9728ec6ebf", "53b14aac8b53", "5a9162862df0", "84ee6499b77a", "fc1356093c9a"]


@pytest.mark.parametrize("count", [-1, 10_001])
def test_a_pool_size_out_of_bounds_is_an_error(count):
    with pytest.raises(InputError, match="expected a number from 0 to 10000"):
        make_suites(make_nominal_state(), (), iid=count)


def test_an_unknown_suite_is_an_error():
    with pytest.raises(InputError, match="found Q3, expected one of Q2"):
        make_dev_states(make_nominal_state(), (), "Q3")


def test_pools_can_be_drawn_from_the_empty_state_too():
    made = make_suites(State(), _program("nothing"), iid=10, ood=10)
    assert len({*_digests(made.iid), *_digests(made.ood)}) == 20
