"""A workspace: files people edit, changed as one, with drift noticed and crashes finished."""

from __future__ import annotations

import errno
import os
import socket as sockets
from contextlib import contextmanager

import pytest
from tests.support.changes import candidate, config, file, listener, middleware, prompt, routing, socket, tool

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.errors import HarnessError, InputError, JournalCorruptError, JournalError, TakebackError, UntrustedError
from takeback.harness import Applied, RefusalReason, Undone
from takeback.journal import open_journal
from takeback.journal.failpoint import arm_failpoints
from takeback.state import State
from takeback.state.address import FRAME, make_part_name
from takeback.state.slots import find_containing_slot

MODE = make_part_name(FRAME)
START = {
    "config": {"agent": {"timeout": 30}},
    "prompts": {"system": "Be careful.\n"},
    "routing": {"main": "large-1"},
    "tools": {"grep": {"id": "grep"}},
    "middleware": [{"id": "auth", "handler": "mw.auth", "priority": 10}, {"id": "log", "handler": "mw.log"}],
    "listeners": {"on_error": [{"id": "audit", "handler": "h"}]},
    "files": {"notes/todo.md": {"content": "- ship\n", "mode": "0600"}},
}
EVERYTHING = (
    config("agent.timeout", 60),
    config("new.deep.key", None),
    prompt("a/b", "x\r\ny"),
    routing("spare", None),
    tool("web"),
    middleware("limit", index=0),
    listener("on_start", "warm"),
    file("out/log/f.bin", "1", mode="0750"),
)


@pytest.fixture
def root(tmp_path):
    return init_workspace(tmp_path / "agent", start=State.read(START))


@pytest.fixture
def harness(root):
    opened = open_workspace(root)
    yield opened
    opened.close()


def contents(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".takeback" not in path.parts
    }


def apply(harness, *ops):
    done = harness.apply(candidate(*ops))
    assert isinstance(done, Applied), done
    return done.entry.id


class DiedError(BaseException):
    """The process stops here; nothing catches it."""


def die_at(name, count=1):
    hits = 0

    def probe(reached):
        nonlocal hits
        hits += reached == name
        if reached == name and hits == count:
            raise DiedError

    return arm_failpoints(probe)


def test_a_new_workspace_holds_the_state_it_was_given(harness):
    assert harness.state == State.read(START)
    assert harness.status().clean


def test_undo_of_a_change_of_every_surface_leaves_every_file_as_it_was(root, harness):
    before = contents(root)
    entry = apply(harness, *EVERYTHING)
    assert (root / "files/out/log/f.bin").stat().st_mode & 0o777 == 0o750
    assert (root / "prompts/a%2Fb.md").read_bytes() == b"x\r\ny"
    assert "spare = false" in (root / "routing.toml").read_text()
    assert harness.status().clean
    assert isinstance(harness.undo(entry), Undone)
    assert contents(root) == before
    assert not (root / "files/out").exists()


def test_a_second_process_reads_the_written_state_exactly(root, harness):
    apply(harness, *EVERYTHING)
    apply(harness, config("types", [1, 1.0, True, "1"]), config("odd", {"k": None, "l": [None]}))
    again = open_workspace(root, hold=False)
    assert again.status().clean
    assert again.state.write() == harness.state.write()
    kinds = [type(item) for item in again.state.write()["config"]["types"]]
    assert kinds == [int, float, bool, str]


def test_comments_and_formatting_stay(root, harness):
    text = '# mine\n[agent]\ntimeout   = 30  # seconds\n\n# about the rest\nname = "x"   # keep\n'
    (root / "config.toml").write_text(text)
    chain = (
        '# first\n[[middleware]]\nid = "auth"   # who\nhandler = "mw.auth"\npriority = 10\n\n'
        '# second\n[[middleware]]\nid = "log"\nhandler = "mw.log"\npriority = 100 # spelled out\n'
    )
    (root / "middleware.toml").write_text(chain)
    harness.adopt()
    entry = apply(harness, config("agent.timeout", 60), middleware("limit", index=1), middleware("auth", index=2))
    assert (root / "config.toml").read_text() == text.replace("timeout   = 30", "timeout   = 60")
    edited = (root / "middleware.toml").read_text()
    assert edited.index('id = "limit"') < edited.index("# second") < edited.index("# first")
    assert "# spelled out" in edited
    harness.undo(entry)
    assert (root / "config.toml").read_text() == text
    assert (root / "middleware.toml").read_text().startswith(chain.split("# second", maxsplit=1)[0].rstrip())


