"""The guard: whether an edit of a harness's file may be made, worked out from the file's bytes before and after.

An edit with which the client would no longer load the file is denied. One that removes a guard, loosens permissions
or cannot be taken back is a person's to decide. Everything else passes, and is recorded once it is made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from takeback.adapters.clients.client import Client, Documents, Texts, ValueCheck
from takeback.adapters.clients.guarding import loosened
from takeback.agents.declared import Home, Own, PlainFile, declared_as
from takeback.agents.document_parts import LARGEST, empty_parts, merge_parts, parts_around, parts_of, read_value
from takeback.agents.edits import FileEdit
from takeback.agents.reducing import smallest, smallest_text
from takeback.canonical import compact
from takeback.errors import InputError
from takeback.present.secrets import masked_text

LONGEST: Final = 400
MOST: Final = 5
"""How many reasons are told at most."""
REDUCED: Final = 16 * 1024
"""Of a larger file the smallest content that breaks it is not looked for: each try reads what is left of it."""
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
        return masked_text(f"Takeback: {self.path}: {self.reason}.{smallest_told} {self.instead}".strip())


PASS: Final = Ruling(Answer.PASS)


def rule(edits: Iterator[FileEdit], cwd: str = "") -> Ruling:
    """Return the strictest ruling about some edits; `cwd` is where the agent works."""
    found = PASS
    for edit in edits:
        ruling = rule_one(edit, cwd)
        if ruling.answer is Answer.DENY:
            return ruling
        found = ruling if found.answer is Answer.PASS else found
    return found


def rule_one(edit: FileEdit, cwd: str = "") -> Ruling:
    """Return the ruling about the edit of one file."""
    known = declared_as(edit.path, cwd)
    if known is None or edit.before == edit.after:
        return PASS
    home, place, client, declared = known
    if isinstance(declared, Own) or client is None:
        return Ruling(Answer.DENY, place, "it is Takeback's own record of changes", "Use the takeback command.")
    size = max(len(edit.before or b""), len(edit.after or b""))
    if isinstance(declared, Documents) and size > LARGEST:
        reason = f"it has {size:,} bytes, and the guard reads at most {LARGEST:,} of a settings file"
        return Ruling(Answer.ASK, place, reason, ASK_A_PERSON)
    fault = unloadable(declared, edit.after, place)
    if fault is not None and unloadable(declared, edit.before, place) is None:
        reason, breaking = fault
        return Ruling(Answer.DENY, place, f"{client.name} would no longer load it: {reason}", KEEP_VALID, breaking)
    unrecordable = _unrecordable(home, edit)
    if unrecordable:
        return Ruling(Answer.ASK, place, f"the change could not be taken back: {unrecordable}", ASK_A_PERSON)
    reasons = () if fault is not None else _loosened(home, place, client, declared, edit)
    if reasons:
        return Ruling(Answer.ASK, place, "; ".join(reasons[:MOST]), ASK_A_PERSON)
    return PASS


def weigh_edits(root: str, edits: Iterable[FileEdit]) -> list[str]:
    """Return what edits of a harness's files loosen, whoever makes them, and which are too large to tell."""
    found: list[str] = []
    for edit in edits:
        known = declared_as(os.path.join(root, edit.path))
        if known is None:
            continue
        home, place, client, declared = known
        if isinstance(declared, Own) or client is None:
            continue
        if isinstance(declared, Documents) and max(len(edit.before or b""), len(edit.after or b"")) > LARGEST:
            found.append(f"{place} is too large to tell what it loosens")
        else:
            found += _loosened(home, place, client, declared, edit)
    return list(dict.fromkeys(found))


def unloadable(declared: Documents | Texts | PlainFile, data: bytes | None, where: str) -> tuple[str, str] | None:
    """Why a client would not load a file with these bytes, and the smallest content that breaks it."""
    if data is None:
        return None
    if isinstance(declared, Documents):
        try:
            value = declared.open(data, where).value
        except InputError as fault:
            reason = f"{fault.where}: {fault.message}".removeprefix(f"{where}: ")
            return reason, _malformed(declared, data, fault.message)
        return _checked(declared.check, value, len(data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None if isinstance(declared, PlainFile) and declared.script else ("it is not UTF-8 text", "")
    return _checked(declared.check, text, len(data)) if isinstance(declared, Texts) else None


def _malformed(declared: Documents, data: bytes, message: str) -> str:
    """The smallest content that cannot be read for the same reason."""
    try:
        text = data.decode() if len(data) <= REDUCED else ""
    except UnicodeDecodeError:
        return ""

    def malformed(shorter: str) -> bool:
        found = ""
        try:
            bool(declared.open(shorter.encode(), "").value)  # some formats are read only now
        except InputError as fault:
            found = fault.message
        return _unplaced(found) == _unplaced(message)

    return smallest_text(text, malformed)[:LONGEST] if text else ""


def _unplaced(message: str) -> str:
    """A message without the lines and columns in it."""
    return "".join(char for char in message if not char.isdigit())


def _checked(check: ValueCheck, value: Any, size: int) -> tuple[str, str] | None:
    wrong = check(value)
    if wrong is None:
        return None
    if size > REDUCED:
        return wrong, ""
    if isinstance(value, str):
        return wrong, smallest_text(value, lambda one: check(one) == wrong)[:LONGEST]
    return wrong, compact(smallest(value, lambda one: check(one) == wrong))[:LONGEST] if value else ""


def _unrecordable(home: Home, edit: FileEdit) -> str:
    """Why the recorder could not record an edit; empty if it could."""
    if home.leads_out(edit.path):
        return "it is a link that leads out of the harness"
    place = os.path.join(home.root, home.journal)
    if home.journal and "://" not in home.journal and not os.access(place, os.R_OK | os.W_OK):
        return f"the journal {home.journal} cannot be written"
    return ""


def _loosened(
    home: Home, place: str, client: Client, declared: Documents | Texts | PlainFile, edit: FileEdit
) -> list[str]:
    others = [other.name for other in home.clients if other.name != client.name]
    clients = (client.name, *others)
    if isinstance(declared, Texts) or (isinstance(declared, PlainFile) and not declared.script):
        texts = (edit.before or b"", edit.after or b"")
        old, new = ({**empty_parts(), "prompts": {place: text.decode("utf-8", "replace")}} for text in texts)
        return loosened(old, new, clients)
    before, after = (parts_around(home, place, client.name) for _ in range(2))
    for parts, data in ((before, edit.before), (after, edit.after)):
        if isinstance(declared, Documents):
            merge_parts(parts, parts_of(declared, read_value(declared, data, place), place))
        elif data is not None:
            parts["files"][place] = data.decode("utf-8", "surrogateescape")
    return loosened(before, after, clients)
