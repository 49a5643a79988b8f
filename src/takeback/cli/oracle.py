"""`takeback oracle FILE`: the mutation with witness, recovery and contract built for it."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.inputs import CandidateFile, LanguageOption, StateOption, name_of, read_json, read_level, read_state
from takeback.cli.output import JsonFlag, emit, err, finish
from takeback.cli.revealing import RevealFlag
from takeback.language import NoInverse, read_candidate
from takeback.synthesize import oracle as find_recovery


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("oracle")(oracle)


def oracle(
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    state: Path | None = StateOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Write a recovery for a candidate's mutation. Whatever recovery it had is ignored.

    Prints the whole candidate as JSON. Exit code 1 if the language has no recovery for it.

    Example: `takeback oracle examples/candidates/missing-capture/candidate.json`
    """
    del reveal  # read by its callback
    given = read_candidate(read_json(file), name_of(file))
    built = find_recovery(given.mutation, read_level(language), read_state(state))
    if isinstance(built, NoInverse):
        reasons = [str(one) for one in built.lacking]
        if as_json:
            emit({"candidate": None, "reasons": reasons})
        for reason in reasons:
            err.print(f"no recovery in {built.level.value}: {reason}")
        finish(yes=False)
    emit(built.to_json(), exact=True)