@pytest.mark.parametrize(
    ("edit", "slot"),
    [
        (lambda root: (root / "config.toml").write_text("[agent]\ntimeout = 31\n"), ("config", "agent", "timeout")),
        (lambda root: (root / "config.toml").unlink(), ("config", "agent")),
        (lambda root: (root / "prompts/system.md").write_text("Be bold."), ("prompts", "system")),
        (lambda root: (root / "prompts/new.md").write_text(""), ("prompts", "new")),
        (lambda root: (root / "tools/grep.json").write_text('{"id": "other"}'), ("tools", "grep")),
        (lambda root: (root / "routing.toml").write_text("main = false\n"), ("routing", "main")),
        (lambda root: (root / "files/notes/todo.md").chmod(0o644), ("files", "notes", "todo.md", MODE)),
        (lambda root: (root / "files/empty").mkdir(), ("files", "empty")),
        (lambda root: (root / "listeners.toml").write_text(""), ("listeners", "on_error", "audit")),
    ],
)
def test_an_edit_by_hand_is_shown_never_overwritten_and_can_be_adopted_and_undone(root, harness, edit, slot):
    edit(root)
    after = contents(root)
    assert [change.slot for change in harness.status().drift] == [slot]
    made = harness.apply(candidate(config("x", 1)))
    assert isinstance(made, Applied)
    assert slot in [change.slot for change in harness.status().drift]
    assert isinstance(harness.undo(made), Undone)
    assert [change.slot for change in harness.status().drift] == [slot]
    assert contents(root) == after
    adopted = harness.adopt("by hand")
    assert harness.status().clean
    harness.undo(adopted.entry.id)
    assert harness.state == State.read(START)
    assert harness.status().clean


def test_formatting_alone_is_not_drift(root, harness):
    (root / "config.toml").write_text("# new comment\nagent = { timeout = 30 }\n")
    assert harness.status().clean


def test_a_reordered_chain_is_drift_of_the_moved_element(root, harness):
    apply(harness, middleware("mid", index=1))
    blocks = (root / "middleware.toml").read_text().split("\n\n")
    (root / "middleware.toml").write_text("\n\n".join([blocks[0], blocks[3], blocks[1], blocks[2]]) + "\n")
    drift = harness.status().drift
    assert [change.slot for change in drift] == [("middleware", "log")]
    harness.adopt()
    assert [link.id for link in harness.state.part("middleware")] == ["log", "auth", "mid"]


BOUNDARIES = [
    ("file.temp.created", 2),
    ("file.temp.written", 2),
    ("file.renamed", 1),
    ("file.renamed", 3),
    ("file.renamed", 6),
    ("directory.created", 1),
    ("directory.created", 2),
    ("change.written", 1),
]


@pytest.mark.parametrize(("name", "count"), BOUNDARIES)
def test_a_change_killed_anywhere_is_finished_at_the_next_opening(root, name, count):
    first = open_workspace(root)
    with die_at(name, count), pytest.raises(DiedError):
        first.apply(candidate(*EVERYTHING))
    first.close()
    again = open_workspace(root)
    assert again.recovered.entry is not None
    assert again.status().clean
    assert again.state.write()["config"]["agent"]["timeout"] == 60
    assert again.ledger.replay_state() == again.state
    head, before = again.ledger.head, contents(root)
    assert again.recover().entry is None
    assert (again.ledger.head, contents(root)) == (head, before)


@pytest.mark.parametrize("name", ["change.announced", "file.temp.created", "file.temp.written"])
def test_a_change_killed_before_its_first_write_is_aborted_at_the_next_opening(root, name):
    first = open_workspace(root)
    before = contents(root)
    with die_at(name), pytest.raises(DiedError):
        first.apply(candidate(*EVERYTHING))
    first.close()
    again = open_workspace(root)
    assert again.recovered.given_up
    assert again.status().clean
    assert again.status().aborted == 1
    assert again.state == State.read(START)
    assert contents(root) == before


