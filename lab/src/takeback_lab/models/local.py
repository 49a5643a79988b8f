"""A real model on this machine: llama.cpp in this process, served on loopback only, to whoever holds its key.

Takes the path of any GGUF file. The reply is constrained by the request's schema in its compact form; the
shared start of prompts is cached between calls, so replies are recorded rather than recomputed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from takeback.errors import MissingExtraError, ServiceFault
from takeback.repair.models.chat import Provider, Reply, Request, Surroundings
from takeback.repair.models.openai import Endpoint, OpenAIModel, Secret
from takeback_lab.errors import WeightsError
from takeback_lab.models.weights import QWEN, require

GGUF_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """How the model runs: its file, threads, slots answered at once, context for each slot, the key it asks for."""

    path: Path
    threads: int = 1
    slots: int = 1
    context: int = 4096
    timeout_s: float = 3600.0
    """A runaway reply of 2048 tokens can take over 15 minutes; it ends as truncated, not as a fault."""
    port: int = 0
    api_key: Secret = field(default_factory=lambda: Secret(token_urlsafe(24)))


class LocalModel:
    """A GGUF model served inside this process."""

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._server = start_server(settings)
        self._chat = OpenAIModel(
            Endpoint(
                base_url=self.base_url,
                api_key=settings.api_key,
                model=self.name,
                schema_form="llguidance",
                timeout_s=settings.timeout_s,
                max_retries=0,
                concurrency=settings.slots,
                extra_body={"cache_prompt": True},
            )
        )

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self._settings.path.stem

    @property
    def runtime(self) -> str:
        """The build that answers, as a recording names it."""
        built = digest_own_ggml()
        return f"xllamacpp {version('xllamacpp')}" + (f", ggml built here {built}" if built else "")

    @property
    def base_url(self) -> str:
        """Where the server listens; any OpenAI-compatible client can use it."""
        return str(self._server.listening_address) + "/v1"

    def complete(self, request: Request) -> Reply:
        """Answer one request."""
        return self._chat.complete(request)


def _open(argument: str, around: Surroundings) -> LocalModel:
    path = Path(argument) if argument else require(QWEN, around.cache)
    return LocalModel(LocalSettings(path, threads=around.threads, slots=around.slots))


PROVIDER = Provider("<file.gguf>", required=False, open=_open)


def start_server(settings: LocalSettings) -> Any:
    """A llama.cpp server on loopback for the file; it stops when it is no longer referenced."""
    _require_gguf(settings.path)
    try:
        import xllamacpp  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise MissingExtraError("xllamacpp is not installed", hint="pip install 'takeback[local]'") from None
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.hostnames = ["127.0.0.1"]
    params.port = settings.port
    params.api_keys = [settings.api_key.reveal()]
    params.offline = True
    params.ui = False
    params.verbosity = 0
    params.n_parallel = settings.slots
    params.n_ctx = settings.context * settings.slots
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ServiceFault(f"llama.cpp could not load the model ({error})", where=str(settings.path)) from None


@cache
def digest_own_ggml() -> str | None:
    """Return the start of the digest of a ggml that was loaded before the wheel's own (LD_PRELOAD), or None."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.is_file() else []
    loaded = sorted({line.split(maxsplit=5)[-1] for line in lines if "/libggml" in line})
    digest = hashlib.sha256()
    for path in loaded:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()[:12] if loaded else None


def _require_gguf(path: Path) -> None:
    if not path.is_file():
        raise WeightsError("no such file", where=str(path), hint="'takeback model fetch' gets one")
    with path.open("rb") as file:
        start = file.read(len(GGUF_MAGIC))
    if start != GGUF_MAGIC:
        raise WeightsError(f"not a GGUF file: starts with {start!r}", where=str(path))
