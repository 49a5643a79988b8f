"""Missing values of a state: slots whose value was forgotten while it was in use, and how they are filled again.

The journal knows that something is there, of what kind, where in its chain and with which mode, but not the value,
which only the real file has. So it is with values that the policy does not let it keep; whether one of those is
still there tells a digest, if that was kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from takeback.harness.images import FileChange, FileImage, KeptImage
from takeback.harness.pack import Packer
from takeback.journal import Leaf, Tree
from takeback.journal.content import is_digest_of
from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.chain import Chain, Link
from takeback.state.file import File
from takeback.state.forgotten import Forgotten, HiddenLines, find_redacted, has_forgotten, make_blank
from takeback.state.items import Items
from takeback.state.part_slots import get_parts
from takeback.state.parts import Parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot, put_slots
from takeback.state.text import Text
from takeback.state.values import is_same_value, thaw

if TYPE_CHECKING:
    from takeback.journal.store import CaptureFilter
    from takeback.undo import Write


def remove_missing_values(state: State, holes: Mapping[Slot, Any]) -> State:
    """Return the state without the slots whose values were forgotten."""
    return put_slots(state, [(slot, ABSENT) for slot in holes]) if holes else state


def iter_missing_values(slot: Slot, content: Any) -> Iterator[tuple[Slot, Any]]:
    """Yield slots at and below a slot whose values were forgotten, and what replaces each."""
    if isinstance(content, Forgotten) or (isinstance(content, Link) and has_forgotten(content)):
        yield slot, content
    elif isinstance(content, Parts | File) and has_forgotten(content):
        yield slot, Forgotten(frame=content.frame if isinstance(content, File) else None)
    elif isinstance(content, PMap) and SURFACES[slot[0]].nested:
        for name, item in content.items():
            yield from iter_missing_values((*slot, name), item)


def iter_values(slot: Slot, content: Any) -> Iterator[tuple[Slot, Any]]:
    """Yield the slots at and below a slot that hold a value of their own, and what they hold."""
    if isinstance(content, PMap) and SURFACES[slot[0]].nested:
        for name, item in content.items():
            yield from iter_values((*slot, name), item)
    elif isinstance(content, Chain):
        yield from (((*slot, link.id), link) for link in content)
    elif content is not ABSENT:
        yield slot, content


def fill_from_actual(slot: Slot, gone: Any, actual: State) -> Any:
    """Return what fills a missing value, from what is really there; ABSENT if that does not fit."""
    content = get_slot(actual, slot)
    if content is ABSENT or has_forgotten(content):
        return ABSENT
    if isinstance(gone, Link):
        return Link(gone.place, gone.id, content.record) if isinstance(content, Link) else ABSENT
    if gone.form is not None:
        return _align_parts(gone, content)
    if gone.frame is not None:
        return File(content.content).with_frame(gone.frame) if isinstance(content, File) else ABSENT
    if isinstance(content, File) or SURFACES[slot[0]].has_child_slots(content, slot[1:]):
        return ABSENT
    return content


def _align_parts(gone: Forgotten, content: Any) -> Any:
    """Return an actual text or list with the identities the journal has for its parts; ABSENT if it does not fit."""
    form, actual = gone.form, get_parts(content)
    if form is None or type(actual) is not type(form) or isinstance(content, File) is not (gone.frame is not None):
        return ABSENT
    plain, there = form.to_json(), actual.to_json()
    records = [thaw(link.record) for link in actual.links()]
    sizes = [second if isinstance(first, int) else 1 for first, second, _ in plain["segments"]]
    if sum(sizes) != len(records):
        return ABSENT
    at, segments = 0, []
    for (first, second, known), size in zip(plain["segments"], sizes, strict=True):
        run = records[at : at + size]
        held = "".join(run) if isinstance(form, Text) else run
        if not _is_blank(known) and known != (held if isinstance(first, int) else run[0]):
            return ABSENT  # not only what was forgotten is different
        segments.append([first, second, held if isinstance(first, int) else run[0]])
        at += size
    ended = {"end": there["end"]} if isinstance(form, Text) else {}
    raw = {**plain, **ended, "segments": segments}
    if not isinstance(form, Text):
        return Items.from_json(raw, "a list that is there")
    text = Text.from_json(raw, "a text that is there")
    return text if gone.frame is None else File(text).with_frame(gone.frame)


def _is_blank(segment: Any) -> bool:
    """Return whether nothing is known of a segment but how many parts it has."""
    if isinstance(segment, str):
        return not segment.strip()
    return segment is None or (isinstance(segment, list) and segment == [None] * len(segment))


def find_hidden_lines(content: Any, sizes: Iterable[tuple[int, bool]]) -> HiddenLines | None:
    """Return the forgotten lines of a text, told how many parts each are; None where that does not fit."""
    parts = get_parts(content)
    records = [link.record for link in parts.links()] if isinstance(parts, Text) else []
    flags = [gone for size, gone in sizes for _ in range(size)]
    if not records or len(flags) != len(records):
        return None
    return HiddenLines(record.strip() for record, gone in zip(records, flags, strict=True) if gone and record.strip())


def find_blank_lines(gone: Any, content: Any) -> HiddenLines | None:
    """Return the lines of a filled text of which the journal knows nothing; None where it is not known by lines."""
    if not isinstance(gone, Forgotten) or not isinstance(gone.form, Text):
        return None
    segments = gone.form.to_json()["segments"]
    sizes = ((size if isinstance(first, int) else 1, _is_blank(known)) for first, size, known in segments)
    return find_hidden_lines(content, sizes)


def update_missing_value(gone: Any, part: Slot, after: Any) -> Any:
    """Return a missing value after one of its parts was written."""
    if not isinstance(gone, Forgotten) or gone.form is None:
        return gone
    return Forgotten(gone.claim, gone.frame, _write_part(gone.form, part, after))


def make_missing_value(content: Any, part: Slot) -> Forgotten:
    """Return the missing value for a text or list of which one part was forgotten."""
    parts = get_parts(content)
    frame = content.frame if isinstance(content, File) else None
    link = None if parts is None else parts.find(part[-1][1:])
    return Forgotten(None, frame, None if parts is None or link is None else _write_part(parts, part, link))


def _write_part(form: Parts, part: Slot, after: Any) -> Parts:
    if after is ABSENT:
        return form.drop(part[-1][1:])
    return form.put(after._replace(record=make_blank(type(form))) if has_forgotten(after) else after)


def read_stored_value(content: Any) -> Any:
    """Return the value in a slot's content that is stored on its own."""
    return content.record if isinstance(content, Link) else content


