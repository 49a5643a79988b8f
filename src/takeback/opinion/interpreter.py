"""What a candidate does to a state, written from the specification alone: a second interpreter, on plain JSON values.

It shares no code with the runtime, the state or the prover, and imports nothing but the standard library. Trees are
nested dicts whose leaves are no dicts; a chain has its elements by id, each with its place. What an edit makes of a
text or a list is left open unless the caller says it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count
from typing import Any, Final, NamedTuple

Path = tuple[str, ...]
Component = tuple[str, ...]
"""The surface, and the names that lead to a slot of it."""
ABSENT: Final = type("Absent", (), {"__repr__": lambda _: "absent"})()
TREES: Final = {"config": ".", "files": "/"}
_KEYED: Final = {
    "prompt": "prompts",
    "routing": "routing",
    "tool": "tools",
    "socket": "resources",
    "call": "calls",
    "external": "external",
}
_FORWARD: Final = {
    **{f"{verb}_{noun}": ("put", _KEYED[noun], "L0") for verb, noun in (("set", "prompt"), ("set", "routing"))},
    "register_tool": ("put", "tools", "L0"),
    "set_config": ("put", "config", "L0"),
    "write_file": ("put", "files", "L1"),
    "allocate_socket": ("put", "resources", "L1"),
    "make_call": ("put", "calls", "L1"),
    "set_external": ("put", "external", "L1"),
    "unset_external": ("drop", "external", "L2"),
    "edit_external": ("fill", "external", "L2"),
    "add_middleware": ("add", "middleware", "L1"),
    "add_listener": ("add", "listeners", "L1"),
    "remove_prompt": ("drop", "prompts", "L2"),
    "unset_routing": ("drop", "routing", "L2"),
    "remove_tool": ("drop", "tools", "L2"),
    "free_socket": ("drop", "resources", "L2"),
    "unset_config": ("drop", "config", "L2"),
    **dict.fromkeys(("remove_file", "remove_directory"), ("drop", "files", "L2")),
    "remove_middleware": ("drop", "middleware", "L2"),
    "remove_listener": ("drop", "listeners", "L2"),
    "move_middleware": ("move", "middleware", "L2"),
    "move_listener": ("move", "listeners", "L2"),
    "replace_middleware": ("replace", "middleware", "L2"),
    "move_file": ("move", "files", "L2"),
    **dict.fromkeys(("append_config", "insert_config", "remove_config_item"), ("edit", "config", "L2")),
    "edit_prompt": ("edit", "prompts", "L2"),
    "edit_file": ("edit", "files", "L2"),
}
_SURFACES: Final = _KEYED | {"config": "config", "file": "files", "middleware": "middleware", "listener": "listeners"}
_BACK: Final = {
    **{f"restore_{noun}": surface for noun, surface in _SURFACES.items() if noun not in {"socket", "call"}},
    "compensate_call": "calls",
    "delete_config": "config",
    "delete_file": "files",
    "delete_external": "external",
    "unregister_tool": "tools",
    "unregister_listener": "listeners",
    "release_socket": "resources",
}
_SPOTS: Final = ("index", "before", "after", "priority")


Edit = Callable[["Op", Any], Any]
"""What an edit makes of a text or list; raises `FailedError` where it cannot run."""


class RejectedError(Exception):
    """A certificate that does not hold; `reason` names why."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class FailedError(Exception):
    """An operation that cannot run on a state."""


class Op(NamedTuple):
    """One operation as a candidate has it; `wide` marks one of L2."""

    name: str
    action: str
    surface: str
    path: Path
    value: Any = ABSENT
    key: str | None = None
    spot: tuple[str, Any] | None = None
    wide: bool = False

    def paths(self) -> tuple[Path, ...]:
        """Return where it writes."""
        moved = self.name == "move_file"
        return (self.path, tuple(self.value.split("/"))) if moved else (self.path,)


class Program(NamedTuple):
    """A candidate, read."""

    mutation: tuple[Op, ...]
    witness: tuple[Op, ...]
    recovery: tuple[Op, ...]
    contract: frozenset[Component]

    def covers(self, at: Component) -> bool:
        """Tell whether the contract lists a place, something above it in a tree, or its surface."""
        return any(
            at[:depth] in self.contract for depth in (range(1, len(at) + 1) if at[0] in TREES else (1, len(at)))
        )


