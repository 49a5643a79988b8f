"""Hints that work when copied: commands in them name the workspace, where the one that prints them was told one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

ELSEWHERE: Final = frozenset(
    {
        "bench",
        "demo",
        "evolve",
        "gate",
        "hook",
        "init",
        "lab",
        "model",
        "oracle",
        "propose",
        "prove",
        "repair",
        "schema",
        "states",
    }
    | {"tasks", "torture", "trust", "verify", "web"}
)
"""Commands that take no `--dir`, or mean something else by it."""
_HINT: Final = re.compile(r"'takeback ([a-z-]+)((?: [^'\n]*)?)'|`takeback ([a-z-]+)((?: [^`\n]*)?)`")


class _Workspace:
    """The workspace that the running command was told; nothing where it is found from here."""

    words: tuple[str, ...] = ()


def told(directory: Path) -> None:
    """Remember which workspace the command was told."""
    _Workspace.words = () if directory == Path() else ("-C", str(directory))


def line(*words: str) -> str:
    """A command line for the same workspace."""
    return shlex.join(["takeback", *words, *_Workspace.words])


def here(text: str) -> str:
    """A text with hints for the same workspace."""
    return _HINT.sub(_completed, text) if _Workspace.words else text


def _completed(found: re.Match[str]) -> str:
    command, rest = (found[1], found[2]) if found[1] else (found[3], found[4])
    if command in ELSEWHERE or rest.endswith("--help"):
        return found[0]
    more = shlex.join(_Workspace.words)
    said, dashes, values = rest.partition(" -- ")
    whole = f"takeback {command}{said} {more}{dashes}{values}"
    return f"`{whole}`" if "'" in whole else f"'{whole}'"
