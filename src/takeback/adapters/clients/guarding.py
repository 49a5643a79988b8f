"""What a change of a client's harness loosens: permissions, sandbox, approvals, programs, traffic, hooks on guard.

`loosened` compares two states and says in one sentence each what the later one allows or runs that the earlier did
not, or which guard it is without. Nothing is run or asked here. Where a value is not known, it counts as loosened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from takeback.adapters.clients.prompts_risk import weigh_prompts
from takeback.adapters.clients.risk import Risk
from takeback.adapters.clients.risk_tables import rules_of
from takeback.adapters.clients.settings_risk import Leaves, is_set, leaves_of, minus, plain_path, weigh_settings
from takeback.adapters.clients.whose import is_of, owners_of
from takeback.canonical import encode

if TYPE_CHECKING:
    from takeback.harness.adapter import Adapter
    from takeback.state import State

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
WITHOUT: Final = ("excludeTools", "disabled_tools")
"""Fields that leave out tools of a server."""
LOADED: Final = re.compile(r"(?:^|/)\.opencode/plugins?/|^plugins?/[^/]+\.[cm]?[jt]s$")
"""Files that a client runs because of where they lie."""


def clients_of(adapter: Adapter) -> tuple[str, ...]:
    """Return the clients of a harness, the first with bare names; none where it is not of clients' files."""
    from takeback.adapters.clients.adapter import ClientAdapter  # noqa: PLC0415 - the guard needs no adapter

    return tuple(one.client.name for one in adapter.members) if isinstance(adapter, ClientAdapter) else ()


def loosened(before: StateLike, after: StateLike, clients: Sequence[str] = ()) -> list[str]:
    """Return what the later state allows or runs that the earlier did not, and which guards are gone.

    `clients` are those of the harness, the first has bare names. Each setting is judged by the table of its client;
    where no client is given, by the tables of all.
    """
    old, new = leaves_of(before["config"]), leaves_of(after["config"])
    found = [
        *weigh_settings(old, new, clients),
        *_servers(before["tools"], after["tools"]),
        *_hooks(before["listeners"], after["listeners"]),
        *_scripts(before, after, (old, new), clients),
        *weigh_prompts(*_changed(before, after, "prompts"), clients),
    ]
    return list(dict.fromkeys(found))


