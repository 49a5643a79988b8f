"""What a file becomes when entries are taken back or brought back, from the images that the journal holds of it."""

from __future__ import annotations

import pytest

from takeback.harness.file_history import (
    FARTHEST,
    find_formatting_drift,
    find_last_image,
    is_made_by_entry,
    list_changed_files,
    restore_bytes,
    restore_bytes_by_history,
)
from takeback.harness.images import UNKNOWN, DirectoryImage, FileChange, FileImage, KeptImage, attach_images
from takeback.harness.ledger import Ledger
from takeback.harness.records import draft_change, draft_toggle
from takeback.journal.memory import MemoryStore
from takeback.state import State

FILE = "notes.md"
ONE, TWO, THREE = (FileImage(f"top\n{word}\nend\n".encode()) for word in ("one", "two", "three"))
MADE = FileImage(b"as the adapter would write it\n")
DIRECTORY = DirectoryImage()


class Reader:
    """An adapter to which some images of the file say what is wanted."""

    def __init__(self, *wanted):
        self.wanted = wanted

    def means(self, path, image, state):
        assert image is not UNKNOWN
        return path == FILE and image in self.wanted


@pytest.fixture
def ledger():
    begun = Ledger(MemoryStore())
    begun.begin(State(), {})
    return begun


def changed(ledger, before, after, path=FILE, kind="apply"):
    """Record an entry that changed a file, and give its number."""
    draft = attach_images(draft_change(kind, (), {}), [KeptImage(path, before, after)])
    return ledger.record(draft, ()).entry


def toggled(ledger, before, after, *, off=(), on=()):
    draft = attach_images(draft_toggle("undo", off, on, (), {}), [KeptImage(FILE, before, after)])
    return ledger.record(draft, ()).entry


def given_up(ledger, before, after):
    ledger.announce(attach_images(draft_change("apply", (), {}), [KeptImage(FILE, before, after)]))
    ledger.abort("no room")


def becomes(ledger, before, *wanted, off=(), on=(), made=MADE, way=restore_bytes):
    """What the file becomes; `wanted` are the images that say what is wanted, `made` what it would be otherwise."""
    change = FileChange(FILE, before, made)
    found = way(Reader(*wanted), ledger, change, State(), off, on)
    assert (found.path, found.before) == (FILE, before)
    return found.after


BOTH = pytest.mark.parametrize("way", [restore_bytes, restore_bytes_by_history])


@BOTH
def test_an_unchanged_file_is_restored_to_its_recorded_bytes(ledger, way):
    entry = changed(ledger, ONE, TWO)
    assert becomes(ledger, TWO, ONE, off=[entry], way=way) == ONE
    toggled(ledger, TWO, ONE, off=[entry])
    assert becomes(ledger, ONE, TWO, on=[entry], way=way) == TWO


@BOTH
def test_a_file_without_a_matching_image_is_rebuilt(ledger, way):
    entry = changed(ledger, ONE, TWO)
    assert becomes(ledger, TWO, off=[entry], way=way) == MADE


@BOTH
def test_a_change_is_merged_out_of_later_edits(ledger, way):
    entry = changed(ledger, ONE, TWO)
    edited, wanted = (FileImage(one.content + b"more\n", 0o600) for one in (TWO, ONE))
    assert becomes(ledger, edited, wanted, off=[entry], way=way) == wanted


@BOTH
def test_a_file_that_is_gone_already_is_not_made_again(ledger, way):
    entry = changed(ledger, None, ONE)
    assert becomes(ledger, None, None, off=[entry], way=way) is None


@BOTH
def test_a_created_path_is_removed_whatever_it_has_become(ledger, way):
    entry = changed(ledger, None, DIRECTORY)
    assert becomes(ledger, ONE, None, off=[entry], way=way) is None


@BOTH
def test_a_removed_file_is_restored_with_its_permission_bits(ledger, way):
    secret = FileImage(ONE.content, 0o600)
    entry = changed(ledger, secret, None)
    assert becomes(ledger, None, secret, off=[entry], way=way) == secret


@BOTH
def test_undoing_a_mode_change_restores_the_permission_bits(ledger, way):
    entry = changed(ledger, ONE, FileImage(TWO.content, 0o755))
    assert becomes(ledger, FileImage(TWO.content, 0o755), ONE, off=[entry], way=way) == ONE


