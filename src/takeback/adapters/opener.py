"""Opens a directory as a harness by its manifest, which names the adapter and the journal, if it is trusted.

A copy of a harness whose journal is in a database is not trusted as long as the original is there: one
journal holds the history of one directory.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from takeback.adapters.directory import Directory, parse_path
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.manifest import KEYS, PRIVATE, Manifest, find_manifest_path, read_call_rules, read_manifest
from takeback.adapters.roots import MANIFEST
from takeback.adapters.trust import (
    TRUSTED,
    JournalVoucher,
    find_other_owner,
    record_trust,
    refuse_untrusted,
    require_trusted,
    why_untrusted,
)
from takeback.adapters.trust_record import find_trust_folder
from takeback.adapters.variables import find_variable
from takeback.adapters.waiting_edits import WaitingEdits
from takeback.errors import HarnessError, InputError, TakebackError
from takeback.harness.adapter import Adapter, Resources
from takeback.harness.attempts import POLICY
from takeback.harness.harness import Harness, Verifier
from takeback.harness.images import load_images
from takeback.harness.ledger import Ledger
from takeback.journal import Store, open_journal
from takeback.journal.url import redact_url, require_path_or_url
from takeback.plugins import find_entry_points as entry_points
from takeback.state.surface import install_surfaces

if TYPE_CHECKING:
    from takeback.harness.calls import CallRules
    from takeback.journal.sqlite import KeptCopies


TOKEN_NAME: Final = "TAKEBACK_TOKEN"  # noqa: S105 - a name
"""The variable in which a token of the policy is given."""


def explain_untracked(root: Path) -> InputError:
    """Return the error for a directory without a manifest."""
    place, kinds = _find_clients(root)
    words = shlex.join(["takeback", "init", *([] if place == Path() else [str(place)])])
    line = f"`{words}`" if "'" in words else f"'{words}'"
    if kinds:
        given = f"untracked files of {' and '.join(kinds)}"
        return InputError(str(place), found=given, expected="a tracked project", hint=f"{line} starts tracking them")
    return InputError(
        str(root), found=f"no {MANIFEST}", expected="a tracked project or a workspace", hint=f"{line} starts tracking"
    )


def _find_clients(root: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the nearest directory with a client's files, up to the repository's top, and whose files they are."""
    from takeback.adapters.clients.init import detect_clients  # noqa: PLC0415 - only for an error

    start = root.absolute()
    above = next((at for at, place in enumerate((start, *start.parents)) if (place / ".git").exists()), 0)
    for place in (root, *start.parents[:above]):
        kinds = detect_clients(place)
        if kinds:
            return place, kinds
    return root, ()


def require_workspace(root: Path) -> str:
    """Return where the manifest of a workspace is; refuse a directory that is none."""
    place = find_manifest_path(root)
    if place is None:
        raise explain_untracked(root)
    return place


def load_manifest(root: Path) -> Manifest:
    """Return the manifest of a workspace."""
    place = require_workspace(root)
    with closing(Directory(root)) as directory:
        return _manifest_in(directory, place)


def _manifest_in(directory: Directory, place: str) -> Manifest:
    image = directory.read(place)
    if image is None:
        raise HarnessError(f"{directory.root / place} vanished")
    return read_manifest(image.content, str(directory.root / place))


