"""Files that move keep their identity: what is recorded of them, and how it is taken back."""

from __future__ import annotations

import pytest
from tests.support.changes import mutation
from tests.support.moving_files import Project

from takeback.errors import HarnessError
from takeback.state import State
from takeback.state.file import LINK_MODE, File
from takeback.state.file_paths import find_moved, find_slot, list_paths
from takeback.track.identity import FileVersion, take_changes
from takeback.undo.record import run_and_record

TEXT = "".join(f"line {n}\n" for n in range(8))
BINARY = bytes(range(256))


def edit(text: str, line: int, word: str) -> str:
    lines = text.splitlines(keepends=True)
    lines[line] = f"{word}\n"
    return "".join(lines)


def test_a_move_and_edits_around_it_are_undone_each_alone():
    one, both = edit(TEXT, 1, "first"), edit(edit(TEXT, 1, "first"), 6, "second")
    for alone, left in ((1, {"b/new": edit(TEXT, 6, "second")}), (2, {"a/old": both}), (3, {"b/new": one})):
        project = Project({"a/old": TEXT, "other": "x\n"})
        project.change({"a/old": one})
        project.move("a/old", "b/new")
        project.change({"b/new": both})
        project.undo(alone)
        assert project.tree == {**left, "other": "x\n"}
        project.redo(alone)
        assert project.tree == {"b/new": both, "other": "x\n"}


def test_a_file_moved_and_edited_in_one_change_is_the_same_file():
    project = Project({"old": TEXT})
    project.change({"old": None, "new": edit(TEXT, 2, "changed")})
    assert project.taken.moved == (("old", "new"),)
    project.change({"new": edit(edit(TEXT, 2, "changed"), 5, "later")})
    project.undo(1)
    assert project.tree == {"old": edit(TEXT, 5, "later")}


@pytest.mark.parametrize(
    ("before", "after"), [(BINARY, BINARY), (TEXT, TEXT), ("", ""), (("target", LINK_MODE), ("target", LINK_MODE))]
)
def test_a_move_writes_only_the_path_of_a_file(before, after):
    project = Project({"a/x": before})
    project.change({"a/x": None, "b/x": after})
    assert project.titles(1) == ['files["a/x"] path']
    assert find_slot(project.state, "b/x") == ("files", "a", "x")
    assert find_slot(project.state, "a/x") is None


def test_a_mode_change_of_a_binary_file_stores_no_content():
    project = Project({"run": BINARY})
    project.change({"run": (BINARY, 0o755)})
    project.change({"run": (BINARY[::-1], 0o755)})
    project.move("run", "bin")
    project.undo(1)
    assert project.tree == {"bin": BINARY[::-1]}
    project.undo(2)
    assert project.tree == {"bin": BINARY}
    project.undo(3)
    assert project.tree == {"run": BINARY}


@pytest.mark.parametrize("content", [BINARY, "quite\nanother\n"])
def test_a_content_replaced_as_a_whole_and_a_move_do_not_depend_on_each_other(content):
    for order in ((1, 2), (2, 1)):
        project = Project({"a": "one\ntwo\n"})
        project.change({"a": content})
        project.move("a", "b")
        later = project.change({"b": b"\xff"})
        project.undo(order[0])
        project.undo(order[1])
        assert list(project.tree) == ["a"]
        project.undo(later)
        assert project.tree == {"a": "one\ntwo\n"}


def test_a_file_replaced_by_a_link_is_a_new_object():
    project = Project({"a": "one\n", "b": "two\n"})
    project.change({"a": ("b", LINK_MODE)})
    project.move("a", "c")
    assert project.blocked(1)[0] == (2,)
    project.cascade(1)
    assert project.tree == {"a": "one\n", "b": "two\n"}


def test_undoing_a_creation_is_blocked_by_the_move_that_came_after_it():
    project = Project({})
    project.change({"a": TEXT})
    project.move("a", "b")
    assert project.blocked(1) == ((2,), 'it moves the files["b"] that #1 put there')
    project.cascade(1)
    assert project.tree == {}


def test_undoing_a_move_is_blocked_by_the_file_that_took_its_path():
    project = Project({"a": TEXT})
    project.move("a", "b")
    project.change({"a": "quite another\n"})
    assert find_slot(project.state, "a") != ("files", "a")
    assert project.titles(2) == ['files["a"]']
    assert project.blocked(1) == ((2,), "it puts a file at 'a', where another one would stand")
    project.undo(2)
    project.undo(1)
    assert project.tree == {"a": TEXT}


