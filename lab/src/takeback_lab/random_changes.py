"""Random changes on few keys, paths, places and addresses, so that they meet: for undo laws and for torture."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from takeback.state import State
from takeback.state.chain import NO_LINKS
from takeback.state.slots import Slot
from takeback_lab.naive import Plain

PATHS = ("a", "b", "a.b", "a.c", "a.b.c", "a.b.d", "e.f.g", "e.f")
FILES = ("d", "d/x", "d/x/y", "d/z", "w", "v/u/t")
ADDRESSES = tuple(f"tcp://127.0.0.1:{9100 + at}" for at in range(4))
KINDS = (
    "set_config",
    "write_file",
    "allocate_socket",
    "add_middleware",
    "add_listener",
    "set_prompt",
    "set_routing",
    "register_tool",
)
INSIDE = ("edit_prompt", "edit_file", "append_config", "insert_config", "remove_config_item")
REMOVALS = (
    "unset_config",
    "remove_prompt",
    "unset_routing",
    "remove_tool",
    "remove_middleware",
    "remove_listener",
    "remove_file",
    "free_socket",
)
MOVES = ("move_middleware", "replace_middleware", "move_listener", "move_file")
EVERY = (*KINDS, *INSIDE, *REMOVALS, *MOVES, "add_item", "add_group")
FOCI = (
    KINDS,
    EVERY,
    EVERY,
    ("set_config", "unset_config"),
    ("write_file", "remove_file", "move_file"),
    ("allocate_socket", "free_socket"),
    ("add_middleware", "add_listener", "move_middleware", "replace_middleware", "remove_middleware", "move_listener"),
    ("edit_prompt", "edit_prompt", "edit_prompt", "set_prompt", "remove_prompt"),
    ("edit_file", "edit_file", "edit_file", "write_file", "move_file"),
    ("append_config", "insert_config", "remove_config_item", "append_config", "set_list"),
    ("add_item", "add_item", "add_item", "insert_config", "remove_config_item"),
    ("add_item", "add_item", "add_item", "crowd"),
    ("add_group", "add_listener", "move_listener", "remove_listener"),
)
"""Kinds of change a history draws from: all, or a few so that changes meet more often."""
FOLDERS = ("write_file", "remove_directory", "edit_file", "move_file", "remove_file")
VALUES: tuple[Any, ...] = (1, 1.0, True, None, "text", [1, 2], {}, {"b": 5}, {"b": {"c": 1}, "z": 0})
LISTS = ("list", "a.b", "a.c", "new.list")
TEXTS = ("one\ntwo\nthree\n", "one\n\ntwo\n\nthree", "alpha\r\nbeta\r\n", "one\none\ntwo\n", "")


def named_slots() -> list[Slot]:
    """Slots that random changes write, for removing things by hand."""
    return [
        *(("config", *path.split(".")) for path in PATHS),
        *(("files", *path.split("/")) for path in FILES),
        *(("resources", f"r{at}") for at in range(3)),
        ("middleware", "auth"),
        ("middleware", "cache"),
        ("middleware", "log"),
        ("listeners", "on_error", "audit"),
        ("listeners", "on_error", "hooks"),
        ("config", "list"),
        ("config", "new", "list"),
        ("config", "new"),
        ("tools", "grep"),
        ("prompts", "system"),
        ("routing", "main"),
    ]


def random_base(rng: random.Random) -> State:
    """A small state that random changes run into."""
    files: tuple[Plain, ...] = (
        {},
        {"d": {"content": "a file"}},
        {"d/x": {"content": rng.choice(TEXTS)}, "e": {"directory": True}},
        {"w": {"content": rng.choice(TEXTS)}},
    )
    return State.read(
        {
            "config": {
                "a": rng.choice((5, {"b": 1}, {"b": {"c": 2, "k": 3}}, {"b": ["x", "y"], "c": []})),
                "keep": 1,
                "list": ["read", "write", 1],
            },
            "prompts": {"system": rng.choice(TEXTS) + "You are careful."},
            "tools": {"grep": {"id": "grep"}},
            "middleware": [{"id": name, "handler": f"mw.{name}"} for name in ("auth", "log", "retry")],
            "listeners": {"on_error": [{"id": "audit", "handler": "audit"}, *rng.choice(([], [_group(0)]))]},
            "files": rng.choice(files),
            "resources": {"r0": {"address": ADDRESSES[0]}} if rng.random() < 0.5 else {},  # noqa: PLR2004 - a coin
        }
    )


def random_op(rng: random.Random, state: State, kinds: tuple[str, ...]) -> Plain:
    """One forward operation of a random kind, on few keys."""
    kind = rng.choice(kinds)
    stamp = rng.randrange(1000)
    if kind in RANDOM_L2:
        return RANDOM_L2[kind](rng, state, stamp)
    if kind == "set_config":
        return {"op_type": kind, "target": rng.choice(PATHS), "value": rng.choice((*VALUES, stamp))}
    if kind == "write_file":
        mode = rng.choice((None, None, "0600", "0755"))
        value = {"content": f"{stamp}"} if mode is None else {"content": f"{stamp}", "mode": mode}
        return {"op_type": kind, "target": rng.choice(FILES), "value": value}
    if kind == "allocate_socket":
        return {"op_type": kind, "target": f"r{rng.randrange(3)}", "value": {"address": rng.choice(ADDRESSES)}}
    if kind == "add_middleware":
        return _random_middleware(rng, state, stamp)
    if kind == "add_listener":
        value = {"id": rng.choice(("audit", "page", "count")), "handler": f"h{stamp}"}
        return {"op_type": kind, "target": rng.choice(("on_error", "on_start")), "value": value}
    if kind == "set_prompt":
        return {"op_type": kind, "target": rng.choice(("system", "planner")), "value": f"text {stamp}"}
    if kind == "set_routing":
        return {"op_type": kind, "target": rng.choice(("main", "spare")), "value": rng.choice((None, f"m{stamp}"))}
    return {"op_type": kind, "target": rng.choice(("grep", "sed")), "value": {"id": f"t{stamp}"}}


def _random_middleware(rng: random.Random, state: State, stamp: int) -> Plain:
    target = rng.choice(("auth", "log", "cache", "trace", "limit"))
    op: Plain = {"op_type": "add_middleware", "target": target, "value": {"handler": f"h{stamp}"}}
    others = [name for name in state.part("middleware").ids() if name != target]
    spot = rng.choice(("index", "index", "before", "after", "priority", None))
    if spot == "index":
        op["index"] = rng.choice((0, 0, 1, 2))
    elif spot in {"before", "after"} and others:
        op[spot] = rng.choice(others)
    elif spot == "priority":
        op["priority"] = op["value"]["priority"] = rng.choice((50, 100, 150))
    return op


def random_text(rng: random.Random, text: str, stamp: int) -> str:
    """Another version of a text: a line or two added, taken out, changed or moved, as a person would."""
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(lines) + 1)
        action = rng.randrange(4)
        if action == 0 or at == len(lines):
            lines.insert(at, f"line {stamp % 7}\n")
        elif action == 3:  # noqa: PLR2004 - the last of four
            lines.insert(rng.randrange(len(lines)), lines.pop(at))
        elif action == 1 and len(lines) > 1:
            del lines[at]
        else:
            lines[at] = f"changed {stamp % 5}\n"
    return "".join(lines)


def random_list(rng: random.Random, items: list[Any], stamp: int) -> list[Any]:
    """Another version of a list: an item put in, taken out, or moved."""
    found = list(items)
    action = rng.randrange(3) if found else 0
    if action == 0:
        found.insert(rng.randrange(len(found) + 1), f"by hand {stamp}")
    else:
        item = found.pop(rng.randrange(len(found)))
        found.insert(rng.randrange(len(found) + 1), item) if action == 1 else None
    return found


def _random_edit(rng: random.Random, text: str, stamp: int) -> Plain:
    """What an edit tool is asked: mostly something that is there, now and then appended."""
    if not text or rng.random() < 0.2:  # noqa: PLR2004 - now and then
        return {"old": "", "new": rng.choice((f"\nrule {stamp % 5}", f"rule {stamp % 5}\n"))}
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    old = "".join(lines[at : at + rng.choice((1, 1, 2))])
    if rng.random() < 0.5 and len(old) > 2:  # noqa: PLR2004 - half of the time a piece of a line
        old = old[rng.randrange(len(old) - 1) :]
    new = rng.choice(("", f"edit {stamp % 5}\n", f"{old}more {stamp % 3}\n", f"less {stamp % 3}\n{old}", f"e{stamp}"))
    return {"old": old, "new": new}


def _edit_prompt(rng: random.Random, state: State, stamp: int) -> Plain:
    name = rng.choice(("system", "system", "planner"))
    return {"op_type": "edit_prompt", "target": name, "value": _random_edit(rng, _prompt(state, name), stamp)}


def _prompt(state: State, name: str) -> str:
    return str(state.write().get("prompts", {}).get(name, ""))


def _edit_file(rng: random.Random, state: State, stamp: int) -> Plain:
    there = [(path, item["content"]) for path, item in state.write().get("files", {}).items() if "content" in item]
    path, text = rng.choice(there) if there else (rng.choice(FILES), "")
    return {"op_type": "edit_file", "target": path, "value": _random_edit(rng, text, stamp)}


def _items(state: State, target: str) -> list[Any]:
    node: Any = state.write().get("config", {})
    for name in target.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node if isinstance(node, list) else []


def _append(rng: random.Random, state: State, stamp: int) -> Plain:
    del state
    return {
        "op_type": "append_config",
        "target": rng.choice(LISTS),
        "value": rng.choice((f"i{stamp % 6}", stamp % 3)),
    }


def _insert(rng: random.Random, state: State, stamp: int) -> Plain:
    target = rng.choice(LISTS)
    op: Plain = {"op_type": "insert_config", "target": target, "value": f"i{stamp % 6}"}
    items = _items(state, target)
    if items and rng.random() < 0.5:  # noqa: PLR2004 - a coin
        return {**op, rng.choice(("before", "after")): rng.choice(items)}
    return {**op, "index": rng.randrange(4)}


def _remove_item(rng: random.Random, state: State, stamp: int) -> Plain:
    target = rng.choice(LISTS)
    items = _items(state, target)
    return {"op_type": "remove_config_item", "target": target, "value": rng.choice(items) if items else stamp}


def _add_item(rng: random.Random, state: State, stamp: int) -> Plain:
    """An item for a list, as people add one: a list that is not there begins with it."""
    target, item = rng.choice(("new.list", "new.list", "new.more", "a.c")), f"i{stamp % 6}"
    if _there(state, target):
        return {"op_type": "append_config", "target": target, "value": item}
    if target.startswith("new.") and not _there(state, "new") and stamp % 4 == 0:
        return {"op_type": "set_config", "target": "new", "value": {target[4:]: [item]}}
    return {"op_type": "set_config", "target": target, "value": [item]}


def _crowd(rng: random.Random, state: State, stamp: int) -> Plain:
    """Something else where a list may be, above it or below."""
    del state
    target = rng.choice(("new", "new", "new.list", "new.list.x"))
    if stamp % 2:
        return {"op_type": "unset_config", "target": target}
    return {"op_type": "set_config", "target": target, "value": (5, {}, {"more": ["read"]}, ["read"])[stamp // 2 % 4]}


def _there(state: State, target: str) -> bool:
    node: Any = state.write().get("config", {})
    for name in target.split("."):
        if not isinstance(node, dict) or name not in node:
            return False
        node = node[name]
    return True


def _group(stamp: int) -> Plain:
    """A client's group of hooks: when they run, and which."""
    options = {"matcher": f"M{stamp % 3}", "hooks": [{"command": f"c{stamp}"}]}
    return {"id": "hooks", "handler": "group", "options": options}


