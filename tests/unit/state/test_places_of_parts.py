"""Where an added line or item stands once lines that were removed around it come back, and who stands for whom."""

from __future__ import annotations

from takeback.adapters import open_memory
from takeback.harness import Undone
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.state.alignment import align
from takeback.state.items import Items
from takeback.state.text import Text


def texts(before: str, *edits: tuple[str, str]) -> list[Text]:
    found = [Text.of(before)]
    for old, new in edits:
        found.append(found[-1].replace_once(old, new))
    return found


def brought_back(before: Text, after: Text, now: Text) -> str:
    """The text with what went between two versions put back."""
    for part in before.differing(after):
        link = before.find(part)
        now = now.drop(part) if link is None else now.put(link)
    return now.whole()


def test_lines_added_below_another_stay_there_when_removed_lines_return() -> None:
    one, two, three = texts("a\nb\nc\nd\n", ("b\nc\n", ""), ("a\n", "a\nx\ny\n"))
    assert brought_back(one, two, three) == "a\nx\ny\nb\nc\nd\n"


def test_lines_added_above_another_stay_there_when_removed_lines_return() -> None:
    one, two, three = texts("a\nb\nc\nd\n", ("b\nc\n", ""), ("d\n", "x\ny\nd\n"))
    assert brought_back(one, two, three) == "a\nb\nc\nx\ny\nd\n"


def test_lines_added_where_an_added_one_was_removed_stay_together() -> None:
    _, two, three, four = texts("a\nb\n", ("a\n", "a\nm\nn\n"), ("m\n", ""), ("a\n", "a\nx\ny\nz\n"))
    assert brought_back(two, three, four) == "a\nx\ny\nz\nm\nn\nb\n"


def test_lines_added_one_below_the_other_do_not_nest_without_end() -> None:
    text = Text.of("a\nb\n")
    last = "a\n"
    for turn in range(300):
        text = text.replace_once(last, f"{last}line {turn}.\n")
        last = f"line {turn}.\n"
    assert text.whole() == "a\n" + "".join(f"line {turn}.\n" for turn in range(300)) + "b\n"
    assert max(len(link.place) for link in text.links()) < 20


def test_a_long_block_added_at_once_does_not_nest() -> None:
    block = "".join(f"line {at}\n" for at in range(2_000))
    text = Text.of("a\nb\n").replace_once("a\n", f"a\n{block}")
    assert text.whole() == f"a\n{block}b\n"
    assert max(len(link.place) for link in text.links()) <= 2


def test_an_inserted_item_stays_beside_its_anchor_when_removed_items_return() -> None:
    one = Items.of(("a", "b", "c"))
    two = one.drop("1")
    before = two.beside(two.only("c"), "x", after=False).put(one.only("b"))
    after = two.beside(two.only("a"), "x", after=True).put(one.only("b"))
    assert before.whole() == ("a", "b", "x", "c")
    assert after.whole() == ("a", "x", "b", "c")


def test_shifted_lines_keep_their_identity() -> None:
    old = ["gone", "a", "b", "c", "d"]
    assert align(old, ["a", "b", "c", "d", "new"]).stays == ((1, 0), (2, 1), (3, 2), (4, 3))


def test_replaced_lines_are_paired_in_place_despite_a_common_blank() -> None:
    assert align(["x", "", "y", "z"], ["", "p", "q", "r"]).stays == ((0, 0), (1, 1), (2, 2), (3, 3))


def test_a_change_made_outside_a_memory_harness_is_adopted_line_by_line() -> None:
    harness = open_memory(State.read({"prompts": {"p": "a\nb\nc\n"}}))
    entries = []
    for text in ("a\nB\nc\n", "a\nB\nC\n"):
        harness.adapter.edit(State.read({"prompts": {"p": text}}))
        adopted = harness.adopt()
        assert adopted is not None
        assert [change.slot[-1] for change in adopted.changes] == ["\x1f1" if text[4] == "c" else "\x1f2"]
        entries.append(adopted.entry)
    assert isinstance(harness.undo(entries[0]), Undone)
    assert harness.state.write() == {"prompts": {"p": "a\nb\nC\n"}}


def test_undoing_the_second_of_three_edits_keeps_lines_added_beside_it() -> None:
    harness = open_memory(State.read({"prompts": {"p": "a\nb\nc\n"}}))
    entries = []
    for old, new in (("a\n", "a\nx\n"), ("b\n", ""), ("x\n", "x\ny\n")):
        op = {"op_type": "edit_prompt", "target": "p", "value": {"old": old, "new": new}}
        entries.append(harness.apply(invert_mutation(read_program([op], Stage.FORWARD, "test"))).entry)
    assert isinstance(harness.undo(entries[1]), Undone)
    assert harness.state.write() == {"prompts": {"p": "a\nx\ny\nb\nc\n"}}