def open_workspace(
    path: str | PathLike[str],
    *,
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    hold: bool = True,
    verifier: Verifier | None = None,
    readonly: bool = False,
) -> Harness:
    """Open a workspace. `journal` overrides the manifest's; `hold` keeps its sockets listening in this process.

    `keys` is where a sealed journal's keys are, if not where a workspace has them. A workspace that this user neither
    made nor trusted is an `UntrustedError`. With `readonly` it can be looked at, whoever made it: nothing is
    recovered or written, and no stranger's database is connected to.
    """
    root = Path(path)
    place = require_workspace(root)
    directory = Directory(root)
    try:
        manifest = _manifest_in(directory, place)
        if readonly:
            require_readable(root, manifest, journal)
            how = Opening(journal, keys, hold=False, readonly=True)
        else:
            require_trusted(root, manifest)
            how = Opening(journal, keys, hold=hold, voucher=JournalVoucher(root, manifest, demanding=journal is None))
        with _pause_collection():
            return _open_harness(directory, manifest, how, verifier)
    except BaseException:
        directory.close()
        raise


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: what is loaded stays, and to look through it again and again takes long."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def open_own_copy(path: Path, *, keys: str | PathLike[str] | None = None) -> Harness:
    """Open a scratch copy that this process itself made of a workspace that it had opened."""
    place = require_workspace(path)
    directory = Directory(path)
    try:
        return _open_harness(directory, _manifest_in(directory, place), Opening(None, keys, hold=False), None)
    except BaseException:
        directory.close()
        raise


@dataclass(frozen=True, slots=True)
class Opening:
    """How a workspace is opened."""

    journal: str | None
    keys: str | PathLike[str] | None
    hold: bool
    readonly: bool = False
    voucher: JournalVoucher | None = None
    """What the journal is asked by; None where nobody has to trust it."""


def require_readable(root: Path, manifest: Manifest, journal: str | None) -> None:
    """Refuse what cannot be looked at without following a stranger's manifest out of its directory."""
    why = why_untrusted(root, manifest)
    if why is None:
        return
    where = journal or manifest.workspace.journal
    if "://" in where:
        raise refuse_untrusted(root, f"{why}; its journal {redact_url(where)} is not connected to")
    if journal is None:
        parse_path(where)
        require_no_links(root, PRIVATE, where)
    if manifest.workspace.adapter not in BUILT_IN:
        raise refuse_untrusted(root, f"{why}; its adapter {manifest.workspace.adapter!r} is not loaded")


def require_no_links(root: Path, *paths: str) -> None:
    """Refuse paths below a directory that lead over links."""
    with closing(Directory(root)) as directory:
        for path in paths:
            directory.require_plain(path)


def _open_harness(directory: Directory, manifest: Manifest, how: Opening, verifier: Verifier | None) -> Harness:
    root = directory.root
    install_surfaces()
    rules = _read_calls(manifest, root)
    opener = find_adapter(manifest.workspace.adapter, f"{root / MANIFEST}: workspace.adapter")
    directory.mark(manifest.workspace.id)
    where = how.journal or manifest.workspace.journal
    directory.require_plain(PRIVATE)
    require_path_or_url(where)
    if how.journal is None and "://" not in where:
        directory.require_plain(where)
    place = where if "://" in where else root / where
    key_file = how.keys or root / KEYS
    store = open_journal(place, create=False, keys=key_file, readonly=how.readonly, voucher=how.voucher)
    adapter = None
    try:
        if how.journal is None and how.voucher is not None:
            how.voucher.demand_same(store)
        attach_policy(root, store)
        if how.journal is None and how.voucher is not None and "://" not in where:
            _attach_copies(store, root, root / where)
        adapter = opener(directory, manifest, hold=how.hold)
        if isinstance(adapter, FilesAdapter) and manifest.calls:
            adapter.calls = rules
        if isinstance(adapter, FilesAdapter) and manifest.track is not None:
            _follow_project(adapter, directory, store, readonly=how.readonly)
        if isinstance(adapter, FilesAdapter) and how.voucher is not None and how.journal is None:
            adapter.waiting = WaitingEdits(adapter, str(root), how.voucher.secret)
        if manifest.bindings:
            _bind_records(adapter, directory.root, manifest, readonly=how.readonly)
        about = {"identity": manifest.workspace.id}
        harness = _choose_class(root, store, how)(adapter, store, verifier=verifier, about=about, begin=False)
    except BaseException:
        if adapter is not None:
            adapter.close()
        store.close()
        raise
    if isinstance(adapter, Resources) and not how.readonly:
        adapter.hold(harness.state)
    if isinstance(adapter, FilesAdapter) and not how.readonly and harness.ledger.pending is None:
        adapter.open_at(harness.ledger.last, harness.ledger.head, harness.ledger.state)
    return harness


