"""Changes of files as differences: what a plan, a discard or a hand would do to each file, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image, KeptImage, LinkImage, Unknown
from takeback.present.contents import Sheet, text_sheet
from takeback.present.diffs import Difference, difference


def file_differences(changes: Iterable[FileChange | KeptImage]) -> Iterator[Difference]:
    """What happens to each file; directories are told by a note."""
    for change in changes:
        notes: tuple[str, ...] = ()
        if isinstance(change.after, DirectoryImage) or isinstance(change.before, DirectoryImage):
            notes = ("the directory is made",) if change.before is None else ("the directory goes",)
        yield difference(change.path, _sheet(change.before), _sheet(change.after), *notes)


def _sheet(image: Image | Unknown | None) -> Sheet | None:
    if isinstance(image, LinkImage):
        return Sheet((f"link to {image.target}\n",), inline=f"link to {image.target}")
    if isinstance(image, FileImage):
        return text_sheet(image.content, f"{image.mode:04o}")
    return Sheet(("(not recorded)\n",), inline="(not recorded)") if isinstance(image, Unknown) else None
