"""`takeback retain`, `compact`, `hold`, `label`, `head` and `witness`: how long captures are kept, and proof."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import typer

from takeback.adapters.manifest import PRIVATE, find_root
from takeback.adapters.opener import load_manifest
from takeback.adapters.trust import require_trusted
from takeback.cli import completion
from takeback.cli.context import AuthorOption, DirOption, JournalOption, PlanFlag, SubjectOption, open_harness
from takeback.cli.interrupts import end_at_first_interrupt
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, finish, out
from takeback.errors import InputError
from takeback.govern.heads import format_public_key, load_or_make_key, make_head, sign_head
from takeback.govern.policy import EXAMPLE, POLICY, read_policy
from takeback.govern.retention import retain as retain_captures
from takeback.harness import Harness
from takeback.harness.entry_names import resolve_entry
from takeback.harness.labels import (
    Labels,
    draft_hold,
    draft_label,
    is_pattern,
    list_held,
    list_holds,
    list_labels,
    require_pattern,
    require_subject,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("retain")(retain)
    app.command("compact")(compact)
    app.command("hold")(hold)
    app.command("label")(label)
    app.command("head")(head)
    app.command("witness")(witness)


def retain(
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Forget captured contents that are older than the policy keeps them. Entries stay in the log.

    `.takeback/policy.toml` sets the age: `[retention] captures = "30d"`. Contents that are in use, needed by younger
    entries or held are kept.

    Example: `takeback retain --plan`
    """
    keep = read_policy(find_root(directory)).captures
    if keep is None:
        raise InputError(POLICY, found="no retention", expected=EXAMPLE)
    with open_harness(directory, journal) as harness:
        harness.require("forget")
        done = retain_captures(harness, keep, datetime.now(UTC), dry=plan)
    if done.record is not None:
        commit_exit_code(0)
    if as_json:
        answer = {"done": done.record is not None, "contents": done.contents, "lingering": done.lingering or None}
        emit({**answer, "entries": list(done.entries), "held": list(done.held)})
    else:
        verb = "would forget" if plan else "forgot"
        out.print(f"{verb} {done.contents} contents of {len(done.entries)} entries; {len(done.held)} held")
        if done.lingering:
            err.print(done.lingering)
    finish(yes=True)


