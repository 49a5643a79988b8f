"""Prompts are whole and frozen; joint search takes the best change that can be taken back."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from takeback.errors import InputError
from takeback.language import Candidate, Program, gate, read_program
from takeback.repair.attempt import Attempt
from takeback.repair.loop import Settings, repair_with_portfolio
from takeback.repair.models import Message, Reply, Request
from takeback.repair.oracle import invert_mutation
from takeback.repair.prompts import load_prompt_set
from takeback.state import KINDS, SURFACES, Level, Stage
from takeback.verify import Verdict, prove
from takeback_lab.experiments.turn0 import ask_for_candidate
from takeback_lab.joint import Joint, joint
from takeback_lab.prompt_sets import FIRST, GUIDED, PLAIN
from takeback_lab.tasks import SETS, load

LEVELS = pytest.mark.parametrize("level", [Level.L0, Level.L1])
STYLES = pytest.mark.parametrize("style", [PLAIN, GUIDED])


@LEVELS
def test_the_first_language_description_names_exactly_its_operations(level: Level) -> None:
    text = load_prompt_set(FIRST).files[f"language_{level.value}.md"]
    for kind in KINDS.values():
        told = re.search(rf"\b{kind.name}\b", text) is not None
        wanted = level.includes(kind.level) and (level is not Level.L0 or kind.stage is not Stage.FORWARD)
        assert told == wanted, kind.name


@LEVELS
@STYLES
def test_a_proposal_names_l1_mutations_and_recoveries_of_its_language(level: Level, style: str) -> None:
    text = ask_for_candidate(load_prompt_set(style), level, {"config": {}}, "x")[1].content.split("# Harness now")[0]
    for kind in KINDS.values():
        told = re.search(rf"\b{kind.name}\b", text) is not None
        bound = Level.L1 if kind.stage is Stage.FORWARD else level
        assert told == bound.includes(kind.level), kind.name


@LEVELS
def test_a_plain_prompt_names_operations_without_explaining_them(level: Level) -> None:
    plain, guided = (
        " ".join(message.content for message in ask_for_candidate(load_prompt_set(style), level, {}, "x"))
        for style in (PLAIN, GUIDED)
    )
    for word in ("before the mutation", "take the mutation back", "puts back", "remove", "taken back", "keeps"):
        assert word in guided, word
        assert word not in plain, word


@LEVELS
@STYLES
@pytest.mark.parametrize("mutation", [True, False])
def test_a_frozen_schema_allows_recoveries_of_its_level_and_l1_mutations(
    level: Level, style: str, mutation: bool
) -> None:
    text = json.dumps(load_prompt_set(style).schema(level, mutation=mutation))
    for kind in KINDS.values():
        bound = Level.L1 if kind.stage is Stage.FORWARD else level
        wanted = bound.includes(kind.level) and (mutation or kind.stage is not Stage.FORWARD)
        assert (f'"{kind.name}"' in text) == wanted, kind.name


@pytest.mark.parametrize("mutation", [True, False])
def test_a_language_newer_than_the_prompts_is_described_all_the_same(mutation: bool) -> None:
    prompts = load_prompt_set()
    assert "language_L2.md" not in prompts.files
    asked = prompts.repair(Level.L2, mutation=[], attempt={}, diagnosis="d")
    assert "edit_prompt" in asked[1].content
    assert '"edit_file"' in json.dumps(prompts.schema(Level.L2, mutation=mutation))


@LEVELS
@STYLES
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_the_reply_schema_allows_every_reference_and_its_recovery(level: Level, style: str, every: int) -> None:
    schema = load_prompt_set(style).schema(level, mutation=True)
    whole = Draft202012Validator(schema)
    alone = Draft202012Validator({**schema["properties"]["mutation"], "$defs": schema["$defs"]})
    tasks = [task for name in SETS if name != "l2" for task in load(name)]
    assert len(tasks) == 1020
    for task in tasks[::every]:
        assert alone.is_valid(list(task.reference)), task.id
        made = invert_mutation(read_program(list(task.reference), Stage.FORWARD, task.id))
        if not gate(made, level, ("witness", "recovery")):
            surfaces = sorted({op.kind.surface for op in made.mutation})
            assert whole.is_valid({**made.to_json(), "contract": surfaces}), task.id


@STYLES
def test_the_l2_reply_schema_allows_every_reference_with_its_recovery(style: str) -> None:
    schema = load_prompt_set(style).schema(Level.L2, mutation=True)
    repair = Draft202012Validator(load_prompt_set(style).schema(Level.L2, mutation=False))
    whole = Draft202012Validator(schema)
    tasks = load("l2")
    assert len(tasks) == 120
    for task in tasks:
        made = invert_mutation(read_program(list(task.reference), Stage.FORWARD, task.id))
        said = {**made.to_json(), "mutation": list(task.reference), "contract": list(task.surfaces)}
        assert whole.is_valid(said), task.id
        assert repair.is_valid({name: part for name, part in said.items() if name != "mutation"}), task.id
        assert not whole.is_valid({**said, "mutation": [{**task.reference[0], "op_type": "edit_everything"}]})


@STYLES
def test_a_proposal_and_a_repair_in_l2_name_every_operation_of_the_language(style: str) -> None:
    prompts = load_prompt_set(style)
    state: dict[str, Any] = {surface: {} for surface in SURFACES}
    texts = [
        ask_for_candidate(prompts, Level.L2, state, "x")[1].content,
        prompts.repair(Level.L2, mutation=[], attempt={}, diagnosis="d")[1].content,
        prompts.regenerate(Level.L2, mutation=[])[1].content,
    ]
    for text in texts:
        missing = [kind.name for kind in KINDS.values() if not re.search(rf"\b{kind.name}\b", text)]
        assert missing == []


def test_the_first_schema_rejects_nine_of_the_references() -> None:
    program = Draft202012Validator(load_prompt_set(FIRST).schema(Level.L1, mutation=True)["properties"]["mutation"])
    tasks = [task for name in ("natural", "fresh") for task in load(name)]
    assert sum(not program.is_valid(list(task.reference)) for task in tasks) == 9


def request(schema: dict[str, Any], *, ordered: bool) -> Request:
    return Request("m", (Message("user", "x"),), schema, ordered=ordered)


def test_property_order_is_part_of_a_requests_digest_in_newer_recordings() -> None:
    one, two = ({"properties": dict(items)} for items in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert request(one, ordered=True).digest() != request(two, ordered=True).digest()
    assert request(one, ordered=False).digest() == request(two, ordered=False).digest()
    assert [load_prompt_set(name).ordered for name in (FIRST, PLAIN, GUIDED)] == [False, True, True]


def test_a_request_read_back_from_its_json_has_the_same_name_and_the_same_order() -> None:
    made = request({"properties": {"b": 1, "a": 2}}, ordered=True)
    again = Request.from_json(json.loads(json.dumps(made.to_json(), sort_keys=True)))
    assert again == made
    assert again.schema is not None
    assert list(again.schema["properties"]) == ["b", "a"]  # type: ignore[call-overload]


def test_a_change_to_any_file_changes_the_digest() -> None:
    prompts = load_prompt_set()
    seen = {prompts.digest()}
    for name in prompts.files:
        changed = type(prompts)(prompts.version, {**prompts.files, name: prompts.files[name] + " "})
        seen.add(changed.digest())
    assert len(seen) == len(prompts.files) + 1


def test_the_constant_part_of_a_prompt_comes_first() -> None:
    prompts = load_prompt_set()
    asked = [
        ask_for_candidate(prompts, Level.L1, {"config": {}}, "a"),
        prompts.repair(Level.L1, mutation=[], attempt={}, diagnosis="d"),
        prompts.regenerate(Level.L1, mutation=[1]),
    ]
    language = prompts.fill("language_L1.md")
    assert all(messages[0] == asked[0][0] and messages[1].content.startswith(language) for messages in asked)


def proposal(value: int, recovers: bool) -> str:
    target = {"target": "agent.timeout_sec"}
    return json.dumps(
        {
            "mutation": [{"op_type": "set_config", **target, "value": value}],
            "witness": [{"op_type": "capture_config", **target, "witness_key": "w"}],
            "recovery": [{"op_type": "restore_config", **target, "witness_key": "w"}] if recovers else [],
            "contract": ["config"],
        }
    )


class Listed:
    """Gives one reply after the other."""

    name = "listed"

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def complete(self, request: Request) -> Reply:
        return Reply(self.texts[request.seed], "stop")


def search(*texts: str, mend: Any = None) -> Joint:
    def score(mutation: Program) -> Fraction:
        return Fraction(mutation[0].value, 10)

    def ask(number: int) -> Request:
        return Request(model="listed", messages=(Message("user", "x"),), seed=number)

    return joint(ask, len(texts), Listed(*texts), judge, score, mend)


def judge(candidate: Candidate) -> Verdict:
    return prove(candidate)


def test_a_reversible_proposal_wins_over_an_irreversible_one_of_equal_capability() -> None:
    found = search(proposal(5, recovers=False), proposal(5, recovers=True))
    assert found.chosen is not None
    assert found.chosen.number == 1


def test_both_the_constrained_and_the_unconstrained_choice_are_reported_with_the_price() -> None:
    found = search(proposal(9, recovers=False), proposal(4, recovers=True), proposal(2, recovers=True)).to_json()
    assert (found["chosen"], found["unconstrained"], found["price"]) == (1, 0, "1/2")
    assert found["account"]["calls"] == 3


def test_repairing_lets_the_most_capable_proposal_win() -> None:
    def mend(attempt: Attempt) -> Any:
        return repair_with_portfolio(attempt, None, judge, Settings())

    found = search(proposal(9, recovers=False), proposal(4, recovers=True), mend=mend)
    assert found.chosen is not None
    assert found.chosen.number == 0


def test_proposals_that_do_not_improve_or_cannot_be_read_are_never_chosen() -> None:
    found = search(proposal(0, recovers=True), "no", proposal(-3, recovers=True))
    assert found.chosen is None
    assert found.unconstrained is None
    assert [row["shortfall"] for row in found.to_json()["proposals"]] == [None, "prose", None]


def test_the_number_of_proposals_is_bounded() -> None:
    with pytest.raises(InputError, match="--joint"):
        search()
