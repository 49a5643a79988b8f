"""`takeback bench hook`: how long a client waits for a hook, cold process included."""

from __future__ import annotations

import os

import typer

from takeback.cli.output import JsonFlag, emit, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("hook")(hook)


def hook(
    files: int = typer.Option(
        0, "--files", min=0, max=200_000, metavar="N", help="Measure harnesses of 2,000 and of N files instead."
    ),
    rounds: int = typer.Option(20, "--rounds", min=1, max=1000, metavar="N", help="How many calls of each kind."),
    as_json: bool = JsonFlag,
) -> None:
    """Measure what one hook call takes, from the start of its process to its answer, beside Python's own start.

    The figures at the top are those of the guard before an edit of settings; the other kinds of calls follow.

    With --files: hooks in a harness of many files, for calls that concern one file of it or none, and how they grow.

    Example: `takeback bench hook --json`, `takeback bench hook --files 20000 --rounds 10`
    """
    if files:
        _show_files(files, rounds, as_json=as_json)
        return
    from takeback_lab.bench.hook import measure  # noqa: PLC0415 - start-up

    result = measure(os.environ, rounds)
    if as_json:
        emit(result)
        return
    out.print(
        f"one hook call: median {result['median_ms']} ms, 95th percentile {result['p95_ms']} ms "
        f"({result['cpu_ms']} ms of the processor, load {result['load']})"
    )
    out.print(f"  Python's own start: {result['python_ms']} ms, a share of {result['python_share']}")
    for name, row in result["calls"].items():
        out.print(
            f"  {name}: median {row['median_ms']} ms, 95th percentile {row['p95_ms']} ms, processor {row['cpu_ms']}"
        )


def _show_files(files: int, rounds: int, *, as_json: bool) -> None:
    from takeback_lab.bench.hook_files import SIZES, measure_files  # noqa: PLC0415 - start-up

    result = measure_files(os.environ, (min(SIZES[0], files), files), rounds)
    if as_json:
        emit(result)
        return
    for size, calls in result["calls"].items():
        out.print(f"{size:,} files (load {result['load']})")
        for name, row in calls.items():
            out.print(f"  {name}: median {row['median_ms']} ms, processor {row['cpu_ms']} ms")
    growth = ", ".join(f"{name} {factor}" for name, factor in result["growth"].items())
    out.print(f"growth of the processor's time, with {result['times_as_many_files']:g} times the files: {growth}")
