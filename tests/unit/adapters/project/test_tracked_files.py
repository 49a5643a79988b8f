"""Every tool call in a tracked project is an entry of its own, and each is taken back alone."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.tracked_project import ENVIRONMENT, TrackedProject

from takeback.adapters.project import settle
from takeback.errors import InputError
from takeback.harness.outcomes import Undone
from takeback.journal import contents_table
from takeback.present.entries import summarize_entry
from takeback.track import git
from takeback.track.call import Call
from takeback.track.capture import capture_after, capture_before
from takeback.undo import Blocked

LINES = "".join(f"line {number}\n" for number in range(12))
FILES = {
    "CLAUDE.md": "# notes\n",
    "src/a.py": LINES,
    "src/b.py": "b one\nb two\nb three\n",
    "docs/1.md": "one\n",
    "docs/deep/2.md": "two\n",
    "logo.png": b"\x89PNG\x00\xff\xfe",
}


@pytest.fixture
def project(tmp_path: Path) -> TrackedProject:
    return TrackedProject(tmp_path / "project", FILES)


def undo(project: TrackedProject, *names: str | int) -> Undone:
    with project.open() as harness:
        done = harness.undo(*(str(name) for name in names))
        assert isinstance(done, Undone), done
        return done


def test_a_call_is_an_entry_with_its_prompt_command_and_size(project: TrackedProject) -> None:
    project.prompt("make the tests pass")
    project.shell("sed -i 's/line 3$/LINE 3/' src/a.py && echo new > src/c.py")
    (entry,) = project.log()
    assert entry.origin["prompt"] == "make the tests pass"
    assert entry.origin["command"].startswith("sed -i")
    assert summarize_entry(entry, str).startswith('"make the tests pass" · Bash: sed -i')
    assert entry.stat == {"files": 2, "added": 2, "removed": 1}
    assert entry.files == ("src/a.py", "src/c.py")
    assert set(entry.addresses) == {'files["src/a.py"]', 'files["src/c.py"]'}
    assert entry.by.startswith("claude-code (declared), session session-")


def test_each_of_several_calls_is_undone_alone(project: TrackedProject) -> None:
    before = project.read()
    project.edit("src/a.py", "line 2\n", "second\n")
    project.shell("sed -i 's/line 7$/LINE 7/' src/a.py")
    project.shell("rm -r docs")
    project.shell("printf more >> src/b.py")
    after = project.read()
    undo(project, 3)
    assert project.read() == {**after, "src/a.py": after["src/a.py"].replace(b"LINE 7", b"line 7")}
    undo(project, 4)
    undo(project, 2, 5)
    assert project.read() == before


def test_edits_by_hand_are_entries_of_their_own_and_stay(project: TrackedProject) -> None:
    project.shell("sed -i 's/line 1$/LINE 1/' src/a.py")
    text = (project.root / "src/a.py").read_text()
    (project.root / "src/a.py").write_text(text.replace("line 9", "by hand 9"))
    project.shell("sed -i 's/line 4$/LINE 4/' src/a.py")
    first, hand, second = project.log()
    assert (hand.by, hand.origin.get("tool")) == ("", None)
    undo(project, first.id, second.id)
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 9", "by hand 9")


def test_a_file_that_an_undo_does_not_touch_may_change_meanwhile(project: TrackedProject) -> None:
    project.shell("sed -i 's/line 1$/LINE 1/' src/a.py")
    (project.root / "src/b.py").write_text("mine\n")
    undo(project, 2)
    assert (project.root / "src/b.py").read_text() == "mine\n"
    assert (project.root / "src/a.py").read_text() == LINES


def test_a_moved_file_keeps_its_identity(project: TrackedProject) -> None:
    before = project.read()
    project.edit("src/a.py", "line 2\n", "second\n")
    project.shell("mkdir lib && mv src/a.py lib/renamed.py")
    project.edit("lib/renamed.py", "line 8\n", "eighth\n")
    entries = project.log()
    assert entries[1].moved == (("src/a.py", "lib/renamed.py"),)
    undo(project, entries[0].id)
    assert (project.root / "lib/renamed.py").read_text() == LINES.replace("line 8\n", "eighth\n")
    undo(project, entries[1].id)
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 8\n", "eighth\n")
    assert not (project.root / "lib").exists()
    undo(project, entries[2].id)
    assert project.read() == before


def test_undo_restores_modes_links_and_binary_files(project: TrackedProject) -> None:
    before = project.read()
    project.shell("chmod 755 src/b.py && ln -s src/b.py shortcut && printf 'x\\0y' > logo.png")
    assert len(project.log()) == 1
    undo(project, 2)
    assert project.read() == before
    assert stat.S_IMODE(os.stat(project.root / "src/b.py").st_mode) == 0o644


def test_an_undo_by_part_of_an_authors_name_says_the_whole_one(project: TrackedProject) -> None:
    project.shell("sed -i 1d src/b.py")
    before = project.read()
    done = project.command("undo", "--by", "claude-code")
    assert isinstance(done.exception, InputError)
    assert (
        done.exception.hint == "an undo wants an author's whole name: --by 'claude-code (declared), session session-'"
    )
    assert project.read() == before
    assert "takes the same options" in getattr(project.command("undo", "--by", "nobody").exception, "hint", "")
    assert project.command("undo", "--by", "claude-code (declared), session session-").exit_code == 0
    assert project.read()["src/b.py"] == FILES["src/b.py"].encode()


def test_an_undo_can_be_undone(project: TrackedProject) -> None:
    project.shell("rm -r docs && sed -i 1d src/b.py")
    after = project.read()
    undo(project, 2)
    undo(project, "HEAD")
    assert project.read() == after
    assert not (project.root / "docs").exists()


def test_undo_is_blocked_where_someone_edited_a_file_the_call_created(project: TrackedProject) -> None:
    project.shell("printf 'a\\nb\\n' > src/new.py")
    (project.root / "src/new.py").write_text("a\nb\nmine\n")
    with project.open() as harness:
        outcome = harness.undo("2")
    assert isinstance(outcome, Blocked)
    assert (project.root / "src/new.py").read_text() == "a\nb\nmine\n"


def test_secret_files_are_noted_without_content(project: TrackedProject) -> None:
    project.write({".env": "TOKEN=verysecretvalue\n"})
    project.look()
    project.shell("echo OTHER=1 >> .env && sed -i 's/line 1$/LINE 1/' src/a.py")
    entry = project.log()[-1]
    assert [path for path, _ in entry.unkept] == [".env"]
    undo(project, entry.id)
    assert (project.root / ".env").read_text() == "TOKEN=verysecretvalue\nOTHER=1\n"
    assert (project.root / "src/a.py").read_text() == LINES


def test_contents_written_in_small_batches_are_restored(
    project: TrackedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents_table, "MOST_HELD", 1)
    monkeypatch.setattr(git, "AT_ONCE", 1)
    before = project.read()
    project.shell("rm -rf src docs logo.png")
    undo(project, "2")
    assert project.read() == before
    assert project.command("doctor", "--deep").exit_code == 0


def test_an_entry_of_secrets_alone_says_that_their_content_is_not_kept(project: TrackedProject) -> None:
    project.shell("echo KEY=1 > .env && echo KEY=2 > deploy.key")
    (entry,) = project.log()
    assert [path for path, _ in entry.unkept] == [".env", "deploy.key"]
    assert entry.unproved == (
        'the content of files[".env"] is not kept, nor that of 1 more, so that nothing can be taken back'
    )


def test_an_untouched_secret_is_not_in_a_calls_entry(project: TrackedProject) -> None:
    project.shell("echo KEY=1 > .env && echo x >> src/a.py")
    project.shell("echo y >> src/a.py")  # so soon after it that the secret is read again
    wrote, alone = project.log()
    assert "not kept" in summarize_entry(wrote, str)
    assert alone.files == ("src/a.py",)
    assert "not kept" not in summarize_entry(alone, str)


def test_a_row_becomes_an_entry_once_even_if_it_was_not_dropped(
    project: TrackedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    from takeback.track.store import TrackStore

    project.shell("sed -i 's/line 1$/LINE 1/' src/a.py")
    with monkeypatch.context() as broken:
        broken.setattr(TrackStore, "drop_rows", lambda self, numbers: None)
        assert len(project.log()) == 1
    assert len(project.log()) == 1


def test_a_client_keeps_its_own_files(project: TrackedProject) -> None:
    (project.root / "CLAUDE.md").write_text("# notes\nmore\n")
    project.shell("sed -i 's/line 1$/LINE 1/' src/a.py")
    with project.open() as harness:
        assert [change.slot[0] for change in harness.status().drift] == ["prompts"]
        harness.adopt("by hand")
    notes, code = [entry for entry in project.log() if "prompts" in entry.addresses[0]], project.log()[0]
    assert notes[0].addresses == ('prompts["CLAUDE.md"]',)
    undo(project, code.id)
    assert (project.root / "CLAUDE.md").read_text() == "# notes\nmore\n"


def test_recorded_calls_are_proved(project: TrackedProject) -> None:
    project.edit("src/a.py", "line 2\n", "second\n")
    project.shell("rm docs/1.md; printf new > x.txt; mv src/b.py src/c.py; chmod 755 src/a.py")
    assert [entry.grade for entry in project.log()] == ["proved", "proved"]


@pytest.mark.parametrize("seed", range(6))
def test_undoing_everything_in_any_order_restores_the_first_tree(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    project = TrackedProject(tmp_path / "project", FILES)
    before = project.read()
    for turn in range(8):
        text = (project.root / "src/a.py").read_text().splitlines(keepends=True)
        at = rng.randrange(len(text))
        match rng.randrange(4):
            case 0:
                text[at] = f"edit {turn}\n"
                project.write({"src/a.py": "".join(text)})
                project.look()
            case 1:
                project.shell(f"echo {turn} > new{turn}.txt")
            case 2:
                project.write({"src/a.py": "".join([*text[:at], f"in {turn}\n", *text[at:]])})
                project.look()
            case _:
                project.shell(f"echo {turn} >> src/b.py")
    ids = [entry.id for entry in project.log()]
    rng.shuffle(ids)
    with project.open() as harness:
        for name in ids:
            if harness.ledger.fate(harness.journal.find(name)[0]).value == "live":
                assert isinstance(harness.undo(name, cascade=True), Undone)
    assert project.read() == before


def test_a_forgotten_value_is_in_no_file_of_takeback(project: TrackedProject) -> None:
    secret = "hunter2-is-the-password"
    project.write({"note.txt": "a\nb\n"})
    project.look()
    project.shell(f"echo {secret} >> note.txt && echo {secret} > other.txt")
    project.shell("echo more >> note.txt")
    project.shell("rm other.txt && sed -i '/hunter2/d' note.txt")
    with project.open() as harness:
        done = harness.forget_value(secret)
        assert done.record is not None
        assert done.captured
    assert not list(find_in_takeback(project, secret))
    assert (project.root / "note.txt").read_text() == "a\nb\nmore\n"
    entries = project.log()
    assert "command" not in entries[-3].origin
    undo(project, entries[-2].id)
    assert (project.root / "note.txt").read_text() == "a\nb\n"


def find_in_takeback(project: TrackedProject, secret: str) -> Iterator[str]:
    """Yield where below `.takeback` a value can be read, in databases unpacked as well."""
    from takeback.track.store import TrackStore

    for place, _, names in os.walk(project.root / ".takeback"):
        for name in names:
            if secret.encode() in Path(place, name).read_bytes():
                yield name
    with project.open() as harness:
        from takeback.harness.forget import find_value

        yield from (f"entry {found.number}" for found in find_value(harness.ledger, secret, dry=True)[0])
    with TrackStore.open(project.root) as store:
        digests = [row[0].hex() for row in store._database.run("SELECT digest FROM contents WHERE form <> 9")]
        yield from (digest for digest, data in store.contents(digests).items() if secret.encode() in data)


def test_a_newly_imported_file_belongs_to_the_client(project: TrackedProject) -> None:
    project.write({"rules.md": "one\n", "CLAUDE.md": "# notes\n@rules.md\n"})
    with project.open() as harness:
        harness.adopt("imports the rules")
    project.shell("echo two >> rules.md && echo more >> src/b.py")
    with project.open() as harness:
        assert [change.slot[:2] for change in harness.status().drift] == [("prompts", "rules.md")]
    assert project.log()[-1].files == ("src/b.py",)


def test_a_moved_file_and_its_replacement_in_one_call_are_distinct(project: TrackedProject) -> None:
    project.edit("src/a.py", "line 3\n", "line three\n")
    project.shell("mv src/a.py src/c.py && echo new > src/a.py")
    assert project.command("undo", "2").exit_code == 0
    assert (project.root / "src/c.py").read_text() == LINES
    assert (project.root / "src/a.py").read_text() == "new\n"
    assert project.command("undo", "3").exit_code == 0
    assert (project.root / "src/a.py").read_text() == LINES
    assert not (project.root / "src/c.py").exists()


def edit_and_format(project: TrackedProject, old: str, new: str, format_file: str) -> None:
    """Have the edit tool change a file, and a formatter right after it, before the call is reported as ended."""
    call = Call("claude-code", "session-1", "call-f", "Edit", paths=["src/a.py"], edits=[("src/a.py", old, new)])
    capture_before(str(project.root), call, ENVIRONMENT)
    place = project.root / "src/a.py"
    place.write_text(place.read_text().replace(old, new))
    project.run(format_file)
    capture_after(str(project.root), call, ENVIRONMENT)


def test_a_formatter_after_an_edit_tool_gets_its_own_entry(
    project: TrackedProject,
) -> None:
    edit_and_format(project, "line 3\n", "line three\n", "sed -i 's/line 9/line   9/; $d' src/a.py")
    mine, rest = project.log()
    assert "Edit" in mine.note
    assert "during Edit call-f" in rest.note
    assert [entry.grade for entry in (mine, rest)] == ["proved", "proved"]
    formatted = (project.root / "src/a.py").read_text()
    assert project.command("undo", "2").exit_code == 0
    assert (project.root / "src/a.py").read_text() == formatted.replace("line three\n", "line 3\n")
    assert project.command("redo", "2").exit_code == 0
    assert project.command("undo", "3").exit_code == 0
    assert (project.root / "src/a.py").read_text() == LINES.replace("line 3\n", "line three\n")


def test_an_edit_of_a_moved_file_is_one_entry(project: TrackedProject) -> None:
    project.shell("mkdir lib && mv src/a.py lib/a.py")
    project.edit("lib/a.py", "line 3\n", "the third line\n")
    moved, edited = project.log()
    assert edited.origin["tool"] == "Edit"
    assert moved.origin["tool"] == "Bash"


def test_a_formatter_that_rewrote_the_edit_is_noted(project: TrackedProject) -> None:
    edit_and_format(project, "line 3\n", "line three\n", "sed -i 's/line /line  /' src/a.py")
    (entry,) = project.log()
    assert "src/a.py changed more than Edit reported" in entry.origin["notes"]
    assert project.command("undo", "2").exit_code == 0
    assert (project.root / "src/a.py").read_text() == LINES


def test_a_half_recorded_row_gives_only_its_second_entry(
    project: TrackedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_and_format(project, "line 3\n", "line three\n", "sed -i '$d' src/a.py")
    with monkeypatch.context() as patch:
        patch.setattr(settle, "_make_rest", interrupt)
        with pytest.raises(KeyboardInterrupt):
            project.log()
    assert len(project.log()) == 2
    assert len(project.log()) == 2
    assert project.command("status").exit_code == 0


def interrupt(row: object) -> object:
    raise KeyboardInterrupt


def test_an_edit_of_an_unkept_file_is_one_entry(project: TrackedProject) -> None:
    (project.root / ".env").write_text("TOKEN=one\n")
    project.look()
    project.log()
    project.edit(".env", "one", "two")
    (entry,) = [entry for entry in project.log() if "Edit" in entry.note]
    assert len([one for one in project.log() if ".env" in one.files and one.seq >= entry.seq]) == 1


def test_links_odd_names_and_turned_folders_are_proved_and_come_back(project: TrackedProject) -> None:
    before = project.read()
    project.shell("""ln -s src/b.py l && ln -s "$(printf 'a\\nb')" m""")
    project.shell("ln -sfn docs l && mv m n")
    project.shell("rm -r docs && echo file > docs")
    project.shell("rm src/b.py && mkdir src/b.py && echo x > src/b.py/x && chmod 4755 src/a.py")
    (project.root / "src").joinpath("od\nd\\").write_text("x\n")
    os.rename(os.fsencode(project.root / "logo.png"), os.fsencode(project.root) + b"/lo\xffgo")
    project.look()
    entries = project.log()
    assert [entry.unproved for entry in entries] == [""] * 5
    assert all(entry.grade.startswith("proved") for entry in entries)
    order = [entry.id for entry in entries]
    random.Random(3).shuffle(order)
    undo(project, *order)
    assert project.read() == before
    assert stat.S_IMODE(os.stat(project.root / "src/a.py").st_mode) == 0o644
