"""Check the certificate of a proof, from the specification and with no code of the prover, the runtime or the state.

A certificate says of a candidate which components its proof varied and on which states it ran, with what came out.
The checker reads the candidate itself, works out which classes of states docs/proof.md asks for, finds each among the
states that are claimed, runs all of them by an interpreter of its own, and compares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice, product
from math import prod
from typing import Any, Final, NamedTuple

from takeback.opinion.interpreter import (
    ABSENT,
    TREES,
    Chain,
    Component,
    Op,
    Program,
    RejectedError,
    State,
    fill_record,
    get,
    leave,
    put_or_drop,
    read_candidate,
    read_state,
    run,
    text,
)

Shape = dict[Component, Any]
"""What each component is on a state, in a word."""
FORMAT: Final = 1
MOST_JOINT: Final = 200_000
"""Joint shapes of what is tied together; more are out of scope."""
AS_IT_IS, OPAQUE, LEFT_OUT = "as it is", "edits leave anything", "mutation left out"


ANY, BOX = "any", "a container"
_BOXES: Final = ("rest", "bare")
"""A container with something in it that nobody names, and one without."""
_LOOSE: Final[dict[str, Callable[[str], bool]]] = {
    ANY: lambda _: True,
    BOX: lambda word: word in (*_BOXES, BOX),
}
"""Words that several shapes answer to."""


_FLAT: Final = frozenset({"prompts", "routing", "tools", "calls", "external"})


class _Names:
    """What a candidate names: its components, what ties them together, and what they are on a state."""

    def __init__(self, program: Program) -> None:
        ops = (*program.mutation, *program.witness, *program.recovery)
        took = {op.key: op for op in program.witness}
        lent = [(took[op.key], op) for op in program.recovery if op.key in took]
        lent = [(place, op) for place, op in lent if place.surface == op.surface in TREES and place.path != op.path]
        named = [(op.surface, path) for op in ops for path in op.paths()]
        named += [
            (place.surface, (*place.path, *other.path[len(op.path) :]))
            for place, op in lent
            for other in program.recovery
            if other.surface == op.surface and other.path[: len(op.path)] == op.path
        ]
        self.trees = {
            (surface, *path[:depth])
            for surface, path in named
            if surface in TREES
            for depth in range(1, len(path) + 1)
        }
        self.sockets = {path[0] for surface, path in named if surface == "resources"}
        puts = (op.value for op in ops if op.name == "allocate_socket")
        held = {put if isinstance(put, str) else put["address"] for put in puts}
        self.addresses = sorted(address for address in held if not address.endswith(":0"))
        self.flat = {(surface, *path) for surface, path in named if surface in _FLAT}
        self.moved = set[Component]()
        for op in ops:
            if op.surface in {"middleware", "listeners"}:
                self._name_elements(op)
        self.ties = [self._around(place) | self._around(op) for place, op in lent]
        self.ties += [self._around(op) for op in program.mutation if op.name == "move_file"]

    def _name_elements(self, op: Op) -> None:
        above: Component = (op.surface,)
        name = op.path[0]
        names = [str(op.spot[1])] if op.spot is not None and op.spot[0] in {"before", "after"} else []
        if op.surface == "listeners":
            above = (op.surface, op.path[0])
            name = op.value["id"] if isinstance(op.value, dict) else op.value
            names.append("")
        self.flat |= {
            (*above, element) for element in (name, *names) if element is not ABSENT and (above[1:] or element != "*")
        }
        if op.action == "move":
            self.moved.add((*above, name))

    def _around(self, op: Op) -> set[Component]:
        """Return the components of a tree above, at and below the paths of an operation."""
        places = [(op.surface, *path) for path in op.paths()]
        return {tree for tree in self.trees for place in places if _in_line(tree, place)}

    def titles(self) -> set[str]:
        """Return the components as certificates name them."""
        keys = {f"resources[{text(key)}]" for key in self.sockets}
        held = {f"{key} on {address}" for key in keys for address in self.addresses}
        outside = {f"{address} held outside" for address in self.addresses[:1]}
        return {*map(title, self.trees), *map(title, self.flat), *keys, *held, *outside}

    def shape(self, state: State) -> Shape:
        """Return what each component is on a state."""
        shape: Shape = {}
        for place in self.trees:
            node = get(state[place[0]], place[1:])
            inside = isinstance(node, dict) and any((*place, name) not in self.trees for name in node)
            shape[place] = (
                (_BOXES[not inside] if isinstance(node, dict) else "leaf") if node is not ABSENT else "absent"
            )
        for place in self.flat:
            shape[place] = self._name_shape(place, state)
        for key in self.sockets:
            address = state["resources"].get(key, {"address": "absent"})["address"]
            shape["resources", key] = address if address in {*self.addresses, "absent"} else "own"
        outside = {held["address"] for key, held in state["resources"].items() if key not in self.sockets}
        shape["resources",] = next((address for address in self.addresses if address in outside), "free")
        return shape

    def _name_shape(self, place: Component, state: State) -> str:
        if not self._is_there(place, state):
            return "absent"
        return str(state["calls"][place[1]]["state"]) if place[0] == "calls" else "there"

    def _is_there(self, place: Component, state: State) -> bool:
        value = state[place[0]]
        if place[0] == "middleware":
            return place[1] in value.links
        if place[0] != "listeners":
            return place[1] in value
        links = value.get(place[1], Chain({})).links
        return place[2] in links if place[2] else any((*place[:2], name) not in self.flat for name in links)

    def variations(self, base: Shape) -> Iterator[tuple[Component, Shape]]:
        """Yield each component with the shapes in which it alone is not as in the base."""
        for place in (*self.flat, *(("resources", key) for key in self.sockets)):
            words = ("there", "absent") if place in self.flat else ("own", "absent", *self.addresses)
            words = ("made", "compensated", "absent") if place[0] == "calls" else words
            yield from ((place, {**base, place: word}) for word in words if word != base[place])
        if self.addresses:
            yield ("resources",), {**base, ("resources",): self.addresses[0]}
        for place in sorted(self.trees):
            above = [place[:depth] for depth in range(2, len(place))]
            top = next((place for place in above if base[place] not in _BOXES), None)
            shown = (
                base
                if top is None
                else {place: ANY if place[: len(top)] == top else word for place, word in base.items()}
            )
            shown = {**shown, **{place: BOX for place in above if shown[place] == ANY}}
            for shape in self._alternatives(place, base, {place}):
                if top is not None or any(base[place] != word for place, word in shape.items() if word != ANY):
                    yield place, {**shown, **shape}

    def _alternatives(self, place: Component, base: Shape, group: set[Component]) -> Iterator[Shape]:
        """Yield the shapes at and below a place; below it the group is varied, all others are as in the base."""
        below = [tree for tree in self.trees if len(tree) > len(place) and tree[: len(place)] == place]
        gone = dict.fromkeys(below, "absent")
        words = ("leaf", "absent", "rest", "bare") if below or place[0] == "files" else ("leaf", "absent", "rest")
        yield from ({place: word, **gone} for word in words)
        children = [inner for inner in below if len(inner) == len(place) + 1]
        hidden = base[place] not in _BOXES
        inner = {place[:-1] for place in below}
        first = {place: (BOX if place in inner else "leaf") if place in children else ANY for place in below}
        kept = first if hidden else {place: base[place] for place in below}
        ways = [
            list(self._alternatives(child, base, group))
            if child in group
            else [{at: word for at, word in kept.items() if at[: len(child)] == child}]
            for child in children
        ]
        for chosen in product(*ways) if below else ():
            shape = {at: word for way in chosen for at, word in way.items()}
            if any(word != "absent" for word in shape.values()):
                yield from ({place: box, **shape} for box in _BOXES)

    def joint(self, base: Shape) -> Iterator[tuple[set[Component], Shape]]:
        """Yield the joint shapes of what moves and foreign captures tie together."""
        groups: list[set[Component]] = []
        for tie in self.ties:
            touching = [group for group in groups if group & tie]
            groups = [group for group in groups if not group & tie] + [tie.union(*touching)]
        for group in groups:
            tops = [place for place in group if len(place) == 2]  # noqa: PLR2004  (a surface and one name)
            ways = [list(islice(self._alternatives(top, base, group), MOST_JOINT)) for top in tops]
            if prod(map(len, ways)) >= MOST_JOINT:
                raise RejectedError("out of scope", f"{len(group)} places are tied together")
            for shapes in product(*ways):
                yield group, {**base, **{at: word for shape in shapes for at, word in shape.items()}}


def _in_line(first: Component, second: Component) -> bool:
    return all(mine == theirs for mine, theirs in zip(first, second, strict=False))


class Report(NamedTuple):
    """What an accepted certificate amounts to: states that it claims, and states the checker ran besides."""

    digest: str
    classes: int
    beside: int


def check_certificate(certificate: Any, wanted: str | None = None) -> Report:
    """Return what was checked; raise `RejectedError` with the reason by name where the certificate does not hold.

    `wanted` is the digest of the candidate that it must be about.
    """
    try:
        report = _check(certificate)
        if wanted not in (None, report.digest):
            raise RejectedError("changed candidate", "the certificate is about another candidate")
        return report  # noqa: TRY300
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as fault:
        raise RejectedError("malformed", f"something is not what it should be: {fault!r}") from None


def _check(certificate: Any) -> Report:
    _want_fields(certificate, {"format", "claim", "candidate", "digest", "runs", "seal"}, "the certificate")
    if certificate["format"] != FORMAT or certificate["claim"] != "proved":
        raise RejectedError("malformed", f"a certificate of format {FORMAT} that claims a proof is wanted")
    if _digest(certificate["candidate"]) != certificate["digest"]:
        raise RejectedError("wrong digest", "the digest is not that of the candidate")
    if _digest({name: part for name, part in certificate.items() if name != "seal"}) != certificate["seal"]:
        raise RejectedError("wrong digest", "the seal is not that of the certificate")
    program = read_candidate(certificate["candidate"])
    if any(op.action == "edit" for op in program.recovery):
        raise RejectedError("out of scope", "whether a recovery that edits works depends on texts, not on shapes")
    modes = [AS_IT_IS]
    if any(op.wide for op in program.mutation):
        modes = [OPAQUE, LEFT_OUT] if any(op.action == "edit" for op in program.mutation) else [OPAQUE]
    runs = certificate["runs"]
    if (
        not isinstance(runs, list)
        or [isinstance(plain_run, dict) and plain_run.get("mode") for plain_run in runs] != modes
    ):
        raise RejectedError("missing run", f"wanted are the runs {modes}")
    reports = [
        _Run(program._replace(mutation=()) if run["mode"] == LEFT_OUT else program, run).check() for run in runs
    ]
    return Report(certificate["digest"], sum(report[0] for report in reports), sum(report[1] for report in reports))


def _digest(plain: Any) -> str:
    return hashlib.sha256(text(plain).encode()).hexdigest()


def _want_fields(plain: Any, fields: set[str], where: str) -> None:
    if not isinstance(plain, dict) or fields - set(plain):
        raise RejectedError("malformed", f"{where} has {', '.join(sorted(fields))}")
    if set(plain) - fields:
        raise RejectedError("extra claim", f"{where} has {', '.join(sorted(set(plain) - fields))} as well")


class _Found(NamedTuple):
    """A state that varies some places together, and where the mutation stops on it."""

    places: set[Component]
    state: State
    stops: int | None


class _Run:
    """One search of a proof: its base, and the classes that it looked at."""

    def __init__(self, program: Program, plain: dict[str, Any]) -> None:
        _want_fields(plain, {"mode", "components", "reach", "base", "classes"}, "a run")
        self.program, self.plain, self.names = program, plain, _Names(program)
        self.literals = {(op.surface, shown) for op in program.mutation for shown in _literals(op)}
        self.literals |= {
            (op.surface, text(leave(at))) for op in program.mutation for at in range(len(program.mutation))
        }
        self.fields = {op.value["field"] for op in program.mutation if op.action == "fill"}
        self.index: dict[Any, dict[Any, int]] = {}
        self.tops = {(op.surface, path[0]) for part in program[:3] for op in part for path in op.paths()}
        self.tops |= {(place[0], place[1]) for place in (*self.names.trees, *self.names.flat)}
        self.states: list[State] = []
        self.shapes: list[Shape] = []
        self.stops: list[int | None] = []
        self.beside = 0

    def check(self) -> tuple[int, int]:
        """Return how many states are claimed, and how many were run besides; or raise."""
        if not isinstance(self.plain["components"], list) or set(self.plain["components"]) != self.names.titles():
            wrong = set(map(str, self.plain["components"])) ^ self.names.titles()
            raise RejectedError("wrong components", ", ".join(sorted(wrong)[:3]))
        self._take({"change": {}, "stops": self.plain["reach"], "held": True})
        for plain_class in self.plain["classes"]:
            self._take(plain_class)
        base = self.shapes[0]
        self._see_base(base)
        classes = [self._find_class({place}, shape, title(place)) for place, shape in self.names.variations(base)]
        classes += [self._find_class(group, shape, "tied places") for group, shape in self.names.joint(base)]
        self._see_ends()
        self._fail_elsewhere(classes)
        return len(self.states), self.beside

    def _see_base(self, base: Shape) -> None:
        """See that nothing in the base keeps the mutation back that no single class would take away."""
        for place, word in base.items():
            if place[0] == "resources" and word in self.names.addresses:
                raise RejectedError("wrong base", f"{word}, which the candidate names, is held in the base already")
            if place[0] in {"middleware", "listeners"} and word == "absent" and place[-1]:
                raise RejectedError("wrong base", f"{title(place)} is not there, and may be wanted beside another")

    def _take(self, plain_class: Any) -> None:
        """Run one class, and compare what comes out with what is claimed."""
        _want_fields(plain_class, {"change", "stops", "held"}, "a class")
        changed = _change(self.plain["base"], plain_class["change"])
        state = {**self.states[0], **_pick(read_state(changed), changed)} if self.states else read_state(changed)
        shape = self.names.shape(state)
        self._see_generic(state, shape)
        stops = self._run(state)
        if plain_class["held"] is not True:
            raise RejectedError("wrong result", "a class that does not hold is no proof")
        if plain_class["stops"] != stops or isinstance(plain_class["stops"], bool):
            raise RejectedError("wrong result", f"the mutation stops at {stops}, not at {plain_class['stops']}")
        self.states.append(state)
        self.shapes.append(shape)
        self.stops.append(stops)

    def _run(self, state: State) -> int | None:
        """Return where the mutation stops on a state; raise where it goes wrong, or further than the base."""
        trip = run(self.program, state, places=self.plain["mode"] == OPAQUE)
        if trip.wrong:
            raise RejectedError(*trip.wrong.split(": ", 1))
        furthest = self.stops[0] if self.stops else trip.stops
        if furthest is not None and (trip.stops is None or trip.stops > furthest):
            raise RejectedError("not furthest", f"a class gets to {trip.stops}, the base to {furthest} only")
        return trip.stops

    def _see_generic(self, state: State, shape: Shape) -> None:
        """See that named contents are all different, and different from all that the candidate writes."""
        seen = set(self.literals)
        for surface in {place[0] for place in shape if len(place) > 1}:
            value = state[surface].links if surface == "middleware" else state[surface]
            if all((surface, name) in self.tops for name in value):
                raise RejectedError(
                    "no bystander", f"nothing in {surface} is unnamed: what nobody names must stay too"
                )
        for place, word in shape.items():
            if word == "own" and state["resources"][place[1]]["address"].endswith(":0"):
                raise RejectedError("not generic", f"{title(place)} is on port 0, which nothing can clash with")
            for content in self._list_contents(state, place, word):
                if place[0] == "external" and self.fields & set(content):
                    raise RejectedError("not generic", f"{title(place)} has a field that is written already")
                shown = place[0], text(content[0][1] if place[0] == "files" else content)
                if shown in seen:
                    raise RejectedError("not generic", f"{title(place)} holds what is held or written elsewhere too")
                seen.add(shown)

    def _list_contents(self, state: State, place: Component, word: str) -> Iterator[Any]:
        """Yield what stands at a place; of a container, what nobody names in it."""
        if word in {"absent", "bare", "free"} or len(place) == 1 or place[2:] == ("",):
            return
        surface, *path = place
        if surface in {"middleware", "listeners"}:
            chain = state[surface] if surface == "middleware" else state[surface][path[0]]
            yield chain.links[path[-1]][1]
            return
        waiting = [(place, get(state[surface], tuple(path)))]
        while waiting:
            at, node = waiting.pop()
            if not isinstance(node, dict) or surface not in TREES:
                yield node
                continue
            waiting += [((*at, name), inner) for name, inner in node.items() if (*at, name) not in self.names.trees]

    def _find_class(self, places: set[Component], shape: Shape, what: str) -> _Found:
        """Return a state that varies some places, with nothing beside them where the base has no container.

        What stands there is the claimant's choice, and could make the mutation fail for a reason of its own.
        """
        at = self._find(shape, what)
        state, stops = self.states[at], self.stops[at]
        beside = [place for place, word in shape.items() if word == ANY and self.shapes[at][place] != "absent"]
        if beside:
            state = dict(state)
            for surface, *path in beside:
                state[surface] = put_or_drop(state[surface], tuple(path), ABSENT)
            self.beside += 1
            stops = self._run(state)
        return _Found(places, state, stops)

    def _find(self, shape: Shape, what: str) -> int:
        """Return which state has a shape, or raise: a class is missing."""
        mask = tuple((place, word) for place, word in shape.items() if word in _LOOSE)
        if mask not in self.index:
            loose = dict(mask)
            self.index[mask] = {_key(shape, loose): at for at, shape in reversed(list(enumerate(self.shapes)))}
        position = self.index[mask].get(_key(shape, dict(mask)))
        if position is None:
            raise RejectedError("missing class", f"no state varies {what} like this: {_show(shape, self.shapes[0])}")
        return position

    def _see_ends(self) -> None:
        """See that what is moved in a chain stands first and last, where its move shows (step 12)."""
        for place in self.names.moved:
            wanted = {**self.shapes[0], place: "there"}
            chains = [
                state[place[0]] for state, shape in zip(self.states, self.shapes, strict=True) if shape == wanted
            ]
            orders = [(chain[place[1]] if place[0] == "listeners" else chain).order() for chain in chains]
            if any(place[-1] not in {order[end] for order in orders} for end in (0, -1)):
                raise RejectedError("missing class", f"no state has {title(place)} at either end")

    def _fail_elsewhere(self, classes: list[_Found]) -> None:
        """Run each class once more where something else makes the mutation fail, on states of the checker's own."""
        if self.stops[0] is not None:
            return
        causes = [
            shape_class for shape_class in classes if len(shape_class.places) == 1 and shape_class.stops is not None
        ]
        for shape_class in (shape_class for shape_class in classes if shape_class.stops is None):
            for cause in causes:
                (place,) = cause.places
                state = self._graft(shape_class.state, cause.state, place, shape_class.places)
                if state is not None:
                    self.beside += 1
                    trip = run(self.program, state, places=self.plain["mode"] == OPAQUE)
                    if trip.wrong:
                        raise RejectedError(
                            "not restored", f"where {title(place)} makes the mutation fail, {trip.wrong}"
                        )
                    if trip.stops is not None:
                        break

    def _graft(self, state: State, other: State, cause: Component, places: set[Component]) -> State | None:
        """Return a state with one component as on another; None where the two cannot be seen together."""
        surface, *path = cause
        mine, theirs = state[surface], other[surface]
        if surface in TREES:
            near = [place for place in places if _in_line(place, cause)]
            above = get(mine, tuple(path[:-1]))
            if any(len(place) >= len(cause) for place in near) or not isinstance(above, dict):
                return None
            return {**state, surface: put_or_drop(mine, tuple(path), get(theirs, tuple(path)))}
        if surface == "middleware":
            return {**state, surface: mine.drop(path[0])}
        if surface == "listeners":
            return {**state, surface: {**mine, path[0]: mine.get(path[0], Chain({})).drop(path[1])}}
        lent = {key: theirs[key] for key in theirs if (key == path[0] if path else key not in self.names.sockets)}
        grafted = {**{key: mine[key] for key in mine if not path or key != path[0]}, **lent}
        held = [leaf["address"] for leaf in grafted.values()] if surface == "resources" else []
        return None if len(set(held)) != len(held) else {**state, surface: grafted}


