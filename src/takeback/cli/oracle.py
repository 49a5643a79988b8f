"""`takeback oracle FILE`: the mutation with witness, recovery and contract built for it."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.inputs import CandidateFile, LanguageOption, StateOption, read_level, read_state
from takeback.cli.output import JsonFlag, emit, err, finish
from takeback.language import gate, load_json, read_candidate
from takeback.synthesize import invert


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("oracle")(oracle)


def oracle(
    file: Path = CandidateFile,
    language: str = LanguageOption,
    state: Path | None = StateOption,
    as_json: bool = JsonFlag,
) -> None:
    """Write a recovery for a candidate's mutation. Whatever recovery it had is ignored.

    Prints the whole candidate as JSON. Exit code 1 if the language has no recovery for it.

    Example: `takeback oracle examples/candidates/missing-capture/candidate.json --language L1`
    """
    given = read_candidate(load_json(file), str(file))
    built = invert(given.mutation, read_state(state))
    outside = gate(built, read_level(language))
    if outside:
        reasons = [str(one) for one in outside]
        if as_json:
            emit({"candidate": None, "reasons": reasons})
        for reason in reasons:
            err.print(f"no recovery in {language}: {reason}")
        finish(yes=False)
    emit(built.to_json())
