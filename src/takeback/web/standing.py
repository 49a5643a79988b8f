"""How a harness stands, in one row: head, drift, unadmitted entries, last change, health.

A row never fails: what cannot be looked at says why, so that one broken journal does not hide the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict

from takeback.errors import TakebackError
from takeback.harness.log import EntryView
from takeback.web.rows import line_of
from takeback.web.tally import JournalTally

if TYPE_CHECKING:
    from takeback.web.shelf import Shown

PENDING: Final = (
    "a change is under way: it is being made just now, or its process died and the next command finishes it"
)


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last entry, in a line."""

    what: str
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the list of harnesses."""

    name: str
    where: str = ""
    link: str = ""
    """Where more of it is shown; empty if nowhere."""
    here: bool = True
    """Whether its directory was given: only then can drift be known, and anything be changed."""
    identity: str = ""
    head: str = ""
    entries: int | None = None
    drift: int | None = None
    """How many things were changed behind Takeback's back; None if that is not known."""
    unadmitted: int | None = None
    last: LastChange | None = None
    problems: tuple[str, ...] = ()
    """What needs attention; empty if all is well."""
    notes: tuple[str, ...] = ()
    """What is to be known and needs nothing done."""


class JournalColumns(TypedDict):
    """The columns that come from a journal alone."""

    identity: str
    head: str
    entries: int
    unadmitted: int
    last: LastChange | None


def standing(shown: Shown) -> Standing:
    """How a harness in a directory stands."""
    link, where = f"/{shown.number}/", shown.where
    try:
        with shown.lock:
            drift = shown.drifted()
            status = shown.harness.status()
            shown.tally.follow(shown.harness.journal.records(shown.tally.last + 1))
            newest, _ = shown.rows.page(size=1)
    except TakebackError as fault:
        return Standing(shown.name, where, link, problems=(fault.message,))
    problems = (*(str(one) for one in status.broken), *status.problems, *status.leftovers)
    if status.pending is not None:
        problems = (PENDING, *problems)
    columns = told(shown.tally)
    if newest:
        columns["last"] = LastChange(newest[0].what, newest[0].entry.at, newest[0].entry.by)
    return Standing(shown.name, where, link, drift=drift, problems=problems, notes=status.notes, **columns)


def told(tally: JournalTally) -> JournalColumns:
    """What a journal says of itself, as columns."""
    return {
        "identity": tally.identity,
        "head": tally.head,
        "entries": tally.entries,
        "unadmitted": tally.unadmitted,
        "last": None if tally.newest is None else last_of(tally.view(tally.newest)),
    }


def last_of(entry: EntryView) -> LastChange:
    """The last entry, in a line."""
    return LastChange(line_of(entry, lambda _: ""), entry.at, entry.by)
