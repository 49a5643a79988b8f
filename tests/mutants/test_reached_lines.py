"""A mutant meets the tests that run its line, quickest first; one that no test was seen to run meets all of them."""

from __future__ import annotations

import os
import signal

from tests.mutants.planting import Mutant
from tests.mutants.reaching import START, Chosen, Learning, Reach

pytest_plugins = ["pytester"]


def mutant_at(line: int, module: str = "m.py") -> Mutant:
    return Mutant(module, 0, line, "f", "1", "1", "2")


def test_a_line_is_put_down_to_the_tests_that_run_it_and_to_no_other(pytester, monkeypatch):
    code = pytester.mkdir("code")
    (code / "other.py").write_text("TWO = 2\n")
    (code / "counted.py").write_text("def low():\n    return 1\n\n\ndef high():\n    return 2\n")
    monkeypatch.syspath_prepend(code)
    pytester.makepyfile(
        "import counted, other\n"
        "def test_slow():\n    assert sum(counted.low() for _ in range(100_000)) == 100_000\n"
        "def test_quick():\n    assert counted.low() == 1\n"
        "def test_other():\n    assert counted.high() == other.TWO\n"
    )
    file = pytester.path / "reach.json"
    assert pytester.inline_run(plugins=[Learning(code, ["counted.py"], file)]).ret == 0
    reach = Reach.read(file)
    assert reach.tests(mutant_at(1, "other.py")) == ()
    low, high = reach.tests(mutant_at(2, "counted.py")), reach.tests(mutant_at(6, "counted.py"))
    assert [test.rpartition("::")[2] for test in low] == ["test_quick", "test_slow"]
    assert [test.rpartition("::")[2] for test in high] == ["test_other"]
    assert reach.limit(low) > reach.limit(low[:1]) >= START


def test_a_line_inside_a_long_statement_belongs_to_the_statement(tmp_path):
    reach = Reach({"m.py": {3: ["a"], 9: ["b"]}}, {"a": 0.0, "b": 0.0})
    assert reach.tests(mutant_at(5)) == ("a",)
    assert reach.tests(mutant_at(9)) == ("b",)
    assert reach.tests(mutant_at(2)) == ()
    assert reach.tests(mutant_at(3, "other.py")) == ()


def test_the_chosen_tests_run_in_their_order_and_others_do_not(pytester):
    pytester.makepyfile(test_some="def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n")
    names = ("test_some.py::test_c", "test_some.py::test_a", "gone.py::test_x")
    run = pytester.inline_run(plugins=[Chosen(names, Reach({}, dict.fromkeys(names, 0.0)))])
    assert [
        report.nodeid.rpartition("::")[2]
        for report in run.getreports("pytest_runtest_logreport")
        if report.when == "call"
    ] == [
        "test_c",
        "test_a",
    ]
    assert run.ret == 0


def test_a_chosen_test_that_hangs_ends_its_process_by_its_own_limit(pytester, monkeypatch):
    monkeypatch.setattr("tests.mutants.reaching.START", 0.2)
    pytester.makepyfile(test_some="def test_quick():\n    while True: pass\ndef test_slow(): pass\n")
    seconds = {"test_some.py::test_quick": 0.0, "test_some.py::test_slow": 1e6}
    child = os.fork()
    if not child:
        pytester.inline_run(plugins=[Chosen(tuple(seconds), Reach({}, seconds))])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGPROF
