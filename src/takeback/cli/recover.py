"""`takeback recover`, `resolve`, `doctor`, `backup` and `restore-journal`: what a crash left, an older journal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from takeback.adapters import open_workspace
from takeback.adapters.doctor import (
    JournalReturn,
    back_up_journal,
    examine_workspace,
    mend_journal,
    plan_return,
    return_journal,
)
from takeback.adapters.manifest import PRIVATE, find_root
from takeback.cli.changes import changes_to_json
from takeback.cli.context import SHORT, AuthorOption, WorkspaceOptions, find_key_file
from takeback.cli.hints import localize_hints, remember_directory
from takeback.cli.options import argument, flag, setting
from takeback.cli.outcomes import open_to_json, show_open
from takeback.cli.output import answer, commit_exit_code, err, finish, mention, out, set_interrupt_message
from takeback.cli.pulse import pulse
from takeback.errors import InputError
from takeback.harness.doctor import Finding
from takeback.harness.outcomes import Status
from takeback.present.titles import format_count
from takeback.state.slots import describe_slot


def recover(
    options: WorkspaceOptions, now: bool = flag("--now", "Retry open calls now, even if they are not due yet.")
) -> None:
    """Finish a change that a killed process left, and retry open compensations.

    Every command does this first; running it again is harmless. Exit code 1 while an entry is open.

    Example: `takeback recover`, `takeback recover --now`
    """
    from takeback.harness.calls_environment import use_call_environment  # noqa: PLC0415 - start-up

    use_call_environment(os.environ)
    with closing(open_workspace(options.root, journal=options.journal, keys=find_key_file(), hold=False)) as harness:
        recovered = harness.recovered
        was_open = {call.entry for call in recovered.open}
        again = harness.recover(now=now)
        swept = (*recovered.swept, *again.swept)
    if recovered.entry is not None:
        commit_exit_code(1 if again.open else 0)
    ended = sorted(was_open - {call.entry for call in again.open})
    answer(
        {
            "entry": recovered.entry.id if recovered.entry else None,
            "kind": recovered.entry.kind if recovered.entry else None,
            "given_up": recovered.given_up,
            "kept": list(recovered.kept),
            "swept": list(swept),
            "ended": ended,
            **open_to_json(again.open),
        }
    )
    for number in ended:
        out.print(f"entry #{number} is no longer open: its calls are made")
    if recovered.entry is None and not was_open:
        out.print("nothing was unfinished")
    elif recovered.entry is not None:
        done = "gave up" if recovered.given_up else "finished"
        out.print(f"{done} entry {recovered.entry.id[:SHORT]} ({recovered.entry.kind})")
    for path in recovered.kept:
        out.print(f"  left alone: {path}, which someone else changed in the meantime")
    for path in swept:
        out.print(f"  removed temporary file {path}")
    show_open(again.open)
    finish(yes=not again.open)


def resolve(
    options: WorkspaceOptions,
    entry: str = argument("ENTRY", "The entry that made the call: its number, or the beginning of its id."),
    step: int = argument("STEP", "The step's number, as 'takeback status' shows it."),
    made: bool = typer.Option(
        ..., "--made/--not-made", help="Whether the call was made; if not, Takeback makes it now."
    ),
    by: str = AuthorOption,
) -> None:
    """Say whether a call in doubt was made.

    A call is in doubt if the process died during it and the other system cannot be asked. Your answer is recorded
    with your name. Exit code 1 while anything is open.

    Example: `takeback resolve 3f2a91 2 --made`
    """
    with options.open() as harness:
        left = harness.resolve(entry.removeprefix("#"), step, made=made, by=by)
    answer({"result": "resolved", "entry": entry, "step": step, "made": made, "by": by, **open_to_json(left)})
    out.print(f"recorded: step {step} of {entry} was {'made' if made else 'not made'}, according to {by or 'you'}")
    show_open(left)
    finish(yes=not left)


def doctor(
    options: WorkspaceOptions,
    deep: bool = flag("--deep", "Run every live entry's recovery and compare with its undo."),
    mend: bool = flag("--mend", "First rebuild the journal's indexes from its records."),
    head: Path | None = setting("--head", "FILE", "Check that the journal continues this head.", None),
    key: str | None = setting("--key", "PUB", "The signer's key, as 'takeback head' prints it.", None),
) -> None:
    """Check everything: manifest, journal, files, leftovers. Exit code 1 if anything is wrong. SQLite checks the
    journal's file too. --mend rebuilds indexes that do not match the records, in a new file; if that file is intact
    it replaces the journal, and the old file is kept.

    Example: `takeback doctor`
    """
    set_interrupt_message("checking changes nothing; you can run the same command again")
    remember_directory(options.directory)
    if mend:
        aside = mend_journal(options.root, options.journal, find_key_file())
        err.print(f"the journal's indexes were rebuilt from its records; the old file is kept as {aside}")
    findings = examine_workspace(
        options.root,
        options.journal,
        find_key_file(),
        deep=deep,
        seen=lambda finding: pulse.set_activity(f"{finding.check} done"),
    )
    findings = (*findings, *_examine_runs(options.root.resolve()))
    if head is not None or key is not None:
        findings = (*findings, _check_head(options.directory, options.journal, head, key))
    plain = [{"check": f.check, "good": f.good, "detail": f.detail} for f in findings]
    answer({"good": all(f.good for f in findings), "findings": plain})
    for finding in findings:
        mark = ("ok ", "green") if finding.good else ("BAD", "red")
        out.print(mark, localize_hints(f" {finding.check}: {finding.detail}"))
    finish(yes=all(finding.good for finding in findings))


def _check_head(directory: Path, journal: str | None, head: Path | None, key: str | None) -> Finding:
    from takeback.govern.heads import MOST_NOTE, HeadError, open_head, require_continuation  # noqa: PLC0415 - start-up

    if head is None or key is None:
        raise InputError("doctor", found="only one of --head and --key", expected="both")
    try:
        with head.open("rb") as file:
            note = file.read(MOST_NOTE + 1).decode()
    except (OSError, ValueError) as fault:
        raise InputError(str(head), found=str(fault), expected="a signed head") from None
    root = find_root(directory)
    try:
        signed = open_head(note, key)
        with closing(open_workspace(root, journal=journal, keys=find_key_file(), readonly=True)) as harness:
            more = require_continuation(harness.journal, signed)
    except HeadError as fault:
        return Finding("head", good=False, detail=f"{fault.problem}: {fault.message}")
    return Finding("head", good=True, detail=f"{signed.origin} at {signed.size} records; {more} more since")


def _examine_runs(root: Path) -> Iterator[Finding]:
    """Yield what runs on an overlay left in this project; nothing where there were none."""
    from takeback.cli.run import find_own_leftovers  # noqa: PLC0415 - start-up

    left = find_own_leftovers(root)
    if left:
        count = format_count(len(left), "run")
        ways = "'takeback run --resume' shows that, 'takeback run --drop-leftovers' drops it"
        yield Finding("runs", good=False, detail=f"{count} left undecided changes; {ways}")
    for place in sorted((root / PRIVATE).glob("run-*")):
        count = f"a run was killed while its changes were applied; the files that it replaced are in {place}"
        yield Finding("runs", good=False, detail=f"{count}: copy what you need of them, then remove that folder")


SHOWN = 20
"""How many entries and addresses are listed at most."""


def backup(options: WorkspaceOptions, target: Path = argument("FILE", "The new file to write.")) -> None:
    """Copy the journal to a file, even while it is in use, and check the copy.

    The backup is a SQLite file, even if the journal is in PostgreSQL. Only its owner can read it, because it contains
    captured contents. It does not contain the keys of a sealed journal, and every PostgreSQL journal is sealed: keep
    a copy of `.takeback/journal.keys` elsewhere. `takeback restore-journal FILE` restores a backup.

    Example: `takeback backup ../journal-monday.db`
    """
    remember_directory(options.directory)
    made = back_up_journal(options.root, target, options.journal, find_key_file())
    commit_exit_code(0)
    answer({"file": str(made.path), "records": made.records, "head": made.head})
    out.print(f"{made.path}: {made.records} records, head {made.head[:SHORT]}, read back and intact")


def restore_journal(
    options: WorkspaceOptions,
    source: Path | None = argument("FILE", "A backup; without one, the journal in place is accepted as it is.", None),
    yes: bool = flag("--yes", "Do it; otherwise only show what would be lost."),
) -> None:
    """Replace the journal with a backup, or accept the journal as it is.

    Entries it does not have are lost, and are listed first. The replaced journal is kept beside it, in PostgreSQL as
    a schema of another name. No file of the harness is changed: differences from the older journal appear as changes
    made outside Takeback.

    Example: `takeback restore-journal ../journal-monday.db --yes`
    """
    remember_directory(options.directory)
    root = options.root
    outcome = (return_journal if yes else plan_return)(root, source, options.journal, find_key_file())
    status: Status | None = None
    if outcome.done:
        commit_exit_code(0)
        with closing(open_workspace(root, journal=options.journal, keys=find_key_file(), hold=False)) as harness:
            status = harness.status()
    answer(_return_to_json(outcome, status))
    _show_return(outcome, status)
    finish(yes=True)


def _return_to_json(outcome: JournalReturn, status: Status | None) -> dict[str, Any]:
    return {
        "done": outcome.done,
        "records": outcome.last,
        "head": outcome.head,
        "lost": [
            {"seq": record.entry, "id": record.id, "kind": record.kind, "at": record.created_at}
            for record in outcome.lost
        ],
        "unknown": outcome.unknown or None,
        "forgotten_since": outcome.forgotten,
        "aside": None if outcome.aside is None else str(outcome.aside),
        "drift": None if status is None else changes_to_json(status.drift),
    }


def _show_return(outcome: JournalReturn, status: Status | None) -> None:
    would = "" if outcome.done else "would be "
    for record in outcome.lost[:SHOWN]:
        out.print(f"  {would}lost: #{record.entry} {record.id[:SHORT]} {record.kind} of {record.created_at[:19]}")
    if len(outcome.lost) > SHOWN:
        out.print(f"  … and {len(outcome.lost) - SHOWN} more entries")
    if outcome.unknown:
        mention(f"what would be lost is uncertain: {outcome.unknown}", style="yellow")
    if outcome.forgotten:
        mention("contents that were forgotten since the backup are still in it, and would return", style="yellow")
    ends = f"at record {outcome.last}, head {outcome.head[:SHORT]}"
    if not outcome.done:
        out.print(localize_hints(f"with --yes the journal would end {ends}; nothing was changed"))
        return
    out.print(f"the journal ends {ends}")
    if outcome.aside is not None:
        out.print(f"the replaced journal is kept as {outcome.aside}")
    if status is not None and status.drift:
        out.print(localize_hints("the files were not changed; they differ from the journal in:"))
        for change in status.drift[:SHOWN]:
            out.print(f"  {describe_slot(change.slot)}")
        out.print(localize_hints("'takeback adopt' records that as an entry, 'takeback discard' restores the files"))
