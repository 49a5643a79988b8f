"""Who stands for whom between two versions: what is equal, what moved, what is alike, and what is open."""

from __future__ import annotations

import random
import subprocess
from difflib import SequenceMatcher

import pytest

from takeback.adapters import open_memory
from takeback.errors import OperationFailed
from takeback.harness import Undone
from takeback.state import State
from takeback.state.address import PLACE
from takeback.state.alignment import align
from takeback.state.chain import Link
from takeback.state.edit_script import MOST_IN_ALL, Likeness, count_shared
from takeback.state.items import Items
from takeback.state.text import Text
from takeback_lab.bench.place_histories import PLACE_CLASSES, place_history

SORTED = ["Bash(rm:*)", "Edit", "Write"]


def of_list(items) -> State:
    return State.read({"config": {"permissions": {"allow": list(items)}}})


def of_text(lines) -> State:
    return State.read({"files": {"notes.md": {"content": "".join(f"{line}\n" for line in lines)}}})


class Saved:
    """A harness in memory whose state someone else writes, version after version."""

    def __init__(self, make, *versions) -> None:
        self.make = make
        self.harness = open_memory(make(versions[0]))
        self.adopted = []
        for version in versions[1:]:
            self.harness.adapter.edit(make(version))
            self.adopted.append(self.harness.adopt())
            assert self.harness.state == make(version)

    def undo(self, *numbers: int):
        outcome = self.harness.undo(*(self.adopted[number - 1] for number in numbers))
        assert isinstance(outcome, Undone)
        return self.shown()

    def shown(self):
        state = self.harness.state.write()
        if self.make is of_list:
            return state["config"]["permissions"]["allow"]
        return state["files"]["notes.md"]["content"].split("\n")[:-1]


def test_undoing_a_sort_does_not_restore_a_permission_removed_since() -> None:
    saved = Saved(of_list, ["Write", "Edit", "Bash(rm:*)"], SORTED, ["Edit", "Write"])
    assert saved.undo(1) == ["Write", "Edit"]


def test_undoing_an_addition_removes_it_from_a_list_sorted_since() -> None:
    saved = Saved(of_list, ["Write", "Edit"], ["Write", "Edit", "Bash(rm:*)"], SORTED)
    assert saved.undo(1) == ["Edit", "Write"]
    assert isinstance(saved.harness.redo(saved.adopted[0]), Undone)
    assert saved.shown() == SORTED


def test_undoing_a_swap_of_lines_keeps_a_later_edit() -> None:
    saved = Saved(of_text, ["a1", "a2", "b1", "b2"], ["b1", "b2", "a1", "a2"], ["b1", "b2", "a1 edited", "a2"])
    assert saved.undo(1) == ["a1 edited", "a2", "b1", "b2"]
    assert saved.adopted[0].ambiguous
    assert len(saved.adopted[0].changes) == 2


def test_undoing_the_edit_of_a_moved_line_keeps_the_move() -> None:
    lines = [f"line {at}" for at in range(6)]
    moved = [*lines[1:5], lines[0], lines[5]]
    edited = [*lines[1:5], "line 0, edited", lines[5]]
    assert Saved(of_text, lines, moved, edited).undo(2) == moved
    assert Saved(of_text, lines, moved, edited).undo(1) == ["line 0, edited", *lines[1:]]
    assert Saved(of_text, lines, moved, edited).undo(1, 2) == lines


def test_a_removed_moved_line_is_restored_at_its_new_place() -> None:
    lines = [f"line {at}" for at in range(6)]
    moved = [*lines[1:5], lines[0], lines[5]]
    saved = Saved(of_text, lines, moved, [*lines[1:5], lines[5]])
    assert saved.undo(2) == moved
    assert saved.undo(1) == lines


def test_undoing_the_first_of_two_moves_keeps_the_later_place_and_says_so() -> None:
    lines = [f"line {at}" for at in range(6)]
    saved = Saved(of_text, lines, [*lines[1:4], lines[0], *lines[4:]], [*lines[1:], lines[0]])
    outcome = saved.harness.undo(saved.adopted[0])
    assert not outcome.plan.visible
    assert [kept.entry for kept in outcome.plan.kept] == [saved.adopted[1].entry.entry]


def test_a_save_with_four_changes_records_exactly_those() -> None:
    lines = [f"{at}: what is said here" for at in range(30)]
    after = list(lines)
    after[4] = "4: what was said here"
    after.insert(10, "something new")
    del after[18]
    after[25] = "25: what is said there"
    saved = Saved(of_text, lines, after)
    assert len(saved.adopted[0].changes) == 4
    assert saved.adopted[0].ambiguous == ()
    assert saved.undo(1) == lines


