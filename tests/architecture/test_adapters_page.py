"""docs/adapters.md says of every adapter what it covers, what not and when it takes effect, and has a whole one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from takeback.adapters.clients import CLIENTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adapters.md").read_text()
NAMES = ("memory", "workspace", *CLIENTS, "langchain", "openai-agents", "pydantic-ai")


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_has_a_paragraph_of_its_own(name: str) -> None:
    found = re.search(rf"^\*\*{re.escape(name)}\*\*.*?(?=\n\n)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    for word in ("*Covers*", "*Does not cover*", "*Takes effect*"):
        assert word in found[0], word


def test_the_example_is_the_toy_adapter_that_the_conformance_suite_runs_on() -> None:
    toy = (ROOT / "tests" / "support" / "toy_adapter.py").read_text()
    shown = re.search(r"```python\n(from takeback.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    assert toy.endswith(shown[1])
