"""Reading states: every mistake is named with its place, what was found and what was expected."""

from __future__ import annotations

import re

import pytest

from takeback.errors import InputError, LimitError, UnknownSurfaceError
from takeback.language.program import read_operation
from takeback.state import Stage, State

DEEP = 1
for _ in range(40):
    DEEP = {"k": DEEP}

BAD = [
    (1, "state: found 1, expected a mapping with config, prompts"),
    ({"colour": {}}, "state: found colour, expected one of config"),
    ({"config": []}, "state.config: found [], expected a mapping"),
    ({"config": {"": 1}}, "state.config key: found an empty text, expected a name"),
    ({"config": {"a\n": 1}}, "expected a name without control characters"),
    ({"config": {"a": {"b": float("nan")}}}, "state.config.a.b: found nan, expected a finite number"),
    ({"config": {"a": 2**63}}, "state.config.a: found a whole number"),
    ({"config": {"a": ["\ud800"]}}, "state.config.a[0]: found a lone surrogate, expected text that UTF-8 can hold"),
    ({"config": {"a": "x" * 10_000_001}}, "found 10000001 characters, expected at most 10000000"),
    ({"config": {"a": [0] * 200_001}}, "state.config.a: found 200001 items, expected at most 200000"),
    ({"config": DEEP}, "found deeper nesting, expected at most 32 levels"),
    ({"config": {"a": b"x"}}, "state.config.a: found bytes, expected a JSON value"),
    ({"prompts": {"p": 1}}, "state.prompts['p']: found 1, expected text"),
    ({"routing": {"r": True}}, "state.routing['r']: found True, expected a model id or null"),
    ({"tools": {"t": "x"}}, "state.tools['t']: found x, expected a mapping with id, description"),
    ({"tools": {"t": {"id": "t", "name": "t"}}}, "state.tools['t']: found the field 'name', expected only id"),
    ({"tools": {"t": {"parameters": []}}}, "state.tools['t'].parameters: found [], expected a mapping"),
    ({"middleware": {}}, "state.middleware: found {}, expected a list of middleware"),
    ({"middleware": [{"handler": "h"}]}, "state.middleware[0]: found no 'id', expected a mapping with id"),
    ({"middleware": [{"id": "a"}]}, "state.middleware[0]: found no 'handler'"),
    ({"middleware": [{"id": "a", "handler": "h"}] * 2}, "state.middleware[1].id: found a, expected each id once"),
    (
        {"middleware": [{"id": "a", "handler": "h", "priority": True}]},
        "priority: found True, expected a whole number",
    ),
    ({"middleware": [{"id": "a", "handler": "h", "priority": 1.0}]}, "priority: found 1.0, expected a whole number"),
    ({"listeners": {"e": {}}}, "state.listeners['e']: found {}, expected a list of callbacks"),
    ({"listeners": {"e": ["x", "x"]}}, "found x, expected each id once in the chain"),
    ({"files": {"f": "text"}}, "state.files['f']: found text, expected"),
    ({"files": {"f": {"content": "", "base64": ""}}}, "expected one of content and base64"),
    ({"files": {"f": {"base64": "!"}}}, "state.files['f'].base64: found malformed base64"),
    ({"files": {"f": {"content": "", "mode": 420}}}, "state.files['f'].mode: found 420, expected four octal digits"),
    ({"files": {"f": {"content": "", "mode": "0888"}}}, "expected four octal digits"),
    ({"files": {"d": {"directory": False}}}, 'expected {"directory": true} alone'),
    ({"files": {"d": {"directory": 1}}}, 'expected {"directory": true} alone'),
    ({"files": {"d": {"directory": 1.0}}}, 'expected {"directory": true} alone'),
    ({"files": {"d": {"content": ""}, "d/f": {"content": ""}}}, "found a path below a file"),
    ({"files": {"d/f": {"content": ""}, "d": {"content": ""}}}, "found a file and a directory of one name"),
    ({"files": {"../x": {"content": ""}}}, "expected a relative path inside the sandbox"),
    ({"resources": {"s": {}}}, "state.resources['s']: found no 'address'"),
    ({"resources": {"s": {"address": "tcp://8.8.8.8:53"}}}, "expected a loopback address"),
    ({"resources": {"s": {"address": "tcp://127.0.0.1:65536"}}}, "expected a loopback address"),
    ({"resources": {"s": {"address": "tcp://127.0.0.999:1"}}}, "expected a loopback address"),
    ({"resources": {"s": {"address": "tcp://127.0.0.1:1", "kind": "pipe"}}}, "expected socket or external"),
    (
        {"resources": {"s": {"address": "tcp://127.0.0.1:1"}, "v": {"address": "tcp://127.0.0.1:1"}}},
        "state.resources['v']: found tcp://127.0.0.1:1, held by 's' too, expected each address held once",
    ),
]


