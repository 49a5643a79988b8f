"""A ninth surface, as another package would bring it: names of alarms and their hours."""

from __future__ import annotations

import random

from takeback.errors import InputError
from takeback.state import Level
from takeback.state.keyed_surface import KeyedSurface, make_keyed_kinds


class Alarms(KeyedSurface):
    """Name → hour."""

    name = "alarms"
    kinds = make_keyed_kinds(
        Level.L0,
        capture_name="capture_alarm",
        forward="set_alarm",
        restore_name="restore_alarm",
        remove="cancel_alarm",
        schema={"type": "integer", "minimum": 0, "maximum": 23},
    )

    def content(self, key: str, raw: object, where: str) -> int:
        if type(raw) is not int or not 0 <= raw <= 23:
            raise InputError(where, found=raw, expected="an hour from 0 to 23")
        return raw

    def sample(self, key: str, rng: random.Random) -> int:
        return rng.randrange(1, 23)

    def extreme(self, key: str, rng: random.Random) -> int:
        return rng.choice((0, 23))

    def generic(self, key: str, salt: str) -> str:
        return f"{salt}-{key}"
