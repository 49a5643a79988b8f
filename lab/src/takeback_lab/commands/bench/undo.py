"""`takeback bench undo`: undo against an effect-scoped snapshot, growth, and durable throughput."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit, err, format_spread, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("undo")(undo)


def undo(
    postgres: str | None = typer.Option(None, "--postgres", metavar="URL", help="A PostgreSQL to measure on."),
    as_json: bool = JsonFlag,
) -> None:
    """Measure one undo against an effect-scoped snapshot in the same run, growth, and commits per second.

    Example: `takeback bench undo --json`
    """
    from takeback_lab.bench.undo import measure  # noqa: PLC0415 - the command line starts without the lab

    err.print("measuring (a few minutes, most of it building large states and long histories)")
    result = measure(postgres=postgres)
    if as_json:
        emit(result)
        return
    out.print(
        f"one undo {format_spread(result['harness_us'])} µs, "
        f"snapshot {format_spread(result['snapshot_us'])} µs: ratio "
        f"{result['harness_latency_ratio']} (quartiles {'–'.join(map(str, result['harness_latency_spread']))})"
    )
    out.print(
        f"kept for it {result['bytes']} B, snapshot {result['snapshot_bytes']} B: ratio {result['bytes_ratio']}"
    )
    for size, times in result["state_growth_us"].items():
        out.print(f"  {size:>9,} entries in the state: {format_spread(times)} µs")
    for count, times in result["history_growth_us"].items():
        out.print(f"  {count:>9,} later entries:        {format_spread(times)} µs")
    out.print(f"  growth {result['growth']['state']} with the state, {result['growth']['history']} with the history")
    out.print("  times are medians, with quartiles")
    durable = result["durable"]
    out.print(f"  {durable['bare_sqlite_inserts_per_second']} bare synced SQLite inserts per second")
    for name in ("sqlite", "postgresql"):
        if durable[name] is not None:
            rates = durable[name]
            out.print(
                f"  {name}: {rates['applies_per_second']} applies, {rates['undos_per_second']} undos per second"
            )
