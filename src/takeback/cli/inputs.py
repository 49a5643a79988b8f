"""What commands read: candidates, states and language levels from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from takeback.counterfactual import nominal_state
from takeback.errors import InputError
from takeback.language import load_json, widest_level
from takeback.state import Level, State

CandidateFile = typer.Argument(..., metavar="FILE", help="A candidate as JSON.", show_default=False)
StateOption = typer.Option(None, "--state", metavar="FILE", help="The nominal state; a built-in agent if left out.")
LanguageOption = typer.Option(
    None,
    "--language",
    metavar="NAME",
    help=f"The recovery language: {', '.join(Level)}.",
    show_default="the widest installed",
)


def read_level(name: str | None) -> Level:
    """Return the language level called `name`; the widest installed one where none is named."""
    if name is None:
        return widest_level()
    try:
        return Level(name)
    except ValueError:
        raise InputError("--language", found=name, expected=f"one of {', '.join(Level)}") from None


def read_state(path: Path | None) -> State:
    """Return the state in a file, or the built-in one; a verdict with a counterexample stands for its state."""
    if path is None:
        return nominal_state()
    raw: Any = load_json(path)
    if isinstance(raw, dict) and "counterexample" in raw:
        example = raw["counterexample"]
        if not isinstance(example, dict) or "state" not in example:
            raise InputError(f"{path}.counterexample", found=example, expected="a counterexample with its state")
        return State.read(example["state"], f"{path}.counterexample.state")
    return State.read(raw, str(path))
