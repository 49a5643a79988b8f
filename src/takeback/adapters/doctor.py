"""Examines a workspace, backs up its journal, puts a backup in its place, and rebuilds its indexes.

Every check is a finding, good or bad, so that a person sees what was examined. An older journal is put in
place only on purpose: what it lacks is reported first, the present one is kept beside it, and no file of
the harness is written. What the files hold beyond it is drift afterwards, shown by `status`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.look_notes import read_noted_record
from takeback.adapters.manifest import KEYS, Manifest
from takeback.adapters.opener import (
    find_audit_anchor,
    find_copies,
    load_manifest,
    open_workspace,
    require_no_links,
    require_readable,
    require_workspace,
)
from takeback.adapters.trust import (
    JournalVoucher,
    describe_origin,
    name_way_out,
    record_trust,
    require_trusted,
    why_untrusted,
)
from takeback.errors import InputError, JournalCorruptError, JournalError, TakebackError
from takeback.harness.attempts import AUDIT
from takeback.harness.doctor import Finding, examine_harness
from takeback.harness.ledger import Ledger
from takeback.journal import ENTRY_KINDS, Record, Store, examine_journal, open_journal
from takeback.journal.sqlite_copy import (
    CheckedCopy,
    check_copy,
    copy_database,
    copy_journal,
    discard_copy,
    rebuild_journal,
    replace_journal,
)
from takeback.journal.sqlite_files import make_private_file
from takeback.journal.store import has_record_with_id
from takeback.journal.url import redact_url, require_path_or_url
from takeback.track.cache import BadCacheError
from takeback.track.database import TRACK, TrackError
from takeback.track.store import TrackStore

MENDING: Final = (
    "'takeback doctor --mend' rebuilds indexes if the records are whole, "
    "'takeback restore-journal FILE' puts a backup in the journal's place"
)


def examine_workspace(
    path: str | PathLike[str],
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    *,
    deep: bool = False,
    seen: Callable[[Finding], None] = lambda _: None,
) -> tuple[Finding, ...]:
    """Examine everything; leave out what cannot be examined because something before it is bad.

    With `deep`, the recovery of every live entry is run on the model and compared with what undo would do. `seen`
    is called with each finding at once.
    """
    findings: list[Finding] = []
    for finding in _examine(Path(path), journal, keys, deep=deep):
        findings.append(finding)
        seen(finding)
    return tuple(findings)


def _examine(root: Path, journal: str | None, keys: str | PathLike[str] | None, *, deep: bool) -> Iterator[Finding]:
    require_workspace(root)
    try:
        manifest = load_manifest(root)
    except TakebackError as fault:
        yield Finding("manifest", good=False, detail=str(fault))
        return
    kind = manifest.workspace.adapter
    yield Finding("manifest", good=True, detail=f"{kind} {manifest.workspace.id[:12]}")
    untrusted = why_untrusted(root, manifest)
    if untrusted is not None:
        yield Finding("trust", good=False, detail=f"not trusted: {untrusted}; {name_way_out(root)}")
    else:
        yield Finding("trust", good=True, detail=describe_origin(root))
    where = journal or manifest.workspace.journal
    readonly = untrusted is not None
    try:
        require_readable(root, manifest, journal)
        require_path_or_url(where)
        voucher = None if readonly else JournalVoucher(root, manifest, demanding=False)
        place = where if "://" in where else root / where
        report = examine_journal(place, keys=keys or root / KEYS, readonly=readonly, voucher=voucher)
    except TakebackError as fault:
        yield Finding("chain", good=False, detail=fault.message)
        return
    if not report.whole:
        yield from (Finding("chain", good=False, detail=fault.problem) for fault in report.faults)
        readable = f"{report.records} records can be read, the first {report.intact} of them form a whole chain"
        yield Finding("chain", good=False, detail=readable)
        yield Finding("chain", good=False, detail=MENDING)
        return
    yield Finding("chain", good=True, detail=f"{report.records} records, head {(report.head or '')[:12]}")
    yield from _check_audit(root)
    if manifest.track is not None and not readonly:
        yield from examine_tracking(root, deep=deep)
    try:
        with closing(open_workspace(root, journal=journal, keys=keys, hold=False, readonly=readonly)) as harness:
            yield from examine_harness(harness, deep=deep)
    except TakebackError as fault:
        yield Finding("open", good=False, detail=fault.message)
    if (root / TRACK).exists() and not readonly:
        yield _check_tracking(root, deep=deep)


def _check_audit(root: Path) -> Iterator[Finding]:
    """Look at the chain of reads, where there is one or was one."""
    anchor = find_audit_anchor(root)
    if not os.path.lexists(root / AUDIT) and not anchor.exists():
        return
    from takeback.govern.audit import AuditChain  # noqa: PLC0415 - start-up

    report = AuditChain(root, anchor).examine()
    yield from (Finding("audit", good=False, detail=f"{AUDIT}: {fault}") for fault in report.faults)
    if not report.faults:
        yield Finding("audit", good=True, detail=f"{len(report.notes)} reads are noted")


def _check_tracking(root: Path, *, deep: bool) -> Finding:
    """Look at the track database; with `deep`, whether every content can be had without the working tree."""
    try:
        with TrackStore.open(root) as store:
            files, lacking = store.stats().files, store.list_unavailable() if deep else []
    except (TrackError, BadCacheError, sqlite3.Error) as fault:
        return Finding("tracking", good=False, detail=f"{fault}; the next hook begins anew")
    if lacking:
        shown = ", ".join(repr(path) for path in lacking[:3])
        problem = (
            f"{len(lacking)} contents are in the working tree alone: {shown}; the next prompt or command stores them"
        )
        return Finding("tracking", good=False, detail=problem)
    return Finding("tracking", good=True, detail=f"{files} files" + (", every content is kept" if deep else ""))


SERVED: Final = ("postgresql://", "postgres://")
GIVEN_UP: Final = "the journal was restored to a time when this change was unfinished"
KeyPath = str | PathLike[str] | None


@dataclass(frozen=True, slots=True)
class JournalReturn:
    """What putting a journal in place means, or has done."""

    last: int
    """Records of the journal that is put in place."""
    head: str
    lost: tuple[Record, ...]
    """Entries of the present journal that it does not have, newest first."""
    unknown: str
    """Why it is not known what is lost; empty where it is."""
    forgotten: bool
    """Whether contents were forgotten since, which it still has."""
    aside: Path | str | None = None
    """Where the journal that was there is kept, in a server by which name; None if it is the same or was missing."""
    done: bool = False


def back_up_journal(root: Path, target: Path, journal: str | None = None, keys: KeyPath = None) -> CheckedCopy:
    """Copy a workspace's journal while it is in use, and read the copy back before it gets its name.

    The copy is a SQLite journal, also that of a journal in PostgreSQL.
    """
    manifest = _read_trusted_manifest(root)
    where = journal or manifest.workspace.journal
    if is_served(where):
        from takeback.journal.postgres_copy import copy_from_server  # noqa: PLC0415 - it needs the driver

        return copy_from_server(where, target, _find_keys(root, keys))
    place = _find_journal(root, manifest, journal)
    made = copy_journal(place, target, _find_keys(root, keys))
    if journal is None:
        find_copies(root, place).note_copy(target)
    return made


def is_served(where: str) -> bool:
    """Whether a journal is in a PostgreSQL server."""
    return where.startswith(SERVED)


def mend_journal(root: Path, journal: str | None = None, keys: KeyPath = None) -> Path | None:
    """Build a journal's indexes anew from its records; return where the damaged file is kept."""
    manifest = _read_trusted_manifest(root)
    place = _find_journal(root, manifest, journal)
    made = make_private_file(place)
    try:
        rebuild_journal(place, made)
        check_copy(made, _find_keys(root, keys))
        aside = replace_journal(place, made)
    except BaseException:
        discard_copy(made)
        raise
    if journal is None:
        with closing(open_journal(place, create=False, keys=_find_keys(root, keys), readonly=True)) as store:
            record_trust(root, manifest, store)
    return aside


