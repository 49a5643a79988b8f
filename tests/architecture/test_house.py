"""The house: order of layers, sizes, headers, public API, documented commands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

from tests.support.batches import in_batches
from tests.support.reference import commands, page

import takeback
from takeback.language import program
from takeback.state import contract, values
from takeback.state.surfaces import files

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "takeback"
MODULES = sorted(SOURCE.rglob("*.py"))
LAB = ROOT / "lab" / "src" / "takeback_lab"
LAB_MODULES = sorted(LAB.rglob("*.py"))
ORDER = (
    "errors",
    "canonical",
    "lazy_names",
    "sequences",
    "shrink",
    "plugins",
    "progress",
    "secret_words",
    "secret_mask",
    "opinion",
    "state",
    "language",
    "runtime",
    "verify",
    "repair",
    "journal",
    "track",
    "undo",
    "harness",
    "govern",
    "adapters",
    "present",
    "evolve",
    "agents",
    "integrations",
    "web",
    "cli",
)
MAX_LINES = 600
REFERENCE = (ROOT / "docs" / "reference.md").read_text()


def _layer(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def _import_lines(module: Path) -> list[tuple[int, list[str], list[str]]]:
    """Each import of a module, wherever in the file: its line, the modules it names, what it takes from them."""
    lines = []
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            lines.append((node.lineno, [alias.name for alias in node.names], []))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: a relative import"
            lines.append((node.lineno, [node.module or ""], [alias.name for alias in node.names]))
    return lines


def _imports(module: Path) -> set[str]:
    """The packages of takeback that a module imports, wherever in the file it does so."""
    found: set[str] = set()
    for _, names, taken in _import_lines(module):
        full = [f"takeback.{name}" for name in taken] if names == ["takeback"] else names
        found |= {name.split(".")[1] for name in full if name.startswith("takeback.")}
    return found


def test_the_order_of_layers_is_the_one_in_the_design():
    text = (ROOT / "docs" / "design.md").read_text()
    block = text.split("```")[3]
    shown = [line.split()[0].removesuffix(".py") for line in block.strip().splitlines() if not line.startswith(" ")]
    assert [name for name in ORDER if name in shown] == shown
    assert set(ORDER) == set(shown)


@in_batches("module", MODULES)
def test_a_module_imports_only_from_layers_above_it(module):
    layer = _layer(module)
    if layer in {"__init__", "__main__"}:
        return
    assert layer in ORDER, f"{layer} is in no layer"
    for other in _imports(module):
        assert other in {*ORDER, "__version__"}, f"{other} is in no layer"
        if other != "__version__":
            assert ORDER.index(other) <= ORDER.index(layer), f"{layer} imports {other}"


@in_batches("module", [*MODULES, *LAB_MODULES])
def test_a_module_is_not_too_long_and_has_a_header(module):
    text = module.read_text()
    assert len(text.splitlines()) <= MAX_LINES
    header = ast.get_docstring(ast.parse(text))
    assert header, "no header"
    assert len(header.split()) >= 2


@in_batches("module", MODULES)
def test_library_code_does_not_print_or_read_the_environment(module):
    if _layer(module) in {"cli", "__main__"}:
        return
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"print", "input"}, f"{module}:{node.lineno}"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            assert node.attr not in {"environ", "getenv"}, f"{module}:{node.lineno}"


@in_batches("module", MODULES)
def test_the_product_does_not_import_the_lab(module):
    for line, names, _ in _import_lines(module):
        assert not [name for name in names if name.split(".")[0] == "takeback_lab"], f"{module}:{line}"


def test_no_file_has_a_meaningless_name():
    banned = {"utils", "util", "helpers", "helper", "manager", "core", "common", "misc"}
    assert not [module for module in (*MODULES, *LAB_MODULES) if module.stem in banned]


def _documented_api() -> set[str]:
    section = REFERENCE.split("## Python")[1]
    return set(re.findall(r"^\| `(\w+)", section, re.MULTILINE))


def test_the_public_api_is_the_documented_one():
    assert _documented_api() == set(takeback.__all__) - {"__version__"}
    for name in takeback.__all__:
        assert hasattr(takeback, name)


COMMANDS = commands()


def test_the_reference_page_matches_the_programs_help():
    assert page() == REFERENCE, "docs/reference.md is out of date: run `make docs`"


@in_batches("title", sorted(COMMANDS))
def test_a_command_is_documented_with_its_options_and_an_example(title):
    match = re.search(rf"^### `{re.escape(title)}[` ](.*?)(?=^##)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert match, f"docs/reference.md has no section for {title}"
    section = match[1]
    shown = [one for one in COMMANDS[title].params if not getattr(one, "hidden", False)]
    options = [max(parameter.opts, key=len) for parameter in shown]
    options = [name for name in options if name.startswith("--") and name not in {"--help", "--json"}]
    assert all(f"`{name}`" in section for name in options)
    assert f"Example: `{title}" in section
    assert "Exit codes: 0 " in section


@in_batches("title", sorted(COMMANDS))
def test_every_command_takes_json_and_has_help_with_an_example(title):
    command = COMMANDS[title]
    assert any("--json" in parameter.opts for parameter in command.params)
    assert "Example" in (command.help or "")


def test_the_documented_limits_match_the_code():
    text = (ROOT / "docs" / "formats.md").read_text().split("## Limits")[1]
    shown = {row[0]: int(row[1]) for row in re.findall(r"^\| ([^|]+) \| (\d+)[^|]*\|$", text, re.MULTILINE)}
    assert shown == {
        "a file that is read": program.MAX_FILE,
        "operations in a program": program.MAX_OPERATIONS,
        "entries of a contract": contract.MAX_CONTRACT,
        "a text": values.MAX_TEXT,
        "items of one list or mapping in a value": values.MAX_ITEMS,
        "nesting": values.MAX_DEPTH,
        "levels of a config target": values.MAX_DEPTH // 2,
        "a whole number in a value": values.MAX_INT,
        "a name": values.MAX_NAME,
        "a file path": files.MAX_PATH,
        "levels of a file path": files.MAX_LEVELS,
        "one name of a file path": files.MAX_NAME_BYTES,
        "an `index`": program.MAX_INDEX,
        "counterfactual states of a split": import_module("takeback.verify.suites").MAX_STATES,
        "steps of a proof": import_module("takeback.verify.proof").MAX_WORK,
        "seconds of a verification": import_module("takeback.verify.rules").MAX_SECONDS,
    }


@in_batches("module", sorted((SOURCE / "journal").glob("*.py")))
def test_the_journal_knows_records_and_contents_but_no_surface_and_no_slot(module):
    assert "state" not in _imports(module)


@in_batches("module", MODULES)
def test_only_the_journal_reads_record_payloads_directly(module):
    if _layer(module) == "journal":
        return
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Attribute) and node.attr == "payload":
            assert isinstance(node.value, ast.Name), f"{module}:{node.lineno}"
            assert node.value.id == "draft", f"{module}:{node.lineno}: {node.value.id}.payload"


def _closure(module: Path) -> set[str]:
    """The modules of takeback that a module imports, and what those import, wherever in the file they do so."""
    waiting, found = [module], set()
    while waiting:
        for name in {name for _, names, _ in _import_lines(waiting.pop()) for name in names}:
            place = SOURCE.parent / name.replace(".", "/")
            place = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            if name.startswith("takeback") and name not in found:
                found.add(name)
                waiting.append(place)
    return found


def test_the_certificate_checker_shares_no_import_with_the_prover():
    checker = _closure(SOURCE / "opinion" / "checker.py")
    assert checker == {"takeback.opinion.interpreter"}
    checked = [
        *(SOURCE / "verify").rglob("*.py"),
        *(SOURCE / "state").rglob("*.py"),
        *(SOURCE / "language").rglob("*.py"),
        SOURCE / "runtime.py",
    ]
    assert not any("takeback.opinion" in name for module in checked for name in _closure(module))
    assert _closure(SOURCE / "verify" / "proof.py") & {"takeback.runtime", "takeback.state"}, (
        "the test can see imports"
    )


def test_checking_a_certificate_loads_no_module_of_the_prover():
    """Also by an import that no reader of the text finds."""
    program = (
        "import sys; from takeback.opinion.checker import check_certificate as check\n"
        "try: check({})\n"
        "except Exception: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    loaded = {name for name in done.stdout.split() if name.partition(".")[0] == "takeback"}
    assert loaded == {"takeback", *(f"takeback.opinion{one}" for one in ("", ".checker", ".interpreter"))}


def test_the_encoding_for_solvers_knows_nothing_of_the_prover():
    shared = {"takeback.errors"}
    for name in ("question", "solver"):
        assert _closure(SOURCE / "opinion" / f"{name}.py") - shared <= {
            "takeback.opinion.interpreter",
            "takeback.opinion.question",
            "takeback.opinion.question_names",
        }