@pytest.mark.parametrize("name", ["recovery.begun", "file.renamed", "recovery.written"])
def test_a_killed_recovery_can_be_repeated(root, name):
    first = open_workspace(root)
    with die_at("file.renamed"), pytest.raises(DiedError):
        first.apply(candidate(*EVERYTHING))
    first.close()
    with die_at(name), pytest.raises(DiedError):
        open_workspace(root)
    again = open_workspace(root)
    assert again.status().clean
    assert again.state.write()["config"]["agent"]["timeout"] == 60


def test_a_killed_undo_is_finished_at_the_next_opening(root):
    first = open_workspace(root)
    before = contents(root)
    entry = apply(first, *EVERYTHING)
    with die_at("file.removed"), pytest.raises(DiedError):
        first.undo(entry)
    first.close()
    again = open_workspace(root)
    assert again.recovered.entry.kind == "undo"
    assert contents(root) == before


def test_edits_between_crash_and_recovery_are_kept_as_drift(root):
    first = open_workspace(root)
    with die_at("file.renamed"), pytest.raises(DiedError):
        first.apply(candidate(*EVERYTHING))
    first.close()
    (root / "prompts/a%2Fb.md").write_text("by hand")
    again = open_workspace(root)
    assert again.recovered.kept == ("prompts/a%2Fb.md",)
    assert (root / "prompts/a%2Fb.md").read_text() == "by hand"
    assert [change.slot for change in again.status().drift] == [("prompts", "a/b")]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_write_that_fails_in_the_middle_puts_everything_back(root, harness, monkeypatch, code):
    before, state = contents(root), harness.state
    fchmod, calls = os.fchmod, []

    def failing(*args, **options):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(code, os.strerror(code))
        return fchmod(*args, **options)

    monkeypatch.setattr(os, "fchmod", failing)
    with pytest.raises(HarnessError, match="nothing was changed"):
        harness.apply(candidate(*EVERYTHING))
    assert contents(root) == before
    assert harness.state == state
    assert harness.status().clean
    assert [record.kind for record in harness.journal.records()][-1] == "abort"
    monkeypatch.undo()
    entry = apply(harness, *EVERYTHING)
    harness.undo(entry)
    assert contents(root) == before


@pytest.fixture
def failing_disk(monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def failing():
        with monkeypatch.context() as patched:
            patched.setattr(os, "fchmod", full)
            with pytest.raises(HarnessError, match="nothing was changed"):
                yield

    return failing


def test_an_aborted_change_is_neither_live_nor_undone(root, harness, failing_disk):
    one = apply(harness, config("a", 1))
    with failing_disk():
        harness.apply(candidate(config("b", 1)))
    given_up = next(harness.ledger.entries()).id
    for opened in (harness, open_workspace(root, hold=False)):
        status = opened.status()
        assert (status.entries, status.undone, status.aborted) == (1, 0, 1)
        for act in (opened.undo, opened.redo):
            with pytest.raises(InputError, match="given up before it was complete"):
                act(given_up)
    with failing_disk():
        harness.undo(one)
    given_up = next(harness.ledger.entries()).id
    with pytest.raises(InputError, match="no active undo"):
        harness.redo()
    harness.restore("#1")
    assert harness.status().undone == 1
    with pytest.raises(InputError, match="no active undo"):
        harness.redo()
    with pytest.raises(InputError, match="given up before it was complete"):
        harness.undo(given_up)


def test_a_disk_that_fails_while_putting_back_leaves_it_to_recovery(root, monkeypatch):
    first = open_workspace(root)
    fchmod, calls = os.fchmod, []

    def failing(*args, **options):
        calls.append(1)
        if len(calls) >= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return fchmod(*args, **options)

    def stuck(*args):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", failing)
    monkeypatch.setattr("takeback.adapters.files_adapter._bring_back", stuck)
    with pytest.raises(HarnessError, match="takeback recover"):
        first.apply(candidate(*EVERYTHING))
    first.close()
    monkeypatch.undo()
    again = open_workspace(root)
    assert again.status().clean
    assert again.state.write()["config"]["agent"]["timeout"] == 60


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.toml", "[agent]\ntimeout = 99\n"),
        ("prompts/system.md", "mine"),
        ("tools/grep.json", '{"id": "mine"}'),
        ("files/notes/todo.md", "mine"),
    ],
)
def test_an_edit_during_a_change_is_kept_and_the_change_aborted(root, harness, name, text):
    def meddle(reached):
        if reached == "change.announced":
            (root / name).write_text(text)

    ops = (config("agent.timeout", 60), prompt("system", "new"), tool("grep", "new"), file("notes/todo.md", "new"))
    with arm_failpoints(meddle):
        refused = harness.apply(candidate(*ops))
    assert refused.why is RefusalReason.DRIFT
    assert (root / name).read_text() == text
    assert len({find_containing_slot(change.slot) for change in harness.status().drift}) == 1
    harness.adopt()
    apply(harness, *ops)
    assert harness.status().clean


