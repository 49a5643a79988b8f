"""What plans and ties look at grows with what is taken back, and no faster: counted, not timed."""

from __future__ import annotations

from functools import partial

import pytest
from tests.support.changes import candidate, config, file

from takeback import State, open_memory
from takeback.harness import Undone
from takeback.harness.entry_names import build_restore_request
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback.state.text import Text
from takeback.undo import Plan, consequences
from takeback.undo.history import View

FEW, MANY = 40, 160


def looks_of_a_restore(entries, change, monkeypatch):
    """How often it is asked whether an entry is live, while a restore over that many entries is planned."""
    asked = 0
    live = View.live

    def counted(self, entry):
        nonlocal asked
        asked += 1
        return live(self, entry)

    with open_memory(State.read({"config": {"k": 0}})) as harness:
        first = harness.apply(candidate(config("other", 1)), force=True).entry
        for n in range(entries):
            harness.apply(candidate(change(n)), force=True)
        with monkeypatch.context() as patch:
            patch.setattr(View, "live", counted)
            plan = harness.plan(partial(build_restore_request, name=first.id))
        assert isinstance(plan, Plan)
        assert len(plan.off) == entries
    return asked


@pytest.mark.parametrize(
    "change",
    [
        lambda n: config("k", n),
        lambda n: config("a.b", n) if n % 2 else config("a", {"b": n}),
        lambda n: file("d/f", f"{n}"),
    ],
    ids=["one key", "a key and its mapping", "one file"],
)
def test_planning_a_restore_is_linear_in_the_entries_that_it_takes_back(change, monkeypatch):
    few = looks_of_a_restore(FEW, change, monkeypatch)
    many = looks_of_a_restore(MANY, change, monkeypatch)
    assert many <= few * (MANY / FEW) * 1.5


@pytest.mark.parametrize("change", [partial(config, "k"), lambda n: file("d/f", f"{n}")], ids=["a key", "a file"])
def test_changing_a_much_changed_value_does_not_resolve_every_version(change, monkeypatch):
    settled = 0
    whole = consequences.find_consequences

    def counted(*asked):
        nonlocal settled
        settled += 1
        return whole(*asked)

    with open_memory(State.read({"config": {"k": 0}})) as harness:
        for n in range(FEW):
            harness.apply(candidate(change(n)), force=True)
        monkeypatch.setattr(consequences, "find_consequences", counted)
        harness.apply(candidate(change(FEW)), force=True)
    assert settled < FEW / 4


def test_repeated_undos_of_one_line_do_not_read_the_first_text(monkeypatch):
    content = "".join(f"rule {at}: say what you do\n" for at in range(2_000))
    op = {"op_type": "edit_file", "target": "a.md", "value": {"old": "rule 7: say", "new": "rule 7: do not say"}}
    harness = open_memory(State.read({"files": {"a.md": {"content": content}}}))
    edit = invert_mutation(read_program([op], Stage.FORWARD, "test"))
    for _ in range(2):
        assert isinstance(harness.undo(harness.apply(edit)), Undone)
    applied = harness.apply(edit)
    read = []
    make = Text.of
    monkeypatch.setattr(Text, "of", lambda text: read.append(len(text)) or make(text))
    assert isinstance(harness.undo(applied), Undone)
    assert read == []
