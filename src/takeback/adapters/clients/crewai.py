"""CrewAI: `config/agents.yaml` and `tasks.yaml` of each package below `src`, or at the top; YAML 1.1.

Keys are names of methods of `crew.py`. Roles, goals, backstories, descriptions and expected outputs are prompts, the
model of an agent is routing. Everything is read when the crew is built; a missing file is an empty crew.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.adapters.clients.client import Client, DocumentRule, Documents, Effect, Scripts
from takeback.adapters.clients.yaml_files import open_yaml

_TEXTS: Final = {"agents": ("role", "goal", "backstory"), "tasks": ("description", "expected_output")}


def _check_entries(value: Any) -> str | None:
    for name, entry in value.items() if isinstance(value, dict) else ():
        if not isinstance(entry, dict):
            return f"{name} must be a mapping"
    return None


def _declare(folder: str, kind: str, scope: str) -> Documents:
    texts = tuple(DocumentRule(("*", key), "text", f"{scope}:*.{key}") for key in _TEXTS[kind])
    rules = (*texts, *((DocumentRule(("*", "llm"), "model"),) if kind == "agents" else ()))
    return Documents(f"{folder}/{kind}.yaml", open_yaml, rules, scope, fresh=b"", check=_check_entries)


def crewai(*, user: bool = False) -> Client:
    """Return the declaration of CrewAI; there are no files of the user."""
    documents = [_declare("config", kind, kind) for kind in _TEXTS]
    documents += [_declare("src/*/config", kind, f"{{}}/{kind}") for kind in _TEXTS]
    return Client(
        "crewai",
        ("src/*/config/agents.yaml", "config/agents.yaml"),
        tuple(documents),
        scripts=(Scripts("knowledge", effect=Effect.NEXT_SESSION),),
        instructions=("AGENTS.md",),
        nested=False,
        user_folder=".crewai",
        user=user,
    )
