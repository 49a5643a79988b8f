"""A second opinion on a candidate from z3: it holds on every state, it breaks on this one, or nobody can tell.

What the solver finds is a shape; it is made a concrete state and run by the interpreter of this package. An edit is a
function that nothing is known of: where no text or list that was tried breaks the candidate, the answer is unsure,
which is out of scope and says so. z3 comes with the extra `z3`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any, Final, Literal, NamedTuple

from takeback.errors import MissingExtraError
from takeback.opinion.interpreter import Op, Program, edit_value, read_candidate, read_state, run, text
from takeback.opinion.question import Node, Question

MODELS: Final = 6
"""How many shapes that the solver finds are tried before the answer is unsure."""
TRIED: Final = 150
"""How many texts and lists, with how many elements around, are tried for each of them."""
MILLISECONDS: Final = 20_000
_GIVEN: Final = ("there", "box", "rest", "at", "outside")
"""How the constants begin that make a shape."""
_MODES: Final = ("0640", "0604", "0406")
_AROUND: Final = ((0, 0), (3, 0), (0, 3), (3, 3))


class Opinion(NamedTuple):
    """What the solver says: `state` breaks the candidate, `why` says what, or why there is no answer."""

    answer: Literal["holds", "breaks", "unsure"]
    state: dict[str, Any] | None = None
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the opinion as JSON."""
        return self._asdict()


def ask_z3(candidate: Any) -> Opinion:
    """Return z3's opinion on a candidate, given as JSON."""
    try:
        import z3  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise MissingExtraError(
            "a second opinion from z3 needs the 'z3' extra", hint="pip install 'takeback[z3]'"
        ) from None
    program = read_candidate(candidate)
    question = Question(program)
    solver = z3.SimpleSolver()
    solver.set("timeout", MILLISECONDS)
    solver.from_string(question.to_smt())
    for tried in range(MODELS):
        answer = solver.check()
        if answer == z3.unsat and not tried:
            return Opinion("holds")
        if answer == z3.unsat:
            break
        if answer == z3.unknown:
            return Opinion("unsure", why="z3 gave no answer in time")
        model = solver.model()
        given = [declaration for declaration in model.decls() if declaration.name().startswith(_GIVEN)]
        shape = {declaration.name(): str(model[declaration]) for declaration in given}
        for plain in islice(_Example(question, shape).states(), TRIED):
            wrong = run(program, read_state(plain), edit=edit_value).wrong
            if wrong:
                return Opinion("breaks", plain, wrong)
        solver.add(z3.Or(*(declaration() != model[declaration] for declaration in given)))
    return Opinion("unsure", why=_why_unsure(program))


def _why_unsure(program: Program) -> str:
    if any(op.action == "edit" for op in (*program.mutation, *program.recovery)):
        return "an edit: it depends on what it makes of a text or list"
    if any(op.action == "move" and op.surface != "files" for op in program.mutation):
        return "a move: it depends on where an element lands"
    return "the shape that was found does not break it"