def plan_return(root: Path, source: Path | None, journal: str | None = None, keys: KeyPath = None) -> JournalReturn:
    """Say what putting a backup in place, or accepting the journal as it is, would lose; changes nothing."""
    manifest = _read_trusted_manifest(root)
    where = journal or manifest.workspace.journal
    key_file = _find_keys(root, keys)
    source = _find_backup(source, root / where)
    if source is not None:
        if not is_served(where):
            _find_journal(root, manifest, journal)
        check_copy(source, key_file)
    place = source if source is not None else where if "://" in where else root / where
    with closing(open_journal(place, create=False, keys=key_file, readonly=True)) as store:
        _require_whole(store)
        ledger = Ledger(store)
        ledger.require_identity(manifest.workspace.id)
        plan = JournalReturn(ledger.last, ledger.head, (), "", forgotten=False)
        if source is None:
            return replace(plan, unknown=_describe_beyond(root, store, ledger))
        return _compare_journals(plan, where if is_served(where) else root / where, key_file)


def return_journal(
    root: Path, source: Path | None, journal: str | None = None, keys: KeyPath = None
) -> JournalReturn:
    """Put a backup in a journal's place, or accept the journal as it is; the one that was there is kept."""
    plan = plan_return(root, source, journal, keys)
    manifest = load_manifest(root)
    where = journal or manifest.workspace.journal
    key_file = _find_keys(root, keys)
    source = _find_backup(source, root / where)
    aside: Path | str | None = None
    if source is not None and is_served(where):
        aside = _return_to_server(source, where, key_file)
    elif source is not None:
        place = _find_journal(root, manifest, journal)
        made = make_private_file(place)
        try:
            copy_database(source, made)
            check_copy(made, key_file)
            aside = replace_journal(place, made)
        except BaseException:
            discard_copy(made)
            raise
    with closing(open_journal(where if "://" in where else root / where, create=False, keys=key_file)) as store:
        with store.lock():
            ledger = Ledger(store)
            if ledger.pending is not None:
                ledger.abort(GIVEN_UP)
            _write_note(root, ledger)
        if journal is None:
            record_trust(root, manifest, store)
        return replace(plan, last=ledger.last, head=ledger.head, aside=aside, done=True)


