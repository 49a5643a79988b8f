"""`takeback bench external`: changes of rows that others keep writing to, beside a restore of whole rows."""

from __future__ import annotations

from importlib.util import find_spec

import typer

from takeback.cli.output import JsonFlag, emit, err, finish, out
from takeback.errors import MissingExtraError


def register(bench_app: typer.Typer) -> None:
    """Add the command."""
    bench_app.command("external")(external)


def external(
    changes: int = typer.Option(200, "--changes", min=1, max=100_000, metavar="N", help="How many changes are made."),
    postgres: str | None = typer.Option(
        None, "--postgres", metavar="URL", help="A PostgreSQL to measure on, instead of SQLite."
    ),
    seed: int = typer.Option(0, "--seed", metavar="N", help="Seed of the order in which changes are taken back."),
    as_json: bool = JsonFlag,
) -> None:
    """Make changes in rows and take them back while four writers keep writing other fields, and count what was lost.

    Then the same with a naive restore, which puts whole rows back. Needs the extra `external`. Exit code 1 if
    anything of ours was wrong or anything of theirs was lost.

    Example: `takeback bench external --json`, `takeback bench external --changes 20`
    """
    if find_spec("sqlalchemy") is None:
        raise MissingExtraError("sqlalchemy is not installed", hint="pip install 'takeback[external]'")
    from takeback_lab.bench.external import measure  # noqa: PLC0415 - the command line starts without the lab

    err.print("measuring (a minute or two)")
    result = measure(changes=changes, postgres=postgres, seed=seed)
    if as_json:
        emit(result)
    else:
        out.print(f"{result['changes']} changes in {result['rows']} rows of {result['database']}, all taken back:")
        for name in ("takeback", "naive"):
            told = result[name]
            out.print(
                f"  {name:<9} {told['wrong']} of {told['steps']} steps wrong, {told['their_writes_lost']} of "
                f"{told['their_writes']} writes of others lost"
            )
    finish(yes=not (result["takeback"]["wrong"] or result["takeback"]["their_writes_lost"]))
