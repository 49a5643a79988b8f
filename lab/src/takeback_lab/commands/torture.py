"""`takeback torture`: kill a real process at every boundary and look at what is left."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NoReturn

import typer

from takeback.cli.output import JsonFlag, emit, err, finish, out, set_interrupt_message, show_bar


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("torture")(torture)


def torture(
    kills: int = typer.Option(500, "--kills", min=1, metavar="N", help="How many processes to kill."),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the random changes and moments."),
    journal: str | None = typer.Option(
        None, "--journal", metavar="URL", help="Keep the journal in this PostgreSQL, instead of SQLite."
    ),
    external: bool = typer.Option(
        False, "--external", help="Changes that also write to PostgreSQL and etcd, beside others, and send mail."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Kill processes that change a workspace, and check what is left.

    They are killed at every named boundary and at random, also while they recover, and while writes fail: on a full
    disk, in a directory nobody may write to, with a connection that was cut. Exit code 1 if anything is violated, or
    if a boundary was never reached: that takes enough kills.

    Example: `takeback torture --kills 500 --json`, `takeback torture --external --kills 300 --json`
    """
    if external:
        _torture_external(kills, seed, as_json=as_json)
    from takeback_lab.torture import torture as run  # noqa: PLC0415 - the command line starts without the lab

    with (
        tempfile.TemporaryDirectory(prefix="takeback-torture-") as directory,
        show_bar("killing") as advance,
        _place(journal) as place,
    ):
        set_interrupt_message("it worked in a directory of its own, which is gone; the same command starts over")
        found = run(
            Path(directory),
            kills=kills,
            seed=seed,
            journal=place,
            progress=lambda done: advance(done, kills),
        )
    result = found.to_json()
    if as_json:
        emit(result)
    else:
        out.print(
            f"{found.kills} kills ({found.at_random} at random), {found.checks} checks, "
            f"{found.acknowledged} changes acknowledged, {found.gave_up} given up, {len(found.violations)} violations"
        )
        for name, hits in found.failpoints.items():
            out.print(f"  {name:<24} {hits}")
        for text in found.violations[:5]:
            out.print(f"  ! {text}")
    if result["missed"]:
        err.print(f"not enough kills: {', '.join(result['missed'])} never reached, so nothing is known about them")
    finish(yes=not found.violations and not result["missed"])


def _torture_external(kills: int, seed: int, *, as_json: bool) -> NoReturn:
    """Run the torture of changes whose effects stay, and end the command."""
    from takeback_lab.servers import find_place_in_memory  # noqa: PLC0415 - as below
    from takeback_lab.torture_external import torture_external  # noqa: PLC0415 - the command line starts without it

    with (
        tempfile.TemporaryDirectory(prefix="takeback-torture-", dir=find_place_in_memory()) as directory,
        show_bar("killing") as advance,
    ):
        found = torture_external(
            Path(directory), kills=kills, seed=seed, progress=lambda done: advance(min(done, kills), kills)
        )
    result = found.to_json()
    if as_json:
        emit(result)
    else:
        out.print(
            f"{found.kills} kills, {found.checks} checks, {found.mails_sent} mails, {found.corrections_sent} "
            f"corrections, {found.their_writes} writes of others; wrong ends {found.wrong_ends}, "
            f"made twice {found.calls_made_twice}, foreign writes lost {found.foreign_writes_lost}"
        )
        for text in result["examples"]:
            out.print(f"  ! {text}")
    for system, why in found.left_out.items():
        err.print(f"left out: {system}, {why}")
    if result["missed"]:
        err.print(f"not enough kills: {', '.join(result['missed'])} never reached, so nothing is known about them")
    finish(yes=found.holds and not result["missed"])


def _place(journal: str | None) -> AbstractContextManager[str | None]:
    """A journal of the run's own, gone with it."""
    if journal is None:
        return nullcontext()
    from takeback_lab.scratch_journal import open_scratch_journal  # noqa: PLC0415 - needs the extra

    return open_scratch_journal(journal)
