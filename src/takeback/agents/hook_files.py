"""What of ours stands in clients' own files: plugins, scripts and hooks that call Takeback, and a skill for people.

Plugins of opencode and Kilo, scripts of Cline and Kiro's hooks are listed as operations that put each in place, and
that take it away again where it is ours by what it says. The skill is what a person calls inside a client to list
changes and take them back: Claude Code and Codex have skills that are called by name (`/takeback`, `$takeback`),
Gemini CLI and opencode have commands in files of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from takeback.canonical import write_compact
from takeback.errors import InputError
from takeback.state import State

PLUGIN: Final = ".opencode/plugins/takeback.js"
_TEXT = """// Takeback's guard and recorder: asks `takeback hook %c` before and after tools.
import { spawnSync } from "node:child_process"

const PROGRAM = %s
const EDITS = new Set(["edit", "write", "multiedit", "patch", "apply_patch"])

const isMissing = (said) =>
  ["ENOENT", "EACCES", "ENOTDIR"].includes(said.error?.code) || /No module named '?takeback/.test(said.stderr ?? "")

const tell = async (client, said, variant) => {
  try {
    const message = JSON.parse(said.stdout || "{}").systemMessage
    if (message) await client?.tui?.showToast?.({ body: { title: "Takeback", message, variant } })
  } catch {
    return // a notice that cannot be shown is no reason to fail
  }
}

export const Takeback = async ({ client, directory }) => {
  const ask = (name, session, tool, args, call, prompt) =>
    spawnSync(PROGRAM[0], [...PROGRAM.slice(1), "hook", "%c"], {
      input: JSON.stringify({
        hook_event_name: name,
        cwd: directory,
        session_id: session,
        tool_name: tool,
        tool_input: args ?? {},
        tool_use_id: call,
        prompt,
      }),
      encoding: "utf8",
      timeout: 90000,
    })
  return {
    "tool.execute.before": async (input, output) => {
      if (!EDITS.has(input.tool) && input.tool !== "bash") return
      const said = ask("tool.execute.before", input.sessionID, input.tool, output.args, input.callID)
      if (input.tool === "bash") return
      if (isMissing(said)) {
        console.error("takeback is not installed here: this edit is neither guarded nor recorded")
        return
      }
      if (said.error || said.status !== 0) throw new Error(said.stderr || `takeback: the guard failed: ${said.error}`)
    },
    "tool.execute.after": async (input) => {
      if (EDITS.has(input.tool) || input.tool === "bash") {
        await tell(client, ask("tool.execute.after", input.sessionID, input.tool, input.args, input.callID), "info")
      }
    },
    "chat.message": async (input, output) => {
      const texts = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text)
      ask("chat.message", input.sessionID, undefined, undefined, undefined, texts.join("\\n"))
    },
    event: async ({ event }) => {
      if (event.type === "session.created" || event.type === "session.idle") ask(event.type, undefined, undefined)
    },
  }
}
"""


def build_opencode_plugin(program: Sequence[str], client: str = "opencode") -> str:
    """Return the plugin's source, for opencode or Kilo; `program` are the words that start Takeback."""
    return _TEXT.replace("%s", write_compact(list(program))).replace("%c", client)


_CLINE_EVENTS: Final = ("PreToolUse", "PostToolUse", "TaskStart", "TaskComplete")
OWN_FILES: Final[Mapping[str, Mapping[str, str]]] = {
    "opencode": {PLUGIN: "plugins"},
    "kilo": {".kilo/plugin/takeback.js": "plugin"},
    "cline": {f".cline/hooks/{event}.sh": "hooks" for event in _CLINE_EVENTS},
}
"""Paths of our files, with the event whose listeners they are."""
_KIRO: Final = "hooks/takeback:"
_KIRO_HOOKS: Final = (
    ("PreToolUse", "fs_write|fsWrite|str_replace|strReplace|write", 15),
    ("PostToolUse", "fs_write|fsWrite|str_replace|strReplace|write|execute_bash|executeBash|shell", 90),
    ("SessionStart", "", 90),
    ("Stop", "", 90),
)
"""Event, tools and seconds."""
_MISSING: Final = "takeback is not installed here: this edit is neither guarded nor recorded"


