"""A project of which every file is tracked, ten calls of an agent's tools in it, and two edits by hand in between.

Each call says what the project looks like without it, everything else being as it is: worked out here, from the
files as they were and as they are, without Takeback.
"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.clients.conftest import TEN_SECONDS, Place

Files = dict[str, tuple[bytes, int]]
"""Every file by its path: what is in it, and its rights."""

LINES = "".join(f"line {number}\n" for number in range(1, 41))
MODULES = {f"pkg/m{number:02}.py": f"def f{number}():\n\treturn {number}\n\n# end {number}\n" for number in range(30)}
FORMATTER = """\
import pathlib
for place in sorted(pathlib.Path("pkg").glob("*.py")):
    place.write_text(place.read_text().replace("\\t", "    "))
"""
FILES = {
    "src/app.txt": LINES,
    "src/util.txt": "".join(f"helper {number}\n" for number in range(12)),
    "src/settings.ini": "[a]\nx = 1\n\n[b]\ny = 2\n",
    "docs/index.md": "# Index\n",
    "docs/deep/er/two.md": "two\n",
    "docs/deep/run.sh": "#!/bin/sh\necho run\n",
    "tools/format.py": FORMATTER,
    "draft.txt": "as committed\n",
    **MODULES,
}
DRAFT = "what a person wrote, and never committed\n"
PROMPTS = ("make the tests pass", "tidy up the rest")
SECONDS = 120


@dataclass(frozen=True)
class Step:
    """One call of a tool: what the log says of it, and the project without it."""

    tool: str
    said: str
    """What its title contains: the command, or a file."""
    without: Callable[[Files, Files], Files]
    """The project without it, from how it was before everything and how it is now."""


def replace(files: Files, path: str, old: str, new: str) -> Files:
    """The files with one text replaced that stands once."""
    content, mode = files[path]
    assert content.count(old.encode()) == 1, (path, old, content)
    return {**files, path: (content.replace(old.encode(), new.encode()), mode)}


def drop(files: Files, *paths: str) -> Files:
    """The files without some."""
    assert all(path in files for path in paths), paths
    return {path: found for path, found in files.items() if path not in paths}


def bring(before: Files, now: Files, start: str) -> Files:
    """The files with those below a folder as they were before."""
    assert not any(path.startswith(start) for path in now)
    return {**now, **{path: found for path, found in before.items() if path.startswith(start)}}


def unformat(now: Files) -> Files:
    """The files as they are without the formatter: what a hand wrote into one of them stays."""
    found = dict(now)
    for path in MODULES:
        content, mode = now[path]
        found[path] = (content.replace(b"    return", b"\treturn"), mode)
        assert found[path] != now[path]
    return found


def move_back(now: Files) -> Files:
    """The files with the moved one at its old place, with what was edited since."""
    return {**drop(now, "lib/util.txt"), "src/util.txt": now["lib/util.txt"]}


STEPS = (
    Step("edit", "src/app.txt", lambda _, now: replace(now, "src/app.txt", "the third line\n", "line 3\n")),
    Step("write", "src/new.txt", lambda _, now: drop(now, "src/new.txt")),
    Step("shell", "sed -i", lambda _, now: replace(now, "src/app.txt", "LINE 20\n", "line 20\n")),
    Step("shell", "mv src/util.txt", lambda _, now: move_back(now)),
    Step("shell", "rm -rf docs", lambda before, now: bring(before, now, "docs/")),
    Step("shell", "tools/format.py", lambda _, now: unformat(now)),
    Step("shell", "git checkout", lambda _, now: {**now, "draft.txt": (DRAFT.encode(), now["draft.txt"][1])}),
    Step("edit", "lib/util.txt", lambda _, now: replace(now, "lib/util.txt", "helper the sixth\n", "helper 6\n")),
    Step("shell", "chmod", lambda _, now: {**now, "tools/format.py": (now["tools/format.py"][0], 0o644)}),
    Step("write", "src/settings.ini", lambda before, now: {**now, "src/settings.ini": before["src/settings.ini"]}),
)
SHELL = {
    "sed -i": "sed -i 's/^line 20$/LINE 20/' src/app.txt",
    "mv src/util.txt": "mkdir lib && mv src/util.txt lib/util.txt",
    "rm -rf docs": "rm -rf docs",
    "tools/format.py": f"{sys.executable} tools/format.py",
    "git checkout": "git checkout -- draft.txt",
    "chmod": "chmod 755 tools/format.py",
}
SETTINGS = "[a]\nx = 10\n\n[c]\nz = 3\n"


def edit_first(root: Path) -> None:
    """Edit a file by hand that the agent has edited and edits again."""
    place = root / "src/app.txt"
    place.write_text(place.read_text().replace("line 30\n", "by hand 30\n"))


def edit_second(root: Path) -> None:
    """Edit by hand a file that the formatter wrote a moment ago, and write a new one."""
    place = root / "pkg/m07.py"
    place.write_text(place.read_text().replace("# end 7", "# by hand 7"))
    (root / "notes.txt").write_text("mine\n")


def check_hand(files: Files) -> None:
    """Check that both edits by hand are there."""
    assert b"by hand 30\n" in files["src/app.txt"][0]
    assert b"# by hand 7\n" in files["pkg/m07.py"][0]
    assert files["notes.txt"][0] == b"mine\n"


def read(root: Path) -> Files:
    """Every file of a project but git's, Takeback's and the client's."""
    found: Files = {}
    for place, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            path = Path(place, name)
            found[str(path.relative_to(root))] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


