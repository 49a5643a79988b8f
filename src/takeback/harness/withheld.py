"""Values in use that the journal does not keep, because the policy says so: which they are, and whether one is still
there, as far as a digest tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from takeback.harness.images import FileChange, FileImage, KeptImage
from takeback.harness.missing_values import iter_values, read_stored_value
from takeback.harness.pack import Packer
from takeback.journal import Leaf, Tree
from takeback.journal.content import is_digest_of
from takeback.state import ABSENT, State
from takeback.state.forgotten import HiddenLines, find_redacted, has_forgotten
from takeback.state.part_slots import get_parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot

if TYPE_CHECKING:
    from takeback.journal.store import CaptureFilter
    from takeback.undo import Write


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
