"""Entries that edited different parts of one hook group are taken back one by one, in any order."""

from __future__ import annotations

import itertools
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness.outcomes import Adopted, Undone

PATH = ".claude/settings.json"


def hook(command: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **more}


def write(root: Path, group: dict[str, Any]) -> None:
    place = root / PATH
    place.parent.mkdir(exist_ok=True)
    place.write_text(json.dumps({"hooks": {"PreToolUse": [group, {"hooks": [hook("other")]}]}}, indent=2))


def group(root: Path) -> Any:
    return json.loads((root / PATH).read_bytes())["hooks"]["PreToolUse"][0]


def edited(done: set[str]) -> dict[str, Any]:
    """The group with some of the edits."""
    hooks = [hook("a", **({"timeout": 9} if "timeout" in done else {})), hook("b2" if "command" in done else "b")]
    if "added" in done:
        hooks.append(hook("c"))
    return {"matcher": "Bash|Edit" if "matcher" in done else "Bash", "hooks": hooks}


@pytest.mark.parametrize("order", list(itertools.permutations(["matcher", "timeout", "command", "added"]))[::5])
def test_edits_of_matcher_hooks_and_fields_are_undone_apart(order: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, edited(set()))
    start = files_of(tmp_path)
    init_clients(tmp_path)
    entries: dict[str, str] = {}
    with closing(open_workspace(tmp_path)) as harness:
        for at, one in enumerate(order):
            write(tmp_path, edited({*order[: at + 1]}))
            adopted = harness.adopt(one)
            assert isinstance(adopted, Adopted)
            entries[one] = adopted.entry.id
    left = set(order)
    with closing(open_workspace(tmp_path)) as harness:
        for one in sorted(order):
            outcome = harness.undo(entries[one])
            assert isinstance(outcome, Undone), outcome
            assert outcome.plan.visible
            assert not outcome.plan.kept
            left.remove(one)
            assert group(tmp_path) == edited(left), one
        assert files_of(tmp_path) == start
        for one in sorted(order, key=lambda name: name[1]):
            assert isinstance(harness.redo(entries[one]), Undone)
            left.add(one)
            assert group(tmp_path) == edited(left), one
        assert harness.status().clean


def test_undoing_the_first_edit_of_a_field_keeps_the_later_and_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"matcher": "A", "hooks": [hook("a")]})
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        write(tmp_path, {"matcher": "B", "hooks": [hook("a"), hook("b")]})
        first = harness.adopt()
        write(tmp_path, {"matcher": "C", "hooks": [hook("a"), hook("b")]})
        second = harness.adopt()
        assert isinstance(first, Adopted)
        assert isinstance(second, Adopted)
        outcome = harness.undo(first)
        assert isinstance(outcome, Undone)
        assert [kept.entry for kept in outcome.plan.kept] == [second.entry.entry]
        assert group(tmp_path) == {"matcher": "C", "hooks": [hook("a")]}
        assert isinstance(harness.undo(second), Undone)
        assert group(tmp_path) == {"matcher": "A", "hooks": [hook("a")]}


def test_a_restored_group_has_the_edits_that_are_live(tmp_path: Path) -> None:
    write(tmp_path, {"matcher": "A", "hooks": [hook("a")]})
    init_clients(tmp_path)
    with closing(open_workspace(tmp_path)) as harness:
        write(tmp_path, {"matcher": "B", "hooks": [hook("a")]})
        first = harness.adopt()
        (tmp_path / PATH).write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [hook("other")]}]}}))
        second = harness.adopt()
        assert isinstance(first, Adopted)
        assert isinstance(second, Adopted)
        assert isinstance(harness.undo(first), Undone)
        assert isinstance(harness.undo(second), Undone)
        assert group(tmp_path) == {"matcher": "A", "hooks": [hook("a")]}


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
def test_edits_of_identical_hooks_stay_with_their_hook(order: tuple[int, ...], tmp_path: Path) -> None:
    def alike(done: set[int]) -> dict[str, Any]:
        return {"hooks": [hook("a", **({"timeout": at + 5} if at in done else {})) for at in range(3)]}

    write(tmp_path, alike(set()))
    init_clients(tmp_path)
    entries: dict[int, str] = {}
    with closing(open_workspace(tmp_path)) as harness:
        for at, one in enumerate(order):
            write(tmp_path, alike({*order[: at + 1]}))
            adopted = harness.adopt()
            assert isinstance(adopted, Adopted)
            entries[one] = adopted.entry.id
        left = set(order)
        for one in (0, 1, 2, 2, 0, 1):
            outcome = (harness.undo if one in left else harness.redo)(entries[one])
            assert isinstance(outcome, Undone), outcome
            left ^= {one}
            assert group(tmp_path) == alike(left)
