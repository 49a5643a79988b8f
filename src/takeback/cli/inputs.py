"""What commands read: candidates, states and language levels from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from takeback.counterfactual import nominal_state
from takeback.errors import InputError
from takeback.language import load_json
from takeback.state import Level, State

CandidateFile = typer.Argument(..., metavar="FILE", help="A candidate as JSON.", show_default=False)
StateOption = typer.Option(None, "--state", metavar="FILE", help="The nominal state; a built-in agent if left out.")
LanguageOption = typer.Option("L1", "--language", metavar="NAME", help="The recovery language: L0 or L1.")


def read_level(name: str) -> Level:
    """Return the language level called `name`."""
    try:
        level = Level(name)
    except ValueError:
        raise InputError("--language", found=name, expected="L0 or L1") from None
    if level is Level.L2:
        raise InputError("--language", found=name, expected="L0 or L1 (L2 has no operations yet)")
    return level


def read_state(path: Path | None) -> State:
    """Return the state in a file, or the built-in one; a verdict with a counterexample stands for its state."""
    if path is None:
        return nominal_state()
    raw: Any = load_json(path)
    if isinstance(raw, dict) and isinstance(raw.get("counterexample"), dict):
        example = raw["counterexample"]
        if "state" not in example:
            raise InputError(f"{path}: counterexample", found="no state", expected="the state of a verdict's")
        return State.read(example["state"], f"{path}: counterexample.state")
    return State.read(raw, str(path))
