"""Files changed by hand are put back from the journal, also those that cannot be read any more."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, file, middleware, prompt, routing

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.errors import InputError
from takeback.harness import Applied, Discarded, RefusalReason, Refused, Undone
from takeback.harness.entry_log import iter_entries

CONFIG = "# mine\na = 1_000   # why\nt = { x = 1 }\n"


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "agent"
    (root / "prompts").mkdir(parents=True)
    (root / "files").mkdir()
    (root / "config.toml").write_text(CONFIG)
    (root / "prompts/system.md").write_text("Careful.\n")
    (root / "prompts/system.md").chmod(0o600)
    (root / "files/notes").write_text("note\n")
    return init_workspace(root)


@pytest.fixture
def harness(root):
    opened = open_workspace(root)
    yield opened
    opened.close()


BROKEN = [
    ("config.toml", b"x = [", "end of document"),
    ("config.toml", b"a = 1\nb = [1, ?]\n", "line 2, column 9"),
    ("config.toml", b"a = 1\nb = 1\nb = 2\n", "line 3"),
    ("config.toml", b"a = '\xff'\n", "line 1"),
    ("config.toml", b"a = " + b"9" * 5000, "config.toml"),
    ("config.toml", b"a = " + b"[" * 5000, "config.toml"),
    ("config.toml", b"[" + b"a." * 3000 + b"a]\n", "deeper nesting"),
    ("config.toml", b"a." * 3000 + b"a = 1\n", "deeper nesting"),
    ("middleware.toml", b"[[middleware]]\n" + b"a." * 3000 + b"a = 1\n", "deeper nesting"),
    ("routing.toml", b"m = 5\n", "m"),
    ("middleware.toml", b"[[middleware]]\n", "middleware"),
    ("prompts/system.md", b"\xff\xfe", "line 1"),
]


TOUCHING = {
    "config.toml": config("c", 1),
    "middleware.toml": middleware("m"),
    "routing.toml": routing("m", "model"),
    "prompts/system.md": prompt("system", "new"),
}


@pytest.mark.parametrize(("name", "data", "where"), BROKEN)
def test_a_broken_file_is_reported_and_the_rest_stays_readable(root, harness, name, data, where):
    entry = harness.apply(candidate(config("b", 2))).entry
    (root / name).write_bytes(data)
    again = open_workspace(root)
    status = again.status()
    assert [fault.path for fault in status.broken] == [name]
    assert where in str(status.broken[0])
    assert not status.clean
    assert not status.drift
    assert len(list(iter_entries(again))) == 2
    bad = [finding for finding in examine_workspace(root) if not finding.good]
    assert [finding.check for finding in bad] == ["files"]
    assert name in bad[0].detail
    for answer in (again.adopt(), again.apply(candidate(TOUCHING[name]))):
        assert isinstance(answer, Refused)
        assert answer.why is RefusalReason.BROKEN
        assert name in answer.message
    for answer in (again.apply(candidate(config("c", 1))), again.undo(entry.id)):
        assert isinstance(answer, Refused) == (name == "config.toml")
    assert (root / name).read_bytes() == data


@pytest.mark.parametrize(("name", "data", "where"), BROKEN)
def test_discarding_a_broken_file_can_be_undone(root, harness, name, data, where):
    harness.apply(candidate(config("b", 2)))
    good = (root / name).read_bytes()
    (root / name).write_bytes(data)
    done = harness.discard([name])
    assert isinstance(done, Discarded)
    assert done.paths == (name,)
    assert (root / name).read_bytes() == good
    assert harness.status().clean
    assert isinstance(harness.undo(done.entry.id), Discarded)
    assert (root / name).read_bytes() == data
    assert harness.status().broken
    harness.discard()
    assert harness.status().clean
    assert harness.ledger.replay_state() == harness.state


def test_a_drifted_file_is_put_back_byte_for_byte_with_its_mode(root, harness):
    before = {name: (root / name).read_bytes() for name in ("config.toml", "prompts/system.md", "files/notes")}
    (root / "config.toml").write_text("a = 5\n")
    (root / "prompts/system.md").unlink()
    (root / "files/notes").write_text("other")
    (root / "files/more").mkdir()
    (root / "files/more/new").write_text("new")
    one = harness.discard(["config.toml"])
    assert one.paths == ("config.toml",)
    assert (root / "config.toml").read_bytes() == before["config.toml"]
    assert len(harness.status().drift) == 3
    two = harness.discard()
    assert {name: (root / name).read_bytes() for name in before} == before
    assert (root / "prompts/system.md").stat().st_mode & 0o777 == 0o600
    assert not (root / "files/more").exists()
    assert harness.status().clean
    assert isinstance(harness.undo(two.entry.id), Discarded)
    assert (root / "files/more/new").read_text() == "new"
    assert not (root / "prompts/system.md").exists()


def test_a_directory_names_all_that_is_in_it(root, harness):
    (root / "prompts/a.md").write_text("a")
    (root / "prompts/b.md").write_text("b")
    (root / "config.toml").write_text("")
    assert set(harness.discard(["prompts"]).paths) == {"prompts/a.md", "prompts/b.md"}
    assert [change.slot[0] for change in harness.status().drift] == ["config", "config"]


def test_discard_without_drift_does_nothing_and_refuses_foreign_paths(root, harness):
    assert harness.discard() is None
    assert harness.discard(["config.toml"]) is None
    with pytest.raises(InputError, match=r"found elsewhere\.txt, expected a file of this harness"):
        harness.discard(["elsewhere.txt"])
    assert isinstance(open_memory().discard(), Refused)


def test_undoing_a_discard_never_overwrites_later_changes(root, harness):
    (root / "prompts/system.md").write_text("mine")
    done = harness.discard()
    harness.apply(candidate(prompt("system", "later")))
    refused = harness.undo(done.entry.id)
    assert (refused.why, "prompts/system.md was changed since" in refused.message) == (RefusalReason.REAL, True)
    assert (root / "prompts/system.md").read_text() == "later"


def test_undo_after_a_discard_restores_every_byte(root, harness):
    entry = harness.apply(candidate(config("t.y", {"z": 1}), file("notes", "x"))).entry
    (root / "config.toml").write_text("= =")
    harness.discard()
    assert isinstance(harness.undo(entry.id), Undone)
    assert (root / "config.toml").read_text() == CONFIG
    assert isinstance(harness.apply(candidate(config("a", 2))), Applied)
    assert (root / "config.toml").read_text() == CONFIG.replace("1_000", "2")