def _add_group(rng: random.Random, state: State, stamp: int) -> Plain:
    """A group of hooks, where there is none; otherwise it goes elsewhere."""
    events = ("on_error", "on_start")
    free = [event for event in events if state.part("listeners").get(event, NO_LINKS).find("hooks") is None]
    if not free:
        op = {"op_type": "move_listener", "target": rng.choice(events), "value": "hooks"}
        return {**op, "index": rng.randrange(3)}
    return {"op_type": "add_listener", "target": rng.choice(free), "value": _group(1000 + stamp)}


def _set_list(rng: random.Random, state: State, stamp: int) -> Plain:
    del state
    return {"op_type": "set_config", "target": rng.choice(LISTS), "value": [f"i{stamp % 4}", "read"]}


def _move_middleware(rng: random.Random, state: State, stamp: int) -> Plain:
    op = _random_middleware(rng, state, stamp)
    spot: Plain = {key: op[key] for key in ("index", "before", "after", "priority") if key in op} or {"index": 0}
    return {"op_type": "move_middleware", "target": op["target"], **spot}


def _replace_middleware(rng: random.Random, state: State, stamp: int) -> Plain:
    names = state.part("middleware").ids() or ("auth",)
    return {"op_type": "replace_middleware", "target": rng.choice(names), "value": {"handler": f"r{stamp}"}}


