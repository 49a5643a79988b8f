"""What an agent is told about changing its own harness: the server's instructions, and the prompt for one goal."""

from __future__ import annotations

from typing import Final

INSTRUCTIONS: Final = (
    "Changes of this agent's own harness (settings, prompts, tools, hooks, files) that can be taken back. "
    "Look with harness_state, have a change judged with propose_change, make it with apply_change and the token. "
    "plan_undo and undo take any entry back, whatever came after it. "
    "Edit harness files through these tools rather than with an editor or a shell."
)


def how_to_change(goal: str) -> str:
    """What to do, step by step."""
    return f"""Change this harness so that: {goal}

Do it so that it can be taken back:
1. Call status. If it is not clean, stop and show the person the command it names.
2. Call harness_state with a filter for what concerns the goal. Values shown as [masked by takeback] are secrets:
   leave them as they are, and never send that text back as a value.
3. Call propose_change, one change per intention, so that each can be taken back by itself. One-line forms:
   set config timeout 60
   set config permissions.deny+ 'Bash(rm:*)'
   edit prompt CLAUDE.md --old 'two spaces' --new 'four spaces'
   add tool mcp:docs --json '{{"command": "docs-server"}}'
   Operations with a witness and a recovery of your own are possible; a recovery that does not hold on every state is
   refuted with the smallest state that breaks it, and repaired where that is possible.
4. Read the answer. Call apply_change with its token only if the changes shown are what you mean.
5. What loosens permissions, removes a guard or takes back someone else's entry is for a person to decide. If you are
   refused, show the person the command in the answer. Do not look for a way around it.
6. Say which entries you made, by number, so that the person can take any of them back.
"""
