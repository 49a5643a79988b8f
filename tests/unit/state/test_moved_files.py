"""A file that was moved, in every form a state has: JSON, canonical form, packed, pickled, forgotten, shown."""

from __future__ import annotations

import copy

import pytest
from tests.support.moving_files import Project

from takeback.harness.ledger import Ledger
from takeback.harness.records import draft_change
from takeback.journal import open_journal
from takeback.present.changes import find_differences
from takeback.present.plans import describe_kept, list_kept_json, make_headline
from takeback.state import SURFACES, State, diff
from takeback.state.file import LINK_MODE, File
from takeback.state.file_paths import find_slot
from takeback.state.forgotten import Forgotten
from takeback.state.slots import dump_state
from takeback.undo import History, Index, Write, plan_undo
from takeback.undo.clashes import find_standing
from takeback.undo.history import View
from takeback.undo.record import list_writes_between

FILES = SURFACES["files"]
TEXT = "".join(f"line {n}\n" for n in range(9))
ODD = "d/\x1fodd \udcff\n"


@pytest.fixture
def project():
    project = Project({"a": TEXT, "b": bytes(range(256)), "l": ("a", LINK_MODE), "gone": "gone\n"})
    project.change({"a": TEXT.replace("line 3", "edited")})
    project.move("a", ODD)
    project.change({"a": "new\n"})
    project.move("b", "c/b")
    project.move("l", "c/l")
    return project


def test_a_dumped_state_loads_with_every_path_and_line(project):
    files = project.state.part("files")
    again = FILES.load(FILES.dump(files))
    assert again == files
    assert not list(FILES.differing(files, again))
    assert find_slot(State.of({**project.state.parts, "files": again}), ODD) == ("files", "a")
    assert "\0" not in str(FILES.write(files))
    assert sorted(FILES.write(files)) == sorted(FILES.canonical(files)) == sorted(project.tree)
    assert copy.copy(File(b"x", 0o755, "y")) == File(b"x", 0o755, "y") != File(b"x", 0o755)
    assert dump_state(project.state)


def test_equal_trees_are_equal_whichever_file_moved(project):
    fresh = Project({path: content for path, content in project.tree.items() if isinstance(content, str | tuple)})
    fresh.change({"c/b": bytes(range(256))})
    assert FILES.canonical(fresh.state.part("files")) == FILES.canonical(project.state.part("files"))
    assert next(diff(fresh.state, project.state), None) is not None, "which file is which differs"


def test_a_reopened_journal_knows_the_paths_of_moved_files(project, tmp_path):
    place = str(tmp_path / "journal.db")
    ledger = Ledger(open_journal(place))
    ledger.begin(project.base, {})
    writes = ledger.history.with_parents(list_writes_between(project.base, project.state))
    number = ledger.record(draft_change("adopt", writes, {}, packer=ledger.packer), writes).entry
    ledger.checkpoint()
    again = Ledger(open_journal(place))
    assert again.state == project.state
    assert find_slot(again.state, ODD) == ("files", "a")
    assert again.replay_state() == project.state
    plan = plan_undo(again.history, again.state, (number,))
    assert plan.state == project.base


def test_the_path_of_a_forgotten_moved_file_is_known():
    history = History(State, Index())
    history.add(1, (Write(("files", "a"), None, Forgotten(frame=(0o644, "b/c"))),))
    assert find_standing(history, ("files", "a"), View(set())) == (("files", "a"), "b/c", (1, 0))
    assert [version.entry for version in history.index.list_claims("files", "b/")] == [1]


def test_plans_and_diffs_name_a_moved_file_by_its_current_path(project):
    later = project.move(ODD, "e")
    plan = project.plan(2)
    assert make_headline(plan, done=False) == f"nothing visible would change: #{later} moved this path later"
    assert list(describe_kept(plan, done=False)) == [f'kept: files["e"] path, which #{later} moved later']
    assert list_kept_json(plan, done=True) == [{"slot": 'files["e"]', "part": "path", "entry": later}]
    undone = project.plan(later)
    (found,) = find_differences(undone.changes, lambda: project.state)
    assert found.notes == ("moved from e to d/\\x1fodd \\udcff\\n",)
    assert found.hunks == ()
