"""`takeback export`, `share` and `report`: a state, records with proofs, or entries as one masked HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from takeback.adapters.manifest import find_root
from takeback.canonical import decode
from takeback.cli import completion
from takeback.cli.context import ChoiceOptions, EntryArgument, ReadOptions, WorkspaceOptions, print_left_out
from takeback.cli.options import argument, setting
from takeback.cli.output import answer, commit_exit_code, emit, mention, out
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.entry_log import iter_entries, rebuild_state_after
from takeback.harness.entry_names import resolve_entry
from takeback.harness.records import read_slots
from takeback.journal import Record
from takeback.journal.record import describe_columns
from takeback.present.entries import Filter, make_entry_namer, read_filter
from takeback.present.search_index import narrow_filter
from takeback.present.share_page import MARK, SharePage, make_share_page
from takeback.present.titles import format_count
from takeback.secret_mask import Mask, is_revealing

OutOption = setting("--out -o", "FILE", "The HTML file to write.", ...)


def share(options: WorkspaceOptions, entry: str = EntryArgument, target: Path = OutOption) -> None:
    """Write one entry to an HTML file that you can send: prompt, diff, evidence, how to undo it.

    The file is self-contained: it runs no script and loads nothing. Secrets are always masked. An earlier file of
    `share` or `report` is replaced; any other file is not.

    Example: `takeback share 62 --out change-62.html`
    """
    _require_writable(target)
    with options.open(looking=True) as harness:
        _require_outside(target, options.directory, harness)
        page = make_share_page(harness, _note_reads(harness, [resolve_entry(harness.ledger, entry)], "share"))
    _save(target, page)


def report(
    options: WorkspaceOptions,
    chosen: ChoiceOptions,
    text: str = argument("TEXT", "Only entries that contain this.", ""),
    target: Path = OutOption,
    first: str | None = setting(
        "--from",
        "ENTRY",
        "The first entry of the range.",
        None,
        show_default="the beginning",
        autocompletion=completion.offer_entries,
    ),
    last: str | None = setting(
        "--to",
        "ENTRY",
        "The last entry of the range.",
        None,
        show_default="the newest",
        autocompletion=completion.offer_entries,
    ),
) -> None:
    """Write a range of entries to an HTML file that you can send: a list, then each entry in full.

    Newest first. The file holds 500 entries at most, and says how many older ones were left out.

    Example: `takeback report --since yesterday --out report.html`, `takeback report --from 40 --to 62 -o report.html`
    """
    _require_writable(target)
    wanted = read_filter(text, loose=True, **vars(chosen))
    with options.open(looking=True) as harness:
        _require_outside(target, options.directory, harness)
        start = 0 if first is None else resolve_entry(harness.ledger, first).entry
        end = None if last is None else resolve_entry(harness.ledger, last).entry
        if end is not None and end < start:
            raise InputError("--to", found=f"#{end}", expected=f"an entry that is not before #{start} (--from)")
        records = _note_reads(harness, _iter_range(harness, wanted, start, end), "report")
        page = make_share_page(harness, records, "Report")
    _save(target, page)


def _note_reads(harness: Harness, records: Iterable[Record], way: str) -> Iterator[Record]:
    """Yield entries that may be read, each noted as read."""
    harness.require("read")
    for record in records:
        harness.note_read(way, record.id, read_slots(record))
        yield record


def _iter_range(harness: Harness, wanted: Filter, start: int, end: int | None) -> Iterator[Record]:
    narrow = narrow_filter(harness, wanted)
    for entry in narrow.select_entries(iter_entries(harness), make_entry_namer(harness)):
        if start <= entry.seq and (end is None or entry.seq <= end):
            yield harness.journal.get(entry.seq)


def _require_writable(target: Path) -> None:
    """Refuse to replace anything but an earlier file of these commands."""
    try:
        with target.open("rb") as present:
            own = present.read(len(MARK)) == MARK.encode()
    except FileNotFoundError:
        own = target.parent.is_dir()
        if not own:
            raise InputError("--out", found=f"{target}: no such folder", expected="a file in a folder") from None
    except OSError as fault:
        raise InputError("--out", found=f"{target}: {fault.strerror}", expected="a file to write") from None
    if not own:
        raise InputError(
            "--out", found=f"{target}, which is another file", expected="a new file, or one that share wrote"
        )


def _require_outside(target: Path, directory: Path, harness: Harness) -> None:
    root = find_root(directory).resolve()
    if harness.journal.readonly and target.resolve().is_relative_to(root):
        given = f"{target}, which lies in {root}, a project that is only shown"
        raise InputError("--out", found=given, expected="a file elsewhere")


def _save(target: Path, page: SharePage) -> None:
    content = page.text.encode("utf-8", "backslashreplace")
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        aside.replace(target)
    except OSError as fault:
        aside.unlink(missing_ok=True)
        raise InputError(
            "--out", found=f"{target}: {fault.strerror}", expected="a file that can be written"
        ) from None
    commit_exit_code(0)
    about = {"file": str(target), "entries": list(page.entries), "left_out": page.left_out}
    answer({**about, "bytes": len(content), "secrets_masked": page.masked})
    masked = ", secrets masked" if page.masked else ""
    out.print(f"{target}: {format_count(len(page.entries), 'entry', 'entries')}, {len(content):,} bytes{masked}")
    if page.left_out:
        mention(f"{format_count(page.left_out, 'older entry', 'older entries')} left out", style="yellow")


SCRIPT: Final = "examples/verify_bundle.py"


def export(
    options: ReadOptions,
    at: str = setting(
        "--at",
        "ENTRY",
        "After which entry: its number, id, HEAD~N or @{TIME}.",
        "HEAD",
        autocompletion=completion.offer_entries,
    ),
    bundle: Path | None = setting(
        "--bundle", "FILE", "Write records with proofs into this file instead; it must be new.", None
    ),
    sign: Path | None = setting(
        "--sign", "KEY", "With --bundle: the key file that signs it, as for 'takeback head'.", None
    ),
    entry: list[str] = setting(
        "--entry", "ENTRY", "With --bundle: only this entry; can be repeated. All records if left out.", []
    ),
    origin: str = setting("--origin", "NAME", "With --bundle: the name of the journal, for the head."),
) -> None:
    """Print the state right after an entry. The output is JSON, with or without `--json`; `takeback init DIR --state
    FILE` begins another workspace with it. Secrets are masked, and a state with masked values cannot begin a
    workspace: add `--reveal` for that. --bundle writes records instead, with a signed head and proofs that the head
    covers them. Anyone can check a bundle offline with examples/verify_bundle.py, which needs only Python. A bundle
    never contains captured contents. A record that seems to hold a secret is included only as its digest, unless you
    add `--reveal`.

    Example: `takeback export --at HEAD~2 --reveal > state.json`, `takeback init copy --state state.json`,
    `takeback export --bundle records.jsonl --sign sign.key`
    """
    if bundle is None and (sign is not None or entry or origin):
        raise InputError("export", found="--sign, --entry or --origin alone", expected="them with --bundle FILE")
    with options.open(looking=True) as harness:
        if bundle is not None:
            harness.require("sign")
            _export_bundle(harness, bundle, sign, entry, origin)
            return
        record = resolve_entry(harness.ledger, at)
        harness.note_read("export", record.id)
        state = rebuild_state_after(harness, record)
        print_left_out(harness)
        emit(state.write(), exact=True)


def _export_bundle(harness: Harness, place: Path, sign: Path | None, entries: list[str], origin: str) -> None:
    from takeback.cli.govern import name_origin  # noqa: PLC0415 - start-up
    from takeback.govern.heads import build_tree, format_public_key, load_or_make_key, sign_head, write_bundle  # noqa: PLC0415 - start-up

    if sign is None:
        raise InputError("export", found="--bundle without --sign", expected="--sign KEY, a key file")
    name = name_origin(harness, origin)
    chosen = {resolve_entry(harness.ledger, wanted).seq for wanted in entries} if entries else None
    signer = load_or_make_key(sign)
    tree = build_tree(harness.journal)
    hidden: list[int] = []
    lines = write_bundle(
        harness.journal,
        tree,
        lambda head: sign_head(head, signer),
        name,
        chosen=chosen,
        hides=lambda record: _holds_secret(record, hidden),
    )
    try:
        made = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as fault:
        raise InputError(
            str(place), found=fault.strerror or "no place", expected="a file that is not there yet"
        ) from None
    try:
        with os.fdopen(made, "w", encoding="ascii", errors="strict") as file:
            file.writelines(lines)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    commit_exit_code(0)
    count = tree.size if chosen is None else len(chosen)
    public = format_public_key(name, signer.public_key().public_bytes_raw())
    about = {"bundle": str(place), "records": count, "size": tree.size, "root": tree.root().hex()}
    answer({**about, "withheld": hidden, "key": public, "script": SCRIPT})
    out.print(f"{place}: {count} of {tree.size} records, {len(hidden)} of them by digest only, as they hold secrets")
    mention(f"key: {public}")
    mention(f"anyone can check it with: python {SCRIPT} {place} KEY")


def _holds_secret(record: Record, hidden: list[int]) -> bool:
    mask = Mask()
    mask.mask(decode(describe_columns(record)["payload"]))
    if mask.used and not is_revealing():
        hidden.append(record.seq)
        return True
    return False