def test_a_path_that_is_free_again_at_the_end_blocks_nothing():
    project = Project({"a": TEXT})
    project.move("a", "b")
    project.change({"a": "quite another\n"})
    project.change({"a": None, "c": "quite another\n"})
    project.undo(1)
    assert project.tree == {"a": TEXT, "c": "quite another\n"}


def test_undoing_a_removal_is_blocked_by_the_file_that_moved_there():
    project = Project({"a": TEXT, "z": "other\n"})
    project.change({"a": None})
    project.move("z", "a")
    assert project.blocked(1)[0] == (2,)
    project.cascade(1)
    assert project.tree == {"a": TEXT, "z": "other\n"}


def test_a_path_that_became_a_folder_blocks_by_name_both_ways():
    project = Project({"a": TEXT})
    project.move("a", "b")
    project.change({"a/x": "inside\n"})
    assert project.blocked(1) == (
        (2,),
        "it puts a file at 'a/x', and 'a' would be both a file and the folder of 'a/x'",
    )
    project = Project({"a/x": TEXT})
    project.move("a/x", "b")
    project.change({"a": "a file\n"})
    assert project.blocked(1) == ((2,), "it puts a file at 'a', and 'a' would be both a file and the folder of 'a/x'")
    project.cascade(1)
    assert project.tree == {"a/x": TEXT}


def test_files_that_change_places_are_taken_back_together_and_their_edits_alone():
    other = "".join(f"other {n}\n" for n in range(8))
    project = Project({"a": TEXT, "b": other})
    project.change({"a": edit(TEXT, 0, "edited")})
    project.change({"a": other, "b": edit(TEXT, 0, "edited")})
    assert project.taken.moved == (("a", "b"), ("b", "a"))
    project.undo(1)
    assert project.tree == {"a": other, "b": TEXT}
    project.undo(2)
    assert project.tree == {"a": TEXT, "b": other}


@pytest.mark.parametrize("new", ["new\n", ""])
def test_a_moved_file_keeps_its_identity_when_a_new_file_takes_its_path(new):
    project = Project({"a": TEXT})
    project.change({"a": edit(TEXT, 0, "edited")})
    project.change({"a": new, "b": edit(TEXT, 0, "edited")})
    assert project.taken.moved == (("a", "b"),)
    project.undo(1)
    assert project.tree == {"a": new, "b": TEXT}
    project.undo(2)
    assert project.tree == {"a": TEXT}


def test_a_chain_of_moves_whose_first_path_a_new_file_took_is_followed():
    other = "".join(f"other {n}\n" for n in range(8))
    project = Project({"a": TEXT, "b": other})
    project.change({"a": "new\n", "b": TEXT, "c": other})
    assert project.taken.moved == (("a", "b"), ("b", "c"))
    project.undo(1)
    assert project.tree == {"a": TEXT, "b": other}


@pytest.mark.parametrize(("old", "new"), [(TEXT, edit(TEXT, 0, "edited")), (b"\0one", b"\0two")])
def test_a_copy_beside_an_edited_or_binary_file_is_not_a_move(old, new):
    project = Project({"a": old})
    project.change({"a": new, "a.bak": old})
    assert project.taken.moved == ()


def test_undoing_one_of_several_removals_restores_only_its_own_file():
    project = Project({"d/x": "x\n", "d/y": "y\n", "e": "e\n"})
    project.change({"d/x": None})
    project.change({"d/y": None})
    project.undo(1)
    assert project.tree == {"d/x": "x\n", "e": "e\n"}


def test_files_of_a_folder_that_came_at_once_are_written_one_by_one():
    project = Project({"e": "e\n"})
    project.change({"d/x": "x\n", "d/deep/y": "y\n"})
    assert project.titles(1) == ['files["d/deep/y"]', 'files["d/x"]']
    project.undo(1)
    assert project.tree == {"e": "e\n"}
    assert list(project.state.part("files")) == ["e"]


def test_moved_equal_files_are_matched_by_name_and_then_by_folder():
    project = Project({"src/a/x": TEXT, "src/b/x": TEXT, "k": "k\n"})
    project.change({"src/a/x": None, "src/b/x": None, "lib/a/x": TEXT, "lib/b/x": TEXT})
    assert project.taken.moved == (("src/a/x", "lib/a/x"), ("src/b/x", "lib/b/x"))
    project = Project({"a": TEXT})
    project.change({"a": None, "b": TEXT, "c": TEXT})
    assert (project.taken.moved, project.taken.ambiguous) == ((), (("a", ("b", "c")),))
    project.undo(1)
    assert project.tree == {"a": TEXT}