def test_sockets_are_real_and_taken_again_at_the_next_opening(root):
    first = open_workspace(root)
    port = free_port()
    entry = apply(first, socket("metrics", port))
    assert listening(port)
    first.close()
    assert not listening(port)
    again = open_workspace(root)
    assert listening(port)
    again.undo(entry)
    assert not listening(port)
    again.close()


def test_a_port_that_is_taken_refuses_the_change_and_is_reported_at_opening(root):
    with sockets.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        harness = open_workspace(root)
        refused = harness.apply(candidate(socket("metrics", port)))
        assert (refused.why, str(port) in refused.message) == (RefusalReason.REAL, True)
        assert harness.status().clean
        harness.close()
    harness = open_workspace(root)
    apply(harness, socket("metrics", port))
    harness.close()
    with sockets.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        again = open_workspace(root)
        assert [str(port) in problem for problem in again.status().problems] == [True]
        again.close()


def test_an_ephemeral_socket_keeps_its_descriptor_and_two_swap_addresses(root):
    harness = open_workspace(root)
    apply(harness, socket("any", 0))
    assert harness.adapter.sockets.port("any") > 0
    one, two = free_port(), free_port()
    apply(harness, socket("a", one), socket("b", two))
    apply(harness, socket("a", 0), socket("b", one), socket("a", two))
    assert (harness.adapter.sockets.port("a"), harness.adapter.sockets.port("b")) == (two, one)
    harness.close()


def test_a_link_in_the_sandbox_is_never_followed(root, harness, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "files/link").symlink_to(outside)
    assert any("files/link" in problem for problem in harness.status().problems)
    refused = harness.apply(candidate(file("link/x", "1")))
    assert (refused.why, "which is not written through" in refused.message) == (RefusalReason.UNSAYABLE, True)
    assert list(outside.iterdir()) == []
    (root / "files/link").unlink()
    assert harness.status().clean


@pytest.mark.parametrize("name", ["HEAD", "journal.db", "journal.db.lock", ""])
def test_a_link_among_takebacks_own_files_is_refused_and_nothing_outside_is_written(root, tmp_path, name):
    place, outside = root / ".takeback" / name, tmp_path / "outside"
    if place.exists():
        place.rename(outside)
    place.symlink_to(outside)
    before = {path: path.read_bytes() for path in (outside, *outside.rglob("*")) if path.is_file()}
    with pytest.raises(TakebackError, match="link"):
        open_workspace(root)
    assert {path: path.read_bytes() for path in (outside, *outside.rglob("*")) if path.is_file()} == before


