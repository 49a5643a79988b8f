"""`takeback demo`: the whole story on a small Claude Code project, in a directory of its own, without the client."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import typer

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.changes import show_changes
from takeback.cli.context import SHORT, open_harness
from takeback.cli.display import show_verdict
from takeback.cli.log import show_heading, show_line
from takeback.cli.options import setting
from takeback.cli.outcomes import show_outcome
from takeback.cli.output import answer, finish, out
from takeback.harness import Applied, Harness, Refused, Undone
from takeback.harness.entry_log import iter_entries, load_entry_writes, rebuild_state_before
from takeback.harness.outcomes import Adopted
from takeback.journal.failpoint import arm_failpoints
from takeback.language import read_candidate, read_program
from takeback.present.entries import make_entry_namer, summarize_entry
from takeback.repair import invert_mutation
from takeback.state import Stage

FILES: Final = {
    "CLAUDE.md": """\
# Parcel tracker

- Dates are ISO 8601, in UTC; see @docs/dates.md
- Never log an address.
- Run `make check` before you say done.
""",
    "docs/dates.md": "Write 2026-03-01T09:00:00Z, nothing else.\n",
    ".mcp.json": """\
{
  "mcpServers": {
      "carriers":  { "command": "node", "args": ["tools/carriers.mjs"] }
  }
}
""",
    ".claude/settings.json": """\
{
	"model": "sonnet",
  "permissions": {
      "deny":  [ "Read(./.env)" ],
      "allow": ["Bash(make check:*)",
                "Bash(git status:*)"]
  },
  "env": { "TRACKER_ENV": "dev" },

  "hooks": {
    "PreToolUse": [
      { "matcher": "Edit|Write", "hooks": [ { "type": "command", "command": ".claude/hooks/audit.sh" } ] }
    ]
  }
}
""",
    ".claude/hooks/audit.sh": '#!/bin/sh\ncat >> "$CLAUDE_PROJECT_DIR/.claude/audit.log"\n',
    ".claude/agents/reviewer.md": """\
---
name: reviewer
description: Reviews diffs before a commit.
---