def _changed(before: StateLike, after: StateLike, surface: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what differs on a surface, by key; of whole states without looking at the rest."""
    if isinstance(before, Mapping) or isinstance(after, Mapping):
        old, new = before[surface], after[surface]
        keys = [key for key in {*old, *new} if encode(old.get(key)) != encode(new.get(key))]
        return {key: old[key] for key in keys if key in old}, {key: new[key] for key in keys if key in new}
    from takeback.state.surface import SURFACES  # noqa: PLC0415 - the guard needs no states

    one, two = before.part(surface), after.part(surface)
    names = [change.address.key for change in SURFACES[surface].diff(one, two)] if one is not two else []
    return _at(before, surface, names), _at(after, surface, names)


def _at(state: State, surface: str, keys: list[str]) -> dict[str, Any]:
    return {key: state[surface, key] for key in keys if (surface, key) in state}


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else None


def _servers(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, record in after.items():
        was = before.get(name)
        if encode(was) == encode(record):
            continue
        title = f"tools[{encode(name)}]"
        for field in TRUSTING:
            is_now = _field(record, field)
            if is_now not in (None, False, "", [], "prompt", "ask") and encode(is_now) != encode(_field(was, field)):
                yield f"{title} is trusted without asking: {field} is {encode(is_now)}"
        if _is_server(name, record) and not _is_off(record):
            yield from _reach(title, was, record)


def _is_server(name: str, record: Any) -> bool:
    begins = name.startswith("mcp:") or ":mcp:" in name
    return isinstance(record, Mapping) and (begins or any(way in record for way in WAYS))


def _is_off(record: Any) -> bool:
    return _field(record, "enabled") is False or _field(record, "disabled") is True


def _reach(title: str, was: Any, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a server runs or reaches that it did not before."""
    if not isinstance(was, Mapping) or _is_off(was):
        what = "runs a program" if "command" in record else "sends traffic elsewhere"
        yield f"{title} is a server that {what}"
        return
    switches = {"enabled", "disabled", *FEWER, *WITHOUT}
    fields = [name for name in {*was, *record} if encode(was.get(name)) != encode(record.get(name))]
    other = sorted(set(fields) - TELLING - switches - {name for name in ("env", "headers") if not record.get(name)})
    if other:
        yield f"{title} runs or reaches something else: {', '.join(other)}"
    for name in FEWER:
        came = minus(record.get(name), was.get(name))
        if name in fields and name in was and (name not in record or came):
            yield f"{title} offers more tools: {', '.join(came) or name + ' is gone'}"
    for name in WITHOUT:
        gone = minus(was.get(name), record.get(name))
        if gone:
            yield f"{title} offers more tools: {', '.join(gone)}"


class _Hook(NamedTuple):
    """One hook: its event, what it says, and what is told of it when it is new."""

    event: str
    said: str
    new: str = ""


def _hooks(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = _each_hook(before), _each_hook(after)
    for hook, number in sorted((old - new).items()):
        times = "" if number == 1 else f", {number} times"
        yield f"listeners[{encode(hook.event)}] is without a hook it had, or has it changed: {hook.said}{times}"
    for hook in sorted(new - old):
        if hook.new:
            yield f"listeners[{encode(hook.event)}] {hook.new}"


def _each_hook(listeners: Mapping[str, Any]) -> Counter[_Hook]:
    """Return every hook, one by one: another hook beside it changes nothing."""
    found: Counter[_Hook] = Counter()
    for event, elements in listeners.items():
        for element in elements:
            options = _field(element, "options")
            hooks = _field(options, "hooks")
            if not isinstance(hooks, list):
                found[_Hook(event, encode(element), "has a hook that is not known" if options else "")] += 1
                continue
            around = {key: value for key, value in options.items() if key != "hooks"}
            matcher = around.get("matcher")
            told = "has another hook, which runs a program" + (f", for {encode(matcher)}" if matcher else "")
            found.update(_Hook(event, encode({**around, "hook": hook}), told) for hook in hooks)
    return found


def _scripts(
    before: StateLike, after: StateLike, settings: tuple[Leaves, Leaves], clients: Sequence[str]
) -> Iterator[str]:
    """Yield files that are run, by hooks, settings or servers, and files of rules, which are not what they were."""
    was, is_now = _changed(before, after, "files")
    if not was and not is_now:
        return
    states = zip((before, after), settings, strict=True)
    run = "\n".join(program for state, leaves in states for program in _programs(state, leaves, clients))
    for path in sorted({*was, *is_now}):
        what = "gone" if path not in is_now else "changed" if path in was else "new"
        if _is_named(path, run):
            yield f"files[{encode(path)}], which a hook, a setting or a server runs, is {what}"
        elif path.endswith(".rules") and is_of("codex", clients):
            yield f"files[{encode(path)}], which says which commands are allowed, is {what}"
        elif LOADED.search(path) and is_of("opencode", clients):
            yield f"files[{encode(path)}], which the client runs when it starts, is {what}"


def _programs(state: StateLike, settings: Leaves, clients: Sequence[str]) -> Iterator[str]:
    """Yield what is run: by hooks, by settings, by servers."""
    yield from (hook.said for hook in _each_hook(state["listeners"]))
    for path, value in settings.items():
        rules = rules_of(plain_path(path), owners_of(path[0], clients)) if is_set(value) and path else ()
        if any(rule.risk is Risk.EXECUTES for rule in rules):
            yield encode(value)
    yield from (encode(record) for name, record in state["tools"].items() if _is_server(name, record))


def _is_named(path: str, programs: str) -> bool:
    """Whether commands name a file: as it is, or behind a folder."""
    return path in programs and re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w-])", programs) is not None
