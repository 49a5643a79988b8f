"""`takeback bench track`: what tracking a project's own files costs, beside a shadow git repository."""

from __future__ import annotations

import os

import typer

from takeback.cli.output import JsonFlag, emit, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("track")(track)


def track(
    files: list[int] | None = typer.Option(
        None, "--files", min=100, max=200_000, metavar="N", help="Measure a project of N files. May be repeated."
    ),
    rounds: int = typer.Option(9, "--rounds", min=1, max=1000, metavar="N", help="How many calls of each kind."),
    calls: int = typer.Option(
        1000, "--calls", min=2, max=100_000, metavar="N", help="How many tool calls two sessions make at once."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Measure tracking beside a shadow git repository: hooks, the beginning, scans, memory, kills, undo of a removal.

    A shadow checkpoint is `git add -A` and `write-tree`. The figures at the top are those of the largest project.

    Example: `takeback bench track --json`, `takeback bench track --files 2000 --rounds 3 --calls 100`
    """
    from takeback_lab.bench.track import SIZES, measure  # noqa: PLC0415 - start-up

    result = measure(os.environ, tuple(files or SIZES), rounds, calls)
    if as_json:
        emit(result)
        return
    for size, row in result["sizes"].items():
        out.print(f"{int(size):,} files (load {result['load']})")
        out.print(f"  record {row['record_ratio']} ({row['record_ms']} ms beside {row['shadow_ms']} ms)")
        out.print(
            f"  before and after {row['record_pair_ratio']}, scan {row['scan_ratio']}, init {row['init_ratio']}"
        )
        out.print(f"  hook {row['hook_mb']} MB, commands {row['command_mb']} MB")
    growth = result["growth"]
    out.print(
        f"growth with {growth['files']:g} times the files: record {growth['record']}, shadow {growth['shadow']}"
    )
    called = result["calls"]
    out.print(f"{called['calls']} calls, {called['killed']} killed, in {called['seconds']} s: {called['lost']} lost")
    for name in ("removal", "formatter"):
        said = ", ".join(f"{key} {value}" for key, value in result[name].items())
        out.print(f"{name}: {said}")
