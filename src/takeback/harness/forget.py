"""What to forget: what entries captured, every occurrence of a value, or what is labelled with a subject.

Names, notes, order keys and modes stay, so that the history can still be read and planned with. The bytes of
whole files that an entry kept for restoring them exactly go in all entries, because a file holds more than
one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from takeback.canonical import parse_strict
from takeback.errors import InputError
from takeback.harness.images import iter_image_refs, make_file_key, paths_of
from takeback.harness.labels import collect_labelled, list_held, list_labels, refuse_held, require_not_held
from takeback.harness.ledger import Ledger
from takeback.harness.missing_values import is_same_known_value
from takeback.harness.records import with_evidence
from takeback.journal import Record, Ref, Store
from takeback.lazy_names import load_later
from takeback.state import ABSENT, State
from takeback.state.slots import Slot, get_slot, put_slots

if TYPE_CHECKING:
    from takeback.harness.adapter import ProjectFiles
    from takeback.journal import search
    from takeback.journal.search import Forms, ValuePlace
else:
    (search,) = load_later(globals(), "takeback.journal", "search")


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten, or would be."""

    record: Record | None
    """The record that says so; None if nothing was done."""
    contents: int
    """How many contents."""
    places: tuple[ValuePlace, ...]
    """Where the value stands, when one was looked for: what goes, and names and notes, which stay."""
    kept: tuple[Slot, ...]
    """Values in place of which there is no other copy than the journal's: they were not forgotten."""
    live: tuple[Slot, ...]
    """Values that are still in place: the journal keeps no copy, but what is really there has them."""
    lingering: str = ""
    """Where copies may be found for a while, and until when."""
    captured: int = 0
    """How many contents went that hooks had captured of the project's files."""
    standing: tuple[str, ...] = ()
    """The project's own files that hold it as they stand; the next look at them keeps it again."""

    @property
    def stays(self) -> tuple[ValuePlace, ...]:
        """Names and notes that hold the value, which are not forgotten."""
        return tuple(place for place in self.places if place.ref is None)


def forget_captured(
    forgetting: Forgetting, project: ProjectFiles, matches: Callable[[bytes], bool], *, dry: bool
) -> Forgetting:
    """Drop what was captured of the project's files too, unless `dry`, and say which files still have it."""
    captured = 0 if dry else project.forget(matches)
    return replace(forgetting, captured=captured, standing=project.list_standing(matches))


def collect_forgettable_refs(store: Store, entries: Iterable[Record]) -> set[Ref]:
    """Return everything entries captured that can be forgotten: values, not the names around them."""
    refs: set[Ref] = set()
    paths: set[str] = set()
    entries = list(entries)
    require_not_held(store, [entry.number for entry in entries if entry.number is not None])
    for entry in entries:
        refs.update(with_evidence(store, entry).all_refs())
        paths.update(paths_of(entry))
        following = None
        for following in store.records(entry.seq + 1):
            if following.kind != "step":
                break
            refs.update(following.all_refs())
        if following is not None and following.kind == "abort":
            refs.update(following.all_refs())
    forgettable = collect_leaf_refs(store, refs) | collect_file_refs(store, paths)
    require_refs_not_held(store, forgettable)
    return forgettable


def collect_leaf_refs(store: Store, refs: Iterable[Ref]) -> set[Ref]:
    """Return values among contents and inside them that are not forgotten yet."""
    held = store.contents(refs)
    inside = {part for stored in held.values() if stored and stored.tree for part in stored.open_tree()[0] if part}
    own = {ref for ref, stored in held.items() if stored and not stored.tree}
    return own | {ref for ref, stored in store.contents(inside).items() if stored is not None}


def collect_file_refs(store: Store, paths: Iterable[str], since: int = 0) -> set[Ref]:
    """Return the kept bytes of files, in every record after `since` in the chain."""
    wanted = set(paths)
    numbers = sorted({number for path in wanted for number in store.touching(make_file_key(path))})
    refs = {ref for record in store.many(numbers) if record.seq > since for ref in iter_image_refs(record, wanted)}
    return collect_leaf_refs(store, refs)


