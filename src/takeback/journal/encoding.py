"""The journal's texts: canonical JSON in ASCII, stored and hashed, and reading it back as what it must be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from takeback import canonical
from takeback.canonical import Json, sha256
from takeback.errors import InputError, JournalCorruptError, OperationFailed

__all__ = ["Json", "decode", "encode", "sha256", "trusting"]


def encode(value: Json) -> str:
    """The canonical text of a JSON value."""
    return canonical.encode(value, ascii_only=True)


def decode(text: str | bytes) -> Any:
    """The value of a canonical text."""
    return canonical.decode(text if isinstance(text, str) else text.decode())


@contextmanager
def trusting(what: str, *, seq: int | None = None) -> Iterator[None]:
    """Read something the journal wrote; if it is not of the form it must have, that is damage and says so."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as fault:
        raise JournalCorruptError(f"{what} is not what a journal holds ({type(fault).__name__})", seq=seq) from fault
    except (InputError, OperationFailed) as fault:
        raise JournalCorruptError(f"{what} is not what a journal holds ({fault.message})", seq=seq) from fault
