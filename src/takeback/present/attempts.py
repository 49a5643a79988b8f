"""Refused attempts: what is recorded of one, with its secrets masked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from takeback.harness import Harness, Refused
from takeback.harness.attempts import append_attempt, find_directory
from takeback.secret_mask import mask_secrets, mask_text_secrets
from takeback.undo import Blocked, Gone


def record_refusals(harness: Harness) -> None:
    """Have a harness note what it refuses."""
    harness.listeners.on_refusal = partial(note_refusal, harness)


def find_root(harness: Harness) -> str:
    """Return the directory of a harness; empty for one without."""
    return find_directory(harness.adapter)


def note_refusal(harness: Harness, outcome: Any, asked: Mapping[str, Any]) -> None:
    """Record what a harness refused, where it has a directory that may be written."""
    root = find_root(harness)
    if not root or harness.journal.readonly:
        return
    named = ", ".join(_name_operations(asked.get("candidate"))) or ", ".join(asked.get("entries", ()))
    what = f"{asked['verb']} {named}".strip()
    why, message = _explain(outcome)
    verdict = outcome.verdict if isinstance(outcome, Refused) else None
    example = None if verdict is None else verdict.counterexample
    breaks = [] if example is None else [*map(str, example.trip.residuals), example.trip.failure]
    attempt = {
        "by": mask_text_secrets(asked.get("by", "")),
        "what": mask_text_secrets(f"{asked['note']}: {what}" if asked.get("note") else what),
        "why": why,
        "message": mask_text_secrets(message),
        "state": None if example is None else mask_secrets(example.state.write()),
        "breaks": [mask_text_secrets(text) for text in breaks if text],
    }
    append_attempt(root, attempt)


def _name_operations(given: Any) -> list[str]:
    """Return the operations of a candidate, however it was given."""
    candidate = getattr(given, "candidate", given)
    mutation = candidate.get("mutation", ()) if isinstance(candidate, Mapping) else getattr(candidate, "mutation", ())
    plain = [op if isinstance(op, Mapping) else op.to_json() for op in mutation]
    return [f"{op.get('op_type')} {op.get('target')}" for op in plain]


def _explain(outcome: Any) -> tuple[str, str]:
    """Return why something was refused: a word, and a sentence."""
    match outcome:
        case Refused():
            return str(outcome.why.value), outcome.message
        case Blocked():
            return "blocked", "blocked by " + "; ".join(f"#{number}: {why}" for number, why in outcome.reasons)
        case Gone():
            return "gone", "what it captured is gone"
        case _:
            return "gone", ""
