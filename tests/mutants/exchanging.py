"""Mutants in a process that has loaded the code and its tests already: only the function they are in is exchanged.

A process collects the tests of a package once and forks one for each mutant, which saves nearly all of its start.
What cannot be exchanged so is refused, and has to be loaded anew: what a class says outside its functions, and what
was run before the first test.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import pytest
from tests.mutants.planting import Mutant
from tests.mutants.reaching import Chosen, Reach

Name = tuple[str, str, int]
"""A function by its file, its name there, and its first line."""


class Order(NamedTuple):
    """A mutant, the file of its module and the source of that without it, and the tests to run, in order."""

    mutant: Mutant
    file: Path
    source: str
    tests: tuple[str, ...]


class Ready:
    """Waits with all tests collected; for each order, a process forked from here exchanges a function and runs some.

    How many tests there are is sent once all is loaded: until then nothing may be planted. `begin` is called in the
    process of an order before its tests, `end` here with its id, and returns what is sent back; None is sent back
    where nothing could be exchanged.
    """

    def __init__(
        self, orders: Connection, reach: Reach, begin: Callable[[float], None], end: Callable[[int], Any]
    ) -> None:
        self._orders = orders
        self._reach = reach
        self._begin = begin
        self._end = end

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Serve orders instead of running the tests; in a process of an order, run its tests as always."""
        functions = loaded_functions()
        self._orders.send(len(session.items))
        while (order := self._orders.recv()) is not None:
            found = list(exchanges(order, functions))
            if len(found) != 1:
                self._orders.send(None)
                continue
            child = os.fork()
            if not child:
                ((function, code),) = found
                function.__code__ = code
                chosen = Chosen(order.tests, self._reach)
                chosen.pytest_collection_modifyitems(session.items)
                session.config.pluginmanager.register(chosen)
                self._begin(self._reach.limit(order.tests))
                return None
            self._orders.send(self._end(child))
        session.items.clear()
        return None


def loaded_functions() -> dict[Name, FunctionType]:
    """Every function of a module or a class that is loaded."""
    every = (found for found in gc.get_objects() if type(found) is FunctionType)
    return {(one.__code__.co_filename, one.__code__.co_qualname, one.__code__.co_firstlineno): one for one in every}


def exchanges(order: Order, functions: dict[Name, FunctionType]) -> Iterator[tuple[FunctionType, CodeType]]:
    """Functions whose code is another with the mutant of an order, and that code."""
    file = str(order.file)
    for code in _codes(compile(order.mutant.grown(order.source), file, "exec", dont_inherit=True)):
        function = functions.get((file, code.co_qualname, code.co_firstlineno))
        if function is not None and function.__code__ != code:
            yield function, code


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of the functions of a module and its classes, not of those inside functions."""
    for found in code.co_consts:
        if isinstance(found, CodeType):
            if found.co_flags & CO_OPTIMIZED:
                yield found
            else:
                yield from _codes(found)
