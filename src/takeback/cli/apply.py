"""`takeback apply FILE`: verify a change, and make it if it is admitted."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.opening import (
    SHORT,
    DirOption,
    JournalOption,
    opened,
    refused_json,
    show_changes,
    show_refused,
    ties_json,
)
from takeback.cli.output import JsonFlag, emit, err, finish, out
from takeback.cli.reading import CandidateFile
from takeback.cli.showing import show_verdict
from takeback.harness import Applied, Why
from takeback.harness.log import change_json, changes_of
from takeback.language import load_json, read_candidate


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(apply)


def apply(
    file: Path = CandidateFile,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    force: bool = typer.Option(
        False, "--force", help="Make it although it is not admitted; the entry says so for ever."
    ),
    no_ties: bool = typer.Option(
        False, "--no-ties", help="Refuse if an earlier entry could then not be undone alone."
    ),
    note: str = typer.Option("", "--note", "-m", help="A line for the log."),
    as_json: bool = JsonFlag,
) -> None:
    """Verify a candidate and make its change, recorded ahead in the journal. Refuses what is not admitted.

    Example: `takeback apply change.json --dir agent -m "longer timeout"`
    """
    candidate = read_candidate(load_json(file), str(file))
    with opened(directory, journal) as harness:
        result = harness.apply(candidate, force=force, note=note, allow_ties=not no_ties)
        if isinstance(result, Applied):
            changes = changes_of(harness, result.entry)
            if as_json:
                emit(
                    {
                        "result": "applied",
                        "entry": result.entry.id,
                        "forced": result.forced,
                        "verdict": result.verdict.to_json(),
                        "ties": ties_json(result.ties),
                        "changes": [change_json(change) for change in changes],
                    }
                )
                return
            if result.forced:
                err.print("forced: this change is not admitted, and its entry says so for ever", style="red")
            forced = ", FORCED" if result.forced else ""
            out.print(f"applied: entry {result.entry.id[:SHORT]} ({result.verdict.grade.value}{forced})")
            show_changes(changes)
            for number, why in sorted(result.ties.items()):
                tied = harness.journal.get(number).id[:SHORT]
                out.print(f"  note: {tied} can now be taken back only together with this ({why} without it)")
            return
    if as_json:
        emit(refused_json(result))
    elif result.why is Why.VERDICT and result.verdict is not None:
        show_verdict(result.verdict, str(file))
    else:
        show_refused(result)
    finish(yes=False)
