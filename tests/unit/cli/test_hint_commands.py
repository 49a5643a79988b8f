"""Every command line that a message, a help text or a document names can be run as it stands."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

from tests.support.batches import in_batches
from tests.support.reference import commands

ROOT = Path(__file__).parents[3]
QUOTED = re.compile(r"(?:'|`)(takeback [a-z][^'`\n]*)(?:'|`)")
COMMANDS = commands()
GROUPS = {" ".join(title.split()[:2]) for title in COMMANDS if len(title.split()) > 2}


def _hints_in_code() -> set[tuple[str, str]]:
    found = set()
    for module in sorted((ROOT / "src/takeback").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = " ".join(node.value.split("\n"))
                found |= {(str(module.relative_to(ROOT)), hint) for hint in QUOTED.findall(text)}
    return found


def _hints_in_docs() -> set[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {(str(page.relative_to(ROOT)), hint) for page in pages for hint in QUOTED.findall(page.read_text())}


HINTS = sorted(_hints_in_code() | _hints_in_docs())


def test_hints_are_collected_from_messages_and_documents():
    assert len(HINTS) > 50


@in_batches("where, hint", HINTS)
def test_a_hint_names_an_existing_command_and_options(where, hint):
    words = shlex.split(re.sub(r" *[>|#(].*", "", hint) if "'" not in hint else hint)
    words = [word for word in words if word not in {"…", "..."}]
    title = next(
        (" ".join(words[:size]) for size in (3, 2) if " ".join(words[:size]) in COMMANDS),
        None,
    )
    if title is None:
        group = " ".join(words[:2])
        assert group in GROUPS or words[1] in {"COMMAND", "--help", "--version"}, f"{where}: no command in {hint!r}"
        return
    known = {
        option for parameter in COMMANDS[title].params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    used = {word.split("=")[0] for word in words if re.fullmatch(r"--?[a-zA-Z][\w-]*(=.*)?", word)}
    assert used <= known | {"--help"}, f"{where}: {hint!r}"
