"""`takeback bench proof`: what a proof costs against the sample it replaces."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit, out
from takeback_lab.bench.proof import measure


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("proof")(proof)


def proof(as_json: bool = JsonFlag) -> None:
    """Measure proofs and 50-state samples of the same candidates in the same run, and growth.

    Example: `takeback bench proof --json`
    """
    result = measure()
    if as_json:
        emit(result)
        return
    out.print(f"proof {result['proof_us']} µs, sample {result['sampled_us']} µs: ratio {result['ratio']}")
    out.print(f"  (worst {result['worst_ratio']}) over {result['candidates']} candidates")
    for row in result["growth"]:
        out.print(
            f"  {row['operations']:>2} operations: {row['classes']} classes, proof {row['proof_us']} µs, "
            f"sample {row['sampled_us']} µs, ratio {row['ratio']}"
        )
