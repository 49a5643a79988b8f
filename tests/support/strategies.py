"""Hypothesis strategies for states, mutations and candidates over all eight surfaces.

Names come from small pools, so that operations meet what is there, and each other, often.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from takeback.language import Candidate, read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State

CONFIG_KEYS = ("a", "b", "c.d", "e\\f")
CONFIG_TARGETS = ("a", "b", "a.b", "a.b.a", "b.a", "c\\.d", "a.c\\.d", "e\\\\f")
FILE_NAMES = ("f", "g", "d")
FILE_TARGETS = ("f", "d", "d/f", "d/g", "d/d/f", "g/f")
PROMPTS = ("p", "q")
ROUTES = ("default_model", "r")
TOOLS = ("t", "u")
MIDDLEWARE = ("m", "n", "o", "k")
EVENTS = ("on_a", "on_b")
CALLBACKS = ("x", "y", "z")
SOCKETS = ("s", "v", "w")
ADDRESSES = ("tcp://127.0.0.1:9001", "tcp://127.0.0.1:9002", "tcp://127.0.0.1:9003", "tcp://127.0.0.1:0")

scalars = st.sampled_from([None, True, False, 0, 1, -1, 1.0, 0.0, -0.0, 2.5, "", "x", "1"])
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(CONFIG_KEYS), inner, max_size=2),
    max_leaves=5,
)
options = st.dictionaries(st.sampled_from("ab"), scalars, max_size=1)
handlers = st.sampled_from(["h:one", "h:two", "<function f at 0x7f01>", "<function f at 0x7f02>"])
volatile = st.dictionaries(st.sampled_from(["handle", "started"]), scalars, max_size=1)


def _maybe_volatile(record: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(st.just(record), volatile.map(lambda found: {**record, "volatile": found}))


tools = st.fixed_dictionaries(
    {"id": st.sampled_from(["t", "u", "other"]), "description": st.sampled_from(["", "Does it."])},
    optional={"parameters": options, "implementation": handlers},
).flatmap(_maybe_volatile)
files = st.fixed_dictionaries(
    {"content": st.sampled_from(["", "x", "é\n"])}, optional={"mode": st.sampled_from(["0644", "0600", "0755"])}
) | st.just({"base64": "/w=="})


@st.composite
def middleware(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A chain with unique ids, in any order."""
    names = draw(st.lists(st.sampled_from(MIDDLEWARE), unique=True))
    return [
        {
            "id": name,
            "handler": draw(handlers),
            "priority": draw(st.sampled_from([1, 50, 100])),
            "options": draw(options),
        }
        for name in names
    ]


