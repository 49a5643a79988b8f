"""`takeback bench start`: how long everyday commands take in a small project, beside `takeback --help`."""

from __future__ import annotations

import os

import typer

from takeback.cli.output import JsonFlag, emit, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("start")(start)


def start(
    rounds: int = typer.Option(15, "--rounds", min=1, max=1000, metavar="N", help="How many runs of each command."),
    uncompiled: bool = typer.Option(
        False, "--uncompiled", help="Write no bytecode: what is not compiled here yet is compiled at every start."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Measure status, set, undo and log in a project of two files, as whole processes in turns with --help.

    Example: `takeback bench start --json`
    """
    from takeback_lab.bench.start import COMMANDS, measure_start  # noqa: PLC0415 - start-up

    result = measure_start(os.environ, rounds, compiled=not uncompiled)
    if as_json:
        emit(result)
        return
    for name in COMMANDS:
        times = "" if name == "help" else f", {result[f'ratio_{name}']} times --help"
        cpu = "" if name == "help" else f", {result[f'cpu_ratio_{name}']} times"
        out.print(f"{name}: {result[f'{name}_ms']} ms{times} (processor {result[f'{name}_cpu_ms']} ms{cpu})")
