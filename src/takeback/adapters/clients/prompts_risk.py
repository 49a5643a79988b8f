"""What a change of agents, commands and skills loosens: tools they gain, modes, hooks, commands that run in a text.

Front matter that cannot be read counts as loosened where it is new: some clients load such a file all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from takeback.adapters.clients.looks import words_of
from takeback.adapters.clients.risk_tables import TABLES
from takeback.adapters.clients.settings_risk import is_set, leaves_of, minus, rank, told, weigh_settings
from takeback.adapters.clients.whose import is_of, readers_of
from takeback.canonical import encode
from takeback.errors import InputError

ALLOWING: Final = ("allowed-tools", "allowedTools", "allowed_tools")
"""Keys of front matter with tools that are called without asking."""
USING: Final = "tools"
WITHOUT: Final = ("disallowedTools", "disallowed-tools")
MODES: Final = ("permissionMode", "permission-mode")
READING: Final = frozenset(
    words_of(
        "Read Glob Grep LS NotebookRead TodoRead TodoWrite AskUserQuestion read glob grep list todoread todowrite "
        "read_file read_many_files list_directory glob search_file_content grep_search"
    )
)
"""Tools that only read."""
RUNS: Final = ("hooks", "mcpServers", "mcp-servers", "mcp_servers", "plugins", "shell", "env", "command")
"""Keys of front matter that run programs or start servers."""
EXPANDED: Final = frozenset({"commands", "command", "skills", "skill"})
"""Folders of texts in which a command is run when the text is used."""
FRONTED: Final = EXPANDED | {"agents", "agent", "output-styles", "rules"}
"""Folders of texts of which a client reads the front matter."""
_INJECTED: Final = {
    re.compile(r"!`[^`\n]+`"): ("claude-code", "opencode"),
    re.compile(r"^```!", re.MULTILINE): ("claude-code",),
    re.compile(r"!\{[^}\n]+\}"): ("gemini",),
}
"""How a command stands in a text, and the clients that run it."""


def weigh_prompts(before: Mapping[str, Any], after: Mapping[str, Any], clients: Sequence[str] = ()) -> Iterator[str]:
    """Yield what texts that differ loosen; `clients` are those of the harness, the first has bare names."""
    for name, text in after.items():
        was = before.get(name)
        if isinstance(text, str) and text != was:
            title = f"prompts[{encode(name)}]"
            steps = {*name.replace(":", "/").split("/")}
            if steps & EXPANDED:
                readers = readers_of(name, clients)
                yield from _injected(title, was if isinstance(was, str) else "", text, readers)
            if steps & FRONTED and (_has_front(text) or _has_front(was)):
                yield from _front_matter(title, was, text, readers_of(name, clients))


def _has_front(text: Any) -> bool:
    return isinstance(text, str) and text.lstrip("\ufeff \t\r\n").startswith("---")


def _injected(title: str, was: str, text: str, readers: Sequence[str]) -> Iterator[str]:
    """Yield commands in a text, which a client runs when the text is used."""
    forms = [form for form, whose in _INJECTED.items() if any(is_of(client, readers) for client in whose)]
    came = sorted({one for form in forms for one in set(form.findall(text)) - set(form.findall(was))})
    if came:
        yield f"{title} runs a program when it is used: {', '.join(came)}"


def _front_matter(title: str, was: Any, text: str, readers: Sequence[str]) -> Iterator[str]:
    old, new = _said(was), _said(text)
    if new is None:
        if _head(was) != _head(text):
            yield f"{title} has front matter that cannot be read, and may bring permissions"
        return
    earlier: Mapping[str, Any] = old or {}
    for key in ALLOWING:
        came = minus(_tools(new.get(key)), _tools(earlier.get(key)))
        if came:
            yield f"{title} allows more: {', '.join(came)}"
    for key in WITHOUT:
        gone = minus(_tools(earlier.get(key)), _tools(new.get(key)))
        if gone:
            yield f"{title} may use more tools: {', '.join(gone)}"
    yield from _using(title, earlier, new)
    if is_of("claude-code", readers):
        yield from _modes(title, earlier, new)
    for key in RUNS:
        if is_set(new.get(key)) and encode(new[key]) != encode(earlier.get(key)):
            yield f"{title} runs a program: {key}"
    if is_of("opencode", readers) and ("permission" in earlier or "permission" in new):
        old_rules, new_rules = (leaves_of({"permission": one.get("permission")}) for one in (earlier, new))
        yield from (
            reason.replace("config[", f"{title}[", 1)
            for reason in weigh_settings(old_rules, new_rules, ("opencode",))
        )


def _using(title: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield tools that an agent is given now; one without such a list has what the session has."""
    if USING in old and USING not in new:
        yield f"{title} may use every tool: its list of tools is gone"
        return
    came = [tool for tool in minus(_used(new.get(USING)), _used(old.get(USING))) if tool not in READING]
    if came:
        yield f"{title} may use more tools: {', '.join(came)}"


def _used(value: Any) -> Any:
    """Return the tools of a list, or those of a mapping that are on."""
    if isinstance(value, Mapping):
        return [str(tool) for tool, on in value.items() if on is not False]
    return _tools(value)


def _modes(title: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    rule = TABLES["claude-code"].rules["permissions.defaultMode"]
    for key in MODES:
        is_now = new.get(key)
        if is_now is not None and rank(is_now, rule.unset[1], rule.modes) > rank(
            old.get(key), rule.unset[0], rule.modes
        ):
            yield f"{title} is loosened from {told(old.get(key))} to {told(is_now)}"
        elif is_now is None and rank(None, rule.unset[0], rule.modes) > rank(old.get(key), rule.unset[0], rule.modes):
            yield f"{title} is loosened from {told(old.get(key))} to not set"


def _head(text: Any) -> str:
    """Return what stands before the second line of dashes."""
    return re.split(r"^---\s*$", text, maxsplit=2, flags=re.MULTILINE)[1] if _has_front(text) else ""


def _said(text: Any) -> Mapping[str, Any] | None:
    """Return the front matter of a text; None where it cannot be read."""
    from takeback.adapters.formats.front_matter import split_front_matter  # noqa: PLC0415 - it loads a parser

    if not _has_front(text):
        return {}
    try:
        return split_front_matter(text, "").mapping
    except InputError:
        return None


def _tools(value: Any) -> Any:
    """Return tools as a list; a text has them between commas."""
    return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value
