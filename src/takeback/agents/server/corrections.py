"""Corrected calls: for a call that failed, one near it that works, for the agent to send instead.

A correction is tried before it is offered: its change is judged and previewed on the harness as it is.
Where nothing near works, the call offered is one that looks. A correction never removes something other
than what was named, and never repeats a secret.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final, NamedTuple

from takeback.canonical import write_compact
from takeback.errors import TakebackError
from takeback.language.oneline import FIELDS, build_program, list_things, read_line
from takeback.language.suggestions import CUTOFF, find_lines, find_near_names
from takeback.secret_mask import mask_text_secrets
from takeback.state import KINDS, SURFACES, Stage, State
from takeback.state.surface import Surface, surface_by_word

INSTEAD: Final = "Send this instead: "
MOST_TRIES: Final = 60
"""So many lines are tried for one that failed."""
OPTIONS: Final = ("json", "text", "old", "new", "append", "before", "after", "index", "priority", "mode")
OTHER_VERBS: Final = {"delete": "remove", "unset": "remove", "update": "set", "change": "set", "replace": "edit"}
OTHER_FIELDS: Final = {"op": "op_type", "type": "op_type", "name": "target", "key": "target", "content": "value"}
Works = Callable[[Mapping[str, Any]], bool]
"""Tells whether a change, as arguments of propose_change, would be admitted and could be made."""


class CorrectedCall(NamedTuple):
    """A call of a tool."""

    tool: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{INSTEAD}{self.tool} {write_compact(dict(self.arguments))}"


def correct_change(arguments: Mapping[str, Any], state: State, works: Works) -> CorrectedCall:
    """Return a change near one that failed; where there is none, the call that shows what is there."""
    lines = arguments.get("lines")
    lines = [lines] if isinstance(lines, str) else lines if isinstance(lines, list) else []
    kept = {"note": arguments["note"]} if isinstance(arguments.get("note"), str) and arguments["note"] else {}
    if lines:
        fixed = _correct_lines([str(line) for line in lines], state, works)
        if fixed is not None:
            return CorrectedCall("propose_change", {"lines": fixed, **kept})
        return _look_around(str(lines[0]))
    mutation = arguments.get("mutation")
    if isinstance(mutation, list) and mutation:
        program = [_correct_operation(op) for op in mutation if isinstance(op, dict)]
        if program and works({"mutation": program}):
            return CorrectedCall("propose_change", {"mutation": program, **kept})
    return give_example(state, works)


def give_example(state: State, works: Works) -> CorrectedCall:
    """Return a small change that would be admitted on this state; else the call that shows what is there."""
    prompts = SURFACES["prompts"]
    names = (address.key for address, _ in prompts.entries(state.part("prompts")))
    known = [shlex.join(["edit", "prompt", name, "--append", "- be brief"]) for name in islice(names, 3)]
    for line in [*known, "set config example true"]:
        if works({"lines": [line]}):
            return CorrectedCall("propose_change", {"lines": [line]})
    return CorrectedCall("harness_state", {})


def correct_names(name: str, known: Sequence[str]) -> str | None:
    """Return the known name nearest to another."""
    return next(iter(find_near_names(name, known)), None)


def correct_arguments(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a tool's schema wants them: known names, the right types, numbers within bounds."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    fixed: dict[str, Any] = {}
    for given, value in arguments.items():
        name = (
            given if given in properties else correct_names(given, [name for name in properties if name not in fixed])
        )
        if name is not None and name not in fixed:
            correct = _correct_value(properties[name], value)
            if correct is not None:
                fixed[name] = correct
    return fixed


def _correct_value(schema: Mapping[str, Any], value: Any) -> Any:
    kind = schema.get("type") or next((option.get("type") for option in schema.get("anyOf", ())), None)
    if kind == "integer":
        number = int(value) if str(value).lstrip("-").isdecimal() else None
        return (
            None if number is None else max(schema.get("minimum", number), min(schema.get("maximum", number), number))
        )
    if kind == "boolean":
        return value if isinstance(value, bool) else str(value).casefold() == "true"
    if kind == "string":
        return value if isinstance(value, str) else str(value)
    if kind == "array":
        items = value if isinstance(value, list) else [value]
        inner: Mapping[str, Any] = schema.get("items", {})
        if "enum" in inner:
            near = [correct_names(str(item), inner["enum"]) for item in items]
            return [item for item in near if item is not None]
        return [item if inner.get("type") == "object" else str(item) for item in items] or None
    return value


def _look_around(line: str) -> CorrectedCall:
    """Return the call that shows what a line could be about."""
    words = _list_readings(line)[0]
    surface = _find_thing(words[1]) if len(words) > 1 else None
    return CorrectedCall("harness_state", {} if surface is None else {"surfaces": [surface.name]})


def _find_thing(word: str) -> Surface | None:
    near = correct_names(word, [name for surface in SURFACES.values() for name in (surface.word, surface.name)])
    return None if near is None else surface_by_word(near)


def _correct_lines(lines: Sequence[str], state: State, works: Works) -> list[str] | None:
    """Return lines of which every one that fails alone is corrected."""
    fixed: list[str] = []
    for line in lines:
        if _can_build(line, state) and works({"lines": [line]}):
            fixed.append(line)
            continue
        tried = islice(dict.fromkeys(_iter_repairs(line, state)), MOST_TRIES)
        fitting = (line for line in tried if mask_text_secrets(line) == line and _can_build(line, state))
        choice = next((line for line in fitting if works({"lines": [line]})), None)
        if choice is None:
            return None
        fixed.append(choice)
    return fixed if works({"lines": fixed}) else None


def _can_build(line: str, state: State) -> bool:
    try:
        build_program(read_line(line), state)
    except TakebackError:
        return False
    return True


def _list_readings(line: str) -> list[list[str]]:
    """Return the words of a line, in each way of closing a quotation that it leaves open."""
    readings = []
    for text in (line, f"{line}'", f'{line}"', line.replace("'", "").replace('"', "")):
        try:
            words = shlex.split(text)
        except ValueError:
            continue
        readings.append(words[1:] if words[:1] == ["takeback"] else words)
    return readings


def _read_options(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return plain words and options, those spelled wrong under the nearest name there is."""
    plain: list[str] = []
    options: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if word == "--":
            plain += left
        elif word.startswith("--"):
            name, given, inline = word[2:].partition("=")
            value = inline if given else next(left, "")
            known = name if name in OPTIONS else correct_names(name, OPTIONS)
            if known is not None and value:
                options.setdefault(known, value)
        else:
            plain.append(word)
    return plain, options


