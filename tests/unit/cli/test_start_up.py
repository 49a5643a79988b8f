"""What is imported when: modules are counted by name, because seconds depend on the machine."""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import takeback
from takeback import cli
from takeback.cli.program import COMMANDS, list_all_commands, load_command, take_first_sentence

CANDIDATE = Path(__file__).parents[3] / "examples/candidates/config/candidate.json"
PROBE = """
import json, sys
sys.argv = ["takeback", *sys.argv[1:]]
from takeback.cli import main
try:
    main()
except SystemExit:
    pass
sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""


def _python(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=True)


def loaded_by(*arguments: str) -> set[str]:
    return set(json.loads(_python(PROBE, *arguments).stderr.splitlines()[-1]))


def beneath(modules: set[str], *packages: str) -> set[str]:
    return {name for name in modules for package in packages if name == package or name.startswith(f"{package}.")}


FRAMEWORKS = ("langchain", "langchain_core", "langgraph", "agents", "pydantic_ai")
OPTIONAL = (
    "takeback_lab",
    "takeback_lab.bench",
    "psycopg",
    "openai",
    "rich",
    "scipy",
    "matplotlib",
    "numpy",
    *FRAMEWORKS,
)


def test_importing_the_package_imports_nothing_else_of_it():
    found = json.loads(_python("import json, sys, takeback; print(json.dumps(sorted(sys.modules)))").stdout)
    assert beneath(set(found), "takeback") == {"takeback"}
    assert not beneath(set(found), "pydantic", "typer", "sqlite3", "tomlkit", *OPTIONAL)


def test_help_loads_no_command_modules():
    found = loaded_by("--help")
    assert beneath(found, "takeback") <= {
        "takeback",
        "takeback.adapters",
        "takeback.adapters.roots",
        "takeback.adapters.trust_record",
        "takeback.agents",
        "takeback.agents.fast_hook",
        "takeback.canonical",
        "takeback.cli",
        "takeback.cli.help",
        "takeback.cli.hints",
        "takeback.cli.line_breaks",
        "takeback.cli.options",
        "takeback.cli.program",
        "takeback.cli.output",
        "takeback.cli.plain_values",
        "takeback.cli.pulse",
        "takeback.cli.secrets",
        "takeback.cli.hook_answer",
        "takeback.errors",
        "takeback.plugins",
        "takeback.present",
        "takeback.secret_mask",
        "takeback.secret_words",
        "takeback.present.visible",
    }
    table = {"takeback_lab", "takeback_lab.commands"}  # names and summaries, nothing else
    assert not beneath(found - table, "pydantic", "sqlite3", "tomlkit", *OPTIONAL)


def test_status_loads_no_lab_no_models_and_no_rich(tmp_path):
    loaded_by("init", str(tmp_path / "agent"))
    found = loaded_by("status", "-C", str(tmp_path / "agent"))
    assert "takeback.cli.status" in found
    assert not beneath(found, "takeback.repair", "takeback.evolve", *OPTIONAL)


def test_verify_loads_no_harness_no_journal_and_no_lab():
    found = loaded_by("verify", str(CANDIDATE))
    assert "takeback.verify.proof" in found
    assert not beneath(
        found, "takeback.harness", "takeback.journal", "takeback.undo", "takeback.repair", "sqlite3", *OPTIONAL
    )


SLOW = (
    "pydantic",
    "pydantic_core",
    "rich",
    "importlib.metadata",
    "email",
    "yaml",
    "zstandard",
    "asyncio",
    "takeback_lab",
    "takeback.cli.picker",
    "takeback.adapters.init",
    "takeback.harness.doctor",
    "takeback.harness.merge",
    "takeback.journal.encryption",
    "takeback.journal.memory",
    "takeback.journal.sqlite_copy",
    "takeback.journal.search",
    "takeback.repair.loop",
    "takeback.repair.models",
    "takeback.state.alignment",
    "takeback.verify.shrink",
    "takeback.verify.suites",
)
"""What no everyday command imports in a small project."""
CHANGING = (
    "takeback.harness.apply",
    "takeback.harness.toggle",
    "takeback.verify.proof",
    "takeback.undo.plan",
    "tree_sitter",
)
"""What is imported only where something is changed."""


def write_small_project(root: Path) -> Path:
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text('{"model": "opus"}\n')
    (root / "CLAUDE.md").write_text("# Rules\n")
    return root


@pytest.mark.parametrize("kind", ["client", "workspace"])
def test_everyday_commands_import_nothing_slow_that_they_do_not_use(kind, tmp_path):
    root = write_small_project(tmp_path / "agent") if kind == "client" else tmp_path / "agent"
    loaded_by("init", str(root))
    here = ("-C", str(root))
    made = loaded_by("set", "config", "env.A", "b", *here)
    assert "takeback.verify.proof" in made
    assert not beneath(made, *SLOW, "takeback.undo.plan", "takeback.harness.toggle")
    assert not beneath(loaded_by("status", *here), *SLOW, *CHANGING, "takeback.repair")
    assert not beneath(
        loaded_by("log", *here), *SLOW, *CHANGING, "takeback.repair", "takeback.adapters.clients.permissions"
    )
    undone = loaded_by("undo", "HEAD", *here)
    assert "takeback.undo.plan" in undone
    assert not beneath(undone, *SLOW, "takeback.verify.proof", "takeback.repair")
    assert "undo" in _python(PROBE, "log", *here).stdout


@pytest.mark.parametrize("number", ["three", "-1", "0.5"])
def test_typer_refuses_an_invalid_value(number, tmp_path):
    loaded_by("init", str(tmp_path / "agent"))
    done = _python(PROBE, "log", "-C", str(tmp_path / "agent"), "--number", number)
    assert "Invalid value for '--number'" in done.stderr
    assert "the beginning" not in done.stdout


def test_plain_and_converted_values_reach_a_command_alike(tmp_path):
    loaded_by("init", str(tmp_path / "agent"))
    plain = _python(PROBE, "log", "-C", str(tmp_path / "agent")).stdout
    assert "the beginning" in plain
    assert _python(PROBE, "log", "-C", str(tmp_path / "agent"), "--number", "3").stdout == plain


@pytest.mark.parametrize("name", ["apply", "undo", "log", "show", "diff", "adopt", "doctor", "evolve", "repair"])
def test_a_product_command_loads_nothing_of_the_lab(name):
    assert not beneath(loaded_by(name, "--help"), *OPTIONAL)


@pytest.mark.parametrize("name", sorted(list_all_commands()))
def test_a_summary_is_the_first_sentence_of_the_commands_own_help(name):
    listed = list_all_commands()[name]
    own = load_command(name)
    assert listed.summary == take_first_sentence(own.help)


def test_every_function_that_is_a_command_is_in_the_table():
    """A command's help ends with an example of its own."""
    written: set[str] = set()
    for info in pkgutil.iter_modules(cli.__path__):
        module = import_module(f"takeback.cli.{info.name}")
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                written |= set(re.findall(r"Example: `takeback ([a-z-]+)", function.__doc__ or ""))
    assert written == set(COMMANDS)


@pytest.mark.parametrize("first", ["takeback.verify", "takeback.evolve", "takeback.state"])
def test_a_public_function_is_not_shadowed_by_its_module(first):
    script = (
        f"import {first}\n"
        "from takeback import evolve, verify\n"
        "import takeback\n"
        "from takeback.verify import Grade\n"
        "assert callable(verify) and callable(evolve) and takeback.verify is verify and takeback.evolve is evolve\n"
    )
    _python(script)


def test_every_public_name_exists_and_others_raise_attribute_errors():
    assert set(dir(takeback)) == set(takeback.__all__)
    for name in takeback.__all__:
        assert getattr(takeback, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        takeback.nonsense  # noqa: B018
