"""`takeback prove FILE`: proved for every state, or refuted with the smallest one."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.inputs import CandidateFile, LanguageOption, name_of, read_json, read_level
from takeback.cli.output import JsonFlag, emit, finish
from takeback.cli.revealing import RevealFlag
from takeback.cli.verdicts import show_verdict
from takeback.language import read_candidate
from takeback.verify import prove as prove_candidate


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prove")(prove)


def prove(
    file: Path = CandidateFile,
    language: str | None = LanguageOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Prove that a recovery works on every state, or refute it with the smallest one.

    Example: `takeback prove examples/candidates/config/candidate.json --json`
    """
    del reveal  # read by its callback
    candidate = read_candidate(read_json(file), name_of(file))
    verdict = prove_candidate(candidate, level=read_level(language))
    if as_json:
        shown = verdict.to_json()
        emit({name: shown[name] for name in ("grade", "counterexample", "classes", "reasons")})
    else:
        show_verdict(verdict, name_of(file), str(file))
    finish(yes=verdict.admitted)