def test_an_undo_loses_no_line_that_git_keeps(tmp_path) -> None:
    compared = 0
    for seed in range(90):
        history = place_history(PLACE_CLASSES[0], f"git {seed}")
        before, base, now = (tmp_path / name for name in ("before", "base", "now"))
        for path, text in zip(
            (before, base, now), (history.versions[2], history.versions[3], history.versions[-1]), strict=True
        ):
            path.write_text(text)
        command = ["git", "merge-file", "-p", str(now), str(base), str(before)]
        merged = subprocess.run(command, capture_output=True, text=True, check=False)
        if merged.returncode == 0:
            compared += 1
            saved = Saved(of_text, *(version.split("\n")[:-1] for version in history.versions))
            assert saved.undo(3) == merged.stdout.split("\n")[:-1]
    assert compared > 10


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 100), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("kind", PLACE_CLASSES)
def test_undo_is_right_on_histories_of_saves_with_unique_lines(kind, seeds) -> None:
    for seed in seeds:
        history = place_history(kind, f"test {seed}")
        saved = Saved(of_text, *(version.split("\n")[:-1] for version in history.versions))
        assert saved.undo(3) == history.right.split("\n")[:-1], seed


@pytest.mark.parametrize("size", [2_100, 5_000])
def test_three_insertions_into_a_long_text_are_three_parts(size) -> None:
    lines = [f"row {at} of {at % 7}\n" for at in range(size)]
    longer = list(lines)
    for at in (size // 4, size // 2, size - 5):
        longer.insert(at, f"new at {at}\n")
    text = Text.of("".join(lines))
    revised = text.revise("".join(longer))
    assert revised.whole() == "".join(longer)
    assert len(text.differing(revised)) == 3


def test_the_number_of_likeness_comparisons_is_bounded(monkeypatch) -> None:
    compared = []
    ratio = SequenceMatcher.ratio
    monkeypatch.setattr(SequenceMatcher, "ratio", lambda self: compared.append(1) or ratio(self))
    rng = random.Random(5)
    old = [f"line {at} says something like {at}" for at in range(1_000)]
    reworded = align(old, [line.replace("says", "tells you") for line in old])
    assert (len(reworded.stays), reworded.coarse) == (1_000, False)
    others = align(old, ["".join(rng.sample("qwertzuiopasdfghjklyxcvbnm", 20)) for _ in old])
    assert (others.stays, others.coarse, others.several) == ((), True, True)
    align([f"{at} a b c" for at in range(50_000)], [f"d e f {at}" for at in range(50_000)])
    assert len(compared) < 1_500


def test_the_likeness_budget_of_two_versions_is_exact() -> None:
    likeness = Likeness()
    allowed = sum(likeness.allows(400) for _ in range(1_000))
    assert allowed * 400 == MOST_IN_ALL


def test_a_reindented_long_text_keeps_every_line() -> None:
    old = [f"if x{at}:" for at in range(4_000)]
    found = align(old, [f"    {line}" for line in old])
    assert (len(found.stays), found.coarse, found.several) == (4_000, False, False)


@pytest.mark.parametrize(
    ("old", "new", "several"),
    [
        ("a b b c", "a b c", True),
        ("a b c", "a c", False),
        ("alpha beta gamma", "alpha delta gamma", False),
        ("alpha beta gamma omega", "alpha one two omega", True),
        ("one two three four five", "two three four one five", False),
        ("one two", "two one", True),
        ("zero one two three four five six", "zero three four five one two six", True),
        ("x same y same z", "x y same z same", True),
    ],
)
def test_ambiguous_versions_are_marked(old, new, several) -> None:
    assert align(old.split(), new.split()).several is several


BLANKS_AND_HEADING = ["top", "heading of the plan", "", "", "below it", "end"]


def test_replacing_a_heading_by_a_line_keeps_the_blank_lines_in_place() -> None:
    found = align(BLANKS_AND_HEADING, ["top", "", "", "run the budget with care", "below it", "end"])
    assert found.stays == ((0, 0), (2, 1), (3, 2), (4, 4), (5, 5))
    assert found.several


def test_lines_replaced_one_by_one_are_paired_in_order() -> None:
    old = ["top", "---", "measure the long files with care", "log the budget in plain words", "end"]
    new = [
        "top",
        "measure the long files with care",
        "measure the long files first",
        "log the budget in plain speech",
        "end",
    ]
    assert align(old, new).stays == tuple((at, at) for at in range(5))


@pytest.mark.parametrize(
    ("old", "new", "stays"),
    [
        (("a", "", "b"), ("a", "", "new", "", "b"), ((0, 0), (1, 3), (2, 4))),
        (("a", "", "", "b"), ("a", "", "b"), ((0, 0), (2, 1), (3, 2))),
    ],
)
def test_of_equal_neighbours_the_first_is_taken_as_changed_and_marked(old, new, stays) -> None:
    found = align(old, new)
    assert (found.stays, found.several) == (stays, True)


def test_a_repeated_line_counts_as_added_and_removed_not_moved() -> None:
    old = ["ask first", "one", "two", "half", "ask first", "three", "four", "five", "ask first"]
    new = ["ask first", "one", "ask first", "two", "half", "read on", "three", "four", "five", "ask first"]
    found = align(old, new)
    assert found.moved == ()
    assert found.several
    assert {(2, 3), (3, 4), (4, 5)} <= set(found.stays)


def test_an_item_inserted_where_one_was_removed_is_ambiguous() -> None:
    said = Saved(of_list, "abcd", "acd", "axcd").adopted
    assert [bool(one.ambiguous) for one in said] == [False, True]
    elsewhere = Saved(of_list, "abcd", "acd", "acxd").adopted
    assert [bool(one.ambiguous) for one in elsewhere] == [False, False]
    at_the_end = Saved(of_list, "abcd", "abc", "abcx").adopted
    assert [bool(one.ambiguous) for one in at_the_end] == [False, False]


def test_a_line_placed_where_one_was_removed_is_marked_ambiguous() -> None:
    lines = [f"{at}: what is said here" for at in range(8)]
    without = [*lines[:3], *lines[4:]]
    came = Saved(of_text, lines, without, [*lines[:3], "something new", *lines[4:]]).adopted
    assert [bool(one.ambiguous) for one in came] == [False, True]
    moved = Saved(of_text, lines, without, [*lines[1:3], lines[0], *lines[4:]]).adopted
    assert [bool(one.ambiguous) for one in moved] == [False, True]
    added = [*lines[:3], "something new", *lines[3:]]
    again = Saved(of_text, lines, added, lines, [*lines[:3], "something else", *lines[3:]]).adopted
    assert [bool(one.ambiguous) for one in again] == [False, False, True]


@pytest.mark.parametrize("seed", range(60))
def test_putting_many_parts_at_once_equals_putting_them_one_by_one(seed) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 14)
    lines = [f"line {at}\n" for at in range(count)]
    parts = Text.of("".join(lines)) if seed % 2 else Items.of(tuple(lines))
    for _ in range(4):
        now, changes = parts, []
        for _ in range(rng.randrange(1, 12)):
            now, change = draw_change(now, rng)
            changes.append(change)
        together = parts.apply_changes(changes)
        assert together.whole() == now.whole()
        assert joined_runs(together.to_json()) == joined_runs(now.to_json())
        parts = now


