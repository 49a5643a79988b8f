"""The guard: whether an edit of a harness's file may be made, from the bytes before and after.

An edit with which the client would no longer load the file is denied. An edit that removes a guard, loosens
permissions or cannot be taken back is a person's to decide. Everything else passes without a word, so that
the client's own permissions decide as always. No file larger than the guard's bound is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.adapters.clients.client import ANY, Client, Documents, Texts, ValueCheck
from takeback.adapters.clients.ownership import PlainFile
from takeback.adapters.clients.permissions import find_loosened_permissions
from takeback.adapters.roots import PRIVATE, find_root_text
from takeback.adapters.trust_record import is_trusted
from takeback.agents.declared_files import Home, Own, can_be_ours, find_declared_file
from takeback.agents.fast_capture import is_tracked
from takeback.agents.fast_hook import TELLS, Event, note_tool_call
from takeback.agents.hook_dialects import refuse_call
from takeback.agents.hook_events import FileEdit, list_edits, list_named_paths
from takeback.canonical import write_compact
from takeback.errors import InputError, TakebackError
from takeback.secret_mask import mask_text_secrets
from takeback.shrink import limit_tries, list_smaller_json, shrink_by_steps, shrink_pieces

LARGEST: Final = 256 * 1024
"""So many bytes of a settings file are read at most: an agent waits, and reading a megabyte takes seconds."""
DocumentParts = dict[str, dict[str, Any]]
"""What documents say, by the surfaces that count here."""


def _merge_parts(*parts: DocumentParts) -> DocumentParts:
    """Return what several documents say together; of no document, the surfaces with nothing on them."""
    merged: DocumentParts = {"config": {}, "tools": {}, "listeners": {}, "files": {}, "prompts": {}}
    for each in parts:
        for surface, values in each.items():
            for key, value in values.items():
                earlier = merged[surface].get(key, []) if surface == "listeners" else []
                merged[surface][key] = [*earlier, *value] if surface == "listeners" else value
    return merged


def _read_value(declared: Documents, data: bytes | None, where: str) -> Any:
    """Return what a document holds; nothing where it is not there, cannot be read or is too large."""
    if data is None or len(data) > LARGEST:
        return {}
    try:
        return declared.open(data, where).value
    except InputError:
        return {}


def _list_parts_around(home: Home, place: str, mine: str) -> Iterator[DocumentParts]:
    """Yield what the documents of a harness say, all but the one at a place; `mine` is whose names are bare."""
    for client, path, documents in home.documents():
        if path == place:
            continue
        try:
            with open(os.path.join(home.root, path), "rb") as file:
                data = file.read(LARGEST + 1)
        except OSError:
            continue
        parts = _read_parts(documents, _read_value(documents, data, path), path)
        for surface in ("config", "tools") if client != mine else ():
            parts[surface] = {f"{client}:{key}": value for key, value in parts[surface].items()}
        yield parts


def _read_parts(declared: Documents, value: Any, place: str) -> DocumentParts:
    """Return what a document says, by surfaces."""
    parts = _merge_parts()
    if not isinstance(value, dict):
        return parts
    start, star, end = declared.path.partition(ANY)
    name = place.removeprefix(start).removesuffix(end) if star else ""
    scope = declared.scope.replace("{}", name)
    config = value
    for rule in declared.rules:
        own = _build_prefix(scope if rule.scope is None else rule.scope)
        for at, inside in _find_at(value, rule.at):
            if rule.what == "servers" and isinstance(inside, dict):
                parts["tools"] |= {own + rule.name + key: record for key, record in inside.items()}
            elif rule.what == "hooks" and isinstance(inside, dict):
                groups = {event: listed for event, listed in inside.items() if isinstance(listed, list)}
                parts["listeners"] |= {own + event: [{"options": each} for each in groups[event]] for event in groups}
            elif rule.what == "text" and isinstance(inside, str):
                parts["prompts"][rule.name.replace("{}", name)] = inside
            elif rule.what in {"servers", "hooks"}:
                continue  # such as the path of a file that has them: a setting like any other
            config = _order_as_pairs(config, at) if rule.what == "ordered" else _remove_at(config, at)
    parts["config"] = {_build_prefix(scope) + key: item for key, item in config.items()}
    return parts


def _build_prefix(scope: str) -> str:
    return f"{scope}:" if scope else ""


def _find_at(value: Any, steps: tuple[str, ...], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not steps:
        yield path, value
    elif isinstance(value, dict):
        for key in list(value) if steps[0] == ANY else [steps[0]]:
            if key in value:
                yield from _find_at(value[key], steps[1:], (*path, key))


def _remove_at(value: dict[str, Any], at: tuple[str, ...]) -> dict[str, Any]:
    if len(at) == 1:
        return {key: item for key, item in value.items() if key != at[0]}
    inner = value.get(at[0])
    return {**value, at[0]: _remove_at(inner, at[1:])} if isinstance(inner, dict) else value


def _order_as_pairs(value: Any, at: tuple[str, ...]) -> Any:
    """Return a value in which the mapping at a path, whose order counts, is a list of pairs."""
    if not isinstance(value, dict):
        return value
    if not at:
        return [[key, item] for key, item in value.items()]
    return {key: _order_as_pairs(item, at[1:]) if key == at[0] else item for key, item in value.items()}


MOST_TRIES: Final = 2_000
"""How many values are tried at most."""
MOST_TEXTS: Final = 300
"""How many texts, which take longer to read."""


def _shrink_text(text: str, holds: Callable[[str], bool]) -> str:
    return "".join(shrink_pieces(text, lambda less: holds("".join(less)), limit_tries(MOST_TEXTS)))


LONGEST: Final = 400
MOST: Final = 5
"""How many reasons are told at most."""
REDUCED: Final = 16 * 1024
"""Of a larger file the smallest content that breaks it is not looked for: each try reads what is left of it."""
KEEP_VALID: Final = (
    "Keep the file valid for the client, or make the change through Takeback: the tool propose_change, or "
    "'takeback set', 'add', 'edit'."
)
ASK_A_PERSON: Final = "A person must approve this; without one, leave it out and make the rest of the change."


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

    def describe(self) -> str:
        """Return the whole ruling, for the model and for people."""
        smallest_told = f" The smallest content that breaks it: {self.breaking}." if self.breaking else ""
        return mask_text_secrets(f"Takeback: {self.path}: {self.reason}.{smallest_told} {self.instead}".strip())


PASS: Final = Ruling(Answer.PASS)


def rule_on_edits(edits: Iterator[FileEdit], cwd: str = "") -> Ruling:
    """Return the strictest ruling about some edits; `cwd` is where the agent works."""
    verdict = PASS
    for edit in edits:
        ruling = rule_on_edit(edit, cwd)
        if ruling.answer is Answer.DENY:
            return ruling
        verdict = ruling if verdict.answer is Answer.PASS else verdict
    return verdict


def _why_denied(home: Home, client: Client) -> str:
    """Return why the policy of a harness does not let an agent change it; empty where it does, or there is none."""
    if not os.path.lexists(os.path.join(home.root, PRIVATE, "policy.toml")):
        return ""
    from takeback.govern.governed import why_agent_denied  # noqa: PLC0415 - start-up of hooks

    try:
        return why_agent_denied(Path(home.root), client.name)
    except InputError as fault:
        return f"its policy cannot be read: {fault.message}"


def rule_on_edit(edit: FileEdit, cwd: str = "") -> Ruling:
    """Return the ruling about the edit of one file."""
    known = find_declared_file(edit.path, cwd)
    if known is None or edit.before == edit.after:
        return PASS
    home, place, client, declared = known
    if isinstance(declared, Own) or client is None:
        return Ruling(Answer.DENY, place, "it is Takeback's own record of changes", "Use the takeback command.")
    denied = _why_denied(home, client)
    if denied:
        return Ruling(Answer.DENY, place, denied, ASK_A_PERSON)
    size = _measure_settings(declared, edit)
    if size > LARGEST:
        reason = f"it has {size:,} bytes, and the guard reads settings files of at most {LARGEST:,}"
        return Ruling(Answer.ASK, place, reason, ASK_A_PERSON)
    fault = why_unloadable(declared, edit.after, place)
    if fault is not None and why_unloadable(declared, edit.before, place) is None:
        reason, breaking = fault
        return Ruling(Answer.DENY, place, f"{client.name} would no longer load it: {reason}", KEEP_VALID, breaking)
    unrecordable = _why_unrecordable(home, edit)
    if unrecordable:
        return Ruling(Answer.ASK, place, f"the change could not be undone: {unrecordable}", ASK_A_PERSON)
    reasons = () if fault is not None else _find_loosened(home, place, client, declared, edit)
    if reasons:
        return Ruling(Answer.ASK, place, "; ".join(reasons[:MOST]), ASK_A_PERSON)
    return PASS


def weigh_edits(root: str, edits: Iterable[FileEdit]) -> list[str]:
    """Return what edits of a harness's files loosen, whoever makes them, and which are too large to judge."""
    doubts: list[str] = []
    for edit in edits:
        known = find_declared_file(os.path.join(root, edit.path))
        if known is None:
            continue
        home, place, client, declared = known
        if isinstance(declared, Own) or client is None:
            continue
        if _measure_settings(declared, edit) > LARGEST:
            doubts.append(f"{place} is too large to tell what it loosens")
        else:
            doubts += _find_loosened(home, place, client, declared, edit)
    return list(dict.fromkeys(doubts))