def _iter_repairs(line: str, state: State) -> Iterator[str]:
    """Yield lines near one that failed, the nearest first."""
    for words in _list_readings(line):
        plain, options = _read_options(words)
        if not plain:
            continue
        said = plain[0].casefold()
        verb = said if said in FIELDS else OTHER_VERBS.get(said) or correct_names(said, list(FIELDS)) or "set"
        thing, key = [*plain[1:3], "", ""][:2]
        value = " ".join(plain[3:])
        for surface in _list_surfaces(thing, key, verb, state):
            for name in _list_keys(key, surface, state):
                yield from _iter_forms(verb, surface, name, value, options, state)


def _list_surfaces(thing: str, key: str, verb: str, state: State) -> list[Surface]:
    """Return what a word may mean: what is spelled like it, then what has something of that name."""
    near = _find_thing(thing)
    having = [surface for surface in SURFACES.values() if key and key in _list_names(surface, state)]
    possible = set(list_things(verb)) | set(list_things("set"))
    return [surface for surface in dict.fromkeys([near, *having]) if surface is not None and surface.word in possible]


def _list_names(surface: Surface, state: State) -> list[str]:
    return list(dict.fromkeys(address.key for address, _ in surface.entries(state.part(surface.name))))


def _list_keys(key: str, surface: Surface, state: State) -> list[str]:
    return list(dict.fromkeys([key, *find_near_names(key, _list_names(surface, state))])) if key else []


