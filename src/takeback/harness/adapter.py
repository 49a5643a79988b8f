"""What an adapter is: the seam between the engine and the real things of one kind of harness.

An adapter knows nothing of journals or undo. Its core says which surfaces it stores and what is really there; then it
is one of two: a `FileAdapter` says which files a change gives which bytes and has a `Place` that puts them there, a
`LiveAdapter` makes the change itself, in this process. Everything else is an optional capability: the engine asks
whether an adapter has it. `takeback.adapters.conformance` tests all of this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from takeback.errors import TakebackError
from takeback.harness.images import FileChange, FileImage, Image, LinkImage
from takeback.journal import Record
from takeback.state import State
from takeback.state.slots import Slot


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that cannot be read as what it should be."""

    path: str
    where: str
    """The file, and where it is known the line and column."""
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


class Reading(NamedTuple):
    """What is really there. A broken file counts as holding what is known of it."""

    state: State
    broken: tuple[Broken, ...] = ()
    strange: tuple[str, ...] = ()
    """Things that are not the harness's where its own should be: left alone, and told."""
    notes: tuple[str, ...] = ()
    """What is to be known and needs nothing done: folders whose files belong to a harness of their own."""


@dataclass(frozen=True, slots=True)
class NotExpressible:
    """A change that cannot be written in a file without writing the file anew; `hint` is what to do instead."""

    path: str
    reason: str
    hint: str = ""

    @classmethod
    def from_fault(cls, path: str, fault: TakebackError) -> NotExpressible:
        """Return the reason and the hint of an error."""
        return cls(path, f"{fault.where}: {fault.message}" if fault.where else fault.message, fault.hint)

    def build_refusal(self) -> str:
        """Return the message of a refusal: the reason, that nothing was changed, and what to do next."""
        return f"{self.reason}; nothing was changed" + (f"\n  {self.hint}" if self.hint else "")


@runtime_checkable
class Adapter(Protocol):
    """The core of an adapter: real things that can be read."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def surfaces(self) -> frozenset[str]:
        """The surfaces it stores; operations on others are refused before anything happens."""

    def read(self, known: State) -> Reading:
        """Return what is there now: `known` itself if that is the same.

        Elements that `known` has keep their order keys.
        """

    def close(self) -> None:
        """Let go."""


@runtime_checkable
class LiveAdapter(Adapter, Protocol):
    """Real things of this process, changed by a call."""

    def write(self, before: State, after: State) -> None:
        """Make what is there, `before`, into `after`."""


@runtime_checkable
class FileAdapter(Adapter, Protocol):
    """Real things that are files."""

    @property
    def place(self) -> Place:
        """Where the files are put."""

    def render(self, before: State, after: State) -> tuple[FileChange, ...] | NotExpressible:
        """Return which files get which bytes when what was read, `before`, becomes `after`, in writing order.

        Changes nothing. Raises `ChangedMeanwhile` if the files are not what was read.
        """

    def find_touched_files(self, before: State, after: State) -> tuple[str, ...]:
        """Return the files in which two states differ."""

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Return whether a file with this image would say what the state says."""

    def list_remembered_files(self) -> Iterable[tuple[str, FileImage]]:
        """Return files, as last read, whose bytes cannot be derived from the state alone."""

    def image(self, path: str) -> Image | None:
        """Return a file as it is now."""

    def owns(self, path: str) -> bool:
        """Return whether a path is, or could be, one of the harness's files."""


class Place(Protocol):
    """Puts files in place one by one, and can put back what was there."""

    def look(self, path: str) -> Image | None:
        """Return what is at a path now."""

    def put(self, change: FileChange) -> Any:
        """Make one change, if the file is still what it was before; return what `take_back` and `settle` need.

        Raises `ChangedMeanwhile`, having changed nothing, if it is not.
        """

    def take_back(self, kept: Any) -> None:
        """Put back what `put` replaced, unless someone has changed the file since."""

    def is_unchanged(self, kept: Any) -> bool:
        """Return whether what `put` replaced, and keeps, is still what it was: nobody wrote to it meanwhile."""

    def settle(self, kept: Any) -> str | None:
        """Let go of what was replaced; where someone wrote to it meanwhile, the path it is kept under."""


