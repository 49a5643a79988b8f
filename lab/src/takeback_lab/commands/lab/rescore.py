"""`takeback lab rescore`: recorded runs' decisions under another rule, without asking anybody anything."""

from __future__ import annotations

from typing import Any, Final

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.errors import InputError
from takeback.verify import RULES
from takeback_lab.commands.lab.extra import lab_extra
from takeback_lab.commands.lab.printing import show_table
from takeback_lab.commands.lab.wrapper import Running, conduct
from takeback_lab.experiments.apart import PASSED, read_counting
from takeback_lab.recordings import has_recording
from takeback_lab.registry import experiment_named
from takeback_lab.report.table import Table
from takeback_lab.rescore import rescored

NAMES: Final = ("natural", "factorial", "conventional", "replication", "controlled")
NameArgument = typer.Argument(
    None, metavar="NAME", help=f"One of {', '.join(NAMES)}; all that are recorded if left out."
)
RuleOption = typer.Option("pooled-wilson", "--rule", help=f"The other rule: {', '.join(RULES)}.")
CannotRunOption = typer.Option(
    "apart",
    "--cannot-run",
    help="How states count that were recorded apart, as the mutation cannot run on them: apart or passed.",
)
RecordingOption = typer.Option("replay", "--synthesizer", help="Which recording: replay, or replay:DIR with a NAME.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("rescore")(rescore)


def rescore(
    name: str | None = NameArgument,
    rule: str = RuleOption,
    cannot_run: str = CannotRunOption,
    synthesizer: str = RecordingOption,
    as_json: bool = JsonFlag,
) -> None:
    """Decide every recorded evaluation again under another rule; exit 0 if no decision changes.

    Example: `takeback lab rescore factorial --rule pooled-wilson --json`
    """
    if name is not None and name not in NAMES:
        raise InputError("NAME", found=name, expected=f"one of {', '.join(NAMES)}")
    together = read_counting(cannot_run) == PASSED
    found = {one: _again(one, rule, synthesizer, together=together) for one in ((name,) if name else _recorded())}
    changed = sum(len(one["changed"]) for one in found.values())
    evaluations = sum(one["evaluations"] for one in found.values())
    if as_json:
        emit({"rule": rule, "cannot_run": cannot_run, "evaluations": evaluations, "changed": changed, "runs": found})
    else:
        for one, run in found.items():
            rows = [(cell, str(both["recorded"]), str(both["rescored"])) for cell, both in run["admitted"].items()]
            show_table(Table("rescore", "", (one, run["recorded_rule"], rule), tuple(rows)))
        out.print(f"{changed} of {evaluations} decisions change")
    finish(yes=not changed)


def _recorded() -> list[str]:
    named: dict[str, Any] = {name: experiment_named(name) for name in NAMES}
    return [name for name, experiment in named.items() if has_recording(experiment.shipped())]


def _again(name: str, rule: str, synthesizer: str, *, together: bool) -> dict[str, Any]:
    with lab_extra():
        _, data = conduct(experiment_named(name), {}, Running(synthesizer=synthesizer, as_json=True))
    [one] = data.values()
    return rescored(name, one, rule, together=together)
