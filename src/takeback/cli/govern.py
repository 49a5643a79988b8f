"""`takeback retain`, `compact`, `hold`, `label`, `head`, `witness`, `grants` and `audit`: what policies ask for.

How long captures are kept and for whom, signed heads as proof, rights of database roles, and who read what.
"""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import typer

from takeback.adapters.manifest import PRIVATE
from takeback.adapters.opener import find_audit_anchor, load_manifest
from takeback.adapters.trust import require_trusted
from takeback.cli import completion
from takeback.cli.context import SHORT, AuthorOption, PlanFlag, SubjectOption, WorkspaceOptions
from takeback.cli.options import argument, flag, refuse_several, setting
from takeback.cli.output import answer, commit_exit_code, emit, end_at_first_interrupt, err, finish, mention, out
from takeback.errors import InputError
from takeback.govern.audit import AuditChain, ReadNote
from takeback.govern.heads import format_public_key, load_or_make_key, make_head, sign_head
from takeback.govern.policy import EXAMPLE, POLICY, read_policy
from takeback.govern.retention import Retained
from takeback.govern.retention import retain as retain_captures
from takeback.harness import Harness
from takeback.harness.entry_names import read_time, resolve_entry
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


def retain(options: WorkspaceOptions, plan: bool = PlanFlag) -> None:
    """Forget captured contents that are older than the policy keeps them. Entries stay in the log.

    `.takeback/policy.toml` sets the age: `[retention] captures = "30d"`. Contents that are in use, needed by younger
    entries or held are kept.

    Example: `takeback retain --plan`
    """
    keep = read_policy(options.root).captures
    if keep is None:
        raise InputError(POLICY, found="no retention", expected=EXAMPLE)
    with options.open() as harness:
        harness.require("forget")
        done = retain_captures(harness, keep, datetime.now(UTC), dry=plan)
    if done.record is not None:
        commit_exit_code(0)
    answer(_retention_to_json(done))
    verb = "would forget" if plan else "forgot"
    out.print(f"{verb} {done.contents} contents of {len(done.entries)} entries; {len(done.held)} held")
    if done.lingering:
        mention(done.lingering)
    finish(yes=True)


def compact(options: WorkspaceOptions, plan: bool = PlanFlag) -> None:
    """Make the journal smaller by removing what the policy does not keep. No record is removed. It removes captures
    that are older than the retention, with the candidates, evidence and file images of their entries, and
    intermediate states. Without `[retention] captures` in `.takeback/policy.toml` every capture stays. Contents that
    are in use, needed by younger entries or held are kept. A new record lists what was removed.

    Example: `takeback compact --plan`
    """
    from takeback.govern.retention import compact as compact_journal  # noqa: PLC0415 - start-up

    keep = read_policy(options.root).captures
    with options.open() as harness:
        harness.require("forget")
        before = harness.journal.measure_size()
        done = compact_journal(harness, keep, datetime.now(UTC), dry=plan)
        after = harness.journal.measure_size()
    if done.record is not None:
        commit_exit_code(0)
    answer({**_retention_to_json(done), "bytes_before": before, "bytes_after": after})
    if not done.contents:
        kept = "every capture is kept" if keep is None else f"{len(done.held)} older entries are held"
        out.print(f"nothing to remove: {kept}; the journal has {before:,} bytes")
    else:
        verb = "would drop" if plan else "dropped"
        room = "" if plan else f"; {before:,} bytes before, {after:,} now"
        out.print(f"{verb} {done.contents} contents of {len(done.entries)} entries; {len(done.held)} held{room}")
        if done.lingering:
            mention(done.lingering)
    finish(yes=True)


def _retention_to_json(done: Retained) -> dict[str, Any]:
    return {
        "done": done.record is not None,
        "contents": done.contents,
        "lingering": done.lingering or None,
        "entries": list(done.entries),
        "held": list(done.held),
    }


