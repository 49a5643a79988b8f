"""`[calls.NAME]`, `[admit]` and `[tell]` of a manifest: which programs a change may start, and when.

Checked when the manifest is read; nothing is started by reading. What is declared here is part of what a user trusts
(`trust.py`): a manifest that a pull changed starts nothing until it is trusted again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from takeback.adapters.manifest import CALL_TABLES, Manifest
from takeback.canonical import encode
from takeback.errors import InputError
from takeback.harness.calls import CallRules, DeclaredCall, raise_class
from takeback.state.values import read_name

_VECTORS: Final = ("run", "compensate", "ask")
_KEYS: Final = frozenset({*_VECTORS, "repeats", "says", "stays", "env", "timeout", "irreversible", "hints"})
LONGEST: Final = 600


def read_call_rules(manifest: Manifest, root: Path, where: str) -> CallRules | None:
    """Return what a manifest says of calls; None if it declares none. Raise `InputError` that names the mistake."""
    calls, admit, tell = (getattr(manifest, name) for name in CALL_TABLES)
    declared = {
        read_name(name, f"{where}: calls"): _read_call(raw, f"{where}: calls.{name}") for name, raw in calls.items()
    }
    _require_keys(admit, {"compensable"}, f"{where}: admit")
    _require_keys(tell, {"command"}, f"{where}: tell")
    rule = admit.get("compensable", "ask")
    if rule not in {"ask", "yes", "no"}:
        raise InputError(f"{where}: admit.compensable", found=rule, expected='"ask", "yes" or "no"')
    command = _read_vector(tell["command"], f"{where}: tell.command") if tell else ()
    return CallRules(root, declared, rule, command) if declared else None


def digest_call_tables(manifest: Manifest) -> str:
    """Return the digest of all that a manifest says of calls; empty if it says nothing."""
    said = {name: table for name in CALL_TABLES if (table := getattr(manifest, name))}
    return hashlib.sha256(encode(said).encode()).hexdigest() if said else ""


def _read_table(raw: Any, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a table")
    return raw


def _require_keys(raw: Mapping[str, Any], known: set[str] | frozenset[str], where: str) -> None:
    strange = next((name for name in raw if name not in known), None)
    if strange is not None:
        raise InputError(f"{where}.{strange}", found=raw[strange], expected=f"one of {', '.join(sorted(known))}")


def _read_call(raw: Any, where: str) -> DeclaredCall:
    table = _read_table(raw, where)
    _require_keys(table, _KEYS, where)
    if "run" not in table:
        raise InputError(f"{where}.run", found="nothing", expected='a program and its arguments, ["./mail", "send"]')
    vectors: dict[str, Any] = {
        name: _read_vector(table[name], f"{where}.{name}") for name in _VECTORS if name in table
    }
    for name in ("repeats", "irreversible"):
        if type(table.get(name, False)) is not bool:
            raise InputError(f"{where}.{name}", found=table[name], expected="true or false")
    seconds = table.get("timeout", 30)
    if type(seconds) not in {int, float} or not 0 < seconds <= LONGEST:
        raise InputError(f"{where}.timeout", found=seconds, expected=f"seconds, at most {LONGEST}")
    names = table.get("env", [])
    texts = {name: table[name] for name in ("says", "stays") if name in table}
    for name, said in texts.items():
        if type(said) is not str:
            raise InputError(f"{where}.{name}", found=said, expected="a text")
    if type(names) is not list or not all(type(name) is str and name for name in names):
        raise InputError(f"{where}.env", found=names, expected="names of environment variables")
    hints = _read_table(table.get("hints", {}), f"{where}.hints")
    declared = DeclaredCall(
        **vectors,
        repeats=table.get("repeats", False),
        **texts,
        env=tuple(names),
        timeout=float(seconds),
        irreversible=table.get("irreversible", False),
    )
    return raise_class(declared, hints)


def _read_vector(raw: Any, where: str) -> tuple[str, ...]:
    if type(raw) is not list or not raw or not all(type(word) is str and "\0" not in word for word in raw):
        raise InputError(where, found=raw, expected='a list of words, ["./mail", "send"]; no shell reads it')
    return tuple(raw)
