"""Names of entries, and the requests that they are used in.

An entry is named by its number (`6` or `#6`), the beginning of its id, `HEAD` for the last entry, `HEAD~2`
for the second before it, or `@{2 hours ago}` for the last one at that time; restore takes a time as well. What a
look found written in another system is an entry, too, but `HEAD` does not count it, and means the same after a look.
Undo of an undo, redo or restore is the opposite of what that record did.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from takeback.errors import InputError
from takeback.harness.entry_log import EntryView
from takeback.harness.external import is_outside
from takeback.harness.ledger import CHANGES, TOGGLES, Ledger
from takeback.harness.outcomes import Adopted, Applied, Discarded, Undone
from takeback.journal import ENTRY_KINDS, Record, resolve_record

EntryRef = str | Record | Applied | Adopted | Undone | Discarded | EntryView

_NAMED = (Record, EntryView)


def name_entry(entry: EntryRef) -> str:
    """Return the name of an entry."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, _NAMED):
        return entry.id
    record = getattr(entry, "entry", None)  # Refused, Blocked, … are answers without an entry
    if isinstance(record, Record):
        return record.id
    raise InputError("entry", found=entry, expected="the name of an entry, or what applying or undoing it gave")


def name_entries(entries: Sequence[EntryRef]) -> tuple[str, ...]:
    """Return the names of entries."""
    return tuple(map(name_entry, entries))


