"""A repository of skills for any client: folders with a SKILL.md each, at the top or in a folder of skills."""

from __future__ import annotations

from takeback.adapters.clients.client import Client, Skills

SIGNS = ("SKILL.md", "*/SKILL.md", "skills/*/SKILL.md", ".agents/skills/*/SKILL.md")


def skills(*, user: bool = False) -> Client:
    """Return the declaration of a repository of skills; there are no files of the user's."""
    return Client(
        "skills",
        (),
        skills=() if user else (Skills("skills"), Skills(".agents/skills", name=".agents/skills/{}")),
        instructions=() if user else ("SKILL.md", "AGENTS.md"),
        user=user,
        is_program=False,
        weak_signs=() if user else SIGNS,
    )
