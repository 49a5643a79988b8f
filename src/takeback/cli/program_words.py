"""The words that start this very program, for those who are to call it later."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def own_program() -> list[str]:
    """The program's name where that is found, otherwise where it is."""
    beside = Path(sys.prefix) / "bin" / "takeback"
    named = shutil.which("takeback")
    if named is not None and (not beside.exists() or Path(named).resolve() == beside.resolve()):
        return ["takeback"]
    return [str(beside)] if beside.exists() else [sys.executable, "-m", "takeback"]
