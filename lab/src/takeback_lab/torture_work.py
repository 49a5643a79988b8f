"""The workspace and the changes that torture works with: all surfaces, few keys, several files per change."""

from __future__ import annotations

import random
from typing import Any

from takeback.language import Program
from takeback.language.program import read_program
from takeback.runtime import run_forward
from takeback.state import Stage, State
from takeback_lab.random_changes import random_op

KINDS = (
    "set_config",
    "write_file",
    "write_file",
    "add_middleware",
    "add_listener",
    "set_prompt",
    "set_routing",
    "register_tool",
)

START: dict[str, Any] = {
    "config": {"a": {"b": 1}, "keep": {"it": True}},
    "prompts": {"system": "You are careful.\n"},
    "routing": {"main": "large-1"},
    "tools": {"grep": {"id": "grep"}},
    "middleware": [{"id": name, "handler": f"mw.{name}"} for name in ("auth", "log", "retry")],
    "listeners": {"on_error": [{"id": "audit", "handler": "audit"}]},
    "files": {"d/x": {"content": "x\n"}, "keep/me": {"content": "kept\n", "mode": "0600"}},
}


def random_mutation(rng: random.Random, state: State) -> Program:
    """A change of one to four operations that can run on the state."""
    while True:
        raw = [random_op(rng, state, KINDS) for _ in range(rng.choice((1, 2, 3)))]
        if rng.random() < 0.6:  # noqa: PLR2004 - files and directories that come and go with the change
            path = f"new{rng.randrange(10**6)}/sub/file"
            raw.append({"op_type": "write_file", "target": path, "value": {"content": f"{path}\n"}})
        mutation = read_program(raw, Stage.FORWARD, "mutation")
        if run_forward(mutation, state)[1].succeeded:
            return mutation
