"""`takeback schema`: the JSON Schema of a candidate, fit for constrained decoding."""

from __future__ import annotations

import typer

from takeback.cli.inputs import LanguageOption, read_level
from takeback.cli.output import JsonFlag, emit
from takeback.language import candidate_schema


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    language: str = LanguageOption,
    repair: bool = typer.Option(False, "--repair", help="Print the schema of a repair, which has no mutation."),
    as_json: bool = JsonFlag,
) -> None:
    """Print the JSON Schema of a candidate. It is JSON with and without `--json`.

    Example: `takeback schema --language L0 > candidate.schema.json`
    """
    del as_json
    emit(candidate_schema(read_level(language), mutation=not repair))
