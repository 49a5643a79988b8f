"""`takeback model`: get a real model onto this machine, see what is there, serve it on loopback."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from secrets import token_urlsafe
from typing import Annotated

import typer

from takeback.cli.output import JsonFlag, emit, err, finish, out, show_bar
from takeback.repair.models import Secret
from takeback.repair.models.chat import cache_directory
from takeback_lab.models import weights
from takeback_lab.models.local import LocalSettings, start_server
from takeback_lab.models.weights import QWEN, SMOL, Weights

Small = Annotated[
    bool, typer.Option("--small", help="Use the 98 MB model: it exercises the pipeline, but solves nothing.")
]


def cache() -> Path:
    """This user's cache directory."""
    return cache_directory(os.environ, sys.platform, Path.home())


def register(app: typer.Typer) -> None:
    """Add the `model` commands."""
    model = typer.Typer(help="Get a real model onto this machine, and serve it.", no_args_is_help=True)
    model.command("fetch")(fetch)
    model.command("status")(status)
    model.command("serve")(serve)
    app.add_typer(model, name="model")


def fetch(small: Small = False, as_json: bool = JsonFlag) -> None:
    """Download the weights, check their digest, and keep them in the cache.

    Example: `takeback model fetch --small`
    """
    chosen = SMOL if small else QWEN
    path = _fetch_with_bar(chosen)
    found = {**_describe(chosen), "path": str(path), "sha256": chosen.sha256}
    if as_json:
        emit(found)
    else:
        out.print(f"{chosen.name} ({chosen.licence}) is in {path}")


def status(as_json: bool = JsonFlag) -> None:
    """List the weights on this machine. Exit code 1 if there are none.

    Example: `takeback model status --json`
    """
    found = [_describe(known) for known in (QWEN, SMOL)]
    if as_json:
        emit({"cache": str(cache()), "models": found})
    else:
        for row in found:
            word = row["path"] if row["present"] else "not here"
            out.print(f"{row['model']}: {word}")
    present = any(row["present"] for row in found)
    if not present:
        err.print("no weights yet: run 'takeback model fetch', or use any GGUF file: --synthesizer local:FILE.gguf")
    finish(yes=present)


def serve(
    *,
    small: Small = False,
    model_path: Annotated[Path | None, typer.Option(metavar="FILE", help="Serve this GGUF file instead.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 picks a free one.")] = 0,
    threads: Annotated[int, typer.Option(min=1, max=256, metavar="N", help="Threads of the model.")] = 1,
    context: Annotated[int, typer.Option(min=512, max=1_048_576, metavar="N", help="Tokens of context.")] = 4096,
    as_json: bool = JsonFlag,
) -> None:
    """Serve a model on loopback until interrupted. Any OpenAI-compatible client that has the key can use it.

    The key is TAKEBACK_API_KEY if that is set; otherwise a new key is shown once.

    Example: `takeback model serve --model-path ./other.gguf --port 8080`
    """
    path = model_path or weights.require(SMOL if small else QWEN, cache())
    given = os.environ.get("TAKEBACK_API_KEY")
    key = Secret(given or token_urlsafe(24))
    server = start_server(LocalSettings(path, threads=threads, context=context, port=port, api_key=key))
    base_url = f"{server.listening_address}/v1"
    if as_json:
        emit({"base_url": base_url, "model": path.stem, "api_key": None if given else key.reveal()})
        sys.stdout.flush()
    else:
        out.print(f"{path.stem} at {base_url}")
        out.print("key: that of TAKEBACK_API_KEY" if given else f"key: {key.reveal()}")
    err.print("serving; Ctrl-C stops it")
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        del server


def _fetch_with_bar(chosen: Weights) -> Path:
    with show_bar(chosen.name, "bytes") as advance:
        return weights.fetch(chosen, cache(), progress=lambda done, _: advance(done, chosen.size))


def _describe(known: Weights) -> dict[str, object]:
    return {
        "model": known.name,
        "present": weights.is_present(known, cache()),
        "path": str(known.path(cache())),
        "bytes": known.size,
        "licence": known.licence,
    }
