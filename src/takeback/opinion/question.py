"""A candidate as a question to an SMT solver: is there a state that it does not restore, or an effect that it omits?

Written from the specification, and with nothing of the prover: no components, no base, no classes. All that a
candidate names varies at once. A node of a tree is absent, a leaf or a container, with "something unnamed in it";
contents belong to an uninterpreted sort, edits are uninterpreted functions of them, addresses and places are numbers.
No quantifiers. A new element's place stays open, so what holds here holds for every index, anchor or priority.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, count
from typing import Any, NamedTuple

from takeback.opinion.interpreter import ABSENT, TREES, Op, Program, text
from takeback.opinion.question_names import Names, Term, Trie, find_key

TRUE, FALSE = "true", "false"
_MADE, _COMPENSATED = "0", "1"
"""What the number of a call says."""


class Script:
    """Declarations, definitions and assertions in SMT-LIB; equal terms are defined once, constants are folded."""

    def __init__(self) -> None:
        self.lines = ["(declare-sort Value 0)"]
        self._known: dict[str, Term] = {}
        self._opposite: dict[Term, Term] = {TRUE: FALSE, FALSE: TRUE}
        self._number = count()

    def declare(self, sort: str, *takes: str, name: str = "") -> Term:
        """Return a new constant, or function, of a sort."""
        name = f"{name or 'c'}{next(self._number)}"
        self.lines.append(f"(declare-fun {name} ({' '.join(takes)}) {sort})")
        return name

    def constant(self, what: str, sort: str = "Value") -> Term:
        """Return the constant that stands for something, the same one each time."""
        key = f"{sort} {what}"
        if key not in self._known:
            self._known[key] = self.declare(sort, name="known")
        return self._known[key]

    def define(self, sort: str, body: str) -> Term:
        """Return the name of a term."""
        if body not in self._known:
            self._known[body] = name = f"t{next(self._number)}"
            self.lines.append(f"(define-fun {name} () {sort} {body})")
        return self._known[body]

    def all(self, terms: Iterable[Term]) -> Term:
        """Return the conjunction."""
        wanted = {term for term in terms if term != TRUE}
        if FALSE in wanted or any(self._opposite.get(term) in wanted for term in wanted):
            return FALSE
        return self._join("and", wanted, TRUE)

    def any(self, terms: Iterable[Term]) -> Term:
        """Return the disjunction."""
        wanted = {term for term in terms if term != FALSE}
        if TRUE in wanted or any(self._opposite.get(term) in wanted for term in wanted):
            return TRUE
        return self._join("or", wanted, FALSE)

    def _join(self, word: str, wanted: set[Term], none: Term) -> Term:
        if len(wanted) < 2:  # noqa: PLR2004  (nothing to join)
            return next(iter(wanted), none)
        return self.define("Bool", f"({word} {' '.join(sorted(wanted))})")

    def no(self, term: Term) -> Term:
        """Return the negation."""
        if term not in self._opposite:
            self._opposite[term] = other = self.define("Bool", f"(not {term})")
            self._opposite[other] = term
        return self._opposite[term]

    def pick(self, if_: Term, then: Term, other: Term, sort: str = "Bool") -> Term:
        """Return one term or another."""
        if if_ in (TRUE, FALSE) or then == other:
            return other if if_ == FALSE else then
        if sort == "Bool":
            return self.any((self.all((if_, then)), self.all((self.no(if_), other))))
        return self.define(sort, f"(ite {if_} {then} {other})")

    def same(self, left: Term, right: Term) -> Term:
        """Return that two terms are equal."""
        if left == right:
            return TRUE
        if left.isdigit() and right.isdigit():
            return FALSE
        if TRUE in (left, right) or FALSE in (left, right):
            return right if left == TRUE else left if right == TRUE else self.no(right if left == FALSE else left)
        return self.define("Bool", f"(= {min(left, right)} {max(left, right)})")

    def less(self, left: Term, right: Term) -> Term:
        """Return that one number is less than another."""
        return FALSE if left == right else self.define("Bool", f"(< {left} {right})")

    def demand(self, term: Term) -> None:
        """Assert something."""
        if term != TRUE:
            self.lines.append(f"(assert {term})")


class Cell(NamedTuple):
    """A slot with nothing below it: whether it is there, its content, and its place or address."""

    there: Term
    held: Term
    at: Term = "0"


class Node(NamedTuple):
    """A place in a tree; what is no container has nothing in it."""

    there: Term
    box: Term
    held: Term
    mode: Term
    rest: Term
    """Whether there is something in it that nobody names."""
    others: Term
    """What that is."""
    kids: dict[str, Node]


Cells = dict[Any, Cell]


class Taken(NamedTuple):
    """What a capture took down."""

    op: Op
    content: Any
    missing: tuple[Term, ...] = ()


class Question:
    """A candidate run symbolically; `script` asks for a state that breaks it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.script = Script()
        self.names = Names(program)
        self.outside: dict[Term, Term] = {}
        self.raw: dict[Term, Term] = {}
        """What a term of the state before is beside its being inside a container: the constant that a model gives."""
        self.start: dict[str, Any] = {surface: self._begin(surface) for surface in self.names.surfaces}
        self._gone = Cell(FALSE, self.script.constant("nothing"))
        self.breaks = self._run()
        self.script.demand(self.breaks)

    def to_smt(self) -> str:
        """Return the question as SMT-LIB."""
        return "\n".join(self.script.lines)

    # The state before: everything that the candidate names may be anything.

    def _begin(self, surface: str) -> Any:
        if surface in TREES:
            return self._plant(TRUE, self.names.tries[surface], root=True)
        keys, script = self.names.keys[surface], self.script
        sort = "Int" if surface in {"resources", "middleware", "listeners", "calls"} else ""
        cells = {
            key: Cell(
                script.declare("Bool", name="there"),
                script.declare("Value", name="held"),
                script.declare("Int", name="at") if sort else "0",
            )
            for key in keys
        }
        if surface == "resources":
            self._hold_apart(cells)
        if surface == "calls":
            for cell in cells.values():
                script.demand(script.any((script.same(cell.at, _MADE), script.same(cell.at, _COMPENSATED))))
            return cells
        chains = [[key for key in keys if key[0] == event] for event in {key[0] for key in keys}] if sort else []
        for chain in chains if surface != "resources" else ():
            for left, right in combinations(chain, 2):
                script.demand(script.no(script.same(cells[left].at, cells[right].at)))
        return cells

    def _hold_apart(self, cells: Cells) -> None:
        """Demand that no two resources hold one address, unless the system chooses it; unnamed ones may hold any."""
        script = self.script
        self.outside = {str(at): script.declare("Bool", name="outside") for at in range(1, len(self.names.ports) + 1)}
        for cell in cells.values():
            script.demand(script.define("Bool", f"(<= 0 {cell.at})"))
            for address, held in self.outside.items():
                script.demand(script.no(script.all((held, cell.there, script.same(cell.at, address)))))
        for left, right in combinations(cells.values(), 2):
            apart = script.any((script.no(script.same(left.at, right.at)), script.same(left.at, "0")))
            script.demand(script.any((script.no(left.there), script.no(right.there), apart)))

    def _plant(self, above: Term, trie: Trie, *, root: bool = False) -> Node:
        script = self.script
        there = TRUE if root else self._within(above, "there")
        box = TRUE if root else self._within(there, "box")
        held, mode, others = (script.declare("Value", name=name) for name in ("held", "mode", "others"))
        rest = self._within(box, "rest")
        kids = {name: self._plant(box, inner) for name, inner in trie.items()}
        return Node(there, box, held, mode, rest, others, kids)

    def _within(self, above: Term, name: str) -> Term:
        raw = self.script.declare("Bool", name=name)
        term = self.script.all((above, raw))
        self.raw[term] = raw
        return term

    def _none(self, trie: Trie) -> Node:
        none = self.script.constant("nothing")
        return Node(FALSE, FALSE, none, none, FALSE, none, {name: self._none(inner) for name, inner in trie.items()})

    # The round trip: captures on the state before, the mutation all or nothing, the recovery on what is left.

    def _run(self) -> Term:
        """Return the condition under which something is wrong."""
        script, program = self.script, self.program
        taken = {op.key: self._capture(op) for op in program.witness}
        now, far, wrong = dict(self.start), TRUE, list[Term]()
        for op in program.mutation:
            could, now[op.surface] = self._forward(op, now[op.surface])
            far = script.all((far, could))
            if not all(program.covers((op.surface, *path)) for path in op.paths()):
                wrong.append(far)
        for surface, value in now.items():
            wrong.append(script.all((far, self._express_omission(surface, self.start[surface], value))))
            now[surface] = self._choose(far, value, self.start[surface])
        could = TRUE
        for op in program.recovery:
            took = taken.get(op.key)
            if op.key is not None and (took is None or took.op.surface != op.surface):
                return TRUE
            can, now[op.surface] = self._step_back(op, now[op.surface], took)
            could = script.all((could, can))
        wrong.append(script.no(could))
        wrong += [self._differs(surface, value) for surface, value in now.items()]
        return script.any(wrong)

    def _capture(self, op: Op) -> Taken:
        value = self.start[op.surface]
        if op.surface in TREES:
            above = [self.script.no(_look(value, op.path[:depth]).there) for depth in range(1, len(op.path))]
            return Taken(op, _look(value, op.path), tuple(above))
        if op.surface == "listeners" and op.value is ABSENT:
            return Taken(op, {key: cell for key, cell in value.items() if key[0] == op.path[0]})
        if op.surface == "middleware" and op.path == ("*",):
            return Taken(op, value)
        return Taken(op, value[find_key(op)])

    def _forward(self, op: Op, value: Any) -> tuple[Term, Any]:
        """Return the condition under which an operation can run, and the surface after it."""
        if op.surface in TREES:
            return self._forward_in_tree(op, value)
        if op.surface in {"middleware", "listeners"}:
            return self._forward_in_chain(op, value)
        key = find_key(op)
        if op.action == "drop":
            return TRUE, {**value, key: self._gone}
        if op.action == "edit":
            could, held = self._edit(op, value[key].held)
            return self.script.all((value[key].there, could)), {**value, key: value[key]._replace(held=held)}
        if op.action == "fill":
            return value[key].there, {**value, key: value[key]._replace(held=self._edit(op, value[key].held)[1])}
        held = self.script.constant(text(op.value))
        if op.surface == "calls":
            return self.script.no(value[key].there), {**value, key: Cell(TRUE, held, _MADE)}
        if op.surface != "resources":
            return TRUE, {**value, key: Cell(TRUE, held)}
        cell = Cell(TRUE, held, self.names.port(op))
        return self._is_free(value, key, cell), {**value, key: cell}

    def _is_free(self, cells: Cells, key: Any, wanted: Cell) -> Term:
        script = self.script
        held = [(cell.there, cell.at) for other, cell in cells.items() if other != key]
        held += [(there, address) for address, there in self.outside.items()]
        taken = script.any(script.all((there, script.same(at, wanted.at))) for there, at in held)
        return script.any((script.same(wanted.at, "0"), script.no(taken)))

    def _edit(self, op: Op, held: Term) -> tuple[Term, Term]:
        """Return whether an edit can run on a content, and what it leaves: functions that nothing is known of."""
        what = text([op.surface, op.name, None if op.value is ABSENT else op.value, op.spot])
        functions = self.names.edits.get(what)
        if functions is None:
            names = (
                self.script.declare("Bool", "Value", name="can"),
                self.script.declare("Value", "Value", name="edit"),
            )
            functions = self.names.edits[what] = names
        can, edit = functions
        return self.script.define("Bool", f"({can} {held})"), self.script.define("Value", f"({edit} {held})")

    def _forward_in_chain(self, op: Op, value: Cells) -> tuple[Term, Cells]:
        script, key = self.script, find_key(op)
        if op.action == "drop":
            all_of_it = op.surface == "listeners" and op.value is ABSENT
            return TRUE, {
                other: self._gone if (other[0] == op.path[0] if all_of_it else other == key) else cell
                for other, cell in value.items()
            }
        there = value[key]
        could = there.there if op.action in {"move", "replace"} else TRUE
        by_priority, place = op.spot is not None and op.spot[0] == "priority", ""
        if op.action == "move":
            held = self._edit(op, there.held)[1] if by_priority else there.held
        else:
            held = script.constant(text([op.value, op.spot if by_priority else None]))
        if op.action == "replace":
            place = there.at
        elif op.spot is not None and op.spot[0] in {"before", "after"}:
            could = script.all((could, value[key[0], op.spot[1]].there))
        place = place or script.declare("Int", name="new")
        if op.name == "add_listener":
            place = script.pick(there.there, there.at, place, "Int")
        return could, {**value, key: Cell(TRUE, held, place)}

    def _forward_in_tree(self, op: Op, value: Node) -> tuple[Term, Node]:
        script, files = self.script, op.surface == "files"
        there = _look(value, op.path)
        no_box = script.no(there.box)
        leaf = script.all((there.there, no_box))
        if op.action == "drop":
            can_go = script.no(leaf) if op.name == "remove_directory" else no_box
            return (can_go if files else TRUE), self._drop(value, op.path)
        if op.action == "put":
            if not files:
                return self._put(value, op.path, self._literal(op.value, self._trie(there)))
            could, after = self._put(value, op.path, self._file(op, there))
            return script.all((could, no_box)), after
        if op.action == "edit":
            can, held = self._edit(op, there.held)
            could, after = self._put(value, op.path, there._replace(held=held))
            return script.all((leaf, can, could)), after
        goal = op.paths()[1]
        free = script.no(_look(value, goal).there)
        moved = self._none(self._trie(_look(value, goal)))._replace(there=TRUE, held=there.held, mode=there.mode)
        could, after = self._put(self._drop(value, op.path), goal, moved)
        return script.all((leaf, free, could)), after

    def _file(self, op: Op, there: Node) -> Node:
        plain = {"content": op.value} if isinstance(op.value, str) else op.value
        script, content = self.script, {name: plain[name] for name in plain if name != "mode"}
        mode = script.constant(f"mode {plain.get('mode')}")
        if "mode" not in plain:
            mode = script.pick(there.there, there.mode, script.constant("mode 0644"), "Value")
        return self._none(self._trie(there))._replace(there=TRUE, held=script.constant(text(content)), mode=mode)

    def _literal(self, value: Any, trie: Trie) -> Node:
        """Return a value of config as a node: a mapping is a container, and what of it nobody names is its rest."""
        node, script = self._none(trie), self.script
        if not isinstance(value, dict):
            return node._replace(there=TRUE, held=script.constant(text(value)))
        rest = {name: inner for name, inner in value.items() if name not in trie}
        kids = {name: self._literal(value[name], trie[name]) if name in value else node.kids[name] for name in trie}
        others = script.constant(f"others {text(rest)}")
        return node._replace(there=TRUE, box=TRUE, rest=TRUE if rest else FALSE, others=others, kids=kids)

    def _step_back(self, op: Op, value: Any, took: Taken | None) -> tuple[Term, Any]:
        if op.action == "edit":
            return self._forward(op, value)
        if op.surface in TREES:
            return self._back_in_tree(op, value, took)
        if op.surface == "listeners":
            return TRUE, self._back_in_event(op, value, took)
        if op.surface == "middleware":
            return self._back_in_chain(op, value, took)
        key, script = find_key(op), self.script
        if op.surface == "calls":
            return self._compensate(op, value, took)
        if took is None:
            return TRUE, {**value, key: self._gone}
        could = TRUE
        if op.surface == "resources":
            could = script.any((script.no(took.content.there), self._is_free(value, key, took.content)))
        return could, {**value, key: took.content}

    def _compensate(self, op: Op, value: Cells, took: Taken | None) -> tuple[Term, Cells]:
        key = find_key(op)
        if took is not None and took.op.path != op.path:
            return FALSE, value
        answered = value[key]._replace(at=_COMPENSATED)
        not_ours = FALSE if took is None else took.content.there
        return TRUE, {**value, key: self._choose(not_ours, value[key], answered)}

    def _back_in_event(self, op: Op, value: Cells, took: Taken | None) -> Cells:
        event = op.path[0]
        narrow = op.value if took is None else took.op.value
        if narrow is not ABSENT:
            return {**value, (event, narrow): self._gone if took is None else took.content}
        lent = {} if took is None else {key[1]: cell for key, cell in took.content.items()}
        return {key: lent.get(key[1], self._gone) if key[0] == event else cell for key, cell in value.items()}

    def _back_in_chain(self, op: Op, value: Cells, took: Taken | None) -> tuple[Term, Cells]:
        key = find_key(op)
        whole = took is not None and took.op.path == ("*",)
        if op.path == ("*",):
            return (TRUE, took.content) if whole and took is not None else (FALSE, value)
        cell = self._gone if took is None else took.content[key] if whole else took.content
        if took is not None and not whole and took.op.path != op.path:
            cell = cell._replace(at=self.script.declare("Int", name="new"))
        return TRUE, {**value, key: cell}

    def _back_in_tree(self, op: Op, value: Node, took: Taken | None) -> tuple[Term, Node]:
        script, there = self.script, _look(value, op.path)
        gone = self._drop(value, op.path)
        can_go = script.no(there.box) if op.surface == "files" else TRUE
        if took is None:
            return can_go, gone
        if took.op.path == op.path:
            removed = TRUE
            for depth in range(len(op.path) - 1, 0, -1):
                above = _look(gone, op.path[:depth])
                removed = script.all((removed, took.missing[depth - 1], above.box, self._is_empty(above)))
                gone = self._set(gone, op.path[:depth], self._choose(removed, self._none(self._trie(above)), above))
        could, back = self._put(value, op.path, self._fit(took.content, self._trie(there)))
        was = took.content.there
        return script.pick(was, could, can_go), self._choose(was, back, gone)

    # Trees.

    def _trie(self, node: Node) -> Trie:
        return {name: self._trie(kid) for name, kid in node.kids.items()}

    def _is_empty(self, node: Node) -> Term:
        return self.script.no(self.script.any((node.rest, *(kid.there for kid in node.kids.values()))))

    def _set(self, node: Node, path: tuple[str, ...], new: Node) -> Node:
        if not path:
            return new
        return node._replace(kids={**node.kids, path[0]: self._set(node.kids[path[0]], path[1:], new)})

    def _drop(self, node: Node, path: tuple[str, ...]) -> Node:
        return self._set(node, path, self._none(self._trie(_look(node, path))))

    def _put(self, node: Node, path: tuple[str, ...], new: Node) -> tuple[Term, Node]:
        """Return whether no leaf is in the way, and the tree with the containers that it takes."""
        if not path:
            return TRUE, new
        could, kid = self._put(node.kids[path[0]], path[1:], new)
        room = self.script.any((node.box, self.script.no(node.there)))
        after = node._replace(there=TRUE, box=TRUE, kids={**node.kids, path[0]: kid})
        return self.script.all((room, could)), after

    def _fit(self, node: Node, trie: Trie) -> Node:
        """Return what was taken down at one path as it stands at another, where other names may be known.

        What is unknown on either side may be anything, which makes it only harder to hold.
        """
        script = self.script
        extra = [kid.there for name, kid in node.kids.items() if name not in trie]
        missing = {name: self._plant(node.rest, inner) for name, inner in trie.items() if name not in node.kids}
        kids = {name: missing.get(name) or self._fit(node.kids[name], inner) for name, inner in trie.items()}
        others = node.others if not extra and not missing else script.declare("Value", name="others")
        return node._replace(rest=script.any((node.rest, *extra)), others=others, kids=kids)

    def _choose(self, if_: Term, left: Any, right: Any) -> Any:
        """Return one value or another, slot by slot."""
        pick = self.script.pick
        if left is right or if_ in (TRUE, FALSE):
            return right if if_ == FALSE else left
        if isinstance(left, dict):
            return {key: self._choose(if_, left[key], right[key]) for key in left}
        if isinstance(left, Cell):
            held = pick(if_, left.held, right.held, "Value")
            return Cell(pick(if_, left.there, right.there), held, pick(if_, left.at, right.at, "Int"))
        return Node(
            pick(if_, left.there, right.there),
            pick(if_, left.box, right.box),
            pick(if_, left.held, right.held, "Value"),
            pick(if_, left.mode, right.mode, "Value"),
            pick(if_, left.rest, right.rest),
            pick(if_, left.others, right.others, "Value"),
            self._choose(if_, left.kids, right.kids),
        )

    # What is wrong: something is not as before, or the contract omits it.

    def _differs(self, surface: str, value: Any) -> Term:
        before = self.start[surface]
        if surface in TREES:
            return self.script.any(self._unlike(left, right) for _, left, right in _pairs(before, value, (surface,)))
        script = self.script
        wrong = [self._cell_unlike(cell, value[key], surface) for key, cell in before.items()]
        if surface in {"middleware", "listeners"}:
            for left, right in combinations(before, 2):
                if left[0] == right[0]:
                    was, now = (script.less(cells[left].at, cells[right].at) for cells in (before, value))
                    both = before[left].there, before[right].there
                    wrong.append(script.all((*both, script.no(script.same(was, now)))))
        elif surface == "resources":
            wrong += [
                script.all((cell.there, script.no(script.same(cell.at, value[key].at))))
                for key, cell in before.items()
            ]
        return script.any(wrong)

    def _cell_unlike(self, left: Cell, right: Cell, surface: str) -> Term:
        script = self.script
        if surface == "calls":  # one that was compensated means the same as none
            left, right = (
                cell._replace(there=script.all((cell.there, script.same(cell.at, _MADE)))) for cell in (left, right)
            )
        other = script.all((left.there, script.no(script.same(left.held, right.held))))
        return script.any((script.no(script.same(left.there, right.there)), other))

    def _unlike(self, left: Node, right: Node) -> Term:
        script, no, same = self.script, self.script.no, self.script.same
        kinds = no(same(left.there, right.there)), no(same(left.box, right.box))
        leaf = script.any((no(same(left.held, right.held)), no(same(left.mode, right.mode))))
        inside = script.any(
            (no(same(left.rest, right.rest)), script.all((left.rest, no(same(left.others, right.others)))))
        )
        return script.any((*kinds, script.all((left.there, no(left.box), leaf)), script.all((left.box, inside))))

    def _express_omission(self, surface: str, before: Any, after: Any) -> Term:
        """Return that a diff shows something that the contract omits; a diff names the deepest places."""
        script, covers = self.script, self.program.covers
        if surface not in TREES:
            named = {"listeners": 0, "middleware": 1}.get(surface)
            slots = (key for key in before if not covers((surface, key if named is None else key[named])))
            return script.any(self._cell_unlike(before[key], after[key], surface) for key in slots)
        wrong = []
        for at, old, new in _pairs(before, after, (surface,)):
            if covers(at):
                continue
            both = script.all((old.box, new.box))
            came = script.all((script.no(old.there), new.box, script.no(self._is_empty(new))))
            went = script.all((script.no(new.there), old.box, script.no(self._is_empty(old))))
            differs = script.all((self._unlike(old, new), script.no(script.any((both, came, went)))))
            within = script.any(
                (script.no(script.same(old.rest, new.rest)), script.no(script.same(old.others, new.others)))
            )
            unnamed = script.all((script.any((both, came, went)), script.any((old.rest, new.rest)), within))
            wrong += [differs, unnamed]
        return script.any(wrong)


def _look(node: Node, path: Iterable[str]) -> Node:
    for name in path:
        node = node.kids[name]
    return node


def _pairs(left: Node, right: Node, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Node, Node]]:
    """Yield the places of two trees, the root left out."""
    for name, kid in left.kids.items():
        yield (*at, name), kid, right.kids[name]
        yield from _pairs(kid, right.kids[name], (*at, name))
