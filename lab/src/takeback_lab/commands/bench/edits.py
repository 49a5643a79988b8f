"""`takeback bench edits`: the third of six edits taken out of a text and a list, beside peers, and growth."""

from __future__ import annotations

from typing import Any

import typer

from takeback.cli.output import JsonFlag, emit, err, out


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("edits")(edits)


def edits(
    seed: int = typer.Option(0, "--seed", help="Seed of the histories."),
    as_json: bool = JsonFlag,
) -> None:
    """Undo the third of six edits in 700 texts and 500 lists, compare with git and other peers, and measure growth.

    Example: `takeback bench edits --json`
    """
    from takeback_lab.bench.edits import measure  # noqa: PLC0415 - the command line starts without the peers

    err.print("measuring (a minute or two: 1,200 histories, each with operations, with adoptions and with each peer)")
    result = measure(seed=seed)
    if as_json:
        emit(result)
        return
    for name in ("text", "list", "chain"):
        times = result["growth_us"][name].items()
        rows = ", ".join(f"{size:,}: {row['edit_us']} and {row['undo_us']} µs" for size, row in times)
        out.print(f"one edit and its undo in a {name} of {rows}: growth {result[f'growth_{name}']}")
    _print("texts", result)
    _print("texts, several places a save", result["places"])
    _print("lists", result["lists"])
    _print("lists, sorted by hand", result["sorted"])


def _print(what: str, found: dict[str, Any]) -> None:
    """One side of the comparison, a row for each method."""
    out.print(f"{found['histories']} histories of {what}, the third of six edits taken out: right / refused / wrong")
    rows = {"Takeback, operations": found["known"], "Takeback, adopted versions": found["adopted"], **found["peers"]}
    for name, row in rows.items():
        classes = ", ".join(
            f"{kind} {one['right']}/{one['refused']}/{one['wrong']}" for kind, one in row["by_class"].items()
        )
        total = f"{row['right']}/{row['refused']}/{row['wrong']}"
        out.print(f"  {name:<28} {total:<12} {classes}")
    out.print(f"  wrong without an adoption that said it had several readings: {found['silently_wrong']}")
    several = found["ambiguous"]
    out.print(
        f"  {several['several']} of {several['edits']} edits in one place allow several readings; "
        f"{several['said']} of these said so when adopted, of the others {several['said_needlessly']}"
    )
    for name in found["missing"]:
        out.print(f"  not installed: {name}")
