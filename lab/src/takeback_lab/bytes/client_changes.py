"""Every kind of change to what a client's files hold, as the client would load them: values keep their types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from takeback_lab.bytes.changes import ByteChange, Plain, edits_of, leaves_of, operation, target_of

SERVER: Final = {"claude-code": {"command": "zz"}, "codex": {"command": "zz"}, "gemini": {"command": "zz"}}
GROUP: Final = {"matcher": "zz", "hooks": [{"type": "command", "command": "zz"}]}
FRONT: Final = "---"


def client_changes(kind: str, state: Plain) -> Iterator[ByteChange]:
    """Every kind of change to every document, prompt and file of a harness."""
    yield from _config(state.get("config", {}))
    for key in state.get("routing", {}):
        yield operation("set_routing", key, "replace", "other")
        yield operation("unset_routing", key, "remove")
    yield from _tools(SERVER.get(kind, {"type": "local", "command": ["zz"]}), state.get("tools", {}))
    yield from _hooks(state.get("listeners", {}))
    for name, text in state.get("prompts", {}).items():
        yield from _texts("edit_prompt", name, text)
    for name in state.get("files", {}):
        yield operation("write_file", name, "write", {"content": "new\n", "mode": "0700"})
        yield operation("edit_file", name, "insert", {"old": "", "new": "appended\n"})
        yield operation("remove_file", name, "write")


def _config(value: Plain) -> Iterator[ByteChange]:
    for path, present in leaves_of(value):
        yield operation("unset_config", target_of(path), "remove")
        if isinstance(present, list):
            yield from _items(target_of(path), present)
        else:
            yield operation("set_config", target_of(path), "replace", _other(present))
    for key, present in value.items():
        if isinstance(present, dict):
            yield operation("set_config", target_of((key, "zz_new")), "insert", "new")


def _items(target: str, items: list[Any]) -> Iterator[ByteChange]:
    yield operation("append_config", target, "insert", "zz")
    for at in range(len(items)):
        yield operation("insert_config", target, "insert", "zz", index=at)
    for item in items:
        if items.count(item) == 1:
            yield operation("remove_config_item", target, "remove", item)


def _other(present: Any) -> Any:
    if isinstance(present, bool):
        return not present
    return present + 1 if isinstance(present, int | float) else "other"


def _tools(server: Plain, tools: dict[str, Plain]) -> Iterator[ByteChange]:
    names = [name.rpartition("mcp:")[0] for name in tools]
    for start in dict.fromkeys(names):
        yield operation("register_tool", f"{start}mcp:zz", "insert", server)
    for name, record in tools.items():
        yield operation("register_tool", name, "insert", {**record, "zz": "new"})
        other = "other" if isinstance(record["command"], str) else ["other"]
        yield operation("register_tool", name, "replace", {**record, "command": other})
        yield operation("remove_tool", name, "remove")


def _hooks(events: dict[str, list[Plain]]) -> Iterator[ByteChange]:
    for event, groups in events.items():
        yield operation("add_listener", event, "insert", {"id": "zz", "handler": "zz", "options": GROUP})
        for group in groups:
            hook = {**group["options"]["hooks"][0], "command": "other"}
            options = {**group["options"], "hooks": [hook]}
            yield operation("add_listener", event, "replace", {**group, "options": options})
            yield operation("remove_listener", event, "remove", group["id"])


def _texts(kind: str, name: str, text: str) -> Iterator[ByteChange]:
    """Edits behind the front matter, without which the client would not load a text."""
    head, mark, body = text.rpartition(f"\n{FRONT}\n") if text.startswith(FRONT) else ("", "", text)
    for change in edits_of(kind, name, body):
        old = change.ops[0]["value"]["old"]
        if (head + mark + body).count(old) == 1 or not old:
            yield change
    if not head:
        yield operation("set_prompt", name, "write", "All new.\n")