def _iter_forms(
    verb: str, surface: Surface, key: str, value: str, options: Mapping[str, str], state: State
) -> Iterator[str]:
    """Yield ways of saying one change, from the one that keeps most of what was said."""
    word, content = surface.word, _read_content(surface, key, state)
    placed = {name: text for name, text in options.items() if name not in {"old", "new", "append", "json", "text"}}
    given = options.get("json") or options.get("text") or value
    if verb == "edit":
        yield from _iter_edits(word, key, value, options, content)
        changed = options.get("new", given)
        if isinstance(content, str) and options.get("old", "") in content:
            changed = content.replace(options["old"], changed) if options.get("old") else changed
        if word != "prompt" and changed:
            yield _write_line("set", word, key, changed, {})
        return
    verbs = {"add": ("add", "set"), "move": ("move",), "remove": ("remove",)}.get(verb, ("set",))
    for each in verbs:
        yield _write_line(each, word, key, given, placed)
        yield _write_line(each, word, key, given, {})
        if given:
            yield _write_line(each, word, key, "", {"text": given})
            yield _write_line(each, word, f"{key.rstrip('+-')}+", given, {})
    if verb in {"set", "add"} and not given:
        yield _write_line("set", word, key, "true", {})
    if verb == "remove":
        yield _write_line("remove", word, key, "", {})


def _iter_edits(word: str, key: str, value: str, options: Mapping[str, str], content: Any) -> Iterator[str]:
    old, new = options.get("old", ""), options.get("new", "")
    if isinstance(content, str) and old and new:
        lines = content.splitlines()
        for number in find_lines(content, old):
            whole = lines[number - 1]
            if content.count(whole) == 1:
                yield _write_line("edit", word, key, "", {"old": whole, "new": whole.replace(old, new, 1)})
        near = get_close_matches(old, lines, 1, CUTOFF)
        if near and content.count(near[0]) == 1:
            yield _write_line("edit", word, key, "", {"old": near[0], "new": new})
    yield _write_line("edit", word, key, "", {name: options[name] for name in ("old", "new") if name in options})
    appended = options.get("append") or new or options.get("text") or value
    if appended and not old:
        yield _write_line("edit", word, key, "", {"append": appended})


def _read_content(surface: Surface, key: str, state: State) -> Any:
    try:
        content = surface.find(state.part(surface.name), surface.target(key, "name", None))
        plain = surface.describe(content)
    except (TakebackError, LookupError, TypeError, AttributeError):
        return None
    return plain.get("content") if isinstance(plain, dict) else plain


def _write_line(verb: str, word: str, key: str, value: str, options: Mapping[str, str]) -> str:
    words = [text for name, given in options.items() for text in (f"--{name}", given)]
    tail = ["--", value] if value.startswith("-") else [value] if value else []
    return shlex.join([verb, word, key, *words, *tail])


def _correct_operation(op: Mapping[str, Any]) -> dict[str, Any]:
    """Return an operation with fields and a kind that exist, as far as any is near."""
    known = ["op_type", "target", "value", "index", "before", "after", "priority"]
    fixed: dict[str, Any] = {}
    for name, value in op.items():
        field = name if name in known else OTHER_FIELDS.get(name) or correct_names(name, known)
        if field is not None:
            fixed.setdefault(field, value)
    kinds = [kind.name for kind in KINDS.values() if kind.stage is Stage.FORWARD]
    kind = str(fixed.get("op_type", ""))
    fixed["op_type"] = kind if kind in kinds else correct_names(kind, kinds) or kind
    return fixed