def _move_listener(rng: random.Random, state: State, stamp: int) -> Plain:
    del stamp
    bound = [(event, link.id) for event, chain in state.part("listeners").items() for link in chain]
    event, name = rng.choice(bound) if bound else ("on_error", "audit")
    return {"op_type": "move_listener", "target": event, "value": name, "index": rng.randrange(3)}


def _move_file(rng: random.Random, state: State, stamp: int) -> Plain:
    there = [path for path, item in state.write().get("files", {}).items() if "content" in item] or ["w"]
    target = rng.choice(there)
    place = "there" if target[0] == "m" else "moved"
    return {"op_type": "move_file", "target": target, "value": f"{place}/{stamp % 3}"}


def _removal(name: str) -> Callable[[random.Random, State, int], Plain]:
    targets = {
        "unset_config": (*PATHS, *LISTS),
        "remove_prompt": ("system", "planner"),
        "unset_routing": ("main", "spare"),
        "remove_tool": ("grep", "sed"),
        "remove_middleware": ("auth", "log", "cache"),
        "remove_file": FILES,
        "remove_directory": (*FILES, "there", "moved"),
        "free_socket": ("r0", "r1", "r2"),
    }

    def remove(rng: random.Random, state: State, stamp: int) -> Plain:
        del state, stamp
        if name == "remove_listener":
            one: Plain = {"op_type": name, "target": rng.choice(("on_error", "on_start"))}
            return one if rng.random() < 0.3 else {**one, "value": rng.choice(("audit", "page", "hooks"))}  # noqa: PLR2004
        return {"op_type": name, "target": rng.choice(targets[name])}

    return remove


RANDOM_L2: dict[str, Callable[[random.Random, State, int], Plain]] = {
    "edit_prompt": _edit_prompt,
    "edit_file": _edit_file,
    "append_config": _append,
    "insert_config": _insert,
    "remove_config_item": _remove_item,
    "set_list": _set_list,
    "add_item": _add_item,
    "crowd": _crowd,
    "add_group": _add_group,
    "move_middleware": _move_middleware,
    "replace_middleware": _replace_middleware,
    "move_listener": _move_listener,
    "move_file": _move_file,
    **{name: _removal(name) for name in (*REMOVALS, "remove_directory")},
}