def find_files_in_use(ledger: Ledger, touched: Callable[[State, State], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the files in which a forgotten value is still in use."""
    hidden = ledger.hidden
    return touched(ledger.state, put_slots(ledger.state, [(slot, ABSENT) for slot in hidden])) if hidden else ()


def forget_file_copies(ledger: Ledger, paths: Iterable[str]) -> None:
    """Forget the bytes that later changes kept of files in which a forgotten value is, or was, in use."""
    paths = tuple(paths)
    if not paths or ledger.store.readonly:
        return
    last = ledger.store.latest("forget")
    refs = collect_file_refs(ledger.store, paths, 0 if last is None else last.seq)
    if refs:
        ledger.forget(sorted(refs))


def require_refs_not_held(store: Store, refs: set[Ref]) -> None:
    """Refuse to forget contents that a held entry has as well."""
    records = store.many(sorted(list_held(store)))
    held = [r.entry for r in records if refs & collect_leaf_refs(store, with_evidence(store, r).all_refs())]
    if held:
        raise refuse_held(store, held)


def find_value(ledger: Ledger, value: str | bytes, *, dry: bool) -> tuple[tuple[ValuePlace, ...], set[Ref]]:
    """Find where a value occurs, and the contents to forget for it."""
    raw = value.encode() if isinstance(value, str) else value
    if not raw:
        raise InputError("value", found="nothing", expected="a text to look for")
    return find_forms(ledger, search.Forms(raw), dry=dry)


def find_forms(ledger: Ledger, forms: Forms, *, dry: bool) -> tuple[tuple[ValuePlace, ...], set[Ref]]:
    """Find where a value, or one of several, occurs, and the contents to forget for it.

    What is in use is written down anew first, unless `dry`: a text that was edited is stored in other pieces
    then, and those must be found as well.
    """
    store = ledger.store
    places = tuple(search.find_value_places(store, forms))
    if not dry and any(place.ref is not None for place in places):
        require_not_held(store, {place.number for place in places if place.ref is not None and place.number})
        ledger.checkpoint(forms.has_match_in)
        places = tuple(search.find_value_places(store, forms))
    refs = {place.ref for place in places if place.ref is not None}
    paths = {path for seq in {place.seq for place in places if place.ref} for path in paths_of(store.record(seq))}
    return places, refs | collect_file_refs(store, paths)


def forget_contents(
    ledger: Ledger, read: Callable[[State], State], places: tuple[ValuePlace, ...], refs: set[Ref], *, dry: bool
) -> Forgetting:
    """Forget contents, except values in use that `read`, what is really there, does not have as well."""
    last = ledger.store.head()
    if refs and not dry and (last is None or last.kind != "checkpoint"):
        ledger.checkpoint()
    live: dict[Slot, set[Ref]] = {}
    for ref, slots in ledger.live_values().items():
        for slot in slots if ref in refs else ():
            live.setdefault(slot, set()).add(ref)
    state = ledger.state
    actual = read(put_slots(state, [(slot, ABSENT) for slot in live])) if live else state
    kept = tuple(slot for slot in live if not is_same_known_value(get_slot(actual, slot), get_slot(state, slot)))
    refs -= {ref for slot in kept for ref in live[slot]}
    forgetting = Forgetting(None, len(refs), places, kept, tuple(slot for slot in live if slot not in kept))
    if dry or not refs:
        return forgetting
    erased = ledger.forget(sorted(refs))
    return replace(forgetting, record=erased.record, lingering=erased.lingering)


SHORTEST_COPY: Final = 8
"""A text with fewer bytes than this is not looked for elsewhere: it stands there by chance."""


def find_subject(
    ledger: Ledger, subject: str, *, dry: bool
) -> tuple[tuple[ValuePlace, ...], set[Ref], Callable[[bytes], bool]]:
    """Find what is labelled with a subject, and copies: the places, the contents to forget, and what tells them.

    What is in use is written down anew first, unless `dry`, so that its newest copy is found as well.
    """
    store = ledger.store
    labels = list_labels(store).get(subject)
    if labels is None:
        raise InputError(
            "--subject",
            found=subject,
            expected="a subject that something is labelled with",
            hint="'takeback label' lists what is labelled",
        )
    labelled = collect_labelled(store, labels)
    require_not_held(store, labelled.entries)
    texts = sorted(set(_list_texts(store, collect_leaf_refs(store, labelled.values))))
    forms = search.Forms(*texts) if texts else None
    places, copies = find_forms(ledger, forms, dry=dry) if forms else ((), set[Ref]())
    labelled = collect_labelled(store, labels)
    refs = (
        collect_leaf_refs(store, labelled.values | labelled.beside)
        | copies
        | collect_file_refs(store, labelled.paths)
    )
    require_refs_not_held(store, refs)
    return places, refs, forms.has_match_in if forms else lambda _: False


def _list_texts(store: Store, refs: Iterable[Ref]) -> Iterator[bytes]:
    """Yield the texts in contents that are long enough to be looked for elsewhere."""
    for stored in store.contents(refs).values():
        if stored is not None and not stored.tree:
            yield from (text for text in _open_texts(stored.data) if len(text) >= SHORTEST_COPY)


def _open_texts(data: bytes) -> Iterator[bytes]:
    """Yield every text of a JSON value; what is no JSON is the bytes of a file."""
    try:
        waiting: list[Any] = [parse_strict(data.decode())]
    except (ValueError, RecursionError, InputError):
        yield data.strip()
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value.strip().encode(errors="surrogatepass")
        elif isinstance(value, dict | list):
            waiting.extend(value.values() if isinstance(value, dict) else value)
