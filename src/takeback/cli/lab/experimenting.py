"""What the experiments' commands share: options, a progress bar, writing results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from takeback.cli.output import err
from takeback.cli.sampling import read_sampling
from takeback.cli.synthesizers import read_rule
from takeback.lab.experiments import controlled, factorial, fresh
from takeback.lab.experiments.frozen import RAN
from takeback.lab.experiments.units import Tick
from takeback.lab.lock import Lock
from takeback.lab.protocol import check_frozen
from takeback.lab.results import write_results
from takeback.synthesize.spec import parse_spec
from takeback.verify import RULE_NAMES

AnyPlan = TypeVar("AnyPlan", controlled.Plan, factorial.Plan, fresh.Plan)
BudgetOption = typer.Option(None, "--budget", min=1, max=64, help="Turns at most; 4, or the recording's.")
RuleOption = typer.Option(
    None, "--rule", help=f"Rule of admission: {', '.join(RULE_NAMES)}; split-wald, or the recording's."
)
WorkersOption = typer.Option(1, "--workers", min=1, max=64, help="How many units run at once.")
OutOption = typer.Option(
    None, "--out", metavar="DIR", help="Results folder: lock, data and manifest go to a folder in it."
)
FreezeOption = typer.Option(
    None, "--freeze", metavar="DIR", help="Write what was run there, beside its recording: it replays untold."
)
BankOption = typer.Option(None, "--bank", metavar="DIR", help="A frozen bank; the shipped one if left out.")


@contextmanager
def bar(title: str, total: int) -> Iterator[Tick]:
    """A progress bar on stderr; the tick moves it on by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err.console, transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


def replayed(synthesizer: str, recording: Path, load: Callable[[Path], AnyPlan]) -> AnyPlan | None:
    """What a recording was frozen with, if it is replayed and was; `recording` is what plain `replay` means."""
    spec = parse_spec(synthesizer)
    folder = Path(spec.argument) if spec.argument else recording
    return load(folder) if spec.kind == "replay" and (folder / RAN).exists() else None


def altered(plan: AnyPlan, sampling: str, *, rule: str | None = None, **given: Any) -> AnyPlan:
    """The plan with the options that were given; the others stay as they are, such as those of a recording."""
    chosen = {name: value for name, value in given.items() if value is not None}
    if rule is not None:
        chosen["rule"] = read_rule(rule)
    return replace(plan, sampling=read_sampling(sampling, plan.sampling), **chosen)


def spent_line(account: Mapping[str, Any]) -> str:
    """What a run cost, in one line."""
    calls, written, seconds = account["calls"], account["completion_tokens"], account["latency_s"]
    return f"{calls} calls, {written} tokens written, {seconds:.0f} s"


def begin(results: Path | None, lock: Lock) -> None:
    """Refuse to run where another lock of this experiment was frozen in the results folder."""
    if results is not None:
        check_frozen(results, lock)


def deliver(results: Path | None, who: str, lock: Lock, data: dict[str, Any]) -> dict[str, Any]:
    """Write the results to a folder named after experiment and synthesizer; the digests, for the output."""
    if results is None:
        return {"lock": lock.digest}
    folder = results / f"{lock.name}-{re.sub(r'[^A-Za-z0-9._-]+', '-', who)}"
    result = write_results(folder, lock.name, lock, data)
    return {"lock": lock.digest, "result": result.digest, "out": str(folder)}
