"""Someone appends to a file while changes are applied to it: no line is lost, and changes go on."""

from __future__ import annotations

import os
import random
import time

import pytest
from tests.support.changes import candidate, config, prompt

from takeback.adapters import init_workspace, open_workspace
from takeback.errors import HarnessError
from takeback.harness import Applied, Refused
from takeback.journal.failpoint import arm_failpoints
from takeback.state import State

LINES = 40
MOST_ROUNDS = 400


@pytest.mark.parametrize(("target", "keys"), [("config.toml", 20), ("config.toml", 400), ("prompts/system.md", 1)])
def test_no_line_appended_by_hand_is_lost(tmp_path, target, keys):
    root = tmp_path / "agent"
    (root / "prompts").mkdir(parents=True)
    (root / "config.toml").write_text("".join(f"k{number} = {number}\n" for number in range(keys)))
    (root / "prompts/system.md").write_text("Careful.\n")
    init_workspace(root)
    child = os.fork()
    if child == 0:
        _append(root / target)
    harness = open_workspace(root, hold=False)
    for number in range(MOST_ROUNDS):
        text = (root / "prompts/system.md").read_text()
        op = config("k0", number) if target == "config.toml" else prompt("system", f"{text}p{number}\n")
        try:
            answer = harness.apply(candidate(op))
        except HarnessError:
            continue  # the file changed under every attempt
        if isinstance(answer, Refused):
            harness.adopt()
        if os.waitpid(child, os.WNOHANG)[0]:
            break
    else:
        os.waitpid(child, 0)
    places = [root / target, *root.rglob("*edited-meanwhile*")]
    found = "".join(place.read_text() for place in places)
    assert [number for number in range(LINES) if f"# line {number} #\n" not in found] == []
    harness.adopt()
    assert isinstance(harness.apply(candidate(config("k0", "at last"))), Applied)
    assert harness.status().clean


def test_a_late_edit_of_a_replaced_file_is_merged_by_retrying_the_change(tmp_path):
    """Whoever opened it before the swap writes to the file taken aside: the change is put back, and tried anew."""
    root = init_workspace(tmp_path / "agent", start=State.read({"config": {"a": 1}, "prompts": {"p": "x"}}))
    with (root / "config.toml").open("ab", buffering=0) as editor, open_workspace(root, hold=False) as harness:
        reached = iter(range(MOST_ROUNDS))

        def write_late(name):
            if name == "file.renamed" and next(reached) == 1:
                editor.write(b"# late\n")
                editor.close()

        with arm_failpoints(write_late):
            assert isinstance(harness.apply(candidate(config("a", 2), prompt("p", "y"))), Applied)
    assert (root / "config.toml").read_text().endswith("a = 2\n# late\n")
    assert not [*root.rglob("*edited-meanwhile*")]


def _append(path):
    """A person with an editor that appends; never returns."""
    rng = random.Random(1)
    for number in range(LINES):
        with path.open("a") as file:
            file.write(f"# line {number} #\n")
        time.sleep(rng.random() * 0.1)
    os._exit(0)
