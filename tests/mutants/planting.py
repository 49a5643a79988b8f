"""Which small changes can be planted in a module, and its source with one of them.

Comparisons and conditions turned round, `and` for `or`, numbers one higher, calls and assignments left out. Left
alone are annotations, decorators, constants of a module, what an error says, and how things print.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
_PRINTING = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """One change that can be planted: which of its module, in which function, what stands there before and after."""

    module: str
    number: int
    line: int
    function: str
    statement: str
    before: str
    after: str
    alike: int = 0
    """How many mutants before it have the same words."""

    @property
    def key(self) -> str:
        """What names it as long as the code around it stays as it is."""
        inside = "" if self.statement == self.before else f" in `{self.statement}`"
        number = f" ({self.alike + 1})" if self.alike else ""
        return f"{self.module} {self.function}: `{self.before}` → `{self.after}`{inside}{number}"

    def planted(self, source: str) -> str:
        """Return the source of its module with the change in it."""
        return ast.unparse(self.grown(source))

    def grown(self, source: str) -> ast.Module:
        """Return its module with the change in it, every other line where it is in the source."""
        tree = ast.parse(source)
        node = list(_spots(tree))[self.number].node
        _put(tree, node, _changed(node))
        return ast.fix_missing_locations(tree)


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module, in the order of its source."""
    seen: Counter[str] = Counter()
    for number, (node, function, statement) in enumerate(_spots(ast.parse(source))):
        before, after = _short(ast.unparse(node)), _short(ast.unparse(_changed(node)))
        mutant = Mutant(module, number, node.lineno, function, _short(ast.unparse(statement)), before, after)
        yield replace(mutant, alike=seen[mutant.key])
        seen[mutant.key] += 1


class _Spot(NamedTuple):
    """What can be changed, the function it is in, and the statement."""

    node: ast.expr | ast.stmt
    function: str
    statement: ast.AST


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:67] + "..."


def _spots(tree: ast.AST, function: str = "", statement: ast.AST | None = None) -> Iterator[_Spot]:
    """Every expression and statement that can be changed."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if node.name not in _PRINTING:
                yield from _spots(ast.Module(node.body, []), f"{function}.{node.name}".lstrip("."))
        elif function and not isinstance(node, ast.arguments):
            within = node if isinstance(node, ast.stmt | ast.comprehension) or statement is None else statement
            if isinstance(node, ast.expr | ast.stmt) and _changed(node) is not None:
                yield _Spot(node, function, within)
            if not isinstance(node, ast.Raise):
                yield from _spots(node, function, within)


def _changed(node: ast.expr | ast.stmt) -> ast.expr | ast.stmt | None:
    """A node with something else in it; None where nothing is to be changed."""
    match node:
        case ast.Compare(left, [op], rest) if type(op) in _COMPARED:
            return ast.Compare(left, [_COMPARED[type(op)]()], rest)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.BinOp(left, op, right) if type(op) in _COMPUTED:
            return ast.BinOp(left, _COMPUTED[type(op)](), right)
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value)):
            return ast.Constant(value + 1)
        case ast.If(test, body, rest) if isinstance(test, ast.Call | ast.Name | ast.Attribute | ast.NamedExpr):
            return ast.If(ast.UnaryOp(ast.Not(), test), body, rest)
        case ast.Expr(ast.Call() | ast.YieldFrom() | ast.Yield()) | ast.AugAssign() | ast.Raise():
            return ast.Pass()
        case ast.Continue():
            return ast.Break()
        case ast.Break():
            return ast.Continue()
    return None


def _put(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    if item is old:
                        value[at] = new