def attach_policy(root: Path, store: Store) -> None:
    """Have a journal store only what the policy of its harness lets it keep, where there is a policy."""
    if os.path.lexists(root / POLICY):
        from takeback.govern.policy import attach_capture  # noqa: PLC0415 - start-up

        attach_capture(root, store)


def find_audit_anchor(root: Path) -> Path:
    """Return where this user keeps how far a workspace's chain of reads had come, outside of the project."""
    return _find_own_note(root, "audit")


def find_copies(root: Path, journal: Path) -> KeptCopies:
    """Return the copies of a workspace's journal that this user has; backups are noted outside of the project."""
    from takeback.journal.sqlite import KeptCopies  # noqa: PLC0415 - start-up

    return KeptCopies(journal, _find_own_note(root, "copies"))


def _attach_copies(store: Store, root: Path, journal: Path) -> None:
    from takeback.journal.sqlite import SqliteStore  # noqa: PLC0415 - start-up

    if isinstance(store, SqliteStore):
        store.copies = find_copies(root, journal)


def _find_own_note(root: Path, ending: str) -> Path:
    return (
        Path(find_trust_folder()) / f"{hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]}.{ending}"
    )


def _choose_class(root: Path, store: Store, how: Opening) -> Callable[..., Harness]:
    """Return what makes the harness: one that asks its policy first, where there is a policy."""
    if not os.path.lexists(root / POLICY):
        return Harness
    from takeback.govern.governed import GovernedHarness, find_governance  # noqa: PLC0415 - start-up

    governance = find_governance(
        root, find_variable(TOKEN_NAME), find_audit_anchor(root), store, readonly=how.readonly
    )
    return Harness if governance is None else partial(GovernedHarness, governance=governance)


def _read_calls(manifest: Manifest, root: Path) -> CallRules | None:
    """Return what a manifest says of calls, with their surface registered; None if it declares none."""
    if not (manifest.calls or manifest.admit or manifest.tell):
        return None
    from takeback.state.surfaces.calls import install_calls_surface  # noqa: PLC0415 - start-up

    rules = read_call_rules(manifest, root, str(root / MANIFEST))
    if rules is not None:
        install_calls_surface(rules.facts)
    return rules


def _follow_project(adapter: FilesAdapter, directory: Directory, journal: Store, *, readonly: bool) -> None:
    """Have the project's own files followed beside what an adapter stores; a database that is lost is made anew."""
    from takeback.adapters.project.files import TrackedFiles  # noqa: PLC0415 - start-up
    from takeback.state.surfaces.files import install_project_surface  # noqa: PLC0415 - start-up
    from takeback.track.call import Call  # noqa: PLC0415 - start-up
    from takeback.track.capture import capture_found  # noqa: PLC0415 - start-up
    from takeback.track.database import TRACK, TrackError  # noqa: PLC0415 - start-up
    from takeback.track.store import TrackStore  # noqa: PLC0415 - start-up

    install_project_surface()
    if readonly:
        return
    try:
        try:
            store = TrackStore.open(directory.root)
        except TrackError:
            capture_found(os.path.realpath(directory.root), Call(""), {"PATH": os.defpath})
            if not os.path.lexists(directory.root / TRACK):
                _track_anew(adapter, directory.root, journal)
            store = TrackStore.open(directory.root)
    except TrackError as fault:
        raise HarnessError(
            f"the project's tracked files cannot be followed: {fault}",
            hint=f"move {TRACK} away: it is made anew, and what was recorded stays in the journal",
        ) from fault
    adapter.project = TrackedFiles(directory, store)


def _bind_records(adapter: Adapter, root: Path, manifest: Manifest, *, readonly: bool) -> None:
    """Have records of other systems beside what an adapter stores; nothing is connected to yet, or at all to look."""
    from takeback.adapters.bound import BoundRecords  # noqa: PLC0415 - start-up
    from takeback.state.surfaces.external import install_external_surface  # noqa: PLC0415 - start-up

    install_external_surface()
    if readonly or not isinstance(adapter, FilesAdapter):
        return
    adapter.external = BoundRecords(root, manifest.bindings)


