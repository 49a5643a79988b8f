"""`takeback bench hook`: how long a client waits for a hook, cold process included."""

from __future__ import annotations

import os

import typer

from takeback.cli.output import JsonFlag, emit, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("hook")(hook)


def hook(
    rounds: int = typer.Option(20, "--rounds", min=1, max=1000, metavar="N", help="How many calls of each kind."),
    as_json: bool = JsonFlag,
) -> None:
    """Measure what one hook call takes, from the start of its process to its answer, beside Python's own start.

    The figures at the top are those of the guard before an edit of settings; the other kinds of calls follow.

    Example: `takeback bench hook --json`
    """
    from takeback.bench.hook import measure  # noqa: PLC0415 - start-up

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