def test_a_link_swapped_in_for_the_noted_head_is_replaced_not_written_through(root, harness, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    head = root / ".takeback/HEAD"
    head.unlink(missing_ok=True)
    head.symlink_to(outside)
    apply(harness, config("a", 1))
    assert (outside.read_text(), head.is_symlink()) == ("mine", False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[workspace\n", "line 1"),
        ('[workspace]\nversion = 1\nid = "x"\nextra = 1\n', "workspace.extra"),
        ("[workspace]\nversion = 1\n", "workspace.id"),
        ('[workspace]\nversion = "1"\nid = "x"\n', "workspace.version"),
        ('[workspace]\nversion = 7\nid = "x"\n', "workspace.version"),
        ('[workspace]\nid = "x"\n[surfaces]\nfiles = "../up"\n', "surfaces.files"),
        ('[workspace]\nid = "x"\n[surfaces]\nfiles = "."\n', "surfaces.files"),
        ('[workspace]\nid = "x"\n[surfaces]\nprompts = "tools/sub"\ntools = "tools"\n', "surfaces.tools"),
        ('[workspace]\nid = "x"\n[surfaces]\nfiles = ".takeback/x"\n', "Takeback's own directory"),
    ],
)
def test_a_mistake_in_the_manifest_is_reported_with_its_place(root, text, words):
    (root / "takeback.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        open_workspace(root)
    assert str(root / "takeback.toml") in str(caught.value)
    assert words in str(caught.value)


TOUCHING = {
    "config.toml": config("x", 1),
    "middleware.toml": middleware("m"),
    "routing.toml": routing("m", "model"),
    "listeners.toml": listener("on_error", "new"),
    "tools/grep.json": tool("grep"),
    "prompts/system.md": prompt("system", "new"),
}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("config.toml", "a = \n", "line 1"),
        ("config.toml", "when = 2026-01-01\n", "when"),
        ("config.toml", 'a = { "$json" = "nul" }\n', "$json"),
        ("routing.toml", "main = true\n", "main"),
        ("routing.toml", "main = 5\n", "main"),
        ("middleware.toml", "[[middleware]]\nid = 'a'\n", "handler"),
        ("middleware.toml", "other = 1\n", "other"),
        ("listeners.toml", "[[listener]]\nid = 'a'\n", "listener[0]"),
        ("tools/grep.json", "{", "grep.json"),
    ],
)
def test_a_mistake_in_a_file_is_reported_and_changes_nothing(root, harness, name, text, words):
    (root / name).write_text(text)
    before = contents(root)
    if name != "config.toml":
        made = harness.apply(candidate(config("x", 1)))
        assert isinstance(made, Applied)
        harness.undo(made)
        assert contents(root) == before
    refused = harness.apply(candidate(TOUCHING[name]))
    assert refused.why is RefusalReason.BROKEN
    assert [fault.path for fault in refused.broken] == [name]
    assert str(root / name) in refused.message
    assert words in refused.message
    assert contents(root) == before


def test_an_old_copy_of_the_journal_is_reported_and_changes_nothing(root, tmp_path):
    first = open_workspace(root)
    apply(first, config("a", 1))
    first.journal.run("PRAGMA wal_checkpoint(TRUNCATE)")
    first.close()
    old = (root / ".takeback/journal.db").read_bytes()
    second = open_workspace(root)
    apply(second, config("b", 1))
    second.close()
    for suffix in ("-wal", "-shm"):
        (root / f".takeback/journal.db{suffix}").unlink(missing_ok=True)
    (root / ".takeback/journal.db").write_bytes(old)  # the same file: another one is not trusted at all
    before = contents(root)
    with pytest.raises(JournalCorruptError, match="cut short, or is an old copy"):
        open_workspace(root)
    assert contents(root) == before
    assert [finding.check for finding in examine_workspace(root) if not finding.good] == ["open"]


@pytest.mark.parametrize("noted", [True, False])
def test_a_missing_journal_is_reported_and_never_recreated(root, noted):
    if not noted:
        (root / ".takeback/HEAD").unlink()
    for path in (root / ".takeback").glob("journal.db*"):
        path.unlink()
    with pytest.raises(JournalError, match=r"journal\.db is missing"):
        open_workspace(root)
    assert [finding.check for finding in examine_workspace(root) if not finding.good] == ["chain"]
    assert not list((root / ".takeback").glob("journal.db*"))


def test_an_emptied_journal_is_not_restarted(root, tmp_path):
    for path in (root / ".takeback").glob("journal.db-*"):
        path.unlink()
    open_journal(tmp_path / "empty.db").close()
    (root / ".takeback/journal.db").write_bytes((tmp_path / "empty.db").read_bytes())
    with pytest.raises(
        (UntrustedError, JournalCorruptError),
        match=r"not the one that was trusted|another one|ends at record 0, but record 2",
    ):
        open_workspace(root)
    (root / ".takeback/HEAD").unlink()
    with pytest.raises((UntrustedError, JournalError), match=r"another one|missing|not the one that was trusted"):
        open_workspace(root)


