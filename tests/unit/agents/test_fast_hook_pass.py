"""What is answered before anything is loaded: nothing that the guard would have looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.client_harnesses import HARNESSES, write_harness

from takeback.adapters.clients import CLIENTS
from takeback.adapters.clients.init import init_clients
from takeback.agents import fast_hook
from takeback.agents.declared_files import find_home


def call(path: Path, tool: str = "Edit") -> bytes:
    given = {"file_path": str(path), "old_string": "a", "new_string": "b"}
    about = {"hook_event_name": "PreToolUse", "cwd": str(path.parent), "tool_name": tool, "tool_input": given}
    return json.dumps(about).encode()


@pytest.mark.parametrize(
    ("client", "user"),
    [
        (name, user)
        for name, declare in CLIENTS.items()
        for user in (False, True)
        if declare().user_folder or not user
    ],
)
def test_declared_client_files_do_not_pass_unchecked(client: str, user: bool, tmp_path: Path) -> None:
    if client in HARNESSES:
        write_harness(tmp_path, client)
    init_clients(tmp_path, (client,), user=user)
    declared = CLIENTS[client](user=user)
    places = [documents.path.replace("*", "x") for documents in declared.documents]
    places += [f"{texts.start}a/b{texts.ending}" for texts in declared.texts]
    places += [f"{one.folder}/run.py" for one in (*declared.scripts, *declared.skills)]
    nested = ("", "src/deep/") if declared.nested else ("",)
    places += [
        f"{folder}{name}" for name in declared.instructions for folder in (nested if "/" not in name else ("",))
    ]
    assert places
    for place in [*places, ".takeback/journal.db", "docs/brought-in.md"]:
        assert not fast_hook.can_pass_unchecked(call(tmp_path / place), client, str(tmp_path)), place
        home = find_home(str(tmp_path / place))
        assert home is not None


def test_other_files_pass_unchecked_inside_and_outside_a_harness(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    (tmp_path / "elsewhere").mkdir()
    assert fast_hook.can_pass_unchecked(call(tmp_path / "elsewhere/CLAUDE.md"), "claude-code", "/")
    init_clients(tmp_path, ("claude-code",))
    for place in ("main.py", "src/deep/main.rs", "Makefile.am"):
        assert fast_hook.can_pass_unchecked(call(tmp_path / place), "claude-code", "/"), place
    (tmp_path / "link.py").symlink_to(".claude/settings.json")
    assert not fast_hook.can_pass_unchecked(call(tmp_path / "link.py"), "claude-code", "/")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b'{"hook_event_name": "PreToolUse"}'])
def test_unreadable_events_do_not_pass_unchecked(raw: bytes) -> None:
    assert not fast_hook.can_pass_unchecked(raw, "claude-code", "/")


PROBE = """
import os, sys
os._exit = sys.exit
sys.argv = ["takeback", "hook"]
from takeback.cli import main
try:
    main()
except SystemExit:
    import json
    sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def test_the_unchecked_pass_imports_almost_nothing(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    init_clients(tmp_path, ("claude-code",))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        input=call(tmp_path / "main.py"),
        env=env,
        capture_output=True,
        timeout=600,
        check=True,
    )
    loaded = json.loads(done.stderr)
    assert {name for name in loaded if name.startswith("takeback")} == {
        "takeback",
        "takeback.adapters",
        "takeback.adapters.roots",
        "takeback.adapters.trust_record",
        "takeback.agents",
        "takeback.agents.fast_capture",
        "takeback.agents.fast_hook",
        "takeback.cli",
        "takeback.cli.hook_answer",
        "takeback.secret_words",
    }
    assert not {"typing", "dataclasses", "pathlib", "tomllib"} & set(loaded)
