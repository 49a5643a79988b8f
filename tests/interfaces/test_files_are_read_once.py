"""One command reads the project once, and opens each of its files at most once; again only to write it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.clients.init import init_clients

COUNTING = """
import collections, json, os, sys
from takeback.adapters.clients.adapter import ClientAdapter
from takeback.adapters.workspace.adapter import WorkspaceAdapter
from takeback.cli import main

opened, readings = collections.Counter(), []

def is_by_a_writer(frame):
    while frame is not None:
        if frame.f_code.co_filename.endswith("adapters/files_adapter.py"):
            return True
        frame = frame.f_back
    return False

def note(status):
    if not is_by_a_writer(sys._getframe()):
        opened[f"{status.st_dev}:{status.st_ino}"] += 1

plain_open = os.open
def open_noted(path, flags, *rest, **more):
    found = plain_open(path, flags, *rest, **more)
    if not flags & (os.O_WRONLY | os.O_RDWR | os.O_DIRECTORY):
        note(os.fstat(found))
    return found
os.open = open_noted

def hear(event, given):
    if event == "open" and isinstance(given[0], str) and given[1] is not None and os.path.isfile(given[0]):
        note(os.stat(given[0]))  # by name, and not through os.open, which tells no mode
sys.addaudithook(hear)

for adapter in (ClientAdapter, WorkspaceAdapter):
    def read(self, known, plain=adapter.read):
        readings.append(1)
        return plain(self, known)
    adapter.read = read

into, *sys.argv[1:] = sys.argv[1:]
try:
    main()
finally:
    with open(into, "w") as file:
        json.dump({"opened": opened, "readings": len(readings)}, file)
"""


def run_counted(tmp_path, project, *words):
    """Run a command; return how often the project was read, and each of its files opened for reading."""
    places = {}
    for path in project.rglob("*"):
        status = path.lstat()
        if path.is_file() and ".takeback" not in path.parts:
            places[f"{status.st_dev}:{status.st_ino}"] = str(path.relative_to(project))
    into = tmp_path / "counted.json"
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, into, *words, "-C", project], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(into.read_text())
    return found["readings"], {places[key]: times for key, times in found["opened"].items() if key in places}


def make_client_project(place, nested):
    """Make a Claude Code project with so many nested CLAUDE.md files, each of which imports the next."""
    (place / ".claude").mkdir(parents=True)
    (place / ".claude/settings.json").write_text('{"permissions": {"allow": ["Read"]}}\n')
    paths = ["CLAUDE.md", *(f"part{at}/CLAUDE.md" for at in range(1, nested))]
    for path, following in zip(paths, [*paths[1:], ""], strict=True):
        (place / path).parent.mkdir(exist_ok=True)
        up = "../" if "/" in path else ""
        (place / path).write_text(f"# {path}\n" + (f"@{up}{following}\n" if following else ""))
    return [".claude/settings.json", *paths]


def init(place):
    subprocess.run([sys.executable, "-m", "takeback", "init", place], check=True, capture_output=True)


@pytest.mark.parametrize("nested", [1, 100])
def test_set_and_undo_read_a_project_once_and_open_each_file_once(tmp_path, nested):
    project = tmp_path / "project"
    files = make_client_project(project, nested)
    init(project)
    for words in (("set", "config", "permissions.allow+", "Bash(npm test:*)"), ("undo", "--last")):
        readings, opened = run_counted(tmp_path, project, *words)
        assert readings == 1
        assert {path: opened.get(path, 0) for path in files} == dict.fromkeys(files, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "prompt", "CLAUDE.md", "--append", "No emoji."),
        ("set", "config", "permissions.allow+", "Write", "--plan"),
        ("set", "config", "permissions.allow", '["Read"]'),
        ("status",),
        ("adopt",),
    ],
)
def test_other_commands_read_a_project_once_too(tmp_path, words):
    project = tmp_path / "project"
    files = make_client_project(project, 3)
    init(project)
    subprocess.run(
        [sys.executable, "-m", "takeback", "set", "config", "permissions.deny+", "WebFetch", "-C", project],
        check=True,
    )
    readings, opened = run_counted(tmp_path, project, *words)
    assert readings == 1
    assert {path: opened.get(path, 0) for path in files} == dict.fromkeys(files, 1)


def test_a_workspace_is_read_once_as_well(tmp_path):
    project = tmp_path / "agent"
    init(project)
    for words in (("set", "prompt", "p", "one"), ("set", "config", "a.b", "1"), ("undo", "--last")):
        readings, opened = run_counted(tmp_path, project, *words)
        assert readings == 1
        assert opened["config.toml"] == 1
        assert max(opened.values()) == 1


def test_init_reads_the_existing_files_once(tmp_path, monkeypatch):
    project = tmp_path / "project"
    make_client_project(project, 3)
    readings = []
    plain = ClientAdapter.read
    monkeypatch.setattr(ClientAdapter, "read", lambda self, known: readings.append(known) or plain(self, known))
    init_clients(project, ("claude-code",))
    assert len(readings) == 1