def _change(base: Any, change: Any) -> Any:
    """Return the JSON of the surfaces that a class changes, or of all of the base where it changes none."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        raise RejectedError("malformed", "the base and what a class changes are mappings of surfaces")
    plain = {} if change else dict(base)
    for surface, changed in change.items():
        if isinstance(changed, dict):
            there = {key: item for key, item in base.get(surface, {}).items() if key not in changed}
            plain[surface] = {**there, **{key: item[0] for key, item in changed.items() if item}}
        else:
            plain[surface] = changed
    return plain


def _pick(state: State, names: Any) -> State:
    return {name: state[name] for name in names}


def _key(shape: Shape, loose: dict[Component, str]) -> tuple[Any, ...]:
    words = ((loose.get(place, ""), word) for place, word in sorted(shape.items()))
    return tuple(_LOOSE[how](word) if how else word for how, word in words)


def _show(shape: Shape, base: Shape) -> str:
    return ", ".join(
        f"{title(place)} {word}" for place, word in sorted(shape.items()) if word not in {base[place], ANY}
    )


def _literals(op: Op) -> Iterator[str]:
    """Yield the texts of what an operation writes, and of the values in it."""
    waiting = [] if op.value is ABSENT else [op.value, fill_record(op.surface, op.path[0], op.value)]
    if waiting and op.spot is not None and op.spot[0] == "priority":
        waiting.append({**waiting[1], "priority": op.spot[1]})
    while waiting:
        value = waiting.pop()
        yield text(value)
        waiting += value.values() if isinstance(value, dict) else ()


def title(component: Component) -> str:
    """Return a component as certificates name it."""
    surface, *path = component
    if surface == "config":
        key = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in path)
    else:
        key = "/".join(path) if surface == "files" else path[0] if path else "*"
    return f"{surface}[{text(key)}]" + (f" {path[1] or '(others)'}" if surface == "listeners" else "")
