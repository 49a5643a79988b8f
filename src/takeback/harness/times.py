"""Times as people write them: ISO 8601, how long ago, or `yesterday`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from takeback.errors import InputError

EXPECTED: Final = "ISO 8601 such as 2031-05-27T14:30:00Z, or 90m, 2h, 3d ago"
_AGO: Final = re.compile(r"(\d{1,6})\s*([a-z]+)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WORDS: Final = {word: word for word in _UNITS.values()} | {word[:-1]: word for word in _UNITS.values()}
_SHORT: Final = {"sec": "seconds", "min": "minutes", "mins": "minutes", "hr": "hours", "hrs": "hours"}
_NAMED: Final = {"now": timedelta(0), "yesterday": timedelta(days=1)}


def read_time(text: str, now: datetime, where: str = "time") -> datetime:
    """Return the time that a text means, UTC unless it says otherwise."""
    plain = " ".join(text.lower().replace("_", " ").replace(".", " ").split()).removesuffix("ago").strip()
    if plain in _NAMED:
        return now - _NAMED[plain]
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