def list_own_file_additions(client: str, state: State, start: str, program: Sequence[str]) -> list[dict[str, Any]]:
    """Return the operations that put our files in place, for clients that call us by one; what is there stays."""
    if client == "kiro":
        return _list_kiro_additions(state, start, program)
    if client == "cursor" and f"{start}hooks.json:version" not in state["config"]:
        return [{"op_type": "set_config", "target": f"{start}hooks\\.json:version", "value": 1}]
    ops: list[dict[str, Any]] = []
    for path, event in OWN_FILES.get(client, {}).items():
        if ("files", path) in state:
            if not _is_ours(client, state, path):
                raise InputError(
                    path,
                    found="a hook that is not Takeback's",
                    expected="no such file",
                    hint=f"give it another ending, such as {path.removesuffix('.sh')}: {client} runs all of them",
                )
            continue
        script = client == "cline"
        text = _build_cline_script(program) if script else build_opencode_plugin(program, client)
        value: Any = {"content": text, "mode": "0755"} if script else text
        name = path.rpartition("/")[2]
        record = {"id": name, "handler": name, "options": {"file": path}}
        ops.append({"op_type": "write_file", "target": path, "value": value})
        ops.append({"op_type": "add_listener", "target": f"{start}{event}", "value": record})
    return ops


def list_own_file_removals(client: str, state: State) -> list[dict[str, Any]]:
    """Return the operations that take our files away, of one client or of all."""
    ops: list[dict[str, Any]] = []
    for own in [client] if client else OWN_FILES:
        for path in OWN_FILES.get(own, ()):
            if ("files", path) not in state or not _is_ours(own, state, path):
                continue
            ops.append({"op_type": "remove_file", "target": path})
            ops += [
                {"op_type": "remove_listener", "target": event, "value": element["id"]}
                for event, elements in state["listeners"].items()
                for element in elements
                if element.get("options") == {"file": path}
            ]
    if client in {"", "kiro"}:
        keys = [key for key in state["config"] if key.rpartition("hooks/")[2].startswith("takeback:")]
        ops += [{"op_type": "unset_config", "target": key} for key in keys]
    return ops


def _is_ours(client: str, state: State, path: str) -> bool:
    file = state["files", path]
    text = file.get("content", "") if isinstance(file, Mapping) else file
    return client == "opencode" or (isinstance(text, str) and (f"hook {client}" in text or f'"{client}"' in text))


def ask_for_program(program: Sequence[str]) -> str:
    """Return the shell's question whether the program that starts Takeback is there."""
    return f"command -v {shlex.quote(program[0])} >/dev/null 2>&1"


def _build_cline_script(program: Sequence[str]) -> str:
    return (
        "#!/bin/sh\n# Takeback's guard and recorder.\n"
        f"if {ask_for_program(program)}; then exec {shlex.join([*program, 'hook', 'cline'])}; fi\n"
        f"echo {shlex.quote(_MISSING)} >&2\necho '{{}}'\n"
    )


def _list_kiro_additions(state: State, start: str, program: Sequence[str]) -> list[dict[str, Any]]:
    if ("config", f"{start}{_KIRO}hooks") in state:
        return []
    words = shlex.join([*program, "hook", "kiro"])
    command = f"if {ask_for_program(program)}; then {words}; else echo {shlex.quote(_MISSING)} >&2; fi"
    hooks = [
        {
            "name": f"takeback-{event}",
            "trigger": event,
            **({"matcher": f"^({tools})$"} if tools else {}),
            "action": {"type": "command", "command": command},
            "timeout": seconds,
        }
        for event, tools, seconds in _KIRO_HOOKS
    ]
    return [
        {"op_type": "set_config", "target": f"{start}{_KIRO}version", "value": "v1"},
        {"op_type": "set_config", "target": f"{start}{_KIRO}hooks", "value": hooks},
    ]


SAYS: Final = "recorded by Takeback"
"""By this a text is known to be ours."""
NAMES: Final = ("skills/takeback", "commands/takeback")
"""How the names of our texts end."""
COMMAND_ABOUT: Final = "List the changes of this agent's own files by prompt, or take some back by number."
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
COMMAND: Final = f"""\
Changes of this project's agent files are {SAYS}. A person called this command; what was typed behind it: %s

{_ASKED}"""
_TEXTS: Final = {"gemini": (NAMES[1], "{{args}}"), "opencode": (NAMES[1], "$ARGUMENTS")}
"""Clients with commands: the name of ours, and what stands there for the words behind it."""


def list_texts(client: str) -> dict[str, str]:
    """Return what is added to a client's prompts, by name."""
    if client == "opencode":
        return {"skills/takeback": SKILL, "commands/takeback": build_opencode_command()}
    if client in _TEXTS:
        return {"skills/takeback": SKILL, "commands/takeback": COMMAND % _TEXTS[client][1]}
    return {"skills/takeback": SKILL}


def build_opencode_command() -> str:
    """Return opencode's command, as its file has it."""
    return f"---\ndescription: {COMMAND_ABOUT}\n---\n\n{COMMAND % '$ARGUMENTS'}"


def is_callable_in(client: str, state: State) -> bool:
    """Return whether a person can call our text in a client, as far as a harness says."""
    ending = _TEXTS[client][0] if client in _TEXTS else NAMES[0]
    return any(name.endswith(ending) for name in state["prompts"])
