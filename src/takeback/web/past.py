"""Any point in time: every file as it was right after an entry, what differs from now, and the way back.

A file is shown as going back there would write it. Nothing is changed here: comparing shows, and restoring leads to
its preview.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from takeback.canonical import write_pretty
from takeback.errors import InputError, TakebackError
from takeback.harness.adapter import FileAdapter, NotExpressible
from takeback.harness.entry_log import view_entry
from takeback.harness.entry_names import resolve_entry
from takeback.harness.images import FileChange, FileImage, KeptImage
from takeback.harness.records import read_slots
from takeback.journal import Record
from takeback.present.changes import find_file_differences
from takeback.present.diffs import Difference, iter_lines_after
from takeback.present.entries import make_entry_namer
from takeback.state import State
from takeback.web.pages import harness_view, is_part_wanted, render_page, render_template
from takeback.web.rows import describe_entry
from takeback.web.shelf import Shown

MOST_LINES: Final = 3000
"""Lines of a file that are shown."""


@dataclass(frozen=True, slots=True)
class PastFile:
    """One file at a point in time."""

    path: str
    differs: bool
    """Whether it is not the same now."""
    gone: bool
    """Whether it was not there."""


@dataclass(frozen=True, slots=True)
class PastView:
    """The files at a point in time, and one of them."""

    files: tuple[PastFile, ...] = ()
    chosen: str = ""
    lines: tuple[str, ...] = ()
    more: int = 0
    """Lines beyond those that are shown."""
    gone: bool = False
    """Whether the chosen file was not there."""
    difference: Difference | None = None
    """From then to now; None where nothing differs."""
    message: str = ""
    """Why it cannot be shown."""


@harness_view
def show_past(request: Request, shown: Shown) -> Response:
    """Show the files right after an entry; for a script that drags, only those."""
    harness = shown.harness
    harness.require("read")
    harness.ledger.refresh()
    newest = shown.rows.newest()
    record = resolve_entry(harness.ledger, request.query_params.get("at") or str(newest))
    harness.note_read("page", record.id, read_slots(record))
    seen = view_entry(harness, record)
    what = describe_entry(seen, make_entry_namer(harness))
    try:
        view = _look_back(shown, record, request.query_params.get("path", ""), seen.files)
    except TakebackError as fault:
        view = PastView(message=str(fault))
    values: dict[str, Any] = {"shown": shown, "entry": seen, "what": what, "newest": newest, "view": view}
    if is_part_wanted(request):
        return HTMLResponse(render_template("past_part.html", read_only=request.app.state.read_only, **values))
    return render_page(request, "past.html", **values)


def _look_back(shown: Shown, record: Record, wanted: str, touched: Sequence[str]) -> PastView:
    state = shown.past.after(record)
    changes, paths = _list_file_changes(shown, state)
    files = tuple(
        PastFile(path, path in changes, path in changes and changes[path].after is None) for path in sorted(paths)
    )
    there = {file.path for file in files}
    chosen = wanted if wanted in there else next((path for path in touched if path in there), "")
    chosen = chosen or next((file.path for file in files if file.differs), files[0].path if files else "")
    if not chosen:
        return PastView(files)
    change = changes.get(chosen) or _keep_as_it_is(shown, state, chosen)
    lines = _list_lines(chosen, change)
    difference = next(iter(find_file_differences([KeptImage(chosen, change.after, change.before)])), None)
    return PastView(
        files,
        chosen,
        tuple(lines[:MOST_LINES]),
        max(0, len(lines) - MOST_LINES),
        change.after is None,
        difference if chosen in changes else None,
    )


def _list_file_changes(shown: Shown, state: State) -> tuple[dict[str, FileChange], set[str]]:
    """Return what going back to a state would do to each file, and every file that is there then or now."""
    harness, adapter = shown.harness, shown.harness.adapter
    if not isinstance(adapter, FileAdapter):
        return _list_surface_changes(harness.state, state)
    with harness.inspect() as reading:
        rendered = adapter.render(reading.actual, state)
        if isinstance(rendered, NotExpressible):
            raise InputError("files", found=str(rendered), expected="a point that the files can be written for")
        changes = {change.path: change for change in rendered if isinstance(change.after or change.before, FileImage)}
        known = adapter.find_touched_files(State.read({}), reading.actual)
        return changes, {*changes, *(path for path in known if adapter.image(path) is not None)}


def _list_surface_changes(now: State, then: State) -> tuple[dict[str, FileChange], set[str]]:
    """Return the same for a harness without files: each surface stands for one."""
    old, new = now.write(), then.write()
    paths = {*(name for name in old if old[name]), *(name for name in new if new[name])}
    sides = {path: tuple(_make_surface_image(state.get(path)) for state in (old, new)) for path in paths}
    return {path: FileChange(path, *side) for path, side in sides.items() if side[0] != side[1]}, paths


def _make_surface_image(content: object) -> FileImage | None:
    return FileImage(f"{write_pretty(content)}\n".encode()) if content else None


def _keep_as_it_is(shown: Shown, state: State, path: str) -> FileChange:
    adapter = shown.harness.adapter
    if isinstance(adapter, FileAdapter):
        return FileChange(path, adapter.image(path), adapter.image(path))
    image = _make_surface_image(state.write().get(path))
    return FileChange(path, image, image)


def _list_lines(path: str, change: FileChange) -> list[str]:
    """Return the lines of a file as it was, masked as a difference is."""
    if change.after is None:
        return []
    differences = find_file_differences([KeptImage(path, None, change.after)])
    return [line for difference in differences for line in iter_lines_after(difference)]
