"""`takeback forget`: delete what entries captured, or every place where a value stands, permanently."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from takeback.cli import completion
from takeback.cli.context import SHORT, SubjectOption, WorkspaceOptions, make_entries_argument
from takeback.cli.inputs import read_bytes
from takeback.cli.options import flag, refuse_several, setting
from takeback.cli.output import answer, commit_exit_code, finish, mention, out
from takeback.errors import InputError
from takeback.harness.entry_names import resolve_entry
from takeback.harness.forget import Forgetting
from takeback.journal import Store
from takeback.journal.search import SEARCHED, Forms
from takeback.journal.store import Copies
from takeback.state.slots import describe_slot

MOST: Final = 1 << 30
"""Bytes of what is to be forgotten."""
NAMED: Final = 20
"""So many files are named that still have what is forgotten."""
STANDING: Final = (
    "a tracked file that still contains it is captured again when it changes: remove it there, then forget it "
    "again (git's own history is not changed)"
)


def forget(
    options: WorkspaceOptions,
    entries: list[str] | None = make_entries_argument(completion.offer_entries),
    value: str | None = setting("--value", "TEXT", "Forget this text wherever it occurs.", None),
    source: Path | None = setting(
        "--from", "FILE", "Forget the content of this file, without its last newline; - is stdin.", None
    ),
    subject: str = SubjectOption,
    yes: bool = flag("--yes", "Delete for good: forgotten contents cannot be brought back."),
) -> None:
    """Delete the contents that entries captured, such as secrets, permanently. The entries stay in the log.

    --value and --from search entries, candidates, checkpoints and the first state for a secret: in UTF-8, UTF-16,
    UTF-32, escaped, in hex, base64 and compressed. Names and notes are not deleted; the output lists those that hold
    the secret. Without --yes it only lists what it would delete. An undo that needs deleted contents says so, and
    `undo --salvage` restores what is left. --subject deletes the contents that `takeback label` assigns to a subject,
    and copies of its longer texts elsewhere.

    Example: `takeback forget --value hunter2 --yes`
    """
    looked_for = _read_wanted(value, source)
    asked = [bool(entries), looked_for is not None, bool(subject)].count(True)
    if not asked:
        raise InputError("forget", found="no entry", expected="an entry, --value, --from or --subject")
    if asked > 1:
        raise InputError("forget", found="more than one of entries, a value and a subject", expected="one of them")
    if entries and not yes:
        raise InputError(
            "forget",
            found="entries without --yes",
            expected="--yes, because forgotten contents cannot be brought back",
            hint=f"'takeback show {entries[0]}' shows what it captured; `takeback forget {entries[0]} --yes` "
            f"deletes it",
        )
    with options.open() as harness:
        ids = [resolve_entry(harness.ledger, name).id for name in entries or ()]
        if looked_for is not None:
            done = harness.forget_value(looked_for, dry=not yes)
        elif subject:
            done = harness.forget_subject(subject, dry=not yes)
        else:
            done = harness.forget(*(entries or ()))
        copies = _list_copies(harness.journal)
    searched = None if looked_for is None else Forms(looked_for)
    if done.record is not None:
        commit_exit_code(0)
    answer(
        _to_json(done, ids)
        | ({} if searched is None else {"searched": list(SEARCHED), "not_searched": list(searched.limits)})
        | ({"subject": subject} if subject else {})
        | {"copies": copies}
    )
    _show(done, ids, searched, subject)
    if done.record is None and done.contents and copies:
        out.print(f"  and in the copies of the journal: {', '.join(copies)}")
    finish(yes=done.contents > 0)


def _list_copies(store: Store) -> list[str]:
    """Return where copies of a journal are in which the same is forgotten."""
    kept: Copies | None = getattr(store, "copies", None)
    return [] if kept is None else [str(path) for path in kept.list_paths()]


def _read_wanted(value: str | None, source: Path | None) -> bytes | None:
    refuse_several("forget", {"--value": value is not None, "--from": source is not None})
    if value is not None:
        return value.encode(errors="surrogateescape")
    if source is None:
        return None
    return read_bytes(source, MOST).removesuffix(b"\n").removesuffix(b"\r")


def _to_json(done: Forgetting, ids: list[str]) -> dict[str, Any]:
    return {
        "done": done.record is not None,
        "forgotten": ids,
        "record": done.record.id if done.record else None,
        "contents": done.contents,
        "places": [
            {"entry": place.number, "record": place.seq, "kind": place.kind, "in": place.what}
            for place in done.places
            if place.ref is not None
        ],
        "stays": [
            {"entry": place.number, "record": place.seq, "kind": place.kind, "in": place.what} for place in done.stays
        ],
        "kept": [describe_slot(slot) for slot in done.kept],
        "live": [describe_slot(slot) for slot in done.live],
        "lingering": done.lingering or None,
        "captured": done.captured,
        "standing": list(done.standing),
    }


def _describe_nothing(done: Forgetting, searched: Forms | None) -> str:
    if searched is None:
        return "nothing to forget"
    where = "it occurs only where it must stay" if done.stays else "the journal does not hold it"
    return f"nothing to forget: {where}, as {', '.join(SEARCHED)}; not searched: {'; '.join(searched.limits)}"


def _show(done: Forgetting, ids: list[str], searched: Forms | None, subject: str = "") -> None:
    for place in done.places:
        where = f"entry #{place.number}" if place.number is not None else f"record {place.seq}"
        fate = "stays" if place.ref is None else "goes"
        out.print(f"  {fate}: {place.what} of {where} ({place.kind})")
    what = f"what {', '.join(name[:SHORT] for name in ids)} captured" if ids else "every occurrence"
    what = f"everything about {subject}" if subject else what
    if done.record is not None:
        out.print(f"forgotten permanently: {what} ({done.contents} contents)")
    elif done.contents:
        out.print(f"would forget {what} ({done.contents} contents); --yes does it, and it cannot be undone")
    else:
        out.print(_describe_nothing(done, searched))
    if done.captured:
        out.print(f"  and {done.captured} contents that were captured of the project's files")
    for slot in done.kept:
        out.print(f"  kept: {describe_slot(slot)}, the only copy")
    for slot in done.live:
        out.print(f"  still in the harness: {describe_slot(slot)}; the journal has no copy")
    for path in done.standing[:NAMED]:
        out.print(f"  still in the file: {path}")
    if done.standing:
        left = len(done.standing) - NAMED
        more = f"and {left} more files still have it; " if left > 0 else ""
        out.print(f"{more}{STANDING}")
    if done.lingering:
        mention(done.lingering)
