"""Each word of the postcondition vocabulary holds where it should and fails where it should."""

from __future__ import annotations

from typing import Any

import pytest

from takeback_lab.tasks.postconditions import CHECKS, at, holds, problem, same, split_path

STATE: dict[str, Any] = {
    "config": {"a": {"b": 1, "none": None}, "host.name": {"x": True}, "list": [1, "a"]},
    "prompts": {"system": "Be brief. Be kind."},
    "routing": {"default": None},
    "tools": {
        "sh": {
            "id": "run",
            "implementation": "t:run",
            "parameters": {
                "type": "object",
                "properties": {
                    "cmd": {"type": "string"},
                    "mode": {"type": "string", "enum": ["a", "b"]},
                },
                "required": ["cmd"],
            },
        }
    },
    "middleware": [
        {"id": "one", "handler": "m:One", "priority": 10, "options": {"n": 1}},
        {"id": "two", "handler": "m:Two", "options": {}},
        {"id": "three", "handler": "m:Three", "priority": 90, "options": {}},
    ],
    "listeners": {"go": [{"id": "x", "handler": "h:x", "options": {"k": [1]}}, {"id": "y", "handler": "h:y"}]},
    "files": {"bin/run": {"content": "#!/bin/sh\necho hi\n", "mode": "0755"}, "plain": {"content": "p"}},
    "resources": {
        "m": {"kind": "socket", "address": "tcp://127.0.0.1:9", "lifecycle": "open"},
        "shut": {"kind": "socket", "address": "tcp://127.0.0.1:8", "lifecycle": "closed"},
        "theirs": {"kind": "external", "address": "tcp://127.0.0.1:7", "lifecycle": "open"},
    },
}
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"check": "equals", "address": 'config["a.b"]', "value": 1}, {"value": 1.0}),
    ({"check": "equals", "address": 'config["host\\.name.x"]', "value": True}, {"value": 1}),
    ({"check": "equals", "address": 'routing["default"]', "value": None}, {"address": 'routing["other"]'}),
    ({"check": "exists", "address": 'config["a.none"]'}, {"address": 'config["a.c"]'}),
    ({"check": "exists", "address": 'middleware["two"]'}, {"address": 'middleware["four"]'}),
    ({"check": "absent", "address": 'files["nope"]'}, {"address": 'files["plain"]'}),
    ({"check": "prompt_contains", "prompt": "system", "text": "Be kind."}, {"text": "be kind."}),
    ({"check": "tool_id", "tool": "sh", "id": "run"}, {"id": "sh"}),
    ({"check": "tool_implementation", "tool": "sh", "implementation": "t:run"}, {"tool": "run"}),
    ({"check": "tool_has_parameter", "tool": "sh", "parameter": "cmd", "type": "string"}, {"type": "integer"}),
    (
        {"check": "tool_has_parameter", "tool": "sh", "parameter": "cmd", "type": "string", "required": True},
        {"required": False},
    ),
    (
        {"check": "tool_has_parameter", "tool": "sh", "parameter": "mode", "type": "string", "enum": ["b", "a"]},
        {"enum": ["a"]},
    ),
    ({"check": "middleware_handler", "middleware": "one", "handler": "m:One"}, {"handler": "m:Two"}),
    ({"check": "middleware_option", "middleware": "one", "option": "n", "value": 1}, {"value": True}),
    ({"check": "middleware_priority", "middleware": "two", "priority": 100}, {"priority": 10}),
    ({"check": "first", "middleware": "one"}, {"middleware": "two"}),
    ({"check": "last", "middleware": "three"}, {"middleware": "two"}),
    ({"check": "position", "middleware": "two", "index": 1}, {"index": 7}),
    ({"check": "before", "middleware": "one", "than": "three"}, {"than": "gone"}),
    ({"check": "before", "middleware": "one", "than": "two"}, {"middleware": "three"}),
    ({"check": "after", "middleware": "three", "than": "one"}, {"middleware": "one", "than": "two"}),
    ({"check": "listener_bound", "event": "go", "callback": "x", "handler": "h:x"}, {"handler": "h:y"}),
    (
        {"check": "listener_option", "event": "go", "callback": "x", "option": "k", "value": [1]},
        {"value": [True]},
    ),
    ({"check": "callback_order", "event": "go", "callbacks": ["x", "y"]}, {"callbacks": ["y", "x"]}),
    ({"check": "callbacks_kept", "event": "go", "callbacks": ["x", "y"]}, {"callbacks": ["y", "x"]}),
    ({"check": "chain_order", "chain": ["one", "two", "three"]}, {"chain": ["one", "three", "two"]}),
    ({"check": "items", "address": 'config["list"]', "items": [1, "a"]}, {"items": [True, "a"]}),
    ({"check": "file_contains", "path": "bin/run", "text": "echo hi"}, {"path": "bin"}),
    ({"check": "file_mode", "path": "plain", "mode": "0644"}, {"path": "gone"}),
    ({"check": "file_mode", "path": "bin/run", "mode": "0755"}, {"mode": "0644"}),
    ({"check": "socket_open", "resource": "m", "at": "tcp://127.0.0.1:9"}, {"at": "tcp://127.0.0.1:8"}),
    (
        {"check": "socket_open", "resource": "m", "at": "tcp://127.0.0.1:9"},
        {"resource": "shut", "at": "tcp://127.0.0.1:8"},
    ),
    (
        {"check": "socket_open", "resource": "m", "at": "tcp://127.0.0.1:9"},
        {"resource": "theirs", "at": "tcp://127.0.0.1:7"},
    ),
]


