"""Frameworks are optional: nothing of them is imported before an agent is opened, and a missing one is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

LIBRARIES = {"langchain", "langchain_core", "langgraph", "agents", "openai", "pydantic_ai"}
START = {"routing": {"default_model": "m"}}


def _python(script: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=True).stdout


def test_referring_to_the_functions_imports_no_framework():
    found = _python(
        "import json, sys\n"
        "from takeback import AgentHarness, open_langchain, open_openai_agents, open_pydantic_ai\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    assert not LIBRARIES & set(json.loads(found))


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("open_langchain", "langchain", "langchain"),
        ("open_openai_agents", "agents", "openai-agents"),
        ("open_pydantic_ai", "pydantic_ai", "pydantic-ai"),
    ],
)
def test_a_missing_framework_is_reported_with_its_extra(name, module, extra, monkeypatch):
    import takeback
    from takeback.errors import MissingExtraError

    home = f"takeback.integrations.{name.removeprefix('open_')}"
    for loaded in [one for one in sys.modules if one in {module, home} or one.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{module}\b.* is not installed") as told:
        getattr(takeback, name)(START, models={"m": object()})
    assert f"pip install 'takeback[{extra}]'" in str(told.value)
