"""Hook calls of further clients in the words of Claude Code, and a refusal in the words of each client.

A call comes as JSON and goes on as JSON: event, tool and arguments under Claude Code's names, as far as they say the
same; whatever is not known stays as it is. A hook imports this before anything else, so that it is light.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Raw = dict[str, Any]

_PATHS = ("file_path", "filePath", "path", "target_file", "absolute_path")
_OLD = ("old_string", "oldString", "old_str", "oldStr", "old_text")
_NEW = ("new_string", "newString", "new_str", "newStr", "new_text")
_CONTENTS = ("content", "contents", "file_text", "fileText", "text", "new_text")
_SHELLS = frozenset({"bash", "shell", "execute_bash", "executebash", "run_commands", "run_terminal_cmd", "terminal"})
_WRITERS = frozenset({"write", "create", "editor", "fs_write", "fswrite", "write_file", "write_to_file"})
_EDITORS = _WRITERS | {"edit", "strreplace", "str_replace", "search_replace", "multiedit"}
_CURSOR = {
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "beforeShellExecution": "PreToolUse",
    "afterShellExecution": "PostToolUse",
    "afterFileEdit": "PostToolUse",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "sessionStart": "SessionStart",
    "sessionEnd": "SessionEnd",
    "stop": "Stop",
}
_CLINE = {"agent_start": "SessionStart", "prompt_submit": "UserPromptSubmit", "session_shutdown": "SessionEnd"}
_WINDSURF = {"post_cascade_response": "Stop", "pre_user_prompt": "UserPromptSubmit"}


def translate_call(data: bytes, client: str) -> bytes:
    """Return a hook's input in Claude Code's words; as it is for clients that use them, and where it is no JSON."""
    reader = _READERS.get(client)
    if reader is None:
        return data
    try:
        raw = json.loads(data)
    except ValueError:
        return data
    return json.dumps(reader(raw)).encode() if isinstance(raw, dict) else data


def _rename_tool(raw: Raw) -> Raw:
    """Return a call whose tool and arguments have Claude Code's names."""
    tool, given = raw.get("tool_name"), raw.get("tool_input")
    if not isinstance(tool, str) or not isinstance(given, dict):
        return raw
    name = tool.lower().rpartition(".")[2]
    path = next((given[key] for key in _PATHS if isinstance(given.get(key), str)), None)
    if name in _SHELLS:
        lines = given.get("commands")
        joined = "\n".join(map(str, lines)) if isinstance(lines, list) else given.get("command", "")
        return raw | {"tool_name": "Bash", "tool_input": {"command": joined}}
    if name not in _EDITORS or path is None:
        return raw
    about: Raw = {"file_path": path}
    old, new, content = (_find_first(given, keys) for keys in (_OLD, _NEW, _CONTENTS))
    if isinstance(given.get("edits"), list):
        return raw | {"tool_name": "MultiEdit", "tool_input": about | {"edits": given["edits"]}}
    if old is not None:
        every = given.get("replace_all") is True or given.get("replaceAll") is True
        return raw | {
            "tool_name": "Edit",
            "tool_input": about | {"old_string": old, "new_string": new, "replace_all": every},
        }
    if name in _WRITERS and isinstance(content, str) and "insert_line" not in given and _is_whole(given):
        return raw | {"tool_name": "Write", "tool_input": about | {"content": content}}
    return raw | {"tool_name": "Edit", "tool_input": about}


def _find_first(given: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((given[key] for key in keys if key in given), None)


def _is_whole(given: Mapping[str, Any]) -> bool:
    """Return whether a call writes a whole file: Kiro's tool has a command that may say otherwise."""
    return given.get("command") in (None, "create")


def _read_cursor(raw: Raw) -> Raw:
    event = str(raw.get("hook_event_name", ""))
    roots = raw.get("workspace_roots")
    event_fields = raw | {
        "hook_event_name": _CURSOR.get(event, event),
        "session_id": raw.get("conversation_id", raw.get("session_id")),
        "prompt_id": raw.get("generation_id", ""),
        "cwd": raw.get("cwd") or (roots[0] if isinstance(roots, list) and roots else ""),
    }
    if event in {"beforeShellExecution", "afterShellExecution"}:
        event_fields |= {"tool_name": "Bash", "tool_input": {"command": raw.get("command", "")}}
    elif event == "afterFileEdit":
        event_fields |= {"tool_name": "Edit", "tool_input": {"file_path": raw.get("file_path", "")}}
    return _rename_tool(event_fields)


def _read_windsurf(raw: Raw) -> Raw:
    action, tool_info = str(raw.get("agent_action_name", "")), raw.get("tool_info")
    info: Raw = tool_info if isinstance(tool_info, dict) else {}
    when, _, what = action.partition("_")
    event: Raw = {
        "hook_event_name": _WINDSURF.get(action, "PreToolUse" if when == "pre" else "PostToolUse"),
        "session_id": raw.get("trajectory_id", ""),
        "prompt_id": raw.get("execution_id", ""),
        "cwd": info.get("cwd", ""),
    }
    if what == "write_code":
        given = {"file_path": info.get("file_path", ""), "edits": info.get("edits", [])}
        return event | {"tool_name": "MultiEdit", "tool_input": given}
    if what == "run_command":
        return event | {"tool_name": "Bash", "tool_input": {"command": info.get("command_line", "")}}
    return event


def _read_cline(raw: Raw) -> Raw:
    name, roots = str(raw.get("hookName", "")), raw.get("workspaceRoots")
    tool_call = raw.get("tool_call") if name == "tool_call" else raw.get("tool_result")
    call: Raw = tool_call if isinstance(tool_call, dict) else {}
    event = {"tool_call": "PreToolUse", "tool_result": "PostToolUse"}.get(name) or _CLINE.get(name, "Stop")
    return _rename_tool(
        {
            "hook_event_name": event,
            "session_id": str(raw.get("taskId", "")),
            "cwd": roots[0] if isinstance(roots, list) and roots else "",
            "tool_name": call.get("name", ""),
            "tool_input": call.get("input", {}),
            "tool_use_id": str(call.get("id", "")),
        }
    )


_READERS: dict[str, Callable[[Raw], Raw]] = {
    "copilot": _rename_tool,
    "kiro": _rename_tool,
    "cursor": _read_cursor,
    "windsurf": _read_windsurf,
    "cline": _read_cline,
}
BLOCKED = 2


def refuse_call(client: str, reason: str) -> tuple[str, str, int]:
    """Return what a client prints, hears on standard error and gets as exit code, so that it does not make a call."""
    match client:
        case "copilot":
            said: Raw = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        case "cursor":
            said = {"permission": "deny", "user_message": reason, "agent_message": reason}
        case "cline":
            said = {"cancel": True, "errorMessage": reason, "contextModification": reason}
        case _:
            return "", f"{reason}\n", BLOCKED
    return f"{json.dumps(said)}\n", "", 0
