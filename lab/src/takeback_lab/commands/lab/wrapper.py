"""One wrapper for every experiment: its options become a command, which plans, runs, writes down and shows.

What an experiment takes is declared by the experiment; what all of them take (engine, workers, results, JSON) and
what those take that ask a model (synthesizer, recording, freezing) is added here.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Final, cast

import typer

from takeback.cli.output import emit, finish, out, set_interrupt_message, show_bar
from takeback.cli.repair import SYNTHESIZERS, is_plain_replay, open_synthesizer
from takeback.errors import InputError, RecordingError
from takeback.repair.models import RecordingModel
from takeback.repair.models.replies import PACKED
from takeback.repair.synthesizer import Spec, make_method, parse_spec
from takeback_lab.commands.lab.answering import answer_request
from takeback_lab.commands.lab.extra import lab_extra
from takeback_lab.commands.lab.printing import show_lines, show_notes
from takeback_lab.engines import ENGINES, UnitEngine, engine_named
from takeback_lab.experiment import Asked, Experiment, Option, RecordedExperiment
from takeback_lab.experiments.recorded import EDITIONS, is_shipped, recorded_folder
from takeback_lab.lock import read_lock
from takeback_lab.manifest import LOCK
from takeback_lab.recordings import count_imported, digest_replies, has_recording, pack_to_bytes
from takeback_lab.round_options import read_options
from takeback_lab.rounds import Rounds, Unanswered
from takeback_lab.runner import Ran, run_experiment

KINDS: Final[Mapping[str, Any]] = {
    "text": str | None,
    "number": int | None,
    "path": Path | None,
    "texts": list[str] | None,
}
EARLIER: Final = {f"replay:{edition}": edition for edition in EDITIONS}
"""The earlier recordings, which ship too."""
RAY_DEFAULTS: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
"""Without these Ray would report home, and its workers would get only what nobody else on the machine wants."""
RUNNING: Final = (
    Option("engine", "text", f"Where units run: {' or '.join(ENGINES)} (extra scale); local if left out."),
    Option("workers", "number", "How many units run at once; 1 if left out.", least=1),
    Option("out", "path", "Results folder: lock, data and manifest go to a folder in it."),
)
ASKING_OPTIONS: Final = (
    Option("synthesizer", "text", f"Who is asked: {SYNTHESIZERS}."),
    Option("record", "path", "Write every reply there, and resume from it."),
    Option("freeze", "path", "Write what was run there, beside its recording, which then replays without options."),
    Option("threads", "number", "Threads of the local model; 1 if left out.", least=1),
)
JSON: Final = Parameter(
    "as_json",
    Parameter.KEYWORD_ONLY,
    annotation=bool,
    default=typer.Option(False, "--json", help="Print one JSON object on stdout."),
)


@dataclass(frozen=True, slots=True)
class Running:
    """How a run is to be done, apart from what it does."""

    engine: str = "local"
    workers: int = 1
    out: Path | None = None
    synthesizer: str = ""
    record: Path | None = None
    freeze: Path | None = None
    threads: int = 1
    as_json: bool = False


def command_of(
    name: str, told: str, options: tuple[Option, ...], do: Callable[[dict[str, Any], bool], None]
) -> Callable[..., None]:
    """A command with these options; `do` is given those that were set, and whether JSON is wanted."""

    def command(*, as_json: bool, **words: Any) -> None:
        do({word: value for word, value in words.items() if value not in (None, [])}, as_json)

    parameters = [_parameter(option) for option in options] + [JSON]
    command.__name__ = name.replace("-", "_")
    command.__doc__ = inspect.cleandoc(told)
    command.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameter(option: Option) -> Parameter:
    metavar = {"path": "DIR", "text": None, "number": None, "texts": None}[option.kind]
    declared = typer.Option(
        None, f"--{option.name}", help=option.help, min=option.least, metavar=metavar, show_default=False
    )
    name = option.name.replace("-", "_")
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=KINDS[option.kind], default=declared)


def experiment_command(experiment: Experiment[Any]) -> Callable[..., None]:
    """The command of an experiment."""
    options = (*experiment.options, *(ASKING_OPTIONS if experiment.asks else ()), *RUNNING)

    def do(words: dict[str, Any], as_json: bool) -> None:
        names = {option.name for option in (*ASKING_OPTIONS, *RUNNING)}
        running = Running(**{name: words.pop(name) for name in names if name in words}, as_json=as_json)
        with lab_extra():
            found, _ = conduct(experiment, words, running)
        if as_json:
            emit(found)
        finish(yes=experiment.holds(found))

    return command_of(experiment.name, type(experiment).__doc__ or "", options, do)


def conduct(
    experiment: Experiment[Any], given: Mapping[str, Any], running: Running
) -> tuple[dict[str, Any], Mapping[str, dict[str, Any]]]:
    """Run an experiment with the options given, and show it unless JSON is wanted; its summary and its data.

    What libraries print meanwhile (Ray says on stdout that a worker died) goes to stderr.
    """
    set_interrupt_message(_kept_of(running))
    if experiment.asks:
        ran, summary = _ask(cast("RecordedExperiment[Any]", experiment), given, running)
    else:
        plan = experiment.plan(given, None)
        with show_bar(experiment.name) as tick, redirect_stdout(sys.stderr):
            ran = run_experiment(experiment, plan, engine=_engine(running), results=running.out, tick=tick)
        summary = experiment.summary(plan, ran.data)
    summary |= {"lock": ran.lock.digest}
    if running.out is not None:
        summary |= {"out": str(running.out), "results": dict(ran.written)}
    if not running.as_json:
        show_lines(experiment.lines(summary))
        if summary.get("imported"):
            out.print(f"answers imported: {summary['imported']}")
        for folder in ran.written:
            out.print(f"written to {running.out}/{folder} under lock {ran.lock.digest[:16]}")
    return summary, ran.data


def _kept_of(running: Running) -> str:
    """What is left of a run that is interrupted."""
    if running.record is None:
        return "results are written at the end, so nothing is; the same command starts over"
    return f"every reply so far is in {running.record}; the same command goes on from there"


def _ask(
    experiment: RecordedExperiment[Any], given: Mapping[str, Any], running: Running
) -> tuple[Ran, dict[str, Any]]:
    text = running.synthesizer or experiment.default_synthesizer
    shipped = recording_meant(experiment, text)
    text = f"replay:{shipped}" if text in EARLIER else text
    spec = parse_spec(text)
    replayed = _replayed(spec, shipped)
    frozen = experiment.thaw_run(replayed) if replayed is not None else None
    if replayed is not None and frozen is None:
        given = {**read_options(replayed, experiment.name, experiment.options)[1], **given}
    plan = experiment.plan(given, frozen)
    show_notes(plan)
    folder = running.record or replayed
    asks = spec.is_model or spec.behind is not None
    _demand_freezable(running.freeze, folder, experiment.name, asks=asks)
    kept = None if folder is None or is_shipped(folder) else folder
    with (
        _asked(text, spec, shipped, running) as (asked, engine),
        show_bar(experiment.name) as tick,
        redirect_stdout(sys.stderr),
    ):
        ran = run_experiment(
            experiment,
            plan,
            asked=asked,
            engine=engine,
            results=running.out,
            tick=tick,
            files=lambda: {} if kept is None or not has_recording(kept) else _recording(kept),
            replies=lambda: {} if folder is None or not has_recording(folder) else _tell_replies(folder),
            held=read_lock(replayed / LOCK) if replayed is not None and frozen is not None else None,
        )
    if running.freeze is not None:
        if folder is not None:
            _bring_recording(folder, running.freeze)
        experiment.freeze_run(running.freeze, plan, ran.done, asked.name)
    imported = max((one.get("imported", 0) for one in ran.data.values()), default=0)
    return ran, {**experiment.summary(plan, ran.data), "imported": imported}


def _tell_replies(folder: Path) -> dict[str, Any]:
    """What a result says of the replies it rests on: their digest, and how many were imported, if any."""
    imported = count_imported(folder)
    return {"replies": digest_replies(folder), **({"imported": imported} if imported else {})}


def _demand_freezable(freeze: Path | None, folder: Path | None, name: str, *, asks: bool) -> None:
    """Refuse, before anybody is asked, to freeze a run that could not be replayed from there."""
    if freeze is None or (folder is None and not asks):
        return
    line = f"'takeback lab {name} --record {freeze} --freeze {freeze}'"
    if folder is None:
        raise InputError("--freeze", found="no recording", expected="--record with it", hint=f"as in {line}")
    if freeze.resolve() != folder.resolve() and has_recording(freeze):
        found = f"{freeze}, which holds another recording than {folder}"
        raise InputError("--freeze", found=found, expected="the folder of this recording, or an empty one")


def _bring_recording(folder: Path, freeze: Path) -> None:
    """Put a copy of the recording where the run is frozen, so that it can be replayed from there."""
    if freeze.resolve() != folder.resolve() and has_recording(folder):
        freeze.mkdir(parents=True, exist_ok=True)
        (freeze / PACKED).write_bytes(pack_to_bytes(folder))


def _engine(running: Running) -> UnitEngine:
    for name, value in RAY_DEFAULTS.items():
        os.environ.setdefault(name, value)
    return engine_named(running.engine, running.workers, address=os.environ.get("RAY_ADDRESS"))


def _recording(folder: Path) -> dict[str, bytes]:
    return {"recording.jsonl.gz": pack_to_bytes(folder)}


@contextmanager
def _asked(text: str, spec: Spec, shipped: Path, running: Running) -> Iterator[tuple[Asked, UnitEngine]]:
    """Who is asked and how.

    A model is asked on threads here, or round by round with the requests answered on a cluster; where nobody has to
    be asked (oracle, replay) a cluster does the units themselves.
    """
    alone = spec.kind in {"oracle", "replay"} or (spec.kind == "portfolio" and spec.behind is None)
    if running.engine == "local" or alone:
        engine = (
            engine_named("local", running.workers, waiting=True) if running.engine == "local" else _engine(running)
        )
        with open_synthesizer(text, running.record, running.threads, shipped, slots=running.workers) as found:
            yield Asked(found.model, found.method, found.model_name), engine
        return
    engine = _engine(running)
    if spec.kind != "openai":
        expected = "openai:MODEL, whose endpoint the workers ask, or oracle, portfolio or replay"
        raise InputError(f"--engine {running.engine}", found=str(spec), expected=expected)
    unanswered = Unanswered(spec.argument)
    with _folder(running.record) as folder, RecordingModel(unanswered, folder) as recorded:
        rounds = Rounds(recorded, unanswered, engine, partial(answer_request, text))
        yield Asked(recorded, make_method(spec, recorded), spec.argument), rounds


def _folder(record: Path | None) -> AbstractContextManager[Path]:
    if record is not None:
        return nullcontext(record)
    return _temporary()


@contextmanager
def _temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def recording_meant(experiment: RecordedExperiment[Any], text: str) -> Path:
    """The shipped recording that `replay`, `replay:plain` or `replay:first` stands for; it must be there."""
    edition = EARLIER.get(text)
    folder = recorded_folder() / edition / experiment.name if edition else experiment.shipped()
    spec = parse_spec(text)
    plain = any(one is not None and is_plain_replay(one) for one in (spec, spec.behind))
    if (edition or plain) and not has_recording(folder):
        raise RecordingError(
            f"no recording of it {f'called {edition} ' if edition else ''}comes with Takeback",
            where=f"lab {experiment.name}",
            hint=(
                f"record one: 'takeback lab {experiment.name} --synthesizer local --record DIR --freeze DIR', "
                "then --synthesizer replay:DIR"
            ),
        )
    return folder


def _replayed(spec: Spec, shipped: Path) -> Path | None:
    if spec.kind != "replay":
        return None
    return Path(spec.argument) if spec.argument else shipped
