"""What a change of a client's harness loosens: permissions, sandbox, approvals, hooks that stand guard.

`loosened` compares two states and says in one sentence each what the later one allows that the earlier did not, or
which guard it is without. Nothing is run or asked here. Where a value is not known, it counts as loosened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from takeback.canonical import encode

if TYPE_CHECKING:
    from takeback.state import State

Leaves = Mapping[tuple[str, ...], Any]
StateLike: TypeAlias = "State | Mapping[str, Any]"
"""A state, or what it would have as `config`, `tools`, `listeners` and `files`, in JSON."""

GROWING: Final[Mapping[str, str]] = {
    "permissions.allow": "allows more",
    "permissions.additionalDirectories": "opens more directories",
    "sandbox.excludedCommands": "takes more commands out of the sandbox",
    "sandbox.filesystem.allowWrite": "lets the sandbox write more",
    "sandbox.network.allowedDomains": "lets the sandbox reach more",
    "sandbox.network.allowUnixSockets": "lets the sandbox reach more",
    "sandbox_workspace_write.writable_roots": "lets the sandbox write more",
    "enabledMcpjsonServers": "approves more servers",
    "tools.allowed": "allows more",
    "hooksConfig.disabled": "disables more hooks",
    "hooks.disabled": "disables more hooks",
}
"""Lists, by the path in a client's settings, of which a new item loosens."""
SHRINKING: Final[Mapping[str, str]] = {
    "permissions.deny": "denies less",
    "permissions.ask": "asks less",
    "sandbox.filesystem.denyRead": "lets the sandbox read more",
    "sandbox.filesystem.denyWrite": "lets the sandbox write more",
    "sandbox.network.deniedDomains": "lets the sandbox reach more",
    "disabledMcpjsonServers": "rejects fewer servers",
    "tools.exclude": "excludes fewer tools",
    "mcp.excluded": "excludes fewer servers",
}
"""Lists of which a missing item loosens."""
LIMITING: Final = frozenset({"tools.core", "mcp.allowed", "availableModels"})
"""Lists that limit by being there: a new item loosens, and so does leaving the list out."""
ORDERED: Final[Mapping[str, Sequence[str]]] = {
    "permissions.defaultMode": ("plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"),
    "approval_policy": ("untrusted", "on-request", "on-failure", "never"),
    "sandbox_mode": ("read-only", "workspace-write", "danger-full-access"),
    "general.defaultApprovalMode": ("plan", "default", "auto_edit", "yolo"),
}
"""Modes, strict ones first."""
UNSET: Final[Mapping[str, tuple[str, str]]] = {
    "permissions.defaultMode": ("default", "auto"),
    "approval_policy": ("on-request", "on-request"),
    "sandbox_mode": ("read-only", "read-only"),
    "general.defaultApprovalMode": ("default", "default"),
}
"""What a mode that is not set counts as: before a change, and after one, where clients' defaults differ."""
SWITCHES: Final[Mapping[str, tuple[Any, str]]] = {
    "disableAllHooks": (True, "disables every hook"),
    "allowManagedHooksOnly": (True, "disables the hooks of this harness"),
    "enableAllProjectMcpServers": (True, "approves every server"),
    "skipDangerousModePermissionPrompt": (True, "skips the prompt of the mode without permissions"),
    "sandbox.enableWeakerNestedSandbox": (True, "weakens the sandbox"),
    "sandbox_workspace_write.network_access": (True, "lets the sandbox reach the network"),
    "shell_environment_policy.ignore_default_excludes": (True, "passes secrets of the environment on"),
    "features.hooks": (False, "disables every hook"),
    "features.codex_hooks": (False, "disables every hook"),
    "hooksConfig.enabled": (False, "disables every hook"),
    "tools.autoAccept": (True, "accepts calls without asking"),
    "security.enablePermanentToolApproval": (True, "lets approvals hold permanently"),
    "sandbox.autoAllowBashIfSandboxed": (True, "allows commands without asking"),
    "sandbox.allowUnsandboxedCommands": (True, "allows commands outside of the sandbox"),
}
"""Values that loosen when they come to be set."""
GUARDS: Final[Mapping[str, str]] = {
    "sandbox.enabled": "is no longer on",
    "sandbox.failIfUnavailable": "is no longer on",
    "permissions.disableBypassPermissionsMode": "is no longer set",
    "permissions.disableAutoMode": "is no longer set",
    "disableAutoMode": "is no longer set",
    "tools.sandbox": "is no longer on",
    "security.disableYoloMode": "is no longer on",
    "security.folderTrust.enabled": "is no longer on",
}
"""Values that guard while they are set to anything but false."""
OFF: Final = (None, False, "", "none", "false")
ACTIONS: Final = ("deny", "ask", "allow")
TRUSTING: Final = ("trust", "alwaysAllow", "autoApprove", "default_tools_approval_mode")
"""Fields of a server's record by which its tools are called without asking."""


