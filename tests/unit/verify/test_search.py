"""How a proof goes through the classes of states: which ones, how many, and from where."""

from __future__ import annotations

from importlib import import_module

import pytest
from tests.support.running import op

from takeback.language import Candidate, read_candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Component, Stage
from takeback.verify import Code, Grade, prove
from takeback.verify.classes import Classes, Slices, SurfaceComponent, is_in_line
from takeback.verify.opaque_edits import why_edits_undecided

proof_module = import_module("takeback.verify.proof")
classes_module = import_module("takeback.verify.classes")


def _inverted(*mutation: dict) -> Candidate:
    return invert_mutation(read_program(list(mutation), Stage.FORWARD, "mutation"))


def _candidate(mutation: list[dict], captures: dict[str, dict], restores: list[tuple[dict, str]]) -> Candidate:
    """A candidate from its mutation, its captures by witness key, and its restores with the key each uses."""
    return read_candidate(
        {
            "mutation": mutation,
            "witness": [{**capture, "witness_key": key} for key, capture in captures.items()],
            "recovery": [{**restore, "witness_key": key} for restore, key in restores],
        }
    )


def _lent() -> Candidate:
    """A file put back from its own capture at last, and from those of two others before."""
    capture, restore = "capture_file", op("restore_file", "z")
    captures = {"own": op(capture, "z"), "below": op(capture, "z/y"), "other": op(capture, "u/t")}
    return _candidate(
        [op("write_file", "z", value="x")], captures, [(restore, "below"), (restore, "other"), (restore, "own")]
    )


def _moved() -> Candidate:
    """A file can be moved only where it is one and nothing is at its new place; the first base has neither."""
    candidate = _inverted(op("move_file", "d", value="e"))
    below = [op("capture_file", f"{name}/x", witness_key=f"below {name}") for name in "de"]
    return read_candidate({**candidate.to_json(), "witness": [*candidate.to_json()["witness"], *below]})


def _two_files() -> Candidate:
    """Both can be written only where neither is a directory."""
    captures = {name: op("capture_file", name) for name in ("d", "e", "d/x", "e/x")}
    restores = [(op("restore_file", name), name) for name in "de"]
    return _candidate([op("write_file", name, value="x") for name in "de"], captures, restores)


def _edit(prompt: str, old: str) -> dict:
    return op("edit_prompt", prompt, value={"old": old, "new": ""})


@pytest.mark.parametrize(
    ("candidate", "grade", "classes"),
    [
        (_inverted(op("allocate_socket", "p", value="tcp://127.0.0.1:9402")), Grade.PROVED, 6),
        (_inverted(op("write_file", "u/t", value="x"), op("write_file", "z/y", value="x")), Grade.PROVED, 31),
        (_inverted(op("move_file", "z", value="u/v/w")), Grade.PROVED, 306),
        (_inverted(_edit("p", "a")), Grade.PROVED, 10),
        (_lent(), Grade.REFUTED, 4),
        (
            _candidate(
                [op("set_config", "a", value=1), *(_edit("r", old) for old in "soi")],
                {"r": op("capture_prompt", "r")},
                [(op("restore_prompt", "r"), "r")],
            ),
            Grade.REFUTED,
            1,
        ),
    ],
    ids=[
        "a socket",
        "two files",
        "a file that is moved",
        "an edit",
        "a file and loans",
        "edits beside what is not put back",
    ],
)
def test_a_proof_looks_at_as_many_classes_as_it_needs_and_no_more(candidate, grade, classes):
    verdict = prove(candidate)
    assert (verdict.grade, verdict.classes) == (grade, classes)


def test_a_mutation_that_always_fails_needs_no_recovery():
    """After `a` was moved away, there is nothing to edit there."""
    mutation = [op("move_file", "a", value="b"), op("edit_file", "a", value={"old": "x", "new": "y"})]
    assert prove(_candidate(mutation, {}, [])).grade is Grade.PROVED


def test_classes_of_a_failing_mutation_are_counted_before_the_search(monkeypatch):
    monkeypatch.setattr(proof_module, "MAX_WORK", 1)
    mutation = [op("write_file", "a", value="x"), op("write_file", "a/b", value="x")]
    assert [reason.code for reason in prove(_candidate(mutation, {}, [])).reasons] == [Code.LIMIT]


def test_paths_are_related_if_one_is_at_or_above_the_other():
    assert is_in_line(("a",), ("a", "b"))
    assert is_in_line(("a", "b"), ("a",))
    assert not is_in_line(("a", "b"), ("a", "c"))


def test_an_edit_restored_from_a_foreign_capture_is_named():
    restores = [(op("restore_prompt", "p"), "q")]
    candidate = _candidate([_edit("p", "a")], {"q": op("capture_prompt", "q")}, restores)
    assert why_edits_undecided(candidate).startswith('prompts["p"] is edited and not restored from its own capture')


