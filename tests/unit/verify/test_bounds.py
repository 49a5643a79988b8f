"""Nothing a candidate contains can hang the verifier: a bound that is hit is a rejection with its reason."""

from __future__ import annotations

import pytest
from tests.support.running import op

from takeback.language import read_program
from takeback.state import Stage
from takeback.synthesize import invert
from takeback.verify import Code, Grade, prove, verify

DEEP = [op("set_config", ".".join(f"k{at}_{level}" for level in range(16)), value=1) for at in range(64)]
SOCKETS = [op("allocate_socket", f"s{at}", value=f"tcp://127.0.0.1:{9000 + at}") for at in range(64)]


@pytest.mark.parametrize(
    "mutation", [DEEP, DEEP[:16], SOCKETS], ids=["deep config", "less deep config", "many sockets"]
)
def test_a_candidate_too_large_to_prove_is_rejected_with_its_reason(mutation):
    verdict = verify(invert(read_program(mutation, Stage.FORWARD, "mutation")))
    assert not verdict.admitted
    assert verdict.grade is Grade.DECLARED
    assert [reason.code for reason in verdict.reasons] == [Code.LIMIT]


def test_as_many_ordinary_operations_as_a_program_may_have_are_not_too_many_to_prove():
    kinds = [
        op("set_config", "agent.limits.key_{}", value=1),
        op("write_file", "notes/{}.md", value="x"),
        op("add_middleware", "mw_{}", value={"handler": "h"}, after="auth"),
        op("add_listener", "on_{}", value="x"),
    ]
    mutation = [{**kinds[at % 4], "target": kinds[at % 4]["target"].format(at)} for at in range(64)]
    assert verify(invert(read_program(mutation, Stage.FORWARD, "mutation"))).grade is Grade.PROVED


def test_a_proof_that_runs_out_of_time_is_rejected():
    verdict = prove(invert(read_program(DEEP[:2], Stage.FORWARD, "mutation")), max_seconds=1e-9)
    assert [reason.code for reason in verdict.reasons] == [Code.TIMEOUT]
    assert verdict.grade is Grade.DECLARED
    assert not verdict.admitted