def draw_change(parts, rng):
    """Change a part of a text or list; return that and the change by the part's name."""
    links = list(parts.links())
    kind = rng.choice("aamdrh") if links else "a"
    link = rng.choice(links) if links else None
    others = [one for one in links if kind != "m" or one.id != link.id]
    at = rng.randrange(-1, len(others))
    low, high = others[at] if at >= 0 else None, others[at + 1] if at + 1 < len(others) else None
    before, bulk = rng.random() < 0.3, parts.bulk()
    if kind == "m":
        stands = bulk.move(link, low, high, before=before)
        return bulk.done(), (PLACE + link.id, Link(stands.place, PLACE + link.id, None))
    if kind == "d":
        return parts.drop(link.id), (link.id, None)
    if kind == "h":
        return parts.drop(PLACE + link.id), (PLACE + link.id, None)
    if kind == "r":
        bulk.rewrite(link, f"other {rng.randrange(99)}\n")
        new = bulk.done()
        return new, (link.id, new.find(link.id))
    added = bulk.add(low, high, f"new {rng.randrange(99)}\n", before=before)
    return bulk.done(), (added.id, added)


def joined_runs(raw):
    """What `to_json` wrote down, neighbouring runs as one."""
    found: list = []
    for first, second, content in raw["segments"]:
        if found and isinstance(first, int) and isinstance(found[-1][0], int) and sum(found[-1][:2]) == first:
            found[-1] = [found[-1][0], found[-1][1] + second, found[-1][2] + content]
        else:
            found.append([first, second, content])
    return {**raw, "segments": found}


