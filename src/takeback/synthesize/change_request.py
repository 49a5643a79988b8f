"""What a model is asked for a change in plain words: the prompt, and the schema that its reply is held to.

Both hold only what the harness stores. What of the harness is shown is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import Template
from typing import Any, Final

from takeback.language import candidate_schema, widest_level
from takeback.state import KINDS, SURFACES
from takeback.synthesize.models import Message, Request, Sampling
from takeback.synthesize.prompting import prompt_set, shared

TEMPLATE: Final = "change.md"
MAX_OPERATIONS: Final = 8
LONGEST: Final = 8000
"""Characters of a text in a reply: a whole prompt may be written anew."""
SEED: Final = 7000
_TEXT: Final = 400
"""From this length on, a bound of the language's schema is one of texts, not of names."""
_SCALARS: Final[list[dict[str, Any]]] = [
    {"type": "string", "maxLength": LONGEST},
    {"type": "number", "minimum": -1_000_000_000, "maximum": 1_000_000_000},
    {"type": "boolean"},
    {"type": "null"},
]
_FORMED: Final = frozenset({"tools", "listeners"})
"""Surfaces of which every kind of harness has records of its own form."""


def change_request(
    model: str,
    *,
    kind: str,
    surfaces: Collection[str],
    state: str,
    instruction: str,
    sampling: Sampling,
    earlier: Sequence[tuple[str, str]] = (),
) -> Request:
    """The request for a whole candidate; `earlier` holds replies that fell short, each with what was wrong."""
    text = Template(shared(TEMPLATE)).substitute(
        language=language_for(surfaces), kind=kind, state=state, instruction=instruction
    )
    messages = [Message("system", prompt_set().fill("system.md")), Message("user", text)]
    for reply, wrong in earlier:
        messages.append(Message("assistant", reply))
        messages.append(Message("user", f"That is not accepted: {wrong}\nGive the whole candidate anew."))
    return Request(
        model=model,
        messages=tuple(messages),
        schema=schema_for(surfaces),
        seed=SEED + len(earlier),
        ordered=True,
        **sampling.to_json(),
    )


def language_for(surfaces: Collection[str]) -> str:
    """What the language is, without the surfaces that a harness does not store."""
    left_out = tuple(f"| {name} |" for name in SURFACES if name not in surfaces)
    lines = shared(f"language_{widest_level().value}.md").splitlines()
    return "\n".join(line for line in lines if not line.startswith(left_out))


def schema_for(surfaces: Collection[str]) -> dict[str, Any]:
    """The schema of a reply, without the surfaces that a harness does not store, and with room for real texts."""
    schema = candidate_schema(widest_level())
    properties: dict[str, Any] = {}
    for name, part in schema["properties"].items():
        if name == "contract":
            properties[name] = {**part, "maxItems": len(surfaces), "items": {"enum": sorted(surfaces)}}
            continue
        forms = [_roomy(form) for form in part["items"]["anyOf"] if _surface(form) in surfaces]
        properties[name] = {**part, "maxItems": MAX_OPERATIONS, "items": {"anyOf": forms}}
    return {**schema, "properties": properties}


def _surface(form: dict[str, Any]) -> str:
    return KINDS[form["properties"]["op_type"]["const"]].surface


def _roomy(form: dict[str, Any]) -> dict[str, Any]:
    """One operation's form with longer texts, and for records of a harness's own form any object."""
    properties = {name: _longer(schema) for name, schema in form["properties"].items()}
    wanted = form["properties"].get("value", {}).get("type")
    if _surface(form) in _FORMED and wanted == "object":
        properties["value"] = _object(3)
    return {**form, "properties": properties}


def _longer(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: LONGEST if key == "maxLength" and item >= _TEXT else _longer(item) for key, item in schema.items()
        }
    return [_longer(item) for item in schema] if isinstance(schema, list) else schema


def _object(depth: int) -> dict[str, Any]:
    return {"type": "object", "maxProperties": 24, "additionalProperties": _any(depth)}


def _any(depth: int) -> dict[str, Any]:
    if not depth:
        return {"anyOf": _SCALARS}
    listed = {"type": "array", "maxItems": 24, "items": _any(depth - 1)}
    return {"anyOf": [*_SCALARS, listed, _object(depth - 1)]}
