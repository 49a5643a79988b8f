"""Decides whether a harness may be acted on: only if this user made it, or trusted it, on this machine.

A manifest, a `.takeback` directory and a journal are input from strangers until then: they are read, never acted
on. The record of trust also holds what the manifest names that could lead elsewhere (the journal, the adapter,
whether clients are asked) and which journal it is, so that a manifest, a journal or records that a pull brought are a
stranger's again.

Of a journal in a file it holds which file it is, where it ended when it was trusted, and a secret. Whoever opens the
harness with that record writes a word for each new end into the journal, by the secret, in the transaction that adds
the records: several processes need not agree on anything, and one that is killed leaves nothing behind. A file that a
pull put in the journal's place is another file; records that came with it, or with a log beside it, have no word.
"""

from __future__ import annotations

import hmac
import os
import shlex
import tempfile
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from takeback.adapters.directory import TEMPORARY, Directory
from takeback.adapters.harness_places import why_no_place
from takeback.adapters.look_notes import read_noted_record
from takeback.adapters.manifest import PRIVATE, Manifest, digest_call_tables
from takeback.adapters.trust_record import (
    MARK,
    find_trust_folder,
    forget_record,
    identify_file,
    is_trusted,
    list_records,
    read_former_record,
    read_record,
    write_record,
)
from takeback.canonical import encode, sha256
from takeback.errors import HarnessError, InputError, TakebackError, UntrustedError
from takeback.journal import Store
from takeback.journal.store import JournalEnd, explain_cut, format_now, look_at_end
from takeback.journal.url import redact_url

MADE: Final = "made"
TRUSTED: Final = "trusted"
UNKNOWN_HERE: Final = "it was neither made nor trusted on this machine"
BOUND: Final = ("id", "adapter", "journal", "ask_client", "user")
CALLS_BOUND: Final = "calls"
"""The digest of which programs a manifest declares, and when they are admitted: those are trusted as they are too."""
"""What of a manifest is trusted as it is: it decides which journal is followed and which code opens it."""
NOT_OURS: Final = frozenset({".gitignore", MARK})
"""What may lie in a `.takeback` in which nothing was begun."""


def why_untrusted(root: Path, manifest: Manifest) -> str | None:
    """Return why a harness must not be acted on; None if it may be."""
    record = read_record(str(root))
    if record is None:
        return _why_unknown(root)
    trusted = record.get("manifest")
    if not isinstance(trusted, dict):
        return "'takeback init' did not finish there"
    now = bind_manifest(manifest)
    name = next((name for name in BOUND if now[name] != trusted.get(name)), None)
    if name is None and now[CALLS_BOUND] != trusted.get(CALLS_BOUND, ""):
        return "the programs that its manifest declares ([calls], [admit], [tell]) are not the ones that you trusted"
    if name is None and now.get("bindings") != trusted.get("bindings"):
        return "its manifest declares other bindings to other systems than when it was trusted"
    if name is None:
        return why_strange_journal(root, record, manifest.workspace.journal)
    is_now, was = _describe_binding(name, now), _describe_binding(name, trusted)
    return f"workspace.{name} in its manifest is {is_now} now, and was {was}"


def describe_origin(root: Path) -> str:
    """Return where a trusted harness and its journal came from: made on this machine, or trusted, and when."""
    since = (read_record(str(root)) or {}).get("since")
    how, at = (since.get("how"), since.get("at")) if isinstance(since, dict) else (None, None)
    if how not in {MADE, TRUSTED} or not isinstance(at, str):
        return "made or trusted on this machine, before Takeback noted which"
    where = "made on this machine" if how == MADE else "from elsewhere, trusted on this machine"
    return f"{where} on {at[:10]}"


def require_trusted(root: Path, manifest: Manifest) -> None:
    """Refuse a harness that must not be acted on, and name the way out."""
    why = why_untrusted(root, manifest)
    if why is not None:
        raise refuse_untrusted(root, why)


def refuse_untrusted(root: Path, why: str) -> UntrustedError:
    """Return the error that says why a harness is only read, and what to do."""
    return UntrustedError(f"{root} is not trusted: {why}; nothing was changed", hint=name_way_out(root))


def name_way_out(root: Path) -> str:
    """Return the sentence that says how to trust a directory."""
    return f"if you know where its .takeback comes from, 'takeback trust {shlex.quote(str(root))}' trusts it"


