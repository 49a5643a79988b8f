"""The guard: whether an edit of a harness's file may be made, worked out from the file's bytes before and after.

An edit with which the client would no longer load the file is denied. One that removes a guard, loosens permissions
or cannot be taken back is a person's to decide. Everything else passes, and is recorded once it is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from takeback.adapters.clients.client import ANY, Documents, Texts, ValueCheck
from takeback.adapters.clients.guarding import loosened
from takeback.agents.declared import Home, Own, PlainFile, home_of
from takeback.agents.edits import FileEdit
from takeback.agents.reducing import smallest
from takeback.canonical import compact
from takeback.errors import InputError

LONGEST: Final = 400
MOST: Final = 5
"""How many reasons are told at most."""
KEEP_VALID: Final = (
    "Keep the file valid for the client, or make the change through Takeback: the tool propose_change, "
    "or 'takeback set', 'add', 'edit'."
)
ASK_A_PERSON: Final = "A person has to agree; without one, leave this out and make the rest of the change."


class Answer(StrEnum):
    """What the guard says."""

    PASS = "pass"  # noqa: S105 - no password
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Ruling:
    """An answer, why, and what to do instead."""

    answer: Answer
    path: str = ""
    reason: str = ""
    instead: str = ""
    breaking: str = ""
    """The smallest content of the file that the client would not load for the same reason."""

    def told(self) -> str:
        """All of it, for the model and for people."""
        smallest_told = f" The smallest content that breaks it: {self.breaking}." if self.breaking else ""
        return f"Takeback: {self.path}: {self.reason}.{smallest_told} {self.instead}".strip()


PASS: Final = Ruling(Answer.PASS)


def rule(edits: Iterator[FileEdit]) -> Ruling:
    """The strictest ruling about some edits."""
    found = PASS
    for edit in edits:
        ruling = rule_one(edit)
        if ruling.answer is Answer.DENY:
            return ruling
        found = ruling if found.answer is Answer.PASS else found
    return found


def rule_one(edit: FileEdit) -> Ruling:
    """The ruling about the edit of one file."""
    home = home_of(edit.path)
    known = None if home is None else home.declared(edit.path)
    if home is None or known is None or edit.before == edit.after:
        return PASS
    place, client, declared = known
    if isinstance(declared, Own) or client is None:
        return Ruling(Answer.DENY, place, "it is Takeback's own record of changes", "Use the takeback command.")
    fault = unloadable(declared, edit.after, place)
    if fault is not None and unloadable(declared, edit.before, place) is None:
        reason, breaking = fault
        return Ruling(Answer.DENY, place, f"{client.name} would no longer load it: {reason}", KEEP_VALID, breaking)
    unrecordable = _unrecordable(home, edit)
    if unrecordable:
        return Ruling(Answer.ASK, place, f"the change could not be taken back: {unrecordable}", ASK_A_PERSON)
    reasons = () if fault is not None else _loosened(home, place, declared, edit)
    if reasons:
        return Ruling(Answer.ASK, place, "; ".join(reasons[:MOST]), ASK_A_PERSON)
    return PASS


def unloadable(declared: Documents | Texts | PlainFile, data: bytes | None, where: str) -> tuple[str, str] | None:
    """Why a client would not load a file with these bytes, and the smallest content that breaks it."""
    if data is None:
        return None
    if isinstance(declared, Documents):
        try:
            value = declared.open(data, where).value
        except InputError as fault:
            return f"{fault.where}: {fault.message}".removeprefix(f"{where}: "), ""
        return _checked(declared.check, value)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None if isinstance(declared, PlainFile) and declared.script else ("it is not UTF-8 text", "")
    return _checked(declared.check, text) if isinstance(declared, Texts) else None


def _checked(check: ValueCheck, value: Any) -> tuple[str, str] | None:
    wrong = check(value)
    if wrong is None:
        return None
    return wrong, compact(smallest(value, lambda one: check(one) == wrong))[:LONGEST] if value else ""


def _unrecordable(home: Home, edit: FileEdit) -> str:
    """Why the recorder could not record an edit; empty if it could."""
    if home.leads_out(edit.path):
        return "it is a link that leads out of the harness"
    if home.journal and "://" not in home.journal and not os.access(home.root / home.journal, os.R_OK | os.W_OK):
        return f"the journal {home.journal} cannot be written"
    return ""


def _loosened(home: Home, place: str, declared: Documents | Texts | PlainFile, edit: FileEdit) -> list[str]:
    if isinstance(declared, Documents):
        return loosened(_parts(declared, edit.before, place), _parts(declared, edit.after, place))
    if not isinstance(declared, PlainFile) or not declared.script:
        return []
    before, after = _listening(home), _listening(home)
    for parts, data in ((before, edit.before), (after, edit.after)):
        if data is not None:
            parts["files"][place] = data.decode("utf-8", "surrogateescape")
    return loosened(before, after)


def _listening(home: Home) -> dict[str, Any]:
    """The hooks of a harness, as they are."""
    found = _nothing()
    for path, documents in home.documents():
        try:
            data = (home.root / path).read_bytes()
        except OSError:
            continue
        for event, groups in _parts(documents, data, path)["listeners"].items():
            found["listeners"].setdefault(event, []).extend(groups)
    return found


def _nothing() -> dict[str, Any]:
    return {"config": {}, "tools": {}, "listeners": {}, "files": {}}


def _parts(declared: Documents, data: bytes | None, where: str) -> dict[str, Any]:
    """What a document says, by surfaces, as far as guards and permissions go; nothing where it cannot be read."""
    found = _nothing()
    try:
        value = {} if data is None else declared.open(data, where).value
    except InputError:
        return found
    if not isinstance(value, dict):
        return found
    found["config"] = value
    for one in declared.rules:
        if one.what == "ordered":
            found["config"] = _as_pairs(found["config"], one.at)
        there: Any = value
        for step in one.at:
            there = there.get(step) if isinstance(there, dict) else None
        if one.what == "servers" and isinstance(there, dict):
            found["tools"] |= {one.name + name: record for name, record in there.items()}
        elif one.what == "hooks" and isinstance(there, dict):
            groups = ((event, listed) for event, listed in there.items() if isinstance(listed, list))
            found["listeners"] |= {event: [{"options": group} for group in listed] for event, listed in groups}
    return found


def _as_pairs(value: Any, at: tuple[str, ...]) -> Any:
    """A value in which mappings at a place, whose order counts, are lists of pairs."""
    if not isinstance(value, dict):
        return value
    if not at:
        return [[key, item] for key, item in value.items()]
    return {key: _as_pairs(item, at[1:]) if at[0] in {ANY, key} else item for key, item in value.items()}
