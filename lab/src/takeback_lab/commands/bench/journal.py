"""`takeback bench journal`: what a long history costs."""

from __future__ import annotations

import os
from typing import Any

import typer

from takeback.cli.output import JsonFlag, emit, err, out

FILES = typer.Option(20_000, "--files", min=0, help="How many files the large harness has; 0 leaves it out.")
SIZE = typer.Option(100_000, "--entries", min=2_000, help="How many entries the long history has.")


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("journal")(journal)


def journal(entries: int = SIZE, files: int = FILES, as_json: bool = JsonFlag) -> None:
    """Measure open, status, log, undo, restore and doctor on 1,000 entries and on many, and how they grow.

    In the same run, changes are made in turn with and without policy and heads, and whole commands are run in a
    harness of 2,000 files and in a large one.

    Example: `takeback bench journal --json`
    """
    from takeback_lab.bench.journal import measure  # noqa: PLC0415 - the command line starts without the lab

    err.print("measuring (some minutes, most of them for making a long history)")
    result = measure((1_000, entries))
    if files:
        from takeback_lab.bench.journal_files import SIZES, measure_commands  # noqa: PLC0415 - see above

        result["many_files"] = measure_commands(os.environ, (min(SIZES[0], files), files))
    if as_json:
        emit(result)
        return
    for size, seconds in result["seconds"].items():
        out.print(f"{size:,} entries")
        for name, value in seconds.items():
            if name != "bytes":
                out.print(f"  {name:<8} {value * 1e3:,.2f} ms")
    growth = ", ".join(f"{name} {factor}" for name, factor in result["growth"].items())
    out.print(f"growth: {growth}")
    rest = ", ".join(f"{name} {factor}" for name, factor in result["growth_of_restore_and_doctor"].items())
    out.print(f"  with {result['times_as_many_entries']:g} times the entries: {rest}")
    out.print(f"  the chain is checked in {result['chain_check_us_per_entry']} µs per entry")
    for size, told in result["governed"].items():
        out.print(f"{size:,} entries with {' and '.join(told['on'])} on: {told['overhead']} times a change without")
        out.print(f"  the root costs {told['root_us_per_record']} µs per record")
    if files:
        _show_files(result["many_files"])


def _show_files(result: dict[str, Any]) -> None:
    for size, rows in result["cpu_ms"].items():
        out.print(f"{size:,} files, processor: " + ", ".join(f"{name} {value} ms" for name, value in rows.items()))
    growth = ", ".join(f"{name} {factor}" for name, factor in result["growth"].items())
    out.print(f"growth with {result['times_as_many_files']:g} times the files: {growth}")
