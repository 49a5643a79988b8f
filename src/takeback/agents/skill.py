"""What a person calls inside a client to list changes and take them back: a skill, a command or a prompt.

Claude Code and Codex have skills that are called by name (`/takeback`, `$takeback`); Gemini CLI and opencode have
commands in files of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from takeback.state import State

SAYS: Final = "recorded by Takeback"
"""By this a text is known to be ours."""
NAMES: Final = ("skills/takeback", "commands/takeback")
"""How the names of our texts end."""
_ABOUT: Final = "List the changes of this agent's own files by prompt, or take some back by number."
_ASKED: Final = """\
- Without a number: run `takeback log -n 20`, and list the changes grouped by the prompt they were made under, each
  with its number. Ask which to take back; take nothing back unasked.
- With numbers, such as `/takeback 3`: run `takeback undo 3` for exactly those numbers, and say what it answered. If
  it is blocked, say which entries it names, and ask before you add `--cascade`.
"""
SKILL: Final = f"""---
name: takeback
description: Change this agent's own instructions, settings, tools or hooks so that every change can be taken back.
---

Changes of this project's agent files (instructions, settings, MCP servers, hooks, skills) are recorded by Takeback.

- Prefer the tools of the takeback server: `propose_change`, then `apply_change` with the token.
- An edit of such a file by other tools is recorded too. One that the client could not load is denied: do what the
  reason says. One that loosens permissions or removes a guard is for a person to allow.
- `history` or `takeback log` lists the changes; `plan_undo` and `undo`, or `takeback undo 5`, take one back and
  leave the others.
- Never edit `.takeback/`, and do not remove Takeback's hooks.

When the person calls this by name (`/takeback`, in Codex `$takeback`):

{_ASKED}"""
_COMMAND: Final = f"""\
Changes of this project's agent files are {SAYS}. A person called this command; what was typed behind it: %s

{_ASKED}"""
_TEXTS: Final = {"gemini": (NAMES[1], "{{args}}"), "opencode": (NAMES[1], "$ARGUMENTS")}
"""Clients with commands: the name of ours, and what stands there for the words behind it."""


def list_texts(client: str) -> dict[str, str]:
    """Return what is added to a client's prompts, by name."""
    if client == "opencode":
        return {"skills/takeback": SKILL, "commands/takeback": build_opencode_command()}
    if client in _TEXTS:
        return {"skills/takeback": SKILL, "commands/takeback": _COMMAND % _TEXTS[client][1]}
    return {"skills/takeback": SKILL}


def build_opencode_command() -> str:
    """Return opencode's command, as its file has it."""
    return f"---\ndescription: {_ABOUT}\n---\n\n{_COMMAND % '$ARGUMENTS'}"


def build_gemini_command() -> str:
    """Return Gemini CLI's command, as its file has it."""
    return f'description = "{_ABOUT}"\nprompt = """\n{_COMMAND % "{{args}}"}"""\n'


def is_callable_in(client: str, state: State) -> bool:
    """Return whether a person can call our text in a client, as far as a harness says."""
    ending = _TEXTS[client][0] if client in _TEXTS else NAMES[0]
    return any(name.endswith(ending) for name in state["prompts"])
