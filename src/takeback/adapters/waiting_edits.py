"""Edits that hooks noted in a harness of many files, and that wait for the next command to make entries of them.

A hook writes one file per call into `.takeback/edits`: what the files hold now, and who changed them, under a word
that only this user's processes can write. The next opening makes an entry of each, in order, before it does anything
else. Nothing is written to the harness's own files: what stands there by now is found as ever. An edit whose entry is
in the journal already changes nothing, so that being killed in between is harmless.
"""

from __future__ import annotations

import hmac
import json
import os
import stat
from contextlib import suppress

from takeback.adapters.roots import PRIVATE

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from takeback.adapters.files_adapter import FilesAdapter
    from takeback.harness.engine import Engine
    from takeback.state import State

FOLDER = f"{PRIVATE}/edits"
MOST = 200
"""So many edits wait at most; a hook that finds that many has them recorded."""
LARGEST = 16 << 20
_DIGITS = 10
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class WaitingEdit:
    """What one call did: files with what they hold since, and what is known of the call."""

    __slots__ = ("about", "files")

    def __init__(self, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        self.about = about
        self.files = files


def list_waiting(root: str) -> list[str]:
    """Return the names of the edits that wait, oldest first; none where the folder is a link to another one."""
    try:
        folder = os.open(os.path.join(root, FOLDER), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if _is_name(entry.name))
    finally:
        os.close(folder)


def save_edit(root: str, secret: str, edit: WaitingEdit) -> None:
    """Have an edit wait; the caller holds the journal's lock. Raises `OSError` where it cannot be written."""
    folder = os.path.join(root, FOLDER)
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.path.islink(folder):
        raise NotADirectoryError(f"{folder} is a link")
    names = list_waiting(root)
    number = int(names[-1]) + 1 if names else 1
    sizes = [[path, len(content)] for path, content in edit.files.items()]
    head = json.dumps({"about": dict(edit.about), "files": sizes}).encode()
    body = b"\n".join((head, b"".join(edit.files.values())))
    place = os.path.join(folder, f"{number:0{_DIGITS}}")
    beside = f"{place}.{os.urandom(4).hex()}"
    file = os.open(beside, _MAKE, 0o600)
    try:
        with open(file, "wb") as out:
            out.write(_make_word(secret, body) + b"\n" + body)
        os.rename(beside, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def load_edit(root: str, secret: str, name: str) -> WaitingEdit | None:
    """Return an edit that waits; None for one that no process of this user wrote."""
    try:
        file = os.open(os.path.join(root, FOLDER, name), _READ)
        with open(file, "rb") as given:
            data = given.read(LARGEST) if stat.S_ISREG(os.fstat(file).st_mode) else b""
        word, _, body = data.partition(b"\n")
        if not secret or not hmac.compare_digest(word, _make_word(secret, body)):
            return None
        head, _, rest = body.partition(b"\n")
        about = json.loads(head)
        files, at = {}, 0
        for path, size in about["files"]:
            files[path] = rest[at : at + size]
            at += size
        return WaitingEdit(about["about"], files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _make_word(secret: str, body: bytes) -> bytes:
    from hashlib import blake2b  # noqa: PLC0415 - start-up

    return blake2b(body, key=bytes.fromhex(secret), digest_size=32).hexdigest().encode()


def _is_name(name: str) -> bool:
    return len(name) == _DIGITS and name.isdigit() and name.isascii()


class WaitingEdits:
    """The edits that wait in one harness."""

    def __init__(self, adapter: FilesAdapter, root: str, secret: str) -> None:
        self._adapter = adapter
        self._root = root
        self._secret = secret

    def settle(self, engine: Engine) -> None:
        """Make an entry of each edit, oldest first; the journal's lock is held."""
        names = list_waiting(self._root)
        if not names:
            return
        engine.ledger.refresh()
        self._adapter.open_at(engine.ledger.last, engine.ledger.head, engine.ledger.state)
        engine.adapter.read(engine.ledger.state)  # what is where now: the adapter is asked which file holds what
        for name in names:
            edit = load_edit(self._root, self._secret, name)
            if edit is not None and not (engine.ledger.holes or engine.ledger.missing):
                self._record(engine, edit)
            self._drop(name)
        with suppress(OSError):
            os.rmdir(os.path.join(self._root, FOLDER))

    def _record(self, engine: Engine, edit: WaitingEdit) -> None:
        from takeback.harness.drift import adopt_drift  # noqa: PLC0415 - start-up
        from takeback.harness.engine import Inspection  # noqa: PLC0415 - start-up
        from takeback.harness.images import FileImage  # noqa: PLC0415 - start-up
        from takeback.undo import SlotChange  # noqa: PLC0415 - start-up

        after, images = engine.ledger.state, {}
        for path, content in edit.files.items():
            put = self._put(after, path, content)
            if put is not None:
                after, mode = put
                images[path] = FileImage(content, mode)
        drift = tuple(
            SlotChange(write.slot, write.before, write.after) for write in engine.ledger.list_outside_writes(after)
        )
        if drift:
            adopted = adopt_drift(engine, Inspection(drift, (), after), dict(edit.about), images, tuple(images))
            if adopted is not None:
                engine.tell(adopted)

    def _put(self, state: State, path: str, content: bytes) -> tuple[State, int] | None:
        """Return a state with a file's content replaced, and its mode; None where it has no such file any more."""
        from takeback.adapters.formats.document import decode_text  # noqa: PLC0415 - start-up
        from takeback.errors import InputError  # noqa: PLC0415 - start-up
        from takeback.state import SURFACES  # noqa: PLC0415 - start-up
        from takeback.state.file import File  # noqa: PLC0415 - start-up
        from takeback.state.part_slots import transfer_identities  # noqa: PLC0415 - start-up
        from takeback.state.slots import get_slot, put_slots  # noqa: PLC0415 - start-up

        slot = self._adapter.find_plain_slot(path, state)
        if slot is None:
            return None
        known = get_slot(state, slot)
        if isinstance(known, File):
            fresh: Any = File(content, known.mode)
            mode = known.mode
        else:
            try:
                read = SURFACES[slot[0]].read({slot[1]: decode_text(content, path)}, path)
            except InputError:
                return None
            fresh, mode = read[slot[1]], self._find_mode(path)
        return put_slots(state, [(slot, transfer_identities(fresh, known))]), mode

    def _find_mode(self, path: str) -> int:
        try:
            return stat.S_IMODE(os.stat(os.path.join(self._root, path), follow_symlinks=False).st_mode)
        except OSError:
            return 0o644

    def _drop(self, name: str) -> None:
        from takeback.errors import HarnessError  # noqa: PLC0415 - start-up

        place = os.path.join(self._root, FOLDER, name)
        try:
            os.unlink(place)
        except FileNotFoundError:
            pass
        except OSError as fault:
            raise HarnessError(
                f"{place} is recorded and cannot be removed: {fault.strerror}",
                hint="make it writable or remove it: otherwise it would be recorded again after an undo",
            ) from fault
