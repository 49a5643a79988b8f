"""What a proof costs against the 50-state sample it replaces, and how it grows with the program."""

from __future__ import annotations

from statistics import mean
from typing import Any, Final

from takeback.language import Candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback.verify import prove, verify_sampled
from takeback_lab.bench.roundtrip import MUTATIONS
from takeback_lab.bench.timing import best_us, call

LENGTHS: Final = (1, 2, 4, 8, 16)
_EXTRA: Final[list[dict[str, Any]]] = [
    {"op_type": "write_file", "target": "scripts/run.sh", "value": {"content": "#!/bin/sh\n", "mode": "0755"}},
    {"op_type": "allocate_socket", "target": "debug", "value": "tcp://127.0.0.1:9201"},
]


def measure() -> dict[str, Any]:
    """Return mean times of proof and sample over typical candidates (1 to 4 operations) and growth."""
    operations = [op for mutation in MUTATIONS.values() for op in mutation] + _EXTRA
    typical = [
        [operations[(at + step) % len(operations)] for step in range(length)]
        for length in (1, 2, 3, 4)
        for at in range(len(operations))
    ]
    proofs, samples = [], []
    for mutation in typical:
        candidate = _candidate(mutation)
        timed = _times(candidate, 0.01)
        proofs.append(timed["proof"])
        samples.append(timed["sample"])
    growth = []
    for length in LENGTHS:
        candidate = _candidate(_long(length))
        timed = _times(candidate, 0.05)
        growth.append(
            {
                "operations": length,
                "classes": prove(candidate).classes,
                "proof_us": round(timed["proof"], 1),
                "sampled_us": round(timed["sample"], 1),
                "ratio": round(timed["proof"] / timed["sample"], 3),
            }
        )
    return {
        "candidates": len(typical),
        "proof_us": round(mean(proofs), 1),
        "sampled_us": round(mean(samples), 1),
        "ratio": round(mean(proofs) / mean(samples), 3),
        "worst_ratio": round(max(proof / sample for proof, sample in zip(proofs, samples, strict=True)), 3),
        "growth": growth,
    }


def _times(candidate: Candidate, seconds: float) -> dict[str, float]:
    sides = {"proof": call(prove, candidate), "sample": call(verify_sampled, candidate)}
    return best_us(sides, rounds=3, seconds=seconds)


def _candidate(mutation: list[dict[str, Any]]) -> Candidate:
    return invert_mutation(read_program(mutation, Stage.FORWARD, "bench"))


def _long(length: int) -> list[dict[str, Any]]:
    """Return a mutation of `length` operations that goes round the surfaces, each at an address of its own."""
    return [_operation(at) for at in range(length)]


def _operation(at: int) -> dict[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"op_type": "set_config", "target": f"agent.limits.key_{at}", "value": at},
        {"op_type": "write_file", "target": f"notes/{at}.md", "value": "text"},
        {"op_type": "add_middleware", "target": f"mw_{at}", "value": {"handler": "m:M"}, "after": "auth"},
        {"op_type": "allocate_socket", "target": f"port_{at}", "value": f"tcp://127.0.0.1:{9300 + at}"},
        {"op_type": "add_listener", "target": "on_error", "value": {"id": f"cb_{at}", "handler": "h:h"}},
        {"op_type": "set_prompt", "target": f"prompt_{at}", "value": "text"},
    ]
    return kinds[at % len(kinds)]
