"""`takeback demo`: the whole story on a small believable agent, in a directory of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

from takeback.cli.changes import show_changes
from takeback.cli.entries import names_in, show_heading, show_line
from takeback.cli.outcomes import show_outcome
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.verdicts import show_verdict
from takeback.cli.workspaces import SHORT, opened
from takeback.harness import Applied, Harness, Refused, Undone
from takeback.harness.founding import init_workspace
from takeback.harness.log import changes_of, log, state_before
from takeback.harness.workspace import open_workspace
from takeback.journal.failpoint import armed
from takeback.language import read_candidate, read_program
from takeback.present.entries import summary
from takeback.state import Stage, State
from takeback.synthesize import invert

AGENT: dict[str, Any] = {
    "config": {"agent": {"timeout_sec": 30, "max_retries": 2}, "logging": {"level": "info"}},
    "prompts": {"system": "You are a careful coding agent. Ask before you delete.\n"},
    "routing": {"default_model": "large-1", "fallback_model": None},
    "tools": {"grep": {"id": "grep", "description": "Search files.", "implementation": "tools.search:grep"}},
    "middleware": [
        {"id": "auth", "handler": "mw.auth:Auth", "priority": 10},
        {"id": "retry", "handler": "mw.retry:Retry", "priority": 90},
    ],
    "listeners": {"on_error": [{"id": "audit", "handler": "hooks.audit:on_error"}]},
    "files": {"notes/todo.md": {"content": "- ship it\n"}},
}

LOOKS_RIGHT: dict[str, Any] = {
    "mutation": [
        {
            "op_type": "register_tool",
            "target": "search",
            "value": {"id": "web-search", "implementation": "tools.web:search"},
        }
    ],
    "witness": [],
    "recovery": [{"op_type": "unregister_tool", "target": "search"}],
}
"""Registers a tool and takes that back by unregistering it: right only where nothing had that key before."""

CHANGES: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    (
        "a rate limit in front",
        [{"op_type": "add_middleware", "target": "limit", "value": {"handler": "mw.limit:Limit"}, "index": 0}],
    ),
    (
        "tracing, also in front",
        [
            {"op_type": "add_middleware", "target": "trace", "value": {"handler": "mw.trace:Trace"}, "index": 0},
            {"op_type": "set_config", "target": "logging.level", "value": "debug"},
        ],
    ),
    (
        "a planner prompt and its notes",
        [
            {"op_type": "set_prompt", "target": "planner", "value": "Plan in three steps.\n"},
            {"op_type": "write_file", "target": "notes/plans/today.md", "value": "1. read\n2. think\n3. act\n"},
        ],
    ),
    (
        "a longer timeout",
        [
            {"op_type": "set_config", "target": "agent.timeout_sec", "value": 120},
            {"op_type": "set_config", "target": "agent.limits.files", "value": 5},
        ],
    ),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    directory: Path | None = typer.Option(None, "--dir", "-C", metavar="DIR", help="Keep the workspace there."),
    as_json: bool = JsonFlag,
    die_at: str | None = typer.Option(None, "--die-at", hidden=True),
) -> None:
    """Show the whole story on a small agent.

    A change is refuted, repaired and admitted; four more follow; one of them is taken back; a process is killed in
    the middle of a change, and the next one finishes it.

    Example: `takeback demo`
    """
    if die_at is not None and directory is not None:
        _die_in_the_middle(directory, die_at)
    with tempfile.TemporaryDirectory(prefix="takeback-demo-") as scratch:
        root = directory or Path(scratch) / "agent"
        if as_json:
            with out.muted():
                told = _story(root)
            emit(told)
        else:
            told = _story(root)
    finish(yes=told["good"])


def _story(root: Path) -> dict[str, Any]:
    init_workspace(root, start=State.read(AGENT))
    _step(1, f"An agent's harness is a directory people can read: {', '.join(sorted(_names(root)))}")
    with opened(root, None) as harness:
        _step(2, "It proposes a search tool, with a recovery that looks right: unregister it again.")
        refused = harness.apply(read_candidate(LOOKS_RIGHT))
        if isinstance(refused, Refused) and refused.verdict is not None:
            show_verdict(refused.verdict, "the change")
        _step(3, "Repaired: capture what was there, restore that. The mutation itself is unchanged.")
        first = _apply(harness, "a search tool", LOOKS_RIGHT["mutation"])
        _step(4, "Four more changes.")
        entries = [_apply(harness, note, ops) for note, ops in CHANGES]
        _step(5, "The second of these is taken back, and everything after it stays.")
        undone = harness.undo(entries[1].entry.id)
        show_outcome(undone, harness)
        kept = [link.id for link in harness.state.part("middleware")]
        out.print(f"  the chain is now {', '.join(kept)}")
    _step(6, "A process is killed in the middle of a change: announced in the journal, half of its files written.")
    killed = _kill_a_child(root)
    _step(7, "The next one to open the workspace finishes the change.")
    with opened(root, None) as harness:
        finished = harness.recovered.entry
        if finished is not None:
            show_changes(changes_of(harness, finished), lambda: state_before(harness, finished))
        status = harness.status()
        _step(8, "The log says what was done, on what evidence, and what became of it.")
        show_heading()
        for entry in log(harness):
            show_line(entry, summary(entry, names_in(harness)))
    return {
        "good": isinstance(refused, Refused)
        and isinstance(undone, Undone)
        and kept == ["limit", "auth", "retry"]
        and killed
        and finished is not None
        and status.clean
        and first.verdict.admitted,
        "refuted": isinstance(refused, Refused),
        "admitted": len(entries) + 1,
        "kept": kept,
        "killed": killed,
        "recovered": finished.id if finished is not None else None,
        "clean": status.clean,
    }


def _apply(harness: Harness, note: str, ops: list[dict[str, Any]]) -> Applied:
    done = harness.apply(invert(read_program(ops, Stage.FORWARD, "change"), harness.state), note=note)
    if not isinstance(done, Applied):
        raise typer.Exit(1)
    out.print(f"  applied {done.entry.id[:SHORT]}: {note} ({done.verdict.grade.value})")
    return done


def _kill_a_child(root: Path) -> bool:
    """Run a second process that dies by SIGKILL between two files of one change."""
    command = [sys.executable, "-m", "takeback", "demo", "--dir", str(root), "--die-at", "file.renamed"]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)  # noqa: S603 - ourselves
    return ended.returncode == -signal.SIGKILL


def _die_in_the_middle(root: Path, boundary: str) -> None:
    def probe(reached: str) -> None:
        if reached == boundary:
            os.kill(os.getpid(), signal.SIGKILL)

    harness = open_workspace(root, hold=False)
    ops = [
        {"op_type": "set_config", "target": "agent.max_retries", "value": 5},
        {"op_type": "set_routing", "target": "fallback_model", "value": "small-1"},
        {"op_type": "set_prompt", "target": "summary", "value": "Two sentences.\n"},
    ]
    with armed(probe):
        harness.apply(
            invert(read_program(ops, Stage.FORWARD, "change"), harness.state), note="retries and a fallback"
        )


def _step(number: int, text: str) -> None:
    out.print()
    out.print((f"{number}. ", "bold"), text)


def _names(root: Path) -> list[str]:
    return [path.name + ("/" if path.is_dir() else "") for path in root.iterdir() if not path.name.startswith(".")]
