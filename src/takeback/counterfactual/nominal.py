"""The state of a believable agent, used where a candidate comes without a task's nominal state."""

from __future__ import annotations

from functools import cache
from typing import Any

from takeback.state import SURFACES, State

_PLAIN: dict[str, Any] = {
    "config": {
        "agent": {"timeout_sec": 30, "max_retries": 2, "temperature": 0.2},
        "logging": {"level": "info", "json": False},
        "features": {"planner": True},
    },
    "prompts": {"system": "You are a careful coding agent.", "summary": "Summarise the conversation."},
    "routing": {"default_model": "large-1", "fallback_model": "small-1"},
    "tools": {
        "grep": {
            "id": "grep",
            "description": "Search files for a pattern.",
            "parameters": {"type": "object", "properties": {"pattern": {"type": "string"}}},
            "implementation": "tools.search:grep",
        },
        "read_file": {
            "id": "read_file",
            "description": "Read a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            "implementation": "tools.files:read",
        },
    },
    "middleware": [
        {"id": "auth", "handler": "mw.auth:Auth", "priority": 10, "options": {}},
        {"id": "tracing", "handler": "mw.trace:Tracing", "priority": 50, "options": {"rate": 0.1}},
        {"id": "retry", "handler": "mw.retry:Retry", "priority": 90, "options": {}},
    ],
    "listeners": {"on_error": [{"id": "audit", "handler": "hooks.audit:on_error", "options": {}}]},
    "files": {"notes/todo.md": {"content": "- ship\n", "mode": "0644"}},
    "resources": {"metrics": {"kind": "socket", "address": "tcp://127.0.0.1:9101", "lifecycle": "open"}},
}


def nominal_state() -> State:
    """Return the default nominal state; it has a part for every surface that is registered now."""
    return _read(tuple(SURFACES))


@cache
def _read(surfaces: tuple[str, ...]) -> State:
    del surfaces
    return State.read(_PLAIN, "the default state")
