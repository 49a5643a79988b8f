"""`takeback schema`: the JSON Schema of a candidate, fit for constrained decoding."""

from __future__ import annotations

import typer

from takeback.cli.output import JsonFlag, emit
from takeback.cli.reading import LanguageOption, read_level
from takeback.language import candidate_schema


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    language: str = LanguageOption,
    repair: bool = typer.Option(False, "--repair", help="The schema of a repair: no mutation in it."),
    as_json: bool = JsonFlag,
) -> None:
    """Print the JSON Schema of a candidate in a language; it is JSON with and without `--json`.

    Example: `takeback schema --language L0 > candidate.schema.json`
    """
    del as_json
    emit(candidate_schema(read_level(language), mutation=not repair))
