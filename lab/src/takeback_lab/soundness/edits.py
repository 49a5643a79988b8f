"""Random candidates of L2: edits of texts and lists, removals and moves, among operations of L0 and L1.

Needles overlap, repeat and hold line ends, and what one edit puts in another may look for. Recoveries restore from
captures, edit back, name what was added, or mix all that up.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import KINDS, Stage
from takeback_lab.soundness.candidates import BREAKS, EVENTS, FILES, MAKERS, NAMES, PATHS, Plain

NEEDLES: Final = ("a", "b", "ab", "ba", "aa", "aba", "a\n", "\nb", "a\r\n", "\r\n", "\n", "b\n", "r", "i", "o", "")
ITEMS: Final[tuple[Any, ...]] = ("i", "j", 1, 1.0, True, ["k"], {"k": 1})
LISTS: Final = ("a", "a.b", "e")
TEXT_FILES: Final = ("u", "u/t.txt", "z")

Maker = Callable[[random.Random], Plain]


def candidate(rng: random.Random) -> Plain:
    """Return a candidate as JSON: the oracle's, or with probability 3/4 a broken or rearranged one."""
    makers = rng.choice(_THEMES)
    mutation = [rng.choice(makers)(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
    if not any(KINDS[op["op_type"]].level == "L2" for op in mutation):
        mutation.insert(rng.randrange(len(mutation) + 1), rng.choice(ANY)(rng))
    plain = invert_mutation(read_program(mutation, Stage.FORWARD, "soundness")).to_json()
    for _ in range(rng.choice((0, 1, 1, 2))):
        rng.choice(_ALL_BREAKS)(plain, rng)
    return plain


def _edit_of(kind: str, targets: tuple[str, ...]) -> Maker:
    def make(rng: random.Random) -> Plain:
        value = {"old": rng.choice(NEEDLES), "new": rng.choice(NEEDLES)}
        return {"op_type": kind, "target": rng.choice(targets), "value": value}

    return make


def _append(rng: random.Random) -> Plain:
    return {"op_type": "append_config", "target": rng.choice(LISTS), "value": rng.choice(ITEMS)}


def _insert(rng: random.Random) -> Plain:
    op: Plain = {"op_type": "insert_config", "target": rng.choice(LISTS), "value": rng.choice(ITEMS)}
    place = rng.choice(("index", "before", "after"))
    return {**op, place: rng.choice((0, 1, 3)) if place == "index" else rng.choice(ITEMS)}


def _remove_item(rng: random.Random) -> Plain:
    return {"op_type": "remove_config_item", "target": rng.choice(LISTS), "value": rng.choice(ITEMS)}


def _removal(rng: random.Random) -> Plain:
    kind, targets = rng.choice(_REMOVED)
    return {"op_type": kind, "target": rng.choice(targets)}


def _remove_listener(rng: random.Random) -> Plain:
    op: Plain = {"op_type": "remove_listener", "target": rng.choice(EVENTS)}
    return op if rng.random() < 0.4 else {**op, "value": rng.choice(NAMES)}  # noqa: PLR2004  (now and then)


def _move(rng: random.Random) -> Plain:
    """Move an element of a chain or of an event, or put another in its place."""
    moved = rng.choice(NAMES)
    others = [name for name in (*NAMES, "m1") if name != moved]
    place = rng.choice(("index", "before", "after"))
    where = {place: rng.choice((0, 1, 2, 5)) if place == "index" else rng.choice(others)}
    way = rng.randrange(4)
    if way == 0:
        return {"op_type": "move_listener", "target": rng.choice(EVENTS), "value": moved, **where}
    if way == 1:
        return {"op_type": "replace_middleware", "target": moved, "value": {"handler": rng.choice(("h", "k"))}}
    if way == 2 and rng.random() < 0.3:  # noqa: PLR2004  (a few go by priority)
        where = {"priority": rng.choice((1, 100, 200))}
    return {"op_type": "move_middleware", "target": moved, **where}


def _move_file(rng: random.Random) -> Plain:
    source = rng.choice(FILES)
    free = [path for path in FILES if not f"{path}/".startswith(f"{source}/") and not source.startswith(f"{path}/")]
    return {"op_type": "move_file", "target": source, "value": rng.choice(free)}


def _remove_directory(rng: random.Random) -> Plain:
    return {"op_type": "remove_directory", "target": rng.choice(FILES)}


_REMOVED: Final = (
    ("unset_config", PATHS),
    ("remove_prompt", NAMES),
    ("unset_routing", NAMES),
    ("remove_tool", NAMES),
    ("remove_middleware", NAMES),
    ("remove_file", FILES),
    ("remove_directory", FILES),
    ("free_socket", NAMES),
)
_EDIT_PROMPT, _EDIT_ONE = _edit_of("edit_prompt", NAMES), _edit_of("edit_prompt", ("p",))
_EDIT_FILE = _edit_of("edit_file", TEXT_FILES)
_LIST = (_append, _insert, _remove_item)
ANY: Final[tuple[Maker, ...]] = (
    _EDIT_PROMPT,
    _EDIT_FILE,
    *_LIST,
    _removal,
    _removal,
    _remove_listener,
    _move,
    _move,
    _move_file,
)
_THEMES: Final[tuple[tuple[Maker, ...], ...]] = (
    ANY,
    (*ANY, *MAKERS),
    (_EDIT_ONE,),
    (_EDIT_ONE, _EDIT_ONE, _removal),
    (_EDIT_FILE, _EDIT_FILE, _move_file),
    _LIST,
    (*_LIST, _removal),
    (_removal, _removal, *MAKERS),
    (_move, _remove_listener),
    (_move_file, _move_file, _removal),
    (_remove_directory, _remove_directory, _move_file, _EDIT_FILE, *MAKERS),
)


def _edit_back(plain: Plain, rng: random.Random) -> None:
    """Put the edits of one value back by edits the other way round, last in, first out, without its restore."""
    edited = [op for op in plain["mutation"] if KINDS[op["op_type"]].inside]
    if not edited:
        return
    target, surface = (one := rng.choice(edited))["target"], KINDS[one["op_type"]].surface
    back = [_reversed(op, rng) for op in edited if op["target"] == target and KINDS[op["op_type"]].surface == surface]
    left = [op for op in plain["recovery"] if (op["target"], KINDS[op["op_type"]].surface) != (target, surface)]
    if rng.random() < 0.2:  # noqa: PLR2004  (some restore it all the same)
        left = plain["recovery"]
    plain["recovery"] = [*reversed(back), *left]


def _reversed(op: Plain, rng: random.Random) -> Plain:
    """The operation the other way round, as somebody would write it."""
    same: Plain = {"target": op["target"], "value": op["value"]}
    if "old" in (op["value"] if isinstance(op["value"], dict) else ()):
        return {**same, "op_type": op["op_type"], "value": {"old": op["value"]["new"], "new": op["value"]["old"]}}
    if op["op_type"] != "remove_config_item":
        return {**same, "op_type": "remove_config_item"}
    if rng.random() < 0.5:  # noqa: PLR2004  (a coin)
        return {**same, "op_type": "append_config"}
    return {**same, "op_type": "insert_config", "index": rng.choice((0, 1))}


def _edit_too(plain: Plain, rng: random.Random) -> None:
    """Edit something in the recovery, at any point."""
    op = rng.choice((_EDIT_PROMPT, _EDIT_FILE, _append, _remove_item))(rng)
    plain["recovery"].insert(rng.randrange(len(plain["recovery"]) + 1), op)


def _beside(plain: Plain, rng: random.Random) -> None:
    """Change something else, too, that nothing brings back."""
    op = rng.choice(MAKERS)(rng)
    plain["mutation"].insert(rng.randrange(len(plain["mutation"]) + 1), op)
    plain["contract"] = sorted({*plain["contract"], KINDS[op["op_type"]].surface})


def _crowd(plain: Plain, rng: random.Random) -> None:
    """Edit one prompt so that few texts let all edits through, and change something else that nothing brings back.

    Three letters must each be there once; or what is taken out twice must come together again after the first time.
    """
    needles = rng.choice((rng.sample("rioabst", 3), [rng.choice(("ab", "ba", "a\n"))] * 2))
    plain["mutation"] = [
        {"op_type": "edit_prompt", "target": "r", "value": {"old": one, "new": ""}} for one in needles
    ]
    plain["witness"] = [{"op_type": "capture_prompt", "target": "r", "witness_key": "crowd"}]
    plain["recovery"] = [{"op_type": "restore_prompt", "target": "r", "witness_key": "crowd"}]
    plain["contract"] = ["prompts"]
    _beside(plain, rng)


def _write_first(plain: Plain, rng: random.Random) -> None:
    """Write the whole value before it is edited, so that its text is known."""
    for op in plain["mutation"]:
        if KINDS[op["op_type"]].inside:
            kind = {"prompts": "set_prompt", "files": "write_file", "config": "set_config"}[
                KINDS[op["op_type"]].surface
            ]
            known: Any = rng.choice(NEEDLES) if kind != "set_config" else rng.choices(ITEMS, k=rng.randrange(3))
            plain["mutation"].insert(0, {"op_type": kind, "target": op["target"], "value": known})
            return


_ALL_BREAKS: Final = (*BREAKS, *(_edit_back,) * 5, _edit_too, *(_beside,) * 3, *(_crowd,) * 3, *(_write_first,) * 2)
