"""Refused attempts for people: what is recorded of one, with its secrets masked, and how it reads on a line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from takeback.harness import Harness, Refused
from takeback.harness.attempts import append_attempt, find_directory
from takeback.present.secrets import mask_secrets, mask_text_secrets
from takeback.undo import Blocked, Gone


def record_refusals(harness: Harness) -> None:
    """Have a harness note what it refuses, where it has a directory that may be written."""
    root = find_root(harness)
    if root and not harness.journal.readonly:
        harness.listeners.on_refusal = partial(_note_refusal, root)


def find_root(harness: Harness) -> str:
    """Return the directory of a harness; empty for one without."""
    return find_directory(harness.adapter)


def _note_refusal(root: str, outcome: Any, asked: Mapping[str, Any]) -> None:
    append_attempt(root, describe_refusal(outcome, asked))


def describe_refusal(outcome: Any, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is recorded of a refusal."""
    named = ", ".join(_name_operations(asked.get("candidate"))) or ", ".join(asked.get("entries", ()))
    what = f"{asked['verb']} {named}".strip()
    verdict = outcome.verdict if isinstance(outcome, Refused) else None
    return note_attempt(
        by=asked.get("by", ""),
        what=f"{asked['note']}: {what}" if asked.get("note") else what,
        why=_name_reason(outcome),
        message=_explain(outcome),
        verdict=verdict,
    )


def _name_operations(given: Any) -> list[str]:
    """Return the operations of a candidate, however it was given."""
    candidate = getattr(given, "candidate", given)
    mutation = candidate.get("mutation", ()) if isinstance(candidate, Mapping) else getattr(candidate, "mutation", ())
    plain = [op if isinstance(op, Mapping) else op.to_json() for op in mutation]
    return [f"{op.get('op_type')} {op.get('target')}" for op in plain]


def note_attempt(
    *, by: str, what: str, why: str, message: str, verdict: Any = None, way_out: str = ""
) -> dict[str, Any]:
    """Return an attempt with its secrets masked; `verdict` gives the state that breaks it."""
    example = None if verdict is None else verdict.counterexample
    breaks = [] if example is None else [*map(str, example.trip.residuals), example.trip.failure]
    return {
        "by": mask_text_secrets(by),
        "what": mask_text_secrets(what),
        "why": why,
        "message": mask_text_secrets(message),
        "state": None if example is None else mask_secrets(example.state.write()),
        "breaks": [mask_text_secrets(text) for text in breaks if text],
        **({"next": mask_text_secrets(way_out)} if way_out else {}),
    }


def _name_reason(outcome: Any) -> str:
    if isinstance(outcome, Refused):
        return str(outcome.why.value)
    return "blocked" if isinstance(outcome, Blocked) else "gone"


def _explain(outcome: Any) -> str:
    if isinstance(outcome, Refused):
        return outcome.message
    if isinstance(outcome, Blocked):
        return "blocked by " + "; ".join(f"#{number}: {why}" for number, why in outcome.reasons)
    if isinstance(outcome, Gone):
        return "what it captured is gone"
    return ""
