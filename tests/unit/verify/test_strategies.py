"""Each of the ten strategies does what it is named for, and aims at what the mutation touches."""

from __future__ import annotations

import random

import pytest
from tests.support.running import op

from takeback.language import read_program
from takeback.state import ABSENT, SURFACES, Stage, State, diff, tree
from takeback.state.surface import EXISTENCE, IID, OOD, Strategy
from takeback.verify.suites import make_nominal_state, make_suites

MUTATION = [
    op("set_config", "agent.timeout_sec", value=60),
    op("set_prompt", "system", value="x"),
    op("set_routing", "default_model", value="code-2"),
    op("register_tool", "grep", value={"id": "g"}),
    op("add_middleware", "auth", value={"handler": "h"}, before="retry"),
    op("add_listener", "on_error", value="audit"),
    op("write_file", "notes/todo.md", value="x"),
    op("allocate_socket", "metrics", value="tcp://127.0.0.1:9101"),
]
PROGRAM = read_program(MUTATION, Stage.FORWARD, "mutation")


def _perturbed(strategy: Strategy, count: int = 60) -> list[State]:
    found = []
    for seed in range(count):
        rng, state = random.Random(seed), make_nominal_state()
        parts = {
            name: surface.perturb(
                strategy, state.part(name), [one for one in PROGRAM if one.kind.surface == name], rng
            )
            for name, surface in SURFACES.items()
        }
        found.append(State.of(parts))
    return found


def _changed(state: State) -> set[str]:
    return {str(change.address) for change in diff(make_nominal_state(), state)}


def _content(state: State, surface: str) -> object:
    value = state.part(surface)
    if surface == "config":
        return tree.get(value, ("agent", "timeout_sec"))
    if surface == "files":
        return tree.get(value, ("notes", "todo.md"))
    if surface == "middleware":
        return value.find("auth") or ABSENT
    keys = {
        "prompts": "system",
        "routing": "default_model",
        "tools": "grep",
        "listeners": "on_error",
        "resources": "metrics",
    }
    return value.get(keys[surface], ABSENT)


def test_there_are_five_strategies_for_each_side():
    assert len(IID) == len(OOD) == 5
    assert set(IID) | set(OOD) == set(Strategy)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("strategy", sorted(EXISTENCE))
def test_existence_strategies_make_the_touched_address_absent_and_different(strategy, surface):
    contents = [_content(state, surface) for state in _perturbed(strategy)]
    nominal = _content(make_nominal_state(), surface)
    assert any(content is ABSENT for content in contents)
    assert any(content is not ABSENT and not SURFACES[surface].equivalent(content, nominal) for content in contents)


def test_boundary_reaches_the_edges():
    contents = [_content(state, "config") for state in _perturbed(Strategy.BOUNDARY, 200)]
    shown = {repr(content) for content in contents}
    assert {"0", "0.0", "None", "True", "''", "PMap({})"} <= shown
    files = [_content(state, "files") for state in _perturbed(Strategy.BOUNDARY)]
    assert any(getattr(content, "content", None) == b"" for content in files)


def test_prior_existence_leaves_everything_else_alone():
    for state in _perturbed(Strategy.PRIOR_EXISTENCE):
        for address in _changed(state):
            surface = address.split("[")[0]
            assert surface == "middleware" or any(
                SURFACES[surface].covers(str(one.address.key).split(".")[0].split("/")[0], address.split('"')[1])
                or str(one.address) == address
                for one in PROGRAM
                if one.kind.surface == surface
            )


def test_combinatorial_varies_touched_and_untouched_addresses_together():
    touched = {str(one.address) for one in PROGRAM}
    both = [
        state
        for state in _perturbed(Strategy.COMBINATORIAL)
        if _changed(state) & touched
        and {address for address in _changed(state) if address.startswith("config")}
        - {'config["agent.timeout_sec"]', 'config["agent"]'}
    ]
    assert len(both) > 10


def test_dependency_varies_the_fallback_routes():
    changed = set().union(*map(_changed, _perturbed(Strategy.DEPENDENCY)))
    assert {'routing["default_model"]', 'routing["fallback_model"]'} <= changed


def test_noise_only_adds_unused_entries():
    for state in _perturbed(Strategy.NOISE):
        changed = _changed(state)
        assert changed
        assert all("unrelated" in address for address in changed)


def test_nested_keys_adds_an_unfamiliar_branch_of_config():
    for state in _perturbed(Strategy.NESTED_KEYS, 10):
        (address,) = _changed(state)
        assert address.startswith('config["custom_subsystem_')
        assert address.endswith('.nested.enabled"]')


def test_socket_conflict_has_something_outside_hold_ports_also_the_wanted_one():
    program = read_program([op("allocate_socket", "new", value="tcp://127.0.0.1:9500")], Stage.FORWARD, "m")
    surface, wanted = SURFACES["resources"], 0
    for seed in range(60):
        value = surface.perturb(
            Strategy.SOCKET_CONFLICT, make_nominal_state().part("resources"), program, random.Random(seed)
        )
        outside = [record for record in value.values() if record["kind"] == "external"]
        wanted += any(record["address"] == "tcp://127.0.0.1:9500" for record in outside)
    assert 10 < wanted < 50


def test_priority_middleware_prepends_unfamiliar_interceptors_of_high_priority():
    for state in _perturbed(Strategy.PRIORITY_MIDDLEWARE, 10):
        chain = state.part("middleware")
        assert chain.ids()[0].startswith("interceptor_")
        assert chain.links[0].record["priority"] == 1
        assert [name for name in chain.ids() if not name.startswith("interceptor_")] == ["auth", "tracing", "retry"]


def test_deep_directories_adds_a_deep_partition():
    for state in _perturbed(Strategy.DEEP_DIRECTORIES, 10):
        (address,) = _changed(state)
        assert address.startswith('files["external/cache/partition_')


def test_inverted_routing_turns_the_policy_round():
    for state in _perturbed(Strategy.INVERTED_ROUTING, 10):
        routing = state.part("routing")
        assert routing["default_model"] == "small-1"
        assert routing["fallback_model"] is None
        assert any(key.startswith("inverted_route_") and routing[key] == "large-1" for key in routing)


def test_perturbed_states_are_states_that_can_be_read_back():
    made = make_suites(make_nominal_state(), PROGRAM, dev="Q20", iid=30, ood=30)
    for _, states in made.splits():
        for state in states:
            assert State.read(state.write()) == state


@pytest.mark.parametrize("surface", SURFACES)
def test_both_hidden_splits_hit_the_touched_address(surface):
    made = make_suites(make_nominal_state(), PROGRAM, iid=40, ood=40)
    nominal = _content(make_nominal_state(), surface)
    for states in (made.iid, made.ood):
        contents = [_content(state, surface) for state in states]
        assert any(content is ABSENT for content in contents)
        assert any(
            content is not ABSENT and not SURFACES[surface].equivalent(content, nominal) for content in contents
        )
