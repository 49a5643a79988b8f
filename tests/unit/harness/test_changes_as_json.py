"""What an entry changed, as JSON: which address, and which part of it where only a part was written."""

from __future__ import annotations

from tests.support.changes import candidate, config

from takeback import open_memory
from takeback.harness import Applied
from takeback.harness.entry_log import change_to_json, load_entry_writes
from takeback.state import State

EDIT = {"op_type": "edit_prompt", "target": "system", "value": {"old": "two", "new": "2"}}


def test_an_edit_names_its_part_and_a_whole_value_names_none():
    with open_memory(State.read({"prompts": {"system": "one\ntwo\nthree\n"}})) as harness:
        done = harness.apply(candidate(EDIT, config("a", 1)))
        assert isinstance(done, Applied)
        told = {one["address"]: one for one in map(change_to_json, load_entry_writes(harness, done.entry))}
    assert told['prompts["system"]'].get("part") == "line 2"
    assert (told['prompts["system"]']["before"], told['prompts["system"]']["after"]) == ("two\n", "2\n")
    assert "part" not in told['config["a"]']
