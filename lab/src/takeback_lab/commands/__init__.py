"""The lab's commands: the table that the entry point `takeback.commands` names. Nothing is imported for it."""

from __future__ import annotations

from typing import Final

COMMANDS: Final = {
    "lab": ("takeback_lab.commands.lab", "Experiments, statistics, locks and reports of the lab."),
    "bench": ("takeback_lab.commands.bench", "Benchmarks, as ratios against a plain implementation or a peer."),
    "torture": (
        "takeback_lab.commands.torture",
        "Kill processes that change a workspace, and check what is left.",
    ),
    "tasks": ("takeback_lab.commands.tasks", "List and count the tasks of the lab."),
    "states": ("takeback_lab.commands.states", "Show the counterfactual states that a candidate is tried on."),
    "model": ("takeback_lab.commands.model", "Get a real model onto this machine, and serve it."),
}
"""Name, module and summary of each command."""
