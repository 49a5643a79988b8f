"""`takeback export`: the state after any entry, as `init --state` reads it; or records with proofs of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import typer

from takeback.canonical import decode
from takeback.cli import completion
from takeback.cli.context import DirOption, JournalOption, open_harness, print_left_out
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, out
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.entry_log import rebuild_state_after
from takeback.harness.entry_names import resolve_entry
from takeback.journal import Record
from takeback.journal.record import describe_columns
from takeback.present.secrets import Mask, is_revealing

SCRIPT: Final = "examples/verify_bundle.py"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    at: str = typer.Option(
        "HEAD",
        "--at",
        metavar="ENTRY",
        help="After which entry: its number, id, HEAD~N or @{TIME}.",
        autocompletion=completion.offer_entries,
    ),
    bundle: Path | None = typer.Option(
        None, "--bundle", metavar="FILE", help="Write records with proofs into this file instead; it must be new."
    ),
    sign: Path | None = typer.Option(
        None, "--sign", metavar="KEY", help="With --bundle: the key file that signs it, as for 'takeback head'."
    ),
    entry: list[str] = typer.Option(
        [],
        "--entry",
        metavar="ENTRY",
        help="With --bundle: only this entry; can be repeated. All records if left out.",
    ),
    origin: str = typer.Option(
        "", "--origin", metavar="NAME", help="With --bundle: the name of the journal, for the head."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
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
    del reveal
    if bundle is None and (sign is not None or entry or origin):
        raise InputError("export", found="--sign, --entry or --origin alone", expected="them with --bundle FILE")
    with open_harness(directory, journal, looking=True) as harness:
        if bundle is not None:
            harness.require("sign")
            _export_bundle(harness, bundle, sign, entry, origin, as_json=as_json)
            return
        record = resolve_entry(harness.ledger, at)
        harness.note_read("export", record.id)
        state = rebuild_state_after(harness, record)
        print_left_out(harness)
        emit(state.write(), exact=True)


def _export_bundle(
    harness: Harness, place: Path, sign: Path | None, entries: list[str], origin: str, *, as_json: bool
) -> None:
    from takeback.cli.govern import name_origin  # noqa: PLC0415 - start-up
    from takeback.govern.heads import build_tree, format_public_key, load_or_make_key, sign_head, write_bundle  # noqa: PLC0415 - start-up  # noqa: PLC0415 - start-up

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
    if as_json:
        answer = {"bundle": str(place), "records": count, "size": tree.size, "root": tree.root().hex()}
        emit({**answer, "withheld": hidden, "key": public, "script": SCRIPT})
        return
    out.print(f"{place}: {count} of {tree.size} records, {len(hidden)} of them by digest only, as they hold secrets")
    err.print(f"key: {public}")
    err.print(f"anyone can check it with: python {SCRIPT} {place} KEY")


def _holds_secret(record: Record, hidden: list[int]) -> bool:
    mask = Mask()
    mask.mask(decode(describe_columns(record)["payload"]))
    if mask.used and not is_revealing():
        hidden.append(record.seq)
        return True
    return False
