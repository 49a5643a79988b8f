"""A fleet: every journal of one PostgreSQL database, each a row, also where its directory is on another machine.

Of a journal whose directory was not given, what its records say is shown: head, unadmitted entries, last change.
Whether anything was changed outside Takeback is not known from here, and nothing can be changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from takeback.errors import JournalCorruptError, TakebackError
from takeback.journal.url import BARE
from takeback.web.pages import render_page
from takeback.web.rows import PAGE, PENDING, EntryRow, HarnessRow, JournalTally, build_row, describe_tally

if TYPE_CHECKING:
    from takeback.journal.postgres import JournalFleet


@dataclass(frozen=True, slots=True)
class FleetRows:
    """The rows of one fleet."""

    location: str
    rows: tuple[HarnessRow, ...]
    problem: str = ""
    """Why there are none, if the database could not be asked."""


class WatchedFleet:
    """A fleet with what was read of each journal so far."""

    def __init__(self, number: int, fleet: JournalFleet) -> None:
        self.number = number
        self.fleet = fleet
        self._tallies: dict[str, JournalTally] = {}
        self._lock = RLock()

    def list_rows(self, known: list[HarnessRow]) -> FleetRows:
        """Return a row for each present journal; for a known directory, that directory's row."""
        by_identity = {row.identity: row for row in known if row.identity}
        try:
            with self._lock:
                rows = tuple(self._row(schema, by_identity) for schema in self.fleet.schemas())
        except TakebackError as fault:
            return FleetRows(self.fleet.location, (), fault.message)
        return FleetRows(self.fleet.location, rows)

    def heads(self) -> list[str]:
        """Return the last record of each present journal; nothing if the database cannot be asked."""
        try:
            with self._lock:
                return [f"{schema} {self.fleet.head(schema)[1]}" for schema in self.fleet.schemas()]
        except TakebackError:
            return []

    def _row(self, schema: str, by_identity: dict[str, HarnessRow]) -> HarnessRow:
        name, link = name_journal(schema), f"/fleet/{self.number}/{schema}"
        try:
            tally = self.follow_journal(schema)
        except TakebackError as fault:
            return HarnessRow(name, link=link, here=False, problems=(fault.message,))
        if tally.identity in by_identity:
            return replace(by_identity[tally.identity], name=name)
        problems = (PENDING,) if tally.pending is not None else ()
        return HarnessRow(name, link=link, here=False, problems=problems, **describe_tally(tally))

    def follow_journal(self, schema: str) -> JournalTally:
        """Return a journal followed to its end; raise an error if it no longer holds what was read before."""
        with self._lock:
            self.fleet.require_known_schema(schema)
            tally = self._tallies.setdefault(schema, JournalTally())
            seq, digest = self.fleet.head(schema)
            if seq < tally.last or (seq == tally.last and tally.last and digest != tally.head):
                ends = f"it ends at record {seq}, but went to record {tally.last} ({tally.head[:12]}) before"
                raise JournalCorruptError(f"{ends}: it was cut short, or is an old copy", seq=seq)
            if seq > tally.last:
                tally.follow(self.fleet.records(schema, tally.last))
            return tally

    def rows(self, schema: str, before: int | None) -> tuple[list[EntryRow], int | None]:
        """Return entries of a journal, newest first, and the number to go on from; None at the end."""
        with self._lock:
            tally = self.follow_journal(schema)
            views = [tally.view(record) for record in self.fleet.entries(schema, before, PAGE + 1)]
        more = views[PAGE - 1].seq if len(views) > PAGE else None
        return [build_row(entry, lambda _: "") for entry in views[:PAGE]], more


def name_journal(schema: str) -> str:
    """Return the name of a journal, from the URL, or that it has none."""
    return schema.removeprefix(f"{BARE}_") if schema != BARE else "(without a name)"


def show_journal(request: Request) -> Response:
    """Show the entries of one journal of a fleet, from its records."""
    watched = _find_watched(request)
    schema = request.path_params["schema"]
    if schema not in watched.fleet.schemas():
        raise HTTPException(404)
    given = request.query_params.get("before", "")
    entries, more = watched.rows(schema, int(given) if given.isdecimal() else None)
    values: dict[str, Any] = {"name": name_journal(schema), "location": watched.fleet.location, "found": entries}
    return render_page(request, "journal.html", here=request.url.path, more=more, **values)


def _find_watched(request: Request) -> WatchedFleet:
    fleets: tuple[WatchedFleet, ...] = request.app.state.shelf.fleets
    number: int = request.path_params["number"]
    if not 1 <= number <= len(fleets):
        raise HTTPException(404)
    return fleets[number - 1]
