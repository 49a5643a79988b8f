"""What a change of clients' settings loosens, by the tables of `risk_tables`, and by looks where they know nothing.

`weigh_settings` takes the settings of two states by path and yields one sentence for each thing that the later one
allows, runs or redirects and the earlier did not. Values are not told: some are secrets. Looks are on the careful
side: a name that only contains a word counts, and so does a value that could be a command, an address or a program's
path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from takeback.adapters.clients.ownership import is_as_in_opencode, owners_of
from takeback.adapters.clients.risk_tables import WORDS, Path, Risk, RiskRule, find_rules
from takeback.canonical import encode

Leaves = Mapping[Path, Any]
OFF: Final = (None, False, "", "none", "false")
"""Values of a guard that is off."""
_NOTHING: Final = frozenset({"null", "false", '""', "[]", "{}"})
"""Values that set nothing, encoded."""
LOOKS_RUNNING: Final = "is not known, and looks as if it ran a program or sent traffic elsewhere"
_SWITCHED_OFF: Final = frozenset({"off", "disabled", "none", "never", "no", "false"})
_REFERENCE: Final = re.compile(r"\{(?:env:[^}]*|file:\s*(?:[~/\\]|[A-Za-z]:|[^}]*\.\.)[^}]*)\}")
"""What opencode puts in the place of a variable's name, or of the path of a file elsewhere."""
ACTIONS: Final = ("deny", "ask", "allow")
_PROFILES: Final = "profiles"


def weigh_settings(old: Leaves, new: Leaves, clients: Sequence[str] = ()) -> Iterator[str]:
    """Yield what the later settings loosen; `clients` are those of the harness, the first has bare names."""
    for path in sorted({*old, *new}):
        if path and not _is_same(path, old, new):
            yield from dict.fromkeys(_weigh_setting(path, old, new, owners_of(path[0], clients)))


def flatten_settings(config: Mapping[str, Any]) -> dict[Path, Any]:
    """Return settings by path; lists are not taken apart, and a mapping with nothing in it is nothing."""
    return dict(_flatten_below((), config))


def _flatten_below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flatten_below((*path, str(key)), inner)
    else:
        yield path, value


def simplify_path(path: Path) -> Path:
    """Return a path without the names of client and document before it, and without the name of a profile."""
    steps = (path[0].rpartition(":")[2], *path[1:])
    return steps[2:] if steps[0] == _PROFILES and len(steps) > 2 else steps  # noqa: PLR2004 - a name, and a key in it


def _is_same(path: Path, old: Leaves, new: Leaves) -> bool:
    return (path in old) == (path in new) and encode(old.get(path)) == encode(new.get(path))


def _weigh_setting(path: Path, old: Leaves, new: Leaves, owners: Sequence[str]) -> Iterator[str]:
    steps, title = simplify_path(path), _format_title(path)
    was, is_now = old.get(path), new.get(path)
    if is_as_in_opencode(owners):
        yield from _weigh_references(title, was, is_now)
    if "permission" in steps and is_as_in_opencode(owners):
        if _is_looser(was, is_now):
            yield f"{title} is loosened from {describe_mode(was)} to {describe_mode(is_now)}"
        return
    known = find_rules(steps, owners)
    if not known and "tools" in steps[:-1] and is_as_in_opencode(owners):
        if was is False and is_now is not False:
            yield f"{title} is no longer off"
        elif is_now is True and was is not True:
            yield f"{title} is allowed without asking"
        return
    if not known:
        yield from _weigh_by_looks(steps, title, was, is_now)
    for rule in known:
        yield from _weigh_by_rule(rule, path, old, new)
        if has_name_like(rule.beneath, RUNNING) and _has_texts(is_now) and subtract_items(is_now, was):
            yield f"{title} {LOOKS_RUNNING}"


