"""What a change of a client's harness loosens: permissions, sandbox, programs, traffic, hooks, prompts.

`find_loosened_permissions` compares two states and returns a sentence for each thing that the later one
allows or runs and the earlier did not, and for each guard that is gone. Nothing is run or asked here. An
unknown value counts as loosened, and so does new front matter that cannot be read: some clients load such a
file all the same.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from takeback.adapters.clients.ownership import is_as_in_opencode, is_in_folder, is_of, owners_of, readers_of
from takeback.adapters.clients.risk_tables import WORDS, Risk, find_rules
from takeback.adapters.clients.settings_risk import (
    Leaves,
    describe_mode,
    flatten_settings,
    is_set,
    rank_mode,
    simplify_path,
    subtract_items,
    weigh_settings,
)
from takeback.canonical import encode
from takeback.errors import InputError

if TYPE_CHECKING:
    from takeback.harness.adapter import Adapter
    from takeback.state import State


ALLOWING: Final = ("allowed-tools", "allowedTools", "allowed_tools")
"""Keys of front matter with tools that are called without asking."""
USING: Final = "tools"
DISALLOWED_TOOL_KEYS: Final = ("disallowedTools", "disallowed-tools")
MODES: Final = ("permissionMode", "permission-mode")
READING: Final = (
    "Read Glob Grep LS NotebookRead TodoRead TodoWrite AskUserQuestion read glob grep list todoread todowrite "
    "read_file read_many_files list_directory glob search_file_content grep_search"
)
"""Tools that only read, between spaces."""
RUNS: Final = ("hooks", "mcpServers", "mcp-servers", "mcp_servers", "plugins", "shell", "env", "command")
"""Keys of front matter that run programs or start servers."""
EXPANDED: Final = frozenset({"commands", "command", "skills", "skill"})
"""Folders of texts in which a command is run when the text is used."""
FRONTED: Final = EXPANDED | {"agents", "agent", "output-styles", "rules", "prompts", "chatmodes"}
"""Folders of texts of which a client reads the front matter."""
HARMLESS_FRONT: Final = frozenset({"cursor", "windsurf", "cline", "roo", "kiro"})
"""Clients whose rules have front matter that only says when they count; globs in it are often no YAML."""
ZED_TASKS: Final = frozenset({".zed/tasks.json", ".zed/debug.json"})
AIDER_MODELS: Final = ".aider.model.settings.yml"
_ELSEWHERE: Final = re.compile(r"^.*(?:api_base|base_url|extra_headers|extra_params|https?://).*$", re.MULTILINE)
"""Lines of Aider's settings of models with which its traffic goes elsewhere."""
_INJECTED: Final = {
    re.compile(r"!`[^`\n]+`"): ("claude-code", "opencode", "kilo"),
    re.compile(r"^```!", re.MULTILINE): ("claude-code",),
    re.compile(r"!\{[^}\n]+\}"): ("gemini", "qwen"),
}
"""How a command stands in a text, and the clients that run it."""


def weigh_prompts(before: Mapping[str, Any], after: Mapping[str, Any], clients: Sequence[str] = ()) -> Iterator[str]:
    """Yield what texts that differ loosen; `clients` are those of the harness, the first has bare names."""
    for name, text in after.items():
        was = before.get(name)
        if isinstance(text, str) and text != was:
            title = f"prompts[{encode(name)}]"
            if name.rpartition(":")[2] == AIDER_MODELS and _has_other_traffic(was, text):
                yield f"{title} {WORDS[Risk.REDIRECTS]}"
            steps = {*name.replace(":", "/").split("/")}
            if steps & EXPANDED:
                readers = readers_of(name, clients)
                yield from _weigh_commands(title, was if isinstance(was, str) else "", text, readers)
            if steps & FRONTED and (_has_front(text) or _has_front(was)):
                readers = readers_of(name, clients)
                if not readers or "rules" not in steps or not HARMLESS_FRONT.issuperset(readers):
                    yield from _weigh_front_matter(title, was, text, readers)


def _has_other_traffic(was: Any, text: str) -> bool:
    known = set(_ELSEWHERE.findall(was)) if isinstance(was, str) else set()
    return not known.issuperset(_ELSEWHERE.findall(text))


def _has_front(text: Any) -> bool:
    return isinstance(text, str) and text.lstrip("\ufeff \t\r\n").startswith("---")


