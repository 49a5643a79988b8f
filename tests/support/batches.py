"""Hundreds of small cases in a few tests: one test a case costs more in pytest and its workers than the case does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SIZE = 50


def in_batches(
    names: str, cases: Iterable[Any], *, size: int = SIZE, name_case: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Do what `pytest.mark.parametrize` does, with `size` cases in a test; a failure names its case."""
    every = list(cases)
    assert every, f"no cases of {names}"
    batches = [every[at : at + size] for at in range(0, len(every), size)]
    parts = [name.strip() for name in names.split(",")]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(batch: Sequence[Any], **fixtures: Any) -> None:
            for case in batch:
                values = case if len(parts) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(parts, values, strict=True)))
                except BaseException as fault:
                    fault.add_note(f"in the case {name_case(case)}")
                    raise

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in parts]
        assert len(kept) == len(signature.parameters) - len(parts), f"{test.__name__} does not take {names}"
        batch = inspect.Parameter("batch", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        run.__signature__ = signature.replace(parameters=[batch, *kept])  # type: ignore[attr-defined]
        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        run.__module__ = test.__module__
        run.pytestmark = list(getattr(test, "pytestmark", ()))  # type: ignore[attr-defined]
        return pytest.mark.parametrize("batch", batches, ids=[f"{at + 1}" for at in range(len(batches))])(run)

    return decorate