@pytest.mark.parametrize(("plain", "message"), BAD, ids=[message[-40:] for _, message in BAD])
def test_a_mistake_in_a_state_is_reported_with_its_place(plain, message):
    with pytest.raises(InputError) as caught:
        State.read(plain)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "..", "a/../../b", "a//b", "./a", "a/.", "a\0b"])
def test_a_file_path_that_could_leave_the_sandbox_is_refused(path):
    with pytest.raises(InputError, match="inside the sandbox"):
        State.read({"files": {path: {"content": ""}}})


ODD = ["a\nb", "a\\b", "a\x1b[31mb", " ", "-rf", "a\udcffb", "d/" * 255 + "b", "long name/" * 200 + "b"]


@pytest.mark.parametrize("path", ODD, ids=[repr(path[:12]) for path in ODD])
def test_any_name_that_a_file_can_have_is_read_and_written(path):
    state = State.read({"files": {path: {"content": "x", "mode": "4755"}, "l": {"content": "t", "mode": "120000"}}})
    assert State.read(state.write()) == state
    op = read_operation({"op_type": "write_file", "target": path, "value": "y"}, Stage.FORWARD, "op")
    assert op.path == tuple(path.split("/"))
    assert read_operation(op.to_json(), Stage.FORWARD, "op") == op


@pytest.mark.parametrize("path", ["a\ud800b", "a\udcc3\udca9b"])
def test_a_name_that_no_file_on_disk_has_is_refused(path):
    with pytest.raises(InputError, match=re.escape("files")):
        State.read({"files": {path: {"content": ""}}})


@pytest.mark.parametrize("path", ["a/" * 256 + "b", "/".join(["n" * 200] * 20), "x" * 256, "é" * 130])
def test_a_file_path_or_name_that_is_too_long_is_refused(path):
    with pytest.raises(LimitError):
        State.read({"files": {path: {"content": ""}}})


def test_an_unknown_surface_is_an_error_of_its_own():
    with pytest.raises(UnknownSurfaceError):
        State.read({"nope": {}})


def test_defaults_are_filled_in():
    state = State.read(
        {
            "tools": {"t": {}},
            "middleware": [{"id": "m", "handler": "h"}],
            "listeners": {"e": ["x"], "none": []},
            "files": {"f": {"content": "x"}},
            "resources": {"s": "tcp://127.0.0.1:1"},
        }
    )
    assert state.write() == {
        "tools": {"t": {"id": "t", "description": "", "parameters": {}, "implementation": ""}},
        "middleware": [{"id": "m", "handler": "h", "priority": 100, "options": {}}],
        "listeners": {"e": [{"id": "x", "handler": "x", "options": {}}]},
        "files": {"f": {"content": "x", "mode": "0644"}},
        "resources": {"s": {"kind": "socket", "address": "tcp://127.0.0.1:1", "lifecycle": "open"}},
    }


def test_binary_contents_are_written_as_base64():
    state = State.read({"files": {"f": {"base64": "/w=="}}})
    assert state.write()["files"]["f"] == {"base64": "/w==", "mode": "0644"}


def test_a_directory_that_holds_something_need_not_be_listed():
    listed = State.read({"files": {"d": {"directory": True}, "d/f": {"content": ""}}})
    assert listed == State.read({"files": {"d/f": {"content": ""}}})


def test_empty_surfaces_are_the_same_as_none():
    empty = {"config": {}, "middleware": [], "listeners": {"e": []}, "files": {}}
    assert State.read(empty) == State()
    assert State.read(empty).digest() == State().digest()


def test_places_in_messages_stay_short_below_a_very_long_key():
    with pytest.raises(InputError) as caught:
        State.read({"config": {"a": {"k" * 100_000: [float("inf")]}}})
    assert len(str(caught.value)) < 300
