"""z3 tells candidates that hold from those that do not, on all surfaces, and says what it cannot tell."""

from __future__ import annotations

import builtins
import json
import random
from pathlib import Path

import pytest
from tests.support.running import op
from tests.unit.opinion.forgeries import MUTATIONS
from tests.unit.verify.test_furthest_base import HOLES

from takeback.errors import MissingExtraError
from takeback.language import read_candidate, read_program
from takeback.opinion.interpreter import read_candidate as read_plain
from takeback.opinion.question import Question
from takeback.opinion.solver import ask_z3
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.verify import Grade, prove
from takeback_lab.soundness import brute, edits, failing
from takeback_lab.soundness.candidates import candidate as random_candidate
from takeback_lab.tasks import SETS, load


def _oracle(mutation):
    return invert_mutation(read_program(mutation, Stage.FORWARD, "a test")).to_json()


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_oracles_candidates_hold(name):
    assert ask_z3(_oracle(MUTATIONS[name])).answer == "holds"


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name != "never"])
def test_a_missing_recovery_breaks_on_a_state_the_runtime_confirms(name):
    plain = {**_oracle(MUTATIONS[name]), "recovery": []}
    opinion = ask_z3(plain)
    assert opinion.answer == "breaks"
    assert not brute.fate(read_candidate(plain), State.read(opinion.state, "z3's state")).held


@pytest.mark.parametrize("name", MUTATIONS)
def test_an_effect_outside_the_contract_breaks_a_candidate(name):
    plain = _oracle(MUTATIONS[name])
    for at in range(len(MUTATIONS[name])):
        target = read_program(MUTATIONS[name], Stage.FORWARD, "a test")[at].address
        less = {**plain, "contract": [place for place in plain["contract"] if place != str(target)]}
        assert less != plain
        covered_above = name == "never" and str(target) == 'files["a/x"]'
        assert ask_z3(less).answer == ("holds" if covered_above else "breaks")


@pytest.mark.parametrize(("mutation", "contract"), HOLES.values(), ids=HOLES)
def test_a_failing_mutation_that_writes_outside_its_contract_is_refuted(mutation, contract):
    plain = {"mutation": mutation, "witness": [], "recovery": [], "contract": contract}
    plain = read_candidate(plain).to_json()
    opinion = ask_z3(plain)
    assert (opinion.answer, opinion.why.partition(":")[0]) == ("breaks", "contract incomplete")
    assert not brute.fate(read_candidate(plain), State.read(opinion.state, "z3's state")).held
    assert ask_z3({**plain, "contract": [*contract, "files"]}).answer == "holds"


_CAPTURE = op("capture_config", "d", witness_key="w")
_OWN = op("capture_config", "x", witness_key="own")
_SET = op("set_config", "x", value={"k": 1})


@pytest.mark.parametrize(
    ("recovery", "answer"),
    [
        ([op("restore_config", "x", witness_key="own")], "holds"),
        ([op("restore_config", "x", witness_key="w")], "breaks"),
        ([op("restore_config", "x", witness_key="w"), op("restore_config", "x", witness_key="own")], "holds"),
        ([op("restore_config", "x.k", witness_key="w"), op("restore_config", "x", witness_key="own")], "holds"),
        ([op("delete_config", "x")], "breaks"),
        ([op("restore_config", "x", witness_key="nobody")], "breaks"),
    ],
)
def test_right_and_wrong_restores_from_foreign_captures_are_distinguished(recovery, answer):
    plain = {"mutation": [_SET], "witness": [_CAPTURE, _OWN], "recovery": recovery, "contract": ["config"]}
    assert ask_z3(plain).answer == answer
    assert (prove(plain).grade is Grade.PROVED) is (answer == "holds")


def test_a_container_that_the_mutation_made_and_left_behind_must_be_in_the_contract():
    mutation = [op("set_config", "a.b.c", value=1), op("unset_config", "a.b")]
    plain = _oracle(mutation)
    assert ask_z3({**plain, "contract": ['config["a"]']}).answer == "holds"
    opinion = ask_z3({**plain, "contract": ['config["a.b"]']})
    assert (opinion.answer, opinion.why) == ("breaks", "contract incomplete: it omits ('config', 'a')")


EDIT = op("edit_prompt", "p", value={"old": "a", "new": "b"})


def test_an_edit_that_is_restored_from_its_capture_holds_and_one_edited_back_breaks():
    assert ask_z3(_oracle([EDIT, op("append_config", "l", value=1)])).answer == "holds"
    back = {**EDIT, "value": {"old": "b", "new": "a"}}
    plain = {"mutation": [EDIT], "witness": [], "recovery": [back], "contract": ["prompts"]}
    opinion = ask_z3(plain)
    assert opinion.answer == "breaks"
    assert not brute.fate(read_candidate(plain), State.read(opinion.state, "z3's state")).held


def test_candidates_that_depend_on_unfound_texts_are_unsure():
    gone = {**EDIT, "value": {"old": "abc", "new": "q"}}
    twice = [gone, {**EDIT, "value": {"old": "cannot be there", "new": ""}}, gone, op("set_routing", "r", value="x")]
    opinion = ask_z3({"mutation": twice, "witness": [], "recovery": [], "contract": ["prompts", "routing"]})
    assert (opinion.answer, opinion.state) == ("unsure", None)
    assert opinion.why.startswith("an edit")


UNREADABLE = ("malformed", "path-")
EXAMPLES = [
    file
    for file in sorted((Path(__file__).parents[3] / "examples" / "candidates").glob("*/candidate.json"))
    if not file.parent.name.startswith(UNREADABLE)
]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_z3_agrees_with_the_proof_on_every_example(file):
    candidate = read_candidate(json.loads(file.read_text()))
    answers = {Grade.PROVED: "holds", Grade.REFUTED: "breaks"}
    assert ask_z3(candidate.to_json()).answer == answers[prove(candidate).grade]


@pytest.mark.parametrize("name", SETS)
def test_the_oracles_candidates_for_tasks_hold(name):
    for task in load(name)[::8]:
        assert ask_z3(_oracle(list(task.reference))).answer == "holds", task.id


@pytest.mark.parametrize("wide", [False, True], ids=["L1", "L2"])
def test_z3_agrees_with_the_proof_on_drawn_candidates(wide):
    rng = random.Random(32)
    for _ in range(60):
        plain = failing.candidate(rng, wide=wide) if rng.random() < 0.4 else None
        plain = plain or (edits.candidate(rng) if wide else random_candidate(rng, keyed=False))
        candidate = read_candidate(plain)
        grade, answer = prove(candidate).grade, ask_z3(candidate.to_json()).answer
        wanted = {Grade.PROVED: ("holds",), Grade.REFUTED: ("breaks", "unsure")}.get(grade)
        assert wanted is None or answer in wanted, plain


def test_the_question_is_smt_lib_without_quantifiers():
    text = Question(read_plain(_oracle(MUTATIONS["files"]))).to_smt()
    assert "(declare-sort Value 0)" in text
    assert "forall" not in text
    assert "exists" not in text


def test_without_z3_the_message_names_the_package_to_install(monkeypatch):
    really = builtins.__import__

    def missing(name, *given, **named):
        if name == "z3":
            raise ImportError(name)
        return really(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match="z3") as caught:
        ask_z3(_oracle(MUTATIONS["config"]))
    assert "takeback[z3]" in str(caught.value.hint)
