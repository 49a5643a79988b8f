"""Progress bars: on a terminal's stderr, never where JSON was asked for, and gone when the work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from takeback.cli.output import err, shows_progress
from takeback.cli.pulse import pulse

Advance = Callable[[int, int], None]
"""Say how much is done, and of how much."""


@contextmanager
def bar(label: str, unit: Literal["units", "bytes"] = "units") -> Iterator[Advance]:
    """Show a bar while the block runs; where nobody would see it, nothing."""
    if not shows_progress():
        yield lambda _done, _of: None
        return
    from rich.progress import (  # noqa: PLC0415 - start-up
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    pulse.end()
    count = MofNCompleteColumn() if unit == "units" else DownloadColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn())
    with Progress(*columns, console=err.console, transient=True) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)
