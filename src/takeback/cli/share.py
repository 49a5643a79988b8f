"""`takeback share` and `takeback report`: entries as one HTML file, masked, for an issue or a pull request."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from takeback.adapters.manifest import find_root
from takeback.cli import completion
from takeback.cli.context import DirOption, EntryArgument, JournalOption, SessionOption, open_harness
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, out
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.entry_log import iter_entries
from takeback.harness.entry_names import resolve_entry
from takeback.harness.records import read_slots
from takeback.journal import Record
from takeback.present.entries import Filter, make_entry_namer, read_filter
from takeback.present.search_index import narrow_filter
from takeback.present.share_page import MARK, SharePage, make_share_page
from takeback.present.titles import format_count

OutOption = typer.Option(..., "--out", "-o", metavar="FILE", help="The HTML file to write.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("share")(share)
    app.command("report")(report)


def share(
    entry: str = EntryArgument,
    target: Path = OutOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Write one entry to an HTML file that you can send: prompt, diff, evidence, how to undo it.

    The file is self-contained: it runs no script and loads nothing. Secrets are always masked. An earlier file of
    `share` or `report` is replaced; any other file is not.

    Example: `takeback share 62 --out change-62.html`
    """
    _require_writable(target)
    with open_harness(directory, journal, looking=True) as harness:
        _require_outside(target, directory, harness)
        page = make_share_page(harness, _note_reads(harness, [resolve_entry(harness.ledger, entry)], "share"))
    _save(target, page, as_json=as_json)


def report(
    text: str = typer.Argument("", metavar="TEXT", help="Only entries that contain this."),
    target: Path = OutOption,
    first: str | None = typer.Option(
        None,
        "--from",
        metavar="ENTRY",
        help="The first entry of the range.",
        show_default="the beginning",
        autocompletion=completion.offer_entries,
    ),
    last: str | None = typer.Option(
        None,
        "--to",
        metavar="ENTRY",
        help="The last entry of the range.",
        show_default="the newest",
        autocompletion=completion.offer_entries,
    ),
    since: str = typer.Option("", "--since", metavar="TIME", help="Only entries from this time on, or from 2h ago."),
    by: str = typer.Option(
        "",
        "--by",
        metavar="WHO",
        help="Only entries that this person or agent made.",
        autocompletion=completion.offer_people,
    ),
    surface: str = typer.Option(
        "",
        "--surface",
        metavar="NAME",
        help="Only entries that changed this surface.",
        autocompletion=completion.offer_words(completion.list_surfaces),
    ),
    session: str = SessionOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Write a range of entries to an HTML file that you can send: a list, then each entry in full.

    Newest first. The file holds 500 entries at most, and says how many older ones were left out.

    Example: `takeback report --since yesterday --out report.html`, `takeback report --from 40 --to 62 -o report.html`
    """
    _require_writable(target)
    wanted = read_filter(text, surface=surface, by=by, since=since, session=session, loose=True)
    with open_harness(directory, journal, looking=True) as harness:
        _require_outside(target, directory, harness)
        start = 0 if first is None else resolve_entry(harness.ledger, first).entry
        end = None if last is None else resolve_entry(harness.ledger, last).entry
        if end is not None and end < start:
            raise InputError("--to", found=f"#{end}", expected=f"an entry that is not before #{start} (--from)")
        records = _note_reads(harness, _iter_range(harness, wanted, start, end), "report")
        page = make_share_page(harness, records, "Report")
    _save(target, page, as_json=as_json)


def _note_reads(harness: Harness, records: Iterable[Record], way: str) -> Iterator[Record]:
    """Yield entries that may be read, each noted as read."""
    harness.require("read")
    for record in records:
        harness.note_read(way, record.id, read_slots(record))
        yield record


def _iter_range(harness: Harness, wanted: Filter, start: int, end: int | None) -> Iterator[Record]:
    """Yield entries of a range, newest first."""
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
    """Refuse to write into a project that is only looked at."""
    root = find_root(directory).resolve()
    if harness.journal.readonly and target.resolve().is_relative_to(root):
        given = f"{target}, which lies in {root}, a project that is only shown"
        raise InputError("--out", found=given, expected="a file elsewhere")


def _save(target: Path, page: SharePage, *, as_json: bool) -> None:
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
    if as_json:
        about = {"file": str(target), "entries": list(page.entries), "left_out": page.left_out}
        emit({**about, "bytes": len(content), "secrets_masked": page.masked})
        return
    masked = ", secrets masked" if page.masked else ""
    out.print(f"{target}: {format_count(len(page.entries), 'entry', 'entries')}, {len(content):,} bytes{masked}")
    if page.left_out:
        err.print(f"{format_count(page.left_out, 'older entry', 'older entries')} left out", style="yellow")