@BOTH
def test_permission_bits_changed_since_stay(ledger, way):
    entry = changed(ledger, ONE, TWO)
    mine = FileImage(ONE.content, 0o600)
    assert becomes(ledger, FileImage(TWO.content, 0o600), mine, ONE, off=[entry], way=way) == mine


def more(image):
    """The same file with a line that someone added."""
    return FileImage(image.content + b"more\n", image.mode)


@BOTH
def test_several_entries_are_undone_in_reverse_and_redone_in_order(ledger, way):
    entries = changed(ledger, ONE, TWO), changed(ledger, TWO, THREE)
    assert becomes(ledger, THREE, ONE, off=entries, way=way) == ONE
    assert becomes(ledger, more(THREE), more(ONE), off=entries, way=way) == more(ONE)
    toggled(ledger, THREE, ONE, off=entries)
    assert becomes(ledger, more(ONE), more(THREE), on=entries, way=way) == more(THREE)


@BOTH
def test_undoing_an_adopted_file_removes_it(ledger, way):
    entry = changed(ledger, None, ONE, kind="adopt")
    assert becomes(ledger, ONE, None, off=[entry], way=way) is None


@BOTH
def test_an_unknown_earlier_image_is_not_guessed(ledger, way):
    entry = changed(ledger, UNKNOWN, TWO)
    assert becomes(ledger, TWO, ONE, TWO, off=[entry], way=way) == MADE


@BOTH
def test_a_file_is_restored_from_older_images_without_its_own_entry(ledger, way):
    """One entry changed another file; what is wanted of this one stands further back."""
    changed(ledger, ONE, TWO)
    changed(ledger, TWO, THREE)
    other = changed(ledger, ONE, TWO, path="other.md")
    assert becomes(ledger, THREE, ONE, off=[other], way=way) == ONE


@BOTH
def test_restoring_from_images_stops_at_a_foreign_edit(ledger, way):
    changed(ledger, ONE, THREE)
    changed(ledger, TWO, TWO)
    changed(ledger, THREE, MADE)
    assert becomes(ledger, MADE, ONE, made=TWO, way=way) == TWO


@BOTH
def test_restoring_from_images_stops_at_an_adopted_edit(ledger, way):
    changed(ledger, ONE, TWO)
    changed(ledger, TWO, FileImage(TWO.content, 0o600), kind="adopt")
    assert becomes(ledger, FileImage(TWO.content, 0o600), ONE, way=way) == MADE


@BOTH
def test_restoring_from_images_skips_an_aborted_change(ledger, way):
    changed(ledger, ONE, TWO)
    given_up(ledger, TWO, THREE)
    assert becomes(ledger, TWO, ONE, way=way) == ONE


@BOTH
def test_a_directory_is_replaced_only_if_its_image_agrees(ledger, way):
    changed(ledger, ONE, TWO)
    assert becomes(ledger, TWO, ONE, made=DIRECTORY, way=way) == DIRECTORY


@BOTH
def test_a_file_replaced_by_a_directory_is_not_restored_by_it(ledger, way):
    entry = changed(ledger, DIRECTORY, ONE)
    assert becomes(ledger, ONE, DIRECTORY, off=[entry], made=None, way=way) is None
    assert becomes(ledger, ONE, DIRECTORY, off=[entry], way=way) == DIRECTORY


def test_the_bytes_match_those_when_the_same_entries_were_live(ledger):
    """Taking back the second of three as it stands would give other bytes than the file had without it."""
    first = changed(ledger, None, ONE)
    second = changed(ledger, ONE, TWO)
    toggled(ledger, TWO, THREE, off=[second])
    toggled(ledger, THREE, TWO, on=[second])
    assert becomes(ledger, TWO, ONE, THREE, off=[second], way=restore_bytes_by_history) == THREE
    assert becomes(ledger, TWO, ONE, off=[second], way=restore_bytes_by_history) == ONE
    assert becomes(ledger, TWO, ONE, None, off=[first, second], way=restore_bytes_by_history) is None


def test_the_mode_is_that_of_the_last_live_entry_that_set_it(ledger):
    changed(ledger, None, ONE)
    shut = changed(ledger, ONE, FileImage(ONE.content, 0o600))
    last = changed(ledger, FileImage(ONE.content, 0o600), FileImage(TWO.content, 0o600))
    both = FileImage(TWO.content, 0o600), TWO
    assert becomes(ledger, both[0], *both, off=[shut], way=restore_bytes_by_history) == TWO
    assert becomes(ledger, both[0], both[0], off=[shut], way=restore_bytes_by_history) == MADE
    assert (
        becomes(ledger, both[0], FileImage(ONE.content, 0o600), off=[last], way=restore_bytes_by_history).mode
        == 0o600
    )


