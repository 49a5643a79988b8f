"""Half a surrogate pair, endless numbers and nesting, anywhere in a candidate, are errors that can be printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.forked import run_text
from tests.support.running import op

from takeback.errors import InputError, TakebackError
from takeback.language import read_candidate, read_program
from takeback.state import Stage, State
from takeback.verify import Code, verify_json

FULL = {
    "mutation": [
        op("set_config", "a.b", value={"k": ["x", {"y": "z"}]}),
        op("set_prompt", "p", value="text"),
        op("set_routing", "r", value="model"),
        op(
            "register_tool",
            "t",
            value={"id": "i", "description": "d", "parameters": {"q": "s"}, "implementation": "m:f"},
        ),
        op("add_middleware", "m", value={"handler": "h", "options": {"o": "v"}}, before="n"),
        op("add_listener", "e", value={"id": "c", "handler": "h", "options": {"o": "v"}, "volatile": {"t": "u"}}),
        op("write_file", "d/f", value={"content": "x", "mode": "0644"}),
        op("allocate_socket", "s", value={"address": "tcp://127.0.0.1:9301", "lifecycle": "open"}),
    ],
    "witness": [op("capture_config", "a.b", witness_key="w")],
    "recovery": [op("restore_config", "a.b", witness_key="w")],
    "contract": ['config["a.b"]', "prompts"],
}
LONE = "\ud800"


def _places(plain: Any, path: tuple = ()) -> Iterator[tuple]:
    """Every text of a JSON value, keys too: the path to it, and whether it is a key."""
    if isinstance(plain, str):
        yield (*path, "text")
    elif isinstance(plain, dict):
        for key, item in plain.items():
            yield (*path, key, "key")
            yield from _places(item, (*path, key))
    elif isinstance(plain, list):
        for at, item in enumerate(plain):
            yield from _places(item, (*path, at))


def _with(plain: Any, path: tuple, change: Any) -> Any:
    if path == ("text",):
        return change(plain)
    if len(path) == 2 and path[1] == "key":
        return {change(key) if key == path[0] else key: item for key, item in plain.items()}
    copy = dict(plain) if isinstance(plain, dict) else list(plain)
    copy[path[0]] = _with(plain[path[0]], path[1:], change)
    return copy


PLACES = list(_places(FULL))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_half_a_surrogate_pair_anywhere_in_a_candidate_is_an_error_that_can_be_printed(place):
    for change in (lambda text: text + LONE, lambda text: LONE):
        plain = _with(FULL, place, change)
        with pytest.raises(InputError) as caught:
            read_candidate(plain)
        str(caught.value).encode()
        verdict = verify_json(plain)
        assert verdict.reasons[0].code is Code.MALFORMED
        json.dumps(verdict.to_json(), ensure_ascii=False).encode()


def test_every_text_of_a_candidate_was_tried():
    read_candidate(FULL)
    assert len(PLACES) > 60


NEST: Any = "x"
for _ in range(5000):
    NEST = [NEST]


HOSTILE = {"deep": NEST, "long": 10**5000, "minus": -(10**5000), "nan": float("nan"), "text": LONE, "key": {LONE: 1}}


@pytest.mark.parametrize("name", HOSTILE)
def test_endless_numbers_and_nesting_anywhere_are_errors_that_can_be_printed(name):
    for place in PLACES:
        if place[-1] != "key":
            with pytest.raises(TakebackError) as caught:
                read_candidate(_with(FULL, place, lambda _: HOSTILE[name]))
            assert 0 < len(str(caught.value).encode()) < 1000


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_state_is_an_error_that_can_be_printed(name):
    hostile = HOSTILE[name]
    for plain in (hostile, {"config": {"a": hostile}}, {"prompts": {"p": hostile}}, {"tools": hostile}):
        with pytest.raises(InputError) as caught:
            State.read(plain)
        assert 0 < len(str(caught.value).encode()) < 1000


def test_changing_the_source_json_does_not_change_a_candidate():
    plain = [op("set_config", "a", value={"k": [1]})]
    program = read_program(plain, Stage.FORWARD, "mutation")
    plain[0]["value"]["k"].append(2)
    assert program[0].to_json() == op("set_config", "a", value={"k": [1]})


def _run(*arguments: str) -> tuple[int, dict]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = run_text([*arguments, "--json"], environment)
    assert "Traceback" not in ran.stderr
    return ran.returncode, json.loads(ran.stdout)


@pytest.mark.parametrize("command", ["verify", "prove", "oracle"])
@pytest.mark.parametrize(
    "text",
    [
        '{"mutation": [{"op_type": "set_prompt", "target": "p", "value": "\\ud800"}]}',
        '{"mutation": [{"op_type": "\\udfff", "target": "p", "value": "x"}]}',
        '{"mutation": [{"op_type": "set_config", "target": "p", "value": ' + "9" * 5000 + "}]}",
        '{"mutation": ' + "[" * 900 + "]" * 900 + "}",
    ],
    ids=["a surrogate", "a surrogate in a name", "a long number", "deep nesting"],
)
def test_a_hostile_candidate_ends_a_command_with_two_and_one_object(command, text, tmp_path):
    file = tmp_path / "candidate.json"
    file.write_text(text)
    code, said = _run(command, str(file))
    assert code == 2
    assert said.get("error") or said["reasons"]


@pytest.mark.parametrize("text", ['{"counterexample": {}}', '{"counterexample": null}', '{"counterexample": 1}'])
def test_a_verdict_without_a_counterexample_is_not_read_as_a_state(text, tmp_path):
    state, candidate = tmp_path / "state.json", tmp_path / "candidate.json"
    state.write_text(text)
    candidate.write_text(json.dumps(FULL))
    code, said = _run("verify", str(candidate), "--state", str(state))
    assert code == 2
    assert "expected a counterexample with its state" in said["error"]
