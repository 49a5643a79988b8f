"""How fast a round trip is, against the plain reference in the same run, and how it grows with the state."""

from __future__ import annotations

from statistics import mean
from typing import Any, Final

from takeback.bench import reference
from takeback.bench.timing import best_us, call
from takeback.counterfactual import nominal_state
from takeback.language import read_candidate, read_program
from takeback.state import PMap, Stage, State
from takeback.state.chain import Chain
from takeback.state.file import File
from takeback.synthesize import invert
from takeback.verify import Trial, verify_sampled

SIZES: Final = (10, 1_000, 100_000, 1_000_000)
CHAINS: Final = (10, 100, 1_000)
"""Lengths of the middleware chain, whose operations cost time in its length (docs/limitations.md)."""
MUTATIONS: Final[dict[str, list[dict[str, Any]]]] = {
    "config": [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}],
    "prompts": [{"op_type": "set_prompt", "target": "system", "value": "You are a terse coding agent."}],
    "tools": [
        {
            "op_type": "register_tool",
            "target": "web_search",
            "value": {
                "id": "web_search",
                "description": "Search the web.",
                "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
                "implementation": "tools.web:search",
            },
        }
    ],
    "middleware": [
        {"op_type": "add_middleware", "target": "rate_limit", "value": {"handler": "mw.rate:Limit"}, "index": 0}
    ],
    "listeners": [
        {"op_type": "add_listener", "target": "on_start", "value": {"id": "warm", "handler": "hooks.warm:run"}}
    ],
    "files": [{"op_type": "write_file", "target": "notes/todo.md", "value": {"content": "- rest\n", "mode": "0644"}}],
    "sockets": [{"op_type": "allocate_socket", "target": "debug", "value": {"address": "tcp://127.0.0.1:9205"}}],
    "multi": [
        {"op_type": "set_config", "target": "agent.max_retries", "value": 5},
        {"op_type": "set_routing", "target": "default_model", "value": "code-2"},
    ],
}


def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Return round trips a second, the reference's, their ratio, and growth with the state's size."""
    nominal = nominal_state()
    ours, theirs = [], []
    for mutation in MUTATIONS.values():
        candidate = invert(read_program(mutation, Stage.FORWARD, "bench"), nominal)
        trial, plain, state = Trial(candidate), _whole(candidate.to_json()), nominal.write()
        if not trial.run(nominal).passed or not reference.round_trip(plain, state):
            raise AssertionError("a benchmarked candidate does not pass")
        timed = best_us({"ours": call(trial.run, nominal), "theirs": call(reference.round_trip, plain, state)})
        ours.append(timed["ours"])
        theirs.append(timed["theirs"])
    growth = {size: _grown(size) for size in sizes}
    return {
        "per_second": round(1e6 / mean(ours)),
        "reference_per_second": round(1e6 / mean(theirs)),
        "ratio": round(mean(theirs) / mean(ours), 2),
        "by_family_us": {name: round(time, 2) for name, time in zip(MUTATIONS, ours, strict=True)},
        "growth": {str(size): round(time, 2) for size, time in growth.items()},
        "growth_ratio": round(growth[sizes[-1]] / growth[sizes[0]], 2),
        "chain_growth": {str(length): round(_chained(length), 2) for length in CHAINS},
        "verify_50_states_ms": round(_verification() / 1000, 2),
    }


def _whole(plain: dict[str, Any]) -> dict[str, Any]:
    """Give the reference whole-event captures: it has no others."""
    return {
        **plain,
        "witness": [{name: item for name, item in op.items() if name != "value"} for op in plain["witness"]],
    }


def _grown(size: int) -> float:
    state = large_state(size)
    trials = [Trial(invert(read_program(mutation, Stage.FORWARD, "bench"))) for mutation in MUTATIONS.values()]
    return best_us({"all": lambda: [trial.run(state) for trial in trials]})["all"] / len(trials)


def _chained(length: int) -> float:
    record = nominal_state().part("middleware").links[0].record
    chain = Chain.of((f"mw_{at}", record.put("id", f"mw_{at}")) for at in range(length))
    state = nominal_state().replace("middleware", chain)
    trial = Trial(invert(read_program(MUTATIONS["middleware"], Stage.FORWARD, "bench")))
    return best_us({"chain": call(trial.run, state)}, rounds=3)["chain"]


def _verification() -> float:
    candidate = read_candidate(invert(read_program(MUTATIONS["tools"], Stage.FORWARD, "bench")).to_json())
    return best_us({"verify": lambda: verify_sampled(candidate)})["verify"]


def large_state(size: int) -> State:
    """Return the nominal state with entries added over config, prompts, routing, tools and files."""
    nominal, share = nominal_state(), size // 5
    config = {name: nominal.part("config")[name] for name in nominal.part("config")}
    for group in range(max(1, share // 1000)):
        config[f"group_{group}"] = PMap({f"key_{at}": at for at in range(min(share, 1000))})
    tool = nominal.part("tools")["grep"]
    content = File(b"content\n")
    extra = {
        "config": config,
        "prompts": {f"prompt_{at}": "text" for at in range(share)},
        "routing": {f"route_{at}": "large-1" for at in range(share)},
        "tools": {f"tool_{at}": tool for at in range(share)},
        "files": {f"file_{at}.txt": content for at in range(share)},
    }
    parts = dict(nominal.parts)
    for name, entries in extra.items():
        parts[name] = PMap({**parts[name], **entries})
    return State.of(parts)