@runtime_checkable
class Fenced(Place, Protocol):
    """A place that can be made to ask, right before each change, whether this process still may make it."""

    def add_fence(self, may: Callable[[], None]) -> Place:
        """Return the same place, calling `may` before every change; what that raises prevents the change."""


@runtime_checkable
class Resources(Protocol):
    """Capability: things that only this process can hold, such as sockets."""

    def prepare(self, before: State, after: State) -> str | None:
        """Take what a change needs, or say why that is unavailable; nothing is written yet."""

    def hold(self, state: State) -> None:
        """Hold exactly what a state says."""

    def problems(self) -> tuple[str, ...]:
        """Return what is unavailable."""


@runtime_checkable
class Leftovers(Protocol):
    """Capability: tells and removes what a killed process left behind."""

    def leftovers(self) -> tuple[str, ...]:
        """Return the temporary files of this harness."""

    def sweep(self) -> tuple[str, ...]:
        """Remove them; called while no other process is writing."""


@runtime_checkable
class Notes(Protocol):
    """Capability: remembers, apart from the journal, how far the journal has come."""

    def note(self, seq: int, digest: str) -> None:
        """Remember the journal's last record."""

    def read_noted_record(self) -> tuple[int, str] | None:
        """Return the record remembered last; None if there is none."""

    def note_recorded(self, images: Iterable[tuple[str, Image | None]]) -> None:
        """Take files for what the journal's next end says of them."""


@runtime_checkable
class Effects(Protocol):
    """Capability: says when whoever loads the harness notices a change."""

    def effect(self, slot: Slot) -> str:
        """Return `live`, `next session` or `needs approval in the client`."""


@runtime_checkable
class SharedFiles(Protocol):
    """Capability: says who else loads a file of the harness."""

    def list_other_readers(self, path: str, surfaces: Collection[str]) -> tuple[str, ...]:
        """Return whoever loads something of some surfaces from a file, besides the one whose it is."""


@runtime_checkable
class Heeding(Protocol):
    """Capability: says what whoever loads the harness does not heed, although it stands there."""

    def why_unheeded(self, slot: Slot) -> str:
        """Return why the client ignores a slot as things are now; empty if it does not."""

    def why_unknown(self, slot: Slot) -> str:
        """Return why the client will always ignore a slot, such as a hook of an unknown event; empty if not."""


@runtime_checkable
class SelfWriting(Protocol):
    """Capability: tells what the client itself writes, so that it is adopted without asking and blocks nothing."""

    def writer(self, slot: Slot, before: Any, after: Any) -> str | None:
        """Return the client that makes such a change of a slot itself; None if no client does."""


@runtime_checkable
class ValueTranslator(Protocol):
    """Capability: takes values as the client's own files say them."""

    def from_client_value(self, surface: str, key: str, value: Any, state: State) -> Any:
        """Return a value as the surface has it, made of one as the file has it; any other unchanged."""


@runtime_checkable
class TracksFormatting(Protocol):
    """Capability: an edit that changes no value, such as a comment or a file's mode, is an entry too."""

    def list_formatted(self) -> Iterable[tuple[str, FileImage | LinkImage | None]]:
        """Return files and links, as last read, of which every byte counts; None for one that does not exist."""

    def is_document(self, path: str) -> bool:
        """Return whether a path is that of a document, which is read wherever it is."""

    def is_bare(self, path: str, image: FileImage) -> bool:
        """Return whether a file holds nothing that anybody wrote: no setting, no comment."""


@runtime_checkable
class SideWrites(Protocol):
    """Capability: tells when rendering a change does more than to write the files in which the states differ."""

    def writes_aside(self, before: State, after: State) -> bool:
        """Whether rendering would write another file as well, or ask a client first."""


