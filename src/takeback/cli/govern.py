"""`takeback retain`, `hold` and `head`: how long captures are kept, and proof of what was recorded."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from takeback.adapters.manifest import PRIVATE, find_root
from takeback.cli.context import AuthorOption, DirOption, EntryArgument, JournalOption, PlanFlag, open_harness
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, finish, out
from takeback.errors import InputError
from takeback.govern.heads import format_public_key, load_or_make_key, make_head, sign_head
from takeback.govern.policy import EXAMPLE, POLICY, read_policy
from takeback.govern.retention import retain as retain_captures
from takeback.harness import Harness
from takeback.harness.entry_names import resolve_entry
from takeback.harness.holds import draft_hold, list_held


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("retain")(retain)
    app.command("hold")(hold)
    app.command("head")(head)


def retain(
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Forget what entries captured longer ago than the policy keeps it. Entries stay in the log.

    `.takeback/policy.toml` says how long: `[retention] captures = "30d"`. What is in use, what younger entries need
    and what is held is kept.

    Example: `takeback retain --plan`
    """
    keep = read_policy(find_root(directory)).captures
    if keep is None:
        raise InputError(POLICY, found="no retention", expected=EXAMPLE)
    with open_harness(directory, journal) as harness:
        done = retain_captures(harness, keep, datetime.now(UTC), dry=plan)
    if done.record is not None:
        commit_exit_code(0)
    if as_json:
        told = {"done": done.record is not None, "contents": done.contents, "lingering": done.lingering or None}
        emit({**told, "entries": list(done.entries), "held": list(done.held)})
    else:
        verb = "would forget" if plan else "forgot"
        out.print(f"{verb} {done.contents} contents of {len(done.entries)} entries; {len(done.held)} held")
        if done.lingering:
            err.print(done.lingering)
    finish(yes=True)


def hold(
    entry: str = EntryArgument,
    release: bool = typer.Option(False, "--release", help="Release it again."),
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Keep what an entry captured, whatever retention says. `forget` refuses it until it is released.

    Example: `takeback hold 3`
    """
    with open_harness(directory, journal) as harness, harness.session():
        number = resolve_entry(harness.ledger, entry).entry
        if (number in list_held(harness.journal)) is release:
            harness.journal.append([draft_hold(number, release=release, by=by)])
            harness.recover()
        held = sorted(list_held(harness.journal))
    commit_exit_code(0)
    if as_json:
        emit({"entry": number, "held": held})
    else:
        out.print(f"#{number} is {'released' if release else 'held'}")
    finish(yes=True)


def head(
    sign: Path = typer.Option(..., "--sign", metavar="KEY", help="A key file; made where there is none."),
    origin: str = typer.Option("", "--origin", metavar="NAME", help="What the head is of; made up if left out."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Print a signed head of the journal: how many records it has, and the root over them.

    Keep it elsewhere: `takeback doctor --head FILE --key KEY` later tells whether the journal still begins with the
    same records. The key to give there is printed on stderr.

    Example: `takeback head --sign sign.key`
    """
    with open_harness(directory, journal, looking=True) as harness:
        name = name_origin(harness, origin)
        signer = load_or_make_key(sign)
        made = make_head(harness.journal, name, find_root(directory) / PRIVATE / "frontier.json")
    note, public = sign_head(made, signer), format_public_key(name, signer.public_key().public_bytes_raw())
    if as_json:
        emit({"origin": name, "size": made.size, "root": made.root.hex(), "note": note, "key": public})
        return
    typer.echo(note, nl=False)
    err.print(f"key: {public}")


def name_origin(harness: Harness, origin: str) -> str:
    """Return what a head of this journal is of: the name that was given, or one made of the journal's identity."""
    name = origin or f"takeback/{harness.ledger.identity or 'journal'}"
    if not name.isprintable() or "+" in name or " " in name:
        raise InputError("--origin", found=repr(name), expected="a name without spaces and +")
    return name