def test_a_truncated_journal_is_examined_up_to_its_end(root):
    first = open_workspace(root)
    for n in range(30):
        apply(first, config(f"k{n}", "x" * 300))
    first.close()
    place = root / ".takeback/journal.db"
    os.truncate(place, place.stat().st_size // 2)
    with pytest.raises(JournalError, match="damaged"):
        open_workspace(root)
    details = [finding.detail for finding in examine_workspace(root) if not finding.good]
    assert any("form a whole chain" in detail for detail in details)


def test_the_journal_of_another_workspace_is_refused(root, tmp_path):
    other = init_workspace(tmp_path / "other")
    with pytest.raises(HarnessError, match="belongs to another workspace"):
        open_workspace(root, journal=str(other / ".takeback/journal.db"))


def test_init_takes_existing_files_as_they_are(tmp_path):
    root = tmp_path / "agent"
    (root / "prompts").mkdir(parents=True)
    (root / "prompts/system.md").write_text("Mine.")
    (root / "config.toml").write_text("# mine\nx = 1\n")
    init_workspace(root)
    harness = open_workspace(root)
    assert harness.state.write() == {"config": {"x": 1}, "prompts": {"system": "Mine."}}
    assert (root / "config.toml").read_text() == "# mine\nx = 1\n"
    assert init_workspace(root) == root
    assert open_workspace(root).ledger.head == harness.ledger.head


def test_opening_a_directory_without_a_workspace_names_init(tmp_path):
    with pytest.raises(InputError, match="takeback init"):
        open_workspace(tmp_path)


def test_the_doctor_reports_a_healthy_workspace(root, harness):
    apply(harness, *EVERYTHING)
    findings = examine_workspace(root)
    assert all(finding.good for finding in findings), findings
    assert [finding.check for finding in findings] == [
        "manifest",
        "trust",
        "chain",
        "recovery",
        "replay",
        "drift",
        "leftovers",
    ]


def test_a_workspace_with_its_journal_in_postgresql(tmp_path, postgres_url):
    root = init_workspace(tmp_path / "agent", journal=f"{postgres_url}#workspace", start=State.read(START))
    harness = open_workspace(root)
    before = contents(root)
    entry = apply(harness, *EVERYTHING)
    harness.undo(entry)
    assert contents(root) == before
    assert all(finding.good for finding in examine_workspace(root))


def free_port():
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(port):
    with sockets.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_starting_state_never_replaces_existing_files(tmp_path):
    root = tmp_path / "agent"
    root.mkdir()
    (root / "config.toml").write_text("# mine\nmine = 1\n")
    with pytest.raises(InputError, match="1 things already there"):
        init_workspace(root, start=State.read({"config": {"theirs": 2}}))
    assert (root / "config.toml").read_text() == "# mine\nmine = 1\n"
    assert [path.name for path in root.iterdir()] == ["config.toml"]


def test_a_starting_state_may_include_existing_values(tmp_path):
    root = tmp_path / "agent"
    (root / "files/d/empty").mkdir(parents=True)
    (root / "config.toml").write_text("# mine\n[a]\nmine = 1\n")
    start = {
        "config": {"a": {"mine": 1, "more": 2}},
        "files": {"d/empty": {"directory": True}, "d/x": {"content": "1", "mode": "0644"}},
    }
    init_workspace(root, start=State.read(start))
    assert (root / "config.toml").read_text() == "# mine\n[a]\nmine = 1\nmore = 2\n"
    assert (root / "files/d/x").read_text() == "1"


def test_a_starting_state_puts_no_directory_over_a_file(tmp_path):
    root = tmp_path / "agent"
    (root / "files").mkdir(parents=True)
    (root / "files/d").write_text("mine")
    with pytest.raises(InputError, match="1 things already there"):
        init_workspace(root, start=State.read({"files": {"d/x": {"content": "theirs"}}}))
    assert (root / "files/d").read_text() == "mine"


@pytest.mark.parametrize("forgotten", [False, True])
def test_restoring_puts_a_directory_where_a_file_is_and_back(root, forgotten):
    with open_workspace(root) as harness:
        one = harness.apply(candidate(file("there/a", "one"))).entry
        if forgotten:
            harness.forget(one)
        two = harness.apply(candidate(file("there/a", "two"))).entry
        before = contents(root)
        harness.undo(one, two)
        over = harness.apply(candidate(file("there", "a file"))).entry
        as_a_file = contents(root)
        for _ in range(2):
            assert isinstance(harness.restore(two), Undone)
            assert contents(root) == before
            assert harness.status().clean
            assert isinstance(harness.undo(harness.ledger.store.latest("restore").id), Undone)
            assert contents(root) == as_a_file
            assert harness.status().clean
        assert isinstance(harness.undo(over), Undone)
        assert not (root / "files" / "there").exists()
