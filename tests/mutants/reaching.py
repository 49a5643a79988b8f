"""Which tests run which lines, learned once on the code as it is, so that a mutant first meets the tests that run it.

Two plugins for pytest: one learns, the other keeps the tests that were chosen, quickest first. A test that runs the
code only in processes of its own is not seen here: what only such a test would notice counts as surviving.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest
from tests.mutants.planting import Mutant

STATEMENT = 12
"""A line inside a long statement is looked for so many lines further up."""
EARLY = ""
"""Among the tests that run a line, stands for what is run before the first of them."""
START = 10
"""Processor seconds that any run of tests may use, however quick its tests are."""


@dataclass(frozen=True)
class Reach:
    """The tests that ran each line of each module, quickest first, and the processor time of each."""

    by_line: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    failed: str = ""
    """The tests that fail without any mutant, and how."""

    @classmethod
    def read(cls, file: Path) -> Reach:
        """What a `Learning` has written."""
        learned = json.loads(file.read_text())
        by_line = {
            module: {int(line): tests for line, tests in at.items()} for module, at in learned["by_line"].items()
        }
        return cls(by_line, learned["seconds"], learned["failed"])

    def tests(self, mutant: Mutant) -> tuple[str, ...]:
        """The tests that run the line of a mutant, quickest first; none where no test was seen there."""
        return tuple(test for test in self._at(mutant) if test != EARLY)

    def early(self, mutant: Mutant) -> bool:
        """Whether the line of a mutant is run before the first test."""
        return EARLY in self._at(mutant)

    def _at(self, mutant: Mutant) -> Sequence[str]:
        at = self.by_line.get(mutant.module, {})
        lines = range(mutant.line, max(mutant.line - STATEMENT, 0), -1)
        return next((at[line] for line in lines if line in at), ())

    def limit(self, tests: tuple[str, ...]) -> float:
        """Processor time after which tests with a mutant hang: four times what they used without one."""
        return START + 4 * sum(self.seconds[test] for test in tests)


class Learning:
    """Watches a run of tests, and writes down what each has run of some modules."""

    def __init__(self, code: Path, modules: Iterable[str], file: Path) -> None:
        self._code = code
        self._file = file
        watched = [str(code / module) for module in modules]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=watched)
        self._seconds: dict[str, float] = {}
        self._failed = ""

    def pytest_sessionstart(self) -> None:
        """Begin to watch."""
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Put what is run from here on down to this test, its fixtures among it."""
        self._coverage.switch_context(item.nodeid)
        begun = time.process_time()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = time.process_time() - begun

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that fails on the code as it is."""
        if report.failed:
            self._failed += f"{report.nodeid}\n{report.longreprtext}\n"

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        self._coverage.stop()
        data, seconds = self._coverage.get_data(), {EARLY: 0.0, **self._seconds}
        by_line = {
            str(Path(name).relative_to(self._code)): {
                line: sorted((test for test in tests if test in seconds), key=seconds.__getitem__)
                for line, tests in data.contexts_by_lineno(name).items()
            }
            for name in data.measured_files()
        }
        self._file.write_text(json.dumps({"by_line": by_line, "seconds": self._seconds, "failed": self._failed}))


class Chosen:
    """Keeps the tests that are named, in their order, and ends the process where one hangs; others are not run."""

    def __init__(self, tests: tuple[str, ...], reach: Reach) -> None:
        self._place = {test: place for place, test in enumerate(tests)}
        self._reach = reach

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Give a test its own limit: a quick one that hangs does not use up what the slow ones may take."""
        signal.setitimer(signal.ITIMER_PROF, self._reach.limit((item.nodeid,)))
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the chosen ones in order, and leave the others out."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._place), key=lambda item: self._place[item.nodeid]
        )
