"""`takeback apply FILE`: verify a change, and make it if it is admitted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import typer

from takeback.cli.context import (
    ApproveOption,
    AuthorOption,
    DirOption,
    JournalOption,
    NoteOption,
    PlanFlag,
    StatFlag,
    open_harness,
)
from takeback.cli.doubts import list_doubts, print_doubts
from takeback.cli.inputs import STDIN, CandidateFile, LanguageOption, name_input, read_json, read_level
from takeback.cli.outcomes import print_and_exit
from takeback.cli.output import JsonFlag, err
from takeback.cli.secrets import RevealFlag, require_no_placeholder
from takeback.errors import InputError
from takeback.harness import Applied, Harness, Preview, RefusalReason, Refused, Unchanged
from takeback.harness.apply import is_idle
from takeback.harness.calls import read_approval
from takeback.language import read_candidate
from takeback.state import Level
from takeback.verify import Admitted, verify


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(apply)


def apply(
    file: Path = CandidateFile,
    repair: bool = typer.Option(
        False, "--repair", help="If its recovery falls short, look for another; the mutation is not changed."
    ),
    synthesizer: str = typer.Option(
        "portfolio", "--synthesizer", metavar="NAME", help="How to find it, as in 'takeback repair'."
    ),
    plan: bool = PlanFlag,
    force: bool = typer.Option(
        False, "--force", help="Make the change although it is not admitted; its entry says so permanently."
    ),
    no_ties: bool = typer.Option(
        False, "--no-ties", help="Refuse if an earlier entry could no longer be undone on its own."
    ),
    approve: str = ApproveOption,
    language: str | None = LanguageOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Make a change, if it can be undone. It is verified first, and recorded in the journal before it is made.

    A change of one thing needs no file: 'takeback set', 'add', 'remove', 'edit' and 'move' write the candidate.

    Example: `takeback apply change.json -m "longer timeout"`, `takeback apply - --repair < change.json`
    """
    del reveal  # read by its callback
    raw = read_json(file)
    require_no_placeholder(raw, name_input(file))
    level = read_level(language)
    with open_harness(directory, journal) as harness:
        repaired = _repair_candidate(raw, file, synthesizer, level, harness) if repair else None
        admitted = None if repaired is None else repaired.admitted
        candidate = read_candidate(raw, name_input(file)) if admitted is None else admitted.candidate
        verdict = verify(candidate, level=level) if admitted is None else admitted.verdict
        with harness.session():
            warnings = list_doubts(harness, candidate.mutation, harness.state)
            print_doubts(warnings, as_json=as_json)
            result: Preview | Applied | Refused | Unchanged
            if is_idle(candidate.mutation, harness.state) and not isinstance(
                harness.preview(candidate, force=force, evidence=verdict), Refused
            ):
                result = Unchanged()
            elif plan:
                result = harness.preview(candidate, force=force, allow_ties=not no_ties, evidence=verdict)
            else:
                result = harness.apply(
                    candidate,
                    force=force,
                    note=note,
                    by=by,
                    allow_ties=not no_ties,
                    evidence=verdict,
                    approval=read_approval(approve, by),
                )
        if isinstance(result, Unchanged):
            print_and_exit(result, harness, as_json=as_json, doubts=warnings)
        if repaired is not None and repaired.source != "start" and not isinstance(result, Refused):
            verb = "would be" if plan else "was"
            by = f"found by the {repaired.source}, {verdict.grade.value}"
            err.print(f"its recovery {verb} replaced: {by}", style="yellow")
        steps = []
        if isinstance(result, Refused) and result.why is RefusalReason.VERDICT and not repair:
            steps = _list_next_steps(raw, file, directory, language, level, harness)
        print_and_exit(
            result, harness, as_json=as_json, stat=stat, name=name_input(file), steps=steps, doubts=warnings
        )


class _Repaired(NamedTuple):
    """A candidate with a recovery that is admitted, and who found that: `start` where it was its own."""

    admitted: Admitted
    source: str


def _repair_candidate(raw: Any, file: Path, synthesizer: str, level: Level, harness: Harness) -> _Repaired | None:
    from takeback.cli.synthesizers import open_synthesizer as opened_synthesizer  # noqa: PLC0415 - start-up
    from takeback.repair.attempt import build_attempt  # noqa: PLC0415
    from takeback.repair.loop import (  # noqa: PLC0415
        Settings,
        make_judge,
    )

    if not isinstance(raw, dict):
        raise InputError(name_input(file), found=raw, expected="a candidate as a JSON object")
    start = build_attempt(raw)
    if start.mutation is None and start.rejected is not None:
        raise InputError(name_input(file), found=start.rejected.detail, expected="a mutation that can be read")
    with opened_synthesizer(synthesizer) as opened:
        judge = make_judge("proof", level, harness.state)
        done = opened.method(start, judge, Settings(level=level), harness.state)
    if done.admitted is None:
        return None
    return _Repaired(Admitted(done.admitted, done.verdict), str(done.source))


def _list_next_steps(
    raw: Any, file: Path, directory: Path, language: str | None, level: Level, harness: Harness
) -> list[str]:
    with_recovery = _repair_candidate(raw, file, "oracle", level, harness)
    if file == STDIN:
        return ["run it again with --repair, which finds a proved recovery"] if with_recovery else []
    words = ["takeback", "apply", str(file), "--repair"]
    words += ["--language", language] if language else []
    words += ["--dir", str(directory)] if directory != Path() else []
    if with_recovery:
        return [f"for a proved recovery: {shlex.join(words)}"]
    return [f"ask a model for a recovery: {shlex.join([*words, '--synthesizer', 'local'])}"]
