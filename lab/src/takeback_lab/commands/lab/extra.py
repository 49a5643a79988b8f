"""The `lab` extra: a library of it that is missing is named with what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from takeback.errors import MissingExtraError

EXTRA: Final = {"matplotlib", "numpy", "scipy", "statsmodels", "z3"}


@contextmanager
def lab_extra() -> Iterator[None]:
    """Do what needs the extra in here."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in EXTRA:
            raise MissingExtraError(f"{missing.name} is not installed", hint="pip install 'takeback[lab]'") from None
        raise
