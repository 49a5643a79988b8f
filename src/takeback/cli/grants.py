"""`takeback grants`: rights of database roles on a journal in PostgreSQL, as the policy has them."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.adapters.manifest import find_root
from takeback.cli.context import DirOption, JournalOption, PlanFlag, open_harness
from takeback.cli.output import JsonFlag, commit_exit_code, emit, finish, out
from takeback.errors import InputError
from takeback.govern.policy import POLICY, read_policy


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("grants")(grants)


def grants(
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Grant the roles of a PostgreSQL journal the rights that the policy gives them.

    The server itself then refuses whatever `.takeback/policy.toml` does not allow a role, whichever program asks.
    Each `database:NAME` below `who` is a role of the server. Other roles lose their rights on the journal. Only the
    owner of the journal's schema can run this; run it again after the policy changes.

    Example: `takeback grants --plan`
    """
    policy = read_policy(find_root(directory))
    if policy.roles is None:
        raise InputError(POLICY, found="no role", expected='[roles.NAME] with may and who = ["database:NAME"]')
    with open_harness(directory, journal) as harness:
        if "://" not in harness.journal.location:  # whoever has none of those may not have the extra
            raise InputError(
                "grants", found=f"the journal {harness.journal.location}", expected="a journal in PostgreSQL"
            )
        from takeback.govern.grants import grant_rights, list_rights  # noqa: PLC0415 - needs the extra
        from takeback.journal.postgres import PostgresStore  # noqa: PLC0415 - needs the extra

        rights = list_rights(policy)
        store = harness.journal
        if not isinstance(store, PostgresStore):
            raise InputError("grants", found=f"the journal {store.location}", expected="a journal in PostgreSQL")
        statements = grant_rights(store, rights, dry=plan)
    if not plan:
        commit_exit_code(0)
    if as_json:
        emit({"done": not plan, "roles": sorted(rights), "statements": statements})
    elif plan:
        out.print(";\n".join(text.strip() for text in statements) + ";", markup=False)
    else:
        out.print(
            f"the server now enforces the policy for these roles, and admits no others: {', '.join(sorted(rights))}"
        )
    finish(yes=True)
