"""Mutants are what they say they are: one change, in the place they name, and nothing else."""

from __future__ import annotations

import ast

import pytest
from tests.mutants.planting import mutants_of
from tests.mutants.targets import ASKED, TARGETS

SOURCE = '''
"""A module."""
LIMIT = 5

class Some:
    """Something."""

    def __repr__(self) -> str:
        return "some" + 1

    def act(self, one: int, two: bool = False) -> int:
        """Act."""
        if one < 3 and not two:
            self.note(one)
        for each in self.all:
            if each.gone:
                continue
            one += each
        if one == 0:
            raise ValueError("none" + str(1 + 2))
        return one - 1
'''


def changes(source: str) -> list[tuple[str, str]]:
    return [(mutant.before, mutant.after) for mutant in mutants_of("m.py", source)]


def test_each_changeable_expression_is_changed_once():
    assert [(before, after) for before, after in changes(SOURCE) if not before.startswith(("if", "raise"))] == [
        ("one < 3 and (not two)", "one < 3 or not two"),
        ("one < 3", "one <= 3"),
        ("3", "4"),
        ("not two", "two"),
        ("self.note(one)", "pass"),
        ("continue", "break"),
        ("one += each", "pass"),
        ("one == 0", "one != 0"),
        ("0", "1"),
        ("one - 1", "one + 1"),
        ("1", "2"),
    ]
    whole = [before for before, _ in changes(SOURCE) if before.startswith(("if", "raise"))]
    assert whole == ["if each.gone: continue", "raise ValueError('none' + str(1 + 2))"]


def test_a_mutant_differs_from_its_module_and_names_the_function_it_is_in():
    good = ast.unparse(ast.parse(SOURCE))
    mutants = list(mutants_of("m.py", SOURCE))
    planted = [mutant.planted(SOURCE) for mutant in mutants]
    assert len({good, *planted}) == len(mutants) + 1
    assert {mutant.function for mutant in mutants} == {"Some.act"}
    assert mutants[0].key == (
        "m.py Some.act: `one < 3 and (not two)` → `one < 3 or not two` in `if one < 3 and (not two): self.note(one)`"
    )
    assert len({mutant.key for mutant in mutants}) == len(mutants)


def test_a_sample_is_the_same_for_the_same_seed_and_part_of_all():
    target = TARGETS[0]
    some = target.sample(10, 1)
    assert some == target.sample(10, 1) != target.sample(10, 2)
    assert set(some) <= set(target.sample(None, 1))
    assert len(some) == 10


def test_mutants_with_the_same_words_have_names_of_their_own():
    keys = [mutant.key for mutant in mutants_of("m.py", "def act(one):\n    return one[0], one[0]\n")]
    assert keys == [f"m.py act: `0` → `1` in `return (one[0], one[0])`{number}" for number in ("", " (2)")]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_every_target_has_mutants_and_tests_that_are_there(target):
    from tests.mutants.running import ROOT

    keys = [mutant.key for mutant in target.mutants()]
    assert len(set(keys)) == len(keys) > 0
    assert all((ROOT / test).exists() for test in target.tests if not test.startswith("-"))
    assert set(ASKED) <= {one.name for one in TARGETS}
