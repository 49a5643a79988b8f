"""Whatever is applied or taken back can be read again: limits are checked before, by the code that reads."""

from __future__ import annotations

import random

import pytest
from tests.support.changes import candidate, config, file, prompt, routing

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness import Applied, RefusalReason, Refused, Undone
from takeback.harness.entry_names import resolve_entry
from takeback.state import State, keyed_surface, values
from takeback.state.surfaces import config as config_surface

TEXT, ITEMS, DEPTH, ENTRIES = 80, 5, 8, 6


@pytest.fixture
def small(monkeypatch):
    """Limits that a few changes reach."""
    monkeypatch.setattr(values, "MAX_TEXT", TEXT)
    monkeypatch.setattr(values, "MAX_ITEMS", ITEMS)
    monkeypatch.setattr(values, "MAX_INT", 10**6)
    for module in (values, config_surface):
        monkeypatch.setattr(module, "MAX_DEPTH", DEPTH)
    monkeypatch.setattr(keyed_surface, "MAX_ENTRIES", ENTRIES)


def edit(kind, target, old, new):
    return {"op_type": f"edit_{kind}", "target": target, "value": {"old": old, "new": new}}


def append(target, value):
    return {"op_type": "append_config", "target": target, "value": value}


def nested(levels):
    return [nested(levels - 1)] if levels else 1


PLACES = ["memory", "workspace", "claude-code", "codex"]


class World:
    """One harness that can be opened again, on any adapter."""

    def __init__(self, place, path):
        self.place, self.path = place, path
        path.mkdir()
        self.prompt = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}.get(place, "system")
        self.file = {"claude-code": ".claude/hooks/a.sh", "codex": ".codex/rules/a.rules"}.get(place, "notes")
        if place == "workspace":
            init_workspace(path)
        elif place != "memory":
            (path / self.prompt).write_text("")
            init_clients(path, [place])
        self.harness = self.opened()

    def opened(self):
        if self.place == "memory":
            return open_memory(journal=self.path / "journal.db")
        return open_workspace(self.path)

    def demand_readable(self):
        """Open it again, read the state from its own JSON, and find nothing broken."""
        state = self.harness.state
        assert State.read(state.write()) == state
        self.harness.close()
        self.harness = self.opened()
        assert self.harness.state == state
        assert not self.harness.status().broken
        assert not self.harness.status().drift


@pytest.fixture(params=PLACES)
def world(request, tmp_path, small):
    made = World(request.param, tmp_path / "harness")
    yield made
    made.harness.close()


def grow(world, *steps):
    """Apply changes until one is refused; the state before that can be read again."""
    for ops in steps:
        done = world.harness.apply(candidate(*ops))
        if isinstance(done, Refused):
            world.demand_readable()
            return done
        world.demand_readable()
    raise AssertionError("nothing was refused")


def test_an_edit_that_makes_a_text_too_long_is_refused(world):
    lines = ["0123456789\n"] * 12
    steps = [[prompt(world.prompt, "")], *([edit("prompt", world.prompt, "", line)] for line in lines)]
    refused = grow(world, *steps)
    assert refused.why is RefusalReason.LIMIT
    assert "at most 80" in refused.message
    assert len(world.harness.state.write()["prompts"][world.prompt]) == 77


def test_a_text_of_one_line_may_be_as_long_as_the_limit_says(world):
    apply = world.harness.apply
    assert isinstance(apply(candidate(prompt(world.prompt, "x" * (TEXT - 1)))), Applied)
    assert isinstance(apply(candidate(edit("prompt", world.prompt, "", "y"))), Applied)
    world.demand_readable()
    refused = world.harness.apply(candidate(edit("prompt", world.prompt, "", "z")))
    assert refused.why is RefusalReason.LIMIT
    world.demand_readable()


def test_an_edit_that_makes_a_file_too_long_is_refused(world):
    apply = world.harness.apply
    assert isinstance(apply(candidate(file(world.file, "x" * (TEXT - 1)))), Applied)
    assert isinstance(apply(candidate(edit("file", world.file, "", "y"))), Applied)
    world.demand_readable()
    refused = world.harness.apply(candidate(edit("file", world.file, "", "z")))
    assert refused.why is RefusalReason.LIMIT
    world.demand_readable()


def test_an_item_too_many_in_a_list_is_refused(world):
    refused = grow(world, [config("tui.a", [])], *([append("tui.a", str(n))] for n in range(9)))
    assert refused.why is RefusalReason.LIMIT
    assert len(world.harness.state.write()["config"]["tui"]["a"]) == ITEMS


