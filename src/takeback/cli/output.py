"""What commands print: JSON on stdout for machines, tables for people, errors and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)

JsonFlag = typer.Option(False, "--json", help="Print one JSON object on stdout.")


def emit(payload: dict[str, Any]) -> None:
    """Print one JSON object on stdout."""
    sys.stdout.write(json.dumps(payload, ensure_ascii=False, indent=2) + "\n")


def emit_error(message: str, *, as_json: bool) -> None:
    """Print an error on stderr, and as JSON on stdout where that was asked for."""
    if as_json:
        emit({"error": message})
    err.print(f"takeback: {message}", markup=False)


def wants_json(argv: Sequence[str]) -> bool:
    """Tell whether a command line asks for JSON."""
    return "--json" in argv


def finish(*, yes: bool) -> None:
    """End the command with 0 for yes, 1 for no."""
    raise typer.Exit(0 if yes else 1)