def is_same_known_value(old: Any, new: Any) -> bool:
    """Return whether two contents of a slot hold the same value, whatever their order keys."""
    if isinstance(old, File) or isinstance(new, File):
        return bool(old == new)
    return old is not ABSENT and is_same_value(read_stored_value(old), read_stored_value(new))


def collect_missing_values(contents: Iterable[tuple[Slot, Any]]) -> dict[Slot, Any]:
    """Return the missing values in what several slots are to hold."""
    return {place: gone for slot, content in contents for place, gone in iter_missing_values(slot, content)}


def find_withheld_values(capture: CaptureFilter, state: State, slots: Iterable[Slot]) -> Iterator[tuple[Slot, Any]]:
    """Yield which values at and below some slots are not kept, and of an edited text its lines that are not."""
    for slot in dict.fromkeys(map(find_containing_slot, slots)):
        for place, content in iter_values(slot, get_slot(state, slot)):
            if _is_withheld(capture, place, content):
                lines = _find_lines(capture, content)
                yield place, lines or read_stored_value(content)


def list_unkept(capture: CaptureFilter | None, writes: Iterable[Write]) -> tuple[str, ...]:
    """Return the addresses at which what some writes replace is not kept: an undo could not put it back."""
    if capture is None:
        return ()
    addresses = (
        describe_slot(find_containing_slot(place))
        for write in writes
        for place, content in iter_values(write.slot, write.before)
        if _is_withheld(capture, place, content)
    )
    return tuple(dict.fromkeys(addresses))


def describe_unkept(unkept: Iterable[str]) -> str:
    """Return what is said, beforehand, of a change of what the journal does not keep."""
    return f"irreversible: {', '.join(unkept)} holds what the policy does not keep, so an undo cannot put it back"


def list_unkept_files(capture: CaptureFilter | None, images: Iterable[FileChange | KeptImage]) -> tuple[str, ...]:
    """Return the files whose bytes are not kept beyond the change that needs them, for what they hold."""
    if capture is None:
        return ()
    sides = ((image.path, side) for image in images for side in (image.before, image.after))
    return tuple(path for path, side in sides if isinstance(side, FileImage) and capture.has_match_in(side.content))


def fits_digest(slot: Slot, gone: Any, content: Any) -> bool:
    """Tell whether a content may be one that was never stored: its digest says so, or nothing does."""
    digest = find_redacted(gone)
    return not digest or any(is_digest_of(digest, leaf.data) for leaf in _list_leaves(Packer(), slot, content))


def _is_withheld(capture: CaptureFilter, slot: Slot, content: Any) -> bool:
    if content is ABSENT or has_forgotten(content):
        return False
    pack = Packer()
    pack.is_line_withheld = capture.is_line_apart
    return any(capture.find_ref(leaf) is not None for leaf in _list_leaves(pack, slot, content))


def _list_leaves(pack: Packer, slot: Slot, content: Any) -> list[Leaf]:
    packed = pack.slot(slot, content)
    leaves = packed.parts if isinstance(packed, Tree) else (packed,)
    return [leaf for leaf in leaves if isinstance(leaf, Leaf)]


def _find_lines(capture: CaptureFilter, content: Any) -> HiddenLines | None:
    """Return the lines of an edited text that are not kept; None where it is kept or not as a whole."""
    parts = get_parts(content)
    if parts is None or not parts.list_written_parts():
        return None
    texts = (link.record for link in parts.links() if isinstance(link.record, str))
    return HiddenLines(text.strip() for text in texts if text.strip() and capture.is_line_apart(text.encode()))
