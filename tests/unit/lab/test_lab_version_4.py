"""Prompts v4, what a lock rests on, suites without a model, the paper's tables, and answers in shards."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from takeback.errors import InputError
from takeback.language import read_candidate, read_program
from takeback.repair.diagnosis import FeedbackBasis, Mode, make_feedback
from takeback.repair.oracle import invert_mutation
from takeback.repair.prompts import ShownParts, load_prompt_set
from takeback.state import Level, Stage, State
from takeback_lab import protocol
from takeback_lab.experiments.natural import EXPERIMENT as NATURAL
from takeback_lab.experiments.sensitivity import EXPERIMENT as SENSITIVITY
from takeback_lab.judges import make_recovery_judge
from takeback_lab.lock import make_lock, write_lock
from takeback_lab.paper_tables import TABLES, tell_table
from takeback_lab.prompt_sets import V4
from takeback_lab.recordings import count_imported
from takeback_lab.registry import experiment_named
from takeback_lab.report import wording
from takeback_lab.report.inputs import RunData
from takeback_lab.report.power import pairs_needed
from takeback_lab.rounds import import_replies, progress_of, read_shards, write_pending, write_shard
from takeback_lab.runner import run_experiment
from takeback_lab.statistics import mcnemar_power
from takeback_lab.tasks import load

MUTATION = [{"op_type": "set_config", "target": "agent.timeout_sec", "value": 60}]
CAPTURE = {"op_type": "capture_config", "target": "agent.timeout_sec", "witness_key": "w"}
RESTORE = {"op_type": "restore_config", "target": "agent.timeout_sec", "witness_key": "w"}
D0 = ["Verification Result", "Affected Subsystems", "Defect Summary", "Dev Recovery Rate", "Hidden IID LCB"]
D0 += ["Hidden OOD LCB"]
D1 = ["Diagnostic Mode", "Forward Effect Order", "Observed State Residuals", "Residual Count", "Verifier Observation"]


def told(mode, *, isolated=False, **parts):
    task = load("natural")[100]
    nominal = State.read(task.state, task.id)
    plain = {"mutation": MUTATION, "witness": [CAPTURE], "recovery": [RESTORE], "contract": ["config"], **parts}
    candidate = read_candidate(plain)
    verdict = make_recovery_judge("split-wald", Level.L0, nominal)(candidate)
    basis = FeedbackBasis(nominal, (), V4)
    return make_feedback(mode, candidate.mutation, candidate, verdict, ground=basis, isolated=isolated).text


@pytest.mark.parametrize("wrong", [{"recovery": []}, {"recovery": [{**RESTORE, "op_type": "restore_tool"}]}])
@pytest.mark.parametrize(("mode", "fields"), [(Mode.D0, D0), (Mode.D1, D0 + D1)])
def test_v4_diagnoses_have_exactly_the_papers_fields(mode, fields, wrong):
    text = told(mode, **wrong)
    assert [line.partition(":")[0] for line in text.splitlines()] == fields
    assert "MISSING" not in text
    assert ("config[" in text) is (mode is Mode.D1)


def test_v4_omits_hidden_bounds_when_withheld():
    lines = told(Mode.D0, isolated=True, recovery=[]).splitlines()
    assert [line.partition(":")[0] for line in lines] == D0[:4]


@pytest.mark.parametrize("mode", [Mode.D0, Mode.D1, Mode.TYPED])
def test_v4_names_the_contract_if_only_it_is_wrong(mode):
    assert "nly the contract is at fault" in told(mode, contract=["tools"])
    assert "contract is at fault" not in told(mode, contract=["tools"], recovery=[])


def test_v4_fits_every_reference_and_asks_for_witness_and_recovery():
    schema = load_prompt_set(V4).schema(Level.L1, mutation=True)
    check = jsonschema.Draft202012Validator(schema)
    for task in (*load("natural"), *load("fresh")):
        found = invert_mutation(
            read_program(list(task.reference), Stage.FORWARD, task.id), State.read(task.state, "")
        )
        plain = {**found.to_json(), "mutation": list(task.reference)}
        del plain["contract"]
        assert check.is_valid(plain), task.id
    assert not check.is_valid({**plain, "witness": []})
    assert not check.is_valid({**plain, "recovery": []})
    assert not check.is_valid({**plain, "contract": ["config", "config"]})
    assert check.is_valid({**plain, "contract": schema["properties"]["contract"]["items"]["enum"]})


def test_the_parts_shown_in_a_repair_are_configurable():
    prompts = load_prompt_set(V4)

    def asked(shown):
        words = prompts.repair(Level.L0, mutation=MUTATION, attempt={"witness": ["w0"]}, diagnosis="d", shown=shown)
        return words[1].content

    assert "timeout_sec" in asked(ShownParts())
    assert "w0" in asked(ShownParts())
    assert "w0" not in asked(ShownParts(attempt=False))
    only = asked(ShownParts("operations", attempt=False))
    assert "timeout_sec" not in only
    assert "set_config" in only
    assert "set_config" not in asked(ShownParts("none", attempt=False)).split("# Candidate")[1]


def test_verify_names_runs_with_outdated_sources(tmp_path, monkeypatch):
    parts = protocol.rests_on("")
    write_lock(make_lock("factorial", parts), tmp_path / "run" / "lock.json")
    assert protocol.find_outdated(tmp_path) == []
    now = {**protocol.digest_sources(), "code.verifier": "other", "code.diagnosis": "other"}
    monkeypatch.setattr(protocol, "digest_sources", lambda: now)
    [found] = protocol.find_outdated(tmp_path)
    assert found.path == str(tmp_path / "run")
    assert found.detail == "factorial was run under other sources: diagnosis, verifier"
    protocol.check_replayable(make_lock("factorial", parts), protocol.rests_on(""))


def test_the_sources_of_a_lock_are_digests_of_the_files(tmp_path, monkeypatch):
    before = protocol.digest_sources()
    copied = tmp_path / "diagnosis.py"
    copied.write_text("changed = True\n")
    real = protocol.find_spec

    def find(name):
        spec = real(name)
        if name == "takeback.repair.diagnosis":
            spec.origin = str(copied)
        return spec

    monkeypatch.setattr(protocol, "find_spec", find)
    after = protocol.digest_sources.__wrapped__()
    assert [name for name in before if before[name] != after[name]] == ["code.diagnosis"]


def test_a_deleted_lock_is_noticed(tmp_path):
    lock = make_lock("factorial", protocol.rests_on(""))
    write_lock(lock, tmp_path / "factorial-m" / "lock.json")
    protocol.freeze_lock(tmp_path, lock)
    assert protocol.verify_locks(tmp_path) == []
    protocol.frozen_path(tmp_path, "factorial").unlink()
    [found] = protocol.verify_locks(tmp_path)
    assert found.kind == "missing"
    assert found.path.endswith("factorial.json")


def test_unrunnable_states_are_counted_apart_or_as_passed():
    plan = SENSITIVITY.plan({"tasks": 10})
    done = run_experiment(SENSITIVITY, plan).done
    apart = SENSITIVITY.summary(plan, SENSITIVITY.data(plan, done, ""))
    together = replace(plan, apart=False)
    passed = SENSITIVITY.summary(together, SENSITIVITY.data(together, done, ""))
    assert 0 < apart["cannot_run"] == passed["cannot_run"] < apart["states"]
    assert (apart["cannot_run_counts"], passed["cannot_run_counts"]) == ("apart", "passed")


@pytest.mark.long
def test_larger_suites_let_fewer_defective_candidates_pass():
    plan = SENSITIVITY.plan({})
    found = SENSITIVITY.summary(plan, run_experiment(SENSITIVITY, plan).data)
    passed = {suite: row["false_positive"][0] for suite, row in found["diverse"].items()}
    assert passed == {"Q2": 18, "Q5": 4, "Q10": 0, "Q20": 0, "Q10-narrow": 52}
    assert found["candidates"] == 120
    assert found["rare"]["Q20"]["gap"][0] > found["rare"]["Q2"]["gap"][0]
    assert 0 < found["cannot_run"] < found["states"]


def test_power_is_what_the_exact_test_needs():
    assert pairs_needed("C1") == {"paper": 11, "qwen": 29}
    assert pairs_needed("C2") == {"paper": 7, "qwen": 26}
    assert [mcnemar_power(n, 38 / 48, 0.0, 0.05 / 3) >= 0.9 for n in (10, 11)] == [False, True]
    assert [mcnemar_power(n, 25 / 48, 2 / 48, 0.05 / 3) >= 0.9 for n in (28, 29)] == [False, True]
    assert mcnemar_power(5, 1.0, 0.0) == 0


def test_every_table_of_the_paper_has_a_counterpart_or_a_reason(tmp_path):
    results = Path(__file__).parents[3] / "results"
    for one in TABLES:
        for folder in (results, tmp_path):
            found = tell_table(one, folder)
            assert found["published"]
            assert ("ours" in found) is not ("missing" in found)
            json.dumps(found)
    assert len(TABLES) >= 14
    assert tell_table(TABLES[4], results)["ours"]["n"] == 300
    assert tell_table(TABLES[12], tmp_path)["published"]["cost.latency_range"]["measured"] == ["5.25", "5.85"]
    assert tell_table(TABLES[7], tmp_path)["published"]["discordant.Ambiguous target"]["measured"][0] == "4.00"
    grammar = tell_table(TABLES[0], tmp_path)
    published = {name.removeprefix("grammar."): set(one["names"]) for name, one in grammar["published"].items()}
    assert {name: set(ours) for name, ours in grammar["ours"].items()} == published


def test_a_scripted_answerer_takes_two_shards_through_natural(tmp_path):
    plan = NATURAL.plan({"tasks": 6})
    done, requests = progress_of(NATURAL, plan, "elsewhere", tmp_path)
    assert (len(done), len(requests)) == (0, 6)
    write_pending(tmp_path, requests)
    seen = set()
    for shard in read_shards("all/2"):
        lines = write_shard(tmp_path, requests, shard).read_text().splitlines()
        replies = tmp_path / "replies.jsonl"
        answers = [{"digest": json.loads(line)["digest"], "text": "{}"} for line in lines]
        replies.write_text("".join(json.dumps(one) + "\n" for one in answers))
        seen |= {one["digest"] for one in answers}
        import_replies(replies, tmp_path)
    assert seen == {request.digest() for request in requests}
    done, left = progress_of(NATURAL, plan, "elsewhere", tmp_path)
    assert (len(done), left) == (6, [])
    assert count_imported(tmp_path) == 6


def test_one_shard_or_all_shards_can_be_named():
    assert read_shards("3/10") == [(3, 10)]
    assert read_shards("all/3") == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "all/0", "all"])
def test_an_invalid_shard_is_refused(text):
    with pytest.raises(InputError, match="3/10"):
        read_shards(text)


@pytest.mark.parametrize("name", ["contract-audit", "oracle", "stability", "snapshots", "sensitivity"])
def test_runs_without_a_model_are_outdated_by_a_changed_verifier(name, tmp_path, monkeypatch):
    parts = experiment_named(name).plan({"tasks": 6}).parts("")
    write_lock(make_lock(name, parts), tmp_path / name / "lock.json")
    assert protocol.find_outdated(tmp_path) == []
    now = {**protocol.digest_sources(), "code.verifier": "other", "code.diagnosis": "other"}
    monkeypatch.setattr(protocol, "digest_sources", lambda: now)
    [found] = protocol.find_outdated(tmp_path)
    assert found.detail == f"{name} was run under other sources: verifier"


@pytest.mark.parametrize("how", ["title", "plot"])
def test_titles_state_the_number_of_imported_answers(how):
    make = {
        "title": lambda data: wording.titled("Rescue", 4, "cases", data),
        "plot": lambda data: wording.plot_title("Rescue", 4, "cases", data),
    }[how]
    assert "16 answers imported" in make(RunData(model="far", imported=16))
    assert "imported" not in make(RunData(model="near"))


@pytest.mark.parametrize(("number", "entry"), [(11, "columns.hidden_sizes"), (12, "columns.thresholds")])
def test_what_the_columns_of_a_published_table_stand_for_is_published_too(number, entry, tmp_path):
    published = tell_table(TABLES[number - 1], tmp_path)["published"]
    rows = [row for name, row in published.items() if name != entry]
    assert {len(row.get("row", row.get("rates"))) for row in rows} == {len(published[entry]["measured"])}
