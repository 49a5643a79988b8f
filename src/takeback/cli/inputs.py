"""What commands read: candidates, states and language levels from the command line.

Calls and records of other systems are surfaces only where a manifest declares some. A candidate that names them is
judged by the manifest at hand, without a harness; nothing is started, and nothing is connected to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from takeback.canonical import parse
from takeback.cli.completion import LEVELS, offer_words
from takeback.cli.options import argument, setting
from takeback.cli.secrets import learn_secrets
from takeback.errors import InputError, LimitError
from takeback.language import find_widest_level, load_json
from takeback.language.program import MAX_FILE
from takeback.state import Level, State

STDIN: Final = Path("-")
_CALL_KINDS: Final = frozenset({"make_call", "capture_call", "compensate_call"})
_PROGRAMS: Final = ("mutation", "witness", "recovery")
CandidateFile = argument("FILE", "A candidate as JSON; - for standard input.")
StateOption = setting("--state", "FILE", "The nominal state; a built-in agent if left out.", None)
LanguageOption = setting(
    "--language",
    "NAME",
    f"The recovery language: {', '.join(Level)}.",
    None,
    autocompletion=offer_words(LEVELS),
    show_default="the widest installed",
)


def read_bytes(path: Path, most: int = MAX_FILE) -> bytes:
    """Return what is in a file, or on standard input where that is named `-`."""
    if path == STDIN:
        raw = sys.stdin.buffer.read(most + 1)
    else:
        try:
            with path.open("rb") as file:
                raw = file.read(most + 1)
        except OSError as fault:
            raise InputError(str(path), found=fault.strerror or str(fault), expected="a readable file") from None
    if len(raw) > most:
        raise LimitError(name_input(path), found="more", expected=f"at most {most} bytes")
    return raw


def read_json(path: Path) -> Any:
    """Return the JSON in a file, or on standard input where that is named `-`."""
    value = parse(read_bytes(path), name_input(path)) if path == STDIN else load_json(path)
    learn_secrets(value)
    _register_named_surfaces(value)
    return value


def name_input(path: Path) -> str:
    """Return what to call a file that is read."""
    return "standard input" if path == STDIN else str(path)


def read_level(name: str | None) -> Level:
    """Return the language level called `name`; the widest installed one where none is named."""
    if name is None:
        return find_widest_level()
    try:
        return Level(name)
    except ValueError:
        raise InputError("--language", found=name, expected=f"one of {', '.join(Level)}") from None


def read_state(path: Path | None) -> State:
    """Return the state in a file, or the built-in one; a verdict with a counterexample stands for its state."""
    if path is None:
        from takeback.verify.suites import make_nominal_state  # noqa: PLC0415 - start-up

        return make_nominal_state()
    raw = read_json(path)
    if isinstance(raw, dict) and "counterexample" in raw:
        example = raw["counterexample"]
        if not isinstance(example, dict) or "state" not in example:
            raise InputError(f"{path}.counterexample", found=example, expected="a counterexample with its state")
        return State.read(example["state"], f"{path}.counterexample.state")
    return State.read(raw, str(path))


def _register_named_surfaces(raw: Any) -> None:
    """Register the surfaces that a candidate, or the one in a certificate, names, with the declared calls."""
    candidate = raw.get("candidate", raw) if isinstance(raw, dict) else None
    programs = [candidate.get(name) for name in _PROGRAMS] if isinstance(candidate, dict) else []
    ops = [op for program in programs if isinstance(program, list) for op in program if isinstance(op, dict)]
    kinds = {kind for op in ops if isinstance(kind := op.get("op_type"), str)}
    if any(kind.endswith("_external") for kind in kinds):
        from takeback.state.surfaces.external import install_external_surface  # noqa: PLC0415 - start-up

        install_external_surface()
    if kinds & _CALL_KINDS:
        _register_calls()


def _register_calls() -> None:
    from takeback.adapters.manifest import read_call_rules  # noqa: PLC0415 - start-up
    from takeback.adapters.opener import load_manifest  # noqa: PLC0415 - start-up
    from takeback.adapters.roots import find_root_above  # noqa: PLC0415 - start-up
    from takeback.state.surfaces.calls import install_calls_surface  # noqa: PLC0415 - start-up

    root = find_root_above(Path())
    rules = None if root is None else read_call_rules(load_manifest(root), root, "the manifest")
    install_calls_surface({} if rules is None else rules.facts)
