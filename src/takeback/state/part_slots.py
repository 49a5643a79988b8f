"""Slots inside values: links of chains, lines of texts, items of lists, lines of UTF-8 files.

Links are compared with their places and keep them when a chain is read again. A text or list has parts,
everything else stays whole. A UTF-8 file has the parts of its text, and a frame beside them: its mode, and where it
stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import OperationFailed
from takeback.state.address import FRAMES, PATH, is_part, make_part_name
from takeback.state.chain import Chain, ChainPlace, Link
from takeback.state.file import File
from takeback.state.items import Items
from takeback.state.parts import Parts
from takeback.state.pmap import ABSENT, PMap
from takeback.state.text import Text
from takeback.state.values import MARK, check_items, check_length, freeze, is_same_value, thaw

if TYPE_CHECKING:
    from takeback.state.alignment import Alignment

REACH: Final = ""
"""Under this name, which no element can have, a dumped chain says how far its places reach."""


def is_same_link(old: Link, new: Link) -> bool:
    """Tell whether an element is the same and stands in the same place."""
    return old is new or (old.place == new.place and is_same_value(old.record, new.record))


def find_differing_links(before: Chain, after: Chain) -> Iterator[str]:
    """Yield the ids of elements that came, went, changed or stand elsewhere."""
    for name, old, new in before.differences(after):
        if old is None or new is None or not is_same_link(old, new):
            yield name


def link_to_json(link: Link) -> dict[str, Any]:
    """Return place and record."""
    return {"place": [list(step) for step in link.place], "record": thaw(link.record)}


def link_from_json(raw: Any, name: str, where: str) -> Link:
    """Return the link that `link_to_json` wrote down."""
    place = tuple((number, step) for number, step in raw["place"])
    record = raw["record"]
    path = name == PATH and isinstance(record, str | None)  # it may hold bytes that are not UTF-8
    return Link(place, name, record if path else freeze(record, where, stored=True))


def chain_to_json(chain: Chain) -> dict[str, Any]:
    """Return links by id, and how far places reach where the links do not show it."""
    plain: dict[str, Any] = {link.id: link_to_json(link) for link in chain}
    links = Chain(chain.links)
    return plain if chain.reach == links.reach else {**plain, REACH: list(chain.reach or ())}


def chain_from_json(raw: Any, where: str) -> Chain:
    """Return the chain that `chain_to_json` wrote down."""
    links = (link_from_json(item, name, where) for name, item in raw.items() if name != REACH)
    chain = Chain(tuple(sorted(links, key=lambda link: link.place)))
    return chain.with_reach(tuple(raw[REACH])) if REACH in raw else chain


def keep_places(chain: Chain, known: Chain) -> Chain:
    """Return a chain read from elsewhere, with the places of elements that stand where they stood."""
    moved = known.find_moved(chain)
    ids = set(chain.ids())
    result = Chain(tuple(link for link in known if link.id in ids and link.id not in moved)).with_reach(known.reach)
    for at, link in enumerate(chain):
        there = result.find(link.id)
        if there is None:
            result, _ = result.insert(at, link.id, link.record)
        elif not is_same_value(there.record, link.record):
            result = result.put(Link(there.place, link.id, link.record))
    return result


_FRAMES: Final = {make_part_name(part): ((-1, part),) for part in FRAMES}
"""The parts of a frame by their names in a slot, and the place of each."""


def make_frame_link(part: str, value: Any) -> Link:
    """Return a part of a frame, by its id."""
    return Link(((-1, part),), part, value)


def get_parts(content: Any) -> Parts | None:
    """Return the parts of a content; None where it has none."""
    if isinstance(content, Parts):
        return content
    if type(content) is str:
        return Text.of(content)
    if type(content) is tuple:
        return Items.of(content)
    return content.parts() if isinstance(content, File) else None


def with_parts(content: Any, parts: Parts) -> Any:
    """Return a content with other parts."""
    return content.replace_parts(parts) if isinstance(content, File) else parts


def get_part(content: Any, name: str) -> Any:
    """Return one part of a content, ABSENT if it is not there."""
    if name in _FRAMES:
        part = name[1:]
        return make_frame_link(part, content.get_frame_part(part)) if isinstance(content, File) else ABSENT
    parts = get_parts(content)
    return ABSENT if parts is None else parts.find(name[1:]) or ABSENT


def put_part(content: Any, name: str, part: Any) -> Any:
    """Return a content with another part, or without it."""
    if name in _FRAMES and isinstance(content, File) and part is not ABSENT:
        return content.with_frame_part(part.id, part.record)
    parts = get_parts(content)
    if parts is None:
        raise OperationFailed("what was edited inside is no longer a text or a list")
    changed = parts.drop(name[1:]) if part is ABSENT else parts.put(part)
    return with_parts(content, changed.reserve((name[1:],)))


def put_parts(content: Any, parts: Sequence[tuple[str, Any]]) -> Any:
    """Return a content with many other parts, or without them, as `put_part` would one after the other.

    None where the content has no parts, or what it holds besides them is meant.
    """
    there = get_parts(content)
    if there is None or any(name in _FRAMES for name, _ in parts):
        return None
    changed = there.apply_changes((name[1:], None if part is ABSENT else part) for name, part in parts)
    return with_parts(content, changed.reserve(name[1:] for name, _ in parts))


def check_parts(content: Any, names: Sequence[str], where: str, *, depth: int = 0) -> None:
    """Raise `LimitError` where some parts, or the whole text or list with them, could not be read again."""
    parts = get_parts(content)
    if isinstance(parts, Text):
        check_length(len(parts), where)
    elif isinstance(parts, Items):
        check_items(len(parts), where)
        for link in filter(None, (parts.find(name[1:]) for name in names)):
            freeze(thaw(link.record), where, depth=depth + 1)


def reserve_part_names(content: Any, names: Sequence[str], places: Iterable[ChainPlace] = ()) -> Any:
    """Return a content in which no new part will get one of these names, nor stand before these places at an end."""
    parts = get_parts(content) if names else None
    if parts is None:
        return content
    return with_parts(content, parts.reserve(name[1:] for name in names).reserve_places(places))


def find_differing_parts(before: Any, after: Any) -> list[str] | None:
    """Return the names of parts that differ where `after` grew from `before`; None where it was replaced."""
    new, old = _get_edited_parts(after), _get_edited_parts(before)
    if new is None:
        return list_differing_frames(before, after) if old is None and _differs_in_frame(before, after) else None
    if old is None:
        old = get_parts(before)
        grew = old is not None and type(old) is type(new) and is_same_value(old.whole(), new.root)
    else:
        grew = old.root is new.root
    if old is None or not grew or isinstance(before, File) != isinstance(after, File):
        return None
    return [*(make_part_name(part) for part in old.differing(new)), *list_differing_frames(before, after)]


def list_differing_frames(before: Any, after: Any) -> list[str]:
    """Return the names of the parts of their frames in which two contents differ; none of what has no frame."""
    if not isinstance(before, File) or not isinstance(after, File):
        return []
    return [name for name in _FRAMES if before.get_frame_part(name[1:]) != after.get_frame_part(name[1:])]


def _get_edited_parts(content: Any) -> Parts | None:
    if content is ABSENT:
        return None
    if isinstance(content, Parts):
        return content
    return content.parts() if isinstance(content, File) and content.edited else None


def _has_same_frame(before: Any, after: Any) -> bool:
    """Tell whether what holds the parts is the same: a file's mode and path."""
    if isinstance(before, File) and isinstance(after, File):
        return bool(before.frame == after.frame)
    return not isinstance(before, File) and not isinstance(after, File)


