"""What a person sees on terminals of 80×24 and 120×40, line for line.

`python -m tests.support.screens` writes the pictures anew.
"""

from __future__ import annotations

import shutil

import pytest
from tests.support.screens import FOLDER, SCREENS, begin_terminals, build_project, take_screen

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed, so there is no terminal")


@pytest.fixture(scope="module")
def terminals():
    with begin_terminals() as tmux:
        yield tmux


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("screens") / "ledger"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root.parent / "home"))
        patch.delenv("TAKEBACK_BY", raising=False)
        build_project(root)
    return root


@pytest.mark.parametrize(("name", "size"), SCREENS)
def test_a_screen_matches_its_stored_picture(name, size, terminals, project):
    shown = take_screen(terminals, project, name, size)
    columns, rows = map(int, size.split("x"))
    assert shown == (FOLDER / f"{name}-{size}.txt").read_text(encoding="utf-8")
    assert all(len(line) <= columns for line in shown.splitlines())
    assert len(shown.splitlines()) <= rows


def test_every_picture_has_a_screen():
    assert {path.stem for path in FOLDER.iterdir()} == {f"{name}-{size}" for name, size in SCREENS}
