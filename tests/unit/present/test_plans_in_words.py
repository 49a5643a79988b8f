"""Plans in words: what must be read first, what is kept, where parts stand."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config

from takeback import open_memory
from takeback.harness import Applied
from takeback.present.changes import find_differences
from takeback.present.diffs import iter_unified_lines
from takeback.present.plans import describe_kept, list_kept_json, make_headline
from takeback.present.titles import make_title
from takeback.state import State
from takeback.state.slots import describe_slot
from takeback.undo import Plan

TEN = "".join(f"line {number}\n" for number in range(1, 11))


def edit(old, new, target="system"):
    return {"op_type": "edit_prompt", "target": target, "value": {"old": old, "new": new}}


def rewrite(text):
    return {"op_type": "set_prompt", "target": "system", "value": text}


def append(value):
    return {"op_type": "append_config", "target": "list", "value": value}


@pytest.fixture
def harness():
    state = {"config": {"a": 0, "list": ["x", "y"]}, "prompts": {"system": TEN, "open": "no end"}}
    with open_memory(State.read(state)) as opened:
        yield opened


def apply(harness, *ops):
    done = harness.apply(candidate(*ops))
    assert isinstance(done, Applied), done
    return done.entry.number


def planned(harness, entry):
    plan = harness.plan_undo(f"#{entry}")
    assert isinstance(plan, Plan), plan
    return plan


@pytest.mark.parametrize(
    ("first", "second", "because"),
    [
        ([edit("line 5\n", "five\n")], [edit("five\n", "5\n")], "rewrote this line later"),
        ([edit("line 5\n", "five\n")], [edit("five\n", "")], "removed this line later"),
        ([edit("line 5\nline 6", "five\nsix")], [edit("five\nsix", "5\n6")], "rewrote these 2 lines later"),
        ([config("a", 1)], [config("a", 2)], "rewrote this value later"),
        ([edit("line 5\n", "five\n")], [rewrite("other\n")], "rewrote this prompt later"),
        ([edit("line 5\nline 6", "five\nsix")], [rewrite("other\n")], "rewrote this prompt later"),
        (
            [edit("line 5\n", "five\n")],
            [{"op_type": "remove_prompt", "target": "system"}],
            "removed this prompt later",
        ),
        ([append("z")], [config("list", ["new"])], "rewrote this value later"),
        ([rewrite("one\n")], [rewrite("two\n")], "rewrote this prompt later"),
    ],
)
def test_the_headline_says_that_a_later_entry_hides_the_undo(harness, first, second, because):
    one, two = apply(harness, *first), apply(harness, *second)
    plan = planned(harness, one)
    assert make_headline(plan, done=True) == f"nothing visible changed: #{two} {because}"
    assert make_headline(plan, done=False) == f"nothing visible would change: #{two} {because}"


def test_a_whole_write_over_edited_lines_is_reported_once(harness):
    one = apply(harness, edit("line 5\nline 6", "five\nsix"))
    two = apply(harness, rewrite("other\n"))
    plan = planned(harness, one)
    assert list(describe_kept(plan, done=True)) == [f'kept: prompts["system"], which #{two} rewrote as a whole later']
    assert [row["part"] for row in list_kept_json(plan, done=True)] == ["line 5", "line 6"]


def test_a_move_within_a_chain_shows_old_and_new_places():
    links = [{"id": name, "handler": f"m:{name}"} for name in "abc"]
    listeners = {"go": [{"id": "x"}, {"id": "y"}]}
    with open_memory(State.read({"middleware": links, "listeners": listeners})) as harness:
        one = apply(harness, {"op_type": "move_middleware", "target": "c", "index": 0})
        two = apply(harness, {"op_type": "move_listener", "target": "go", "value": "y", "index": 0})
        for entry, said in (
            (one, 'middleware["c"]: moved from place 1 to place 3'),
            (two, "from place 1 to place 2"),
        ):
            plan = planned(harness, entry)
            (told,) = find_differences(plan.changes, lambda plan=plan: plan.before)
            ((_, line),) = iter_unified_lines(told)
            assert said in line


def test_an_undo_without_effect_says_that_nothing_differs(harness):
    one = apply(harness, config("a", 0))
    assert make_headline(planned(harness, one), done=True) == (
        "nothing visible changed: everything is the same with and without it"
    )


def test_lines_taken_back_and_kept_are_counted(harness):
    one = apply(harness, edit("line 2\n", "two\n"), edit("line 5\n", "five\n"), edit("line 8\n", "eight\n"))
    two = apply(harness, edit("five", "5"))
    plan = planned(harness, one)
    assert make_headline(plan, done=True) == f"2 lines taken back, 1 kept because of #{two}"
    assert list(describe_kept(plan, done=True)) == [f'kept: prompts["system"] line 5, which #{two} rewrote later']
    assert list_kept_json(plan, done=True) == [{"slot": 'prompts["system"]', "part": "line 5", "entry": two}]


def test_units_are_named_where_they_differ(harness):
    one = apply(harness, edit("line 2\n", "two\n"), append("z"), config("a", 1))
    two = apply(harness, config("a", 2))
    plan = planned(harness, one)
    assert make_headline(plan, done=False) == f"1 line and 1 item would be taken back, 1 value kept because of #{two}"
    assert list_kept_json(plan, done=True) == [{"slot": 'config["a"]', "part": None, "entry": two}]


def test_a_complete_plan_has_no_headline(harness):
    assert make_headline(planned(harness, apply(harness, edit("line 2\n", "two\n"))), done=True) is None


def test_a_part_is_named_by_its_current_position(harness):
    one = apply(harness, edit("line 1\n", "zero\nline 1\n"))
    apply(harness, edit("line 9\n", "nine\n"))
    added, written = ("prompts", "system", "\x1fn0"), ("prompts", "system", "\x1f8")
    assert make_title(added, harness.state) == 'prompts["system"] line 1'
    assert make_title(written, harness.state) == 'prompts["system"] line 10'
    assert describe_slot(written) == 'prompts["system"] line 9'
    harness.undo(f"#{one}")
    assert make_title(written, harness.state) == 'prompts["system"] line 9'
    assert make_title(added, harness.state) == describe_slot(added) == 'prompts["system"] added line 1'


def test_items_and_the_missing_newline_have_names_of_their_own(harness):
    apply(harness, append("z"))
    assert make_title(("config", "list", "\x1fn0"), harness.state) == 'config["list"] item 3'
    assert describe_slot(("config", "list", "\x1f1")) == 'config["list"] item 2'
    assert describe_slot(("prompts", "open", "\x1fend")) == 'prompts["open"] newline at the end'
    assert describe_slot(("files", "d", "x", "\x1f0")) == 'files["d/x"] line 1'


def test_items_are_shown_one_by_one_with_only_changes_marked(harness):
    one = apply(harness, append("z"))
    plan = planned(harness, one)
    told = [
        text for found in find_differences(plan.changes, lambda: plan.before) for _, text in iter_unified_lines(found)
    ]
    assert told == ['--- config["list"]', '+++ config["list"]', "@@ -1,3 +1,2 @@", ' "x"', ' "y"', '-"z"']


def test_a_list_of_one_item_is_shown_as_a_list():
    with open_memory(State.read({"config": {"list": []}})) as harness:
        apply(harness, append("z"))
        done = harness.undo("HEAD")
        plan = done.plan
        told = [
            text
            for found in find_differences(plan.changes, lambda: plan.before)
            for _, text in iter_unified_lines(found)
        ]
    assert told == ['- config["list"] = ["z"]', '+ config["list"] = []']
