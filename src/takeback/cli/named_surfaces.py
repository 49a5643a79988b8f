"""Surfaces that a manifest brings, for commands that judge a candidate without opening a harness.

Calls and records of other systems are surfaces only where a manifest declares some. A candidate that names them is
judged by the manifest at hand; nothing is started, and nothing is connected to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

CALL_KINDS: Final = frozenset({"make_call", "capture_call", "compensate_call"})
_PROGRAMS: Final = ("mutation", "witness", "recovery")


def register_named_surfaces(raw: Any) -> None:
    """Register the surfaces that a candidate, or the one in a certificate, names, with the declared calls."""
    candidate = raw.get("candidate", raw) if isinstance(raw, dict) else None
    programs = [candidate.get(name) for name in _PROGRAMS] if isinstance(candidate, dict) else []
    ops = [op for program in programs if isinstance(program, list) for op in program if isinstance(op, dict)]
    kinds = {kind for op in ops if isinstance(kind := op.get("op_type"), str)}
    if any(kind.endswith("_external") for kind in kinds):
        from takeback.state.surfaces.external import install_external_surface  # noqa: PLC0415 - start-up

        install_external_surface()
    if kinds & CALL_KINDS:
        _register_calls()


def _register_calls() -> None:
    from takeback.adapters.manifest_calls import read_call_rules  # noqa: PLC0415 - start-up
    from takeback.adapters.opener import load_manifest  # noqa: PLC0415 - start-up
    from takeback.adapters.roots import find_root_above  # noqa: PLC0415 - start-up
    from takeback.state.surfaces.calls import install_calls_surface  # noqa: PLC0415 - start-up

    root = find_root_above(Path())
    rules = None if root is None else read_call_rules(load_manifest(root), root, "the manifest")
    install_calls_surface({} if rules is None else rules.facts)
