"""Labels: whom contents are about, such as `user:42`; and holds: which contents must stay, whatever else is said.

A label is a record of its own (`label`): of one entry, or of addresses by a pattern in which `*` stands for
anything. A pattern holds for what was recorded before it and for what comes later. A hold is one too (`hold`), of
an entry or of a subject, and then of every entry that has something labelled with it. Removing or releasing one is
a record as well; the last one about a thing counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.errors import InputError
from takeback.harness.images import paths_of
from takeback.harness.pack import KnownRefs, Unpacker, collect_inside_refs
from takeback.harness.records import read_slots
from takeback.journal import Draft, Record, Ref, Store
from takeback.state import SURFACES
from takeback.state.slots import Slot, describe_slot, find_containing_slot, parse_slot_key

_SUBJECT: Final = re.compile(r"[!-~]{1,200}")
_VALUES: Final = ("before", "after")
_BESIDE: Final = ("candidate", "evidence", "call", "reason", "said")


class Labels:
    """What one subject's labels name: entries, and addresses by pattern."""

    def __init__(self) -> None:
        self.entries: set[int] = set()
        self.patterns: dict[str, re.Pattern[str]] = {}
        self._known: dict[Slot, bool] = {}

    def __bool__(self) -> bool:
        return bool(self.entries or self.patterns)

    def add_pattern(self, pattern: str) -> None:
        """Take in a pattern; `*` in it stands for anything."""
        self.patterns[pattern] = compile_pattern(pattern)

    def has_slot(self, slot: Slot) -> bool:
        """Tell whether a pattern names a slot, something in it, or what it lies in."""
        whole = find_containing_slot(slot)
        if whole not in self._known:
            self._known[whole] = self.has_address(describe_slot(whole))
        return self._known[whole]

    def has_address(self, address: str) -> bool:
        """Tell whether a pattern names an address, something beneath it, or what it lies in."""
        return any(matches_address(matcher, pattern, address) for pattern, matcher in self.patterns.items())

    def contains_address(self, address: str) -> bool:
        """Tell whether a pattern names an address, with all that is beneath it, or what it lies in."""
        return any(matcher.fullmatch(address) for matcher in self.patterns.values())


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return what matches the addresses that a pattern names, and those beneath them."""
    whole = ".*".join(map(re.escape, pattern.split("*")))
    inner = ".*".join(map(re.escape, pattern.removesuffix('"]').split("*")))
    return re.compile(rf"{whole}|{inner}[./].*", re.DOTALL)


def matches_address(compiled: re.Pattern[str], pattern: str, address: str) -> bool:
    """Tell whether a pattern names an address, something beneath it, or what it lies in."""
    if compiled.fullmatch(address):
        return True
    stem = address.removesuffix('"]')
    return pattern.startswith((f"{stem}.", f"{stem}/") if stem != address else f"{address}[")


def require_subject(subject: str) -> None:
    """Refuse what is no name of a subject."""
    if not _SUBJECT.fullmatch(subject):
        raise InputError(
            "--subject",
            found=repr(subject[:60]),
            expected="a name without spaces, such as user:42; it stays readable",
        )


def is_pattern(thing: str) -> bool:
    """Tell whether something names addresses and no entry."""
    return "[" in thing or "*" in thing


def require_pattern(pattern: str, where: str = "label") -> None:
    """Refuse a pattern that can match no address."""
    surface = re.split(r"[\[*]", pattern, maxsplit=1)[0]
    if not any(name.startswith(surface) if "*" in pattern else name == surface for name in SURFACES):
        raise InputError(
            where,
            found=pattern[:80],
            expected='an address in which * stands for anything: config["users.42*"]',
        )


def draft_label(
    subject: str, *, entry: int | None = None, slots: str = "", remove: bool = False, by: str = ""
) -> Draft:
    """Build the record that labels an entry, or addresses, with a subject; or removes that label."""
    about: dict[str, Any] = {"entry": entry} if entry is not None else {"slots": slots}
    return Draft("label", {"subject": subject, **about, "release": remove, **({"by": by} if by else {})})


def list_labels(store: Store) -> dict[str, Labels]:
    """Return the labels of each subject that has any."""
    decided: dict[tuple[str, int | str], bool] = {}
    record: Record | None = store.latest("label")
    while record is not None:
        thing = record.about if record.about is not None else record.pattern
        decided.setdefault((record.subject, thing), not record.releases)
        record = store.latest("label", record.seq)
    labels: dict[str, Labels] = {}
    for (subject, thing), stands in sorted(decided.items(), key=repr):
        if stands and isinstance(thing, int):
            labels.setdefault(subject, Labels()).entries.add(thing)
        elif stands:
            labels.setdefault(subject, Labels()).add_pattern(str(thing))
    return labels


@dataclass(slots=True)
class Labelled:
    """What is labelled."""

    values: set[Ref] = field(default_factory=set)
    """Contents of labelled addresses and entries."""
    beside: set[Ref] = field(default_factory=set)
    """What else those entries hold: candidates, evidence, what was said for them."""
    paths: set[str] = field(default_factory=set)
    entries: set[int] = field(default_factory=set)


def iter_owned_records(store: Store) -> Iterator[tuple[Record, int | None]]:
    """Yield every record with the number of the entry that it belongs to, if it does to one."""
    owner: int | None = None
    for record in store.records():
        owner = record.about if record.kind == "evidence" else record.number or owner
        yield record, owner


def collect_labelled(store: Store, labels: Labels) -> Labelled:
    """Return the contents that labels name, the entries that have them, and the files those kept the bytes of."""
    labelled = Labelled()
    for record, owner in iter_owned_records(store):
        if record.kind in {"genesis", "checkpoint"}:
            values = _list_state_refs(store, record, labels)
        elif record.number in labels.entries:
            values = {ref for name in (*_VALUES, "taken_in") for ref in record.refs(name) if ref}
        else:
            values = set(_list_slot_refs(record, labels))
        labelled.values |= values
        if record.number is not None and (values or record.number in labels.entries):
            labelled.entries.add(record.number)
            labelled.paths.update(paths_of(record))
        if owner in labelled.entries and record.kind not in {"genesis", "checkpoint"}:
            labelled.beside.update(ref for name in _BESIDE for ref in record.refs(name) if ref)
    return labelled


def _list_slot_refs(record: Record, labels: Labels) -> Iterator[Ref]:
    if not labels.patterns or record.number is None:
        return
    chosen = [at for at, slot in enumerate(read_slots(record)) if labels.has_slot(slot)]
    taken_in = [at for at, key in enumerate(record.taken_in) if labels.has_slot(parse_slot_key(key))]
    for names, positions in ((_VALUES, chosen), (("taken_in",), taken_in)):
        for name in names:
            refs = record.refs(name)
            yield from (ref for at in positions if at < len(refs) and (ref := refs[at]))


def _list_state_refs(store: Store, record: Record, labels: Labels) -> set[Ref]:
    """Return what a record that holds a whole state has of labelled addresses."""
    ref = next(iter(record.refs("state")), None)
    stored = None if not ref else store.content(ref)
    if stored is None or not (labels.patterns or record.number in labels.entries):
        return set()
    parts, nodes = stored.open_tree()
    if record.number in labels.entries:
        return {part for part in parts if part}
    held = store.contents(part for part in parts if part)
    known: KnownRefs = {}
    Unpacker(known).state(nodes, lambda at: (parts[at], held[parts[at]] if parts[at] else None))
    inside = collect_inside_refs(nodes, parts)
    return {ref for slot, (_, ref) in known.items() if labels.has_slot(slot)} | {
        part for slot, stored_parts in inside.items() if labels.has_slot(slot) for _, part in stored_parts if part
    }


def draft_hold(entry: int | None, *, subject: str = "", release: bool, by: str = "") -> Draft:
    """Build the record that holds an entry or a subject, or releases it."""
    about: dict[str, Any] = {"entry": entry} if entry is not None else {"subject": subject}
    return Draft("hold", {**about, "release": release, **({"by": by} if by else {})})


def list_holds(store: Store) -> tuple[set[int], set[str]]:
    """Return the numbers of the entries, and the subjects, that are held by their own name."""
    decided: dict[int | str, bool] = {}
    record: Record | None = store.latest("hold")
    while record is not None:
        decided.setdefault(record.subject if record.about is None else record.about, not record.releases)
        record = store.latest("hold", record.seq)
    held = [thing for thing, stands in decided.items() if stands]
    return {thing for thing in held if isinstance(thing, int)}, {thing for thing in held if isinstance(thing, str)}


def list_held(store: Store) -> set[int]:
    """Return the numbers of the entries that are held, by themselves or by a subject."""
    entries, subjects = list_holds(store)
    labels = list_labels(store) if subjects else {}
    for subject in subjects & labels.keys():
        entries |= collect_labelled(store, labels[subject]).entries
    return entries


def require_not_held(store: Store, entries: Collection[int]) -> None:
    """Refuse to forget what held entries captured."""
    held = sorted(list_held(store) & set(entries))
    if held:
        raise refuse_held(store, held)


def refuse_held(store: Store, held: list[int]) -> InputError:
    """Return the error for held entries of which something is to be forgotten."""
    names = ", ".join(f"#{entry}" for entry in held)
    entries, subjects = list_holds(store)
    by_name = [entry for entry in held if entry in entries]
    what = str(by_name[0]) if by_name else f"--subject {min(subjects)}"
    return InputError(
        "forget",
        found=f"{names}, which {'is' if len(held) == 1 else 'are'} held",
        expected="entries that are not held",
        hint=f"'takeback hold {what} --release' releases {'it' if len(held) == 1 else 'them'}",
    )
