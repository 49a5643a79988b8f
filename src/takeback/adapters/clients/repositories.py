"""Kinds of repositories that clients read without being of one: skills, an AGENTS.md alone, a LangGraph project."""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.checks import Types, check_types, combine_checks, list_members
from takeback.adapters.clients.client import Client, Documents, Skills
from takeback.adapters.formats.json_document import MarklessJsonDocument


def agents_md(*, user: bool = False) -> Client:
    """Return the declaration of a project with AGENTS.md that tells of no client: nearly all of them read it."""
    return Client(
        "agents-md",
        (),
        skills=() if user else (Skills(".agents/skills"),),
        instructions=() if user else ("AGENTS.md", "AGENTS.local.md"),
        user=user,
        is_program=False,
        weak_signs=() if user else ("AGENTS.md",),
    )


def skills(*, user: bool = False) -> Client:
    """Return the declaration of folders with a SKILL.md each, at the top or in a folder of skills, for any client."""
    signs = ("SKILL.md", "*/SKILL.md", "skills/*/SKILL.md", ".agents/skills/*/SKILL.md")
    return Client(
        "skills",
        (),
        skills=() if user else (Skills("skills"), Skills(".agents/skills", name=".agents/skills/{}")),
        instructions=() if user else ("SKILL.md", "AGENTS.md"),
        user=user,
        is_program=False,
        weak_signs=() if user else signs,
    )


_LANGGRAPH_TYPES: Final[Types] = {
    str: "python_version pip_config_file base_image",
    (str, int): "node_version",
    list: "dependencies dockerfile_lines",
    dict: "graphs auth http store checkpointer",
    (str, dict): "env",
}
_LANGGRAPH_RISKS: Final = """
executes: graphs.** auth.path http.app encryption.path dockerfile_lines dependencies base_image store.index.embed
    ui.**
redirects: pip_config_file webhooks.** api_version
injects: env env.**
growing, lets more sites in: http.cors.allow_origins
growing, loads more code: checkpointer.serde.allowed_msgpack_modules
switch on, lets the studio in without asking who it is: auth.disable_studio_auth
switch on, runs what stored data say: checkpointer.serde.pickle_fallback
harmless: $schema python_version node_version store.ttl.** graphs.*.description
"""


def _check_graphs(value: Any) -> str | None:
    for name, graph in list_members(value, "graphs"):
        place = graph.get("path") if isinstance(graph, dict) else graph
        if not isinstance(place, str) or ":" not in place:
            return f"graphs.{name} must be a path and a name, such as ./graph.py:graph"
    return None


def langgraph(*, user: bool = False) -> Client:
    """Return the declaration of a LangGraph project: `langgraph.json`, strict JSON that names Python to import.

    It raises for a comment, a trailing comma, a byte-order mark or an empty file, and drops keys it does not know.
    """
    check = combine_checks(check_types(_LANGGRAPH_TYPES), _check_graphs)
    return Client(
        "langgraph",
        () if user else ("langgraph.json",),
        () if user else (Documents("langgraph.json", MarklessJsonDocument, check=check),),
        instructions=() if user else ("AGENTS.md",),
        user=user,
        is_program=False,
        risks=_LANGGRAPH_RISKS,
    )
