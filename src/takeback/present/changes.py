"""Changes of slots as differences, address by address; a whole directory is told file by file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from takeback.harness.log import content_json, moved
from takeback.present.contents import Sheet, sheet_of, text_sheet
from takeback.present.diffs import Difference, difference
from takeback.state import ABSENT, SURFACES
from takeback.state.slots import Slot, slot_title
from takeback.undo import GONE, SlotChange, Write

FORGOTTEN: Final = Sheet(("(forgotten)\n",), inline="(forgotten)")


def differences(changes: Iterable[SlotChange | Write]) -> Iterator[Difference]:
    """What changes did."""
    for change in changes:
        notes = ("moved within its chain",) if moved(change) else ()
        before, after = (_shown(change.slot, side) for side in (change.before, change.after))
        for slot in sorted(before.keys() | after.keys()):
            yield difference(slot_title(slot), before.get(slot), after.get(slot), *notes)


def _shown(slot: Slot, content: Any) -> dict[Slot, Sheet]:
    if content is ABSENT:
        return {}
    if content is GONE:
        return {slot: FORGOTTEN}
    parts = SURFACES[slot[0]].parts_shown(slot[1:], content)
    return {(slot[0], *path): _sheet((slot[0], *path), inner) for path, inner in parts}


def _sheet(slot: Slot, content: Any) -> Sheet:
    text = SURFACES[slot[0]].text(content)
    return text_sheet(*text) if text is not None else sheet_of(content_json(slot, content))
