"""Experiments that ask a model, with a scripted one: outcomes, strata, cells, isolation, resuming."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from takeback.diagnose import Mode
from takeback.errors import InputError, LockChanged, ServiceFault
from takeback.lab.experiments import controlled, factorial, fresh
from takeback.lab.experiments.bank import BANK, LOCK, Bank, Case, cohort, freeze, load_bank, stratified
from takeback.lab.experiments.natural import Entry, answer, natural_lock, proposal_request, round_robin, tally
from takeback.lab.experiments.units import run_units
from takeback.lab.lock import read_lock
from takeback.lab.report.inputs import read_input
from takeback.lab.tasks import FAMILIES, Task, load
from takeback.language import read_program
from takeback.state import Stage, State
from takeback.synthesize.method import method_of
from takeback.synthesize.models import RecordingModel, ReplayModel, Reply, Request, Usage
from takeback.synthesize.oracle import invert
from takeback.synthesize.spec import Spec

ORACLE = method_of(Spec("oracle"), None)
SUBSET = round_robin(load("natural"), 2)


def good(task: Task) -> dict[str, Any]:
    return invert(
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


def entries_of(change: Callable[[Task], str]) -> list[Entry]:
    model = Scripted(by_task(change))
    return [answer(task, model) for task in SUBSET]


def test_the_tasks_of_any_prefix_are_balanced_over_families() -> None:
    order = round_robin(load("natural"))
    assert len(order) == 600
    assert [task.family for task in order[:6]] == list(FAMILIES)
    assert {family: sum(task.family == family for task in order[:60]) for family in FAMILIES} == dict.fromkeys(
        FAMILIES, 10
    )


def test_a_proposal_uses_the_papers_parameters_and_shows_only_the_tasks_surfaces() -> None:
    task = load("natural")[150]
    request = proposal_request(task, "m")
    assert (request.temperature, request.top_p, request.max_tokens, request.seed) == (0.2, 0.95, 2048, 7150)
    shown = json.loads(request.messages[1].content.split("# Harness now\n\n")[1].split("\n\n# Wanted")[0])
    assert set(shown) == set(task.surfaces)


def test_every_good_candidate_is_admissible() -> None:
    assert {entry.outcome for entry in entries_of(lambda task: json.dumps(good(task)))} == {"admissible"}


def test_each_outcome_is_counted_once_and_by_family() -> None:
    entries = entries_of(mixed)
    counted = tally(entries)
    assert (counted["tasks"], counted["admissible"], counted["defective"], counted["inadequate"]) == (12, 4, 6, 2)
    assert counted["families"]["config"] == {"admissible": 0, "defective": 1, "inadequate": 1}
    assert counted["shortfalls"] == {"prose": 1}
    assert counted["account"]["calls"] == 12
    assert counted["account"]["completion_tokens"] == 60


def test_a_mutation_whose_recovery_cannot_be_read_is_defective_not_inadequate() -> None:
    entries = entries_of(lambda task: json.dumps({**good(task), "recovery": "later"}))
    assert {entry.outcome for entry in entries} == {"defective"}
    assert {entry.shortfall for entry in entries} == {"wrong_shape"}


def frozen(folder: Path) -> Bank:
    return freeze(folder, "scripted", SUBSET, entries_of(mixed))


def test_a_frozen_bank_is_read_back_with_its_lock(tmp_path: Path) -> None:
    bank = frozen(tmp_path)
    assert load_bank(tmp_path) == bank
    assert read_lock(tmp_path / LOCK) == natural_lock(SUBSET, "scripted")
    assert bank.locked_tasks() == SUBSET
    first = (tmp_path / BANK).read_bytes()
    frozen(tmp_path)
    assert (tmp_path / BANK).read_bytes() == first


def test_a_bank_whose_tasks_have_changed_since_says_so(tmp_path: Path) -> None:
    bank = frozen(tmp_path)
    with pytest.raises(LockChanged, match="tasks"):
        replace(bank, locked=bank.locked[:-1]).locked_tasks()


def test_the_cohort_is_the_defective_tasks_with_the_oracles_strata(tmp_path: Path) -> None:
    cases = cohort(frozen(tmp_path).entries)
    strata = {case.task.family: case.stratum for case in cases}
    assert len(cases) == 6
    assert strata["config"] == strata["tools"] == "S0"
    assert strata["middleware"] == strata["listeners"] == strata["resources"] == "S1"
    assert [case.stratum for case in stratified(cases, 1)] == ["S0", "S1"]


def test_a_natural_run_stopped_by_an_outage_resumes_to_the_same_recording(tmp_path: Path) -> None:
    def run(folder: Path, model: Scripted) -> list[Entry]:
        with RecordingModel(model, folder) as recorder:
            return run_units(SUBSET, lambda task: answer(task, recorder))

    whole = run(tmp_path / "whole", Scripted(by_task(mixed)))
    with pytest.raises(ServiceFault):
        run(tmp_path / "broken", Scripted(by_task(mixed), fails_after=5))
    again = Scripted(by_task(mixed))
    assert run(tmp_path / "broken", again) == whole
    assert len(again.asked) == 7
    recorded = [(tmp_path / name / "recording.jsonl").read_bytes() for name in ("whole", "broken")]
    assert recorded[0] == recorded[1]
    replay = ReplayModel(tmp_path / "whole")
    assert [answer(task, replay) for task in SUBSET] == whole


def test_units_keep_their_order_on_several_threads_and_a_fault_ends_the_run() -> None:
    assert run_units(range(20), lambda n: n * n, workers=4) == [n * n for n in range(20)]

    def fail(n: int) -> int:
        if n == 3:
            raise ServiceFault("scripted")
        return n

    with pytest.raises(ServiceFault):
        run_units(range(20), fail, workers=4)


def test_a_fault_of_a_later_unit_keeps_the_rest_from_being_begun() -> None:
    begun: list[int] = []
    slow = threading.Event()

    def run(n: int) -> int:
        begun.append(n)
        if n == 1:
            raise ServiceFault("scripted")
        slow.wait(0.5)
        return n

    with pytest.raises(ServiceFault):
        run_units(range(50), run, workers=2)
    assert len(begun) < 10


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, ...]:
    return cohort(frozen(tmp_path_factory.mktemp("bank")).entries)


@pytest.mark.parametrize("kind", ["oracle", "portfolio"])
def test_the_oracle_and_the_portfolio_recover_the_whole_cohort_where_the_language_can(
    cases: tuple[Case, ...], kind: Any
) -> None:
    plan = factorial.Plan(cases)
    data = factorial.report_data(plan, factorial.run_cells(plan, method_of(Spec(kind), None)), kind)
    read_input("factorial", data, "test")
    for row in data["tasks"]:
        wanted = 1 if row["stratum"] == "S0" else None
        assert row["turns"] == {"D0L0": wanted, "D1L0": wanted, "D0L1": 1, "D1L1": 1}
        assert set(row["calls"].values()) == {0}


def test_the_factorial_asks_in_all_four_cells_whatever_the_mutation_is(cases: tuple[Case, ...]) -> None:
    model = Scripted(lambda _: json.dumps({"witness": [], "recovery": [], "contract": ["config"]}))
    plan = factorial.Plan(cases, budget=2)
    data = factorial.report_data(plan, factorial.run_cells(plan, method_of(Spec("openai", "m"), model)), model.name)
    read_input("factorial", data, "test")
    for row in data["tasks"]:
        assert row["calls"] == dict.fromkeys(factorial.CELLS, 2)
        assert set(row["turns"].values()) == {None}
    grounded = [request for request in model.asked if "D1_EXACT_ADDRESS" in request.messages[1].content]
    assert len(grounded) * 2 == len(model.asked)
    assert all(response["rejected"] == 0 for response in data["gate"])


def test_replies_out_of_the_language_are_counted_at_the_gate(cases: tuple[Case, ...]) -> None:
    restore = {"op_type": "restore_file", "target": "a", "witness_key": "w"}
    model = Scripted(lambda _: json.dumps({"witness": [], "recovery": [restore], "contract": ["config"]}))
    plan = factorial.Plan(cases, budget=1)
    data = factorial.report_data(plan, factorial.run_cells(plan, method_of(Spec("openai", "m"), model)), "m")
    rejected = {(row["cell"], row["stratum"]): (row["rejected"], row["responses"]) for row in data["gate"]}
    for stratum in ("S0", "S1"):
        count = sum(case.stratum == stratum for case in cases)
        assert rejected["D0L0", stratum] == (count, count)
        assert rejected["D0L1", stratum] == (0, count)


def test_tasks_that_only_one_of_two_cells_recovers_are_listed_with_what_was_tried(cases: tuple[Case, ...]) -> None:
    config = next(case for case in cases if case.task.family == "config")
    mended = {name: part for name, part in good(config.task).items() if name != "mutation"}
    bad = {"witness": [], "recovery": [], "contract": ["config"]}
    model = Scripted(lambda r: json.dumps(mended if "D1_EXACT_ADDRESS" in r.messages[1].content else bad))
    plan = factorial.Plan((config,), budget=1)
    results = factorial.run_cells(plan, method_of(Spec("openai", "m"), model))
    [row] = factorial.discordant(plan, results)
    assert (row["id"], row["winner"], row["tried"]["D0L1"]["operations"]) == (config.task.id, "D1L1", 0)


@pytest.mark.parametrize("name", ["D2L0", "D0L9", "", "L1"])
def test_a_cell_that_is_no_mode_and_language_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match="cell"):
        factorial.read_cell(name)


def test_the_controlled_benchmark_runs_every_mode_on_every_class_of_defect() -> None:
    plan = controlled.Plan(controlled.by_defect(1))
    data = controlled.report_data(plan, controlled.run_modes(plan, ORACLE))
    read_input("controlled", data, "test")
    assert len({row["defect"] for row in data["candidates"]}) == len(data["candidates"]) == 5
    assert all(row["turns"] == {mode.value: 1 for mode in Mode} for row in data["candidates"])


def test_no_injected_defect_passes_as_it_is() -> None:
    model = Scripted(lambda _: "no")
    plan = controlled.Plan(controlled.by_defect(2), modes=(Mode.NONE,), budget=1)
    data = controlled.report_data(plan, controlled.run_modes(plan, method_of(Spec("openai", "m"), model)))
    assert len(model.asked) == 10
    assert all(row["turns"] == {"none": None} for row in data["candidates"])


def test_the_fresh_holdout_tells_nothing_hidden_and_judges_on_the_same_states() -> None:
    model = Scripted(lambda _: json.dumps({"witness": [], "recovery": [], "contract": ["config"]}))
    plan = fresh.Plan(fresh.fresh_tasks(1)[:2], budget=1)
    data = fresh.run_fresh(plan, method_of(Spec("openai", "m"), model))
    read_input("fresh", data, "test")
    assert all("LCB" not in request.messages[1].content for request in model.asked)
    for at in range(2):
        hidden = {suite["tasks"][at]["hidden"] for suite in data["suites"]}
        assert len(hidden) == 1
        assert "0" in hidden.pop()


def test_the_oracle_passes_every_suite_and_every_hidden_state() -> None:
    plan = fresh.Plan(fresh.fresh_tasks(1), suites=("Q2", "Q20"))
    data = fresh.run_fresh(plan, ORACLE)
    assert {row["hidden"] for suite in data["suites"] for row in suite["tasks"]} == {"1" * 100}
    assert all(row["dev"] for suite in data["suites"] for row in suite["tasks"])


@pytest.mark.parametrize("change", ["budget", "cases"])
def test_a_lock_changes_with_what_it_froze(cases: tuple[Case, ...], change: str) -> None:
    one = factorial.Plan(cases)
    two = factorial.Plan(cases, budget=3) if change == "budget" else factorial.Plan(cases[:-1])
    assert one.lock("factorial", "m").digest == factorial.Plan(cases).lock("factorial", "m").digest
    assert one.lock("factorial", "m").digest != two.lock("factorial", "m").digest