def _weigh_commands(title: str, was: str, text: str, readers: Sequence[str]) -> Iterator[str]:
    """Yield commands in a text, which a client runs when the text is used."""
    forms = [form for form, whose in _INJECTED.items() if any(is_of(client, readers) for client in whose)]
    came = sorted({command for form in forms for command in set(form.findall(text)) - set(form.findall(was))})
    if came:
        yield f"{title} runs a program when it is used: {', '.join(came)}"


def _weigh_front_matter(title: str, was: Any, text: str, readers: Sequence[str]) -> Iterator[str]:
    old, new = _read_front_matter(was), _read_front_matter(text)
    if new is None:
        if _take_head(was) != _take_head(text):
            yield f"{title} has front matter that cannot be read, and may bring permissions"
        return
    earlier: Mapping[str, Any] = old or {}
    for key in ALLOWING:
        came = subtract_items(_list_tools(new.get(key)), _list_tools(earlier.get(key)))
        if came:
            yield f"{title} allows more: {', '.join(came)}"
    for key in DISALLOWED_TOOL_KEYS:
        gone = subtract_items(_list_tools(earlier.get(key)), _list_tools(new.get(key)))
        if gone:
            yield f"{title} may use more tools: {', '.join(gone)}"
    yield from _weigh_tools(title, earlier, new)
    if is_of("claude-code", readers):
        yield from _weigh_modes(title, earlier, new)
    for key in RUNS:
        if is_set(new.get(key)) and encode(new[key]) != encode(earlier.get(key)):
            yield f"{title} runs a program: {key}"
    if is_as_in_opencode(readers) and ("permission" in earlier or "permission" in new):
        old_rules, new_rules = (flatten_settings({"permission": side.get("permission")}) for side in (earlier, new))
        yield from (
            reason.replace("config[", f"{title}[", 1)
            for reason in weigh_settings(old_rules, new_rules, ("opencode",))
        )


