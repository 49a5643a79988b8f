"""Prompts that are texts inside of documents keep their lines; mappings and folders left with nothing stay known."""

from __future__ import annotations

import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.changes import candidate, prompt
from tests.support.client_harnesses import files_of

from takeback.adapters.clients.init import init_clients
from takeback.adapters.formats.toml_document import ClientTomlDocument
from takeback.adapters.opener import open_workspace
from takeback.harness import Applied
from takeback.harness.outcomes import Undone

TEXTS = [
    ('"""\na\\tb\nc\n"""', "a\tb\nd\n", '"""\na\\tb\nd\n"""'),
    ('"""\r\na\r\nb\r\n"""', "a\nx\nb\n", '"""\r\na\r\nx\r\nb\r\n"""'),
    ("'''\nC:\\a\nb'''", "C:\\a\nc\nd", "'''\nC:\\a\nc\nd'''"),
    ('"""a\nb"""', '"a"\nb\\"""', None),
    ('"""\na\nb"""', 'a\n"b"', '"""\na\n"b\\""""'),
    ('"""\na \\\n  b\nc"""', "a b\nd", '"""\na b\nd"""'),
    ("'''\na\n'''", "it's '''\n", None),
    ("'''\na\n'''", "\x01", None),
    ('"""\na\n"""', "\nb", '"""\n\nb"""'),
    ('"""\na"""', 'say "so"', None),
]


@pytest.mark.parametrize(("raw", "new", "expected"), TEXTS)
def test_lines_that_stay_keep_their_bytes(raw: str, new: str, expected: str | None) -> None:
    data = f"x = 1\nt = {raw} # why\ny = 2\n"
    edited = ClientTomlDocument(data.encode(), "t.toml").set(("t",), new).data.decode()
    assert tomllib.loads(edited)["t"] == new
    assert edited.startswith("x = 1\nt = ")
    assert edited.endswith(" # why\ny = 2\n")
    if expected is not None:
        assert edited == f"x = 1\nt = {expected} # why\ny = 2\n"


CASES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (
        "gemini",
        {".gemini/settings.json": '{"model":{"name":"g","maxSessionTurns":9}}'},
        {"op_type": "unset_config", "target": "model.maxSessionTurns"},
    ),
    (
        "opencode",
        {"opencode.json": '{"agent":{"plan":{"model":"a/b","temperature":0.1}}}'},
        {"op_type": "unset_config", "target": "agent.plan.temperature"},
    ),
    (
        "claude-code",
        {".claude/hooks/a.sh": "#!/bin/sh\n"},
        {"op_type": "remove_file", "target": ".claude/hooks/a.sh"},
    ),
]


@pytest.mark.parametrize(("client", "files", "op"), CASES)
def test_an_emptied_mapping_or_folder_is_not_drift(
    client: str, files: dict[str, str], op: dict[str, Any], tmp_path: Path
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    init_clients(tmp_path, (client,))
    with closing(open_workspace(tmp_path)) as harness:
        before = files_of(tmp_path)
        done = harness.apply(candidate(op))
        assert isinstance(done, Applied), done
        assert harness.status().clean
        assert isinstance(harness.undo(done.entry.id), Undone)
        assert files_of(tmp_path) == before
        harness.redo(done.entry.id)
        assert harness.status().clean


def test_a_role_of_codex_is_edited_inside_its_text(tmp_path: Path) -> None:
    place = tmp_path / ".codex/agents/r.toml"
    place.parent.mkdir(parents=True)
    place.write_text('name = "r"\ndeveloper_instructions = """\nOne.\nTwo.\n""" # why\n')
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        done = harness.apply(candidate(prompt("agents/r", "One.\nThree.\n")))
        assert isinstance(done, Applied)
        assert place.read_text() == 'name = "r"\ndeveloper_instructions = """\nOne.\nThree.\n""" # why\n'
