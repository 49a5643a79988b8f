"""`takeback lab soundness`: the proof against brute force and z3."""

from __future__ import annotations

import typer
from rich.progress import Progress

from takeback.cli.lab import lab_extra
from takeback.cli.output import JsonFlag, emit, err, finish, out


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("soundness")(soundness)


def soundness(
    cases: int = typer.Option(2000, "--cases", help="How many random candidates."),
    seed: int = typer.Option(0, "--seed", help="Seed of candidates and states."),
    states: int = typer.Option(40, "--states", min=1, help="Random states for each proved candidate."),
    as_json: bool = JsonFlag,
) -> None:
    """Check the proof on random candidates: brute force for every answer, z3 where surfaces are flat and keyed.

    Example: `takeback lab soundness --cases 20000 --json`
    """
    with lab_extra():
        from takeback.lab.soundness import run_soundness  # noqa: PLC0415  (z3 comes with the extra)
    with Progress(console=err.console, transient=True) as progress:
        task = progress.add_task("candidates", total=cases)
        tally = run_soundness(cases, seed=seed, states=states, tick=lambda: progress.advance(task))
    agreed = not (tally.undecided or tally.disagreements or tally.z3_disagreements)
    if as_json:
        emit(tally.to_json())
    else:
        out.print(
            f"{tally.cases} candidates: {tally.proved} proved, {tally.refuted} refuted, {tally.undecided} undecided"
        )
        out.print(
            f"brute force on {tally.states} states: {tally.disagreements} disagreements; "
            f"z3 on {tally.z3_checked} candidates: {tally.z3_disagreements} disagreements"
        )
        for found in tally.found:
            out.print(f"  {found}", markup=False)
    finish(yes=agreed)
