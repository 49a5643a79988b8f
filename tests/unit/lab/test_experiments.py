"""Experiments that ask a model, with a scripted one: outcomes, strata, cells, isolation, resuming."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.errors import InputError, ServiceFault
from takeback.language import read_program
from takeback.repair.diagnosis import Mode
from takeback.repair.models import RecordingModel, ReplayModel, Reply, Request, Usage
from takeback.repair.oracle import invert_mutation
from takeback.repair.synthesizer import Spec, make_method
from takeback.state import Level, Stage, State
from takeback_lab.errors import LockChanged
from takeback_lab.experiment import Asked
from takeback_lab.experiments.bank import BANK, LOCK, Bank, Failure, cohort, drawn, load_bank
from takeback_lab.experiments.controlled import EXPERIMENT as CONTROLLED
from takeback_lab.experiments.controlled import ControlledPlan
from takeback_lab.experiments.draws import draw_classes, draw_order, round_robin
from takeback_lab.experiments.factorial import CELLS, CellsPlan
from takeback_lab.experiments.factorial import EXPERIMENT as FACTORIAL
from takeback_lab.experiments.fresh import EXPERIMENT as FRESH
from takeback_lab.experiments.fresh import FreshPlan
from takeback_lab.experiments.natural import EXPERIMENT as NATURAL
from takeback_lab.experiments.natural import NaturalPlan
from takeback_lab.experiments.recorded import write_frozen
from takeback_lab.experiments.repairs import Terms, read_cell
from takeback_lab.experiments.turn0 import Condition, proposal_request
from takeback_lab.lock import make_lock, read_lock
from takeback_lab.prompt_sets import GUIDED, PLAIN
from takeback_lab.report.inputs import read_input
from takeback_lab.runner import run_experiment
from takeback_lab.tasks import DEFECTS, FAMILIES, Task, load

SUBSET = round_robin(load("natural"), 2)
PLAN = NaturalPlan(SUBSET, SUBSET, Condition(Level.L1, GUIDED))
EMPTY = json.dumps({"witness": [], "recovery": [], "contract": ["config"]})


def good(task: Task) -> dict[str, Any]:
    return invert_mutation(
        read_program(list(task.reference), Stage.FORWARD, task.id), State.read(task.state, task.id)
    ).to_json()


class Scripted:
    """Answers each request with what `say` makes of it, and remembers what was asked."""

    name = "scripted"

    def __init__(self, say: Callable[[Request], str], fails_after: int | None = None) -> None:
        self.say = say
        self.asked: list[Request] = []
        self.fails_after = fails_after

    def complete(self, request: Request) -> Reply:
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise ServiceFault("scripted outage")
        self.asked.append(request)
        return Reply(self.say(request), "stop", Usage(10, 5), 0.5)


def asking(model: Any) -> Asked:
    return Asked(model, make_method(Spec("openai", "m"), model), model.name)


def by_itself(kind: Any) -> Asked:
    return Asked(None, make_method(Spec(kind), None), kind)


def by_task(change: Callable[[Task], str]) -> Callable[[Request], str]:
    by_seed = {7000 + load("natural").index(task): task for task in SUBSET}
    return lambda request: change(by_seed[request.seed])


def mixed(task: Task) -> str:
    """The second task of a family gets no recovery; the config family's first is prose, tools' first a no-op."""
    candidate = good(task)
    if task.id.endswith("_002"):
        candidate = {**candidate, "witness": [], "recovery": []}
    elif task.family == "config":
        return "I would rather not."
    elif task.family == "tools":
        candidate = {**candidate, "mutation": [{"op_type": "set_prompt", "target": "unrelated", "value": "x"}]}
    return json.dumps(candidate)


def natural(change: Callable[[Task], str], plan: NaturalPlan = PLAN) -> dict[str, Any]:
    ran = run_experiment(NATURAL, plan, asked=asking(Scripted(by_task(change))))
    return NATURAL.summary(plan, ran.data)


def test_every_prefix_of_the_draw_is_balanced_over_families() -> None:
    order = draw_order(load("natural"))
    assert sorted(task.id for task in order) == sorted(task.id for task in load("natural"))
    assert [task.family for task in order[:6]] == list(FAMILIES)
    assert Counter(task.family for task in order[:60]) == dict.fromkeys(FAMILIES, 10)
    assert order[:60] != round_robin(load("natural"))[:60]
    assert draw_order(load("natural"), seed=1)[:60] != order[:60]


@pytest.mark.parametrize("count", [20, 30, 60])
def test_controlled_tasks_are_drawn_evenly_over_classes_and_families(count: int) -> None:
    some = draw_classes(load("controlled"))[:count]
    classes = Counter(task.controlled.defect for task in some if task.controlled)
    families = Counter(task.family for task in some)
    assert classes == dict.fromkeys(DEFECTS, count // len(DEFECTS))
    assert max(families.values()) - min(families[family] for family in FAMILIES) <= 2


def test_a_proposal_uses_the_papers_parameters_and_shows_only_the_tasks_surfaces() -> None:
    task = load("natural")[150]
    request = proposal_request(task, "m")
    assert (request.temperature, request.top_p, request.max_tokens, request.seed) == (0.2, 0.95, 2048, 7150)
    shown = json.loads(request.messages[1].content.split("# Harness now\n\n")[1].split("\n\n# Wanted")[0])
    assert set(shown) == set(task.surfaces)


def test_good_candidates_are_admissible_in_l1_and_half_of_them_in_l0() -> None:
    assert natural(lambda task: json.dumps(good(task)))["admissible"] == 12
    base = NaturalPlan(SUBSET, SUBSET, Condition(Level.L0, PLAIN))
    found = natural(lambda task: json.dumps(good(task)), base)
    assert (found["language"], found["prompts"]) == ("L0", PLAIN)
    assert (found["admissible"], found["defective"]) == (
        found["tasks"] - found["strata"]["S1"],
        found["strata"]["S1"],
    )
    assert found["families"]["middleware"] == {"admissible": 0, "defective": 2, "inadequate": 0}
    assert found["families"]["config"]["admissible"] == 2


def test_each_outcome_is_counted_once_and_by_family() -> None:
    counted = natural(mixed)
    assert (counted["tasks"], counted["admissible"], counted["defective"], counted["inadequate"]) == (12, 4, 6, 2)
    assert counted["families"]["config"] == {"admissible": 0, "defective": 1, "inadequate": 1}
    assert counted["shortfalls"] == {"prose": 1}
    assert counted["account"]["calls"] == 12
    assert counted["account"]["completion_tokens"] == 60


def test_an_unreadable_recovery_makes_a_mutation_defective() -> None:
    found = natural(lambda task: json.dumps({**good(task), "recovery": "later"}))
    assert found["defective"] == found["shortfalls"]["wrong_shape"] == 12


def frozen(folder: Path) -> Bank:
    ran = run_experiment(NATURAL, PLAN, asked=asking(Scripted(by_task(mixed))))
    NATURAL.freeze_run(folder, PLAN, ran.done, "scripted")
    return load_bank(folder)


def test_a_frozen_bank_is_read_back_with_its_lock(tmp_path: Path) -> None:
    bank = frozen(tmp_path)
    assert bank.condition == PLAN.condition
    assert read_lock(tmp_path / LOCK) == make_lock("natural", PLAN.parts("scripted"))
    assert bank.locked == tuple(task.id for task in SUBSET)
    first = (tmp_path / BANK).read_bytes()
    frozen(tmp_path)
    assert (tmp_path / BANK).read_bytes() == first


def test_a_bank_with_changed_tasks_is_refused(tmp_path: Path) -> None:
    frozen(tmp_path)
    raw = json.loads((tmp_path / BANK).read_text())
    raw["locked"] = raw["locked"][:-1]
    write_frozen(tmp_path / BANK, raw)
    with pytest.raises(LockChanged, match="tasks"):
        NATURAL.plan({}, NATURAL.thaw_run(tmp_path))


def test_the_cohort_is_the_defective_tasks_with_the_oracles_strata(tmp_path: Path) -> None:
    cases = cohort(frozen(tmp_path).entries)
    strata = {case.family: case.stratum for case in cases}
    assert len(cases) == 6
    assert strata["config"] == strata["tools"] == "S0"
    assert strata["middleware"] == strata["listeners"] == strata["resources"] == "S1"
    assert [case.stratum for case in drawn(cases, {"S0": 1, "S1": 9})][:2] == ["S0", "S1"]
    assert len(drawn(cases, {"S0": 1, "S1": 9})) == 1 + sum(case.stratum == "S1" for case in cases)


def test_a_natural_run_stopped_by_an_outage_resumes_to_the_same_recording(tmp_path: Path) -> None:
    def run(folder: Path, model: Any) -> Any:
        with RecordingModel(model, folder) as recorder:
            return run_experiment(NATURAL, PLAN, asked=asking(recorder)).done

    whole = run(tmp_path / "whole", Scripted(by_task(mixed)))
    with pytest.raises(ServiceFault):
        run(tmp_path / "broken", Scripted(by_task(mixed), fails_after=5))
    again = Scripted(by_task(mixed))
    assert run(tmp_path / "broken", again) == whole
    assert len(again.asked) == 7
    recorded = [(tmp_path / name / "recording.jsonl").read_bytes() for name in ("whole", "broken")]
    assert recorded[0] == recorded[1]
    replay = run_experiment(NATURAL, PLAN, asked=asking(ReplayModel(tmp_path / "whole")))
    assert replay.done == whole


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Failure, ...]:
    return cohort(frozen(tmp_path_factory.mktemp("bank")).entries)


def cells_of(plan: CellsPlan, asked: Asked) -> dict[str, Any]:
    [data] = run_experiment(FACTORIAL, plan, asked=asked).data.values()
    read_input("factorial", data, "test")
    return data


@pytest.mark.parametrize("kind", ["oracle", "portfolio"])
def test_the_oracle_and_the_portfolio_recover_every_expressible_case(cases: tuple[Failure, ...], kind: Any) -> None:
    for row in cells_of(CellsPlan(cases), by_itself(kind))["tasks"]:
        wanted = 1 if row["stratum"] == "S0" else None
        assert row["turns"] == {"D0L0": wanted, "D1L0": wanted, "D0L1": 1, "D1L1": 1}
        assert set(row["calls"].values()) == {0}


def test_the_factorial_asks_in_all_four_cells(cases: tuple[Failure, ...]) -> None:
    model = Scripted(lambda _: EMPTY)
    data = cells_of(CellsPlan(cases, terms=Terms(budget=2)), asking(model))
    for row in data["tasks"]:
        assert row["calls"] == dict.fromkeys(CELLS, 2)
        assert set(row["turns"].values()) == {None}
    assert all(response["rejected"] == 0 for response in data["gate"])


def test_every_turn_of_d1_is_grounded_even_after_a_refusal(
    cases: tuple[Failure, ...],
) -> None:
    restore = {"op_type": "restore_file", "target": "a", "witness_key": "w"}
    replies = [json.dumps({"witness": [], "recovery": [restore], "contract": ["config"]}), "Sure!", EMPTY]
    model = Scripted(lambda request: replies[(request.seed + len(request.messages[1].content)) % 3])
    cells_of(CellsPlan(cases, cells=("D1L0", "D1L1"), terms=Terms(budget=4)), asking(model))
    assert all("D1_EXACT_ADDRESS" in request.messages[1].content for request in model.asked)
    assert all("Forward Effect Order: " in request.messages[1].content for request in model.asked)


def test_replies_out_of_the_language_are_counted_at_the_gate(cases: tuple[Failure, ...]) -> None:
    restore = {"op_type": "restore_file", "target": "a", "witness_key": "w"}
    model = Scripted(lambda _: json.dumps({"witness": [], "recovery": [restore], "contract": ["config"]}))
    data = cells_of(CellsPlan(cases, terms=Terms(budget=1)), asking(model))
    rejected = {(row["cell"], row["stratum"]): (row["rejected"], row["responses"]) for row in data["gate"]}
    for stratum in ("S0", "S1"):
        count = sum(case.stratum == stratum for case in cases)
        assert rejected["D0L0", stratum] == (count, count)
        assert rejected["D0L1", stratum] == (0, count)


def test_discordant_cases_are_listed_with_their_operations(cases: tuple[Failure, ...]) -> None:
    config = next(case for case in cases if case.family == "config")
    mended = {name: part for name, part in good(config.task).items() if name != "mutation"}
    model = Scripted(lambda r: json.dumps(mended) if "D1_EXACT_ADDRESS" in r.messages[1].content else EMPTY)
    plan = CellsPlan((config,), terms=Terms(budget=1))
    found = FACTORIAL.summary(plan, run_experiment(FACTORIAL, plan, asked=asking(model)).data)
    [row] = found["discordant"]
    assert (row["id"], row["winner"], row["category"]) == (config.id, "D1L1", "omission")
    assert row["operations"]["D0L1"] == 0
    assert found["cases"] == 1


@pytest.mark.parametrize("name", ["D2L0", "D0L9", "", "L1"])
def test_an_unknown_cell_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match="cell"):
        read_cell(name)


def test_the_controlled_benchmark_runs_every_mode_on_every_class_of_defect() -> None:
    plan = CONTROLLED.plan({"per_defect": 1})
    ran = run_experiment(CONTROLLED, plan, asked=by_itself("oracle"))
    [data] = ran.data.values()
    read_input("controlled", data, "test")
    assert len({row["defect"] for row in data["candidates"]}) == len(data["candidates"]) == 5
    assert all(row["turns"] == {mode.value: 1 for mode in Mode} for row in data["candidates"])
    found = CONTROLLED.summary(plan, ran.data)
    assert (found["candidates"], found["set"], found["nominal_pass"]) == (5, 120, 60)


def test_no_injected_defect_passes_as_it_is() -> None:
    model = Scripted(lambda _: "no")
    plan = ControlledPlan(CONTROLLED.plan({"per_defect": 2}).tasks, (Mode.NONE,), Terms(budget=1))
    [data] = run_experiment(CONTROLLED, plan, asked=asking(model)).data.values()
    assert len(model.asked) == 10
    assert all(row["turns"] == {"none": None} for row in data["candidates"])


def fresh(plan: FreshPlan, asked: Asked) -> dict[str, Any]:
    [data] = run_experiment(FRESH, plan, asked=asked).data.values()
    read_input("fresh", data, "test")
    return data


def test_the_fresh_holdout_reveals_nothing_hidden_and_judges_on_equal_states() -> None:
    model = Scripted(lambda _: EMPTY)
    data = fresh(FreshPlan(FRESH.plan({"tasks": 2}).tasks, terms=Terms(budget=1)), asking(model))
    assert all("LCB" not in request.messages[1].content for request in model.asked)
    for at in range(2):
        hidden = {suite["tasks"][at]["hidden"] for suite in data["suites"]}
        assert len(hidden) == 1
        assert "0" in hidden.pop()


def test_the_oracle_passes_every_suite_and_every_hidden_state() -> None:
    data = fresh(FreshPlan(FRESH.plan({"tasks": 6}).tasks, ("Q2", "Q20")), by_itself("oracle"))
    assert not any("0" in row["hidden"] for suite in data["suites"] for row in suite["tasks"])
    assert all(row["dev"] for suite in data["suites"] for row in suite["tasks"])


def test_a_recovery_right_on_two_states_passes_q2_and_fails_q20() -> None:
    """Removes what was not there on the nominal state: the trade-off the holdout is for."""
    task = next(
        task
        for task in load("fresh")
        if task.family == "tools" and task.reference[0]["target"] not in task.state.get("tools", {})
    )
    remove = [{"op_type": "unregister_tool", "target": op["target"]} for op in reversed(task.reference)]
    model = Scripted(lambda _: json.dumps({"witness": [], "recovery": remove, "contract": ["tools"]}))
    plan = FreshPlan((task,), ("Q2", "Q20"), terms=Terms(budget=1))
    two, twenty = (suite["tasks"][0] for suite in fresh(plan, asking(model))["suites"])
    assert two["hidden"] == twenty["hidden"]
    assert "0" in two["hidden"]
    assert not twenty["dev"]


@pytest.mark.parametrize("change", ["budget", "cases", "prompts"])
def test_a_lock_changes_with_each_of_its_parts(cases: tuple[Failure, ...], change: str) -> None:
    plans = {
        "budget": CellsPlan(cases, terms=Terms(budget=3)),
        "cases": CellsPlan(cases[:-1]),
        "prompts": CellsPlan(cases, terms=Terms(prompts=GUIDED)),
    }
    one = make_lock("factorial", CellsPlan(cases).parts("m"))
    assert one.digest == make_lock("factorial", CellsPlan(cases).parts("m")).digest
    assert one.digest != make_lock("factorial", plans[change].parts("m")).digest


def test_a_stopped_run_is_frozen_under_the_full_lock(cases: tuple[Failure, ...]) -> None:
    plan = CellsPlan(cases)
    keys = frozenset(key for key in plan.units() if not key.endswith("D1L1") or key.startswith(cases[1].id))
    part = plan.reached(keys)
    assert [case.id for case in part.cases] == [cases[1].id]
    assert make_lock("factorial", part.parts("m")) == make_lock("factorial", plan.parts("m"))