You review diffs. Dates are always UTC.
""",
}


def _write_op(kind: str, target: str, value: Any) -> dict[str, Any]:
    return {"op_type": kind, "target": target, "value": value}


SERVER: Final = _write_op("register_tool", "mcp:issues", {"command": "node", "args": ["tools/issues.mjs"]})
GUARD: Final = {
    "id": "network",
    "handler": "network",
    "options": {"matcher": "WebFetch", "hooks": [{"type": "command", "command": "exit 2"}]},
}
CHECK: Final = "Run `make check`"
RULE: Final = "- Never log an address.\n"
CHANGES: Final = (
    ("let it run the tests", [_write_op("append_config", "permissions.allow", "Bash(make test:*)")]),
    ("say which tests", [_write_op("edit_prompt", "CLAUDE.md", {"old": CHECK, "new": f"{CHECK} and `make test`"})]),
    ("let it delete files", [_write_op("append_config", "permissions.allow", "Bash(rm:*)")]),
    ("a server for issues", [SERVER]),
    (
        "a rule about retries",
        [_write_op("edit_prompt", "CLAUDE.md", {"old": RULE, "new": f"{RULE}- Retry twice.\n"})],
    ),
    ("a guard for the network", [_write_op("add_listener", "PreToolUse", GUARD)]),
)
"""Six changes, as an agent makes them to itself; the third is the one people want back."""
THIRD: Final = 2

LOOKS_RIGHT: Final[dict[str, Any]] = {
    "mutation": [SERVER],
    "witness": [],
    "recovery": [{"op_type": "unregister_tool", "target": "mcp:issues"}],
}
"""Adds a server and takes that back by removing it: right only where no server had that name before."""

UTC_ONLY: Final = "Dates are always UTC."
HALF_DONE: Final = [
    _write_op("set_config", "env.TRACKER_RETRIES", "2"),
    _write_op("edit_prompt", "agents/reviewer", {"old": UTC_ONLY, "new": f"{UTC_ONLY} Retries are bounded."}),
]


def write_harness(root: Path) -> None:
    """Put the files into a directory."""
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (root / ".claude/hooks/audit.sh").chmod(0o755)


def demo(
    directory: Path | None = setting("--dir -C", "DIR", "Keep the project there; an empty directory.", None),
    die_at: str | None = typer.Option(None, "--die-at", hidden=True),
) -> None:
    """Show the whole story on a small Claude Code project.

    A change is refuted, repaired and admitted; five more are made, and the third is taken back while the others stay;
    an edit made in an editor is recorded; a process is killed in the middle of a change, and the next one finishes
    it; then everything is taken back, and every file is what it was, byte for byte.

    Example: `takeback demo`
    """
    if die_at is not None and directory is not None:
        _die_in_the_middle(directory, die_at)
    with tempfile.TemporaryDirectory(prefix="takeback-demo-") as scratch:
        root = directory or Path(scratch) / "parcels"
        story = _play_story(root)
    answer(story)
    show_next_step()
    finish(yes=story["good"])


def _play_story(root: Path) -> dict[str, Any]:
    write_harness(root)
    made = init_clients(root)
    _step(1, f"A Claude Code project, taken as it is ({', '.join(made.kinds)}); only .takeback/ was added.")
    with open_harness(root, None) as harness:
        first = harness.state
        _step(2, "The agent wants a server for issues, with a recovery that looks right: remove it again.")
        refused = harness.apply(read_candidate(LOOKS_RIGHT))
        if isinstance(refused, Refused) and refused.verdict is not None:
            show_verdict(refused.verdict, "the change")
        _step(3, "Repaired: capture what was there, restore that. It and five other changes are made, each proved.")
        entries = [_apply(harness, note, ops) for note, ops in CHANGES]
        _step(4, "The third, which lets it delete files, is taken back; the other five stay.")
        undone = harness.undo(entries[THIRD].entry.id)
        show_outcome(undone, harness)
        _step(5, "Someone edits CLAUDE.md by hand. That is seen, and recorded as an entry like any other.")
        _edit_by_hand(root)
        adopted = harness.adopt("by hand")
        if isinstance(adopted, Adopted):
            show_outcome(adopted, harness)
        kept = _check_kept(root)
    _step(6, "A process is killed in the middle of a change: announced in the journal, one of two files written.")
    killed = _kill_a_child(root)
    _step(7, "The next one to open the project finishes the change.")
    with open_harness(root, None) as harness:
        finished = harness.recovered.entry
        if finished is not None:
            show_changes(load_entry_writes(harness, finished), lambda: rebuild_state_before(harness, finished))
        _step(8, "The log says each change with its evidence and status.")
        show_heading()
        for entry in iter_entries(harness):
            show_line(entry, summarize_entry(entry, make_entry_namer(harness)))
        _step(9, "Everything is taken back: every file is what it was, byte for byte.")
        harness.restore("#1")
        same = harness.state == first and all((root / path).read_text() == text for path, text in FILES.items())
        clean = harness.status().clean
        out.print("  every byte is back" if same else "  something is different")
    return {
        "good": isinstance(refused, Refused)
        and isinstance(undone, Undone)
        and isinstance(adopted, Adopted)
        and all(kept.values())
        and killed
        and finished is not None
        and same
        and clean,
        "refuted": isinstance(refused, Refused),
        "admitted": len(entries),
        "kept": kept,
        "killed": killed,
        "recovered": finished.id if finished is not None else None,
        "byte_identical": same,
        "clean": clean,
    }


def _check_kept(root: Path) -> dict[str, bool]:
    settings, text = (root / ".claude/settings.json").read_text(), (root / "CLAUDE.md").read_text()
    return {
        "let it run the tests": "Bash(make test:*)" in settings,
        "say which tests": "`make check` and `make test`" in text,
        "no longer let it delete files": "Bash(rm:*)" not in settings,
        "a server for issues": "issues.mjs" in (root / ".mcp.json").read_text(),
        "a rule about retries": "- Retry twice.\n" in text,
        "a guard for the network": '"WebFetch"' in settings,
    }


def _apply(harness: Harness, note: str, ops: list[dict[str, Any]]) -> Applied:
    done = harness.apply(invert_mutation(read_program(ops, Stage.FORWARD, "change"), harness.state), note=note)
    if not isinstance(done, Applied):
        raise typer.Exit(1)
    out.print(f"  applied {done.entry.id[:SHORT]}: {note} ({done.verdict.grade.value})")
    return done


def _edit_by_hand(root: Path) -> None:
    place = root / "CLAUDE.md"
    place.write_text(place.read_text().replace("# Parcel tracker\n", "# Parcel tracker (EU)\n"))


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
    with arm_failpoints(probe):
        _apply(harness, "bounded retries", HALF_DONE)


def _step(number: int, text: str) -> None:
    out.print()
    out.print((f"{number}. ", "bold"), text)


def show_next_step() -> None:
    """Print what a reader does next, in a project of their own."""
    out.print()
    out.print(("next, in the project of your own agent: ", "bold"))
    out.print(
        "  takeback init                  finds Claude Code, Codex, opencode and Gemini CLI; adds only .takeback/"
    )
    out.print("  takeback install claude-code   records what your agent changes from now on, by its own hooks")
    out.print("  takeback set config permissions.allow+ 'Bash(make test:*)'")
    out.print("  takeback adopt                 records what you or your agent changed by other means")
    out.print("  takeback log, takeback undo    lists the changes; a list to take any of them back from")