def loosened(before: StateLike, after: StateLike) -> list[str]:
    """What the later state allows that the earlier did not, and which guards are gone; empty if nothing."""
    old, new = _leaves(before), _leaves(after)
    found = [
        *(reason for path in sorted({*old, *new}) for reason in _setting(path, old, new)),
        *_rules(old, new),
        *_servers(before["tools"], after["tools"]),
        *_hooks(before["listeners"], after["listeners"]),
        *_scripts(before, after),
    ]
    return list(dict.fromkeys(found))


def _leaves(state: StateLike) -> dict[tuple[str, ...], Any]:
    """The settings of a state by path; the first step is without the client's and the document's names."""
    return dict(_below((), state["config"]))


def _below(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _below((*path, key), inner)
    else:
        yield path, value


def _title(path: tuple[str, ...]) -> str:
    return f"config[{encode('.'.join(path))}]"


def _setting(path: tuple[str, ...], old: Leaves, new: Leaves) -> Iterator[str]:
    if not path:
        return
    name = ".".join((path[0].rpartition(":")[2], *path[1:]))
    was, is_now = old.get(path), new.get(path)
    if encode(was) == encode(is_now) and (path in old) == (path in new):
        return
    title = _title(path)
    came, left = _minus(is_now, was), _minus(was, is_now)
    if name in GROWING and came:
        yield f"{title} {GROWING[name]}: {', '.join(came)}"
    if name in SHRINKING:
        stricter = _items(new.get((*path[:-1], "deny"))) if name == "permissions.ask" else Counter[str]()
        gone = [item for item in left if item not in stricter]
        if gone:
            yield f"{title} {SHRINKING[name]}: {', '.join(gone)} is gone"
    if name in LIMITING and path in old and (path not in new or came):
        yield f"{title} limits less: {', '.join(came) or 'it is gone'}"
    if name in SWITCHES and is_now == SWITCHES[name][0] and was != is_now:
        yield f"{title} {SWITCHES[name][1]}"
    if name in GUARDS and was not in OFF and is_now in OFF:
        yield f"{title} {GUARDS[name]}"
    yield from _mode(name, title, was, is_now)


def _mode(name: str, title: str, was: Any, is_now: Any) -> Iterator[str]:
    if name in ORDERED:
        modes, (earlier, later) = ORDERED[name], UNSET[name]
        if _rank(is_now, later, modes) > _rank(was, earlier, modes):
            yield f"{title} is loosened from {_rule(was)} to {_rule(is_now)}"
    if is_now is not None and any(name.startswith(f"{mode}.") for mode in ORDERED):
        yield f"{title} decides case by case: {_rule(is_now)}"
    if name.endswith(".trust_level") and is_now == "trusted":
        yield f"{title} trusts a directory"


def _items(value: Any) -> Counter[str]:
    found = value if isinstance(value, Sequence) and not isinstance(value, str) else () if value is None else (value,)
    return Counter(item if isinstance(item, str) else encode(item) for item in found if item != {})


def _minus(one: Any, two: Any) -> list[str]:
    """Items of one list that the other has not, each once."""
    return sorted(set(_items(one)) - set(_items(two)))


def _rank(value: Any, default: str, modes: Sequence[str]) -> int:
    mode = default if value is None else value
    return modes.index(mode) if mode in modes else len(modes)


def _rules(old: Leaves, new: Leaves) -> Iterator[str]:
    """Actions by tool or pattern (`permission.bash`), where the last rule that matches counts; tools that are off."""
    for path in sorted({*old, *new}):
        steps = (path[0].rpartition(":")[2], *path[1:]) if path else ()
        was, is_now = old.get(path), new.get(path)
        if encode(was) == encode(is_now):
            continue
        if "permission" in steps[:-1] or steps[-1:] == ("permission",):
            if _looser(was, is_now):
                yield f"{_title(path)} is loosened from {_rule(was)} to {_rule(is_now)}"
        elif "tools" in steps[:-1] and was is False and is_now is not False and ".".join(steps) not in SWITCHES:
            yield f"{_title(path)} is no longer off"


def _looser(was: Any, is_now: Any) -> bool:
    """Whether a rule, or a list of pairs of pattern and action, allows more; a changed order counts as that."""
    one, two = _pairs(was), _pairs(is_now)
    if any(_action(action) > _action(one.get(pattern, "ask")) for pattern, action in two.items()):
        return True
    if any(_action(action) < ACTIONS.index("allow") for pattern, action in one.items() if pattern not in two):
        return True
    kept = [pattern for pattern in one if pattern in two]
    return kept != [pattern for pattern in two if pattern in one]


def _pairs(value: Any) -> dict[str, Any]:
    """Patterns with their actions, in order; one action for everything is that of the pattern `*`."""
    if isinstance(value, list):
        return {str(pair[0]): pair[1] for pair in value if isinstance(pair, list) and len(pair) == 2}  # noqa: PLR2004
    return {} if value in (None, {}) else {"*": value}


def _action(value: Any) -> int:
    """How much an action allows; one that is not known counts as the most."""
    return ACTIONS.index(value) if value in ACTIONS else len(ACTIONS)


def _rule(value: Any) -> str:
    return "not set" if value is None else value if isinstance(value, str) else encode(value)


def _servers(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    for name, record in after.items():
        for field in TRUSTING:
            is_now, was = _field(record, field), _field(before.get(name), field)
            if is_now not in (*OFF, [], "prompt", "ask") and encode(is_now) != encode(was):
                yield f"tools[{encode(name)}] is trusted without asking: {field} is {encode(is_now)}"


def _field(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, Mapping) else None


def _hooks(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    left = _each_hook(after)
    for (event, told), number in sorted((_each_hook(before) - left).items()):
        times = "" if number == 1 else f", {number} times"
        yield f"listeners[{encode(event)}] is without a hook it had, or has it changed: {told}{times}"


def _each_hook(listeners: Mapping[str, Any]) -> Counter[tuple[str, str]]:
    """Every hook with its event and what it says, one by one: another hook beside it changes nothing."""
    found: Counter[tuple[str, str]] = Counter()
    for event, elements in listeners.items():
        for element in elements:
            options = _field(element, "options")
            hooks = _field(options, "hooks")
            if not isinstance(hooks, list):
                found[event, encode(element)] += 1
                continue
            around = {key: value for key, value in options.items() if key != "hooks"}
            found.update((event, encode({**around, "hook": hook})) for hook in hooks)
    return found


def _scripts(before: StateLike, after: StateLike) -> Iterator[str]:
    """Files that hooks run, and files of command rules, where they are gone or say something else."""
    old, new = before["files"], after["files"]
    hooks = " ".join(told for _, told in _each_hook(before["listeners"]))
    for path in sorted({*old, *new}):
        was, is_now = old.get(path), new.get(path)
        if encode(was) == encode(is_now):
            continue
        if path in old and path in hooks:
            yield f"files[{encode(path)}], which a hook runs, is {'gone' if path not in new else 'changed'}"
        elif path.endswith(".rules"):
            yield f"files[{encode(path)}], which says which commands are allowed, is changed"
