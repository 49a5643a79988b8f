"""Entries in one line each, and the filters that select them by surface, author, evidence, time or text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.entry_log import EntryView, view_entry
from takeback.present.titles import format_count
from takeback.secret_mask import is_revealing, mask_secrets, mask_text_secrets, reveal_secrets
from takeback.state import KINDS, SURFACES
from takeback.verify import Grade

EntryNamer = Callable[[int], str]
"""The note, or what else there is to say, of the entry with a number."""
SHORT: Final = 40
"""An item longer than this is not told; texts that are set are not told at all: they may be secrets."""
MOST: Final = 3
"""So many operations, or clients, are told one by one."""
_DONE: Final = {
    "set": "set {at}",
    "add": "added {at}",
    "remove": "removed {at}",
    "edit": "edited {at}",
    "move": "moved {at}",
    "replace": "replaced {at}",
    "append": "added {item} to {at}",
    "insert": "added {item} to {at}",
    "remove item": "removed {item} from {at}",
}


def summarize_entry(entry: EntryView, named: EntryNamer, headline: str = "", *, prompt: bool = True) -> str:
    """Return what an entry did, on one line and whole; `headline` is told instead of where it wrote.

    Without `prompt` the prompt it was made under is left out, for those who show it elsewhere.
    """
    if entry.kind == "genesis":
        return entry.note or "the beginning"
    if entry.stat:
        line = describe_call(entry, prompt=prompt)
        return line if is_revealing() else mask_text_secrets(line)
    phrases = [f"took back {_list_entries(entry.off, named)}"] if entry.off else []
    phrases += [f"brought back {_list_entries(entry.on, named)}"] if entry.on else []
    line = "; ".join(phrases) or headline or describe_change(entry)
    head = " · ".join(_describe_origin(entry, prompt=prompt))
    if (
        headline and head and not prompt and len(entry.addresses) <= MOST
    ):  # what changed comes first, as room is scarce
        line, head = f"{line} · {head}", ""
    around = [*([", ".join(entry.effect)] if entry.effect else []), *describe_readers(entry.readers)]
    if around:
        line += f" ({'; '.join(around)})"
    told_line = " ".join(f"{head}: {line}".split() if head else line.split())
    return told_line if is_revealing() else mask_text_secrets(told_line)


def describe_call(entry: EntryView, *, prompt: bool = True) -> str:
    """Return what a recorded call did: under which prompt, by which tool, and how much of the project it changed."""
    stat = entry.stat
    phrases = _describe_origin(entry, prompt=prompt)
    size = format_count(stat.get("files", 0), "file")
    phrases.append(f"{size} +{stat.get('added', 0)} −{stat.get('removed', 0)}")
    phrases += [f"{len(entry.unkept)} not kept: cannot be taken back"] if entry.unkept else []
    return " ".join(" · ".join(phrases).split())


def _describe_origin(entry: EntryView, *, prompt: bool) -> list[str]:
    """Return the prompt under which an entry was made, where it is known, and its note with the command."""
    phrases = [quoted] if prompt and (quoted := describe_prompt(entry)) else []
    command = entry.origin.get("command", "").strip().partition("\n")[0]
    return phrases + ([f"{entry.note}: {command}" if command else entry.note] if entry.note else [])


def describe_prompt(entry: EntryView) -> str:
    """Return the prompt that an entry was made under, in quotes; nothing where it is not known."""
    origin = entry.origin
    if not origin.get("prompt") or not origin.get("prompt_number"):
        return ""
    quoted = f'"{" ".join(origin["prompt"].split())}"'
    return quoted if is_revealing() else mask_text_secrets(quoted)


def describe_readers(readers: Mapping[str, Sequence[str]]) -> list[str]:
    """Return who else reads some files, a sentence for all files that the same ones read."""
    paths: dict[tuple[str, ...], list[str]] = {}
    for path, names in readers.items():
        paths.setdefault(tuple(names), []).append(path)
    return [
        f"{', '.join(readers) if len(paths) > 1 else ''} also read by {_list_names(names)}".strip()
        for names, readers in paths.items()
    ]


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more} more" if more > 0 else "")


def describe_check(check: Mapping[str, Any]) -> str:
    """Return what a check found, as an entry carries it, on one line."""
    how = check.get("why") or f"exit code {check.get('exit')}"
    return (
        f"{'passed' if check.get('passed') else 'failed'} ({how}, {check.get('seconds')} s): {check.get('command')}"
    )


def describe_change(entry: EntryView) -> str:
    """Return what a change did: its operations where it has them, else what it touched."""
    if entry.mutation and len(entry.mutation) <= MOST:
        return ", ".join(_describe_operation(op) for op in entry.mutation)
    if entry.kind == "discard":
        return f"put back {', '.join(entry.files)}"
    return ", ".join((*entry.addresses, *(f"layout of {path}" for path in entry.layout))) or "nothing"


def _describe_operation(op: Mapping[str, Any]) -> str:
    op = op if is_revealing() else mask_secrets(op)
    kind = KINDS.get(str(op.get("op_type")))
    if kind is None:
        return f"{op.get('op_type')} {op.get('target')}"
    surface = SURFACES[kind.surface]
    at = str(surface.address(surface.target(str(op["target"]), "entry", kind)))
    value, short = op.get("value"), "value" in op and len(encode(op["value"])) <= SHORT
    phrase = _DONE.get(kind.verb, "changed {at}").format(at=at, item=encode(value) if short else "an item")
    return f"{phrase} to {encode(value)}" if kind.verb == "set" and isinstance(value, int | float) else phrase


def _list_entries(numbers: tuple[int, ...], named: EntryNamer) -> str:
    return ", ".join(f"#{number} ({name})" if (name := named(number)) else f"#{number}" for number in numbers)


GRADES = (*(grade.value for grade in Grade), "forced")
"""What to ask for: an evidence grade, or what was made although it was not admitted."""


EFFECT_CLASSES: Final = ("reversible", "compensable", "irreversible")
"""What a change can do outside the harness."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries to list."""

    text: str = ""
    surface: str = ""
    by: str = ""
    grade: str = ""
    since: datetime | None = None
    until: datetime | None = None
    prompt: str = ""
    """Part of the prompt that it was made under, or that prompt's number."""
    session: str = ""
    """How the name of the client's session begins."""
    path: str = ""
    """A pattern that a file it changed matches."""
    client: str = ""
    effect_class: str = ""
    """What it does outside the harness: reversible, compensable or irreversible."""
    among: frozenset[int] | None = None
    """Numbers that an index found; None for any."""
    loose: bool = False
    """Whether part of an author's name is enough."""

    def select_entries(self, entries: Iterable[EntryView], named: EntryNamer) -> Iterator[EntryView]:
        """Return entries that pass, each judged by its own time: a clock may have been set back."""
        for entry in entries:
            if self.since is not None and datetime.fromisoformat(entry.at) < self.since:
                continue
            if self.until is not None and datetime.fromisoformat(entry.at) > self.until:
                continue
            if self.passes(entry, summarize_entry(entry, named) if self.text else ""):
                yield entry

    def passes(self, entry: EntryView, what: str) -> bool:
        """Return whether an entry passes, whenever it was made; `what` is what it did, in a line."""
        if self.surface and not any(re.split(r"[\[ ]", address)[0] == self.surface for address in entry.addresses):
            return False
        if self.among is not None and entry.seq not in self.among:
            return False
        if self.by and not self._is_by(entry.by):
            return False
        if self.client and self.client.casefold() not in entry.origin.get("client", "").casefold():
            return False
        if self.grade and self.grade not in {entry.grade, "forced" if entry.forced else ""}:
            return False
        if self.effect_class and self.effect_class != entry.effects:
            return False
        if not self._is_of_call(entry):
            return False
        if self.path and not any(map(self.matches_path, entry.files)):
            return False
        words = f"{entry.id} #{entry.seq} {entry.kind} {entry.by} {what}".casefold()
        return self.text.casefold() in words

    def _is_by(self, author: str) -> bool:
        return author == self.by or (self.loose and self.by.casefold() in author.casefold())

    def matches_path(self, path: str) -> bool:
        """Tell whether a path matches the pattern."""
        return _compile_pattern(self.path).fullmatch(path) is not None

    def _is_of_call(self, entry: EntryView) -> bool:
        """Tell whether an entry was made under the prompt and in the session that are asked for."""
        said, number = entry.origin.get("prompt", ""), entry.origin.get("prompt_number", "")
        if self.prompt and self.prompt != number and (not said or self.prompt.casefold() not in said.casefold()):
            return False
        return entry.origin.get("session", "").startswith(self.session)


