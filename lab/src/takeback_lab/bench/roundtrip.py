"""How fast a round trip is, against the plain reference in the same run, and how it grows with the state.

A round trip is `Trial.run`, what every verdict is made of: capture, forward, audit of the contract, recover, compare.
The reference (`bench/reference.py`) does the same work with deep copies and sorted JSON. `ratio` is the median over
the rounds of how many times as long the reference takes over the eight mutations; `growth` and `chain_growth` are how
much longer the slowest of ever larger states, and of ever longer chains, takes than the smallest, by their medians.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import fmean, median
from typing import Any, Final

from takeback.language import read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import PMap, Stage, State
from takeback.state.chain import Chain
from takeback.state.file import File
from takeback.verify import Trial, verify_sampled
from takeback.verify.suites import make_nominal_state
from takeback_lab.bench import reference
from takeback_lab.bench.timing import Spread, call, growth, rounds_us, spread

SIZES: Final = (10, 1_000, 100_000, 1_000_000)
CHAINS: Final = (10, 1_000, 100_000)
"""Lengths of the middleware chain."""
ROUNDS: Final = 21
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


def measure(sizes: tuple[int, ...] = SIZES, chains: tuple[int, ...] = CHAINS) -> dict[str, Any]:
    """Return round trips per second, the reference's, their ratio, and growth with states and chains."""
    nominal = make_nominal_state()
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    for mutation in MUTATIONS.values():
        candidate = invert_mutation(read_program(mutation, Stage.FORWARD, "bench"), nominal)
        trial, plain, state = Trial(candidate), _whole(candidate.to_json()), nominal.write()
        if not trial.run(nominal).passed or not reference.round_trip(plain, state):
            raise AssertionError("a benchmarked candidate does not pass")
        sides = {"ours": call(trial.run, nominal), "theirs": call(reference.round_trip, plain, state)}
        timed = rounds_us(sides, rounds=ROUNDS, seconds=0.01)
        ours.append(timed["ours"])
        theirs.append(timed["theirs"])
    mine = [fmean(times) for times in zip(*ours, strict=True)]
    others = [fmean(times) for times in zip(*theirs, strict=True)]
    ratio = spread([other / own for own, other in zip(mine, others, strict=True)])
    grown = _timed({size: _on_state(large_state(size)) for size in sizes}, len(MUTATIONS))
    chained = _timed({length: _on_chain(length) for length in chains}, 1)
    return {
        "per_second": round(1e6 / median(mine)),
        "reference_per_second": round(1e6 / median(others)),
        "ratio": round(ratio.median, 2),
        "ratio_spread": [round(ratio.lower, 2), round(ratio.upper, 2)],
        "by_family_us": {name: spread(times).to_json() for name, times in zip(MUTATIONS, ours, strict=True)},
        "growth": growth(grown),
        "growth_us": {str(size): times.to_json() for size, times in grown.items()},
        "chain_growth": growth(chained),
        "chain_growth_us": {str(length): times.to_json() for length, times in chained.items()},
        "verify_50_states_ms": _verification().to_json(),
    }


def _whole(plain: dict[str, Any]) -> dict[str, Any]:
    """Give the reference whole-event captures: it has no others."""
    return {
        **plain,
        "witness": [{name: item for name, item in op.items() if name != "value"} for op in plain["witness"]],
    }


def _timed(sides: Mapping[int, Callable[[], object]], trips: int) -> dict[int, Spread]:
    """What each side takes per round trip, the sides taken in turns."""
    timed = rounds_us({str(size): side for size, side in sides.items()}, rounds=2 * ROUNDS)
    return {int(size): spread([time / trips for time in times]) for size, times in timed.items()}


def _on_state(state: State) -> Callable[[], object]:
    """One round trip of every mutation."""
    trials = [
        Trial(invert_mutation(read_program(mutation, Stage.FORWARD, "bench"))) for mutation in MUTATIONS.values()
    ]
    return lambda: [trial.run(state) for trial in trials]


def _on_chain(length: int) -> Callable[[], object]:
    """One round trip in the middle of a chain."""
    record = make_nominal_state().part("middleware").links[0].record
    chain = Chain.of((f"mw_{at}", record.put("id", f"mw_{at}")) for at in range(length))
    state = make_nominal_state().replace("middleware", chain)
    op = {name: item for name, item in MUTATIONS["middleware"][0].items() if name != "index"}
    op["after"] = f"mw_{length // 2}"
    return call(Trial(invert_mutation(read_program([op], Stage.FORWARD, "bench"))).run, state)


def _verification() -> Spread:
    candidate = read_candidate(invert_mutation(read_program(MUTATIONS["tools"], Stage.FORWARD, "bench")).to_json())
    timed = rounds_us({"verify": lambda: verify_sampled(candidate)}, rounds=ROUNDS, seconds=0.02)["verify"]
    return spread([time / 1000 for time in timed])


def large_state(size: int) -> State:
    """Return the nominal state with entries added over config, prompts, routing, tools and files."""
    nominal, share = make_nominal_state(), size // 5
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
