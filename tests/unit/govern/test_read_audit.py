"""Reads of contents are noted in a chain of their own, never with a value, and tampering with it is noticed."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from tests.support.raw_bytes import files_holding
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.doctor import examine_workspace
from takeback.adapters.opener import find_audit_anchor, open_workspace
from takeback.cli import app
from takeback.errors import HarnessError
from takeback.govern.audit import MOST_SLOTS, AuditChain
from takeback.govern.policy import POLICY
from takeback.harness.attempts import AUDIT

VALUE = "a-value-nobody-may-note-4711"


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "CLAUDE.md").write_text("one\n")
    init_clients(folder, ("claude-code",))
    with closing(open_workspace(folder)) as harness:
        (folder / "CLAUDE.md").write_text(f"one\n{VALUE}\n")
        assert harness.adopt(by="claude") is not None
    (folder / POLICY).write_text("[audit]\nreads = true\n")
    return folder


def run(root, *words):
    return CliRunner().invoke(app, [*words, "--dir", str(root)])


def notes(root):
    return AuditChain(root, find_audit_anchor(root)).examine().notes


def audit_findings(root):
    return [one for one in examine_workspace(root) if one.check == "audit"]


@pytest.mark.parametrize(
    ("words", "way"),
    [
        (("show", "HEAD"), "show"),
        (("show", "HEAD", "--state"), "show"),
        (("diff", "HEAD"), "diff"),
        (("diff",), "diff"),
        (("diff", "HEAD~1", "HEAD"), "diff"),
        (("export",), "export"),
        (("log", "-p"), "log"),
        (("undo", "HEAD", "--plan"), "plan"),
    ],
)
def test_each_kind_of_read_is_noted_with_reader_and_slots_but_no_value(root, words, way):
    assert not notes(root)
    done = run(root, *words, "--json")
    assert done.exit_code == 0, done.output
    found = notes(root)
    assert {note.way for note in found} == {way}
    assert all(note.who.startswith("user:") for note in found)
    if words != ("diff",):
        entry = json.loads(run(root, "log", "--json").stdout)["entries"][0]["id"]
        assert any(entry in note.entry for note in found)
        assert any("CLAUDE.md" in "".join(note.slots) or note.slots == ("*",) for note in found)
    assert VALUE.encode() not in (root / AUDIT).read_bytes()
    assert os.stat(root / AUDIT).st_mode & 0o077 == 0


def test_without_a_policy_nothing_is_noted(root):
    (root / POLICY).unlink()
    assert run(root, "show", "HEAD").exit_code == 0
    assert not (root / AUDIT).exists()
    (root / POLICY).write_text("[audit]\nreads = false\n")
    assert run(root, "show", "HEAD").exit_code == 0
    assert not (root / AUDIT).exists()


def test_commands_that_read_no_content_are_not_noted(root):
    assert run(root, "status").exit_code == 0
    assert run(root, "log").exit_code == 0
    assert not notes(root)


def test_the_list_is_printed_as_json_and_as_csv_and_from_a_time_on(root):
    run(root, "show", "HEAD")
    run(root, "export")
    done = run(root, "audit", "--since", "30d", "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    told = json.loads(done.stdout)
    assert told["whole"] is True
    assert [one["way"] for one in told["reads"]] == ["show", "export"]
    assert json.loads(run(root, "audit", "--since", "2999-01-01", "--json").stdout)["reads"] == []
    rows = list(csv.DictReader(io.StringIO(run(root, "audit", "--csv").stdout)))
    assert [row["way"] for row in rows] == ["show", "export"]
    assert run(root, "audit", "--csv", "--json").exit_code != 0


def test_csv_cells_are_escaped_against_formulas(root):
    AuditChain(root).append("=cmd", "show", "", ["@x"])
    row = next(csv.DictReader(io.StringIO(run(root, "audit", "--csv").stdout)))
    assert (row["who"], row["slots"]) == ("'=cmd", "'@x")


def change_who(lines):
    return [lines[0].replace(b"user:", b"user:x"), *lines[1:]]


def rewrite_note(lines):
    """Change a note, and give it the digest that fits."""
    from takeback.govern.audit import _make_digest

    note = json.loads(lines[1]) | {"who": "user:nobody"}
    note["digest"] = _make_digest(note)
    return [lines[0], json.dumps(note, sort_keys=True, separators=(",", ":")).encode(), *lines[2:]]


@pytest.mark.parametrize(
    "tamper",
    [
        change_who,
        rewrite_note,
        lambda lines: lines[1:],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: lines[:-1],
        lambda lines: [],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines[:-1], b"not a note"],
        lambda lines: [*lines[:-1], lines[-1].replace(b'"more":0', b'"more":true')],
    ],
    ids=["changed", "rewritten", "first-gone", "middle-gone", "cut", "all-gone", "swapped", "twice", "junk", "type"],
)
def test_doctor_notices_every_tampering(root, tamper):
    for _ in range(3):
        run(root, "show", "HEAD")
    assert [one.good for one in audit_findings(root)] == [True]
    lines = (root / AUDIT).read_bytes().splitlines()
    (root / AUDIT).write_bytes(b"".join(line + b"\n" for line in tamper(lines)))
    assert audit_findings(root)
    assert not any(one.good for one in audit_findings(root))
    told = run(root, "audit", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["whole"] is False


def test_a_chain_that_was_deleted_is_still_noticed_after_later_reads(root):
    for _ in range(3):
        run(root, "show", "HEAD")
    (root / AUDIT).unlink()
    for _ in range(5):
        assert run(root, "show", "HEAD").exit_code == 0
    assert not any(one.good for one in audit_findings(root))
    find_audit_anchor(root).unlink()
    assert all(one.good for one in audit_findings(root))


def test_notes_of_another_user_do_not_hide_a_cut(root):
    mine, other = AuditChain(root, find_audit_anchor(root)), AuditChain(root)
    mine.append("user:a", "show", "", ["x"])
    other.append("user:b", "show", "", ["x"])
    mine.append("user:a", "show", "", ["x"])
    assert mine.examine().faults == ()
    (root / AUDIT).write_bytes(b"")
    for _ in range(5):
        other.append("user:b", "show", "", ["x"])
    mine.append("user:a", "show", "", ["x"])
    assert mine.examine().faults


def test_a_torn_note_of_a_killed_process_is_removed_by_the_next(root):
    run(root, "show", "HEAD")
    with (root / AUDIT).open("ab") as file:
        file.write(b'{"at":"2026')
    assert not any(one.good for one in audit_findings(root))
    run(root, "show", "HEAD")
    assert [one.good for one in audit_findings(root)] == [True]
    assert len(notes(root)) == 2


def test_a_read_that_cannot_be_noted_is_refused_and_shows_nothing(root):
    (root / AUDIT).mkdir()
    done = run(root, "show", "HEAD")
    assert done.exit_code != 0
    assert isinstance(done.exception, HarnessError)
    assert VALUE not in done.output


def test_a_link_in_its_place_is_not_followed(root, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (root / AUDIT).symlink_to(elsewhere)
    assert run(root, "show", "HEAD").exit_code != 0
    assert not elsewhere.exists()


def test_a_harness_that_is_not_trusted_is_shown_and_nothing_is_written(root, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(root, clone)
    before = sorted(str(path) for path in clone.rglob("*"))
    assert VALUE in run(clone, "show", "HEAD").output
    assert sorted(str(path) for path in clone.rglob("*")) == before


def test_concurrent_reads_make_one_chain(root):
    chain = AuditChain(root, find_audit_anchor(root))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: chain.append(f"user:{number}", "show", "", ["x"]), range(80)))
    report = chain.examine()
    assert len(report.notes) == 80
    assert report.faults == ()


def test_a_note_bounds_its_slots_and_names(root):
    chain = AuditChain(root)
    for _ in range(2):
        chain.append("user:a", "show", "", ["\U0001f600" * 5000] * (MOST_SLOTS + 7))
    report = chain.examine()
    assert report.faults == ()
    assert [note.more for note in report.notes] == [7, 7]


def test_a_value_that_was_read_and_forgotten_is_in_no_file(root):
    run(root, "show", "HEAD", "--reveal")
    (root / "CLAUDE.md").write_text("one\n")
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        harness.forget_value(VALUE)
    assert files_holding(root / ".takeback", VALUE) == []