@st.composite
def callbacks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Callbacks of one event."""
    names = draw(st.lists(st.sampled_from(CALLBACKS), unique=True))
    return [{"id": name, "handler": draw(handlers), "options": draw(options)} for name in names]


@st.composite
def file_trees(draw: st.DrawFn) -> dict[str, Any]:
    """A flat mapping of paths without a file above a file."""
    found: dict[str, Any] = {}

    def grow(above: str, depth: int) -> None:
        for name in draw(st.lists(st.sampled_from(FILE_NAMES), unique=True, max_size=3)):
            path = f"{above}{name}"
            shape = draw(st.sampled_from(["file", "empty", "tree"] if depth < 2 else ["file", "empty"]))
            if shape == "file":
                found[path] = draw(files)
            elif shape == "empty":
                found[path] = {"directory": True}
            else:
                grow(f"{path}/", depth + 1)

    grow("", 0)
    return found


@st.composite
def resources(draw: st.DrawFn) -> dict[str, Any]:
    """Descriptors, no address held twice (port 0 aside)."""
    found: dict[str, Any] = {}
    free = list(ADDRESSES)
    for key in draw(st.lists(st.sampled_from([*SOCKETS, "outside"]), unique=True)):
        address = draw(st.sampled_from(free))
        if not address.endswith(":0"):
            free.remove(address)
        found[key] = {
            "kind": "external" if key == "outside" else "socket",
            "address": address,
            "lifecycle": draw(st.sampled_from(["open", "closed"])),
        }
    return found


def _named(names: tuple[str, ...], contents: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), contents, max_size=len(names))


texts = st.sampled_from(["", "x", "y"])
plain_states = st.fixed_dictionaries(
    {},
    optional={
        "config": _named(CONFIG_KEYS, json_values),
        "prompts": _named(PROMPTS, texts),
        "routing": _named(ROUTES, st.sampled_from([None, "large-1", "small-1"])),
        "tools": _named(TOOLS, tools),
        "middleware": middleware(),
        "listeners": _named(EVENTS, callbacks()),
        "files": file_trees(),
        "resources": resources(),
    },
)
states = plain_states.map(State.read)


def _op(name: str, targets: tuple[str, ...], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"op_type": st.just(name), "target": st.sampled_from(targets), **fields})


@st.composite
def _add_middleware(draw: st.DrawFn) -> dict[str, Any]:
    target = draw(st.sampled_from(MIDDLEWARE))
    place = draw(
        st.one_of(
            st.just({}),
            st.fixed_dictionaries({"index": st.integers(0, 5)}),
            st.fixed_dictionaries({"priority": st.sampled_from([0, 50, 99])}),
            st.sampled_from([{side: name} for side in ("before", "after") for name in MIDDLEWARE if name != target]),
        )
    )
    return {"op_type": "add_middleware", "target": target, "value": {"handler": draw(handlers)}, **place}


forward_ops = st.one_of(
    _op("set_config", CONFIG_TARGETS, value=json_values),
    _op("set_prompt", PROMPTS, value=texts),
    _op("set_routing", ROUTES, value=st.sampled_from([None, "code-2"])),
    _op("register_tool", TOOLS, value=tools),
    _add_middleware(),
    _op(
        "add_listener",
        EVENTS,
        value=st.sampled_from(CALLBACKS)
        | st.fixed_dictionaries({"id": st.sampled_from(CALLBACKS), "handler": handlers}),
    ),
    _op("write_file", FILE_TARGETS, value=texts | files),
    _op("allocate_socket", SOCKETS, value=st.sampled_from(ADDRESSES)),
)
plain_mutations = st.lists(forward_ops, min_size=1, max_size=4)
mutations = plain_mutations.map(lambda plain: read_program(plain, Stage.FORWARD, "mutation"))
oracles = mutations.map(invert_mutation)

witness_keys = st.sampled_from(["w0", "w1", "w2"])
capture_ops = st.one_of(
    _op("capture_config", CONFIG_TARGETS, witness_key=witness_keys),
    _op("capture_prompt", PROMPTS, witness_key=witness_keys),
    _op("capture_tool", TOOLS, witness_key=witness_keys),
    _op("capture_middleware", (*MIDDLEWARE, "*"), witness_key=witness_keys),
    _op("capture_listener", EVENTS, witness_key=witness_keys),
    _op("capture_listener", EVENTS, witness_key=witness_keys, value=st.sampled_from(CALLBACKS)),
    _op("capture_file", FILE_TARGETS, witness_key=witness_keys),
    _op("capture_socket", SOCKETS, witness_key=witness_keys),
)
recovery_ops = st.one_of(
    _op("restore_config", CONFIG_TARGETS, witness_key=witness_keys),
    _op("delete_config", CONFIG_TARGETS),
    _op("restore_prompt", PROMPTS, witness_key=witness_keys),
    _op("restore_tool", TOOLS, witness_key=witness_keys),
    _op("unregister_tool", TOOLS),
    _op("restore_middleware", (*MIDDLEWARE, "*"), witness_key=witness_keys),
    _op("restore_listener", EVENTS, witness_key=witness_keys),
    _op("unregister_listener", EVENTS, value=st.sampled_from(CALLBACKS)),
    _op("unregister_listener", EVENTS),
    _op("restore_file", FILE_TARGETS, witness_key=witness_keys),
    _op("delete_file", FILE_TARGETS),
    _op("release_socket", SOCKETS),
    _op("release_socket", SOCKETS, witness_key=witness_keys),
)


@st.composite
def tampered(draw: st.DrawFn) -> Candidate:
    """An oracle's candidate with one or two things done to it, some of which do no harm."""
    plain = draw(oracles).to_json()
    witness, recovery = plain["witness"], plain["recovery"]
    for _ in range(draw(st.integers(1, 2))):
        change = draw(
            st.sampled_from(["drop", "swap", "turn", "add", "capture", "retarget", "unwitness", "contract"])
        )
        if change == "drop" and recovery:
            recovery.pop(draw(st.integers(0, len(recovery) - 1)))
        elif change == "swap" and len(recovery) > 1:
            at = draw(st.integers(0, len(recovery) - 2))
            recovery[at : at + 2] = recovery[at : at + 2][::-1]
        elif change == "turn":
            recovery.reverse()
        elif change == "add":
            recovery.insert(draw(st.integers(0, len(recovery))), draw(recovery_ops))
        elif change == "capture":
            witness.append(draw(capture_ops))
        elif change == "retarget" and recovery:
            op = recovery[draw(st.integers(0, len(recovery) - 1))]
            op["target"] = draw(st.sampled_from(_TARGETS[op["op_type"].split("_")[1]]))
        elif change == "unwitness":
            for op in recovery:
                if op["op_type"] in {"release_socket"}:
                    op.pop("witness_key", None)
        elif plain["contract"]:
            plain["contract"].pop(draw(st.integers(0, len(plain["contract"]) - 1)))
    return read_candidate(plain)


_TARGETS = {
    "config": CONFIG_TARGETS,
    "prompt": PROMPTS,
    "routing": ROUTES,
    "tool": TOOLS,
    "middleware": MIDDLEWARE,
    "listener": EVENTS,
    "file": FILE_TARGETS,
    "socket": SOCKETS,
}
random_candidates = st.builds(
    lambda mutation, witness, recovery: read_candidate(
        {"mutation": mutation, "witness": witness, "recovery": recovery}
    ),
    st.lists(forward_ops, max_size=3),
    st.lists(capture_ops, max_size=3),
    st.lists(recovery_ops, max_size=3),
)
candidates = st.one_of(tampered(), oracles, random_candidates)