def test_a_key_too_many_in_a_mapping_is_refused(world):
    refused = grow(world, *([config(f"tui.k{n}", n)] for n in range(9)))
    assert refused.why is RefusalReason.LIMIT
    assert len(world.harness.state.write()["config"]["tui"]) == ITEMS


def test_an_item_that_would_lie_too_deep_is_refused(world):
    assert isinstance(world.harness.apply(candidate(config("tui.b.c.d", ["x"]))), Applied)
    refused = world.harness.apply(candidate(append("tui.b.c.d", nested(4))))
    assert refused.why is RefusalReason.LIMIT
    world.demand_readable()


def test_more_names_than_can_be_read_are_refused(tmp_path, small):
    world = World("workspace", tmp_path / "harness")
    refused = grow(world, *([routing(f"m{n}", "model")] for n in range(9)))
    assert refused.why is RefusalReason.LIMIT
    assert len(world.harness.state.write()["routing"]) == ENTRIES
    world.harness.close()


def test_an_undo_that_would_make_a_text_too_long_is_refused(world):
    lines = [f"{n:09}\n" for n in range(7)]
    assert isinstance(world.harness.apply(candidate(prompt(world.prompt, "".join(lines)))), Applied)
    shorter = world.harness.apply(candidate(edit("prompt", world.prompt, lines[0], ""))).entry
    longer = world.harness.apply(candidate(edit("prompt", world.prompt, "", "x" * 14))).entry
    assert world.harness.plan_undo(shorter).why is RefusalReason.LIMIT
    assert world.harness.undo(shorter).why is RefusalReason.LIMIT
    world.demand_readable()
    assert isinstance(world.harness.undo(shorter, longer), Undone)
    world.demand_readable()


def test_a_file_on_disk_that_was_too_long_already_can_be_edited_and_taken_back(tmp_path, small):
    world = World("workspace", tmp_path / "harness")
    there = world.path / "files" / "long"
    there.write_text("line\n" * 100)
    world.harness.adopt()
    assert isinstance(world.harness.apply(candidate(edit("file", "long", "", "more\n"))), Applied)
    there.unlink()
    gone = world.harness.adopt().entry
    assert isinstance(world.harness.undo(gone), Undone)
    assert there.read_text() == "line\n" * 100 + "more\n"
    world.harness.close()
    with open_workspace(world.path) as again:
        assert again.status().clean


def test_an_overlong_prompt_file_is_reported_and_the_harness_opens(tmp_path, small):
    world = World("claude-code", tmp_path / "harness")
    (world.path / "CLAUDE.md").write_text("x" * (TEXT + 1))
    assert [one.path for one in world.harness.status().broken] == ["CLAUDE.md"]
    world.harness.close()
    with open_workspace(world.path) as again:
        assert "at most 80" in again.status().broken[0].message


def test_an_undecodable_prompt_file_is_reported_and_the_harness_opens(tmp_path):
    world = World("claude-code", tmp_path / "harness")
    (world.path / "CLAUDE.md").write_bytes(b"\xff\n")
    assert [one.path for one in world.harness.status().broken] == ["CLAUDE.md"]
    world.harness.close()


def random_change(rng, world):
    choices = [
        lambda: prompt(world.prompt, "ab\n" * rng.randrange(20, 27)),
        lambda: edit("prompt", world.prompt, "", "line of text\n" * rng.randrange(1, 3)),
        lambda: file(world.file, "cd\n" * rng.randrange(20, 26)),
        lambda: edit("file", world.file, "", "y" * rng.randrange(30)),
        lambda: config(f"tui.{rng.choice('abc')}", nested(rng.randrange(4))),
        lambda: config(f"tui.k{rng.randrange(8)}", rng.randrange(10**6)),
        lambda: config("tui.list", list(range(rng.randrange(ITEMS + 1)))),
        lambda: append("tui.list", nested(rng.randrange(5))),
        lambda: append(f"tui.{rng.choice('abc')}", "x" * rng.randrange(TEXT)),
    ]
    return rng.choice(choices)()


def entry(world, name):
    return resolve_entry(world.harness.ledger, name)


@pytest.mark.parametrize("seed", range(3))
def test_the_result_of_random_changes_and_undos_can_be_read_again(world, seed):
    rng = random.Random(seed)
    made, refused = [], 0
    for _ in range(40):
        if made and rng.random() < 0.2:
            outcome = world.harness.undo(rng.choice(made), cascade=True)
            made = [made_id for made_id in made if world.harness.ledger.fate(entry(world, made_id)) == "live"]
        else:
            outcome = world.harness.apply(candidate(random_change(rng, world)))
            made += [outcome.entry.id] if isinstance(outcome, Applied) else []
        refused += isinstance(outcome, Refused) and outcome.why is RefusalReason.LIMIT
        world.demand_readable()
    assert refused
