"""Taking over what a command did: the project gets it, file by file, and then the recorder is called.

This is the one place where changes of a run reach the project. A file is replaced by swapping names, so that it is
always whole, and only if it still is what it was when the command began; otherwise it is a conflict, nothing is
overwritten, and the command's version stays with the run. No link is followed. If anything fails, recording
included, everything is put back. What a run has left in its upper layer is what was not taken over.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from takeback.adapters.directory import Directory
from takeback.adapters.file_replacement import swap_names, take_name
from takeback.adapters.roots import PRIVATE
from takeback.agents.overlay.layer import (
    Layer,
    LayerChange,
    NameTraits,
    digest_file,
    read_layer,
    read_traits,
    show_path,
)
from takeback.agents.overlay.runs import NAMES, OverlayRun, discard_tree
from takeback.errors import HarnessError, TakebackError, UnsafePathError
from takeback.harness.file_transaction import defer_sigint
from takeback.journal import Record

OWN_ATTRIBUTES: Final = "user.overlay."
OURS: Final = stat.S_IRWXU
MEANWHILE: Final = "it was changed in the project while the command ran"


class Recorder(Protocol):
    """What makes an entry of what was taken over. A tracker of all files of a project joins in here."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep other recorders out while files are changed."""

    def prepare(self, changes: Sequence[LayerChange]) -> None:
        """Record what stands in these places by now, before any of it is changed: it is not the command's."""

    def record(self, changes: Sequence[LayerChange], run: OverlayRun) -> RecordedRun:
        """Record these changes, which were made just now, as the command's."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What a recorder made of changes."""

    entries: tuple[Record, ...] = ()
    paths: frozenset[str] = frozenset()
    """What the entries hold, and can be taken back; other paths are not tracked."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change that was not made, because somebody else was there."""

    path: str
    reason: str
    left: Path | None
    """Where the command's version is; None if it removed the file."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of the changes of a run."""

    changes: tuple[LayerChange, ...]
    conflicts: tuple[Conflict, ...]
    recorded: RecordedRun = field(default_factory=RecordedRun)


class _Place(NamedTuple):
    """A name in an open folder."""

    folder: int
    name: str


class _Found(Exception):  # noqa: N818 - it is what was found, and ends one change, not the transfer
    """Somebody else was there."""


def keep_changes(
    run: OverlayRun,
    changes: Sequence[LayerChange],
    recorder: Recorder,
    *,
    overwrite: bool = False,
    withheld: Iterable[str] = (),
) -> Kept:
    """Make changes of a run in the project and record them; all that have no conflict, or none if anything fails.

    With `overwrite` files are replaced that somebody else changed meanwhile. `withheld` are paths of the run that are
    not among the changes: folders that hold them stay.
    """
    with recorder.hold(), defer_sigint(), ExitStack() as stack:
        directory, upper = Directory(run.root), Directory(run.upper)
        stack.callback(directory.close)
        stack.callback(upper.close)
        going = {change.path for change in changes if change.after is None}
        checked = [
            (change, None if _is_cleared(change, going) else why_conflicting(directory, change)) for change in changes
        ]
        if overwrite:
            checked = [_overwrite(directory, change, why) for change, why in checked]
        before = run.root / PRIVATE / f"run-{run.folder.name}"  # of an attempt that was killed, too
        aside = before / secrets.token_hex(6)
        aside.mkdir(0o700, parents=True)
        transfer = _Transfer(directory, upper, aside)
        stack.callback(transfer.close)
        stack.enter_context(_open_layer(upper.root, changes))
        try:
            recorder.prepare([change for change, why in checked if why is None])
            kept = transfer.make(checked, tuple(withheld))
            recorded = recorder.record(kept.changes, run)
        except BaseException as fault:
            stuck = transfer.take_back()
            _renew_snapshot(run, directory, changes)
            if not stuck:
                discard_tree(aside)
                with suppress(OSError):
                    before.rmdir()
            if isinstance(fault, Exception):
                raise _explain(fault, run, aside, stuck) from fault
            raise
        discard_tree(before)
    return replace(kept, recorded=recorded)


def _explain(fault: Exception, run: OverlayRun, aside: Path, stuck: Sequence[str]) -> HarnessError:
    why = fault.message if isinstance(fault, TakebackError) else str(fault)
    back = "everything was put back"
    if stuck:
        back = f"{', '.join(map(show_path, stuck))} could not be put back; what was there is in {aside}"
    return HarnessError(
        f"the changes could not be applied: {why}; {back}, and what the command wrote is still in {run.upper}",
        hint="'takeback run --resume' tries again, 'takeback run --drop-leftovers' drops it",
    )