@pytest.mark.parametrize(("met", "change"), CASES)
def test_a_check_holds_and_fails(met: dict[str, Any], change: dict[str, Any]) -> None:
    assert problem(met) is None
    assert holds(met, STATE, STATE)
    assert not holds({**met, **change}, STATE, STATE)
    assert holds({**met, **change}, {}, {}) is (met["check"] == "absent")


def test_every_word_has_a_case() -> None:
    against_nominal = {"unchanged", "edited", "moved_file", "rest_unchanged"}
    assert {met["check"] for met, _ in CASES} | against_nominal == set(CHECKS)


def test_unchanged_compares_with_the_nominal_state_by_type() -> None:
    check = {"check": "unchanged", "address": 'config["a.b"]'}
    assert holds(check, STATE, STATE)
    assert not holds(check, {"config": {"a": {"b": True}}}, STATE)
    assert not holds(check, {}, STATE)
    assert holds({"check": "unchanged", "address": 'config["gone"]'}, {}, STATE)


def test_an_edited_text_has_exactly_the_listed_edits() -> None:
    check = {
        "check": "edited",
        "address": 'prompts["system"]',
        "edits": [{"old": "brief", "new": "short"}, {"old": "", "new": " Now."}],
    }
    assert holds(check, {"prompts": {"system": "Be short. Be kind. Now."}}, STATE)
    for text in ("Be short. Be kind.", "Be brief. Be kind. Now.", "Be short. Be kind. Now.\n"):
        assert not holds(check, {"prompts": {"system": text}}, STATE)
    assert not holds(check, {}, STATE)
    assert not holds({**check, "edits": [{"old": "Be", "new": "Is"}]}, STATE, STATE)
    file = {"check": "edited", "address": 'files["plain"]', "edits": [{"old": "p", "new": "q"}]}
    assert holds(file, {"files": {"plain": {"content": "q"}}}, STATE)


def test_kept_callbacks_must_be_unchanged() -> None:
    check = {"check": "callbacks_kept", "event": "go", "callbacks": ["y"]}
    assert holds(check, {"listeners": {"go": [{"id": "y", "handler": "h:y"}]}}, STATE)
    assert not holds(check, {"listeners": {"go": [{"id": "y", "handler": "h:z"}]}}, STATE)
    assert not holds({**check, "callbacks": ["z"]}, {"listeners": {"go": []}}, STATE)


def test_a_moved_file_exists_only_at_its_new_path() -> None:
    check = {"check": "moved_file", "path": "plain", "to": "other"}
    assert holds(check, {"files": {"other": {"content": "p"}}}, STATE)
    assert not holds(check, {"files": {"other": {"content": "p"}, "plain": {"content": "p"}}}, STATE)
    assert not holds(check, {"files": {"other": {"content": "p", "mode": "0755"}}}, STATE)
    assert not holds({**check, "path": "gone"}, {"files": {"other": {"content": "p"}}}, STATE)


@pytest.mark.parametrize(
    ("address", "change"),
    [
        ('config["a.b"]', {"config": {**STATE["config"], "a": {"b": 2, "none": None}}}),
        ('config["a"]', {"config": {"host.name": {"x": True}, "list": [1, "a"]}}),
        ('middleware["two"]', {"middleware": [STATE["middleware"][0], STATE["middleware"][2]]}),
        ('listeners["go"]', {"listeners": {}}),
        ('files["plain"]', {"files": {"bin/run": STATE["files"]["bin/run"]}}),
        ('prompts["system"]', {"prompts": {}}),
    ],
)
def test_rest_unchanged_holds_only_if_every_change_is_excepted(address: str, change: dict[str, Any]) -> None:
    check = {"check": "rest_unchanged", "but": [address]}
    assert holds(check, {**STATE, **change}, STATE)
    assert not holds({**check, "but": ['routing["default"]']}, {**STATE, **change}, STATE)
    assert not holds(check, {**STATE, **change, "routing": {"default": "m"}}, STATE)


def test_the_rest_of_a_chain_keeps_its_order() -> None:
    one, two, three = STATE["middleware"]
    check = {"check": "rest_unchanged", "but": ['middleware["two"]']}
    assert holds(check, {**STATE, "middleware": [two, one, three]}, STATE)
    assert not holds(check, {**STATE, "middleware": [three, two, one]}, STATE)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"check": "rest_unchanged", "but": ["config.a"]}, "not an address"),
        ({"check": "equal", "address": 'config["a"]'}, "unknown check"),
        ({"check": "equals", "address": 'config["a"]'}, "lacks value"),
        ({"check": "first", "middleware": "a", "index": 0}, "does not take index"),
        ({"check": "exists", "address": "config.a"}, "not an address"),
        ({"check": "exists", "address": 'conf["a"]'}, "not an address"),
        (["exists"], "unknown check"),
    ],
)
def test_a_malformed_postcondition_is_explained(wrong: Any, said: str) -> None:
    assert said in str(problem(wrong))


def test_values_are_compared_by_type_all_the_way_down() -> None:
    assert same({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})
    for other in ({"a": [1.0, {"b": None}]}, {"a": [True, {"b": None}]}, {"a": [1, {}]}, {"a": [1]}, {"a": None}):
        assert not same({"a": [1, {"b": None}]}, other)


def test_a_config_path_keeps_escaped_dots() -> None:
    assert split_path(r"a.b\.c.d\\e") == ["a", "b.c", "d\\e"]
    assert at({"config": {"a": {"b.c": 3}}}, 'config["a.b\\.c"]') == 3