def _weigh_tools(title: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield tools that an agent gains; an agent without a list has the session's tools."""
    if USING in old and USING not in new:
        yield f"{title} may use every tool: its list of tools is gone"
        return
    came = [
        tool
        for tool in subtract_items(_list_used(new.get(USING)), _list_used(old.get(USING)))
        if tool not in READING.split()
    ]
    if came:
        yield f"{title} may use more tools: {', '.join(came)}"


def _list_used(value: Any) -> Any:
    """Return the tools of a list, or those of a mapping that are on."""
    if isinstance(value, Mapping):
        return [str(tool) for tool, on in value.items() if on is not False]
    return _list_tools(value)


def _weigh_modes(title: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    (rule,) = find_rules(("permissions", "defaultMode"), ("claude-code",))
    for key in MODES:
        was, is_now = old.get(key), new.get(key)
        ranks = [rank_mode(mode, rule.unset[0], rule.modes) for mode in (was, is_now)]
        if ranks[0] < ranks[1]:
            yield f"{title} is loosened from {describe_mode(was)} to {describe_mode(is_now)}"


def _take_head(text: Any) -> str:
    """Return the text before the second line of dashes."""
    return re.split(r"^---\s*$", text, maxsplit=2, flags=re.MULTILINE)[1] if _has_front(text) else ""


def _read_front_matter(text: Any) -> Mapping[str, Any] | None:
    from takeback.adapters.formats.front_matter import parse_front_matter  # noqa: PLC0415 - it loads a parser

    if not _has_front(text):
        return {}
    try:
        return parse_front_matter(text, "").mapping
    except InputError:
        return None


def _list_tools(value: Any) -> Any:
    """Return tools as a list; a text has them between commas."""
    return [tool.strip() for tool in value.split(",") if tool.strip()] if isinstance(value, str) else value


StateLike: TypeAlias = "State | Mapping[str, Any]"
"""A state, or what it would have as `config`, `tools`, `listeners`, `files` and `prompts`, in JSON."""
TRUSTING: Final = ("trust", "alwaysAllow", "autoApprove", "default_tools_approval_mode")
"""Fields of a server's record by which its tools are called without asking."""
WAYS: Final = ("command", "url", "httpUrl", "serverUrl", "tcp")
"""Fields by which a record is one of a server."""
TELLING: Final = frozenset(
    {"description", "timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "name", *TRUSTING}
)
"""Fields that say nothing of what a server runs or reaches."""
FEWER: Final = ("includeTools", "enabled_tools")
"""Fields that limit a server's tools by being there."""
EXCLUDED_TOOL_KEYS: Final = ("excludeTools", "disabled_tools")
"""Fields that leave out tools of a server."""
LOADED: Final = re.compile(r"(?:^|/)\.opencode/plugins?/|^plugins?/[^/]+\.[cm]?[jt]s$")
"""Files that opencode runs because of where they lie; declarations tell it of other clients."""


def clients_of(adapter: Adapter) -> tuple[str, ...]:
    """Return the clients of a harness, the first with bare names; none where it is not of clients' files."""
    module = sys.modules.get("takeback.adapters.clients.adapter")  # where it is not loaded there are no such adapters
    if module is None or not isinstance(adapter, module.ClientAdapter):
        return ()
    return tuple(member.client.name for member in adapter.members)


def find_loosened_permissions(before: StateLike, after: StateLike, clients: Sequence[str] = ()) -> list[str]:
    """Return what the later state allows or runs that the earlier did not, and which guards are gone.

    `clients` are those of the harness, the first has bare names. Each setting is judged by the table of its client;
    where no client is given, by the tables of all.
    """
    old, new = flatten_settings(before["config"]), flatten_settings(after["config"])
    loosened = [
        *weigh_settings(old, new, clients),
        *_weigh_servers(before["tools"], after["tools"]),
        *_weigh_hooks(before["listeners"], after["listeners"]),
        *_weigh_scripts(before, after, (old, new), clients),
        *weigh_prompts(*_find_changes(before, after, "prompts"), clients),
    ]
    return list(dict.fromkeys(loosened))


def _find_changes(before: StateLike, after: StateLike, surface: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what differs on a surface, by key; of whole states without looking at the rest."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        old, new = before[surface], after[surface]
        keys = [key for key in {*old, *new} if encode(old.get(key)) != encode(new.get(key))]
        return {key: old[key] for key in keys if key in old}, {key: new[key] for key in keys if key in new}
    from takeback.state.surface import SURFACES  # noqa: PLC0415 - the guard needs no states

    before_value, after_value = before.part(surface), after.part(surface)
    names = (
        [change.address.key for change in SURFACES[surface].diff(before_value, after_value)]
        if before_value is not after_value
        else []
    )
    return _read_keys(before, surface, names), _read_keys(after, surface, names)


def _find_changed_files(before: StateLike, after: StateLike) -> dict[str, tuple[bool, bool]]:
    """Return the paths of files that differ, and whether each was there before and after; contents are not read."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        old, new = before["files"], after["files"]
        return {path: (path in old, path in new) for path in {*old, *new} if old.get(path) != new.get(path)}
    from takeback.state import ABSENT, SURFACES  # noqa: PLC0415 - the guard needs no states

    changes = SURFACES["files"].diff(before.part("files"), after.part("files"))
    return {change.address.key: (change.before is not ABSENT, change.after is not ABSENT) for change in changes}


def _read_keys(state: State, surface: str, keys: list[str]) -> dict[str, Any]:
    return {key: state[surface, key] for key in keys if (surface, key) in state}


def _read_field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else None


def _weigh_servers(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, record in after.items():
        was = before.get(name)
        if encode(was) == encode(record):
            continue
        title = f"tools[{encode(name)}]"
        for field in TRUSTING:
            is_now = _read_field(record, field)
            if is_now not in (None, False, "", [], "prompt", "ask") and encode(is_now) != encode(
                _read_field(was, field)
            ):
                yield f"{title} is trusted without asking: {field} is {encode(is_now)}"
        if _is_server(name, record) and not _is_off(record):
            yield from _weigh_reach(title, was, record)


def _is_server(name: str, record: Any) -> bool:
    begins = name.startswith("mcp:") or ":mcp:" in name
    return isinstance(record, Mapping) and (begins or any(way in record for way in WAYS))


def _is_off(record: Any) -> bool:
    return _read_field(record, "enabled") is False or _read_field(record, "disabled") is True


def _weigh_reach(title: str, was: Any, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a server runs or reaches that it did not before."""
    if not isinstance(was, Mapping) or _is_off(was):
        what = "runs a program" if "command" in record else "sends traffic elsewhere"
        yield f"{title} is a server that {what}"
        return
    switches = {"enabled", "disabled", *FEWER, *EXCLUDED_TOOL_KEYS}
    fields = [name for name in {*was, *record} if encode(was.get(name)) != encode(record.get(name))]
    other = sorted(set(fields) - TELLING - switches - {name for name in ("env", "headers") if not record.get(name)})
    if other:
        yield f"{title} runs or reaches something else: {', '.join(other)}"
    for name in FEWER:
        came = subtract_items(record.get(name), was.get(name))
        if name in fields and name in was and (name not in record or came):
            yield f"{title} offers more tools: {', '.join(came) or name + ' is gone'}"
    for name in EXCLUDED_TOOL_KEYS:
        gone = subtract_items(was.get(name), record.get(name))
        if gone:
            yield f"{title} offers more tools: {', '.join(gone)}"


FLAT: Final = ("command", "bash", "powershell")
"""Fields of a hook that stands by itself, without a group around it."""


class _Hook(NamedTuple):
    """One hook: its event, its text, and the description of it when it is new."""

    event: str
    said: str
    new: str = ""


def _weigh_hooks(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = _count_hooks(before), _count_hooks(after)
    for hook, number in sorted((old - new).items()):
        times = "" if number == 1 else f", {number} times"
        yield f"listeners[{encode(hook.event)}] has a hook removed or changed: {hook.said}{times}"
    for hook in sorted(new - old):
        if hook.new:
            yield f"listeners[{encode(hook.event)}] {hook.new}"


def _count_hooks(listeners: Mapping[str, Any]) -> Counter[_Hook]:
    """Return every hook, one by one: another hook beside it changes nothing."""
    counted: Counter[_Hook] = Counter()
    for event, elements in listeners.items():
        for element in elements:
            options = _read_field(element, "options")
            hooks = _read_field(options, "hooks")
            if not isinstance(hooks, list):
                runs = any(key in options for key in FLAT) if isinstance(options, Mapping) else False
                new = "has another hook, which runs a program" if runs else "has a hook that is not known"
                counted[_Hook(event, encode(element), new if options else "")] += 1
                continue
            around = {key: value for key, value in options.items() if key != "hooks"}
            matcher = around.get("matcher")
            description = "has another hook, which runs a program" + (f", for {encode(matcher)}" if matcher else "")
            counted.update(_Hook(event, encode({**around, "hook": hook}), description) for hook in hooks)
    return counted


def _weigh_scripts(
    before: StateLike, after: StateLike, settings: tuple[Leaves, Leaves], clients: Sequence[str]
) -> Iterator[str]:
    """Yield files that are run, by hooks, settings or servers, and files of rules, which are not what they were."""
    changes = _find_changed_files(before, after)
    if not changes:
        return
    states = zip((before, after), settings, strict=True)
    run = "\n".join(program for state, leaves in states for program in _list_programs(state, leaves, clients))
    for path, (was, is_now) in sorted(changes.items()):
        what = "gone" if not is_now else "changed" if was else "new"
        if _is_named(path, run):
            yield f"files[{encode(path)}], which a hook, a setting or a server runs, is {what}"
        elif path in ZED_TASKS and is_of("zed", clients):
            yield f"files[{encode(path)}], which says what tasks run, is {what}"
        elif path.endswith(".rules") and is_of("codex", clients):
            yield f"files[{encode(path)}], which says which commands are allowed, is {what}"
        elif (LOADED.search(path) and is_of("opencode", clients)) or _is_loaded(path, clients):
            yield f"files[{encode(path)}], which the client runs when it starts, is {what}"


def _is_loaded(path: str, clients: Sequence[str]) -> bool:
    """Return whether one of some clients runs a file because of where it lies."""
    from takeback.adapters.clients import CLIENTS  # noqa: PLC0415 - it imports what imports this

    declared = [CLIENTS[client](user=user) for client in clients if client in CLIENTS for user in (False, True)]
    folders = [script for client in declared for script in client.scripts if script.event]
    return any(is_in_folder(path, folder.folder, folder.endings) for folder in folders)


def _list_programs(state: StateLike, settings: Leaves, clients: Sequence[str]) -> Iterator[str]:
    yield from (hook.said for hook in _count_hooks(state["listeners"]))
    for path, value in settings.items():
        rules = find_rules(simplify_path(path), owners_of(path[0], clients)) if is_set(value) and path else ()
        if any(rule.risk is Risk.EXECUTES for rule in rules):
            yield encode(value)
    yield from (encode(record) for name, record in state["tools"].items() if _is_server(name, record))


def _is_named(path: str, programs: str) -> bool:
    """Return whether commands name a file, by its path or behind a folder."""
    return path in programs and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", programs) is not None