def test_of_a_moved_and_copied_file_the_one_with_its_name_is_matched():
    project = Project({"a/x": TEXT, "b/x": "other\n" + TEXT})
    project.change({"a/x": None, "c/x": TEXT, "c/y": TEXT})
    assert project.taken.moved == (("a/x", "c/x"),)
    assert project.taken.ambiguous == (("a/x", ("c/x", "c/y")),)
    project = Project({"a/x": TEXT, "b/y": TEXT})
    project.change({"a/x": None, "b/y": None, "c/x": TEXT})
    assert (project.taken.moved, project.taken.ambiguous) == ((("a/x", "c/x"),), (("b/y", ("c/x",)),))


@pytest.mark.parametrize("stored", [False, True])
def test_moved_files_with_unusual_names_behave_like_others(stored):
    names = ["\x1fframe", "d/\x1f0", "new\nline", "\udcff.txt", "\x1f@0/x", "at"]
    project = Project({name: f"{at}\n" + TEXT for at, name in enumerate(names)}, stored=stored)
    first = project.tree
    assert sorted(first) == sorted(names)
    for name in names:
        project.move(name, f"moved/{name}")
        project.change({name: "again\n"})
    assert len(project.tree) == 2 * len(names)
    assert not any("\0" in title for entry in range(1, project.entries + 1) for title in project.titles(entry))
    for entry in range(project.entries, 0, -1):
        project.undo(entry)
    assert project.tree == first


def test_a_change_made_where_the_state_has_something_else_is_refused():
    state = take_changes(State(), [FileVersion("a", None, File(b"a"))]).state
    for version in (FileVersion("a", None, File(b"b")), FileVersion("b", File(b"a"), None)):
        with pytest.raises(HarnessError):
            take_changes(state, [version])


def test_paths_of_moved_files_are_known_for_any_past_state():
    project = Project({f"d{n}/x": f"{n}\n{TEXT}" for n in range(30)})
    values = [project.state]
    for n in range(30):
        project.move(f"d{n}/x", f"e{n}/x")
        values.append(project.state)
    for n in (30, 0, 17, 3, 30, 1):
        assert sorted(find_moved(values[n].part("files"))) == sorted(f"e{at}/x" for at in range(n))
        assert sorted(list_paths(values[n])) == sorted(f"{'e' if at < n else 'd'}{at}/x" for at in range(30))


def test_paths_are_known_where_a_file_replaced_a_folder():
    project = Project({"k": "k\n"})
    project.change({"d/x": TEXT})
    project.move("d/x", "e")
    project.undo(1, 2)
    other = project.state
    project.redo(1, 2)
    alone = Project({"d": "a file\n"}).state
    for state, there in ((project.state, ["e"]), (alone, []), (project.state, ["e"]), (other, []), (alone, [])):
        assert list(find_moved(state.part("files"))) == there


def test_long_files_are_recorded_whole_and_reported():
    long = "".join(f"{n}\n" for n in range(20_001))
    project = Project({"a": long})
    project.change({"a": long + "more\n"})
    assert project.taken.coarse == ("a",)
    assert project.titles(1) == ['files["a"]']
    project.move("a", "b")
    project.undo(1)
    assert project.tree == {"b": long}


@pytest.mark.parametrize(
    ("op", "said"),
    [
        ({"op_type": "write_file", "target": "a/x", "value": "v"}, "first seen as 'a/x' was moved to 'b/y'"),
        (
            {"op_type": "edit_file", "target": "b/y", "value": {"old": "1", "new": "2"}},
            "'b/y' is the file first seen",
        ),
        ({"op_type": "write_file", "target": "b", "value": "v"}, "'b/y' is the file first seen as 'a/x'"),
        ({"op_type": "write_file", "target": "b/y/z", "value": "v"}, "'b/y' is the file first seen as 'a/x'"),
        ({"op_type": "move_file", "target": "c", "value": "b/y"}, "'b/y' is the file first seen as 'a/x'"),
    ],
)
def test_an_operation_writes_over_neither_end_of_a_move(op, said):
    project = Project({"a/x": TEXT, "c": "c\n"})
    project.move("a/x", "b/y")
    done = run_and_record(mutation(op), project.state)
    assert not done.receipt.succeeded
    assert said in done.receipt.reason
    assert done.state is project.state
    assert run_and_record(
        mutation({**op, "op_type": "write_file", "target": "d", "value": "v"}), project.state
    ).writes
