"""A shell drops an unquoted `#6` and everything after it: nothing is guessed then, and `6` names the same entry."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.interfaces.test_error_hints import lines_in
from tests.interfaces.test_printed_hints import hints_in
from tests.support.terminal import converse, environment, run

from takeback.adapters import open_workspace

pytestmark = pytest.mark.long

PLAIN = {"NO_COLOR": "1"}


@pytest.fixture
def agent(tmp_path):
    place = tmp_path / "agent"
    assert run("init", place).code == 0
    for name in ("one", "two", "three"):
        assert run("set", "prompt", name, name, "-C", place).code == 0
    return place


@pytest.fixture
def shell(agent, tmp_path):
    """A shell in the workspace that knows the program by its name."""
    program = tmp_path / "bin/takeback"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m takeback "$@"\n')
    program.chmod(0o755)
    variables = environment(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    def say(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line],
            cwd=agent,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return say


def log_of(agent) -> list[tuple[str, str]]:
    with open_workspace(agent, hold=False) as harness:
        return [(entry.kind, entry.status) for entry in harness.log()]


@pytest.mark.parametrize(
    "line",
    [
        "takeback undo #2",
        "takeback undo #2 --cascade",
        "takeback undo --cascade #2",
        "takeback undo --strict #2",
        "takeback undo --salvage #2",
        "takeback undo --json #2",
        "takeback undo $NOT_SET",
        'takeback undo --by "$NOT_SET"',
        'takeback undo ""',
        "takeback restore --to #2",
        "takeback forget --yes #2",
        "takeback forget #2 --yes",
        "takeback show #2",
    ],
)
def test_an_undo_with_a_dropped_entry_name_changes_nothing(shell, agent, line):
    before = log_of(agent)
    done = shell(line)
    assert done.returncode == 2
    assert log_of(agent) == before
    assert lines_in(done.stderr), done.stderr


@pytest.mark.parametrize("line", ["takeback redo #2", "takeback redo --json #2", "takeback redo $NOT_SET"])
def test_a_redo_with_a_dropped_entry_name_changes_nothing(shell, agent, line):
    assert shell("takeback undo 2").returncode == 0
    before = log_of(agent)
    done = shell(line)
    assert done.returncode == 2
    assert log_of(agent) == before
    assert hints_in(done.stderr)[0] == "takeback redo 5"
    assert shell(hints_in(done.stderr)[0]).returncode == 0
    assert log_of(agent)[0] == ("redo", "done")


def test_an_undo_without_a_name_suggests_the_newest_change(shell, agent):
    said = shell("takeback undo #2").stderr
    first, second = hints_in(said)
    assert (first, second) == ("takeback undo 4", "takeback undo --last")
    assert shell(second).returncode == 0
    assert log_of(agent)[:2] == [("undo", "done"), ("apply", "undone")]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "{}", "--json"),
        ("diff", "{}", "--json"),
        ("diff", "{}", "HEAD", "--json"),
        ("export", "--at", "{}"),
        ("undo", "{}", "--plan", "--json"),
        ("restore", "--to", "{}", "--plan", "--json"),
    ],
)
def test_a_bare_number_names_the_same_entry_as_with_a_hash_sign(agent, words):
    plain, signed = ([word.format(name) for word in words] for name in ("2", "#2"))
    assert run(*plain, "-C", agent).code == 0
    assert run(*plain, "-C", agent) == run(*signed, "-C", agent)


def test_undo_redo_and_forget_accept_a_bare_number(agent):
    assert json.loads(run("undo", "3", "--json", "-C", agent).out)["off"] == [3]
    assert json.loads(run("redo", "3", "--json", "-C", agent).out)["on"] == [3]
    assert run("undo", "99", "-C", agent).code == 2
    assert run("forget", "3", "--yes", "-C", agent).code == 0


def test_on_a_terminal_redo_shows_its_changes_and_asks(agent):
    run("undo", "2", "-C", agent)
    done = converse(("redo", "-C", agent), [("bring it back? y or n: ", "n\n")], PLAIN)
    assert done.code == 1
    assert log_of(agent)[0] == ("undo", "done")
    done = converse(("redo", "-C", agent), [("bring it back? y or n: ", "y\n")], PLAIN)
    assert done.code == 0
    assert "+ prompts/one.md" in done.out
    assert log_of(agent)[0] == ("redo", "done")


def test_digits_that_fit_a_number_and_an_id_are_ambiguous():
    from takeback.errors import UnknownEntryError
    from takeback.journal import resolve_record
    from takeback.journal.conformance import draft_entry
    from takeback.journal.memory import MemoryStore

    store = MemoryStore()
    records = store.append([draft_entry(n) for n in range(3000)])
    numbers = {str(record.number): record for record in records if record.number is not None and record.number > 999}
    both = {
        name: (numbers[name], other)
        for other in records
        if (name := other.digest[:4]) in numbers and numbers[name] is not other
    }
    assert both, "with so many entries some id begins with the number of another"
    name, (numbered, begun) = next(iter(both.items()))
    with pytest.raises(UnknownEntryError, match="ambiguous"):
        resolve_record(store, name)
    assert resolve_record(store, f"#{name}") is numbered
    assert resolve_record(store, begun.digest[:10]) is begun
    alone = next(name for name in numbers if not store.find(name))
    assert resolve_record(store, alone) is numbers[alone]