def _differs_in_frame(before: Any, after: Any) -> bool:
    """Tell whether two contents that were never edited inside differ in their frames, and in nothing else."""
    if not isinstance(before, File) or not isinstance(after, File) or before.kind != after.kind:
        return False
    return bool(before.frame != after.frame and before.with_frame(after.frame) == after)


def is_identical_content(old: Any, new: Any) -> bool:
    """Tell whether two contents are the same, identities of their parts included."""
    if old is new:
        return True
    if type(old) is Link and type(new) is Link:
        return is_same_link(old, new)
    if isinstance(old, PMap) and isinstance(new, PMap):
        return not any(True for _, mine, theirs in old.candidates(new) if not is_identical_content(mine, theirs))
    mine, theirs = _get_edited_parts(old), _get_edited_parts(new)
    if mine is None or theirs is None:
        return mine is theirs and is_same_value(old, new)
    return _has_same_frame(old, new) and mine.to_json() == theirs.to_json()


def transfer_identities(fresh: Any, known: Any) -> Any:
    """Return a freshly read content with the identities of all parts that the known one still shares with it.

    A content that shares nothing with the known text or list stays whole.
    """
    if is_same_value(fresh, known):
        return known
    if isinstance(fresh, PMap) and isinstance(known, PMap):
        return PMap({key: transfer_identities(item, known.get(key, ABSENT)) for key, item in fresh.items()})
    old = get_parts(known)
    new = None if old is None else get_parts(fresh)
    if new is None or old is None or type(new) is not type(old):
        return fresh
    revised = old.revise(new.whole(), anew=_is_apart(known) and len(new) > 0 and len(old) > 0)
    return fresh if revised is None else with_parts(fresh, revised)


def _is_apart(known: Any) -> bool:
    """Whether what a content holds besides its parts counts by itself."""
    return isinstance(known, File) and (known.edited or known.has_own_frame)


def find_differing_below(before: PMap, after: PMap) -> Iterator[tuple[str, ...]]:
    """Yield the highest paths at which two mappings differ in more than what they contain."""
    for name, old, new in before.candidates(after):
        if type(old) is PMap and type(new) is PMap:
            yield from ((name, *rest) for rest in find_differing_below(old, new))
        elif (parts := find_differing_parts(old, new)) is not None:
            yield from ((name, part) for part in parts)
        elif not is_identical_content(old, new):
            yield (name,)


def compare_parts(before: Any, after: Any) -> Alignment | None:
    """Return which part of a text or list continues which part of another; None where either has no parts."""
    old, new = get_parts(before), get_parts(after)
    return None if old is None or new is None or type(old) is not type(new) else old.compare(new.whole())


def content_to_json(content: Any) -> Any:
    """Return a value of config or a text as JSON that brings back the identities of its parts."""
    if isinstance(content, PMap):
        return {key: content_to_json(item) for key, item in content.items()}
    return {MARK: content.to_json()} if isinstance(content, Parts) else thaw(content)


def content_from_json(raw: Any, where: str, depth: int = 0) -> Any:
    """Return what `content_to_json` wrote down."""
    if isinstance(raw, dict):
        if MARK in raw:
            return (Text if "end" in raw[MARK] else Items).from_json(raw[MARK], where)
        return PMap({key: content_from_json(item, f"{where}.{key}", depth + 1) for key, item in raw.items()})
    return freeze(raw, where, depth=depth, stored=True)


def slot_content_to_json(content: Any) -> Any:
    """Return a slot's content as JSON: a part with its place, or a value."""
    return link_to_json(content) if type(content) is Link else content_to_json(content)


def slot_content_from_json(raw: Any, name: str, where: str) -> Any:
    """Return what `slot_content_to_json` wrote down for a slot whose last name is given."""
    return link_from_json(raw, name[1:], where) if is_part(name) else content_from_json(raw, where)
