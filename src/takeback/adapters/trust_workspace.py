"""Trusts a harness that came from elsewhere, after a look at it that acts on nothing.

A copy of a harness whose journal is in a database is refused as long as the original is there: one journal holds the
history of one directory.
"""

from __future__ import annotations

import shlex
from contextlib import closing
from os import PathLike
from pathlib import Path

from takeback.adapters.manifest import KEYS, PRIVATE, Manifest
from takeback.adapters.open_by_manifest import demand_no_links, manifest_of
from takeback.adapters.trust_gate import find_other_owner, record_trust
from takeback.errors import HarnessError, TakebackError
from takeback.harness.images import images_of
from takeback.harness.ledger import Ledger
from takeback.journal import open_journal
from takeback.journal.url import shown
from takeback.state.installed import install_surfaces


def trust_workspace(path: str | PathLike[str], *, keys: str | PathLike[str] | None = None) -> tuple[str, ...]:
    """Record that a harness is trusted; returns the files of a change that is under way in it."""
    install_surfaces()
    root = Path(path)
    manifest = manifest_of(root)
    demand_no_links(root, PRIVATE)
    _demand_sole_owner(root, manifest)
    if "://" in manifest.workspace.journal:
        record_trust(root, manifest)
        return ()
    try:
        demand_no_links(root, manifest.workspace.journal)
        place = root / manifest.workspace.journal
        store = open_journal(place, create=False, keys=keys or root / KEYS, readonly=True)
    except TakebackError:
        record_trust(root, manifest)  # what is wrong with its journal is said by the next command
        return ()
    with closing(store):
        record_trust(root, manifest, store)
        try:
            pending = Ledger(store).pending
            images = () if pending is None else images_of(store, pending) or ()
        except TakebackError:
            return ()
        return tuple(image.path for image in images)


def _demand_sole_owner(root: Path, manifest: Manifest) -> None:
    """Refuse a copy of a harness that is still there, where both would write to one journal."""
    other = find_other_owner(root, manifest)
    if other is not None:
        words = shlex.join(["takeback", "trust", str(root), "--journal"])
        raise HarnessError(
            f"{root} has the same journal as {other}, which is still there: {shown(manifest.workspace.journal)}; one "
            "journal holds the history of one directory, and nothing was changed",
            hint=f"give this one a journal of its own: {words} .takeback/journal.db (or a URL that ends in another "
            f"#name), or delete {other} first",
        )
