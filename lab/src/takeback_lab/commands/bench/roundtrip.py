"""`takeback bench roundtrip`: round trips per second against deep copies and sorted JSON."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit, err, format_spread, out
from takeback_lab.bench.roundtrip import measure


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("roundtrip")(roundtrip)


def roundtrip(as_json: bool = JsonFlag) -> None:
    """Measure one round trip, the plain reference in the same run, and growth up to a million entries.

    Example: `takeback bench roundtrip --json`
    """
    err.print("measuring (about half a minute, most of it building a state of a million entries)")
    result = measure()
    if as_json:
        emit(result)
        return
    out.print(
        f"{result['per_second']:,} round trips per second, reference {result['reference_per_second']:,}: "
        f"{result['ratio']} times as fast (quartiles {'–'.join(map(str, result['ratio_spread']))})"
    )
    for name, times in result["by_family_us"].items():
        out.print(f"  {name:<11} {format_spread(times)} µs")
    for size, times in result["growth_us"].items():
        out.print(f"  {int(size):>9,} entries: {format_spread(times)} µs")
    for length, times in result["chain_growth_us"].items():
        out.print(f"  {int(length):>9,} elements of a middleware chain: {format_spread(times)} µs")
    out.print(f"  growth {result['growth']} with the state, {result['chain_growth']} with the chain")
    out.print(f"  verifying on 50 states {format_spread(result['verify_50_states_ms'])} ms")
    out.print("  times are medians, with quartiles")
