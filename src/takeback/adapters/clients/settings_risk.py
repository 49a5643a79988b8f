"""What a change of clients' settings loosens, by the tables of `risk_tables`, and by looks where they know nothing.

`weigh_settings` takes the settings of two states by path and yields one sentence for each thing that the later one
allows, runs or redirects and the earlier did not. Values are not told: some are secrets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from takeback.adapters.clients import looks
from takeback.adapters.clients.risk import SETS, Path, Risk, RiskRule
from takeback.adapters.clients.risk_tables import rules_of
from takeback.adapters.clients.whose import is_of, owners_of
from takeback.canonical import encode

Leaves = Mapping[Path, Any]
OFF: Final = (None, False, "", "none", "false")
"""Values of a guard that is off."""
_NOTHING: Final = frozenset({"null", "false", '""', "[]", "{}"})
"""Values that set nothing, encoded."""
ACTIONS: Final = ("deny", "ask", "allow")
_PROFILES: Final = "profiles"


def weigh_settings(old: Leaves, new: Leaves, clients: Sequence[str] = ()) -> Iterator[str]:
    """Yield what the later settings loosen; `clients` are those of the harness, the first has bare names."""
    for path in sorted({*old, *new}):
        if path and not _same(path, old, new):
            yield from dict.fromkeys(_weigh(path, old, new, owners_of(path[0], clients)))


def leaves_of(config: Mapping[str, Any]) -> dict[Path, Any]:
    """Return settings by path; lists are not taken apart, and a mapping with nothing in it is nothing."""
    return dict(_below((), config))


def _below(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _below((*path, str(key)), inner)
    else:
        yield path, value


def plain_path(path: Path) -> Path:
    """Return a path without the names of client and document before it, and without the name of a profile."""
    steps = (path[0].rpartition(":")[2], *path[1:])
    return steps[2:] if steps[0] == _PROFILES and len(steps) > 2 else steps  # noqa: PLR2004 - a name, and a key in it


def _same(path: Path, old: Leaves, new: Leaves) -> bool:
    return (path in old) == (path in new) and encode(old.get(path)) == encode(new.get(path))


def _weigh(path: Path, old: Leaves, new: Leaves, owners: Sequence[str]) -> Iterator[str]:
    steps, title = plain_path(path), _title(path)
    was, is_now = old.get(path), new.get(path)
    if "permission" in steps and is_of("opencode", owners):
        if _is_looser(was, is_now):
            yield f"{title} is loosened from {told(was)} to {told(is_now)}"
        return
    known = rules_of(steps, owners)
    if not known and "tools" in steps[:-1] and is_of("opencode", owners):
        if was is False and is_now is not False:
            yield f"{title} is no longer off"
        return
    if not known:
        yield from _by_looks(steps, title, was, is_now)
    for rule in known:
        yield from _by_rule(rule, path, old, new)


def _by_rule(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    title, was, is_now = _title(path), old.get(path), new.get(path)
    match rule.risk:
        case Risk.EXECUTES | Risk.REDIRECTS | Risk.INJECTS | Risk.LOADS:
            if is_set(is_now):
                yield f"{title} {rule.words}"
            elif rule.risk is Risk.LOADS and is_set(was) and "takeback" in ".".join(path):
                yield f"{title} is without Takeback, which stands guard"
        case Risk.GROWING | Risk.SHRINKING | Risk.LIMITING:
            yield from _by_list(rule, path, old, new)
        case Risk.ORDERED:
            yield from _by_mode(rule, path, old, new)
        case Risk.SWITCH:
            back = path not in new and _equal(rule.default, rule.loose) and not _equal(was, rule.loose)
            if _equal(is_now, rule.loose) or back:
                yield f"{title} {rule.words}"
        case Risk.GUARD:
            yield from _by_guard(rule, path, old, new)
        case Risk.PROTECTED:
            if not _only_denies(was, is_now):
                yield f"{title} {rule.words}"


def _by_guard(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    """Yield that a guard is off: said so, or no longer said to be on."""
    was, is_now = old.get(path), new.get(path)
    if is_now in OFF and (path in new or was not in OFF):
        yield f"{_title(path)} {rule.words}"
    elif rule.fine and is_set(is_now) and not any(_equal(is_now, one) for one in rule.fine):
        yield f"{_title(path)} {SETS[Risk.EXECUTES]}"


def _by_list(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    title, was, is_now = _title(path), old.get(path), new.get(path)
    came, left = minus(is_now, was), minus(was, is_now)
    if rule.risk is Risk.GROWING and came:
        yield f"{title} {rule.words}: {', '.join(came)}"
    if rule.risk is Risk.SHRINKING:
        stricter = items_of(new.get((*path[:-1], "deny"))) if path[-1] == "ask" else Counter[str]()
        gone = [item for item in left if item not in stricter]
        if gone:
            yield f"{title} {rule.words}: {', '.join(gone)} is gone"
    if rule.risk is Risk.LIMITING and path in old and (path not in new or came):
        yield f"{title} {rule.words}: {', '.join(came) or 'it is gone'}"


def _by_mode(rule: RiskRule, path: Path, old: Leaves, new: Leaves) -> Iterator[str]:
    was, is_now = old.get(path), new.get(path)
    earlier, later = rule.unset
    if path not in old:
        elsewhere = [value for value in _elsewhere(path, old) if value in rule.modes]
        earlier = min(elsewhere, key=rule.modes.index, default=earlier)
    if rank(is_now, later, rule.modes) > rank(was, earlier, rule.modes):
        yield f"{_title(path)} is loosened from {told(was)} to {told(is_now)}"


def _elsewhere(path: Path, old: Leaves) -> Iterator[Any]:
    """Yield what other documents say of the same setting: a later one may override them."""
    steps = plain_path(path)
    yield from (value for other, value in old.items() if other[1:] == path[1:] and plain_path(other) == steps)


def _by_looks(steps: Path, title: str, was: Any, is_now: Any) -> Iterator[str]:
    """Yield what a setting that no table knows may loosen."""
    came, left = minus(is_now, was), minus(was, is_now)
    on = is_set(is_now)
    if on and came and (looks.has_name_like(steps, looks.RUNNING) or looks.can_be_a_program(is_now)):
        yield f"{title} is not known, and looks as if it ran a program or sent traffic elsewhere"
    elif on and came and looks.has_name_like(steps, looks.ALLOWING):
        yield f"{title} is not known, and looks as if it allowed more"
    elif left and looks.has_name_like(steps, looks.PROTECTING) and not (on and not isinstance(is_now, list)):
        yield f"{title} is not known, and looks like a protection that is gone"
    elif on and not isinstance(is_now, list) and came and left and looks.has_name_like(steps, looks.PROTECTING):
        yield f"{title} is not known, and looks like a protection that is another now"


def _only_denies(was: Any, is_now: Any) -> bool:
    """Whether a list of rules has nothing less than before, and nothing new but what denies."""
    if not isinstance(is_now, list) or not (was is None or isinstance(was, list)):
        return False
    new = [one for one in is_now if encode(one) not in {encode(other) for other in was or ()}]
    return not minus(was, is_now) and all(isinstance(one, Mapping) and one.get("decision") == "deny" for one in new)


def is_set(value: Any) -> bool:
    """Whether a value sets anything."""
    return encode(value) not in _NOTHING


def _equal(one: Any, two: Any) -> bool:
    return encode(one) == encode(two)


def items_of(value: Any) -> Counter[str]:
    """Return the items of a list as texts; a value that is none is its own item."""
    listed = (
        value if isinstance(value, Sequence) and not isinstance(value, str) else () if value is None else (value,)
    )
    return Counter(item if isinstance(item, str) else encode(item) for item in listed if item != {})


def minus(one: Any, two: Any) -> list[str]:
    """Return the items of one list that the other has not, each once."""
    return sorted(set(items_of(one)) - set(items_of(two)))


def rank(value: Any, default: str, modes: Sequence[str]) -> int:
    """Return how loose a mode is; one that is not known counts as the loosest."""
    mode = default if value is None else value
    return modes.index(mode) if mode in modes else len(modes)


def _is_looser(was: Any, is_now: Any) -> bool:
    """Whether a rule, or a list of pairs of pattern and action, allows more; a changed order counts as that."""
    one, two = _pairs(was), _pairs(is_now)
    if any(_action(action) > _action(one.get(pattern, "ask")) for pattern, action in two.items()):
        return True
    if any(_action(action) < ACTIONS.index("allow") for pattern, action in one.items() if pattern not in two):
        return True
    kept = [pattern for pattern in one if pattern in two]
    return kept != [pattern for pattern in two if pattern in one]


def _pairs(value: Any) -> dict[str, Any]:
    """Return patterns with their actions, in order; one action for everything is that of the pattern `*`."""
    if isinstance(value, list):
        return {str(pair[0]): pair[1] for pair in value if isinstance(pair, list) and len(pair) == 2}  # noqa: PLR2004
    return {} if value in (None, {}) else {"*": value}


def _action(value: Any) -> int:
    """Return how much an action allows; one that is not known counts as the most."""
    return ACTIONS.index(value) if value in ACTIONS else len(ACTIONS)


def told(value: Any) -> str:
    """Return a mode or a rule for people."""
    return "not set" if value is None else value if isinstance(value, str) else encode(value)


def _title(path: Path) -> str:
    return f"config[{encode('.'.join(path))}]"
