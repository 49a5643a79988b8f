"""`takeback lab paper`: every table of the paper by its number, ours beside the published one."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback_lab.commands.lab.extra import lab_extra

TableOption = typer.Option(None, "--table", min=1, help="Only the table of this number.")
ResultsOption = typer.Option(Path("results"), "--results", metavar="DIR", help="Where our runs lie.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("paper")(show_paper)


def show_paper(table: int | None = TableOption, results: Path = ResultsOption, as_json: bool = JsonFlag) -> None:
    """Show the paper's tables by number: its command, ours with n and population or why it is missing, the published.

    Example: `takeback lab paper --table 8`
    """
    with lab_extra():
        from takeback_lab.paper_tables import TABLES, find_table, tell_table  # noqa: PLC0415 - an optional extra

        chosen = TABLES if table is None else (find_table(table),)
        told = [tell_table(one, results) for one in chosen]
    if as_json:
        emit({"tables": told})
        finish(yes=True)
    for one in told:
        out.print(f"Table {one['table']}: {one['subject']} ({one['command']})", style="bold")
        ours = one.get("ours")
        if ours is None:
            out.print(f"missing: {one['missing']}")
        elif "markdown" in ours:
            out.print(f"n = {ours['n']}, {ours['run']}, prompts {ours['prompts'] or '-'}")
            out.print(ours["markdown"])
        else:
            for name, values in ours.items():
                out.print(f"{name}: {', '.join(values)}")
        for name, entry in one["published"].items() if table is not None else ():
            rest = ", ".join(f"{key} {value}" for key, value in entry.items() if key != "where")
            out.print(f"published {name}: {rest}")
    finish(yes=True)