def text(value: Any) -> str:
    """Return the one text of a value; values of different types have different texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_candidate(plain: Any) -> Program:
    """Return the candidate in a JSON value; raise `RejectedError` where it is none."""
    if not isinstance(plain, dict) or set(plain) != {"mutation", "witness", "recovery", "contract"}:
        raise RejectedError("malformed", "a candidate has a mutation, a witness, a recovery and a contract")
    mutation, witness, recovery = (_read_program(plain[name], name) for name in ("mutation", "witness", "recovery"))
    if not isinstance(plain["contract"], list):
        raise RejectedError("malformed", "a contract is a list")
    return Program(mutation, witness, recovery, frozenset(map(_read_place, plain["contract"])))


def _read_program(plain: Any, stage: str) -> tuple[Op, ...]:
    if not isinstance(plain, list):
        raise RejectedError("malformed", f"{stage} is a list of operations")
    return tuple(_read_op(op, stage) for op in plain)


def _read_op(plain: Any, stage: str) -> Op:
    if not isinstance(plain, dict) or not isinstance(plain.get("target"), str):
        raise RejectedError("malformed", f"an operation of the {stage} has an op_type and a target")
    name, target, key = str(plain.get("op_type")), plain["target"], plain.get("witness_key")
    action, surface, level = _FORWARD.get(name, ("", "", ""))
    if name in _BACK:
        action, surface = "back", _BACK[name]
    elif name.startswith("capture_"):
        action, surface = "capture", _SURFACES.get(name.removeprefix("capture_"), "")
    stages = {"capture": ("witness",), "back": ("recovery",), "edit": ("mutation", "recovery")}
    if not surface or stage not in stages.get(action, ("mutation",)):
        raise RejectedError("unknown operation", f"{name} in the {stage}")
    if (action == "capture" or name.startswith("restore_")) and not isinstance(key, str):
        raise RejectedError("malformed", f"{name} has no witness_key")
    path = _parse_path(target, TREES[surface]) if surface in TREES else (target,)
    spot = next(((spot, plain[spot]) for spot in _SPOTS if spot in plain), None)
    return Op(name, action, surface, path, plain.get("value", ABSENT), key, spot, level == "L2")


def _read_place(plain: Any) -> Component:
    match = re.fullmatch(r'([a-z]+)(?:\[(".*")\])?', plain, re.DOTALL) if isinstance(plain, str) else None
    if match is None or match[1] not in _SURFACES.values():
        raise RejectedError("malformed", f"{plain!r} in the contract is neither a surface nor an address")
    if match[2] is None:
        return (match[1],)
    key = json.loads(match[2])
    return (match[1], *(_parse_path(key, TREES[match[1]]) if match[1] in TREES else (key,)))


def _parse_path(key: str, mark: str) -> Path:
    if mark == "/" or "\\" not in key:
        return tuple(key.split(mark))
    return tuple(re.sub(r"\\(.)", r"\1", name) for name in re.findall(r"((?:[^.\\]|\\.)*)(?:\.|$)", key)[:-1])


class Chain(NamedTuple):
    """Elements by id, each with its place; `used` are the lowest and highest place that ever was."""

    links: dict[str, tuple[Fraction, Any]]
    used: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    def order(self) -> list[str]:
        """Return the ids as they stand; what came from two chains to one place stands by id."""
        return sorted(self.links, key=lambda name: (self.links[name][0], name))

    def put(self, name: str, place: Fraction, record: Any) -> Chain:
        """Return the chain with an element at a place."""
        used = min(self.used[0], place), max(self.used[1], place)
        return Chain({**self.links, name: (place, record)}, used)

    def drop(self, name: str) -> Chain:
        """Return the chain without an element."""
        return Chain({other: link for other, link in self.links.items() if other != name}, self.used)

    def insert(self, at: int, name: str, record: Any) -> Chain:
        """Return the chain with an element at a position among the others; at an end: beyond all that ever was."""
        rest = self.drop(name)
        places = [rest.links[other][0] for other in rest.order()]
        if at <= 0 < len(places):
            place = self.used[0] - 1
        elif at >= len(places):
            place = self.used[1] + 1
        else:
            place = (places[at - 1] + places[at]) / 2
        return rest.put(name, place, record)

    def behind(self, place: Fraction) -> Fraction:
        """Return a place right behind another."""
        return (
            place + min((standing for standing, _ in self.links.values() if standing > place), default=place + 1)
        ) / 2


State = dict[str, Any]
_RECORDS: Final[dict[str, dict[str, Any]]] = {
    "tools": {"id": ABSENT, "description": "", "parameters": {}, "implementation": ""},
    "middleware": {"id": ABSENT, "priority": 100, "options": {}},
    "listeners": {"id": ABSENT, "handler": ABSENT, "options": {}},
    "resources": {"kind": "socket", "lifecycle": "open"},
    "calls": {"arguments": {}, "state": "made"},
}


def fill_record(surface: str, name: str, raw: Any) -> Any:
    """Return a content with its defaults."""
    if isinstance(raw, str) and surface in {"listeners", "resources"}:
        raw = {"id" if surface == "listeners" else "address": raw}
    if surface not in _RECORDS or not isinstance(raw, dict):
        return raw
    if surface == "tools" and not {"id", "implementation"} & set(raw) and set(raw) - {*_RECORDS["tools"], "volatile"}:
        return raw
    named = {field: name if value is ABSENT else value for field, value in _RECORDS[surface].items()}
    return {**named, **{field: value for field, value in raw.items() if value != "" or field != "handler"}}


def read_state(plain: Any) -> State:
    """Return the state in a JSON value; raise `RejectedError` where there is no such state."""
    if not isinstance(plain, dict) or set(plain) - set(_SURFACES.values()):
        raise RejectedError("impossible state", "not a mapping of surfaces")
    for name, part in plain.items():
        if not isinstance(part, list if name == "middleware" else dict):
            raise RejectedError("impossible state", f"{name} is neither a mapping nor a chain")
    state: State = {name: plain.get(name, {}) for name in ("config", "prompts", "routing", "external")}
    for name in ("tools", "resources", "calls"):
        state[name] = {key: fill_record(name, key, raw) for key, raw in plain.get(name, {}).items()}
    held = [resource["address"] for resource in state["resources"].values() if not resource["address"].endswith(":0")]
    if len(set(held)) != len(held):
        raise RejectedError("impossible state", "two resources hold one address")
    state["middleware"] = _read_chain("middleware", plain.get("middleware", []))
    state["listeners"] = {
        event: _read_chain("listeners", chain) for event, chain in plain.get("listeners", {}).items() if chain
    }
    state["files"] = {}
    for name, raw in sorted(plain.get("files", {}).items()):
        try:
            state["files"] = _put(state["files"], tuple(name.split("/")), _read_file(raw))
        except FailedError as fault:
            raise RejectedError("impossible state", f"{name}: {fault}") from None
    return state


def _read_file(raw: Any) -> Any:
    """Return the content and mode of a file; a directory is a mapping."""
    if isinstance(raw, str):
        return ("text", raw), None
    if raw.get("directory"):
        return {}
    content = ("bytes", raw["base64"]) if "base64" in raw else ("text", raw["content"])
    return content, raw.get("mode")


def _read_chain(surface: str, plain: list[Any]) -> Chain:
    chain = Chain({})
    if not isinstance(plain, list):
        raise RejectedError("impossible state", f"{surface} has what is no chain")
    for raw in plain:
        record = fill_record(surface, "" if isinstance(raw, str) else raw["id"], raw)
        if record["id"] in chain.links:
            raise RejectedError("impossible state", f"{record['id']!r} is twice in a chain")
        chain = chain.insert(len(chain.links), record["id"], record)
    return chain


def get(node: Any, path: Path) -> Any:
    """Return what stands at a path of a tree."""
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return ABSENT
        node = node[name]
    return node


def _put(node: Any, path: Path, content: Any) -> Any:
    if not path:
        return content
    if not isinstance(node, dict):
        raise FailedError(f"something is in the way of {path[-1]!r}")
    return {**node, path[0]: _put(node.get(path[0], {}), path[1:], content)}


def put_or_drop(node: Any, path: Path, content: Any) -> Any:
    """Return a tree with other content, or nothing, at a path; raise `FailedError` where a leaf is in the way."""
    return _drop(node, path) if content is ABSENT else _put(node, path, content)


def _drop(node: Any, path: Path) -> Any:
    if not isinstance(node, dict) or path[0] not in node:
        return node
    rest = {name: inner for name, inner in node.items() if name != path[0]}
    return rest if len(path) == 1 else {**rest, path[0]: _drop(node[path[0]], path[1:])}


# What operations mean: SPEC sections 2, 3 and 10. Each takes the value of its surface and returns the next one.


def _forward(op: Op, value: Any, edit: Edit) -> Any:
    if op.surface in TREES:
        return _forward_in_tree(op, value, edit)
    if op.surface == "middleware":
        return _forward_in_chain(op, value, op.path[0])
    if op.surface == "listeners":
        chain = value.get(op.path[0], Chain({}))
        if op.action == "drop" and op.value is ABSENT:
            return {**value, op.path[0]: Chain({}, chain.used)}
        name = op.value["id"] if isinstance(op.value, dict) else str(op.value)
        return {**value, op.path[0]: _forward_in_chain(op, chain, name)}
    if op.action == "drop":
        return _drop(value, op.path)
    if op.action == "edit":
        if op.path[0] not in value:
            raise FailedError("there is no such prompt")
        return {**value, op.path[0]: edit(op, value[op.path[0]])}
    if op.action == "fill":
        if op.path[0] not in value:
            raise FailedError("there is no such record")
        return {**value, op.path[0]: {**value[op.path[0]], op.value["field"]: op.value["value"]}}
    record = fill_record(op.surface, op.path[0], op.value)
    if op.surface == "resources":
        _want(value, op.path[0], record)
    if op.surface == "calls" and op.path[0] in value:
        raise FailedError(f"a call was made as {op.path[0]!r} before")
    return {**value, op.path[0]: record}


def _forward_in_tree(op: Op, value: Any, edit: Edit) -> Any:
    there, files = get(value, op.path), op.surface == "files"
    if files and isinstance(there, dict) != (op.name == "remove_directory") and there is not ABSENT:
        raise FailedError(f"{op.path[-1]!r} is a directory" if isinstance(there, dict) else "it is a file")
    if op.action == "drop":
        return _drop(value, op.path)
    if op.action == "put":
        if not files:
            return _put(value, op.path, op.value)
        content, mode = _read_file(op.value)
        return _put(value, op.path, (content, mode or ("0644" if there is ABSENT else there[1])))
    if there is ABSENT or isinstance(there, dict):
        raise FailedError("there is nothing to edit or move")
    if op.action == "edit":
        return _put(value, op.path, (edit(op, there[0]), there[1]) if files else edit(op, there))
    goal = op.paths()[1]
    if get(value, goal) is not ABSENT:
        raise FailedError("something is there already")
    return _put(_drop(value, op.path), goal, there)


def _forward_in_chain(op: Op, chain: Chain, name: str) -> Chain:
    if op.action == "drop":
        return chain.drop(name)
    there = chain.links.get(name)
    if op.action in {"move", "replace"} and there is None:
        raise FailedError(f"there is no {name!r}")
    record = there[1] if op.action == "move" and there else fill_record(op.surface, name, op.value)
    if there and (op.action == "replace" or op.name == "add_listener"):
        return chain.put(name, there[0], record)
    kind, wanted = op.spot or ("index", len(chain.links))
    rest = chain.drop(name)
    order = rest.order()
    if kind in {"before", "after"}:
        if wanted not in rest.links:
            raise FailedError(f"there is no {wanted!r} to stand next to")
        wanted = order.index(wanted) + (kind == "after")
    elif kind == "priority":
        record = {**record, "priority": wanted}
        later = (at for at, other in enumerate(order) if rest.links[other][1]["priority"] > record["priority"])
        wanted = next(later, len(order))
    return chain.insert(wanted, name, record)


def _want(value: Any, key: str, record: Any) -> None:
    address = record["address"]
    for other, held in value.items():
        if other != key and held["address"] == address and not address.endswith(":0"):
            raise FailedError(f"{address} is held by {other!r}")


def edit_value(op: Op, there: Any) -> Any:
    """Return what an edit really makes of a text or list."""
    if op.surface == "config":
        return _edit_list(there, op)
    if op.surface == "prompts":
        return _edit_text(there, op.value)
    if there[0] != "text":
        raise FailedError("not a text")
    return "text", _edit_text(there[1], op.value)


def _edit_text(there: str, edit: Any) -> str:
    old, new = str(edit["old"]), str(edit["new"])
    if not old:
        return there + new
    places = [at for at in range(len(there)) if there.startswith(old, at)]
    if len(places) != 1:
        raise FailedError("what is to be replaced is not there exactly once")
    return there[: places[0]] + new + there[places[0] + len(old) :]


def _edit_list(there: Any, op: Op) -> list[Any]:
    if not isinstance(there, list):
        raise FailedError("there is no list")
    at = len(there)
    if op.name == "remove_config_item":
        at = _only(there, op.value)
        return there[:at] + there[at + 1 :]
    if op.name == "insert_config" and op.spot is not None:
        at = op.spot[1] if op.spot[0] == "index" else _only(there, op.spot[1]) + (op.spot[0] == "after")
    return [*there[:at], op.value, *there[at:]]


def _only(items: list[Any], item: Any) -> int:
    places = [at for at, other in enumerate(items) if text(other) == text(item)]
    if len(places) != 1:
        raise FailedError("the item is not there exactly once")
    return places[0]


class _Capture(NamedTuple):
    """What a capture took down: its operation, what stood there, and which containers above were missing."""

    op: Op
    content: Any
    missing: frozenset[Path] = frozenset()


def _capture(op: Op, state: State) -> _Capture:
    value = state[op.surface]
    if op.surface in TREES:
        above = [op.path[:depth] for depth in range(1, len(op.path))]
        missing = frozenset(path for path in above if get(value, path) is ABSENT)
        return _Capture(op, get(value, op.path), missing)
    if op.surface == "listeners":
        chain = value.get(op.path[0], Chain({}))
        return _Capture(op, chain if op.value is ABSENT else chain.links.get(op.value, ABSENT))
    if op.surface == "middleware":
        return _Capture(op, value if op.path == ("*",) else value.links.get(op.path[0], ABSENT))
    return _Capture(op, value.get(op.path[0], ABSENT))


def _back(op: Op, value: Any, took: _Capture | None) -> Any:
    content = ABSENT if took is None else took.content
    if op.surface in TREES:
        return _back_in_tree(op, value, took, content)
    if op.surface == "listeners":
        chain = value.get(op.path[0], Chain({}))
        name = op.value if took is None else took.op.value
        if took is None or content is ABSENT:
            left = Chain({}, chain.used) if name is ABSENT else chain.drop(name)
        else:
            left = content if name is ABSENT else chain.put(name, *content)
        return {**value, op.path[0]: left}
    if op.surface == "middleware":
        return _back_in_chain(op, value, took)
    if op.surface == "calls":
        return _compensate(op, value, took)
    if content is ABSENT:
        return _drop(value, op.path)
    if op.surface == "resources":
        _want(value, op.path[0], content)
    return {**value, op.path[0]: content}


def _compensate(op: Op, value: Any, took: _Capture | None) -> Any:
    if took is not None and took.op.path != op.path:
        raise FailedError("the witness is of another call")
    if op.path[0] not in value or (took is not None and took.content is not ABSENT):
        return value
    return {**value, op.path[0]: {**value[op.path[0]], "state": "compensated"}}


def _back_in_tree(op: Op, value: Any, took: _Capture | None, content: Any) -> Any:
    if content is not ABSENT:
        return _put(value, op.path, content)
    if op.surface == "files" and isinstance(get(value, op.path), dict):
        raise FailedError(f"{op.path[-1]!r} is a directory")
    value = _drop(value, op.path)
    missing = took.missing if took is not None and took.op.path == op.path else ()
    for depth in range(len(op.path) - 1, 0, -1):
        above = op.path[:depth]
        if above not in missing or get(value, above) != {}:
            break
        value = _drop(value, above)
    return value


def _back_in_chain(op: Op, value: Chain, took: _Capture | None) -> Chain:
    content, name = ABSENT if took is None else took.content, op.path[0]
    if name == "*":
        if not isinstance(content, Chain):
            raise FailedError("the witness holds one element, not the chain")
        return content
    if isinstance(content, Chain):
        content = content.links.get(name, ABSENT)
    elif took is not None and took.op.path[0] != name and content is not ABSENT:
        content = value.behind(content[0]), content[1]
    return value.drop(name) if content is ABSENT else value.put(name, *content)


def leave(number: int) -> Any:
    """Return what stands for that which an edit leaves, and nobody knows."""
    return "left", number


class Trip(NamedTuple):
    """How a round trip went: where the mutation stopped, if it did, and what is wrong, if anything."""

    stops: int | None
    wrong: str


def run(program: Program, state: State, *, edit: Edit | None = None, places: bool = False) -> Trip:
    """Return how a candidate fares on a state.

    An edit leaves something unknown unless `edit` says what. With `places`, elements must come back to theirs.
    """
    unknown = count()
    edit = edit or (lambda _, __: leave(next(unknown)))
    witness = {op.key: _capture(op, state) for op in program.witness}
    now, stops, effects = dict(state), None, list[Component]()
    for at, op in enumerate(program.mutation):
        try:
            now[op.surface] = _forward(op, now[op.surface], edit)
        except FailedError:
            now, stops = dict(state), at
            break
        effects += [(op.surface, *path) for path in op.paths()]
    for surface in TREES:
        effects += _changes(state[surface], now[surface], (surface,))
    missed = next((place for place in effects if not program.covers(place)), None)
    if missed is not None:
        return Trip(stops, f"contract incomplete: it omits {missed}")
    for at, op in enumerate(program.recovery):
        took = witness.get(op.key)
        if op.key is not None and (took is None or took.op.surface != op.surface):
            return Trip(stops, f"not restored: recovery[{at}] has no capture of its surface")
        try:
            back = op.action == "back"
            now[op.surface] = _back(op, now[op.surface], took) if back else _forward(op, now[op.surface], edit)
        except FailedError as fault:
            return Trip(stops, f"not restored: recovery[{at}] cannot run, {fault}")
    other = (name for name in state if state[name] is not now[name])
    wrong = next((name for name in other if _mean(name, state, places) != _mean(name, now, places)), None)
    return Trip(stops, "" if wrong is None else f"not restored: {wrong} is not as before")


def _mean(surface: str, state: State, places: bool) -> str:
    """Return what a surface's value means: a call that was compensated means the same as one never made."""
    value = state[surface]
    if surface == "calls":
        value = {key: call for key, call in value.items() if call["state"] == "made"}
    return _plain(value, places)


def _plain(value: Any, places: bool) -> str:
    """Return a surface's value as text: chains by order, or with every place."""
    if isinstance(value, Chain):
        links = ((name, *value.links[name]) for name in value.order())
        return text([[name, record, str(place) if places else ""] for name, place, record in links])
    chains = isinstance(value, dict) and any(isinstance(inner, Chain) for inner in value.values())
    return text({name: _plain(inner, places) for name, inner in value.items() if inner.links} if chains else value)


def _changes(old: Any, new: Any, at: Component) -> Iterator[Component]:
    """Yield the deepest places at which two trees differ; elsewhere a change is at what an operation names."""
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _changes(old.get(name, ABSENT), new.get(name, ABSENT), (*at, name))
    elif old is ABSENT or new is ABSENT:
        there = new if old is ABSENT else old
        if isinstance(there, dict) and there:
            for name, inner in there.items():
                yield from _changes(ABSENT, inner, (*at, name))
        else:
            yield at
    elif isinstance(old, dict) or isinstance(new, dict) or text(old) != text(new):
        yield at
