"""docs/formats.md names every operation there is, and its examples run on the state it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from takeback.language import read_candidate
from takeback.repair import oracle
from takeback.runtime import run_forward
from takeback.state import KINDS, Level, State
from takeback.verify import prove

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
BLOCKS = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
STATE = State.read(BLOCKS[0])
EXAMPLES = next(block for block in BLOCKS if isinstance(block, list))


@pytest.mark.parametrize("name", KINDS)
def test_every_operation_is_documented(name):
    assert f"`{name}`" in PAGE


def test_every_operation_of_l2_has_an_example():
    shown = {example["op_type"] for example in EXAMPLES}
    assert shown == {kind.name for kind in KINDS.values() if kind.level is Level.L2}


@pytest.mark.parametrize("example", EXAMPLES, ids=json.dumps)
def test_an_example_changes_the_state_above_it_and_can_be_taken_back(example):
    mutation = read_candidate({"mutation": [example]}).mutation
    after, receipt = run_forward(mutation, STATE)
    assert receipt.succeeded, receipt.reason
    assert after != STATE
    candidate = oracle(mutation)
    assert candidate is not None
    assert prove(candidate).admitted