class JournalVoucher:
    """What a journal is asked by and vouched for with while a trusted harness is open.

    With `demanding` false, as for a journal that the user names on the command line, it is only vouched for.
    """

    def __init__(self, root: Path, manifest: Manifest, *, demanding: bool = True) -> None:
        self._root, self._manifest, self._demanding = root, manifest, demanding
        record = read_record(str(root)) or {}
        if record and not record.get("secret"):  # of a version that kept none
            kept: dict[str, Any] = {
                name: record[name] for name in ("manifest", "journal_id", "since") if name in record
            }
            with suppress(OSError):  # without it the journal is trusted as it was then: whatever it ends with
                write_record(str(root), {**kept, "secret": make_secret()})
                record = read_record(str(root)) or {}
        self._record = record

    def vouch(self, journal: str, seq: int, digest: str) -> str:
        """Return the word for an end that this process has made."""
        return make_word(self.secret, journal, seq, digest)

    @property
    def secret(self) -> str:
        """What only this user's processes know of the harness; empty where nothing is kept."""
        return str(self._record.get("secret", ""))

    def demand_vouched(self, end: JournalEnd) -> None:
        """Refuse a journal that is not the one that was trusted: a pull or a checkout may have put it there."""
        why = why_strange_journal(self._root, self._record, self._manifest.workspace.journal, end)
        if not self._demanding or why is None:
            return
        noted = find_noted_beyond(self._root, end.seq)
        if noted is not None:
            raise explain_cut(str(self._root / self._manifest.workspace.journal), end.seq, noted)
        raise refuse_untrusted(self._root, why)

    def demand_same(self, store: Store) -> None:
        """Refuse another journal than the trusted one; where trust was given to whatever is there, bind it now."""
        trusted, journal_id = self._record.get("journal_id", ""), identify_journal(store)
        if trusted and journal_id and trusted != journal_id and store.head() is not None:
            raise refuse_untrusted(self._root, f"the journal {store.location} is not the one that was trusted")
        in_file = find_journal_file(self._root, self._manifest.workspace.journal) is not None
        if self._record and "end" not in self._record and in_file:
            with suppress(HarnessError):  # a folder that cannot be written now keeps nobody out
                record_trust(self._root, self._manifest, store)


def identify_journal(store: Store | None) -> str:
    """Return the random name of a journal; empty for a store whose journals have none."""
    return str(getattr(store, "journal_id", ""))


def bind_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return what of a manifest is trusted as it is."""
    bound = {name: getattr(manifest.workspace, name) for name in BOUND} | {CALLS_BOUND: digest_call_tables(manifest)}
    return bound | ({"bindings": sha256(encode(manifest.bindings))} if manifest.bindings else {})


def record_trust(root: Path, manifest: Manifest | None = None, store: Store | None = None, *, how: str = "") -> None:
    """Record that a directory is this user's; without a manifest, that it is being made into a harness.

    `how` says how it became so, `MADE` or `TRUSTED`, now; without it, what was recorded of that stays.
    """
    why = why_no_place_above(root)
    if why:
        raise InputError(str(root), found=why, expected="a directory of yours")
    about: dict[str, Any] = {}
    if manifest is not None:
        secret = (read_record(str(root)) or {}).get("secret") or make_secret()
        bound = bind_journal(root, manifest.workspace.journal, store)
        since = {"how": how, "at": format_now()} if how else (read_record(str(root)) or {}).get("since")
        about = {"manifest": bind_manifest(manifest), "secret": secret, **bound}
        about |= {"since": since} if since else {}
    try:
        _drop_stale_records()
        write_record(str(root), about)
    except OSError as fault:
        raise HarnessError(
            f"cannot record that {root} is yours in {find_trust_folder()}: {fault.strerror or fault}",
            hint="set TAKEBACK_TRUST to a folder that you can write, and that only you can",
        ) from fault


def remove_trust(root: Path) -> bool:
    """Forget that a directory was trusted; whether it was."""
    try:
        return forget_record(str(root))
    except OSError as fault:
        raise HarnessError(f"cannot change {find_trust_folder()}: {fault.strerror or fault}") from fault


def require_own_private_folder(directory: Directory) -> None:
    """Refuse to make a harness where a `.takeback` lies that somebody else began."""
    root = directory.root
    directory.require_plain(PRIVATE)
    with directory.open((PRIVATE,)) as folder:
        names = set() if folder is None else set(os.listdir(folder))
    strange = {name for name in names if not TEMPORARY.fullmatch(name)} - NOT_OURS
    if strange and not is_trusted(str(root)):
        raise UntrustedError(
            f"{root / PRIVATE} already exists, and you did not make it on this machine; nothing was changed",
            hint=f"remove it to start again: rm -r {shlex.quote(str(root / PRIVATE))}",
        )


def why_no_place_above(root: Path) -> str | None:
    """Return why a directory cannot hold a harness at all, because of where it lies."""
    return why_no_place(os.path.realpath(root).strip("/"))


def find_other_owner(root: Path, manifest: Manifest) -> str | None:
    """Return another directory of this user's that is there and writes to the same journal in a database."""
    if "://" not in manifest.workspace.journal:
        return None
    place = os.path.realpath(root)
    for _, record in list_records():
        trusted = record.get("manifest")
        same = isinstance(trusted, dict) and trusted.get("journal") == manifest.workspace.journal
        if same and record["path"] != place and is_trusted(record["path"]):
            return str(record["path"])
    return None


