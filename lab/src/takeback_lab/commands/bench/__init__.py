"""`takeback bench`: one benchmark a subcommand, each with ratios against a peer in the same run."""

from __future__ import annotations

import typer

from takeback.cli.program import register_all

bench_app = typer.Typer(help="Benchmarks, as ratios against a plain implementation or a peer.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    register_all(__name__, __path__, bench_app)
    app.add_typer(bench_app, name="bench")
