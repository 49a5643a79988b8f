"""Files of one's own through the command line: init, set, edit by hand, adopt, undo; and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.client import Documents
from takeback.agents.declared_files import find_declared_file
from takeback.agents.fast_hook import can_pass_unchecked
from takeback.cli import app
from takeback.errors import InputError, UntrustedError

YAML = (
    "# ours\r\nagents:\r\n- name: main   # first\r\n  tags: [a,  'b']\r\nmain:\r\n  llm: large   # the big one\r\n"
    "  text: >-\r\n    Be brief,\r\n    be kind.\r\n  on: 2024-01-01\r\nbase: &base {x: 1}\r\nuse: *base\r\nlimits: {n: 3}"
)
JSON5 = "// ours\n{ list: ['a', 'b',], main: { llm: 'large', text: 'Be brief.' }, limits: { n: 3, } }\n"
TOML = "# ours\nlist = [ 'a', # first\n  'b' ]\n\n[main]\nllm = 'large' # the big one\ntext = '''\nBe brief.\n'''\n[limits]\nn=3\n"
FILES = {"yaml": YAML, "json5": JSON5, "toml": TOML}
PARTS = 'routing = ["*.llm"]\nprompts = ["*.text"]\n'


def invoke(root: Path, *words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--dir", str(root)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run(root: Path, *words: str) -> Any:
    done = invoke(root, *words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def begin(root: Path, *documents: str) -> Any:
    words = [word for path in documents for word in ("--document", path)]
    done = CliRunner().invoke(app, ["init", str(root), *words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def describe(root: Path, lines: str) -> None:
    """Say more about the only document, in the manifest."""
    place = root / ".takeback/manifest.toml"
    place.write_text(place.read_text() + lines)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("beside", ["", "claude-code"])
def test_each_change_is_undone_alone_and_all_of_them_leave_no_trace(kind: str, beside: str, tmp_path: Path) -> None:
    if beside:
        write_harness(tmp_path, beside)
    path = f"conf/app.{kind}"
    (tmp_path / "conf").mkdir()
    (tmp_path / path).write_bytes(FILES[kind].encode())
    (tmp_path / "NOTES.md").write_text("One.\nTwo.")
    start = files_of(tmp_path)
    made = begin(tmp_path, path, "NOTES.md") if beside else begin(tmp_path, path)
    assert made["kinds"] == [*([beside] if beside else []), path, *(["NOTES.md"] if beside else [])]
    assert files_of(tmp_path) == start
    if not beside:
        describe(tmp_path, PARTS)
        run(tmp_path, "adopt")
    key = "routing" if not beside else "config"
    entries = [
        run(tmp_path, "set", "config", "app:limits.n", "4"),
        run(tmp_path, "set", "config", "app:new.deep", '["yes", {"a": 1}]'),
        run(tmp_path, "set", key, "app:main.llm", "small"),
    ]
    if not beside:
        entries.append(run(tmp_path, "edit", "prompt", "app:main.text", "--old", "brief", "--new", "very brief"))
    else:
        entries.append(run(tmp_path, "edit", "prompt", "NOTES.md", "--old", "Two", "--new", "Three"))
    text = (tmp_path / path).read_bytes()
    assert b"small" in text
    assert b"ours" in text
    (tmp_path / path).write_bytes(text.replace(b"ours", b"theirs").replace(b"'b'", b"'c'"))
    entries.append(run(tmp_path, "adopt"))
    numbers = [entry["entry"] for entry in entries]
    for number in (numbers[2], numbers[0], numbers[4], numbers[3], numbers[1]):
        run(tmp_path, "undo", str(number))
    assert files_of(tmp_path) == start
    assert run(tmp_path, "status")["clean"]


def test_a_document_is_added_later_and_a_second_time_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    (tmp_path / "b.toml").write_text("y = 1\n")
    assert begin(tmp_path, "a.yaml")["created"]
    assert begin(tmp_path, "b.toml")["added"] == ["b.toml"]
    assert begin(tmp_path, "b.toml", "a.yaml")["added"] == []
    run(tmp_path, "set", "config", "b:y", "2")
    assert (tmp_path / "b.toml").read_text() == "y = 2\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('[[documents]]\npath = "../x.yaml"\n', r"documents\.1\.path: found \.\./x\.yaml, expected a path inside"),
        ('[[documents]]\npath = ".git/config"\nformat = "text"\n', r"documents\.1\.path: found \.git/config"),
        ('[[documents]]\npath = ".takeback/id"\nformat = "text"\n', r"Takeback's own directory"),
        ('[[documents]]\npath = "/etc/passwd"\nformat = "text"\n', r"documents\.1\.path"),
        ('[[documents]]\npath = "a.yaml"\n', r"documents\.1\.path: found a\.yaml, which documents\.0 is too"),
        ('[[documents]]\npath = "x/a.toml"\n', r"documents\.1\.name: found 'a', which documents\.0 has too"),
        ('[[documents]]\npath = "x.ini"\n', r"documents\.1\.format: found no format.*expected one of json"),
        ('[[documents]]\npath = "x"\nformat = "ini"\n', r"documents\.1\.format: found 'ini'"),
        ('[[documents]]\npath = "*.yaml"\n', r"documents\.1\.path: found \*\.yaml, expected the path of one file"),
        ('[[documents]]\npath = "x.md"\nrouting = ["a"]\n', r"documents\.1\.routing: .*the whole file is one prompt"),
        ('[[documents]]\npath = "x.yaml"\nprompts = ["a..b"]\n', r"documents\.1\.prompts: found 'a\.\.b'"),
        ('[[documents]]\npath = "x.yaml"\nmodel = "a"\n', r"documents\.1\.model: found 'a', expected no such key"),
        ("[[documents]]\npath = 5\n", r"documents\.1\.path: found 5, expected a text"),
    ],
)
def test_a_mistake_in_the_manifest_is_reported_with_its_place(lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    begin(tmp_path, "a.yaml")
    describe(tmp_path, lines)
    with pytest.raises(InputError, match=said) as fault:
        invoke(tmp_path, "status")
    assert "manifest.toml" in str(fault.value)
    assert (tmp_path / "a.yaml").read_text() == "x: 1\n"


def test_a_clients_file_and_prefix_cannot_be_declared(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    (tmp_path / "local.yaml").write_text("x: 1\n")
    with pytest.raises(InputError, match=r"(?s)which is a file of claude-code.*tracked already"):
        begin(tmp_path, ".claude/settings.json")
    with pytest.raises(InputError, match="with which names of claude-code begin"):
        begin(tmp_path, "local.yaml")
    with pytest.raises(InputError, match="found no file, expected a file to track"):
        begin(tmp_path, "missing.yaml")
    assert not (tmp_path / ".takeback").exists()


def test_a_workspace_refuses_own_documents(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["init", str(tmp_path), "--kind", "workspace"]).exit_code == 0
    (tmp_path / "x.yaml").write_text("x: 1\n")
    with pytest.raises(InputError, match="takeback init DIR --document FILE"):
        begin(tmp_path, "x.yaml")
    place = tmp_path / "takeback.toml"
    place.write_text(place.read_text() + '[[documents]]\npath = "x.yaml"\n')
    with pytest.raises(InputError, match=r"takeback\.toml: documents: found documents of one's own"):
        invoke(tmp_path, "status")


def test_a_link_out_of_the_project_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text("secret: 1\n")
    root = tmp_path / "p"
    root.mkdir()
    (root / "a.yaml").write_text("x: 1\n")
    begin(root, "a.yaml")
    (root / "a.yaml").unlink()
    (root / "a.yaml").symlink_to(outside)
    shown = invoke(root, "status").output
    assert "leads out" in shown
    assert "secret" not in shown
    assert invoke(root, "set", "config", "a:x", "2").exit_code == 1
    assert outside.read_text() == "secret: 1\n"


def test_documents_that_came_with_a_copy_are_not_trusted(tmp_path: Path) -> None:
    root, copy = tmp_path / "p", tmp_path / "q"
    root.mkdir()
    (root / "a.yaml").write_text("x: 1\n")
    begin(root, "a.yaml")
    shutil.copytree(root, copy)
    with pytest.raises(UntrustedError):
        invoke(copy, "set", "config", "a:x", "2")
    assert (copy / "a.yaml").read_text() == "x: 1\n"


def test_a_broken_document_is_reported_and_stops_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("x: 1\n")
    (tmp_path / "b.toml").write_text("y = 1\n")
    begin(tmp_path, "a.yaml", "b.toml")
    (tmp_path / "a.yaml").write_text("x: 1\nx: 2\n")
    assert "line 2, column 1" in invoke(tmp_path, "status").output
    run(tmp_path, "set", "config", "b:y", "2")
    assert (tmp_path / "b.toml").read_text() == "y = 2\n"
    assert (tmp_path / "a.yaml").read_text() == "x: 1\nx: 2\n"


def test_an_edit_of_a_shared_anchor_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base: &base {x: 1}\nuse: *base\n")
    begin(tmp_path, "a.yaml")
    done = invoke(tmp_path, "set", "config", "a:base.x", "2")
    assert done.exit_code != 0
    assert "&base" in done.output
    assert "adopt" in done.output
    (tmp_path / "a.yaml").write_text("base: &base {x: 2}\nuse: *base\n")
    entry = run(tmp_path, "adopt")["entry"]
    run(tmp_path, "set", "config", "a:new", "1")
    run(tmp_path, "undo", str(entry))
    assert (tmp_path / "a.yaml").read_text() == "base: &base {x: 1}\nuse: *base\nnew: 1\n"


def test_the_guard_knows_own_documents(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/a.yaml").write_text("x: 1\n")
    (tmp_path / "NOTES.md").write_text("One.\n")
    begin(tmp_path, "conf/a.yaml", "NOTES.md")
    found = find_declared_file(str(tmp_path / "conf/a.yaml"))
    assert found is not None
    assert isinstance(found[3], Documents)
    call = {
        "hook_event_name": "PreToolUse",
        "tool_name": "Write",
        "tool_input": {"file_path": str(tmp_path / "a.py")},
    }
    assert not can_pass_unchecked(json.dumps(call).encode(), "claude-code", str(tmp_path))
    assert find_declared_file(str(tmp_path / "NOTES.md")) is not None
    assert find_declared_file(str(tmp_path / "other.yaml")) is None