def _renew_snapshot(run: OverlayRun, directory: Directory, changes: Iterable[LayerChange]) -> None:
    """Note what was put back, so that it is not taken for somebody's edit when the transfer is tried again."""
    snapshot = run.snapshot
    for change in changes:
        with suppress(OSError):
            status = _read_status(directory, change.path)
            if status is not None:
                snapshot.renew(change.path, read_traits(status))
    snapshot.save(run.folder / NAMES)


@contextmanager
def _open_layer(upper: Path, changes: Iterable[LayerChange]) -> Iterator[None]:
    """Let this user take files out of folders of the layer that the command shut."""
    shut = [
        (upper / change.path, change.after.permissions)
        for change in changes
        if change.after is not None and change.form == "directory" and change.after.permissions & OURS != OURS
    ]
    for place, mode in sorted(shut):
        os.chmod(place, mode | OURS)
    try:
        yield
    finally:
        for place, mode in sorted(shut, reverse=True):
            os.chmod(place, mode)


def why_conflicting(directory: Directory, change: LayerChange) -> str | None:
    """Return why a change cannot be made to what is in the project by now; None if it can."""
    try:
        with _open_place(directory, change.path) as place:
            status = None if place is None else directory.status(*place)
            if change.before is None:
                both = change.form == "directory" and status is not None and stat.S_ISDIR(status.st_mode)
                return None if status is None or both else "something was made there while the command ran"
            if place is None or status is None:
                return None if change.after is None else "it was removed from the project while the command ran"
            return None if _is_same(place, status, change.before) else MEANWHILE
    except OSError as fault:
        return f"its folder is no longer what it was: {fault.strerror}"


@contextmanager
def _open_place(directory: Directory, path: str) -> Iterator[_Place | None]:
    """Yield the name at a path in its open folder; None where there is no such folder."""
    parts = tuple(path.split("/"))
    with directory.parent(parts) as parent:
        yield None if parent is None else _Place(parent, parts[-1])


def _read_status(directory: Directory, path: str) -> os.stat_result | None:
    """Return the status of what is at a path now; None for nothing."""
    with _open_place(directory, path) as place:
        return None if place is None else directory.status(*place)


def _is_cleared(change: LayerChange, going: Container[str]) -> bool:
    """Return whether something goes first that is in the place of a new thing, or in the way to it."""
    parts = change.path.split("/")
    return change.before is None and any("/".join(parts[:end]) in going for end in range(1, len(parts) + 1))


def is_done(directory: Directory, change: LayerChange) -> bool:
    """Return whether the project already is as a change would make it, so that nothing is left to do."""
    try:
        status = _read_status(directory, change.path)
    except OSError:
        return False
    if status is None or change.after is None:
        return status is None and change.after is None
    now = read_traits(status)
    if change.form == "directory" or change.kind == "mode":
        return now.mode == change.after.mode
    return False


def read_pending(run: OverlayRun) -> Layer:
    """Return what a run did and nobody took over yet."""
    layer = read_layer(run.upper, run.root, run.snapshot)
    with closing(Directory(run.root)) as directory:
        return replace(layer, changes=tuple(change for change in layer.changes if not is_done(directory, change)))


def _is_same(place: _Place, status: os.stat_result, before: NameTraits) -> bool:
    """Return whether something is what the snapshot saw; of a folder only that it is one, with the same rights."""
    now = read_traits(status)
    if before.form == "directory":
        return now.mode == before.mode
    if now != before._replace(digest=""):
        return False
    if not before.digest:
        return True
    file = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        return digest_file(file) == before.digest
    finally:
        os.close(file)


def _overwrite(directory: Directory, change: LayerChange, why: str | None) -> tuple[LayerChange, str | None]:
    """Return a change as one of what is there now, where somebody else changed a file."""
    if why is None or change.form == "directory":
        return change, why
    try:
        status = _read_status(directory, change.path)
    except OSError:
        return change, why
    if status is None:
        return replace(change, before=None, same_content=False), None
    if stat.S_ISDIR(status.st_mode):
        return change, why
    return replace(change, before=read_traits(status), same_content=False), None


