"""The harness that `takeback demo` plays on: a small Claude Code project, formatted as people format things."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

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

CHANGES: Final[tuple[tuple[str, list[dict[str, Any]]], ...]] = (
    (
        "let it run the tests",
        [{"op_type": "append_config", "target": "permissions.allow", "value": "Bash(make test:*)"}],
    ),
    (
        "say which tests",
        [
            {
                "op_type": "edit_prompt",
                "target": "CLAUDE.md",
                "value": {"old": "Run `make check`", "new": "Run `make check` and `make test`"},
            }
        ],
    ),
    (
        "let it delete files",
        [{"op_type": "append_config", "target": "permissions.allow", "value": "Bash(rm:*)"}],
    ),
    (
        "a server for issues",
        [
            {
                "op_type": "register_tool",
                "target": "mcp:issues",
                "value": {"command": "node", "args": ["tools/issues.mjs"]},
            }
        ],
    ),
    (
        "a rule about retries",
        [
            {
                "op_type": "edit_prompt",
                "target": "CLAUDE.md",
                "value": {"old": "- Never log an address.\n", "new": "- Never log an address.\n- Retry twice.\n"},
            }
        ],
    ),
    (
        "a guard for the network",
        [
            {
                "op_type": "add_listener",
                "target": "PreToolUse",
                "value": {
                    "id": "network",
                    "handler": "network",
                    "options": {"matcher": "WebFetch", "hooks": [{"type": "command", "command": "exit 2"}]},
                },
            }
        ],
    ),
)
"""Six changes, as an agent makes them to itself; the third is the one people want back."""
THIRD: Final = 2

LOOKS_RIGHT: Final[dict[str, Any]] = {
    "mutation": CHANGES[3][1],
    "witness": [],
    "recovery": [{"op_type": "unregister_tool", "target": "mcp:issues"}],
}
"""Adds a server and takes that back by removing it: right only where no server had that name before."""

HALF_DONE: Final[list[dict[str, Any]]] = [
    {"op_type": "set_config", "target": "env.TRACKER_RETRIES", "value": "2"},
    {
        "op_type": "edit_prompt",
        "target": "agents/reviewer",
        "value": {"old": "Dates are always UTC.", "new": "Dates are always UTC. Retries are bounded."},
    },
]


def write_harness(root: Path) -> None:
    """Put the files into a directory."""
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    (root / ".claude/hooks/audit.sh").chmod(0o755)
