"""The real small model on this machine: the pipe from a request to a schema-valid reply. Needs its weights."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from takeback.repair.attempt import read_repair
from takeback.repair.models import Request, Secret
from takeback.repair.models.chat import cache_directory
from takeback.repair.prompts import load_prompt_set
from takeback.state import Level
from takeback_lab.models import weights
from takeback_lab.models.local import LocalModel, LocalSettings, start_server

CACHE = cache_directory(os.environ, sys.platform, Path.home())

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not weights.is_present(weights.SMOL, CACHE), reason="run 'takeback model fetch --small'"),
]


@pytest.mark.parametrize(("key", "status"), [("", 401), ("wrong", 401), ("sesame", 200)])
def test_the_server_answers_only_who_has_its_key(key: str, status: int) -> None:
    server = start_server(LocalSettings(weights.SMOL.path(CACHE), context=512, api_key=Secret("sesame")))
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    assert server.listening_address.startswith("http://127.0.0.1:")
    request = urllib.request.Request(f"{server.listening_address}/v1/chat/completions", body, headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:  # noqa: S310  (loopback)
            found = reply.status
    except urllib.error.HTTPError as fault:
        found = fault.code
    assert found == status


def test_a_small_model_answers_within_the_schema() -> None:
    prompts = load_prompt_set()
    mutation = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}]
    model = LocalModel(LocalSettings(weights.SMOL.path(CACHE)))
    request = Request(
        model=model.name,
        messages=prompts.regenerate(Level.L1, mutation=mutation),
        schema=prompts.schema(Level.L1, mutation=False),
        max_tokens=400,
    )
    reply = model.complete(request)
    assert reply.usage.prompt_tokens > 100
    if reply.finish_reason == "stop":
        assert set(json.loads(reply.text)) == {"witness", "recovery", "contract"}
    else:
        found = read_repair(reply, ())
        assert found.rejected is not None
        assert found.rejected.shortfall == "truncated"