EXPECTED: Final = "ISO 8601 such as 2031-05-27T14:30:00Z, or 90m, 2h, 3d ago, today, yesterday, last week"
_AGO: Final = re.compile(r"(\d{1,6})\s*([a-z]+)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WORDS: Final = {word: word for word in _UNITS.values()} | {word[:-1]: word for word in _UNITS.values()}
_SHORT: Final = {"sec": "seconds", "min": "minutes", "mins": "minutes", "hr": "hours", "hrs": "hours"}
_NAMED_TIMES: Final = {
    "now": timedelta(0),
    "yesterday": timedelta(days=1),
    "week": timedelta(weeks=1),
    "last week": timedelta(weeks=1),
    "an hour": timedelta(hours=1),
    "last hour": timedelta(hours=1),
}
TODAY: Final = "today"
"""The midnight that begins this day, UTC."""


def read_time(text: str, now: datetime, where: str = "time") -> datetime:
    """Return the time that a text means, UTC unless it says otherwise."""
    plain = " ".join(text.lower().replace("_", " ").replace(".", " ").split()).removesuffix("ago").strip()
    if plain == TODAY:
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    if plain in _NAMED_TIMES:
        return now - _NAMED_TIMES[plain]
    ago = _AGO.fullmatch(plain)
    unit = None if ago is None else {**_UNITS, **_WORDS, **_SHORT}.get(ago[2])
    if ago is not None and unit is not None:
        try:
            return now - timedelta(**{unit: int(ago[1])})
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(where, found=text, expected=EXPECTED) from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


TIME = re.compile(r"[-:T]")
"""What a time has in it, and the name of an entry has not."""
OVERLONG = re.compile(r"#\d{19,}")
"""A number that no journal can reach."""
BACK = re.compile(r"HEAD(?:~(\d{0,9})|(\^*))")
"""So many entries before the last one."""
AT = re.compile(r"(?:HEAD)?@\{(.*)\}")
"""The last entry at a time."""
_HOLDING = (Applied, Undone, Adopted, Discarded)
"""What holds the record of an entry."""


ToggleRequest = tuple[Collection[int], Collection[int], Sequence[EntryRef]]
"""Entries to take back, those to bring back, and how they were named."""


def _refuse(fact: str, expected: str, hint: str = "") -> InputError:
    return InputError("entry", found=fact, expected=expected, hint=hint)


def resolve_entry(ledger: Ledger, name: str) -> Record:
    """Return the entry with a name."""
    back, at = BACK.fullmatch(name), AT.fullmatch(name)
    if back is not None:
        return _resolve_before_head(ledger, name, int(back[1] or 1) if back[1] is not None else len(back[2]))
    if at is not None:
        return find_entry_at(ledger, at[1])
    if OVERLONG.fullmatch(name):
        raise _refuse(name, "the number of an entry; 'takeback log' lists them")
    record = resolve_record(ledger.store, name)
    if record.kind not in ENTRY_KINDS:
        raise _refuse(f"{name}, a {record.kind} record", "an entry; 'takeback log' lists them")
    return record


def resolve_entry_ref(ledger: Ledger, entry: EntryRef) -> Record:
    """Return the entry that a caller refers to by name, by record, or by what holds the record."""
    record = entry.entry if isinstance(entry, _HOLDING) else entry if isinstance(entry, Record) else None
    if record is not None:
        held = ledger.store.record(record.seq)
        if held is record or held == record:
            return record
    return resolve_entry(ledger, name_entry(entry))


def _list_counted(ledger: Ledger) -> Iterator[Record]:
    return (record for record in ledger.entries() if not is_outside(record))


def _resolve_before_head(ledger: Ledger, name: str, back: int) -> Record:
    """Return an entry, counted back from the last one; what a look found written in other systems is not counted."""
    records: list[Record] = list(islice(_list_counted(ledger), back, back + 1))
    if records:
        return records[0]
    count = sum(1 for _ in _list_counted(ledger))
    raise _refuse(name, f"HEAD to HEAD~{count - 1}" if count else "an entry; the journal has none yet")


def find_last_live(ledger: Ledger) -> Record:
    """Return the newest live change, which an undo without names takes back: repeating it goes further back."""
    for record in ledger.entries():
        if record.kind in CHANGES and record.number not in ledger.history.undone and not is_outside(record):
            return record
    raise InputError(
        "undo",
        found="no live change",
        expected="a change to undo",
        hint="'takeback log' lists entries and their status",
    )


def build_undo_request(
    ledger: Ledger, entries: Sequence[EntryRef], asked: Sequence[EntryRef] | None = None
) -> ToggleRequest:
    """Take entries back; without names, the newest change that is live. `asked` is how they were named, if not so."""
    undone = ledger.history.undone
    entries = entries or (find_last_live(ledger),)
    asked = asked or entries
    if len(entries) == 1:  # the everyday request, without the cost of the others
        record = resolve_entry_ref(ledger, entries[0])
        number = record.number
        if record.kind in CHANGES and number is not None and number not in undone:
            return (number,), (), asked
    off: set[int] = set()
    on: set[int] = set()
    for entry, name_given in zip(entries, asked, strict=True):
        record = resolve_entry_ref(ledger, entry)
        if record.kind in CHANGES and record.number not in undone:
            off.add(record.entry)
            continue
        name = name_entry(name_given)
        _require_made(ledger, record, name)
        if record.kind in CHANGES:
            hint = f"'takeback redo {record.entry}' brings it back"
            raise _refuse(f"{name}, which is already undone", "a live entry", hint)
        if record.kind not in TOGGLES:
            hint = "'takeback log' lists the changes; 'takeback restore 1' goes back to the beginning"
            raise _refuse(f"{name}, the beginning of the journal", "a change", hint)
        more_off, more_on = invert_toggle(ledger, record)
        off |= more_off
        on |= more_on
    return _build_request(off, on, asked)


def build_redo_request(ledger: Ledger, names: Sequence[str]) -> ToggleRequest:
    """Bring entries back; without names, what is left of the last undo of which anything is still in force."""
    if not names:
        return _invert_last_undo(ledger)
    off: set[int] = set()
    on: set[int] = set()
    for name in names:
        record = resolve_entry(ledger, name)
        _require_made(ledger, record, name)
        if record.kind in TOGGLES:
            more_off, more_on = invert_toggle(ledger, record)
            off |= more_off
            on |= more_on
        elif record.number in ledger.history.undone:
            on.add(record.entry)
        else:
            hint = "'takeback log' shows which entries are undone"
            raise _refuse(f"{name}, which is not undone", "an undone entry", hint)
    return _build_request(off, on, names)


def _invert_last_undo(ledger: Ledger) -> ToggleRequest:
    """Invert the last undo still in force: what no later undo, redo or restore decided."""
    decided: set[int] = set()
    for record in ledger.entries():
        if record.kind not in TOGGLES or ledger.is_aborted(record):
            continue
        taken, back = record.off, record.on
        if record.kind == "undo" and not ledger.history.undone.isdisjoint(set(taken) - decided):
            off, on = invert_toggle(ledger, record)
            return _build_request(off - decided, on - decided, (record.id,))
        decided.update(taken, back)
    raise InputError(
        "redo",
        found="no active undo",
        expected="an undone entry",
        hint="'takeback log' shows which entries are undone",
    )


def build_restore_request(ledger: Ledger, name: str) -> ToggleRequest:
    """Build the request that takes back and brings back all it takes to restore an entry or a time."""
    target = find_entry_at(ledger, name) if _is_time(name) else resolve_entry(ledger, name)
    undone = set(ledger.history.undone)
    changes_after: set[int] = set()
    for record in ledger.entries():
        if record.seq <= target.seq:
            break
        if record.kind in CHANGES:
            changes_after.add(record.entry)
        elif not ledger.is_aborted(record):
            undone.update(record.on)
            undone.difference_update(record.off)
    now = ledger.history.undone
    at = target.entry
    off = (changes_after - now) | {entry for entry in undone - now if entry <= at}
    on = {entry for entry in now - undone if entry <= at}
    return _build_request(off, on, (name,))


def _is_time(name: str) -> bool:
    """Tell whether a name is a time: it has what only times have, or is one of the words for them."""
    if AT.fullmatch(name):
        return False
    plain = name.strip().lower()
    return bool(TIME.search(name)) or plain in {*_NAMED_TIMES, TODAY} or plain.endswith(" ago")


def find_entry_at(ledger: Ledger, text: str) -> Record:
    """Return the last entry at or before a time; refuse a time that the clock showed twice, since it was set back.

    An entry whose time has not come yet was written under a wrong clock: it goes with the one before it.
    """
    now = datetime.now(UTC)
    time = read_time(text, now)
    records: list[Record] = []
    later, first = True, ""
    for record in ledger.entries():
        first = record.created_at
        made = datetime.fromisoformat(first)
        if made <= time or (time >= now and made > now):
            records += [record] if later else []
            later = False
        elif made <= now:
            later = True
    if not records:
        raise InputError(
            "time",
            found=text,
            expected=f"a time at or after the beginning of the journal, {first}",
            hint="'takeback restore 1' goes back to the beginning, 'takeback log -n 0' lists every entry",
        )
    if len(records) > 1:
        names = " or ".join(f"'#{record.entry}'" for record in reversed(records))
        raise InputError(
            "time",
            found=f"{text}, which the clock showed more than once: it was set back",
            expected=f"the entry that is meant, such as {names}",
        )
    return records[0]


def invert_toggle(ledger: Ledger, record: Record) -> tuple[set[int], set[int]]:
    """Return what a record took back and is still back, to be brought back; and the other way round."""
    undone = ledger.history.undone
    off = {entry for entry in record.on if entry not in undone}
    on = {entry for entry in record.off if entry in undone}
    if not off and not on:
        fact = f"{record.id[:12]}, which no longer has any effect"
        raise _refuse(fact, f"an active {record.kind}", "'takeback log' shows what is in effect")
    return off, on


def _require_made(ledger: Ledger, record: Record, name: str) -> None:
    if ledger.is_aborted(record):
        fact = f"{name}, which was given up before it was complete and had no effect"
        raise _refuse(fact, "an entry that took effect", "'takeback log' shows the status of each entry")


def _build_request(off: set[int], on: set[int], asked: Sequence[EntryRef]) -> ToggleRequest:
    if on and not off.isdisjoint(on):
        both = off & on
        raise InputError(
            "entries", found=f"#{min(both)} to be both undone and brought back", expected="one of the two"
        )
    return off, on, asked
