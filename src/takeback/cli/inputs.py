"""What commands read: candidates, states and language levels from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import typer

from takeback.canonical import parse
from takeback.cli.completion import LEVELS, offer_words
from takeback.cli.named_surfaces import register_named_surfaces
from takeback.cli.secrets import learn_secrets
from takeback.errors import InputError, LimitError
from takeback.language import find_widest_level, load_json
from takeback.language.program import MAX_FILE
from takeback.state import Level, State
from takeback.verify.suites import make_nominal_state

STDIN: Final = Path("-")
CandidateFile = typer.Argument(
    ..., metavar="FILE", help="A candidate as JSON; - for standard input.", show_default=False
)
StateOption = typer.Option(None, "--state", metavar="FILE", help="The nominal state; a built-in agent if left out.")
LanguageOption = typer.Option(
    None,
    "--language",
    metavar="NAME",
    help=f"The recovery language: {', '.join(Level)}.",
    autocompletion=offer_words(LEVELS),
    show_default="the widest installed",
)


def read_bytes(path: Path) -> bytes:
    """Return what is in a file, or on standard input where that is named `-`."""
    if path == STDIN:
        raw = sys.stdin.buffer.read(MAX_FILE + 1)
    else:
        try:
            with path.open("rb") as file:
                raw = file.read(MAX_FILE + 1)
        except OSError as fault:
            raise InputError(str(path), found=fault.strerror or str(fault), expected="a readable file") from None
    if len(raw) > MAX_FILE:
        raise LimitError(name_input(path), found="more", expected=f"at most {MAX_FILE} bytes")
    return raw


def read_json(path: Path) -> Any:
    """Return the JSON in a file, or on standard input where that is named `-`."""
    value = parse(read_bytes(path), name_input(path)) if path == STDIN else load_json(path)
    learn_secrets(value)
    register_named_surfaces(value)
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
        return make_nominal_state()
    raw = read_json(path)
    if isinstance(raw, dict) and "counterexample" in raw:
        example = raw["counterexample"]
        if not isinstance(example, dict) or "state" not in example:
            raise InputError(f"{path}.counterexample", found=example, expected="a counterexample with its state")
        return State.read(example["state"], f"{path}.counterexample.state")
    return State.read(raw, str(path))
