"""Running the tests of a package on its mutants, each in a process of its own, until the first test fails.

The code is copied to a place of its own, so that nobody who works on it meets a mutant. Processes are forked from one
that has loaded the code and the tests where exchanging a function is enough (`exchanging.py`), otherwise from one
that has loaded everything but the package. A mutant meets the tests that run its line, quickest first; all tests of
its package where none was seen to.
"""

from __future__ import annotations

import math
import os
import random
import resource
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.mutants.exchanging import Order, Ready
from tests.mutants.planting import Mutant, mutants_of
from tests.mutants.reaching import Chosen, Learning, Reach

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PRELOADED = (
    "coverage",
    "hypothesis",
    "pytest",
    "pydantic",
    "typer.testing",
    "rich.console",
    "sqlite3",
    "tree_sitter_toml",
)
HANGING = 20
"""So many times the processor time that tests may use is the time they may take by the clock on the wall."""


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    LATE = "timed out"
    SURVIVED = "survived"


@dataclass(frozen=True)
class Target:
    """Modules to plant in, and the tests that should notice, quickest first."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]

    def mutants(self, code: Path = SOURCE) -> list[Mutant]:
        """Every mutant of its modules."""
        files = sorted({file for module in self.modules for file in (code / "takeback").glob(module)})
        return [
            mutant
            for file in files
            if file.name != "__init__.py"
            for mutant in mutants_of(str(file.relative_to(code / "takeback")), file.read_text())
        ]

    def sample(self, size: int | None, seed: int, code: Path = SOURCE) -> list[Mutant]:
        """Some of its mutants in random order, the same for the same seed; all of them without a size."""
        every = self.mutants(code)
        return random.Random(seed).sample(every, len(every) if size is None else min(size, len(every)))


class Bench:
    """A copy of the code in which one module at a time is another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.code = folder / "src"
        self._orders: Connection | None = None
        shutil.copytree(SOURCE, self.code, ignore=shutil.ignore_patterns("__pycache__"))

    @contextmanager
    def with_mutant(self, mutant: Mutant) -> Iterator[None]:
        """Put a mutant in, and take it out again."""
        file = self.code / "takeback" / mutant.module
        good = file.read_text()
        file.write_text(mutant.planted(good))
        try:
            yield
        finally:
            file.write_text(good)

    def learn(self, target: Target, seconds: float) -> tuple[Reach | None, float]:
        """Run tests on the copy as it is: what each reaches, None if they hang, and the processor time all used."""
        file = self.folder / f"reach {target.name.replace('/', ' ')}.json"
        modules = {mutant.module for mutant in target.mutants(self.code)}
        fate, used = self._run(target.tests, seconds, Learning(self.code / "takeback", modules, file))
        if fate is Fate.LATE:
            return None, used
        reach = Reach.read(file)
        return (reach if fate is Fate.SURVIVED or reach.failed else replace(reach, failed="they do not begin")), used

    @contextmanager
    def loaded(self, target: Target, reach: Reach) -> Iterator[None]:
        """Inside the block, a process with all tests of a package and the code they import stands ready."""
        self._orders, there = Pipe()
        child = os.fork()
        if not child:
            self._orders.close()
            self._test(target.tests, None, (Ready(there, reach, _limit, lambda child: _end(child)[0]),))
        there.close()
        self._orders.recv()
        try:
            yield
        finally:
            self._orders.send(None)
            self._orders.close()
            self._orders = None
            os.waitpid(child, 0)

    def meet(self, mutant: Mutant, tests: tuple[str, ...], reach: Reach, seconds: float) -> Fate:
        """Plant a mutant and run the tests that reach it, or all where none does, until one fails or hangs."""
        chosen = reach.tests(mutant)
        files = tuple(sorted({test.partition("::")[0] for test in chosen}))
        file = self.code / "takeback" / mutant.module
        order = Order(mutant, file, file.read_text(), chosen)
        with self.with_mutant(mutant):
            if not chosen:
                return self._run(tests, seconds)[0]
            if self._orders is not None and not reach.early(mutant):
                self._orders.send(order)
                fate: Fate | None = self._orders.recv()
                if fate is not None:
                    return fate
            return self._run(files, reach.limit(chosen), Chosen(chosen, reach))[0]

    def _run(self, tests: tuple[str, ...], seconds: float, *plugins: object) -> tuple[Fate, float]:
        """Run tests in a process of their own; also return how much time on a processor they used."""
        child = os.fork()
        if not child:
            self._test(tests, seconds, plugins)
        return _end(child)

    def _test(self, tests: tuple[str, ...], seconds: float | None, plugins: tuple[object, ...]) -> None:
        """Be the process that runs the tests; never returns."""
        code = 70
        try:
            if seconds is not None:
                _limit(seconds)
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            sys.dont_write_bytecode = True
            os.environ["PYTHONPATH"] = os.pathsep.join((str(self.code), str(ROOT)))
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
            sys.path[:0] = [str(self.code), str(ROOT)]
            base = f"--basetemp={self.folder / 'tests'}"
            kinds = "not long and not slow and not model"
            code = int(pytest.main(["-x", "-q", "-m", kinds, base, *tests], plugins=plugins))
        finally:
            os._exit(code)


def _limit(seconds: float) -> None:
    """Let this process use so much processor time; one that hangs is ended by the clock on the wall."""
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(2 * seconds)))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(HANGING * seconds))


def _end(child: int) -> tuple[Fate, float]:
    """Wait for a process that runs tests: what it says of a mutant, and the processor time it used."""
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    late = code in {-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL, -signal.SIGPROF}
    good = code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    return Fate.LATE if late else Fate.SURVIVED if good else Fate.KILLED, used.ru_utime + used.ru_stime


@contextmanager
def bench() -> Iterator[Bench]:
    """Open a bench, gone at the end."""
    for name in PRELOADED:
        __import__(name)
    if any(name.partition(".")[0] == "takeback" for name in sys.modules):
        raise RuntimeError("the code under test is loaded already, so no mutant of it would run")
    with TemporaryDirectory(prefix="takeback-mutants-") as folder:
        yield Bench(Path(folder))
