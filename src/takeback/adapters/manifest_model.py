"""The manifest as a pydantic model, made from its classes: it says exactly what is wrong with one.

Imported only for a manifest with a mistake in it; the others are read without.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from takeback.adapters.manifest import Manifest, OwnDocument, Workspace
from takeback.errors import InputError

_EXPECTED: Final = {"extra_forbidden": "no such key", "string_type": "a text", "missing": "a value for it"}
"""What was expected where pydantic found a mistake of some type."""


def require_valid(raw: dict[str, Any], where: str) -> None:
    """Refuse what is no manifest, with the first mistake in it."""
    inner: dict[str, Any] = {"workspace": _make_model(Workspace), "documents": list[_make_model(OwnDocument)]}  # type: ignore[misc]
    try:
        _make_model(Manifest, **inner).model_validate(raw)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        given = f"{first['input']!r}" if first["type"] != "missing" else "nothing"
        expected = _EXPECTED.get(first["type"], f"{place} ({first['msg']})")
        raise InputError(f"{where}: {place}", found=given, expected=expected) from None


def _make_model(kind: type, **inner: Any) -> type[BaseModel]:
    types = get_type_hints(kind) | inner
    members: dict[str, Any] = {}
    for field in fields(kind):
        default = (
            Field(default_factory=field.default_factory) if field.default_factory is not MISSING else field.default
        )
        members[field.name] = (types[field.name], ... if default is MISSING else default)
    return create_model(kind.__name__, __config__=ConfigDict(extra="forbid", strict=True), **members)
