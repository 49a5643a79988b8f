"""`takeback lab verify DIR`: whether results and recordings are as they were written."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback_lab.manifest import Problem
from takeback_lab.protocol import find_outdated, verify_locks
from takeback_lab.replies import find_recordings, verify_recording_locks, verify_replies
from takeback_lab.results import find_runs, verify_results

ResultsFolder = typer.Argument(..., metavar="DIR", help="A folder of results: one run, or runs in folders below it.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("verify")(verify)


def verify(folder: Path = ResultsFolder, as_json: bool = JsonFlag) -> None:
    """Check digests, manifest, lock and replies of every run, and every recording that was frozen.

    Runs whose sources (diagnosis, synthesis, verifier, generators, task data) are others today are named as outdated;
    they replay, and are no fault.

    Example: `takeback lab verify results/ --json`
    """
    problems = verify_results(folder) + verify_locks(folder) + verify_recording_locks(folder) + verify_replies(folder)
    runs = [str(run) for run in find_runs(folder)]
    recordings = [str(one) for one in find_recordings(folder)]
    if not runs and not recordings:
        problems = [Problem("missing", str(folder), "no run and no recording here")]
    outdated = find_outdated(folder)
    if as_json:
        shown = [problem.to_json() for problem in problems]
        emit(
            {
                "ok": not problems,
                "runs": runs,
                "recordings": recordings,
                "problems": shown,
                "outdated": [one.to_json() for one in outdated],
            }
        )
    else:
        for problem in (*problems, *outdated):
            out.print(str(problem))
        out.print(f"{len(runs)} runs, {len(recordings)} recordings, {len(problems)} problems")
    finish(yes=not problems)