def test_a_save_that_moves_many_lines_rebuilds_the_text_a_few_times(monkeypatch) -> None:
    lines = [f"line {at} of it" for at in range(600)]
    built = []
    grown, of = Text._grown, Text.of
    monkeypatch.setattr(Text, "_grown", lambda self, *rest: built.append(1) or grown(self, *rest))
    monkeypatch.setattr(Text, "of", lambda text: built.append(1) or of(text))
    saved = Saved(of_text, lines, lines[300:] + lines[:300])
    assert len(saved.adopted[0].changes) == 300
    assert len(built) < 200, "the proof runs on a handful of states; 600 would be one for each line"


def test_the_same_versions_give_the_same_parts_every_time() -> None:
    rng = random.Random(8)
    old = [rng.choice("abcdefgh") * rng.randrange(1, 5) for _ in range(60)]
    new = rng.sample(old, 55)
    assert len({str(align(old, new)) for _ in range(5)}) == 1


@pytest.mark.parametrize("seed", range(40))
def test_a_revised_text_survives_json_with_every_identity(seed) -> None:
    rng = random.Random(seed)
    lines = [f"{rng.choice('abc')}{rng.randrange(12)}\n" for _ in range(20)]
    text = Text.of("".join(lines))
    for _ in range(6):
        rng.shuffle(lines)
        del lines[rng.randrange(3) : rng.randrange(5)]
        lines.insert(rng.randrange(len(lines)), f"new {rng.randrange(99)}\n")
        before, text = text, text.revise("".join(lines)) or Text.of("".join(lines))
        assert text.whole() == "".join(lines)
        again = Text.from_json(text.to_json(), "test")
        assert again.whole() == text.whole()
        assert again.to_json() == text.to_json()
        back = text
        for part in before.differing(text):
            link = before.find(part)
            back = back.drop(part) if link is None else back.put(link)
        assert back.whole() == before.whole()


def test_the_place_of_a_moved_part_survives_its_removal() -> None:
    items = Items.of(("a", "b", "c"))
    moved = items.revise(("b", "c", "a"))
    assert [part for part in items.differing(moved) if part.startswith(PLACE)] == [f"{PLACE}0"]
    gone = moved.drop("0")
    assert gone.put(items.find("0")).whole() == ("b", "c", "a")
    assert gone.drop(f"{PLACE}0").put(items.find("0")).whole() == ("a", "b", "c")


def test_a_value_recorded_before_moves_existed_still_loads() -> None:
    recorded = {"segments": [[0, 1, ["a"]], ["n0", [[1024, "0"], [-16777216, "n0"]], "x"], [1, 1, ["b"]]]}
    items = Items.from_json({**recorded, "originals": 2, "reach": [1024, 2048], "fresh": 1}, "test")
    assert items.whole() == ("a", "x", "b")
    assert "moved" not in items.to_json()


def test_an_item_is_found_by_value_and_type() -> None:
    items = Items.of((True, "x")).put(Link(((4096, "n0"),), "n0", 1))
    assert items.only(1).id == "n0"
    assert items.drop(items.only(1).id).whole() == (True, "x")
    with pytest.raises(OperationFailed):
        Items.of((True,)).put(Link(((4096, "n0"),), "n0", False)).only(1)


@pytest.mark.parametrize(("held", "asked"), [(True, 1), (1, True), (0, False), (1.0, 1)])
def test_an_item_that_was_written_is_not_found_by_one_of_another_type(held, asked) -> None:
    items = Items.of(("x",)).put(Link(((4096, "n0"),), "n0", held))
    with pytest.raises(OperationFailed):
        items.only(asked)
    assert items.only(held).id == "n0"


def test_an_item_that_became_a_number_was_changed_by_hand() -> None:
    assert Items.of((True, "x")).differing(Items.of((True, "x")).put(Link(((1024, "0"),), "0", 1))) == ["0"]


@pytest.mark.parametrize("letters", ["a", "ab", "ab ", "abcd_ ("])
def test_the_count_of_shared_characters_agrees_with_difflib(letters):
    chance = random.Random(letters)
    for _ in range(500):
        one, two = ("".join(chance.choices(letters, k=chance.randint(0, 24))) for _ in range(2))
        blocks = SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
        assert count_shared(one, two) == sum(block.size for block in blocks), (one, two)
