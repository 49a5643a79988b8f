"""Names say what they do: functions are verbs, modules nouns, docstrings of functions begin with a verb.

A heuristic on the first word: participles and gerunds are counted. What may stay is listed with its reason.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "takeback"
MODULES = sorted(SOURCE.rglob("*.py"))
LAB_MODULES = sorted((Path(__file__).parents[2] / "lab" / "src" / "takeback_lab").rglob("*.py"))
IRREGULAR = frozenset(
    [
        "told",
        "said",
        "held",
        "kept",
        "shown",
        "found",
        "made",
        "given",
        "taken",
        "drawn",
        "written",
        "known",
        "left",
        "gone",
        "brought",
        "bound",
        "sent",
        "met",
        "spent",
        "split",
        "chosen",
        "hidden",
        "broken",
        "frozen",
        "forgotten",
        "begun",
        "thrown",
        "seen",
        "built",
        "understood",
        "meant",
        "stood",
        "lost",
    ]
)
VERBS_IN_ED = frozenset(["embed", "feed", "need", "seed", "speed", "exceed", "proceed", "shed"])
NOUN_CLAUSE = frozenset(
    [
        "What",
        "Whether",
        "Where",
        "Which",
        "Why",
        "When",
        "How",
        "The",
        "A",
        "An",
        "All",
        "Every",
        "Each",
        "Who",
        "Those",
    ]
)
ALLOWED: dict[str, str] = {"adapters/clients/json_clients.py:zed": "the name of a client, as in every declaration"}
"""Functions whose name begins with a participle all the same, each with the reason."""
SHARE_OF_NOUN_CLAUSES = 0.10
VAGUE = frozenset(["found", "one", "told", "here"])
ALLOWED_LOCALS: dict[str, str] = {
    "errors.py:found": "a part of every error about input, which callers pass by this name"
}
"""Locals and parameters with a vague name all the same, each with the reason."""


def _first_word(name: str) -> str:
    return name.strip("_").split("_")[0]


def _is_participle(word: str) -> bool:
    return (word.endswith("ed") and word not in VERBS_IN_ED) or word in IRREGULAR


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {getattr(mark, "id", getattr(mark, "attr", "")) for mark in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter"})


def test_no_function_is_named_by_a_participle():
    participles = {
        f"{module.relative_to(SOURCE)}:{node.name}"
        for module in MODULES
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_participle(_first_word(node.name))
    }
    assert participles == set(ALLOWED)
    assert all(ALLOWED.values())


def test_no_method_is_named_by_a_participle():
    assert not [
        f"{module.relative_to(SOURCE)}:{owner.name}.{method.name}"
        for module in MODULES
        for owner in ast.walk(ast.parse(module.read_text()))
        if isinstance(owner, ast.ClassDef)
        for method in owner.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        and not _is_property(method)
        and not method.name.endswith("__")  # `__reversed__` is a name of the language
        and _is_participle(_first_word(method.name))
    ]


def _list_locals(tree: ast.Module) -> set[str]:
    """Names that are bound anywhere but as a field or a method of a class."""
    nodes = list(ast.walk(tree))
    of_classes = [line for node in nodes if isinstance(node, ast.ClassDef) for line in node.body]
    fields = {id(line.target) for line in of_classes if isinstance(line, ast.AnnAssign)}
    names = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    inner = [node for node in nodes if isinstance(node, ast.FunctionDef) and node not in of_classes]
    return {
        *(name.id for name in names if id(name) not in fields),
        *(node.arg for node in nodes if isinstance(node, ast.arg)),
        *(str(node.name) for node in nodes if isinstance(node, ast.ExceptHandler)),
        *(function.name for function in inner),
    }


def test_a_local_has_the_name_of_what_it_holds():
    vague = {
        f"{module.relative_to(SOURCE)}:{name}"
        for module in MODULES
        for name in _list_locals(ast.parse(module.read_text())) & VAGUE
    }
    assert vague == set(ALLOWED_LOCALS)


def test_no_module_is_named_by_a_gerund():
    assert not [
        path for path in MODULES if path.stem.split("_")[-1].endswith("ing") and len(path.stem) > len("going")
    ]


def test_docstrings_of_functions_begin_with_a_verb():
    texts = [
        ast.get_docstring(node)
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
    ]
    first = [text.split()[0].strip(".,:;") for text in texts if text]
    assert sum(word in NOUN_CLAUSE for word in first) <= SHARE_OF_NOUN_CLAUSES * len(first)


def _list_methods(owner: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _is_told_above(owner: ast.ClassDef, name: str, classes: dict[str, list[ast.ClassDef]]) -> bool:
    """Tell whether a class that another one extends says what a method of this name is."""
    names = [getattr(base, "id", getattr(base, "attr", "")) for base in map(_drop_parameters, owner.bases)]
    return any(
        any(method.name == name and ast.get_docstring(method) for method in _list_methods(above))
        or _is_told_above(above, name, classes)
        for base in names
        for above in classes.get(base, ())
        if above is not owner
    )


def _drop_parameters(base: ast.expr) -> ast.expr:
    return base.value if isinstance(base, ast.Subscript) else base


def test_a_public_method_says_what_it_is_unless_a_base_class_has_said_it():
    trees = {path: ast.parse(path.read_text()) for path in (*MODULES, *LAB_MODULES)}
    owners = [(path, node) for path, tree in trees.items() for node in tree.body if isinstance(node, ast.ClassDef)]
    classes: dict[str, list[ast.ClassDef]] = {}
    for _, owner in owners:
        classes.setdefault(owner.name, []).append(owner)
    overloads = {"overload", "setter"}
    assert not [
        f"{path.name}:{owner.name}.{method.name}"
        for path, owner in owners
        if not owner.name.startswith("_")
        for method in _list_methods(owner)
        if not method.name.startswith("_")
        and not ast.get_docstring(method)
        and not overloads & {getattr(mark, "id", getattr(mark, "attr", "")) for mark in method.decorator_list}
        and not _is_told_above(owner, method.name, classes)
    ]
