"""One name, one thing: no two classes share a name, and an alias that several modules define is one and the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

APART = "opinion"
"""The second opinion is written from the specification, in its words, and shares nothing with the rest."""
SOURCE = Path(__file__).parents[2] / "src" / "takeback"


def _definitions(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The classes and aliases of a module, with what tells one from another: a class is like no other."""
    for number, node in enumerate(tree.body):
        if isinstance(node, ast.ClassDef):
            yield node.name, f"class {number}"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id[:1].isupper() and not target.id.isupper():
                    yield target.id, ast.unparse(node.value)


def _meanings(sources: dict[str, str]) -> dict[str, list[str]]:
    """The names that mean several things, each with the modules that define it."""
    meanings: defaultdict[str, set[str]] = defaultdict(set)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module, source in sources.items():
        for name, meaning in _definitions(ast.parse(source)):
            meanings[name].add(f"{module} {meaning}" if meaning.startswith("class ") else meaning)
            places[name].append(module)
    return {name: places[name] for name, found in meanings.items() if len(found) > 1}


def test_no_class_or_alias_of_the_source_means_two_things():
    found = (path for path in sorted(SOURCE.rglob("*.py")) if path.parent.name != APART)
    sources = {str(path.relative_to(SOURCE)): path.read_text() for path in found}
    assert len(sources) > 100
    assert _meanings(sources) == {}


def test_two_classes_of_one_name_are_reported():
    assert _meanings({"a.py": "class Plan: ...", "b.py": "class Plan: ..."}) == {"Plan": ["a.py", "b.py"]}


def test_an_alias_named_like_a_class_is_reported():
    assert _meanings({"a.py": "class Plan: ...", "b.py": "Plan = dict[str, int]"}) == {"Plan": ["a.py", "b.py"]}


def test_differing_aliases_are_reported_and_equal_ones_are_not():
    sources = {"a.py": "Span = tuple[int, int]\nPath = list[str]", "b.py": "Span = tuple[int, int]\nPath = str"}
    assert _meanings(sources) == {"Path": ["a.py", "b.py"]}
