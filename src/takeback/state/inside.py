"""Looking inside whole values: the parts of a text, of a list in config, of a UTF-8 file.

What is a text or a list has parts, everything else stays whole. A content that has parts of its own, as a file has
those of its text, says so by `Partial`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from takeback.errors import OperationFailed
from takeback.state.align import Alignment
from takeback.state.chain import ChainPlace, Link
from takeback.state.chain_slots import alike_links, link_from_json, link_to_json
from takeback.state.items import Items
from takeback.state.parts import FRAME, Parts, is_part, part_name
from takeback.state.pmap import ABSENT, PMap
from takeback.state.text import Text
from takeback.state.values import MARK, check_items, check_length, freeze, same, thaw

_FRAME: Final = part_name(FRAME)
_FRAME_PLACE: Final = ((-1, FRAME),)


class Partial(ABC):
    """A content that holds a value with parts."""

    __slots__ = ()

    @abstractmethod
    def parts(self) -> Parts | None:
        """Return the parts; None where what it holds has none."""

    @abstractmethod
    def holding(self, parts: Parts) -> Any:
        """Return the content with other parts."""

    @property
    @abstractmethod
    def edited(self) -> bool:
        """Whether it was edited inside, so that its parts have identities."""

    @property
    @abstractmethod
    def frame(self) -> Any:
        """What it holds besides its parts."""

    @property
    @abstractmethod
    def has_own_frame(self) -> bool:
        """Whether that is anything but what is there unless someone says otherwise."""

    @abstractmethod
    def framed(self, frame: Any) -> Any:
        """Return the content with something else besides its parts."""


def parts_of(content: Any) -> Parts | None:
    """Return the parts of a content; None where it has none."""
    if isinstance(content, Parts):
        return content
    if type(content) is str:
        return Text.of(content)
    if type(content) is tuple:
        return Items.of(content)
    return content.parts() if isinstance(content, Partial) else None


def with_parts(content: Any, parts: Parts) -> Any:
    """Return a content with other parts."""
    return content.holding(parts) if isinstance(content, Partial) else parts


def get_part(content: Any, name: str) -> Any:
    """Return one part of a content, ABSENT if it is not there."""
    if name == _FRAME:
        return Link(_FRAME_PLACE, FRAME, content.frame) if isinstance(content, Partial) else ABSENT
    parts = parts_of(content)
    return ABSENT if parts is None else parts.find(name[1:]) or ABSENT


def put_part(content: Any, name: str, part: Any) -> Any:
    """Return a content with another part, or without it."""
    if name == _FRAME and isinstance(content, Partial) and part is not ABSENT:
        return content.framed(part.record)
    parts = parts_of(content)
    if parts is None:
        raise OperationFailed("what was edited inside is no longer a text or a list")
    changed = parts.drop(name[1:]) if part is ABSENT else parts.put(part)
    return with_parts(content, changed.reserve((name[1:],)))


def put_parts(content: Any, parts: Sequence[tuple[str, Any]]) -> Any:
    """Return a content with many other parts, or without them, as `put_part` would one after the other.

    None where the content has no parts, or what it holds besides them is meant.
    """
    there = parts_of(content)
    if there is None or any(name == _FRAME for name, _ in parts):
        return None
    changed = there.changed((name[1:], None if part is ABSENT else part) for name, part in parts)
    return with_parts(content, changed.reserve(name[1:] for name, _ in parts))


def check_parts(content: Any, names: Sequence[str], where: str, *, depth: int = 0) -> None:
    """Raise `LimitError` where some parts, or the whole text or list with them, could not be read again."""
    parts = parts_of(content)
    if isinstance(parts, Text):
        check_length(len(parts), where)
    elif isinstance(parts, Items):
        check_items(len(parts), where)
        for link in filter(None, (parts.find(name[1:]) for name in names)):
            freeze(thaw(link.record), where, depth=depth + 1)


def reserve(content: Any, names: Sequence[str], places: Iterable[ChainPlace] = ()) -> Any:
    """Return a content in which no new part will get one of these names, nor stand before these places at an end."""
    parts = parts_of(content) if names else None
    if parts is None:
        return content
    return with_parts(content, parts.reserve(name[1:] for name in names).reserve_places(places))


def differing_parts(before: Any, after: Any) -> list[str] | None:
    """Return the names of parts that differ where `after` grew from `before`; None where it was written anew."""
    new, old = _edited(after), _edited(before)
    if new is None:
        return None
    if old is None:
        old = parts_of(before)
        grew = old is not None and type(old) is type(new) and same(old.whole(), new.root)
    else:
        grew = old.root is new.root
    if old is None or not grew or isinstance(before, Partial) != isinstance(after, Partial):
        return None
    frame = [] if _same_frame(before, after) else [_FRAME]
    return [*(part_name(part) for part in old.differing(new)), *frame]


def _edited(content: Any) -> Parts | None:
    """The parts of a content that was edited inside; None for one that is whole."""
    if isinstance(content, Parts):
        return content
    return content.parts() if isinstance(content, Partial) and content.edited else None


def _same_frame(before: Any, after: Any) -> bool:
    """Whether what holds the parts is the same: a file's mode."""
    if isinstance(before, Partial) and isinstance(after, Partial):
        return bool(before.frame == after.frame)
    return not isinstance(before, Partial) and not isinstance(after, Partial)


def alike(one: Any, two: Any) -> bool:
    """Tell whether two contents are the same, identities of their parts included."""
    if one is two:
        return True
    if type(one) is Link and type(two) is Link:
        return alike_links(one, two)
    if isinstance(one, PMap) and isinstance(two, PMap):
        return not any(True for _, mine, theirs in one.candidates(two) if not alike(mine, theirs))
    mine, theirs = _edited(one), _edited(two)
    if mine is None or theirs is None:
        return mine is theirs and same(one, two)
    return _same_frame(one, two) and mine.to_json() == theirs.to_json()


def adopted(fresh: Any, known: Any) -> Any:
    """Return a content that was read anew, with the identities of what it still has of the known one.

    What keeps nothing of a text or list that was there, or is none, is whole. Not so a file with a mode of its own,
    or one that was edited inside: its mode is not written with its text, however much of that is new.
    """
    if same(fresh, known):
        return known
    if isinstance(fresh, PMap) and isinstance(known, PMap):
        return PMap({key: adopted(item, known.get(key, ABSENT)) for key, item in fresh.items()})
    old = parts_of(known)
    new = None if old is None else parts_of(fresh)
    if new is None or old is None or type(new) is not type(old):
        return fresh
    revised = old.revised(new.whole(), anew=_is_apart(known) and bool(new.whole()) and bool(old.whole()))
    return fresh if revised is None else with_parts(fresh, revised)


def _is_apart(known: Any) -> bool:
    """Whether what a content holds besides its parts counts by itself."""
    return isinstance(known, Partial) and (known.edited or known.has_own_frame)


def differing_below(before: PMap, after: PMap) -> Iterator[tuple[str, ...]]:
    """Yield the highest paths at which two mappings differ in more than what they contain."""
    for name, one, two in before.candidates(after):
        if type(one) is PMap and type(two) is PMap:
            yield from ((name, *rest) for rest in differing_below(one, two))
        elif (parts := differing_parts(one, two)) is not None:
            yield from ((name, part) for part in parts)
        elif not alike(one, two):
            yield (name,)


def compare(before: Any, after: Any) -> Alignment | None:
    """Return which part of a text or list each part of another one stands for; None where these are not both one."""
    old, new = parts_of(before), parts_of(after)
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
