"""A project with an AGENTS.md and nothing that tells which client reads it: nearly all of them do."""

from __future__ import annotations

from takeback.adapters.clients.client import Client, Skills


def agents_md(*, user: bool = False) -> Client:
    """Return the declaration of a project with AGENTS.md; there are no files of the user's."""
    return Client(
        "agents-md",
        (),
        skills=() if user else (Skills(".agents/skills"),),
        instructions=() if user else ("AGENTS.md", "AGENTS.local.md"),
        user=user,
        is_program=False,
        weak_signs=() if user else ("AGENTS.md",),
    )
