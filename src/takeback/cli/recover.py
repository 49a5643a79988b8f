"""`takeback recover` and `takeback doctor`: finish what a crash left; look at everything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import typer

from takeback.adapters import open_workspace
from takeback.adapters.doctor import examine_workspace, mend_journal
from takeback.adapters.manifest import PRIVATE, find_root
from takeback.cli.context import SHORT, AuthorOption, DirOption, JournalOption, find_key_file, open_harness
from takeback.cli.hints import localize_hints, remember_directory
from takeback.cli.open_calls import open_to_json, show_open
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, finish, out, set_interrupt_message
from takeback.cli.pulse import pulse
from takeback.errors import InputError
from takeback.harness.doctor import Finding
from takeback.present.titles import format_count


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("recover")(recover)
    app.command("resolve")(resolve)
    app.command("doctor")(doctor)


def recover(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    now: bool = typer.Option(False, "--now", help="Retry open calls now, even if they are not due yet."),
    as_json: bool = JsonFlag,
) -> None:
    """Finish a change that a killed process left, and retry open compensations.

    Every command does this first; running it again is harmless. Exit code 1 while an entry is open.

    Example: `takeback recover`, `takeback recover --now`
    """
    from takeback.harness.calls_environment import use_call_environment  # noqa: PLC0415 - start-up

    use_call_environment(os.environ)
    with closing(open_workspace(find_root(directory), journal=journal, keys=find_key_file(), hold=False)) as harness:
        recovered = harness.recovered
        was_open = {call.entry for call in recovered.open}
        again = harness.recover(now=now)
        swept = (*recovered.swept, *again.swept)
    if recovered.entry is not None:
        commit_exit_code(1 if again.open else 0)
    if as_json:
        emit(
            {
                "entry": recovered.entry.id if recovered.entry else None,
                "kind": recovered.entry.kind if recovered.entry else None,
                "given_up": recovered.given_up,
                "kept": list(recovered.kept),
                "swept": list(swept),
                "ended": sorted(was_open - {call.entry for call in again.open}),
                **open_to_json(again.open),
            }
        )
        finish(yes=not again.open)
    ended = sorted(was_open - {call.entry for call in again.open})
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
    entry: str = typer.Argument(
        metavar="ENTRY", help="The entry that made the call: its number, or the beginning of its id."
    ),
    step: int = typer.Argument(metavar="STEP", help="The step's number, as 'takeback status' shows it."),
    made: bool = typer.Option(
        ..., "--made/--not-made", help="Whether the call was made; if not, Takeback makes it now."
    ),
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Say whether a call in doubt was made.

    A call is in doubt if the process died during it and the other system cannot be asked. Your answer is recorded
    with your name. Exit code 1 while anything is open.

    Example: `takeback resolve 3f2a91 2 --made`
    """
    with open_harness(directory, journal) as harness:
        left = harness.resolve(entry.removeprefix("#"), step, made=made, by=by)
    if as_json:
        emit({"result": "resolved", "entry": entry, "step": step, "made": made, "by": by, **open_to_json(left)})
    else:
        out.print(
            f"recorded: step {step} of {entry} was {'made' if made else 'not made'}, according to {by or 'you'}"
        )
        show_open(left)
    finish(yes=not left)


def doctor(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    deep: bool = typer.Option(False, "--deep", help="Run every live entry's recovery and compare with its undo."),
    mend: bool = typer.Option(False, "--mend", help="First rebuild the journal's indexes from its records."),
    head: Path | None = typer.Option(
        None, "--head", metavar="FILE", help="Check that the journal continues this head."
    ),
    key: str | None = typer.Option(
        None, "--key", metavar="PUB", help="The signer's key, as 'takeback head' prints it."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Check everything: manifest, journal, files, leftovers. Exit code 1 if anything is wrong. SQLite checks the
    journal's file too. --mend rebuilds indexes that do not match the records, in a new file; if that file is intact
    it replaces the journal, and the old file is kept.

    Example: `takeback doctor`
    """
    set_interrupt_message("checking changes nothing; you can run the same command again")
    remember_directory(directory)
    if mend:
        aside = mend_journal(find_root(directory), journal, find_key_file())
        err.print(f"the journal's indexes were rebuilt from its records; the old file is kept as {aside}")
    findings = examine_workspace(
        find_root(directory),
        journal,
        find_key_file(),
        deep=deep,
        seen=lambda finding: pulse.set_activity(f"{finding.check} done"),
    )
    findings = (*findings, *_examine_runs(find_root(directory).resolve()))
    if head is not None or key is not None:
        findings = (*findings, _check_head(directory, journal, head, key))
    if as_json:
        plain = [{"check": f.check, "good": f.good, "detail": f.detail} for f in findings]
        emit({"good": all(f.good for f in findings), "findings": plain})
    else:
        for finding in findings:
            mark = ("ok ", "green") if finding.good else ("BAD", "red")
            out.print(mark, localize_hints(f" {finding.check}: {finding.detail}"))
    finish(yes=all(finding.good for finding in findings))


def _check_head(directory: Path, journal: str | None, head: Path | None, key: str | None) -> Finding:
    """Return whether a signed head holds, and whether the journal continues it."""
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
