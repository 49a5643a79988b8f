"""How the tracking of a project's own files stands, for `status` and `init`: counts, rules, sizes, gaps."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from takeback.adapters.roots import find_root
from takeback.adapters.trust_record import is_trusted
from takeback.cli.output import out
from takeback.present.titles import format_count
from takeback.present.visible import escape_invisible
from takeback.track.cache import BadCacheError
from takeback.track.database import TRACK, TrackError
from takeback.track.rules import DEFAULT_SETTINGS
from takeback.track.store import TrackStats, TrackStore

SHOWN: Final = 5
UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
STEP: Final = 1024


def find_tracking(directory: Path) -> TrackStats | None:
    """Return how tracking stands in the project that a directory lies in; None where nothing is tracked."""
    root = find_root(directory)
    if not (root / TRACK).exists() or not is_trusted(str(root)):
        return None
    try:
        with TrackStore.open(root, os.environ) as store:
            return store.stats()
    except (TrackError, BadCacheError, sqlite3.Error) as fault:
        out.print(f"! {fault}: the next look begins anew", style="yellow")
        return None


def stats_to_json(stats: TrackStats) -> dict[str, Any]:
    """Return how tracking stands as JSON."""
    return asdict(stats) | {"settings": dict(stats.settings)}


def show_tracking(stats: TrackStats) -> None:
    """Print how tracking stands."""
    by = "as git would" if stats.in_git else "all but the folders of other programs (no git repository)"
    out.print(f"tracked: {format_count(stats.files, 'file')}, {by}; {stats.kept_by_git} kept by git alone")
    stored, whole = format_size(stats.stored_bytes), format_size(stats.database_bytes)
    out.print(
        f"  {format_count(stats.contents, 'content')} stored, {stored} ({whole} on disk, "
        f"{format_size(stats.growth_per_day)} a day){', sealed' if stats.sealed else ''}"
    )
    for name, value in stats.settings.items():
        if value != DEFAULT_SETTINGS[name]:
            out.print(f"  {name}: {value}")
    if stats.rows:
        out.print(f"  {format_count(stats.rows, 'row')} to be settled")
    if stats.secrets:
        out.print(f"  secrets seen, not kept: {_list(stats.secrets)}")
    if stats.unkept:
        out.print(f"  {format_count(stats.unkept, 'other file')} seen, not kept")
    if stats.nested:
        out.print(f"  projects inside, left out: {_list(stats.nested)}")


def format_size(size: int) -> str:
    """Return a number of bytes for people."""
    value, unit = float(size), 0
    while value >= STEP and unit < len(UNITS) - 1:
        value, unit = value / STEP, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if not unit else f"{value:.1f} {UNITS[unit]}"


def _list(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(escape_invisible(name) for name in names[:SHOWN]) + more
