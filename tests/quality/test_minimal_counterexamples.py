"""Counterexamples are minimal: nothing can be taken from one without the failure going away."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.running import op
from tests.support.strategies import candidates, states

from takeback.language import read_candidate
from takeback.state import SURFACES, State
from takeback.verify import Grade, Trial, prove, shrink_state, verify_sampled
from takeback.verify.sampled import make_counterexample
from takeback.verify.suites import make_nominal_state

EXAMPLES = Path(__file__).parents[2] / "examples" / "candidates"
REFUTED = [
    folder
    for folder in sorted(EXAMPLES.iterdir())
    if json.loads((folder / "expected.json").read_text())["proof"]["grade"] == "refuted"
]


def _less(state: State) -> list[State]:
    """Every state with one entry less, made from plain JSON and nothing of the verifier."""
    found = []
    plain = state.write()
    for name, part in plain.items():
        if name == "config":
            found += [{**plain, name: less} for less in _without_one(part)]
        elif isinstance(part, list):
            found += [{**plain, name: part[:at] + part[at + 1 :]} for at in range(len(part))]
        elif name == "listeners":
            found += [
                {**plain, name: {**part, event: bound[:at] + bound[at + 1 :]}}
                for event, bound in part.items()
                for at in range(len(bound))
            ]
        else:
            found += [{**plain, name: {key: item for key, item in part.items() if key != gone}} for gone in part]
    return [State.read(one) for one in found]


def _without_one(part: dict) -> list[dict]:
    found = []
    for key, item in part.items():
        rest = {other: value for other, value in part.items() if other != key}
        found.append(rest)
        if isinstance(item, dict):
            found += [{**rest, key: less} for less in _without_one(item)]
    return found


def _assert_minimal(trial: Trial, state: State, *, through: bool = False) -> None:
    assert not trial.run(state).passed
    for less in _less(state):
        trip = trial.run(less)
        assert trip.passed or (through and trip.forward_failure), (state, less)


@pytest.mark.parametrize("folder", REFUTED, ids=lambda folder: folder.name)
def test_the_counterexample_of_a_worked_example_is_minimal(folder):
    candidate = read_candidate(json.loads((folder / "candidate.json").read_text()))
    for verdict in (prove(candidate), verify_sampled(candidate)):
        if verdict.counterexample is not None:
            example = verdict.counterexample
            _assert_minimal(Trial(candidate), example.state, through=example.through)


@given(candidates)
def test_the_counterexample_of_a_random_candidate_is_minimal(candidate):
    verdict = prove(candidate)
    if verdict.grade is Grade.REFUTED:
        _assert_minimal(Trial(candidate), verdict.counterexample.state)


@settings(max_examples=50)
@given(candidates, st.lists(states, min_size=1, max_size=3))
def test_any_breaking_state_can_be_made_minimal(candidate, tried):
    trial = Trial(candidate)
    for state in tried:
        if not trial.run(state).passed:
            _assert_minimal(trial, shrink_state(state, lambda less: not trial.run(less).passed))


def test_a_large_breaking_state_shrinks_to_one_entry():
    candidate = read_candidate(
        {
            "mutation": [op("set_prompt", "p", value="x")],
            "contract": ["prompts"],
            "witness": [op("capture_prompt", "q", witness_key="w")],
            "recovery": [op("restore_prompt", "p", witness_key="w")],
        }
    )
    trial = Trial(candidate)
    plain = make_nominal_state().write()
    plain["prompts"] = {f"k{at}": "x" for at in range(500)} | {"p": "old"}
    plain["config"] |= {f"k{at}": {"inner": at} for at in range(500)}
    small = shrink_state(State.read(plain), lambda less: not trial.run(less).passed)
    assert small.write() == {"prompts": {"p": "old"}}


def test_a_candidate_that_fails_everywhere_is_refuted_by_the_empty_state():
    candidate = read_candidate({"mutation": [op("set_prompt", "p", value="x")]})
    assert prove(candidate).counterexample.state == State()


def test_every_surface_offers_all_its_entries_for_removal():
    state = make_nominal_state()
    for name, surface in SURFACES.items():
        part = state.part(name)
        for _, edit in list(surface.entries(part)):
            part = edit(part)
        assert surface.size(part) == 0, name


PROMPT = {
    "mutation": [op("set_prompt", "p", value="x")],
    "witness": [op("capture_prompt", "p", witness_key="p")],
    "recovery": [op("restore_prompt", "p", witness_key="p")],
}
LARGE = {
    "middleware": (
        {"middleware": [{"id": f"m{at}", "handler": "h"} for at in range(3000)]},
        op("capture_middleware", "gone", witness_key="w"),
        op("restore_middleware", "m777", witness_key="w"),
        ["m777"],
    ),
    "listeners": (
        {"listeners": {"on": [{"id": f"c{at}", "handler": "h"} for at in range(3000)]}},
        op("capture_prompt", "p", witness_key="unused"),
        op("unregister_listener", "on", value="c777"),
        ["c777"],
    ),
    "config": (
        {"config": {"a": {"b": {f"k{at}": at for at in range(3000)}}, **{f"z{at}": {"q": at} for at in range(500)}}},
        op("capture_prompt", "p", witness_key="unused"),
        op("delete_config", "a.b.k777"),
        ["k777"],
    ),
    "files": (
        {"files": {f"a/b/f{at}": {"content": "x"} for at in range(3000)}},
        op("capture_prompt", "p", witness_key="unused"),
        op("delete_file", "a/b/f777"),
        ["f777"],
    ),
}


@pytest.mark.parametrize("surface", LARGE)
def test_a_large_surface_shrinks_in_few_runs(surface):
    plain, capture, damage, left = LARGE[surface]
    witness, recovery = [*PROMPT["witness"], capture], [*PROMPT["recovery"], damage]
    trial = Trial(read_candidate({**PROMPT, "witness": witness, "recovery": recovery}))
    runs = []
    small = shrink_state(State.read(plain), lambda less: runs.append(less) or not trial.run(less).passed)
    assert small.size() == 1
    assert all(name in str(small.write()) for name in left)
    assert len(runs) < 400


def test_shrinking_stops_at_the_deadline_and_the_verdict_says_so(monkeypatch):
    plain, capture, damage, _ = LARGE["middleware"]
    candidate = read_candidate(
        {**PROMPT, "witness": [*PROMPT["witness"], capture], "recovery": [*PROMPT["recovery"], damage]}
    )
    now, trial, runs = [0.0], Trial(candidate), []
    for module in ("takeback.verify.shrink", "takeback.verify.sampled"):
        monkeypatch.setattr(import_module(module), "monotonic", lambda: now[0])

    def fails(less: State) -> bool:
        now[0] += 1
        runs.append(less)
        return not trial.run(less).passed

    state = State.read(plain)
    reached = shrink_state(state, fails, deadline=4.5)
    assert len(runs) == 5
    assert not trial.run(reached).passed
    assert 1 < reached.size() < state.size()
    example = make_counterexample(candidate, state, "dev", deadline=-1.0)
    assert example.minimal is False
    assert example.state is state
    assert example.to_json()["minimal"] is False
    assert make_counterexample(candidate, state, "dev", deadline=now[0] + 1).minimal is True


def test_shrinking_keeps_the_content_of_an_entry():
    properties = {f"p{at}": {"type": "string"} for at in range(200)}
    tool = {"id": "t", "parameters": {"type": "object", "properties": properties}}
    candidate = read_candidate(
        {**PROMPT, "recovery": [*PROMPT["recovery"], op("unregister_tool", "t")], "contract": ["prompts"]}
    )
    trial = Trial(candidate)
    state = State.read({"tools": {"t": tool, **{f"k{at}": {"id": "k"} for at in range(100)}}})
    small = shrink_state(state, lambda less: not trial.run(less).passed)
    assert list(small.write()["tools"]) == ["t"]
    assert small.write()["tools"]["t"]["parameters"] == tool["parameters"]
