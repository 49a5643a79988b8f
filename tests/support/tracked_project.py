"""A git repository whose files are tracked, with an agent that calls tools in it, as hooks report them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from typer.testing import CliRunner, Result

from takeback.adapters import open_workspace
from takeback.adapters.clients import build_members
from takeback.adapters.clients.init import detect_clients, init_clients
from takeback.adapters.project_files import start_tracking
from takeback.cli.program import app
from takeback.harness import Harness
from takeback.harness.entry_log import EntryView
from takeback.track.call import Call
from takeback.track.capture import capture_after, capture_before, capture_found, capture_prompt

ENVIRONMENT = {"PATH": os.environ["PATH"]}
QUIET = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")


class TrackedProject:
    """One project and one agent's session in it."""

    def __init__(self, root: Path, files: Mapping[str, str | bytes], *, git: bool = True) -> None:
        self.root = root
        self._calls = 0
        root.mkdir(parents=True, exist_ok=True)
        self.write(files)
        if git:
            self.run("git init -q")
            self.run(f"git add -A && git {' '.join(QUIET)} commit -qm first")
        kinds = detect_clients(root)
        init_clients(root, kinds, tracked=True)
        start_tracking(root, [member.client for member in build_members(list(kinds), user=False)], ENVIRONMENT)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def run(self, command: str) -> None:
        subprocess.run(command, shell=True, cwd=self.root, check=True, capture_output=True)  # noqa: S602

    def prompt(self, text: str) -> None:
        capture_prompt(str(self.root), Call("claude-code", "session-1"), text, ENVIRONMENT)

    def shell(self, command: str) -> int:
        """Have the agent run a command; return the number of the row."""
        self._calls += 1
        call = Call("claude-code", "session-1", f"call-{self._calls}", "Bash", command)
        capture_before(str(self.root), call, ENVIRONMENT)
        self.run(command)
        return capture_after(str(self.root), call, ENVIRONMENT).row

    def edit(self, path: str, old: str, new: str) -> int:
        """Have the agent's edit tool replace a text that stands once."""
        self._calls += 1
        call = Call("claude-code", "session-1", f"call-{self._calls}", "Edit", paths=[path], edits=[(path, old, new)])
        capture_before(str(self.root), call, ENVIRONMENT)
        text = (self.root / path).read_text()
        assert text.count(old) == 1
        (self.root / path).write_text(text.replace(old, new))
        return capture_after(str(self.root), call, ENVIRONMENT).row

    def look(self) -> int:
        """Look at everything, as at the end of a turn."""
        return capture_found(str(self.root), Call("claude-code", "session-1"), ENVIRONMENT, over=True).row

    def open(self) -> Harness:
        return open_workspace(self.root, hold=False)

    def command(self, *words: str) -> Result:
        """Run a command of Takeback in the project."""
        return CliRunner().invoke(app, [*words, "-C", str(self.root)])

    def log(self) -> list[EntryView]:
        """Return the entries, oldest first, without the beginning."""
        with self.open() as harness:
            return [entry for entry in reversed(list(harness.log())) if entry.kind != "genesis"]

    def read(self) -> dict[str, bytes]:
        """Return every file but git's and Takeback's; links as what is written in them."""
        found: dict[str, bytes] = {}
        for place, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in {".git", ".takeback"}]
            linked = [name for name in folders if os.path.islink(os.path.join(place, name))]
            for name in (*names, *linked):
                path = os.path.join(place, name)
                shown = os.path.relpath(path, self.root)
                if os.path.islink(path):
                    found[shown] = b"link to " + os.fsencode(os.readlink(path))
                else:
                    with open(path, "rb") as file:
                        found[shown] = file.read()
        return found