def compact(
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Make the journal smaller by removing what the policy does not keep. No record is removed. It removes captures
    that are older than the retention, with the candidates, evidence and file images of their entries, and
    intermediate states. Without `[retention] captures` in `.takeback/policy.toml` every capture stays. Contents that
    are in use, needed by younger entries or held are kept. A new record lists what was removed.

    Example: `takeback compact --plan`
    """
    from takeback.govern.retention import compact as compact_journal  # noqa: PLC0415 - start-up

    keep = read_policy(find_root(directory)).captures
    with open_harness(directory, journal) as harness:
        harness.require("forget")
        before = harness.journal.measure_size()
        done = compact_journal(harness, keep, datetime.now(UTC), dry=plan)
        after = harness.journal.measure_size()
    if done.record is not None:
        commit_exit_code(0)
    if as_json:
        answer = {"done": done.record is not None, "contents": done.contents, "lingering": done.lingering or None}
        size = {"bytes_before": before, "bytes_after": after}
        emit({**answer, "entries": list(done.entries), "held": list(done.held), **size})
    elif not done.contents:
        kept = "every capture is kept" if keep is None else f"{len(done.held)} older entries are held"
        out.print(f"nothing to remove: {kept}; the journal has {before:,} bytes")
    else:
        verb = "would drop" if plan else "dropped"
        room = "" if plan else f"; {before:,} bytes before, {after:,} now"
        out.print(f"{verb} {done.contents} contents of {len(done.entries)} entries; {len(done.held)} held{room}")
        if done.lingering:
            err.print(done.lingering)
    finish(yes=True)


def hold(
    entry: str | None = typer.Argument(
        None,
        metavar="[ENTRY]",
        help="An entry: its number, the beginning of its id, HEAD~N or @{TIME}.",
        show_default=False,
        autocompletion=completion.offer_entries,
    ),
    subject: str = SubjectOption,
    release: bool = typer.Option(False, "--release", help="Release it again."),
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Keep the contents of an entry or a subject, whatever retention says.

    `forget` refuses to delete them until they are released. `takeback label` assigns contents to a subject; --subject
    holds every entry that has contents of it, now and later.

    Example: `takeback hold 3`, `takeback hold --subject user:42`
    """
    if (entry is None) is (not subject):
        raise InputError("hold", found="both" if entry else "nothing", expected="an entry or --subject")
    if subject:
        require_subject(subject)
    with open_harness(directory, journal) as harness, harness.session():
        harness.require("forget", by)
        number = None if entry is None else resolve_entry(harness.ledger, entry).entry
        entries, subjects = list_holds(harness.journal)
        if (subject in subjects or number in entries) is release:
            author = harness.name_author(by)
            harness.journal.append([draft_hold(number, subject=subject, release=release, by=author)])
            harness.recover()
        held = sorted(list_held(harness.journal))
    commit_exit_code(0)
    if as_json:
        emit({"entry": number, "subject": subject or None, "held": held})
    else:
        named = subject or f"#{number}"
        out.print(f"{named} is {'released' if release else 'held'}")
    finish(yes=True)


def label(
    things: list[str] | None = typer.Argument(
        None, metavar="[ENTRY|ADDRESS]...", help="Entries, or addresses in which * stands for anything."
    ),
    subject: str = SubjectOption,
    remove: bool = typer.Option(False, "--remove", help="Remove the label again."),
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Say whom contents are about, so that they can be forgotten or held together. Without a thing: list the labels.

    An address holds for what was recorded and for what comes. `takeback forget --subject` then deletes all of it, and
    `takeback hold --subject` keeps it. The name of the subject stays readable in the journal.

    Example: `takeback label 'config["users.42"]' 7 --subject user:42`
    """
    if bool(things) is not bool(subject):
        raise InputError("label", found="only one of the two", expected="things and --subject, or neither to list")
    if not subject:
        with open_harness(directory, journal, looking=True) as harness:
            _show_labels(harness, as_json=as_json)
        return
    require_subject(subject)
    with open_harness(directory, journal) as harness, harness.session():
        harness.require("forget", by)
        drafts = []
        known = list_labels(harness.journal).get(subject, Labels())
        for thing in dict.fromkeys(things or ()):
            if is_pattern(thing):
                require_pattern(thing)
                if (thing in known.patterns) is remove:
                    drafts.append(draft_label(subject, slots=thing, remove=remove, by=by))
                continue
            number = resolve_entry(harness.ledger, thing).entry
            if (number in known.entries) is remove:
                drafts.append(draft_label(subject, entry=number, remove=remove, by=by))
        if drafts:
            harness.journal.append(drafts)
            harness.recover()
            commit_exit_code(0)
        _show_labels(harness, as_json=as_json, only=subject)
    finish(yes=True)


def _show_labels(harness: Harness, *, as_json: bool, only: str = "") -> None:
    subjects = {name: labels for name, labels in list_labels(harness.journal).items() if not only or name == only}
    if as_json:
        answer = {
            name: {"entries": sorted(labels.entries), "addresses": sorted(labels.patterns)}
            for name, labels in subjects.items()
        }
        emit({"subjects": answer})
        return
    for name, labels in subjects.items():
        things = (*(f"#{number}" for number in sorted(labels.entries)), *sorted(labels.patterns))
        out.print(f"{name}: {', '.join(things)}", markup=False)
    if not subjects:
        out.print(f"nothing is labelled{f' with {only}' if only else ''}", markup=False)


def head(
    sign: Path = typer.Option(..., "--sign", metavar="KEY", help="The key file; created if it does not exist."),
    origin: str = typer.Option(
        "", "--origin", metavar="NAME", help="The name of the journal, for the head; generated if left out."
    ),
    to: str | None = typer.Option(None, "--witness", metavar="URL", help="Also send it to this witness."),
    token_file: Path | None = typer.Option(
        None, "--token-file", metavar="FILE", help="The file with the witness's token, from its folder."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Print a signed head of the journal: the number of its records and their root hash.

    Keep it elsewhere: `takeback doctor --head FILE --key KEY` checks later that the journal still begins with the
    same records. The KEY is printed on stderr. --witness also sends the head to a witness (`takeback witness`). The
    witness refuses it, with exit code 2, if this journal does not continue the head that it has kept.

    Example: `takeback head --sign sign.key`,
    `takeback head --sign sign.key --witness http://127.0.0.1:8799 --token-file witness/token`
    """
    if (to is None) is not (token_file is None):
        raise InputError("head", found="only one of --witness and --token-file", expected="both")
    if journal is None:  # a signature vouches for the journal
        require_trusted(find_root(directory), load_manifest(find_root(directory)))
    with open_harness(directory, journal, looking=True) as harness:
        harness.require("sign")
        name = name_origin(harness, origin)
        signer = load_or_make_key(sign)
        made = make_head(harness.journal, name, find_root(directory) / PRIVATE / "frontier.json")
        note, public = sign_head(made, signer), format_public_key(name, signer.public_key().public_bytes_raw())
        before = None if to is None or token_file is None else _submit(harness, to, token_file, made.size, note)
    if as_json:
        answer = {"origin": name, "size": made.size, "root": made.root.hex(), "note": note, "key": public}
        emit(answer if before is None else {**answer, "witness": {"url": to, "before": before}})
        return
    typer.echo(note, nl=False)
    err.print(f"key: {public}")


def _submit(harness: Harness, url: str, token_file: Path, size: int, note: str) -> int:
    """Give a head of the journal's first records to a witness; return the size that it had kept before."""
    from takeback.govern.merkle import MerkleTree  # noqa: PLC0415 - start-up
    from takeback.govern.witness import submit_head  # noqa: PLC0415 - start-up

    try:
        token = token_file.read_text().strip()
    except (OSError, ValueError) as fault:
        raise InputError(str(token_file), found=str(fault), expected="the file 'token' of the witness") from None
    leaves = (bytes.fromhex(record.digest) for record in islice(harness.journal.records(), size))
    return submit_head(url, token, note, MerkleTree(leaves))


def witness(
    folder: Path = typer.Argument(
        metavar="FOLDER", help="The folder for heads and the token; created if it does not exist."
    ),
    key: list[str] = typer.Option(
        ..., "--key", metavar="PUB", help="The key of a journal's signer; can be repeated."
    ),
    port: int = typer.Option(0, "--port", min=0, max=65535, metavar="N", help="The port; any free one if left out."),
    as_json: bool = JsonFlag,
) -> None:
    """Keep the last signed head of each journal, and refuse a head that does not continue it. Ctrl-C ends it. It
    serves this machine only, and requires the token in FOLDER/token. Run it as a user who does not write the
    journals. `takeback head --witness URL` sends it a head, with a proof that the head continues the last one.

    Example: `takeback witness heads --key example+1a2b3c4d+AQ… --port 8799`
    """
    from takeback.govern.witness import HeadWitness, WitnessServer, load_or_make_token  # noqa: PLC0415 - start-up

    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        server = WitnessServer(HeadWitness(folder, key), load_or_make_token(folder / "token"), port)
    except OSError as fault:
        raise InputError(str(folder), found=str(fault), expected="a folder of yours, and a free port") from None
    with server:
        if as_json:
            emit({"url": server.url, "token_file": str(folder / "token"), "heads": str(folder)})
        else:
            out.print(f"{server.url} keeps heads in {folder}; its token is in {folder / 'token'}")
        out.flush()
        with end_at_first_interrupt():
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                err.print("the witness has ended; the heads that it kept stay")


def name_origin(harness: Harness, origin: str) -> str:
    """Return what a head of this journal is of: the name that was given, or one made of the journal's identity."""
    name = origin or f"takeback/{harness.ledger.identity or 'journal'}"
    if not name.isprintable() or "+" in name or " " in name:
        raise InputError("--origin", found=repr(name), expected="a name without spaces and +")
    return name