def hold(
    options: WorkspaceOptions,
    entry: str | None = argument(
        "[ENTRY]",
        "An entry: its number, the beginning of its id, HEAD~N or @{TIME}.",
        None,
        autocompletion=completion.offer_entries,
    ),
    subject: str = SubjectOption,
    release: bool = flag("--release", "Release it again."),
    by: str = AuthorOption,
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
    with options.open() as harness, harness.session():
        harness.require("forget", by)
        number = None if entry is None else resolve_entry(harness.ledger, entry).entry
        entries, subjects = list_holds(harness.journal)
        if (subject in subjects or number in entries) is release:
            author = harness.name_author(by)
            harness.journal.append([draft_hold(number, subject=subject, release=release, by=author)])
            harness.recover()
        held = sorted(list_held(harness.journal))
    commit_exit_code(0)
    answer({"entry": number, "subject": subject or None, "held": held})
    named = subject or f"#{number}"
    out.print(f"{named} is {'released' if release else 'held'}")
    finish(yes=True)


def label(
    options: WorkspaceOptions,
    things: list[str] | None = argument(
        "[ENTRY|ADDRESS]...", "Entries, or addresses in which * stands for anything.", None
    ),
    subject: str = SubjectOption,
    remove: bool = flag("--remove", "Remove the label again."),
    by: str = AuthorOption,
) -> None:
    """Say whom contents are about, so that they can be forgotten or held together. Without a thing: list the labels.

    An address holds for what was recorded and for what comes. `takeback forget --subject` then deletes all of it, and
    `takeback hold --subject` keeps it. The name of the subject stays readable in the journal.

    Example: `takeback label 'config["users.42"]' 7 --subject user:42`
    """
    if bool(things) is not bool(subject):
        raise InputError("label", found="only one of the two", expected="things and --subject, or neither to list")
    if not subject:
        with options.open(looking=True) as harness:
            _show_labels(harness)
        return
    require_subject(subject)
    with options.open() as harness, harness.session():
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
        _show_labels(harness, only=subject)
    finish(yes=True)


def _show_labels(harness: Harness, *, only: str = "") -> None:
    subjects = {name: labels for name, labels in list_labels(harness.journal).items() if not only or name == only}
    plain = {name: {"entries": sorted(of.entries), "addresses": sorted(of.patterns)} for name, of in subjects.items()}
    answer({"subjects": plain})
    for name, labels in subjects.items():
        things = (*(f"#{number}" for number in sorted(labels.entries)), *sorted(labels.patterns))
        out.print(f"{name}: {', '.join(things)}")
    if not subjects:
        out.print(f"nothing is labelled{f' with {only}' if only else ''}")


def head(
    options: WorkspaceOptions,
    sign: Path = setting("--sign", "KEY", "The key file; created if it does not exist.", ...),
    origin: str = setting("--origin", "NAME", "The name of the journal, for the head; generated if left out."),
    to: str | None = setting("--witness", "URL", "Also send it to this witness.", None),
    token_file: Path | None = setting(
        "--token-file", "FILE", "The file with the witness's token, from its folder.", None
    ),
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
    if options.journal is None:  # a signature vouches for the journal
        require_trusted(options.root, load_manifest(options.root))
    with options.open(looking=True) as harness:
        harness.require("sign")
        name = name_origin(harness, origin)
        signer = load_or_make_key(sign)
        made = make_head(harness.journal, name, options.root / PRIVATE / "frontier.json")
        note, public = sign_head(made, signer), format_public_key(name, signer.public_key().public_bytes_raw())
        before = None if to is None or token_file is None else _submit(harness, to, token_file, made.size, note)
    about = {"origin": name, "size": made.size, "root": made.root.hex(), "note": note, "key": public}
    answer(about if before is None else {**about, "witness": {"url": to, "before": before}})
    if options.as_json:
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
    folder: Path = argument("FOLDER", "The folder for heads and the token; created if it does not exist."),
    key: list[str] = setting("--key", "PUB", "The key of a journal's signer; can be repeated.", ...),
    port: int = setting("--port", "N", "The port; any free one if left out.", 0, min=0, max=65535),
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
        answer({"url": server.url, "token_file": str(folder / "token"), "heads": str(folder)})
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


def grants(options: WorkspaceOptions, plan: bool = PlanFlag) -> None:
    """Grant the roles of a PostgreSQL journal the rights that the policy gives them.

    The server itself then refuses whatever `.takeback/policy.toml` does not allow a role, whichever program asks.
    Each `database:NAME` below `who` is a role of the server. Other roles lose their rights on the journal. Only the
    owner of the journal's schema can run this; run it again after the policy changes.

    Example: `takeback grants --plan`
    """
    policy = read_policy(options.root)
    if policy.roles is None:
        raise InputError(POLICY, found="no role", expected='[roles.NAME] with may and who = ["database:NAME"]')
    with options.open() as harness:
        if "://" not in harness.journal.location:  # whoever has none of those may not have the extra
            raise InputError(
                "grants", found=f"the journal {harness.journal.location}", expected="a journal in PostgreSQL"
            )
        from takeback.govern.grants import grant_rights, list_rights  # noqa: PLC0415 - needs the extra
        from takeback.journal.postgres import PostgresStore  # noqa: PLC0415 - needs the extra

        rights = list_rights(policy)
        store = harness.journal
        if not isinstance(store, PostgresStore):
            raise InputError("grants", found=f"the journal {store.location}", expected="a journal in PostgreSQL")
        statements = grant_rights(store, rights, dry=plan)
    if not plan:
        commit_exit_code(0)
    answer({"done": not plan, "roles": sorted(rights), "statements": statements})
    if plan:
        out.print(";\n".join(text.strip() for text in statements) + ";")
    else:
        out.print(
            f"the server now enforces the policy for these roles, and admits no others: {', '.join(sorted(rights))}"
        )
    finish(yes=True)


COLUMNS: Final = ("seq", "at", "who", "way", "entry", "slots", "more")
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the beginning of a cell."""


def audit(
    options: WorkspaceOptions,
    since: str = setting("--since", "TIME", "Only reads from this time on, or from 30d ago."),
    as_csv: bool = flag("--csv", "Print comma-separated values with a heading."),
) -> None:
    """List who read which contents, oldest first, if the policy records reads.

    A line names the time, the kind of read, the entry and the slots, never their contents. Reads are recorded if
    `.takeback/policy.toml` has `[audit]` with `reads = true`. Exit code 1 if the chain of these records was altered,
    cut or started over; readable records are listed anyway.

    Example: `takeback audit --since 30d --csv`
    """
    refuse_several("audit", {"--csv": as_csv, "--json": options.as_json})
    start = read_time(since, datetime.now(UTC), "--since") if since else None
    with options.open(looking=True) as harness:
        harness.require("read")
    root = options.root
    report = AuditChain(root, find_audit_anchor(root)).examine()
    notes = [note for note in report.notes if start is None or _is_since(note, start)]
    if options.as_json:
        emit({"whole": not report.faults, "faults": list(report.faults), "reads": [note.to_json() for note in notes]})
    elif as_csv:
        typer.echo(_write_csv(notes), nl=False)
    else:
        for note in notes:
            what = f"{note.way} {note.entry[:SHORT]}".rstrip()
            more = f" and {note.more} more" if note.more else ""
            out.print(f"{note.at}  {note.who}  {what}  {', '.join(note.slots)}{more}")
    if not notes and not (options.as_json or as_csv):
        err.print(f"no reads are recorded{' since then' if report.notes else ''}")
        if not report.notes:
            err.print("  reads are recorded if .takeback/policy.toml has [audit] with reads = true", style="cyan")
    if not options.as_json:
        for fault in report.faults:
            err.print(f"the chain of reads is damaged: {fault}", style="yellow")
    finish(yes=not report.faults)


def _is_since(note: ReadNote, start: datetime) -> bool:
    """Whether a read was noted from a time on; one whose time cannot be read is listed too."""
    try:
        at = datetime.fromisoformat(note.at)
    except ValueError:
        return True
    return (at if at.tzinfo else at.replace(tzinfo=UTC)) >= start


def _write_csv(notes: list[ReadNote]) -> str:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for note in notes:
        cells = (note.seq, note.at, note.who, note.way, note.entry, "\n".join(note.slots), note.more)
        rows.writerow([f"'{cell}" if str(cell).startswith(FORMULA) else cell for cell in cells])
    return written.getvalue()