def test_undoing_an_earlier_mode_change_keeps_the_later_mode(ledger):
    shut, open_to_all = FileImage(ONE.content, 0o600), FileImage(ONE.content, 0o755)
    first = changed(ledger, ONE, shut)
    changed(ledger, shut, open_to_all)
    assert becomes(ledger, open_to_all, ONE, open_to_all, off=[first], way=restore_bytes_by_history) == open_to_all


def test_an_unmergeable_change_is_rebuilt_from_the_remaining_entries(ledger):
    """Nobody knows what the second met; the file without it follows from the first and the third."""
    changed(ledger, None, ONE)
    second = changed(ledger, UNKNOWN, TWO)
    changed(ledger, TWO, more(TWO))
    assert becomes(ledger, more(TWO), more(ONE), off=[second], way=restore_bytes_by_history) == more(ONE)


def test_a_missing_file_is_rebuilt_from_a_new_combination_of_entries(ledger):
    first = changed(ledger, None, ONE)
    second = changed(ledger, ONE, TWO)
    third = changed(ledger, TWO, more(TWO))
    toggled(ledger, more(TWO), None, off=[first, second, third])
    assert becomes(ledger, None, more(ONE), on=[first, third], way=restore_bytes_by_history) == more(ONE)


def test_a_file_with_too_many_records_is_undone_step_by_step(ledger):
    entry = changed(ledger, ONE, TWO)
    for _ in range(FARTHEST):
        changed(ledger, TWO, TWO)
    assert becomes(ledger, TWO, ONE, off=[entry], way=restore_bytes_by_history) == ONE


def test_a_missing_file_is_rebuilt_from_its_history_first(ledger):
    """What the other entries made of it comes before what one step makes of nothing."""
    first = changed(ledger, None, ONE)
    second = changed(ledger, ONE, more(ONE))
    toggled(ledger, more(ONE), None, off=[first, second])
    assert becomes(ledger, None, ONE, more(ONE), on=[first, second], way=restore_bytes_by_history) == more(ONE)


def test_the_newest_matching_image_is_chosen(ledger):
    changed(ledger, ONE, TWO)
    changed(ledger, UNKNOWN, THREE)
    given_up(ledger, THREE, MADE)
    assert find_last_image(Reader(ONE, TWO, MADE), ledger, FILE, State()) == TWO
    assert find_last_image(Reader(ONE), ledger, FILE, State()) == ONE
    assert find_last_image(Reader(MADE), ledger, FILE, State()) is UNKNOWN
    assert find_last_image(Reader(ONE), ledger, "other.md", State()) is UNKNOWN


def test_files_that_differ_from_their_last_record_are_listed(ledger):
    changed(ledger, ONE, TWO)
    given_up(ledger, TWO, THREE)
    changed(ledger, None, DIRECTORY, path="dir")
    paths = [(FILE, TWO), (FILE, FileImage(TWO.content, 0o600)), ("dir", ONE), ("new.md", ONE)]
    chmodded = KeptImage(FILE, TWO, FileImage(TWO.content, 0o600))
    assert find_formatting_drift(ledger, paths) == [chmodded, KeptImage("new.md", None, ONE)]
    assert find_formatting_drift(ledger, [("never.md", None), (FILE, None)]) == [KeptImage(FILE, TWO, None)]


def test_files_of_entries_are_listed_once_newest_first(ledger):
    images = [KeptImage("a", None, ONE), KeptImage("b", None, ONE)]
    first = ledger.record(attach_images(draft_change("apply", (), {}), images), ()).entry
    second = changed(ledger, ONE, TWO, path="a")
    assert list_changed_files(ledger, [first, second]) == ["a", "b"]
    assert list_changed_files(ledger, [first]) == ["b", "a"]


def test_directories_made_by_entries_are_distinguished(ledger):
    changed(ledger, None, DIRECTORY, path="made")
    changed(ledger, ONE, DIRECTORY, path="there")
    changed(ledger, None, ONE, path="file")
    assert [is_made_by_entry(ledger, path) for path in ("made", "there", "file", "never")] == [
        True,
        False,
        False,
        False,
    ]
