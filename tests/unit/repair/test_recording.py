"""Recordings: nothing is asked twice, nothing is missed silently, a kill costs one call at most."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from takeback.errors import RecordingError, ServiceFault
from takeback.repair.models import Message, RecordingModel, ReplayModel, Reply, Request, Usage
from takeback.repair.models.replies import PACKED, PLAIN
from takeback_lab.recordings import pack

REQUEST = Request(model="scripted", messages=(Message("user", "hello"),))


class Scripted:
    """Answers with the request's seed, fails where it is told to."""

    name = "scripted"

    def __init__(self, fails_on: int | None = None) -> None:
        self.asked: list[int] = []
        self.fails_on = fails_on

    def complete(self, request: Request) -> Reply:
        if request.seed == self.fails_on:
            raise ServiceFault("scripted outage")
        self.asked.append(request.seed)
        return Reply(f'{{"seed":{request.seed},"é":"\\u2028"}}', "stop", Usage(3, 5), 0.25)


def ask(model: RecordingModel | ReplayModel, seeds: range) -> list[Reply]:
    return [model.complete(replace(REQUEST, seed=seed)) for seed in seeds]


def test_a_request_that_differs_in_any_field_has_another_digest() -> None:
    others = [
        replace(REQUEST, model="other"),
        replace(REQUEST, messages=(Message("system", "hello"),)),
        replace(REQUEST, schema={"type": "object"}),
        replace(REQUEST, temperature=0.3),
        replace(REQUEST, top_p=0.9),
        replace(REQUEST, seed=1),
        replace(REQUEST, max_tokens=1),
        replace(REQUEST, reasoning_effort="low"),
    ]
    assert len({request.digest() for request in [REQUEST, *others]}) == len(others) + 1


def test_the_digest_does_not_depend_on_the_order_of_schema_keys() -> None:
    one = replace(REQUEST, schema={"a": 1, "b": {"c": 2, "d": 3}})
    two = replace(REQUEST, schema={"b": {"d": 3, "c": 2}, "a": 1})
    assert one.digest() == two.digest()


def test_the_digest_is_the_same_on_every_machine() -> None:
    assert REQUEST.digest() == "9fc85fc37c3ce6acc06568c6966ebd4bde4abe266e8f631605cba99a3ed29cfd"


def test_a_finished_call_is_not_repeated(tmp_path: Path) -> None:
    behind = Scripted()
    with RecordingModel(behind, tmp_path) as model:
        first = ask(model, range(3))
        again = ask(model, range(3))
    assert behind.asked == [0, 1, 2]
    assert first == again


def test_a_run_that_an_outage_stopped_resumes_to_the_same_recording(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with RecordingModel(Scripted(), whole) as model:
        ask(model, range(6))
    with RecordingModel(Scripted(fails_on=3), broken) as model, pytest.raises(ServiceFault):
        ask(model, range(6))
    with RecordingModel(Scripted(), broken) as model:
        ask(model, range(6))
    assert (broken / PLAIN).read_bytes() == (whole / PLAIN).read_bytes()


@pytest.mark.parametrize("lost", [1, 40, 150])
def test_a_line_torn_by_a_kill_is_asked_again_and_nothing_else(tmp_path: Path, lost: int) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(3))
    whole = (tmp_path / PLAIN).read_bytes()
    (tmp_path / PLAIN).write_bytes(whole[:-lost])
    behind = Scripted()
    with RecordingModel(behind, tmp_path) as model:
        ask(model, range(3))
    assert behind.asked == [2]
    assert (tmp_path / PLAIN).read_bytes() == whole


def test_replay_returns_exactly_the_recorded_replies(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        recorded = ask(model, range(4))
    replayed = ReplayModel(tmp_path)
    assert ask(replayed, range(4)) == recorded
    assert replayed.name == "scripted"


def test_replay_of_a_packed_recording_is_the_same(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        recorded = ask(model, range(4))
    pack(tmp_path)
    assert not (tmp_path / PLAIN).exists()
    assert ask(ReplayModel(tmp_path), range(4)) == recorded


def test_recording_continues_from_a_packed_recording(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(2))
    pack(tmp_path)
    behind = Scripted()
    with RecordingModel(behind, tmp_path) as model:
        ask(model, range(4))
    assert behind.asked == [2, 3]
    pack(tmp_path)
    assert len(gzip.decompress((tmp_path / PACKED).read_bytes()).splitlines()) == 4


def test_packing_equal_recordings_gives_equal_bytes_in_any_order(tmp_path: Path) -> None:
    for name, seeds in (("up", range(4)), ("down", range(3, -1, -1))):
        with RecordingModel(Scripted(), tmp_path / name) as model:
            ask(model, seeds)
    assert pack(tmp_path / "up").read_bytes() == pack(tmp_path / "down").read_bytes()


def test_a_request_that_is_not_in_the_recording_is_an_error_naming_its_digest(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(1))
    missing = replace(REQUEST, seed=99)
    with pytest.raises(RecordingError, match=missing.digest()):
        ReplayModel(tmp_path).complete(missing)


def test_damage_in_the_middle_of_a_recording_is_an_error_naming_the_line(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(3))
    rows = (tmp_path / PLAIN).read_bytes().splitlines(keepends=True)
    (tmp_path / PLAIN).write_bytes(rows[0] + b'{"digest": "x"}\n' + rows[2])
    with pytest.raises(RecordingError, match=r"recording\.jsonl:2"):
        ReplayModel(tmp_path)


def test_a_directory_without_a_recording_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="--record"):
        ReplayModel(tmp_path)


def test_a_damaged_packed_recording_is_an_error(tmp_path: Path) -> None:
    (tmp_path / PACKED).write_bytes(b"not gzip")
    with pytest.raises(RecordingError, match="gzip"):
        ReplayModel(tmp_path)


def test_a_line_whose_request_was_altered_is_an_error_naming_it(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(2))
    path = tmp_path / PLAIN
    path.write_text(path.read_text().replace('"content":"hello"', '"content":"other"', 1))
    with pytest.raises(RecordingError, match=rf"{PLAIN}:1: the digest is not that of the request"):
        ReplayModel(tmp_path)


def test_two_models_do_not_record_in_one_directory(tmp_path: Path) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(1))
    other = Scripted()
    other.name = "another"
    with pytest.raises(RecordingError, match="holds replies of scripted, not of another"):
        RecordingModel(other, tmp_path)
    assert len(ask(ReplayModel(tmp_path), range(1))) == 1


def test_a_path_that_cannot_be_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(RecordingError, match="file: cannot be a directory"):
        RecordingModel(Scripted(), tmp_path / "file")


@pytest.mark.parametrize("at", [3, 12, 40, 100])
def test_a_packed_recording_damaged_anywhere_is_a_recording_error(tmp_path: Path, at: int) -> None:
    with RecordingModel(Scripted(), tmp_path) as model:
        ask(model, range(3))
    packed = pack(tmp_path)
    raw = bytearray(packed.read_bytes())
    raw[at] ^= 0xFF
    packed.write_bytes(bytes(raw))
    with pytest.raises(RecordingError):
        ReplayModel(tmp_path)


def test_half_a_surrogate_pair_in_a_reply_is_recorded_as_a_replacement_character(tmp_path: Path) -> None:
    class Broken(Scripted):
        def complete(self, request: Request) -> Reply:
            return Reply('{"a": "\ud83d"} \U0001f600', "stop")

    with RecordingModel(Broken(), tmp_path) as model:
        said = model.complete(REQUEST)
    assert said.text == '{"a": "\ufffd"} \U0001f600'
    assert ReplayModel(tmp_path).complete(REQUEST) == said