@lru_cache(maxsize=32)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a pattern of paths: `*` stands for anything but a slash, `**` for anything, a folder for all in it."""
    wanted = pattern.rstrip("/").removeprefix("./")
    steps = re.split(r"(\*\*/|\*\*|\*|\?)", wanted)
    forms = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(forms.get(step, re.escape(step)) for step in steps) + "(?:/.*)?", re.DOTALL)


def read_filter(
    text: str = "",
    *,
    surface: str = "",
    by: str = "",
    grade: str = "",
    since: str = "",
    prompt: str = "",
    session: str = "",
    path: str = "",
    client: str = "",
    effect_class: str = "",
    until: str = "",
    loose: bool = False,
) -> Filter:
    """Return the filter that options name; raise an error that lists the valid values."""
    from takeback.harness.entry_names import read_time  # noqa: PLC0415 - start-up
    from takeback.language.suggestions import suggest_name  # noqa: PLC0415 - start-up

    if surface and surface not in SURFACES:
        hint = suggest_name(surface, SURFACES)
        raise InputError("--surface", found=surface, expected=f"one of {', '.join(SURFACES)}", hint=hint)
    if grade and grade not in GRADES:
        raise InputError("--grade", found=grade, expected=f"one of {', '.join(GRADES)}")
    if effect_class and effect_class not in EFFECT_CLASSES:
        raise InputError("--class", found=effect_class, expected=f"one of {', '.join(EFFECT_CLASSES)}")
    now = datetime.now(UTC)
    start = read_time(since, now, "--since") if since else None
    end = read_time(until, now, "--until") if until else None
    return Filter(text, surface, by, grade, start, end, prompt, session, path, client, effect_class, loose=loose)


def make_entry_namer(harness: Harness) -> EntryNamer:
    """Return the function that names an entry by its note, or by the addresses it changed."""

    @lru_cache(maxsize=1024)
    def name_entry(number: int, clear: bool) -> str:
        record = harness.journal.get(number)
        entry = view_entry(harness, record)
        with reveal_secrets(wanted=clear):
            return entry.note or describe_change(entry)

    return lambda number: name_entry(number, is_revealing())
