"""docs/adapters.md says of every adapter what it covers, what not and when it takes effect, and has a whole one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.support.worked_examples import LIVE, SHELL, SURFACE, find_section, hide_ids, run, run_shell, write_files

from takeback.adapters.clients import CLIENTS

ROOT = Path(__file__).parents[2]
PATH = ROOT / "docs" / "adapters.md"
PAGE = PATH.read_text()
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


def test_the_live_adapter_of_the_page_works_and_conforms(tmp_path: Path) -> None:
    section = find_section(PATH, LIVE)
    assert write_files(section, tmp_path) == ["live_settings.py", "example.py", "test_live_settings.py"]
    run(tmp_path, sys.executable, "example.py")
    run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_live_settings.py")


def test_the_conformance_suite_finds_the_fault_that_the_page_names(tmp_path: Path) -> None:
    section = find_section(PATH, LIVE)
    write_files(section, tmp_path)
    adapter = tmp_path / "live_settings.py"
    text = adapter.read_text()
    assert "        self.settings.clear()\n" in text
    adapter.write_text(text.replace("        self.settings.clear()\n", ""))
    with pytest.raises(AssertionError, match="test_it_conforms"):
        run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_live_settings.py")


def test_the_surface_of_the_page_is_there_for_commands_and_python(tmp_path: Path) -> None:
    section = find_section(PATH, SURFACE)
    assert write_files(section, tmp_path) == ["alarms.py", "pyproject.toml", "example.py"]
    run(tmp_path, sys.executable, "example.py")
    (block,) = SHELL.finditer(section)
    assert run_shell(tmp_path, block["commands"]) == hide_ids(block["shown"])
    with pytest.raises(AssertionError, match="found 25, expected an hour from 0 to 23"):
        run_shell(tmp_path, "takeback set alarms day 25 -C agent")
