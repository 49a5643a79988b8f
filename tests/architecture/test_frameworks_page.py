"""The examples in docs/frameworks.md run, and each framework has its section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "frameworks.md").read_text()
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FRAMEWORKS = {"LangChain": "langchain", "OpenAI Agents SDK": "agents", "pydantic-ai": "pydantic_ai"}


@pytest.mark.parametrize("title", FRAMEWORKS)
def test_a_section_states_coverage_limits_and_when_changes_take_effect(title):
    for word in ("**Covers**", "**Does not cover**", "**Takes effect**"):
        assert word in SECTIONS[title]


@pytest.mark.parametrize("title", FRAMEWORKS)
def test_the_example_of_a_framework_runs(title):
    pytest.importorskip(FRAMEWORKS[title], reason=f"{title} is not installed")
    (block,) = re.findall(r"```python\n(.*?)```", SECTIONS[title], re.DOTALL)
    exec(compile(block, f"frameworks.md, {title}", "exec"), {"__name__": "example"})  # noqa: S102  (our own text)
