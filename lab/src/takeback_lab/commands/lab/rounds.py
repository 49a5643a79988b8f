"""`takeback lab export-prompts`, `import-replies`, `pack`, `collect`: answers that come from elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.errors import InputError, RecordingError
from takeback.repair.models.replies import PACKED, PLAIN, read_lines
from takeback_lab.commands.lab.printing import show_notes
from takeback_lab.commands.lab.wrapper import command_of
from takeback_lab.experiment import Option
from takeback_lab.recordings import pack
from takeback_lab.registry import ASKING, experiment_named
from takeback_lab.round_options import read_experiment, read_options, write_options
from takeback_lab.rounds import import_replies, progress_of, read_shards, write_pending, write_shard

RECORD: Final = Option("record", "path", "The recording: what is answered is taken from there.")
MODEL: Final = Option("model", "text", "The name of the model that answers, as requests carry it.")
SHARD: Final = Option(
    "shard", "text", "Write also this share of the requests to a file of its own, such as 3/10; all/10 writes each."
)
TO: Final = Option("to", "path", "Where to: the recording, packed, with what was run and its lock.")
RepliesRecordOption = typer.Option(..., "--record", metavar="DIR", help="The recording the replies belong to.")
RepliesArgument = typer.Argument(..., metavar="FILE", help="Replies as JSON lines: digest and text.")
FolderArgument = typer.Argument(..., metavar="DIR", help="A folder with a recording.")


def register(lab_app: typer.Typer) -> None:
    """Add the commands."""
    exports = typer.Typer(help="Write the requests that an experiment waits for.", no_args_is_help=True)
    collects = typer.Typer(help="Freeze a recording as far as it carries an experiment.", no_args_is_help=True)
    for name in ASKING:
        exports.command(name)(_made(name, (RECORD, MODEL, SHARD), _export, EXPORT))
        collects.command(name)(_made(name, (RECORD, TO), _collect, COLLECT))
    lab_app.add_typer(exports, name="export-prompts")
    lab_app.add_typer(collects, name="collect")
    lab_app.command("import-replies")(import_replies_command)
    lab_app.command("pack")(pack_command)


EXPORT: Final = """Write the requests that NAME waits for to `pending.jsonl` beside its recording, one JSON line each.

Options are those of the experiment; they are kept beside the recording and hold for later rounds and the replay.
Import the replies and export again, round by round, until nothing is pending.

Example: `takeback lab export-prompts NAME --model MODEL --record DIR`
"""
COLLECT: Final = """Freeze what a recording holds of NAME: the cases that are done, under the lock of all.

Options are those that the run was given.

Example: `takeback lab collect NAME --record DIR --to DIR2`
"""


def _made(name: str, more: tuple[Option, ...], do: Callable[..., None], told: str) -> Callable[..., None]:
    experiment = experiment_named(name)
    return command_of(
        name,
        told.replace("NAME", name),
        (*experiment.options, *more),
        lambda words, as_json: do(name, words, as_json=as_json),
    )


def _needed(words: dict[str, Any], name: str) -> Any:
    if name not in words:
        raise InputError(f"--{name}", found="nothing", expected=f"--{name}, which this needs")
    return words.pop(name)


def _export(name: str, words: dict[str, Any], *, as_json: bool) -> None:
    folder = _needed(words, "record")
    shards = read_shards(words.pop("shard")) if "shard" in words else []
    experiment = experiment_named(name)
    known, held = read_options(folder, name, experiment.options)
    if known and "model" not in words:
        words["model"] = known
    model = _needed(words, "model")
    words = {**held, **words}
    plan = experiment.plan(words, None)
    show_notes(plan)
    done, requests = progress_of(experiment, plan, model, folder)
    path = write_pending(folder, requests)
    write_options(folder, name, model, words)
    files = [write_shard(folder, requests, shard) for shard in shards]
    path = files[0] if len(files) == 1 else path
    found = {"pending": len(requests), "units": len(plan.units()), "done": len(done), "file": str(path)}
    found |= {"shards": [str(file) for file in files]}
    if as_json:
        emit(found)
    else:
        out.print(f"{found['pending']} requests pending in {path}; {found['done']} of {found['units']} units done")
        if len(files) > 1:
            out.print(f"in {len(files)} shards: {files[0]} … {files[-1]}")
        if requests:
            again = f"and 'takeback lab export-prompts {name} --record {folder}' for the next round"
            out.print(f"next: answer them, then 'takeback lab import-replies FILE --record {folder}' {again}")
        else:
            out.print(f"next: 'takeback lab {name} --synthesizer replay:{folder} --freeze {folder}'")
    finish(yes=True)


def import_replies_command(
    replies: Path = RepliesArgument, record: Path = RepliesRecordOption, as_json: bool = JsonFlag
) -> None:
    """Take in replies produced elsewhere, each by the digest of its request; lines of a batch service's output do.

    Example: `takeback lab import-replies replies.jsonl --record DIR`
    """
    found = import_replies(replies, record)
    if as_json:
        emit(found)
    else:
        out.print(f"{found['imported']} replies taken in, {found['known']} known before, {found['left']} still open")
        again = f"'takeback lab export-prompts {read_experiment(record) or 'NAME'} --record {record}'"
        rest = "answer the others and import them too" if found["left"] else f"{again} says what is pending now"
        out.print(f"next: {rest}")
    finish(yes=True)


def pack_command(folder: Path = FolderArgument, as_json: bool = JsonFlag) -> None:
    """Fold a folder's recording into one packed file, sorted by digest: equal recordings, equal bytes.

    Example: `takeback lab pack DIR`
    """
    path = pack(folder)
    calls = sum(1 for _ in read_lines(folder))
    if as_json:
        emit({"file": str(path), "calls": calls, "bytes": path.stat().st_size})
    else:
        out.print(f"{calls} calls in {path}, {path.stat().st_size} bytes")
    finish(yes=True)


def _collect(name: str, words: dict[str, Any], *, as_json: bool) -> None:
    folder, target = _needed(words, "record"), _needed(words, "to")
    experiment: Any = experiment_named(name)
    first = next(read_lines(folder), None)
    if first is None:
        raise RecordingError("the recording holds no call", where=str(folder), hint="nothing was answered so far")
    model = str(first.request["model"])
    target.mkdir(parents=True, exist_ok=True)
    for old in (PACKED, PLAIN):
        (target / old).unlink(missing_ok=True)
        if (folder / old).exists():
            shutil.copyfile(folder / old, target / old)
    pack(target)
    _, held = read_options(folder, name, experiment.options)
    plan = experiment.plan({**held, **words}, None)
    done, requests = progress_of(experiment, plan, model, target)
    reached = plan.reached(frozenset(done))
    experiment.freeze_run(target, reached, {key: done[key] for key in reached.units()}, model)
    units = len(plan.units())
    found = {"units": units, "done": len(done), "kept": len(reached.units()), "to": str(target)}
    if as_json:
        emit(found)
    else:
        out.print(f"{found['kept']} of {units} units frozen in {target}; {len(requests)} requests still open")
    finish(yes=True)