class _Transfer:
    """One transfer, with how each of its steps is put back."""

    def __init__(self, directory: Directory, upper: Directory, aside: Path) -> None:
        self._directory, self._upper = directory, upper
        self._aside = os.open(aside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._steps: list[tuple[str, Callable[[], None]]] = []
        self._count = 0
        self._copies = os.fstat(upper.descriptor).st_dev != os.fstat(directory.descriptor).st_dev

    def make(self, checked: Sequence[tuple[LayerChange, str | None]], withheld: Sequence[str]) -> Kept:
        """Make the changes that have no conflict: removals first, then folders, files, and rights of folders."""
        made: list[LayerChange] = []
        conflicts = {change.path: why for change, why in checked if why is not None}
        staying = [*withheld, *conflicts]
        possible = [change for change, why in checked if why is None]
        for change in possible:  # folders that the command could write in, or that go
            if change.form == "directory":
                self._open_folder(change.path, change.before)
        for change in sorted(possible, key=_order):
            below = f"{change.path}/"
            if (
                change.after is None
                and change.form == "directory"
                and any(path.startswith(below) for path in staying)
            ):
                self._open_folder(change.path, change.before, shut=True)
                continue
            try:
                self._make_change(change)
            except (_Found, UnsafePathError) as fault:
                conflicts[change.path] = str(fault)
                staying.append(change.path)
            else:
                made.append(change)
        for change in made:  # new folders get the rights that the command gave them, once they hold what they shall
            if change.form == "directory" and change.kind == "added":
                self._open_folder(change.path, change.after, shut=True)
        after = {change.path: change.after for change, _ in checked}
        refused = [
            Conflict(path, why, None if after[path] is None else self._upper.root / path)
            for path, why in conflicts.items()
        ]
        return Kept(tuple(sorted(made, key=lambda change: change.path)), tuple(refused))

    def _open_folder(self, path: str, traits: NameTraits | None, *, shut: bool = False) -> None:
        """Give this user the right to write in a folder that does not have it; or with `shut`, take it away again."""
        if traits is not None and traits.permissions & OURS != OURS:
            rights = traits, traits._replace(mode=traits.mode | OURS)
            self._make_change(LayerChange(path, *(rights[::-1] if shut else rights), same_content=True))

    def take_back(self) -> list[str]:
        """Put everything back, the last step first; return the paths where that failed."""
        stuck: list[str] = []
        while self._steps:
            path, step = self._steps.pop()
            try:
                step()
            except OSError:
                stuck.append(path)
        return stuck

    def close(self) -> None:
        """Let go of the folder aside."""
        os.close(self._aside)

    def _make_change(self, change: LayerChange) -> None:
        with self._directory.faults("change", change.path), _open_place(self._directory, change.path) as place:
            if place is None:
                if change.after is None:
                    return
                raise _Found("its folder was removed from the project while the command ran")
            if change.form == "directory":
                self._change_folder(change, place)
            elif change.after is None:
                self._remove(change, place)
            elif change.kind == "mode":
                self._set_mode(change, place, change.after.permissions)
            else:
                self._put(change, place)

    def _change_folder(self, change: LayerChange, place: _Place) -> None:
        if change.after is None:
            try:
                os.rmdir(place.name, dir_fd=place.folder)
            except FileNotFoundError:
                return
            except OSError as fault:
                raise _Found(f"something was put into it while the command ran ({fault.strerror})") from fault
            self._note(change, lambda at: _make_folder(at, change.before))
        elif change.kind == "mode":
            self._set_mode(change, place, change.after.permissions)
        else:
            with suppress(FileExistsError):
                _make_folder(place, change.after)
                self._give_owner(change.path, place)
                self._note(change, lambda at: os.rmdir(at.name, dir_fd=at.folder))

    def _give_owner(self, path: str, place: _Place) -> None:
        """Give a new folder the owner that it has in the layer, where root may."""
        if os.geteuid() == 0:
            owner = os.lstat(self._upper.root / path)
            os.chown(place.name, owner.st_uid, owner.st_gid, dir_fd=place.folder, follow_symlinks=False)

    def _remove(self, change: LayerChange, place: _Place) -> None:
        kept = self._next_aside()
        try:
            take_name(*place, *kept)
        except FileNotFoundError:
            return
        if not _came_out(kept, change.before):
            take_name(*kept, *place)
            raise _Found(MEANWHILE)
        self._note(change, lambda at: take_name(*kept, *at))

    def _put(self, change: LayerChange, place: _Place) -> None:
        with self._open_source(change.path) as source:
            if change.before is not None and swap_names(source.folder, source.name, place.name, place.folder):
                self._check_swap(change, place, source)
                return
            if change.before is not None:
                self._remove(change, place)
            try:
                take_name(*source, *place)
            except FileExistsError as fault:
                raise _Found("something was made there while the command ran") from fault
        self._note(change, lambda at: self._return_source(change.path, at))

    def _check_swap(self, change: LayerChange, place: _Place, source: _Place) -> None:
        if not _came_out(source, change.before):
            swap_names(source.folder, source.name, place.name, place.folder)
            raise _Found(MEANWHILE)
        kept = self._next_aside()
        os.rename(source.name, kept.name, src_dir_fd=source.folder, dst_dir_fd=kept.folder)

        def put_back(at: _Place) -> None:
            swap_names(kept.folder, kept.name, at.name, at.folder)
            self._return_source(change.path, kept)

        self._note(change, put_back)

    def _return_source(self, path: str, at: _Place) -> None:
        """Put the command's file back into the layer; where that held a copy, the copy goes."""
        if self._copies:
            os.unlink(at.name, dir_fd=at.folder)
            return
        with _open_place(self._upper, path) as place:
            if place is not None:
                take_name(*at, *place)

    @contextmanager
    def _open_source(self, path: str) -> Iterator[_Place]:
        """Yield the command's file on the project's file system, without what the overlay wrote to it."""
        with _open_place(self._upper, path) as place:
            if place is None:
                raise HarnessError(f"{self._upper.root / path} is no longer there")
            whole = f"/proc/self/fd/{place.folder}/{place.name}"
            if not self._copies:
                _remove_attributes(whole)
                yield place
                return
            copy = self._next_aside()
            there = f"/proc/self/fd/{copy.folder}/{copy.name}"
            shutil.copy2(whole, there, follow_symlinks=False)
            _remove_attributes(there)
            if os.geteuid() == 0:
                status = os.lstat(whole)
                os.chown(there, status.st_uid, status.st_gid, follow_symlinks=False)
                with suppress(NotImplementedError):
                    shutil.copymode(whole, there, follow_symlinks=False)
            yield copy

    def _set_mode(self, change: LayerChange, place: _Place, mode: int) -> None:
        _chmod(place, mode)
        before = change.before
        if before is not None:
            self._note(change, lambda at: _chmod(at, before.permissions))

    def _next_aside(self) -> _Place:
        self._count += 1
        return _Place(self._aside, str(self._count))

    def _note(self, change: LayerChange, back: Callable[[_Place], Any]) -> None:
        """Note how a change is put back; its folder is opened anew then."""

        def step() -> None:
            with _open_place(self._directory, change.path) as place:
                if place is None:
                    raise FileNotFoundError(change.path)
                back(place)

        self._steps.append((change.path, step))


def _order(change: LayerChange) -> tuple[int, int, str]:
    depth = change.path.count("/")
    if change.after is None:
        return (0 if change.form != "directory" else 1, -depth, change.path)
    if change.form == "directory":
        return (4, -depth, change.path) if change.kind == "mode" else (2, depth, change.path)
    return (3, depth, change.path)


def _came_out(place: _Place, before: NameTraits | None) -> bool:
    """Return whether what was taken out is what it was; renaming has changed the time of its last change."""
    now = read_traits(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
    return before is not None and now._replace(changed=0) == before._replace(changed=0, digest="")


def _make_folder(place: _Place, traits: NameTraits | None) -> None:
    os.mkdir(place.name, 0o700, dir_fd=place.folder)
    if traits is not None:
        _chmod(place, traits.permissions | OURS)


def _chmod(place: _Place, mode: int) -> None:
    """Set permission bits of what has a name, never of what a link leads to."""
    file = os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        if stat.S_ISLNK(os.fstat(file).st_mode):
            raise _Found(MEANWHILE)
        os.chmod(f"/proc/self/fd/{file}", mode)
    finally:
        os.close(file)


def _remove_attributes(place: str) -> None:
    """Remove what the overlay noted on a file."""
    with suppress(OSError):
        for name in os.listxattr(place, follow_symlinks=False):
            if name.startswith(OWN_ATTRIBUTES):
                os.removexattr(place, name, follow_symlinks=False)
