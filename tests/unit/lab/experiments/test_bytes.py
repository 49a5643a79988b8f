"""The experiment on bytes: its corpus, its changes, and a checker that notices when a file is written anew."""

from __future__ import annotations

import pytest

from takeback_lab.bytes.changes import changes_of
from takeback_lab.bytes.harnesses import HARNESSES
from takeback_lab.bytes.untouched import untouched
from takeback_lab.experiments import bytes as experiment

SURFACES = {"config", "routing", "middleware", "listeners", "tools", "prompts", "files"}
FEW = (
    "config/inline_table",
    "config/crlf.",
    "listeners/blocks",
    "middleware/inline_array_lines",
    "tools/comma_first",
)


def test_the_corpus_is_large_and_has_every_format_and_every_oddity():
    files = experiment.corpus()
    assert len(files) >= 60
    assert {path.parent.name for path in files} == SURFACES
    contents = [path.read_bytes() for path in files]
    assert any(data.startswith(b"\xef\xbb\xbf") for data in contents)
    assert any(b"\r\n" in data for data in contents)
    assert any(data and not data.endswith(b"\n") for data in contents)
    assert len(set(contents)) == len(contents)


def test_every_kind_of_change_is_tried_on_every_surface():
    from takeback.state import KINDS, Stage

    state = {
        "config": {"a": {"b": [1]}},
        "routing": {"m": "x"},
        "middleware": [{"id": "a", "handler": "h"}, {"id": "b", "handler": "h"}],
        "listeners": {"e": [{"id": "a", "handler": "h"}, {"id": "b", "handler": "h"}]},
        "tools": {"n": {"id": "t", "parameters": {"k": 1}}},
        "prompts": {"n": "a\nb\n"},
        "files": {"n": {"content": "a\nb\n"}},
    }
    tried = {change.ops[0]["op_type"] for name in SURFACES for change in changes_of(name, "n", state)}
    forward = {name for name, kind in KINDS.items() if kind.stage is Stage.FORWARD and kind.surface in SURFACES}
    assert tried == forward


@pytest.mark.parametrize("name", FEW)
def test_a_few_files_survive_every_change_byte_for_byte(name):
    found = experiment.run([path for path in experiment.corpus() if name in str(path)])
    assert found.hold, found.examples
    assert found.of >= 8


@pytest.mark.long
@pytest.mark.parametrize("kind", HARNESSES)
def test_files_of_every_client_survive_every_change(kind):
    found = experiment.ByteFindings()
    experiment.try_client(kind, found)
    assert found.hold, found.examples
    assert found.of >= 40


@pytest.mark.slow
def test_the_whole_corpus_survives_every_change():
    found = experiment.run()
    assert found.hold, found.examples
    assert found.of >= 1000


OLD = b"# top\na = 1_000 # why\nt = { x = 1 }\n"


@pytest.mark.parametrize(
    ("new", "effect", "fine"),
    [
        (b"# top\na = 2 # why\nt = { x = 1 }\n", "replace", True),
        (b"# top\na = 2\nt = { x = 1 }\n", "replace", False),
        (b"a = 2 # why\nt = { x = 1 }\n", "replace", False),
        (b"# top\na = 1_000 # why\nt = { x = 1, y = 2 }\n", "insert", True),
        (b"# top\na = 1000 # why\nt = { x = 1, y = 2 }\n", "insert", False),
        (b"a = 1_000 # why\n\n[t]\nx = 1\ny = 2\n", "insert", False),
        (b"# top\nt = { x = 1 }\n", "remove", True),
        (b"# top\nt = { x=1 }\nb = 3\n", "remove", False),
        (b"# top\nt = { x = 1 }\na = 1_000 # why\n", "move", True),
        (b"# top\nt = { x = 1 }\na = 1_000\n", "move", False),
    ],
)
def test_the_checker_notices_touched_bytes(new, effect, fine):
    assert untouched({"c.toml": OLD}, {"c.toml": new}, effect) is fine


def test_a_second_file_must_not_change():
    before, after = {"a.toml": OLD, "b.toml": b"x"}, {"a.toml": OLD + b"b = 1\n", "b.toml": b"y"}
    assert not untouched(before, after, "insert")
    assert untouched(before, after | {"b.toml": b"x"}, "insert")


def test_an_editor_that_rewrites_files_is_detected(monkeypatch):
    """With the document written anew instead of spliced, the experiment must not hold."""
    from takeback.adapters.formats.toml_document import TomlDocument
    from takeback.adapters.formats.toml_values import format_key, format_value
    from takeback.adapters.workspace import storage

    def rewritten(document, _before, after, _path=()):
        lines = [f"{format_key(key)} = {format_value(item)}\n" for key, item in after.items()]
        return TomlDocument("".join(lines).encode(), document.where)

    monkeypatch.setattr(storage, "patch_document", rewritten)
    found = experiment.run([path for path in experiment.corpus() if path.name == "inline_table.toml"])
    assert found.untouched < found.of
    assert found.identical == found.of