def _why_unknown(root: Path) -> str:
    former = read_former_record(str(root))
    if former is None:
        return UNKNOWN_HERE
    if former["path"] == os.path.realpath(root):
        return "its .takeback was replaced since: by git, from a backup, or as a copy"
    if is_trusted(former["path"]):
        return f"it is a copy of {former['path']}"
    return f"it was trusted at {former['path']}, and is elsewhere now"


def _describe_binding(name: str, values: dict[str, Any]) -> str:
    value = values.get(name)
    return redact_url(str(value)) if name == "journal" else repr(value)


def _drop_stale_records() -> None:
    """Remove records of directories that were made in the folder for temporary files, and are gone."""
    temporary = os.path.realpath(tempfile.gettempdir()) + os.sep
    for place, record in list_records():
        if record["path"].startswith(temporary) and not os.path.lexists(record["path"]):
            with suppress(OSError):
                os.unlink(place)


SQLITE: Final = "sqlite://"
SECRET_BYTES: Final = 32


def make_secret() -> str:
    """Return a new secret for a trust record."""
    return os.urandom(SECRET_BYTES).hex()


def find_journal_file(root: Path, journal: str) -> Path | None:
    """Return the file of a journal that a manifest names; None for one in a database server."""
    where = journal.removeprefix(SQLITE)
    return None if "://" in where else root / where


def bind_journal(root: Path, journal: str, store: Store | None) -> dict[str, Any]:
    """Return what of a journal is trusted as it is; without a store, whatever the next opening finds."""
    place = find_journal_file(root, journal)
    about: dict[str, Any] = {"journal_id": str(getattr(store, "journal_id", ""))}
    if place is None or store is None:
        return about
    with suppress(TakebackError):
        head = store.head()
        about |= {"file": identify_file(str(place)), "end": None if head is None else [head.seq, head.digest]}
    return about


def make_word(secret: str, journal: str, seq: int, digest: str) -> str:
    """Return the word for an end of a journal; empty where there is no secret."""
    if not secret:
        return ""
    return blake2b(f"{journal} {seq} {digest}".encode(), key=bytes.fromhex(secret), digest_size=32).hexdigest()


def why_strange_journal(
    root: Path, record: dict[str, Any], journal: str, end: JournalEnd | None = None
) -> str | None:
    """Return why a journal is not the one that a record is about; looks at where it ends, if that is not given."""
    place = find_journal_file(root, journal)
    if place is None or not record.get("end") or not place.is_file():
        return None
    if not is_same_file(record.get("file"), identify_file(str(place))):
        return f"the journal {place} was replaced since by another file: by git, from a backup, or as a copy"
    if end is not None:
        return _why_strange_end(record, place, end)
    end = look_at_end(place)
    if end is None or find_noted_beyond(root, end.seq) is not None:
        return None  # it is damaged or was cut short, which whoever opens it says before acting on it
    return _why_strange_end(record, place, end)


def is_same_file(known: object, fields: object) -> bool:
    """Tell whether two files are one, by inode and, where both are told, by when they were made."""
    if not isinstance(known, list) or not isinstance(fields, list) or known[:1] != fields[:1]:
        return False
    return known[1:] == fields[1:] or None in (*known[1:], *fields[1:])


def _why_strange_end(record: dict[str, Any], place: Path, end: JournalEnd) -> str | None:
    trusted = record.get("journal_id")
    if trusted and end.journal != trusted:
        return f"the journal {place} is not the one that was trusted"
    if [end.seq, end.digest] == record["end"]:
        return None
    word = make_word(str(record.get("secret", "")), end.journal, end.seq, end.digest)
    if word and hmac.compare_digest(word.encode(), end.word.encode()):
        return None
    return f"the journal {place} ends with record {end.seq}, which no process of yours wrote"


def find_noted_beyond(root: Path, seq: int) -> tuple[int, str] | None:
    """Return how far it was noted that a journal had come, if that is further than it has now."""
    try:
        with closing(Directory(root)) as directory:
            noted = read_noted_record(directory)
    except TakebackError:
        return None
    return noted if noted is not None and noted[0] > seq else None
