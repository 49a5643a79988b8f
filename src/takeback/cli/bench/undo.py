"""`takeback bench undo`: undo against an effect-scoped snapshot, growth, and durable throughput."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit, err, out


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
    from takeback.bench.undo import measure  # noqa: PLC0415 - the command line starts without the lab

    err.print("measuring (about a minute, most of it building large states and long histories)")
    result = measure(postgres=postgres)
    if as_json:
        emit(result)
        return
    out.print(
        f"one undo {result['undo_us']} µs, snapshot {result['snapshot_us']} µs: ratio {result['latency_ratio']}; "
        f"values put back alone {result['bare_us']} µs: ratio {result['bare_ratio']}"
    )
    out.print(
        f"kept for it {result['bytes']} B, snapshot {result['snapshot_bytes']} B: ratio {result['bytes_ratio']}"
    )
    for size, time in result["state_growth_us"].items():
        out.print(f"  {size:>9,} entries in the state: {time} µs")
    for count, time in result["history_growth_us"].items():
        out.print(f"  {count:>9,} later entries:        {time} µs")
    out.print(f"  growth {result['growth']['state']} with the state, {result['growth']['history']} with the history")
    durable = result["durable"]
    out.print(f"  {durable['bare_sqlite_inserts_per_second']} bare synced SQLite inserts a second")
    for name in ("sqlite", "postgresql"):
        if durable[name] is not None:
            rates = durable[name]
            out.print(
                f"  {name}: {rates['applies_per_second']} applies, {rates['undos_per_second']} undos per second"
            )
