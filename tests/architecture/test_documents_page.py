"""docs/documents.md has an example that is run, from an empty directory."""

from __future__ import annotations

import sys
import tempfile
import tomllib
from dataclasses import fields
from pathlib import Path

from tests.support.worked_examples import SHELL, find_section, hide_ids, run_shell, write_files

from takeback.adapters.manifest import OwnDocument

PAGE = Path(__file__).parents[2] / "docs" / "documents.md"
TITLE = "An example, from an empty directory"


def _run(section: str, where: Path) -> str:
    assert write_files(section, where) == ["limits.toml"]
    (block,) = SHELL.finditer(section)
    return run_shell(where, block["commands"])


def test_the_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    section = find_section(PAGE, TITLE)
    (block,) = SHELL.finditer(section)
    assert _run(section, tmp_path) == hide_ids(block["shown"]), f"run: {sys.executable} {__file__}"
    assert (tmp_path / "agents.yaml").read_text().endswith("Then ask.\n")


def test_the_page_documents_every_key_of_an_entry() -> None:
    shown = PAGE.read_text().split("```\n[[documents]]")[1].split("```")[0]
    (entry,) = tomllib.loads("[[documents]]" + shown)["documents"]
    assert set(entry) == {one.name for one in fields(OwnDocument)}
    OwnDocument(**entry)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        section = find_section(PAGE, TITLE)
        (found,) = SHELL.finditer(section)
        text = found[0][: found.start("shown") - found.start()] + _run(section, Path(scratch)) + "```"
        PAGE.write_text(PAGE.read_text().replace(found[0], text))