def _measure_settings(declared: Documents | Texts | PlainFile, edit: FileEdit) -> int:
    return max(len(edit.before or b""), len(edit.after or b"")) if isinstance(declared, Documents) else 0


def why_unloadable(declared: Documents | Texts | PlainFile, data: bytes | None, where: str) -> tuple[str, str] | None:
    """Return why a client would not load a file with these bytes, and the smallest content that breaks it."""
    if data is None:
        return None
    if isinstance(declared, Documents):
        try:
            value = declared.open(data, where).value
        except InputError as fault:
            reason = f"{fault.where}: {fault.message}".removeprefix(f"{where}: ")
            return reason, _shrink_malformed(declared, data, fault.message)
        return _check_value(declared.check, value, len(data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None if isinstance(declared, PlainFile) and declared.script else ("it is not UTF-8 text", "")
    return _check_value(declared.check, text, len(data)) if isinstance(declared, Texts) else None


def _shrink_malformed(declared: Documents, data: bytes, message: str) -> str:
    try:
        text = data.decode() if len(data) <= REDUCED else ""
    except UnicodeDecodeError:
        return ""

    def malformed(shorter: str) -> bool:
        problem = ""
        try:
            bool(declared.open(shorter.encode(), "").value)  # some formats are read only now
        except InputError as fault:
            problem = fault.message
        return _strip_positions(problem) == _strip_positions(message)

    return _shrink_text(text, malformed)[:LONGEST] if text else ""


def _strip_positions(message: str) -> str:
    return "".join(char for char in message if not char.isdigit())


def _check_value(check: ValueCheck, value: Any, size: int) -> tuple[str, str] | None:
    wrong = check(value)
    if wrong is None:
        return None
    if size > REDUCED:
        return wrong, ""
    if isinstance(value, str):
        return wrong, _shrink_text(value, lambda value: check(value) == wrong)[:LONGEST]
    tries = limit_tries(MOST_TRIES)
    small = shrink_by_steps(value, list_smaller_json, lambda value: check(value) == wrong, tries)
    return wrong, write_compact(small)[:LONGEST] if value else ""


def _why_unrecordable(home: Home, edit: FileEdit) -> str:
    """Return why the recorder could not record an edit; empty if it could."""
    if home.leads_out(edit.path):
        return "it is a link that leads out of the harness"
    place = os.path.join(home.root, home.journal)
    if home.journal and "://" not in home.journal and not os.access(place, os.R_OK | os.W_OK):
        return f"the journal {home.journal} cannot be written"
    return ""


def _find_loosened(
    home: Home, place: str, client: Client, declared: Documents | Texts | PlainFile, edit: FileEdit
) -> list[str]:
    clients = (client.name, *(other.name for other in home.clients if other.name != client.name))
    is_text = isinstance(declared, Texts) or (isinstance(declared, PlainFile) and not declared.script)
    around = [] if is_text else list(_list_parts_around(home, place, client.name))

    def read(data: bytes | None) -> DocumentParts:
        if is_text:
            return {"prompts": {place: (data or b"").decode("utf-8", "replace")}}
        if isinstance(declared, Documents):
            return _read_parts(declared, _read_value(declared, data, place), place)
        return {} if data is None else {"files": {place: data}}  # only whether it differs counts

    before, after = (_merge_parts(*around, read(data)) for data in (edit.before, edit.after))
    return find_loosened_permissions(before, after, clients)


BLOCK: Final = 2
ASKS: Final = "claude-code"
NOBODY_TO_ASK: Final = " This client cannot ask from here, so the edit is not made; a person can make it."


class HookReply(NamedTuple):
    """What a hook prints, and its exit code."""

    out: str = ""
    err: str = ""
    code: int = 0


def answer_before(event: Event) -> HookReply:
    """Return the guard's answer about a tool call."""
    try:
        ruling = rule_on_edits(list_edits(event), event.cwd)
    except TakebackError as fault:
        if any(is_trusted(root) for root in _find_roots(event)):
            raise
        return HookReply(err=f"takeback: this harness is not trusted and cannot be read: {fault.message}\n")
    if ruling.answer is not Answer.DENY and event.client == TELLS:
        _note_tool_call(event)
    if ruling.answer is Answer.PASS:
        return HookReply()
    if ruling.answer is Answer.DENY or event.client != ASKS:
        _forget_capture(event)
    if event.client == ASKS:
        said: dict[str, Any] = {
            "hookEventName": event.name,
            "permissionDecision": str(ruling.answer),
            "permissionDecisionReason": ruling.describe(),
        }
        answer: dict[str, Any] = {"hookSpecificOutput": said}
        if ruling.answer is Answer.ASK:
            answer["systemMessage"] = f"Takeback asked: {mask_text_secrets(f'{ruling.path}: {ruling.reason}.')}"
        return HookReply(out=write_compact(answer) + "\n")
    nobody = NOBODY_TO_ASK if ruling.answer is Answer.ASK else ""
    return HookReply(*refuse_call(event.client, ruling.describe() + nobody))


def _note_tool_call(event: Event) -> None:
    named = list_named_paths(event)
    if event.edits and not any(can_be_ours(path) for path in named):
        return
    for root in _find_roots(event):
        if is_trusted(root):
            note_tool_call(root, event.session, event.call, named)


def _forget_capture(event: Event) -> None:
    """Have a tracked project forget that a call began which is not made: nothing happens beside it."""
    tracked = [root for root in _find_roots(event) if is_trusted(root) and is_tracked(root)]
    if not tracked:
        return
    from takeback.track.database import TrackError  # noqa: PLC0415 - only for a denial in a tracked project
    from takeback.track.store import TrackStore  # noqa: PLC0415 - only for a denial in a tracked project

    for root in tracked:
        with suppress(TrackError, OSError), TrackStore.open(root) as store:
            store.forget_call(event.session, event.call)


def _find_roots(event: Event) -> tuple[str, ...]:
    places = (find_root_text(path) for path in (event.cwd, *list_named_paths(event)))
    return tuple(dict.fromkeys(place for place in places if place is not None))
