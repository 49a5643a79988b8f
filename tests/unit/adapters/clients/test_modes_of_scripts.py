"""A script's permission bits and its lines are changed by different entries, and taken back one by one."""

from __future__ import annotations

import itertools
from contextlib import closing
from pathlib import Path

import pytest

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Adopted, Undone

LINES = ["#!/bin/sh", "set -e", "", "exit 0"]


def write(place: Path, done: set[str]) -> None:
    lines = list(LINES)
    if "first" in done:
        lines[1] = "set -eu"
    if "last" in done:
        lines[3] = "exit 2"
    place.write_text("\n".join(lines) + "\n")
    place.chmod(0o644 if "off" in done else 0o755)


@pytest.mark.parametrize("order", list(itertools.permutations(["first", "last", "off"])))
def test_the_mode_and_each_line_are_undone_alone(order: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("# X\n")
    place = tmp_path / ".claude" / "hooks" / "guard.sh"
    place.parent.mkdir(parents=True)
    write(place, set())
    init_clients(tmp_path)
    entries: dict[str, str] = {}
    with closing(open_workspace(tmp_path)) as harness:
        for at, one in enumerate(order):
            write(place, {*order[: at + 1]})
            adopted = harness.adopt(one)
            assert isinstance(adopted, Adopted)
            entries[one] = adopted.entry.id
    left = set(order)
    with closing(open_workspace(tmp_path)) as harness:
        for one in (*sorted(order), *order):
            outcome = (harness.undo if one in left else harness.redo)(entries[one])
            assert isinstance(outcome, Undone), outcome
            assert not outcome.plan.kept
            assert outcome.plan.visible
            left ^= {one}
            expected = tmp_path / "expected"
            write(expected, left)
            assert place.read_bytes() == expected.read_bytes()
            assert place.stat().st_mode == expected.stat().st_mode
        assert harness.status().clean


def test_undoing_the_first_of_two_modes_keeps_the_later_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("# X\n")
    place = tmp_path / ".claude" / "hooks" / "guard.sh"
    place.parent.mkdir(parents=True)
    write(place, set())
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        adopted = []
        for mode in (0o600, 0o700):
            place.chmod(mode)
            adopted.append(harness.adopt())
        first, second = adopted
        assert isinstance(first, Adopted)
        assert isinstance(second, Adopted)
        outcome = harness.undo(first)
        assert isinstance(outcome, Undone)
        assert [kept.entry for kept in outcome.plan.kept] == [second.entry.entry]
        assert place.stat().st_mode & 0o777 == 0o700
        assert isinstance(harness.undo(second), Undone)
        assert place.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("order", list(itertools.permutations(["chmod", "text"])))
@pytest.mark.parametrize("new", ["exit 0 # 2\n", "true\ntrue\n"])
def test_mode_and_text_of_a_rewritten_script_are_undone_apart(
    order: tuple[str, ...], new: str, tmp_path: Path
) -> None:
    (tmp_path / "CLAUDE.md").write_text("# X\n")
    place = tmp_path / ".claude" / "hooks" / "guard.sh"
    place.parent.mkdir(parents=True)
    place.write_text("exit 0\n")
    place.chmod(0o755)
    init_clients(tmp_path)
    entries: dict[str, str] = {}
    with closing(open_workspace(tmp_path)) as harness:
        for one in order:
            place.write_text(new) if one == "text" else place.chmod(0o600)
            adopted = harness.adopt(one)
            assert isinstance(adopted, Adopted)
            entries[one] = adopted.entry.id
        for gone in (*itertools.permutations(order), *itertools.permutations(order)):
            left = set(order)
            for one in (*gone, *gone):
                outcome = (harness.undo if one in left else harness.redo)(entries[one])
                assert isinstance(outcome, Undone), outcome
                assert not outcome.plan.kept
                left ^= {one}
                assert place.read_text() == (new if "text" in left else "exit 0\n")
                assert place.stat().st_mode & 0o777 == (0o600 if "chmod" in left else 0o755)
