"""A change, a later change, and what the state should be when only the first is taken back.

Protocols: `different` puts the later change on a surface that the first does not touch, `same` on another
element of the same container, `front` makes both insert at the front of the middleware chain. Right is what the
later change alone would have made of the state before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from takeback.errors import InputError
from takeback.language import Program, read_program
from takeback.runtime import run_forward
from takeback.state import SURFACES, Stage, State
from takeback.state.address import format_dotted_path, parse_dotted_path
from takeback_lab.tasks import Task
from takeback_lab.tasks.model import FORWARD

PROTOCOLS: Final = ("different", "same", "front")
AnyJson = Any
_FIRST_PORT: Final = 28_000


@dataclass(frozen=True, slots=True)
class Situation:
    """One trial: `change` is to be taken back, `later` must survive. States before, between and after both."""

    id: str
    protocol: str
    change: Program
    later: Program
    before: State
    between: State
    after: State
    expected: AnyJson


def situation(task: Task, protocol: str, at: int) -> Situation:
    """The trial of a task under a protocol; `at`, its place in the set, varies the later change."""
    raw = [dict(op) for op in task.reference]
    if protocol == "front":
        raw, later = _at_the_front(raw, task), _insertion("later_front", "mw.later:Front", 0)
    elif protocol == "same":
        target = raw[at % len(raw)]
        later = _beside(target, task.state, raw)
    elif protocol == "different":
        free = [name for name in SURFACES if name not in task.surfaces]
        later = _elsewhere(free[at % len(free)], task.state, raw, replace=bool(at % 2))
    else:
        raise InputError("protocol", found=protocol, expected=f"one of {', '.join(PROTOCOLS)}")
    before = State.read(task.state, task.id)
    change = read_program(raw, Stage.FORWARD, f"{task.id}.change")
    then = read_program([later], Stage.FORWARD, f"{task.id}.later")
    between = _run(change, before, task.id)
    after = _run(then, between, task.id)
    return Situation(task.id, protocol, change, then, before, between, after, _run(then, before, task.id).write())


def inserts_middleware(task: Task) -> bool:
    """Whether the task's own reference inserts middleware."""
    return any(op["op_type"] == "add_middleware" for op in task.reference)


def _run(program: Program, state: State, name: str) -> State:
    after, receipt = run_forward(program, state)
    if not receipt.succeeded:
        raise InputError(name, found=receipt.reason, expected="a change that goes through")
    return after


def _insertion(name: str, handler: str, index: int | None = None) -> AnyJson:
    op = {"op_type": "add_middleware", "target": name, "value": {"handler": handler}}
    return op if index is None else {**op, "index": index}


def _at_the_front(raw: list[AnyJson], task: Task) -> list[AnyJson]:
    """The change with all its middleware inserted at the front; one that inserts none gets an element of its own."""
    if not inserts_middleware(task):
        return [*raw, _insertion(f"{task.id}_first", "mw.first:First", 0)]
    moved = []
    for op in raw:
        if op["op_type"] == "add_middleware":
            plain = {key: value for key, value in op.items() if key not in {"before", "after", "priority"}}
            moved.append({**plain, "index": 0})
        else:
            moved.append(op)
    return moved


def _beside(op: AnyJson, state: AnyJson, raw: list[AnyJson]) -> AnyJson:
    """A change of another element of the container that `op` writes to."""
    surface, target = FORWARD[op["op_type"]], op["target"]
    if surface == "config":
        return _set_config((*parse_dotted_path(target)[:-1], "later_setting"))
    if surface == "files":
        folder, _, _ = target.rpartition("/")
        return _write_file(f"{folder}/later.md" if folder else "later.md")
    if surface == "listeners":
        return _listen(target)
    return _new(surface, state, raw)


def _elsewhere(surface: str, state: AnyJson, raw: list[AnyJson], *, replace: bool) -> AnyJson:
    """A change on a surface: of something that is there, if wanted and there is any, else something new."""
    there = state.get(surface) or {}
    if replace and there and surface not in {"middleware", "resources"}:
        if surface == "config":
            return _set_config(_first_leaf(there))
        name = next((name for name in sorted(there) if surface != "files" or "content" in there[name]), None)
        if name is not None:
            return {**_new(surface, state, raw), "target": name}
    return _new(surface, state, raw)


def _new(surface: str, state: AnyJson, raw: list[AnyJson]) -> AnyJson:
    match surface:
        case "config":
            return _set_config(("later", "setting"))
        case "prompts":
            return {"op_type": "set_prompt", "target": "later_prompt", "value": "Keep what came later."}
        case "routing":
            return {"op_type": "set_routing", "target": "later_model", "value": "small-2"}
        case "tools":
            value = {"id": "later_tool", "description": "Came later.", "implementation": "tools.later:run"}
            return {"op_type": "register_tool", "target": "later_tool", "value": value}
        case "middleware":
            return _insertion("later_middleware", "mw.later:Later")
        case "listeners":
            return _listen("on_later")
        case "files":
            return _write_file("later/notes.md")
        case _:
            address = f"tcp://127.0.0.1:{_free_port(state, raw)}"
            return {"op_type": "allocate_socket", "target": "later_socket", "value": {"address": address}}


def _set_config(path: tuple[str, ...]) -> AnyJson:
    return {"op_type": "set_config", "target": format_dotted_path(path), "value": "set later"}


def _write_file(path: str) -> AnyJson:
    return {"op_type": "write_file", "target": path, "value": {"content": "written later\n"}}


def _listen(event: str) -> AnyJson:
    value = {"id": "later_callback", "handler": "hooks.later:run"}
    return {"op_type": "add_listener", "target": event, "value": value}


def _first_leaf(config: AnyJson) -> tuple[str, ...]:
    path: list[str] = []
    while isinstance(config, dict) and config:
        name = min(config)
        path.append(name)
        config = config[name]
    return tuple(path)


def _free_port(state: AnyJson, raw: list[AnyJson]) -> int:
    taken = set(_addresses(state, raw))
    return next(port for port in range(_FIRST_PORT, _FIRST_PORT + 100) if f"tcp://127.0.0.1:{port}" not in taken)


def _addresses(state: AnyJson, raw: list[AnyJson]) -> Iterator[str]:
    for held in (state.get("resources") or {}).values():
        yield held["address"]
    for op in raw:
        if op["op_type"] == "allocate_socket":
            yield op["value"] if isinstance(op["value"], str) else op["value"]["address"]