class Tracked:
    """A place whose project is tracked, by the commands that a person gives."""

    def __init__(self, place: Place, *, installed: bool = True) -> None:
        self.place, self.root = place, place.root
        self.words: tuple[str, ...] = ()
        """More words for the client."""
        place.env["PYTHONPATH"] = os.pathsep.join(sys.path)
        commit(self.root)
        (self.root / "draft.txt").write_text(DRAFT)
        self.say("init", "--track")
        if installed:
            self.say("install", place.client)
        self.first = read(self.root)

    def say(self, *words: str, code: int = 0) -> Any:
        """Give a command; return what it answers."""
        done = subprocess.run(
            [sys.executable, "-m", "takeback", *words, "--json"],
            cwd=self.root,
            env=self.place.env,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == code, (words, done.stdout[-2000:], done.stderr[-2000:])
        return json.loads(done.stdout)

    def log(self) -> list[dict[str, Any]]:
        """The entries that hooks made, oldest first."""
        listed = reversed(self.say("log")["entries"])
        return [entry for entry in listed if entry["kind"] == "adopt"]

    def read(self) -> Files:
        return read(self.root)


def say_after(turns: Sequence[Any], last: Any) -> list[Callable[[], Any]]:
    """A script of turns for a model; a function among them is called before the turn that comes next."""
    script: list[Callable[[], Any]] = []
    acts: list[Callable[[], None]] = []
    for turn in (*turns, last):
        if callable(turn):
            acts.append(turn)
        else:
            script.append(partial(_act_and_say, acts, turn))
            acts = []
    return script


def _act_and_say(acts: Sequence[Callable[[], None]], turn: Any) -> Any:
    for act in acts:
        act()
    return turn


def wait_for(place: Path) -> None:
    """Wait until a file is there that a process writes."""
    for _ in range(TEN_SECONDS * 20):
        if place.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{place} was not written")


def commit(root: Path) -> None:
    """Commit everything."""
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    for words in (("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True, timeout=TEN_SECONDS)


def check_entries(project: Tracked, tools: Mapping[str, str]) -> list[dict[str, Any]]:
    """Check what the log says of ten calls and two edits by hand; return the entries of the calls."""
    entries = project.log()
    calls = [entry for entry in entries if entry["origin"].get("tool")]
    shown = [(entry["seq"], entry["what"], entry["grade"]) for entry in entries]
    assert [entry["origin"]["tool"] for entry in calls] == [tools[step.tool] for step in STEPS], shown
    for number, (step, entry) in enumerate(zip(STEPS, calls, strict=True)):
        prompt = PROMPTS[number >= len(STEPS) // 2]
        assert entry["origin"]["prompt"] == prompt, shown
        assert f'"{prompt}" · {tools[step.tool]}: ' in entry["what"], shown
        assert step.said in entry["what"], shown
        assert entry["by"].startswith(f"{project.place.client} (declared), session ")
        assert entry["origin"].get("beside") is None, entry
    by_hand = [entry for entry in entries if entry not in calls]
    assert [sorted(entry["files"]) for entry in by_hand] == [["src/app.txt"], ["notes.txt", "pkg/m07.py"]], shown
    assert all(entry["by"] is None for entry in by_hand), shown
    proved = [entry for entry in entries if entry["grade"] == "proved"]
    assert len(proved) >= 0.95 * len(entries), shown
    return calls


def check_each_alone(project: Tracked, calls: list[dict[str, Any]]) -> None:
    """Take each call back alone, compare with what is worked out, and bring it back."""
    after = project.read()
    check_hand(after)
    for step, entry in zip(STEPS, calls, strict=True):
        done = project.say("undo", str(entry["seq"]))
        found, wanted = project.read(), step.without(project.first, after)
        differing = sorted(path for path in {*found, *wanted} if found.get(path) != wanted.get(path))
        assert not differing, (step, differing, done)
        check_hand(found)
        project.say("redo", str(entry["seq"]))
        assert project.read() == after, step


def check_all_together(project: Tracked, calls: list[dict[str, Any]]) -> None:
    """Take all calls back as one plan: the edits by hand stay, and the rest is as it was at first."""
    project.say("undo", *(str(entry["seq"]) for entry in calls))
    wanted = replace(project.first, "src/app.txt", "line 30\n", "by hand 30\n")
    wanted = replace(wanted, "pkg/m07.py", "# end 7", "# by hand 7")
    assert project.read() == {**wanted, "notes.txt": (b"mine\n", 0o644)}


def check_half(project: Tracked, entry: Mapping[str, Any], tool: str) -> None:
    """Check the entry of a command that wrote a line and failed, and that it is taken back."""
    assert entry["what"] == f"\"try it\" · {tool}: printf 'half\\n' >> src/app.txt; exit 3 · 1 file +1 −0"
    assert entry["grade"] == "proved"
    assert entry["origin"].get("beside") is None, entry
    project.say("undo", str(entry["seq"]))
    assert project.read() == project.first