class _Example:
    """Concrete states of one shape that the solver found."""

    def __init__(self, question: Question, shape: dict[str, str]) -> None:
        self.question = question
        self.shape = shape
        self.edits = [op for op in (*question.program.mutation, *question.program.recovery) if op.action == "edit"]
        written = text([op.value for op in question.program.mutation if isinstance(op.value, str | dict)])
        self.mode = next((mode for mode in _MODES if mode not in written), _MODES[0])

    def states(self) -> Iterator[dict[str, Any]]:
        """Yield states as JSON: with each text that edits may want, and others in front or behind in the chains."""
        slots = sorted({(op.surface, op.path) for op in self.edits})
        for contents in product(*(_list_contents(self.edits, slot) for slot in slots)):
            for front, back in _AROUND:
                yield self._state(dict(zip(slots, contents, strict=True)), front, back)

    def _state(self, edited: dict[Any, Any], front: int, back: int) -> dict[str, Any]:
        plain: dict[str, Any] = {}
        for surface, value in self.question.start.items():
            if isinstance(value, Node):
                plain[surface] = self._tree(value, surface, (), edited) if value.kids else {}
                if surface == "files":
                    plain[surface] = dict(_flatten(plain[surface]))
            elif surface in {"middleware", "listeners"}:
                chains = self._chains(value, front, back)
                plain[surface] = chains.get("middleware", []) if surface == "middleware" else chains
            else:
                plain[surface] = {
                    key: self._content(surface, key, cell.at, edited)
                    for key, cell in value.items()
                    if self._is(cell.there)
                }
        outside = [address for address, held in self.question.outside.items() if self._is(held)]
        for address in outside:
            held = {"kind": "external", "address": self.question.names.ports[int(address) - 1]}
            plain["resources"][f"outside {address}"] = held
        return plain

    def _is(self, term: str) -> bool:
        return term == "true" or self.shape.get(self.question.raw.get(term, term)) == "True"

    def _content(self, surface: str, key: str, at: str, edited: dict[Any, Any]) -> Any:
        if surface == "resources":
            number, ports = int(self.shape.get(at, "0")), self.question.names.ports
            port = f"tcp://127.0.0.1:{number and 20_000 + number}"
            return {"address": ports[number - 1] if 0 < number <= len(ports) else port, "lifecycle": f"first {key}"}
        if surface == "calls":
            state = "compensated" if self.shape.get(at) == "1" else "made"
            return {"call": f"first {key}", "arguments": {}, "state": state}
        if surface == "external":
            return {f"first {key}": True}
        return edited.get((surface, (key,)), {"id": f"first {key}"} if surface == "tools" else f"first {key}")

    def _chains(self, cells: dict[Any, Any], front: int, back: int) -> dict[str, list[Any]]:
        """Return the elements of each chain in the order of their places."""
        chains: dict[str, list[Any]] = {}
        there = [(int(self.shape.get(cell.at, "0")), key) for key, cell in cells.items() if self._is(cell.there)]
        for _, (chain, name) in sorted(there):
            chains.setdefault(chain, []).append(_make_element(name or "unnamed", f"first {name}"))
        for chain, links in chains.items():
            before, behind = (
                [_make_element(f"{end} {at}", chain) for at in range(size)]
                for end, size in (("front", front), ("back", back))
            )
            chains[chain] = [*before, *links, *behind]
        return chains

    def _tree(self, node: Node, surface: str, path: tuple[str, ...], edited: dict[Any, Any]) -> Any:
        if path and not self._is(node.box):
            content = edited.get((surface, path), f"first {'/'.join(path)}")
            return (content, self.mode) if surface == "files" else content
        inside = {
            name: self._tree(kid, surface, (*path, name), edited)
            for name, kid in node.kids.items()
            if self._is(kid.there)
        }
        if self._is(node.rest):
            inside["unnamed" + "_" * ("unnamed" in node.kids)] = (
                ("unnamed", self.mode) if surface == "files" else "unnamed"
            )
        return inside


def _make_element(name: str, handler: str) -> dict[str, Any]:
    return {"id": name, "handler": handler}


def _flatten(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in node.items():
        if isinstance(inner, dict) and inner:
            yield from _flatten(inner, f"{path}{name}/")
        else:
            yield f"{path}{name}", {"directory": True} if inner == {} else {"content": inner[0], "mode": inner[1]}


def _list_contents(edits: Iterable[Op], slot: tuple[str, tuple[str, ...]]) -> list[Any]:
    """Return contents of an edited slot: with what its edits look for once, twice or not at all."""
    mine = [op for op in edits if (op.surface, op.path) == slot]
    contents: list[Any] = ["first text"]
    if slot[0] == "config":
        items = [
            item for op in mine for item in (op.value, *([op.spot[1]] if op.spot and op.spot[0] != "index" else []))
        ]
        items = list({text(item): item for item in items}.values())
        contents += [items, [], items[::-1], *([item] for item in items), *([item, item] for item in items)]
        return contents
    olds = list(dict.fromkeys(op.value["old"] for op in mine))
    news = list(dict.fromkeys(op.value["new"] for op in mine))
    contents += ["\n".join(olds), "".join(olds), "".join(olds[::-1]), "", *olds, *news]
    return list(dict.fromkeys([*contents, *(f"{old}{two}" for old in olds for two in (*news, *olds))]))
