"""An entry may take in what was there before and was not known: it counts as there from the start, for good."""

import random
from pathlib import Path

import pytest

from takeback.harness.ledger import Ledger
from takeback.harness.records import draft_change
from takeback.journal import open_journal
from takeback.state import ABSENT, State
from takeback.state.file import File
from takeback.state.part_slots import transfer_identities
from takeback.state.slots import get_slot, put_slots
from takeback.state.surfaces.files import PROJECT, install_project_surface
from takeback.undo import Plan, plan_toggle
from takeback.undo.record import list_writes_between


@pytest.fixture(autouse=True, scope="module")
def _project_surface(_known_surfaces):
    install_project_surface()


@pytest.fixture(params=["memory", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    return ":memory:" if request.param == "memory" else tmp_path / "journal.db"


def begin(place: str | Path) -> Ledger:
    ledger = Ledger(open_journal(place, create=True))
    ledger.begin(State(), {"identity": "test"})
    return ledger


def record(ledger: Ledger, changes: dict[str, tuple[str | None, str | None]]) -> int:
    known = ledger.state
    slots = {path: (PROJECT, *path.split("/")) for path in changes}
    fresh = [
        (slots[path], File(before.encode()))
        for path, (before, _) in changes.items()
        if before is not None and get_slot(known, slots[path]) is ABSENT
    ]
    there = put_slots(known, fresh)
    taken_in = list_writes_between(known, there)
    after = there
    for path, (_, new) in changes.items():
        old = get_slot(after, slots[path])
        content = ABSENT if new is None else transfer_identities(File(new.encode()), old)
        after = put_slots(after, [(slots[path], content)])
    number = ledger.next_entry
    writes = ledger.history.with_parents(list_writes_between(there, after), taken_in, number)
    draft = draft_change("adopt", writes, {"note": "test"}, packer=ledger.packer, taken_in=taken_in)
    ledger.record(draft, writes, taken_in)
    return number


def read(state: State) -> dict[str, str]:
    from takeback.state import tree

    leaves = tree.iter_leaves(state.part(PROJECT))
    return {"/".join(path): leaf.content.decode() for path, leaf in leaves if isinstance(leaf, File)}


def undo(ledger: Ledger, *entries: int) -> dict[str, str]:
    plan = plan_toggle(ledger.history, ledger.state, entries, ())
    assert isinstance(plan, Plan), plan
    return read(plan.state)


def test_undoing_the_first_edit_restores_the_content_before_tracking(place: str | Path) -> None:
    ledger = begin(place)
    entry = record(ledger, {"src/a.py": ("one\ntwo\n", "one\n2\n")})
    assert undo(ledger, entry) == {"src/a.py": "one\ntwo\n"}


def test_a_file_added_later_to_a_known_folder_is_visible(place: str | Path) -> None:
    ledger = begin(place)
    first = record(ledger, {"src/a.py": ("a\n", "A\n")})
    second = record(ledger, {"src/b.py": ("b\nc\n", "B\nc\n")})
    assert undo(ledger, second) == {"src/a.py": "A\n", "src/b.py": "b\nc\n"}
    assert undo(ledger, first) == {"src/a.py": "a\n", "src/b.py": "B\nc\n"}
    assert undo(ledger, first, second) == {"src/a.py": "a\n", "src/b.py": "b\nc\n"}


def test_a_removed_folder_is_restored_with_every_file(place: str | Path) -> None:
    ledger = begin(place)
    entry = record(ledger, {"d/a": ("a\n", None), "d/e/b": ("b\n", None)})
    assert read(ledger.state) == {}
    assert undo(ledger, entry) == {"d/a": "a\n", "d/e/b": "b\n"}


def test_first_contents_survive_reopening_from_a_checkpoint(tmp_path: Path) -> None:
    ledger = begin(tmp_path / "journal.db")
    first = record(ledger, {"src/a.py": ("a\nb\nc\n", "A\nb\nc\n")})
    record(ledger, {"src/a.py": (None, "A\nb\nC\n")})
    ledger.checkpoint()
    ledger.store.close()
    again = Ledger(open_journal(tmp_path / "journal.db"))
    assert read(again.state) == {"src/a.py": "A\nb\nC\n"}
    assert undo(again, first) == {"src/a.py": "a\nb\nC\n"}


@pytest.mark.parametrize("seed", range(12))
def test_single_line_edits_of_files_are_taken_back_in_any_order(place: str | Path, seed: int) -> None:
    rng = random.Random(seed)
    ledger = begin(place)
    names = ["a", "d/b", "d/c", "d/e/f"]
    start = {name: [f"{name} {at}" for at in range(8)] for name in names}
    now = {name: list(lines) for name, lines in start.items()}
    done: list[tuple[int, str, int, str]] = []
    places = rng.sample([(name, at) for name in names for at in range(8)], 12)
    for turn, (name, at) in enumerate(places):
        before = "\n".join(now[name]) + "\n"
        now[name][at] = f"edit {turn}"
        done.append((record(ledger, {name: (before, "\n".join(now[name]) + "\n")}), name, at, f"{name} {at}"))
    gone = rng.sample(done, 5)
    for _, name, at, old in gone:
        now[name][at] = old
    touched = {name for _, name, _, _ in done}
    wanted = {name: "\n".join(now[name]) + "\n" for name in touched}
    assert undo(ledger, *(number for number, *_ in gone)) == wanted
    everything = undo(ledger, *(number for number, *_ in done))
    assert everything == {name: "\n".join(start[name]) + "\n" for name in touched}