@runtime_checkable
class ManyPlaces(Place, Protocol):
    """A place that makes many changes at once faster than one by one."""

    def put_all(self, changes: Iterable[FileChange], keep: Callable[[Any], None]) -> None:
        """Make changes in turn as `put` does, handing what that returns over as each is made."""


class ProjectFiles(Protocol):
    """The project's own files, beside what an adapter stores: recorded by others, put back by us."""

    @property
    def surface(self) -> str:
        """The surface that holds them."""

    def settle(self, engine: Any) -> None:
        """Make entries of everything that was captured, so that the journal's state is what is there."""

    @property
    def settled(self) -> Sequence[Record]:
        """The entries that were made of captures since this was opened."""

    def has_path(self, path: str) -> bool:
        """Tell whether a file or folder is tracked, or was."""

    def list_changes(self, before: State, after: State) -> Sequence[FileChange]:
        """Return the changes of files that turn one state into another, in writing order."""

    def read_files(self, state: State, wanted: Mapping[Slot, Any]) -> State:
        """Return a state with some files of the project as they are on disk; `wanted` tells where each stands."""

    def forget(self, matches: Callable[[bytes], bool]) -> int:
        """Drop captured contents that match, permanently; return how many."""

    def list_standing(self, matches: Callable[[bytes], bool]) -> tuple[str, ...]:
        """Return the files that match as they stand."""

    def note_owned(self, adapter: Adapter) -> None:
        """Note which files an adapter stores, by its last reading: those are not the project's own."""

    def note_writing(self, changes: Iterable[FileChange]) -> None:
        """Note what Takeback is about to write."""

    def note_written(self, changes: Iterable[FileChange]) -> None:
        """Note what Takeback itself wrote, so that it is nobody's change."""

    def close(self) -> None:
        """Let go."""


class NotedEdits(Protocol):
    """Edits that hooks noted and that are not entries yet."""

    def settle(self, engine: Any) -> None:
        """Make an entry of each, so that the journal says all that hooks were told."""


class OutsideRecord(NamedTuple):
    """What is done to one record of another system, by fields: what is known of it, and what is wanted.

    ABSENT stands for a field that is not there, None for no record.
    """

    key: str
    known: Mapping[str, Any] | None
    wanted: Mapping[str, Any] | None


class OutsideRecords(Protocol):
    """Records that other systems keep, by declared bindings: looked at only where a change touches them."""

    def look(self, key: str) -> dict[str, Any] | None:
        """Return a record as it is now; None where there is none."""

    def why_unguarded(self, keys: Iterable[str]) -> str | None:
        """Return why some records must not be written, such as a guard that was never measured; None if they may."""

    def why_unwritable(self, changes: Iterable[OutsideRecord]) -> str | None:
        """Return why some changes must not be made, such as one of a field that is not declared; None if they may."""

    def put(self, changes: Sequence[OutsideRecord], done: Callable[[OutsideRecord], None]) -> None:
        """Make changes, those of one database together, each only if its fields are as known; tell each that is made.

        Raises `ChangedMeanwhile` where one is not.
        """

    def take_back(self, change: OutsideRecord) -> None:
        """Put back what `put` did, as far as nobody has written there since."""

    def is_applied(self, change: OutsideRecord) -> bool | None:
        """Tell whether a change is made: True, or False where things are as before; None where others wrote."""

    def describe_guards(self, keys: Iterable[str]) -> dict[str, str]:
        """Return how each binding of some records guards others' writes."""

    def close(self) -> None:
        """Let go."""


@runtime_checkable
class Linked(Protocol):
    """Capability: a file of the harness may be a link to another file inside the directory."""

    def behind(self, path: str, image: LinkImage) -> str | None:
        """Return the file inside the directory that a link leads to; None where it leads elsewhere or nowhere."""
