"""Worked examples of a documentation page: the files that a section shows, written down as a reader would.

A fenced block whose first line is `# NAME` is the file NAME. A package's metadata becomes what pip would make of it,
so that its entry points count without a network and without a build. `python -m tests.support.worked_examples` writes
the output blocks anew.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adapters.md"
LIVE = "A live adapter, from an empty directory"
SURFACE = "A surface, from an empty directory"
FILE = re.compile(r"^```(?:python|toml)\n# (?P<name>[\w.]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(?P<commands>.*?)^```\n\n```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)


def find_section(page: Path, title: str) -> str:
    """Return the text of a section of a page."""
    return page.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def write_files(section: str, where: Path) -> list[str]:
    """Write the files that a section shows; return their names."""
    names = []
    for block in FILE.finditer(section):
        (where / block["name"]).write_text(block["text"])
        names.append(block["name"])
    if "pyproject.toml" in names:
        _register(where)
    return names


def _register(where: Path) -> None:
    project = tomllib.loads((where / "pyproject.toml").read_text())["project"]
    metadata = where / f"{project['name']}-{project['version']}.dist-info"
    metadata.mkdir()
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(about)
    groups = project.get("entry-points", {}).items()
    text = "".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items()) for group, points in groups
    )
    (metadata / "entry_points.txt").write_text(text)


def run(where: Path, *command: str) -> str:
    """Run a command in the directory, with its files importable; return what it prints."""
    home = where / "home"
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    environment["PYTHONPATH"] = os.pathsep.join((str(where), str(ROOT / "src")))
    environment["TAKEBACK_TRUST"] = str(home / "trusted")
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_shell(where: Path, commands: str) -> str:
    """Run the lines of a shell block; return what they print, with every entry's id replaced."""
    lines = re.sub(r"^takeback ", f"{sys.executable} -m takeback ", commands, flags=re.MULTILINE)
    return hide_ids(run(where, "sh", "-e", "-c", lines))


def hide_ids(text: str) -> str:
    """Replace the ids of entries, which differ from run to run, by others in the order in which they come."""
    ids = dict.fromkeys(re.findall(r"\b[0-9a-f]{10}\b", text))
    steady = {found: sha256(f"example {number}".encode()).hexdigest()[:10] for number, found in enumerate(ids)}
    return re.sub(r"\b[0-9a-f]{10}\b", lambda match: steady[match[0]], text)


def main() -> None:
    """Write the output of every shell block of the page anew."""
    section = find_section(PAGE, SURFACE)
    with tempfile.TemporaryDirectory() as scratch:
        write_files(section, Path(scratch))
        (block,) = SHELL.finditer(section)
        shown = run_shell(Path(scratch), block["commands"])
    PAGE.write_text(PAGE.read_text().replace(block[0], block[0].replace(block["shown"], shown)))


if __name__ == "__main__":
    main()
