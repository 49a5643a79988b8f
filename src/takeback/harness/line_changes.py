"""One-line changes of a live harness: what a line means there, with a recovery that is written for it.

The command line and `Harness.set`, `add`, `edit`, `append`, `remove` and `move` all come here. A line is worked out
from the state while the journal is held; from Python, names are taken as they are and values as JSON.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from takeback.errors import InputError, TakebackError, WrongTypeError
from takeback.harness.adapter import ValueTranslator
from takeback.harness.apply import is_idle
from takeback.harness.drift import Footing, put_changes, refuse_drift
from takeback.harness.outcomes import RefusalReason, Refused, Unchanged
from takeback.language import Candidate, NoInverse
from takeback.language.oneline import OneLine, Translate, build_program
from takeback.repair.oracle import oracle
from takeback.state import State
from takeback.state.surface import surface_by_word

if TYPE_CHECKING:
    from takeback.harness.harness import Harness

_TEXTS = ("thing", "key", "old", "new", "append", "mode")


def make_line(verb: str, thing: str, key: str, **fields: Any) -> OneLine:
    """Return a line as Python gives it: bytes are a file's content, and no sign is read from the name."""
    if isinstance(fields.get("value"), bytes):
        fields["value"] = {"base64": base64.b64encode(fields["value"]).decode()}
    line = OneLine(verb, thing, key, **{"sign": "", **fields})
    for name in _TEXTS:
        given = getattr(line, name)
        if not isinstance(given, str | None):
            raise WrongTypeError(f"{verb}: {'name' if name == 'key' else name}", given, expected="a text")
    return line


def make_append_line(thing: str, key: str, value: Any) -> OneLine:
    """Return the line that adds an item to a list or, where things are texts, lines to the end of one."""
    surface = surface_by_word(thing) if isinstance(thing, str) else None
    if surface is not None and any(kind.verb == "append" for kind in surface.kinds):
        return make_line("set", thing, key, value=value, sign="+")
    return make_line("edit", thing, key, append=value)


def prepare_line(harness: Harness, line: OneLine, state: State) -> Candidate | Refused | Unchanged:
    """Return the change that a line means on the state, with its recovery; or why there is none to make."""
    try:
        program = build_program(line, state, _make_translator(harness, state))
    except InputError:
        refused = _refuse_line_on_drift(line, harness, state)
        if refused is None:
            raise
        return refused
    candidate = oracle(program, nominal=state)
    if isinstance(candidate, NoInverse):
        return Refused(RefusalReason.VERDICT, str(candidate))
    if not is_idle(program, state):
        return candidate
    preview = harness.preview(candidate)
    return preview if isinstance(preview, Refused) else Unchanged()


def _refuse_line_on_drift(line: OneLine, harness: Harness, state: State) -> Refused | None:
    """Return a refusal where a line makes sense for things as they are, but not for what is recorded."""
    drift = harness.status().drift
    try:
        actual = put_changes(state, drift)
        build_program(line, actual, _make_translator(harness, actual))
    except TakebackError:
        return None
    return refuse_drift(Footing(state, state, drift))


def _make_translator(harness: Harness, state: State) -> Translate | None:
    """Return what makes a value as the surface has it of one as the client's own file would say it."""
    adapter = harness.adapter
    if not isinstance(adapter, ValueTranslator):
        return None
    return lambda surface, key, value: adapter.from_client_value(surface, key, value, state)
