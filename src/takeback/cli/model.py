"""`takeback model`: get a real model onto this machine, see what is there, serve it on loopback."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from takeback.errors import TakebackError
from takeback.synthesize.models import LocalSettings, weights
from takeback.synthesize.models.local import start_server
from takeback.synthesize.models.weights import QWEN, SMOL, Weights

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, talk on stderr.")]
Small = Annotated[bool, typer.Option("--small", help="The 98 MB model: proves the pipe, not the point.")]

talk = Console(stderr=True)


def cache() -> Path:
    """This user's cache directory."""
    return weights.cache_directory(os.environ, sys.platform, Path.home())


def register(app: typer.Typer) -> None:
    """Add the `model` commands."""
    model = typer.Typer(help="A real model on this machine.", no_args_is_help=True)
    model.command("fetch")(fetch)
    model.command("status")(status)
    model.command("serve")(serve)
    app.add_typer(model, name="model")


def fetch(small: Small = False, as_json: Json = False) -> None:
    """Download the weights, check them byte for byte, keep them in the cache.

    Example: takeback model fetch --small
    """
    chosen = SMOL if small else QWEN
    try:
        path = _fetch_with_bar(chosen)
    except TakebackError as error:
        _fail(error, as_json)
    _say({"model": chosen.name, "path": str(path), "sha256": chosen.sha256, "licence": chosen.licence}, as_json)


def status(as_json: Json = False) -> None:
    """Say which weights are on this machine. Exit code 1 if there are none.

    Example: takeback model status --json
    """
    found = [_describe(known) for known in (QWEN, SMOL)]
    _say({"cache": str(cache()), "models": found}, as_json)
    if not any(row["present"] for row in found):
        talk.print("no weights yet: run 'takeback model fetch', or pass any GGUF file with --model-path")
        raise typer.Exit(1)


def serve(
    *,
    small: Small = False,
    model_path: Annotated[Path | None, typer.Option(help="Any GGUF file instead.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 0,
    threads: Annotated[int, typer.Option(min=1, max=256)] = 1,
    context: Annotated[int, typer.Option(min=512, max=1_048_576, help="Tokens of context.")] = 4096,
    as_json: Json = False,
) -> None:
    """Serve a model on loopback until interrupted; any OpenAI-compatible client can use it.

    Example: takeback model serve --model-path ./other.gguf --port 8080
    """
    try:
        path = model_path or weights.require(SMOL if small else QWEN, cache())
        server = start_server(LocalSettings(path, threads=threads, context=context, port=port))
    except TakebackError as error:
        _fail(error, as_json)
    _say({"base_url": f"{server.listening_address}/v1", "model": path.stem}, as_json)
    talk.print("serving; Ctrl-C stops it")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        del server


def _fetch_with_bar(chosen: Weights) -> Path:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=talk) as bar:
        task = bar.add_task(chosen.name, total=chosen.size)
        return weights.fetch(chosen, cache(), progress=lambda done, _: bar.update(task, completed=done))


def _describe(known: Weights) -> dict[str, object]:
    return {
        "model": known.name,
        "present": weights.is_present(known, cache()),
        "path": str(known.path(cache())),
        "bytes": known.size,
        "licence": known.licence,
    }


def _say(answer: dict[str, object], as_json: bool) -> None:
    if as_json:
        print(json.dumps(answer, sort_keys=True), flush=True)
        return
    for key, value in answer.items():
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            text = "  ".join(f"{k}={v}" for k, v in row.items()) if isinstance(row, dict) else row
            print(f"{key}: {text}", flush=True)


def _fail(error: TakebackError, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"error": str(error)}))
    talk.print(str(error), style="red", markup=False)
    raise typer.Exit(2) from None