def test_an_edit_whose_namesake_on_another_surface_is_restored_is_named():
    restores = [(op("restore_config", "p"), "p")]
    candidate = _candidate([_edit("p", "a")], {"p": op("capture_config", "p")}, restores)
    assert why_edits_undecided(candidate).startswith('prompts["p"] is edited and not restored from its own capture')


def test_a_base_is_looked_for_step_by_step_before_all_joint_choices_are():
    """Seventeen prompts that are there or not have more joint choices than a proof looks at."""
    assert prove(_inverted(*(_edit(f"p{at}", "a") for at in range(17)))).grade is Grade.PROVED


def test_a_better_base_is_looked_for_where_the_failing_operation_looks(monkeypatch):
    """Each file needs its place free: one alternative after the other of that place, and of no other."""
    tried = []
    failing_at = Classes.failing_at
    monkeypatch.setattr(
        Classes, "failing_at", lambda self, changed: tried.append(changed) or failing_at(self, changed)
    )
    classes = Classes(_two_files(), float("inf"))
    classes.settle()
    last = [classes.parts[list(changed)[-1]].component.path[0] for changed in tried if changed]
    assert last == ["d"] * 6 + ["e"] * 6


def test_two_foreign_captures_couple_their_places_into_one_group():
    classes = Classes(_lent(), float("inf"))
    assert classes.groups() == [list(range(len(classes.parts)))]


def test_hidden_places_are_not_varied_jointly():
    classes = Classes(_moved(), float("inf"))
    (group,) = classes.groups()
    assert [classes.parts[at].component.path for at in group] == [("d", "x"), ("d",), ("e", "x"), ("e",)]
    alone = 5  # of the seven alternatives of a place above another, those that leave no room below
    assert len(classes.joint(group)) == (2 * 4 + alone) ** 2


def test_a_search_from_an_unsettled_base_gives_no_answer():
    """A base on which the mutation fails is right only where it always does: one place, or two at once, show more."""
    alone = _candidate(
        [op("write_file", "d", value="x")],
        {name: op("capture_file", name) for name in ("d", "d/x")},
        [(op("restore_file", "d"), "d")],
    )
    for candidate in (alone, _moved()):
        classes = Classes(candidate, float("inf"))
        with pytest.raises(proof_module._GoesFurtherError):
            proof_module._Search(classes, Slices(candidate, classes, whole=True)).run()


def test_a_slice_holds_only_operations_that_see_its_component():
    candidate = _inverted(op("set_config", "a", value=1), op("set_prompt", "p", value="x"))
    classes = Classes(candidate, float("inf"))
    slices = Slices(candidate, classes)
    surfaces = {part.surface: slices.around((at,)) for at, part in enumerate(classes.parts)}
    assert {name: one.weight for name, one in surfaces.items()} == {"config": 3, "prompts": 3}


def test_a_slice_that_fails_spuriously_does_not_end_the_search(monkeypatch):
    """Were slices cut too small, the whole candidate would still be seen to fail where `z` is a directory."""
    monkeypatch.setattr(Slices, "_touches", lambda self, at, op: op.kind.stage is Stage.FORWARD)
    assert prove(_inverted(op("write_file", "z", value="x"))).grade is Grade.PROVED
    assert prove(_lent()).grade is Grade.REFUTED


def test_joint_classes_are_counted_before_the_search(monkeypatch):
    candidate = _moved()
    assert prove(candidate).grade is Grade.PROVED
    classes = Classes(candidate, float("inf"))
    classes.settle()
    search = proof_module._Search(classes, Slices(candidate, classes, whole=True))
    search._spend(list(search._variations()), times=2)
    monkeypatch.setattr(proof_module, "MAX_WORK", search.work)
    assert [reason.code for reason in prove(candidate).reasons] == [Code.LIMIT]


def test_generic_contents_differ_from_values_of_the_candidate():
    for named, told in (("x", "prior: p"), ("prior", "prior1: p"), ("prior prior1", "prior2: p")):
        classes = Classes(_inverted(op("set_prompt", "p", value=named)), float("inf"))
        assert told in str(classes.state({}).write()["prompts"])


def test_ancestors_of_a_component_are_found_across_a_gap():
    paths = [("a",), ("a", "b", "c"), ("a", "b", "c", "d"), ("b", "c")]
    parts = [SurfaceComponent("files", Component("gap", (), path)) for path in paths]
    assert classes_module._list_ancestors(parts) == [set(), {0}, {0, 1}, set()]


def test_a_foreign_capture_adds_only_components_restored_below_its_place():
    captures = {"d": op("capture_config", "d"), "k": op("capture_config", "x.k"), "m": op("capture_config", "y.m")}
    restores = [
        (op("restore_config", "x"), "d"),
        (op("restore_config", "x.k"), "k"),
        (op("restore_config", "y.m"), "m"),
    ]
    classes = Classes(_candidate([op("set_config", "x", value=1)], captures, restores), float("inf"))
    paths = {".".join(part.component.path) for part in classes.parts}
    assert paths == {"d", "d.k", "x", "x.k", "y", "y.m"}
