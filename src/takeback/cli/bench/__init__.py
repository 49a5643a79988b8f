"""`takeback bench`: one benchmark a subcommand, each with ratios against a peer in the same run."""

from __future__ import annotations

from importlib import import_module

import typer

BENCHES = ("roundtrip", "proof")

bench_app = typer.Typer(help="Benchmarks, as ratios against a plain implementation or a peer.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    for name in BENCHES:
        import_module(f"takeback.cli.bench.{name}").register(bench_app)
    app.add_typer(bench_app, name="bench")