def _track_anew(adapter: FilesAdapter, root: Path, journal: Store) -> None:
    """Take a tracked project in anew, where nothing is left of what was known of its files."""
    from takeback.adapters.project_files import start_tracking  # noqa: PLC0415 - it needs this module

    clients = [member.client for member in getattr(adapter, "members", ())]
    keys = str(getattr(journal, "key_place", ""))
    start_tracking(root, clients, {"PATH": os.defpath}, sealed=bool(keys), keys=keys or None)


def trust_workspace(path: str | PathLike[str], *, keys: str | PathLike[str] | None = None) -> tuple[str, ...]:
    """Record that a harness is trusted; returns the files of a change that is under way in it."""
    install_surfaces()
    root = Path(path)
    manifest = load_manifest(root)
    require_no_links(root, PRIVATE)
    _require_sole_owner(root, manifest)
    if "://" in manifest.workspace.journal:
        record_trust(root, manifest, how=TRUSTED)
        return ()
    try:
        require_no_links(root, manifest.workspace.journal)
        place = root / manifest.workspace.journal
        store = open_journal(place, create=False, keys=keys or root / KEYS, readonly=True)
    except TakebackError:
        record_trust(root, manifest, how=TRUSTED)  # what is wrong with its journal is said by the next command
        return ()
    with closing(store):
        record_trust(root, manifest, store, how=TRUSTED)
        try:
            pending = Ledger(store).pending
            images = () if pending is None else load_images(store, pending) or ()
        except TakebackError:
            return ()
        return tuple(image.path for image in images)


def _require_sole_owner(root: Path, manifest: Manifest) -> None:
    """Refuse a copy of a harness that is still there, where both would write to one journal."""
    other = find_other_owner(root, manifest)
    if other is not None:
        words = shlex.join(["takeback", "trust", str(root), "--journal"])
        raise HarnessError(
            f"{root} has the same journal as {other}, which still exists: "
            f"{redact_url(manifest.workspace.journal)}; one "
            "journal holds the history of one directory, and nothing was changed",
            hint=f"give this one a journal of its own: {words} .takeback/journal.db (or a URL that ends in another "
            f"#name), or delete {other} first",
        )


GROUP: Final = "takeback.adapters"
BUILT_IN: Final = {
    "clients": "takeback.adapters.clients:open_adapter",
    "memory": "takeback.adapters.memory:open_adapter",
    "project": "takeback.adapters.clients:open_adapter",
    "workspace": "takeback.adapters.workspace:open_adapter",
}
"""As in this package's own metadata, which is not asked for these: no other package can take their names."""


class OpenAdapter(Protocol):
    """How an adapter is made for a directory with a manifest; it takes over the directory and closes it."""

    def __call__(self, directory: Directory, manifest: Manifest, *, hold: bool) -> Adapter:
        """Return the adapter; with `hold` it keeps what only a process can hold."""


def list_adapter_names() -> tuple[str, ...]:
    """Return the names of all adapters, in order."""
    return tuple(sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def find_adapter(name: str, where: str) -> OpenAdapter:
    """Return the function that opens the adapter with a name; raise `InputError` that lists the names."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        opener: Any = getattr(import_module(module), attribute)
        return cast("OpenAdapter", opener)
    for point in entry_points(group=GROUP, name=name):
        try:
            return cast("OpenAdapter", point.load())
        except (ImportError, AttributeError) as fault:
            raise InputError(
                f"the entry point {name} of {GROUP}", found=str(fault), expected="an adapter that can be loaded"
            ) from fault
    raise InputError(
        where,
        found=f"the adapter {name!r}",
        expected=f"one of {', '.join(list_adapter_names())}",
        hint="install the package that provides it; nothing was changed",
    )
