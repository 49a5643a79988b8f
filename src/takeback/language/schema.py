"""The JSON Schema of a candidate at a language level, fit for constrained decoding.

Every string, number and array is bounded, every object closed, and each operation is one alternative with its
`op_type` fixed, so that a decoder held to the schema can only write what the parser takes.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.language.program import PROGRAMS
from takeback.state import KINDS, Kind, Level, Stage, Takes
from takeback.state.installed import install_surfaces

MAX_ITEMS: Final = 12
_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 120}
_KEY: Final = {"type": "string", "minLength": 1, "maxLength": 24, "pattern": "^[a-z][a-z0-9_]*$"}
_SCALAR: Final[list[dict[str, Any]]] = [
    {"type": "string", "maxLength": 400},
    {"type": "integer", "minimum": -1_000_000, "maximum": 1_000_000},
    {"type": "number", "minimum": -1_000_000, "maximum": 1_000_000},
    {"type": "boolean"},
    {"type": "null"},
]
_ANY: Final[dict[str, Any]] = {
    "anyOf": [
        *_SCALAR,
        {"type": "array", "maxItems": 12, "items": {"anyOf": _SCALAR}},
        {"type": "object", "maxProperties": 12, "additionalProperties": {"anyOf": _SCALAR}},
    ]
}
_SPOTS: Final[dict[str, dict[str, Any]]] = {
    "index": {"type": "integer", "minimum": 0, "maximum": 100},
    "before": _NAME,
    "after": _NAME,
    "priority": {"type": "integer", "minimum": 0, "maximum": 1000},
}


def candidate_schema(level: Level, *, mutation: bool = True) -> dict[str, Any]:
    """Return the schema; without `mutation` it is that of a repair, which cannot change the mutation."""
    install_surfaces()
    programs = {
        name: {
            "type": "array",
            "minItems": int(name == "mutation"),
            "maxItems": MAX_ITEMS,
            "items": {"anyOf": list(_operations(stage, level))},
        }
        for name, stage in PROGRAMS.items()
        if mutation or name != "mutation"
    }
    contract = {"type": "array", "maxItems": 2 * MAX_ITEMS, "items": {"type": "string", "maxLength": 200}}
    properties = {**programs, "contract": contract}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _operations(stage: Stage, level: Level) -> list[dict[str, Any]]:
    usable = [kind for kind in KINDS.values() if level.includes(kind.level)]
    kinds = [kind for kind in usable if kind.stage is stage or (kind.recovers and stage is Stage.RECOVERY)]
    return [form for kind in kinds for form in _forms(kind)]


def _forms(kind: Kind) -> list[dict[str, Any]]:
    properties: dict[str, Any] = {"op_type": {"const": kind.name}, "target": _NAME}
    required = ["op_type", "target"]
    for takes, field, schema in (
        (kind.value, "value", kind.schema or _ANY),
        (kind.witness, "witness_key", _KEY),
    ):
        if takes is not Takes.NO:
            properties[field] = schema
        if takes is Takes.MUST:
            required.append(field)
    forms = [] if kind.spot is Takes.MUST else [_closed(properties, required)]
    if kind.spot is not Takes.NO:
        for name in kind.spots:
            schema = _ANY if kind.inside and name != "index" else _SPOTS[name]
            forms.append(_closed({**properties, name: schema}, [*required, name]))
    return forms


def _closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
