"""Weights: assembled in order, resumed where they stopped, refused when they are not the promised file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from takeback.repair.models.chat import cache_directory
from takeback_lab.errors import WeightsError
from takeback_lab.models import weights
from takeback_lab.models.local import LocalModel, LocalSettings
from takeback_lab.models.weights import Weights, WeightsPart

PIECES = [b"GGUF-one", b"two", b"three!"]
WHOLE = b"".join(PIECES)
PLAN = Weights(
    name="tiny",
    filename="tiny.gguf",
    licence="none",
    size=len(WHOLE),
    sha256=hashlib.sha256(WHOLE).hexdigest(),
    parts=tuple(WeightsPart(f"tiny-part{i}==1", f"tiny/part{i}.bin") for i in range(3)),
)


class FakePip:
    """Writes the asked part, or fails the way pip does."""

    def __init__(self, fails_on: int | None = None, wrong: int | None = None, empty: int | None = None) -> None:
        self.asked: list[int] = []
        self.fails_on, self.wrong, self.empty = fails_on, wrong, empty

    def __call__(self, requirement: str, target: Path) -> None:
        number = int(requirement[len("tiny-part")])
        if number == self.fails_on:
            raise WeightsError(f"{requirement} could not be installed")
        self.asked.append(number)
        if number == self.empty:
            return
        (target / "tiny").mkdir()
        data = b"x" * len(PIECES[number]) if number == self.wrong else PIECES[number]
        (target / f"tiny/part{number}.bin").write_bytes(data)


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir())


def test_parts_are_joined_in_order_and_removed(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = weights.fetch(PLAN, tmp_path, install=FakePip(), progress=lambda done, of: told.append((done, of)))
    assert path.read_bytes() == WHOLE
    assert left_in(tmp_path) == ["tiny.gguf"]
    assert told == [(8, 17), (11, 17), (17, 17)]


def test_an_interrupted_fetch_resumes_with_the_missing_part(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="part2"):
        weights.fetch(PLAN, tmp_path, install=FakePip(fails_on=2))
    again = FakePip()
    assert weights.fetch(PLAN, tmp_path, install=again).read_bytes() == WHOLE
    assert again.asked == [2]


def test_bytes_after_the_last_finished_part_are_written_over(tmp_path: Path) -> None:
    with pytest.raises(WeightsError):
        weights.fetch(PLAN, tmp_path, install=FakePip(fails_on=2))
    with (tmp_path / "models/tiny.partial").open("ab") as file:
        file.write(b"torn")
    assert weights.fetch(PLAN, tmp_path, install=FakePip()).read_bytes() == WHOLE


def test_another_hash_is_refused_and_the_file_removed(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="sha256"):
        weights.fetch(PLAN, tmp_path, install=FakePip(wrong=1))
    assert left_in(tmp_path) == []
    assert not weights.is_present(PLAN, tmp_path)


def test_a_package_without_its_data_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"tiny-part1==1 holds no tiny/part1\.bin"):
        weights.fetch(PLAN, tmp_path, install=FakePip(empty=1))


def test_a_finished_file_is_not_fetched_again_but_is_checked(tmp_path: Path) -> None:
    path = weights.fetch(PLAN, tmp_path, install=FakePip())
    idle = FakePip()
    assert weights.fetch(PLAN, tmp_path, install=idle) == path
    assert idle.asked == []
    path.write_bytes(b"z" * len(WHOLE))
    with pytest.raises(WeightsError, match="refused"):
        weights.fetch(PLAN, tmp_path, install=idle)


def test_absent_weights_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="takeback model fetch --small"):
        weights.require(weights.SMOL, tmp_path)
    with pytest.raises(WeightsError, match="takeback model fetch'"):
        weights.require(weights.QWEN, tmp_path)


def test_the_large_model_is_22_parts_in_numeric_order() -> None:
    members = [part.member for part in weights.QWEN.parts]
    assert members[0].endswith("part1/data/part01.bin")
    assert members[-1].endswith("part22/data/part22.bin")
    assert members == sorted(members, key=lambda member: int(member[-6:-4]))


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({}, "linux", "/h/.cache/takeback"),
        ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/takeback"),
        ({"TAKEBACK_CACHE": "/mine", "XDG_CACHE_HOME": "/x"}, "linux", "/mine"),
        ({}, "darwin", "/h/Library/Caches/takeback"),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/takeback/Cache"),
    ],
)
def test_the_cache_follows_the_custom_of_the_platform(
    environment: dict[str, str], platform: str, expected: str
) -> None:
    assert cache_directory(environment, platform, Path("/h")) == Path(expected)


def test_a_file_that_is_no_gguf_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no such file"):
        LocalModel(LocalSettings(tmp_path / "none.gguf"))
    (tmp_path / "text.gguf").write_bytes(b"hello")
    with pytest.raises(WeightsError, match="not a GGUF file"):
        LocalModel(LocalSettings(tmp_path / "text.gguf"))