def _return_to_server(source: Path, where: str, keys: Path) -> str | None:
    """Put a backup in the place of a journal in a server; what is checked and what is written are the same bytes."""
    from takeback.journal.postgres_copy import put_on_server  # noqa: PLC0415 - it needs the driver

    with TemporaryDirectory(prefix="takeback-") as folder:
        made = make_private_file(Path(folder) / "journal.db")
        copy_database(source, made)
        check_copy(made, keys)
        return put_on_server(made, where, keys)


def _read_trusted_manifest(root: Path) -> Manifest:
    manifest = load_manifest(root)
    require_trusted(root, manifest)
    return manifest


def _find_journal(root: Path, manifest: Manifest, journal: str | None) -> Path:
    """Return where a SQLite journal is; refuse a journal that is in a database server."""
    where = journal or manifest.workspace.journal
    if "://" in where and not where.startswith("sqlite://"):
        raise InputError(
            "the journal",
            found=f"one in a database server ({redact_url(where)})",
            expected="a journal in a file",
            hint="'takeback backup FILE' copies it into one, 'takeback restore-journal FILE' puts that in place",
        )
    if journal is None:
        require_no_links(root, where)
    return root / where.removeprefix("sqlite://")


def _find_backup(source: Path | None, place: Path) -> Path | None:
    """Return a backup's file; None where it is the journal in place itself."""
    same = source is not None and source.exists() and place.exists() and source.samefile(place)
    return None if same else source


def _find_keys(root: Path, keys: KeyPath) -> Path:
    return root / KEYS if keys is None else Path(keys)


def _require_whole(store: Store) -> None:
    report = store.check()
    if not report.whole:
        raise JournalCorruptError(
            f"{store.location} is not whole: {report.faults[0].problem}; nothing was changed",
            hint="'takeback doctor --mend' rebuilds its indexes if the records are whole; "
            "'takeback restore-journal FILE' puts a backup in its place",
        )


