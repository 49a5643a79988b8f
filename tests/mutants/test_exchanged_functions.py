"""A mutant is met by exchanging the one function it is in, where that is enough; for the next one it is as before."""

from __future__ import annotations

import os
from multiprocessing import Pipe

import pytest
from tests.mutants.exchanging import Order, Ready, exchanges, loaded_functions
from tests.mutants.planting import mutants_of
from tests.mutants.reaching import EARLY, Reach

pytest_plugins = ["pytester"]

CODE = """
def low(one):
    def inner():
        return one + 1
    return inner()


class Some:
    limit = 3

    @property
    def high(self):
        return self.limit > 2
"""
TESTS = """
import exchanged

def test_low():
    assert exchanged.low(1) == 2

def test_high():
    assert exchanged.Some().high
"""


@pytest.fixture
def module(pytester, monkeypatch):
    code = pytester.mkdir("code")
    monkeypatch.syspath_prepend(code)
    file = code / "exchanged.py"
    file.write_text(CODE)
    pytester.makepyfile(test_it=TESTS)
    return file


def mutants():
    return {mutant.before: mutant for mutant in mutants_of("exchanged.py", CODE)}


def answers(pytester, orders):
    """What a process that stands ready says: how many tests it has, then how the process of each order ended."""
    here, there = Pipe()
    child = os.fork()
    if not child:
        reach = Reach({}, {"test_it.py::test_low": 0.0, "test_it.py::test_high": 0.0})
        end = lambda child: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])  # noqa: E731
        os._exit(int(pytester.inline_run("-x", plugins=[Ready(there, reach, lambda _: None, end)]).ret))
    found = [here.recv()]
    for order in orders:
        here.send(order)
        found.append(here.recv())
    here.send(None)
    os.waitpid(child, 0)
    return found


def test_each_order_runs_its_tests_with_its_mutant_and_with_no_other(module, pytester):
    low, high = ("test_it.py::test_low",), ("test_it.py::test_high",)
    inner, two, limit = (mutants()[name] for name in ("one + 1", "2", "3"))
    orders = [
        Order(inner, module, CODE, high),
        Order(inner, module, CODE, low),
        Order(two, module, CODE, low),
        Order(two, module, CODE, high),
        Order(limit, module, CODE, high),
    ]
    survived, killed, refused = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, None
    assert answers(pytester, orders) == [2, survived, killed, survived, killed, refused]


def test_only_the_function_around_a_mutant_is_exchanged(module):
    import exchanged

    functions = loaded_functions()
    found = {name: list(exchanges(Order(one, module, CODE, ()), functions)) for name, one in mutants().items()}
    assert [function for function, _ in found["one + 1"]] == [exchanged.low]
    assert [function for function, _ in found["2"]] == [exchanged.Some.high.fget]
    assert found["3"] == []


def test_lines_run_before_the_first_test_are_marked_early():
    early, late = (mutants()[name] for name in ("one + 1", "2"))
    reach = Reach({"exchanged.py": {early.line: [EARLY, "a"], late.line: ["a"]}}, {"a": 0.0})
    assert (reach.early(early), reach.early(late)) == (True, False)
    assert reach.tests(early) == reach.tests(late) == ("a",)
