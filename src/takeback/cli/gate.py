"""`takeback gate --before DIR --after DIR`: can a step that someone else made be taken back?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from takeback.adapters.manifest import find_manifest_path
from takeback.agents.step_check import HarnessStep, judge_step, record_step
from takeback.canonical import write_compact
from takeback.cli.changes import changes_to_json, show_changes
from takeback.cli.context import ByOption, JournalOption, NoteOption, open_harness
from takeback.cli.display import show_verdict
from takeback.cli.options import RevealOptions, flag, setting
from takeback.cli.outcomes import LOOSENS, outcome_to_json, print_and_exit, show_loosening, show_outcome
from takeback.cli.output import answer, commit_exit_code, finish, out
from takeback.cli.secrets import mask_value
from takeback.harness import Refused


def gate(
    options: RevealOptions,
    before: Path = setting("--before", "DIR", "The harness before the step.", ...),
    after: Path = setting("--after", "DIR", "The same harness after it.", ...),
    ignore: list[str] = setting("--ignore", "GLOB", "Ignore these files, such as 'logs/*'; may be repeated.", []),
    record: bool = flag("--record", "If it is admitted, make it an entry that can be undone, in --before."),
    loosen: bool = flag("--loosen", "Record it even if it loosens permissions or removes a guard."),
    note: str = NoteOption,
    by: str = ByOption,
    journal: str | None = JournalOption,
) -> None:
    """Decide whether the step from one directory to another can be undone, and by which recovery.

    For evolvers that work on directories: the operations of the step are derived from the two directories, and its
    recovery is proved. A step that touches files of no surface is not admitted. Neither directory is changed without
    `--record`.

    Exit code 0 if it is admitted (and recorded), 1 if not.

    Example: `takeback gate --before agent --after candidates/7`,
    `takeback gate --before agent --after candidates/7 --record -m "generation 7"`
    """
    step = judge_step(before, after, ignore)
    if not record or not step.admitted or step.candidate is None:
        _tell(step, {"entry": None})
        if step.admitted:
            show_changes(step.changes, lambda: step.before)
        finish(yes=step.admitted)
    if step.looser and not loosen:
        _tell(step, {"entry": None, "refused": LOOSENS})
        show_loosening()
        finish(yes=False)
    only_after = find_manifest_path(before) is None and find_manifest_path(after) is not None
    with open_harness(after if only_after else before, journal) as harness:
        made = record_step(harness, step, note=note, by=by)
        if isinstance(made, Refused):
            print_and_exit(made, harness)
        commit_exit_code(0)
        _tell(step, outcome_to_json(made, harness) if options.as_json else {})
        show_outcome(made, harness, name="the step")
    finish(yes=True)


def _tell(step: HarnessStep, more: dict[str, Any]) -> None:
    answer({**step.to_json(), "changes": changes_to_json(step.changes), **more})
    if step.admitted and step.candidate is None:
        out.print("the harness does not differ", style="bold")
    for reason in step.reasons if step.verdict is None or step.verdict.admitted else ():
        out.print(f"the step: not admitted: {reason}", style="red")
    if step.outside:
        out.print("  next: --ignore GLOB ignores files that need not be undone", style="cyan")
    if step.verdict is not None:
        show_verdict(step.verdict, "what is the harness's of it" if step.outside else "the step")
    if step.candidate is not None:
        parts = mask_value(step.candidate.to_json())
        out.print(f"recovery: {write_compact({'witness': parts['witness'], 'recovery': parts['recovery']})}")
    for reason in step.looser:
        out.print(f"looser: {reason}", style="yellow")
    if step.layout:
        out.print(f"note: comments, formatting or modes of {', '.join(step.layout)} differ; that is not in the step")
