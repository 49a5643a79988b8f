"""Quick questions to the verifier: does it still reject this bad thing, does it still admit that good one?

On the real code every probe answers yes. `tests/quality/test_planted_faults.py` plants faults and asks again.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.running import op, trip

from takeback.errors import VerifierBroken
from takeback.language import gate, read_candidate
from takeback.state import KINDS, Level, State
from takeback.verify import VerifyOptions, prove, round_trip, verify_json, verify_on
from takeback.verify.suites import Suites
from takeback.verify.trip import PASSED, Trial

W = {"witness_key": "w"}
SET = op("set_config", "a", value=2)
CAPTURE, RESTORE = op("capture_config", "a", **W), op("restore_config", "a", **W)
NESTED = {
    "mutation": [op("set_config", "a.b", value=1)],
    "witness": [op("capture_config", "a.b", **W)],
    "recovery": [op("restore_config", "a.b", **W)],
}
PROMPT = {
    "mutation": [op("set_prompt", "p", value="new")],
    "witness": [op("capture_prompt", "p", **W)],
    "recovery": [op("restore_prompt", "p", **W)],
}


def _foreign(surface: str, forward: dict, source: str) -> dict:
    """A candidate that restores from the capture of another key."""
    return {
        "mutation": [forward],
        "witness": [op(f"capture_{surface}", source, **W)],
        "recovery": [op(f"restore_{surface}", forward["target"], **W)],
    }


def _chain(*names: str, handler: str = "h") -> list[dict]:
    return [{"id": name, "handler": handler} for name in names]


def _sampled(counts: dict[str, int], rule: str, *, dev_fails: int = 0) -> bool:
    """Tell whether a rule admits a candidate that fails on so many states of each split."""
    candidate = read_candidate({"mutation": [SET], "recovery": [op("delete_config", "a")]})
    numbers = iter(range(1000))

    def split(size: int, failing: int) -> tuple[State, ...]:
        return tuple(
            State.read({"config": {"a": next(numbers)} if at < failing else {f"k{next(numbers)}": 1}})
            for at in range(size)
        )

    made = Suites(split(10, dev_fails), split(20, counts["iid"]), split(20, counts["ood"]))
    return verify_on(candidate, made, VerifyOptions(level=Level.L1, rule=rule)).admitted


def _refused_when_broken() -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trial, "_run", lambda self, state: PASSED)
        try:
            prove(read_candidate(PROMPT))
        except VerifierBroken:
            return True
        return False


def _explodes() -> bool:
    candidate = read_candidate(PROMPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS["restore_prompt"].__dict__, "run", lambda *_: 1 / 0)
        return not round_trip(candidate, State()).passed


def _minimal() -> bool:
    verdict = verify_json(
        {"mutation": [SET], "recovery": [op("delete_config", "a")]}, options=VerifyOptions(rule="split-wald")
    )
    return verdict.counterexample is not None and verdict.counterexample.state.size() == 1


def _touched_varied() -> bool:
    plain = {
        "mutation": [op("register_tool", "fresh", value={"id": "x"})],
        "recovery": [op("unregister_tool", "fresh")],
    }
    return not verify_json(plain, options=VerifyOptions(rule="split-wald")).admitted


PROBES: dict[str, Callable[[], bool]] = {
    "do nothing is rejected": lambda: not trip({}, mutation=[SET]).passed,
    "do nothing on prompts is rejected": lambda: not trip({}, mutation=PROMPT["mutation"]).passed,
    "a good one passes on an absent key": lambda: trip({}, **PROMPT).passed,
    "a good one passes on a key that is there": lambda: trip({"prompts": {"p": "old"}}, **PROMPT).passed,
    "an unconditional delete is rejected": lambda: (
        not trip({"config": {"a": 1}}, mutation=[SET], recovery=[op("delete_config", "a")]).passed
    ),
    "an omitted effect is rejected": lambda: not trip({}, **PROMPT, contract=["config"]).passed,
    "an omitted write of the same value is rejected": lambda: (
        not trip({"prompts": {"p": "new"}}, **PROMPT, contract=["config"]).passed
    ),
    "damage outside the contract is rejected": lambda: (
        not trip(
            {"config": {"z": 1}},
            mutation=[SET],
            witness=[CAPTURE],
            recovery=[RESTORE, op("delete_config", "z")],
            contract=['config["a"]'],
        ).passed
    ),
    "damage on another surface is rejected": lambda: (
        not trip(
            {"config": {"z": 1}}, **{**PROMPT, "recovery": [*PROMPT["recovery"], op("delete_config", "z")]}
        ).passed
    ),
    "a missing capture is rejected": lambda: not trip({}, mutation=[SET], recovery=[RESTORE]).passed,
    "a capture of another surface is rejected": lambda: (
        not trip({}, mutation=[SET], witness=[op("capture_prompt", "a", **W)], recovery=[RESTORE]).passed
    ),
    "an exception is rejected": _explodes,
    "damage after a failed mutation is rejected": lambda: (
        not trip(
            {"config": {"a": 1}}, mutation=[op("set_config", "a.b", value=1)], recovery=[op("delete_config", "a")]
        ).passed
    ),
    "a failed mutation leaves nothing behind": lambda: (
        trip(
            {"config": {"a": 1}}, mutation=[op("set_prompt", "p", value="x"), op("set_config", "a.b", value=1)]
        ).passed
    ),
    "true is not one": lambda: not trip({"config": {"a": 1, "z": True}}, **_foreign("config", SET, "z")).passed,
    "one is not one point zero": lambda: (
        not trip({"config": {"a": 1, "z": 1.0}}, **_foreign("config", SET, "z")).passed
    ),
    "null is not absent in config": lambda: not trip({"config": {"a": None}}, **_foreign("config", SET, "z")).passed,
    "null is not absent in routing": lambda: (
        not trip({"routing": {"r": None}}, **_foreign("routing", op("set_routing", "r", value="m"), "z")).passed
    ),
    "a file's mode counts": lambda: (
        not trip(
            {"files": {"f": {"content": "x"}, "g": {"content": "x", "mode": "0755"}}},
            **_foreign("file", op("write_file", "f", value="y"), "g"),
        ).passed
    ),
    "a file's content counts": lambda: (
        not trip(
            {"files": {"f": {"content": "x"}, "g": {"content": "z"}}},
            **_foreign("file", op("write_file", "f", value="y"), "g"),
        ).passed
    ),
    "the order of the chain counts": lambda: (
        not trip(
            {"middleware": _chain("b", "a")}, mutation=[op("add_middleware", "a", value={"handler": "h"}, index=0)]
        ).passed
    ),
    "a middleware's record counts": lambda: (
        not trip({"middleware": _chain("a")}, mutation=[op("add_middleware", "a", value={"handler": "new"})]).passed
    ),
    "the order of callbacks counts": lambda: (
        not trip(
            {"listeners": {"e": ["x", "y"], "far": ["1", "2", "3", "x"]}},
            mutation=[],
            witness=[op("capture_listener", "far", value="x", **W)],
            recovery=[op("restore_listener", "e", **W)],
        ).passed
    ),
    "an empty mapping left behind is rejected": lambda: (
        not trip({}, mutation=NESTED["mutation"], recovery=[op("delete_config", "a.b")]).passed
    ),
    "mappings the change made go away": lambda: trip({}, **NESTED).passed,
    "mappings that were there stay": lambda: trip({"config": {"a": {}}}, **NESTED).passed,
    "a restore takes no more than its own key": lambda: (
        not trip({}, **{**NESTED, "mutation": [*NESTED["mutation"], op("set_config", "a.c", value=1)]}).passed
    ),
    "a tool's implementation counts": lambda: (
        not trip(
            {"tools": {"t": {"id": "t", "implementation": "old"}}},
            mutation=[op("register_tool", "t", value={"id": "t", "implementation": "new"})],
        ).passed
    ),
    "a socket's lifecycle counts": lambda: (
        not trip(
            {"resources": {"s": {"address": "tcp://127.0.0.1:1", "lifecycle": "closed"}}},
            mutation=[op("allocate_socket", "s", value="tcp://127.0.0.1:1")],
        ).passed
    ),
    "a socket left open is rejected": lambda: (
        not trip({}, mutation=[op("allocate_socket", "s", value="tcp://127.0.0.1:1")]).passed
    ),
    "two keys cannot hold one address": lambda: bool(
        trip(
            {"resources": {"m": {"address": "tcp://127.0.0.1:1"}}},
            mutation=[op("allocate_socket", "s", value="tcp://127.0.0.1:1")],
        ).forward_failure
    ),
    "a contract covers no name that only begins alike": lambda: (
        not trip(
            {},
            mutation=[op("set_config", "agents", value=1)],
            witness=[op("capture_config", "agents", **W)],
            recovery=[op("restore_config", "agents", **W)],
            contract=['config["agent"]'],
        ).passed
    ),
    "eighteen of twenty are too few": lambda: not _sampled({"iid": 2, "ood": 0}, "split-wald"),
    "eighteen of twenty out of distribution are too few": lambda: not _sampled({"iid": 0, "ood": 2}, "split-wald"),
    "nineteen of twenty are enough": lambda: _sampled({"iid": 1, "ood": 1}, "split-wald"),
    "two failures of forty are too many pooled": lambda: not _sampled({"iid": 1, "ood": 1}, "pooled-wilson"),
    "one dev failure is too many": lambda: not _sampled({"iid": 0, "ood": 0}, "split-wald", dev_fails=1),
    "the sample reaches the touched address": _touched_varied,
    "an operation out of the language is rejected": lambda: (
        not verify_json(
            {
                "mutation": [op("write_file", "f", value="x")],
                "witness": [op("capture_file", "f", **W)],
                "recovery": [op("restore_file", "f", **W)],
            },
            options=VerifyOptions(level=Level.L0),
        ).admitted
    ),
    "order-dependent composition is out of L0": lambda: bool(
        gate(read_candidate({"mutation": [SET, op("set_config", "a", value=3)]}), Level.L0)
    ),
    "a changed mutation is rejected": lambda: (
        not verify_json(
            PROMPT,
            options=VerifyOptions(
                locked=read_candidate({"mutation": [op("set_prompt", "p", value="other")]}).mutation_digest()
            ),
        ).admitted
    ),
    "proof refutes an unconditional delete": lambda: (
        not verify_json({"mutation": [SET], "recovery": [op("delete_config", "a")]}).admitted
    ),
    "proof refutes a restore that works only where a directory was": lambda: (
        not verify_json(
            {
                "mutation": [op("write_file", "d/f", value="x")],
                "witness": [op("capture_file", "d", **W)],
                "recovery": [op("restore_file", "d", **W)],
            }
        ).admitted
    ),
    "proof refutes a wrong order of sockets": lambda: (
        not verify_json(
            {
                "mutation": [
                    op("allocate_socket", "s", value="tcp://127.0.0.1:2"),
                    op("allocate_socket", "t", value="tcp://127.0.0.1:1"),
                ],
                "witness": [op("capture_socket", "s", witness_key="s"), op("capture_socket", "t", witness_key="t")],
                "recovery": [op("release_socket", "s", witness_key="s"), op("release_socket", "t", witness_key="t")],
            }
        ).admitted
    ),
    "a counterexample is small": _minimal,
    "a broken verifier refuses to run": _refused_when_broken,
}
