"""What is to be forgotten of a subject: everything that is labelled with it, and copies of it elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from takeback.canonical import parse_strict
from takeback.errors import InputError
from takeback.harness.forget import collect_file_refs, collect_leaf_refs, find_forms, require_refs_not_held
from takeback.harness.holds import require_not_held
from takeback.harness.labels import collect_labelled, list_labels
from takeback.harness.ledger import Ledger
from takeback.journal import Ref, Store

if TYPE_CHECKING:
    from takeback.journal.search import ValuePlace

SHORTEST_COPY: Final = 8
"""A text with fewer bytes than this is not looked for elsewhere: it stands there by chance."""


def find_subject(
    ledger: Ledger, subject: str, *, dry: bool
) -> tuple[tuple[ValuePlace, ...], set[Ref], Callable[[bytes], bool]]:
    """Find what is labelled with a subject, and copies: the places, the contents to forget, and what tells them.

    What is in use is written down anew first, unless `dry`, so that its newest copy is found as well.
    """
    from takeback.journal.search import Forms  # noqa: PLC0415 - start-up

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
    forms = Forms(*texts) if texts else None
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
