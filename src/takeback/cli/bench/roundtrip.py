"""`takeback bench roundtrip`: round trips per second against deep copies and sorted JSON."""

from __future__ import annotations

import typer

from takeback.bench.roundtrip import measure
from takeback.cli.output import JsonFlag, emit, err, out


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
        f"{result['ratio']} times as fast"
    )
    for name, time in result["by_family_us"].items():
        out.print(f"  {name:<11} {time} µs")
    for size, time in result["growth"].items():
        out.print(f"  {int(size):>9,} entries: {time} µs")
    chains = ", ".join(f"{length}: {time} µs" for length, time in result["chain_growth"].items())
    out.print(f"  one operation on a middleware chain of length {chains}")
    out.print(f"  growth ratio {result['growth_ratio']}; verifying on 50 states {result['verify_50_states_ms']} ms")
