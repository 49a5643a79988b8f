"""What to say of a directory that is no harness yet: whose files are there, and what starts tracking them."""

from __future__ import annotations

import shlex
from pathlib import Path

from takeback.adapters.roots import MANIFEST
from takeback.errors import InputError


def explain_untracked(root: Path) -> InputError:
    """Return the error for a directory without a manifest."""
    place, kinds = _find_clients(root)
    words = shlex.join(["takeback", "init", *([] if place == Path() else [str(place)])])
    line = f"`{words}`" if "'" in words else f"'{words}'"
    if kinds:
        found = f"files of {' and '.join(kinds)} that Takeback does not track yet"
        return InputError(str(place), found=found, expected="a tracked project", hint=f"{line} starts tracking them")
    return InputError(str(root), found=f"no {MANIFEST}", expected="a workspace", hint=f"{line} makes one")


def _find_clients(root: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the nearest directory with a client's files, up to the repository's top, and whose files they are."""
    from takeback.adapters.clients.init import detect  # noqa: PLC0415 - only for an error

    here = root.absolute()
    above = next((at for at, place in enumerate((here, *here.parents)) if (place / ".git").exists()), 0)
    for place in (root, *here.parents[:above]):
        kinds = detect(place)
        if kinds:
            return place, kinds
    return root, ()
