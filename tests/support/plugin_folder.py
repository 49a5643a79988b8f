"""plugin/, made from what `takeback install` adds to clients: `python -m tests.support.plugin_folder`."""

from __future__ import annotations

import shutil
from pathlib import Path

import takeback
from takeback.agents.installation import build_plugin_files

FOLDER = Path(__file__).parents[2] / "plugin"


def written(folder: Path) -> dict[str, str]:
    """Every file of a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path = FOLDER) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in build_plugin_files(takeback.__version__).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


if __name__ == "__main__":
    write()