def _compare_journals(plan: JournalReturn, place: Path | str, keys: Path) -> JournalReturn:
    """Return the plan with what the present journal has beyond a copy."""
    try:
        with closing(open_journal(place, create=False, keys=keys, readonly=True)) as present:
            if plan.last and not has_record_with_id(present, plan.last, plan.head):
                head = present.head()
                return replace(plan, unknown=f"the journal in place ({head!r}) is not a continuation of the backup")
            later = list(present.records(plan.last + 1))
    except TakebackError as fault:
        return replace(plan, unknown=f"the journal in place cannot be read: {fault.message}")
    lost = tuple(reversed([record for record in later if record.kind in ENTRY_KINDS]))
    return replace(plan, lost=lost, forgotten=any(record.kind == "forget" for record in later))


def _describe_beyond(root: Path, store: Store, ledger: Ledger) -> str:
    """Say how much was written after the end of the journal in place, as far as that was noted."""
    with closing(Directory(root)) as directory:
        noted = read_noted_record(directory)
    if noted is None:
        return "nothing was noted of how far the journal had come"
    seq, digest = noted
    if has_record_with_id(store, seq, digest):
        return ""
    if seq > ledger.last:
        return f"records {ledger.last + 1} to {seq} (the last {digest[:12]}) were written and are not in it"
    return f"record {seq} ({digest[:12]}) was written and is not in it"


def _write_note(root: Path, ledger: Ledger) -> None:
    with closing(FilesAdapter(Directory(root))) as adapter:
        adapter.note(ledger.last, ledger.head)
        if adapter.read_noted_record() != (ledger.last, ledger.head):
            raise JournalError("how far the journal has come could not be noted; check permissions of .takeback")


CHECK: Final = "track"
NAMED: Final = 5
ANEW: Final = (
    "it is made anew from the files as they stand; what is in the journal stays, "
    "and of files that changed since the last look it is not known what was there before"
)
MOVE: Final = f"move {TRACK} away ('mv {TRACK} {TRACK}.old'), and {ANEW}"


def examine_tracking(root: Path, *, deep: bool) -> Iterator[Finding]:
    """Yield how the track database of a project stands; `deep` tries to get every content that it counts on."""
    if not os.path.lexists(root / TRACK):
        yield Finding(CHECK, good=False, detail=f"{TRACK} is not there: {ANEW}")
        return
    try:
        with TrackStore.open(root) as store:
            problems = store.list_problems()
            if problems:
                yield Finding(CHECK, good=False, detail=f"{TRACK} is not whole: {problems[0]}; {MOVE}")
                return
            yield from _describe(store)
            if deep:
                yield from _check_contents(store)
    except (TrackError, BadCacheError, sqlite3.Error, ValueError) as fault:
        yield Finding(CHECK, good=False, detail=f"{TRACK} cannot be read: {fault}; {MOVE}")


def _describe(store: TrackStore) -> Iterator[Finding]:
    stats = store.stats()
    phrases = [
        f"{_count(stats.files, 'file')} tracked",
        f"{stats.kept_by_git} of them kept by git",
        f"{_count(stats.contents, 'content')} stored in {stats.stored_bytes:,} bytes",
        f"{stats.database_bytes:,} bytes in all",
        f"{_count(stats.rows, 'capture')} waiting" if stats.rows else "nothing waiting",
    ]
    yield Finding(CHECK, good=True, detail=f"{TRACK} is whole: {', '.join(phrases)}")
    unkept = [_count(len(stats.secrets), "secret")] if stats.secrets else []
    unkept += [_count(stats.unkept, "other file")] if stats.unkept else []
    if unkept:
        yield Finding(CHECK, good=True, detail=f"seen, not kept, and not to be taken back: {', '.join(unkept)}")


def _check_contents(store: TrackStore) -> Iterator[Finding]:
    """Say whether the last known content of every file that is kept can be had without the working tree."""
    count, lost = store.check_contents()
    if not lost:
        problem = f"the last known contents of {_count(count, 'file')} can be had without the working tree"
        yield Finding(CHECK, good=True, detail=problem)
        return
    shown = ", ".join(lost[:NAMED]) + (f" and {len(lost) - NAMED} more" if len(lost) > NAMED else "")
    problem = f"of {_count(len(lost), 'file')} the last known content is neither stored nor in git: {shown}"
    yield Finding(CHECK, good=False, detail=f"{problem}; while they stand there: {MOVE}")


def _count(number: int, singular: str) -> str:
    return f"{number} {singular}{'' if number == 1 else 's'}"
