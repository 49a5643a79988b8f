"""`takeback bench watch`: whether the watcher keeps up with a process that edits without pause."""

from __future__ import annotations

import os
from importlib.util import find_spec

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.errors import MissingExtraError


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("watch")(watch)


def watch(
    edits: int = typer.Option(1000, "--edits", min=1, max=100_000, metavar="N", help="How many edits are made."),
    seconds: float = typer.Option(60.0, "--seconds", min=0.1, max=3600.0, help="The seconds they take."),
    as_json: bool = JsonFlag,
) -> None:
    """Let another process edit a harness's files while `takeback watch` follows them, and count what was lost.

    Then the watcher is killed and started again, and a branch is switched. Needs git and the extra `watch`. Exit
    code 1 if the journal does not hold the last content of every file, or the switch of branches is not one entry.

    Example: `takeback bench watch --json`, `takeback bench watch --edits 100 --seconds 5`
    """
    from takeback_lab.bench.watch import measure  # noqa: PLC0415 - start-up

    if find_spec("watchfiles") is None:
        raise MissingExtraError("watchfiles is not installed", hint="pip install 'takeback[watch]'")
    result = measure(os.environ, edits, seconds)
    parts = (result, result["restart"], result["switch"])
    good = not any(part["lost"] for part in parts) and result["switch"]["entries"] == 1
    if as_json:
        emit(result)
        finish(yes=good)
    out.print(
        f"{result['edits']} edits of {result['files']} files in {result['seconds']} s: {result['entries']} entries, "
        f"{result['lost']} files lost; caught up after {result['waited_seconds']} s"
    )
    out.print(
        f"  the watcher used {result['cpu_seconds']} s of the processor, a share of {result['cpu_share']} "
        f"(load {result['load']})"
    )
    for name, told in (("killed and started again", "restart"), ("a switch of branches", "switch")):
        out.print(f"  {name}: {result[told]['entries']} entries, {result[told]['lost']} files lost")
    finish(yes=good)
