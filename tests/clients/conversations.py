"""A scripted conversation with a real client, with Takeback's guard and recorder in its project or without."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from tests.clients.conftest import Place, made, taken_back
from tests.clients.models import chat_server

from takeback.adapters.opener import load_manifest
from takeback.agents.installation import BY, Placing, build_candidate, describe_installation, list_additions
from takeback.harness import Applied
from takeback.harness.entry_log import EntryView

Call = dict[str, Any]


def install_takeback(place: Place) -> None:
    """Add guard and recorder to a project's files, as one change; the server has tests of its own."""
    place.env["PYTHONPATH"] = os.pathsep.join(sys.path)
    with closing(place.opened()) as harness:
        kinds = load_manifest(place.root).workspace.kinds
        program = [sys.executable, "-m", "takeback"]
        ops = list_additions(place.client, kinds, harness.state, program, Placing(shared=True))
        ops = [op for op in ops if op["op_type"] != "register_tool"]
        note = describe_installation(place.client)
        done = harness.apply(build_candidate(ops, harness.state), note=note, by=BY)
        assert isinstance(done, Applied), done


def converse(place: Place, words: Sequence[str], *calls: Call, url: str = "") -> str:
    """Let the client make these calls, one per turn; returns all that the model was told."""
    with chat_server([*calls, {"content": "done"}]) as server:
        own = {key: value.replace("URL", server.url) for key, value in place.env.items()}
        before, place.env = place.env, own
        try:
            if url:
                place.run(*(word.replace("URL", server.url) for word in url.split()))
            place.run(*words, seconds=300)
        finally:
            place.env = before
        return json.dumps(server.requests)


def list_recorded(place: Place) -> list[EntryView]:
    """The entries that the recorder made, oldest first."""
    with closing(place.opened()) as harness:
        return [entry for entry in reversed(list(harness.log())) if entry.kind == "adopt"]


def require_seen_and_gone(place: Place, ops: Sequence[Call], told: str, ask: Any) -> None:
    """Demand that the client tells of a change after it is applied, and no longer after it is undone."""
    before = place.files()
    assert told not in ask()
    with closing(place.opened()) as harness:
        entry = made(harness, *ops)
        assert told in ask()
        taken_back(harness, entry)
    assert place.files() == before
    assert told not in ask()
    assert place.files() == before
