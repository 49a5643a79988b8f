"""A small project whose files are tracked, and captures of it in this process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from takeback.track.call import Call, CaptureResult
from takeback.track.capture import begin_tracking, capture_after, capture_before, capture_found
from takeback.track.store import IntakeRow, TrackStore

FILES = {"src/a.py": "one\ntwo\nthree\n", "src/b.py": "b\n", "docs/read me.md": "text\n", ".gitignore": "build/\n"}
SHELL = Call("claude-code", "s1", "c1", "Bash", "true")


class Project:
    """A tracked project in a directory."""

    def __init__(self, root: Path, files: Mapping[str, str] | None = None, *, git: bool = True, **settings: object):
        self.root = Path(os.path.realpath(root))
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent)}
        for path, text in (FILES if files is None else files).items():
            self.write(path, text)
        if git:
            self.git("init", "-q", "-b", "main")
            self.git("add", "-A")
            self.git("commit", "-qm", "first")
        (self.root / ".takeback").mkdir(mode=0o700)
        self.write(".takeback/.gitignore", "*\n")
        self.settings = settings

    def begin(self, **options: object) -> Project:
        begin_tracking(str(self.root), self.settings, self.environment, **options)  # type: ignore[arg-type]
        return self

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        done = subprocess.run(
            ["git", *who, *words], cwd=self.root, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        return place

    def before(self, call: Call = SHELL) -> CaptureResult:
        return capture_before(str(self.root), call, self.environment)

    def after(self, call: Call = SHELL) -> CaptureResult:
        return capture_after(str(self.root), call, self.environment)

    def look(self) -> CaptureResult:
        return capture_found(str(self.root), Call("claude-code", "s1"), self.environment)

    def store(self) -> TrackStore:
        return TrackStore.open(self.root, self.environment)

    def rows(self) -> list[IntakeRow]:
        with self.store() as store:
            return list(store.rows())

    def changes(self) -> list[dict[str, tuple[bytes | None, bytes | None]]]:
        """The contents before and after of each file, row by row."""
        with self.store() as store:
            return [
                {
                    delta.path: (
                        None if delta.before is None else store.content(delta.before.digest),
                        None if delta.after is None else store.content(delta.after.digest),
                    )
                    for delta in row.deltas
                }
                for row in store.rows()
            ]