def _weigh_by_rule(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    title, was, is_now = _format_title(path), old.get(path), new.get(path)
    match rule.risk:
        case Risk.EXECUTES | Risk.REDIRECTS | Risk.INJECTS | Risk.LOADS:
            if is_set(is_now):
                yield f"{title} {rule.words}"
            elif rule.risk is Risk.LOADS and is_set(was) and "takeback" in ".".join(path):
                yield f"{title} no longer has Takeback's guard"
        case Risk.GROWING | Risk.SHRINKING | Risk.LIMITING:
            yield from _weigh_list(rule, path, old, new)
        case Risk.ORDERED:
            yield from _weigh_mode(rule, path, old, new)
        case Risk.SWITCH:
            back = path not in new and _is_equal(rule.default, rule.loose) and not _is_equal(was, rule.loose)
            if _is_equal(is_now, rule.loose) or back:
                yield f"{title} {rule.words}"
        case Risk.GUARD:
            yield from _weigh_guard(rule, path, old, new)
        case Risk.PROTECTED:
            if not _is_only_denying(was, is_now):
                yield f"{title} {rule.words}"


def _weigh_guard(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    """Yield that a guard is switched off, or is no longer switched on."""
    was, is_now = old.get(path), new.get(path)
    if is_now in OFF and (path in new or was not in OFF):
        yield f"{_format_title(path)} {rule.words}"
    elif rule.fine and is_set(is_now) and not any(_is_equal(is_now, value) for value in rule.fine):
        yield f"{_format_title(path)} {WORDS[Risk.EXECUTES]}"


def _weigh_list(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    title, was, is_now = _format_title(path), old.get(path), new.get(path)
    came, left = subtract_items(is_now, was), subtract_items(was, is_now)
    if rule.risk is Risk.GROWING and came:
        yield f"{title} {rule.words}: {', '.join(came)}"
    if rule.risk is Risk.SHRINKING:
        stricter = count_items(new.get((*path[:-1], "deny"))) if path[-1] == "ask" else Counter[str]()
        gone = [item for item in left if item not in stricter]
        if gone:
            yield f"{title} {rule.words}: {', '.join(gone)} is gone"
    if rule.risk is Risk.LIMITING and path in old and (path not in new or came):
        yield f"{title} {rule.words}: {', '.join(came) or 'it is gone'}"


def _weigh_mode(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    was, is_now = old.get(path), new.get(path)
    earlier, later = rule.unset
    if path not in old:
        elsewhere = [value for value in _read_elsewhere(path, old) if value in rule.modes]
        earlier = min(elsewhere, key=rule.modes.index, default=earlier)
    if rank_mode(is_now, later, rule.modes) > rank_mode(was, earlier, rule.modes):
        yield f"{_format_title(path)} is loosened from {describe_mode(was)} to {describe_mode(is_now)}"


def _read_elsewhere(path: Path, old: Leaves) -> Iterator[Any]:
    """Yield the values of the same setting in other documents, which a later document may override."""
    steps = simplify_path(path)
    yield from (value for other, value in old.items() if other[1:] == path[1:] and simplify_path(other) == steps)


def _weigh_by_looks(steps: Path, title: str, was: Any, is_now: Any) -> Iterator[str]:
    came, left = subtract_items(is_now, was), subtract_items(was, is_now)
    on = is_set(is_now)
    if on and came and (has_name_like(steps, RUNNING) or can_be_a_program(is_now)):
        yield f"{title} {LOOKS_RUNNING}"
    elif on and came and has_name_like(steps, ALLOWING):
        yield f"{title} is not known, and looks as if it allowed more"
    elif left and has_name_like(steps, PROTECTING) and not (on and not isinstance(is_now, list)):
        yield f"{title} is not known, and looks like a protection that is gone"
    elif str(is_now).lower() in _SWITCHED_OFF and came and has_name_like(steps, PROTECTING):
        yield f"{title} is not known, and looks like a protection that is switched off"
    elif on and not isinstance(is_now, list) and came and left and has_name_like(steps, PROTECTING):
        yield f"{title} is not known, and looks like a protection that is another now"


def _weigh_references(title: str, was: Any, is_now: Any) -> Iterator[str]:
    """Yield what a text takes in when the client reads it: variables, and files from elsewhere."""
    came = set(_REFERENCE.findall(encode(is_now))) - set(_REFERENCE.findall(encode(was)))
    if came:
        yield f"{title} takes in {', '.join(sorted(came))}"


def _has_texts(value: Any) -> bool:
    """Return whether a value is a text, or has one in it."""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return isinstance(value, str) or any(map(_has_texts, inside))


def _is_only_denying(was: Any, is_now: Any) -> bool:
    """Return whether a list of rules lost nothing and gained only rules that deny."""
    if not isinstance(is_now, list) or not (was is None or isinstance(was, list)):
        return False
    new = [item for item in is_now if encode(item) not in {encode(other) for other in was or ()}]
    return not subtract_items(was, is_now) and all(
        isinstance(item, Mapping) and item.get("decision") == "deny" for item in new
    )


def is_set(value: Any) -> bool:
    """Return whether a value sets anything."""
    return encode(value) not in _NOTHING


def _is_equal(old: Any, new: Any) -> bool:
    return encode(old) == encode(new)


def count_items(value: Any) -> Counter[str]:
    """Return the items of a list as texts; a value that is none is its own item."""
    listed = (
        value if isinstance(value, Sequence) and not isinstance(value, str) else () if value is None else (value,)
    )
    return Counter(item if isinstance(item, str) else encode(item) for item in listed if item != {})


def subtract_items(old: Any, new: Any) -> list[str]:
    """Return the items of one list that the other has not, each once."""
    return sorted(set(count_items(old)) - set(count_items(new)))


def rank_mode(value: Any, default: str, modes: Sequence[str]) -> int:
    """Return how loose a mode is; an unknown mode counts as the loosest."""
    mode = default if value is None else value
    return modes.index(mode) if mode in modes else len(modes)


def _is_looser(was: Any, is_now: Any) -> bool:
    """Return whether a rule, or a list of (pattern, action), allows more; a changed order counts as more."""
    old_pairs, new_pairs = _read_pairs(was), _read_pairs(is_now)
    if any(
        _rank_action(action) > _rank_action(old_pairs.get(pattern, "ask")) for pattern, action in new_pairs.items()
    ):
        return True
    if any(
        _rank_action(action) < ACTIONS.index("allow")
        for pattern, action in old_pairs.items()
        if pattern not in new_pairs
    ):
        return True
    kept = [pattern for pattern in old_pairs if pattern in new_pairs]
    return kept != [pattern for pattern in new_pairs if pattern in old_pairs]


def _read_pairs(value: Any) -> dict[str, Any]:
    """Return patterns with their actions, in order; one action for everything is that of the pattern `*`."""
    if isinstance(value, list):
        return {str(pair[0]): pair[1] for pair in value if isinstance(pair, list) and len(pair) == 2}  # noqa: PLR2004
    return {} if value in (None, {}) else {"*": value}


def _rank_action(value: Any) -> int:
    """Return how much an action allows; an unknown action counts as the most."""
    return ACTIONS.index(value) if value in ACTIONS else len(ACTIONS)


def describe_mode(value: Any) -> str:
    """Return a mode or a rule for people."""
    return "not set" if value is None else value if isinstance(value, str) else encode(value)


def _format_title(path: Path) -> str:
    return f"config[{encode('.'.join(path))}]"


LONGEST: Final = 4_096
"""So many characters of a value are looked at."""


RUNNING: Final = (
    "command cmd helper exec script hook url uri endpoint proxy path env args argv bin shell loader plugin preload "
    "wrapper launch program interpreter module librar extension marketplace registr webhook callback server host "
    "socket address header credential auth cert refresh spawn provider mcp telemetry otlp"
)
"""What a name contains that may run a program, redirect traffic or inject environment."""
ALLOWING: Final = (
    "allow bypass trust danger unsafe insecure skip yolo approv accept unrestricted grant disable ignore "
    "permission privilege elevat weaken noverify no_verify writable"
)
"""What a name contains whose value may widen permissions."""
PROTECTING: Final = (
    "deny denied forbid block sandbox protect restrict guard require verify confirm secur exclude enforce isolat "
    "redact readonly read_only"
)
"""What a name contains whose value may be a protection."""
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATH: Final = re.compile(r"\s*[\"']?(?:~|\.{1,2}|\$\{?\w+\}?|[A-Za-z]:)?[/\\][^\s/\\]")
_PROGRAM: Final = re.compile(
    r"\.(?:sh|bash|zsh|fish|py|js|mjs|cjs|ts|rb|pl|ps1|bat|cmd|exe|so|dylib|dll|jar|php|lua)(?:[\s\"']|$)",
    re.IGNORECASE,
)
_SHELL: Final = re.compile(r"\$\(|`|&&|\|\||(?<!\|)\|(?!\|)\s*\w|>>?\s*[/~.&]|;\s*[a-z]+ [-/.~$\"']")
_STARTS: Final = re.compile(
    r"\s*(?:(?:sudo|env|exec|eval|nohup|xargs)\s+\S|(?:ba|z|da|fi|k|c)?sh(?:\s|$)|(?:python|node|deno|bun|perl|ruby|"
    r"php|pwsh|powershell|osascript|lua)[\d.]*(?:\s|$)|(?:npx|uvx|uv|npm|pnpm|yarn|pip|docker|podman|curl|wget|nc|ncat|"
    r"ssh|scp|git|make|cargo|go|cat|echo|printf|rm|cp|mv|chmod|kill|open|cmd|touch|tee|dd|sed|awk)\s+\S)"
)


def has_name_like(path: tuple[str, ...], words: str) -> bool:
    """Return whether a path of names contains one of these words."""
    name = ".".join(path).lower()
    return any(word in name for word in words.split())


def can_be_a_program(value: Any) -> bool:
    """Return whether a value, or something in it, could be a command, an address or the path of a program."""
    if isinstance(value, Mapping):
        return any(has_name_like((str(key),), RUNNING) or can_be_a_program(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(can_be_a_program, value))
    return isinstance(value, str) and _is_program(value[:LONGEST])


def _is_program(text: str) -> bool:
    return bool(
        _URL.search(text) or _PATH.match(text) or _PROGRAM.search(text) or _SHELL.search(text) or _STARTS.match(text)
    )
