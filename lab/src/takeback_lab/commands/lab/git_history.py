"""`takeback lab git-history REPO`: single commits taken out of a real history, beside `git revert`."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.errors import InputError
from takeback_lab.git_history.run import COMMITS, LATER, TAKEN, run_git_history

RepoArgument = typer.Argument(metavar="REPO", help="A git repository; it is only read.")
LaterOption = typer.Option(
    str(LATER), "--later", metavar="N", help="Take each commit out after so many later ones, or at the tip."
)
TipOption = typer.Option("HEAD", "--tip", metavar="COMMIT", help="The newest commit that is adopted.")
CommitsOption = typer.Option(COMMITS, "--commits", min=2, metavar="N", help="How many commits are adopted.")
TakeOption = typer.Option(TAKEN, "--take", min=1, metavar="N", help="How many of them, in the middle, are taken out.")
SeedOption = typer.Option(0, "--seed", metavar="N", help="Seed of the order in which all are taken back.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("git-history")(git_history)


def git_history(
    repo: Path = RepoArgument,
    later: str = LaterOption,
    tip: str = TipOption,
    commits: int = CommitsOption,
    take: int = TakeOption,
    seed: int = SeedOption,
    as_json: bool = JsonFlag,
) -> None:
    """Take single commits out of the middle of a history, and compare with git; exit 0 if all that is claimed holds.

    Example: `takeback lab git-history . --later 10 --json`
    """
    if later != "tip" and not (later.isascii() and later.isdecimal()):
        raise InputError("--later", found=later, expected="a number of commits, or 'tip'")
    after = None if later == "tip" else int(later)
    report = run_git_history(repo, later=after, tip=tip, commits=commits, take=take, seed=seed)
    found = report.to_json()
    if as_json:
        emit(found)
    else:
        where = "at the tip" if after is None else f"{after} commits later"
        out.print(f"{found['commits']} commits adopted, {found['taken_out']} taken out {where}")
        out.print(
            f"git reverts {found['git_clean']}: {found['equal']} equal, {found['explained']} explained, "
            f"{found['different']} different; in {found['git_wrong']} more git is wrong"
        )
        out.print(
            f"git conflicts in {found['git_conflict']}: {found['possible']} possible "
            f"({found['kept_said']} with parts kept and said), {found['blocked']} blocked by name, "
            f"{found['silently_wrong']} wrong in silence"
        )
        out.print(f"all taken back: {'the first tree, byte for byte' if found['all_back'] else 'another tree'}")
    finish(yes=report.holds)
