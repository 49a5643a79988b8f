"""The checker of certificates accepts what the prover writes, and rejects what was forged or altered."""

from __future__ import annotations

import random
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from tests.support.running import op
from tests.unit.opinion.forgeries import MUTATIONS, certify, list_forgeries, seal

from takeback.canonical import digest, encode
from takeback.language import read_candidate
from takeback.language import read_program as read_forward
from takeback.opinion.checker import check_certificate
from takeback.opinion.interpreter import Chain, FailedError, RejectedError, edit_value, run
from takeback.opinion.interpreter import read_candidate as read_program
from takeback.opinion.interpreter import read_state as read_plain_state
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.verify import Grade, prove
from takeback.verify.classes import Classes
from takeback_lab.soundness import brute, edits, failing
from takeback_lab.soundness.candidates import candidate as random_candidate
from takeback_lab.soundness.states import random_state
from takeback_lab.tasks import SETS, load


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_certificate_of_a_proof_is_accepted(name):
    report = check_certificate(certify(MUTATIONS[name]))
    assert report.classes > 1


def test_what_the_base_hides_is_also_a_file_where_the_mutation_goes_furthest_without_one():
    edit = op("edit_file", "c", value={"old": "a", "new": "b"})
    assert check_certificate(certify([op("remove_directory", "c/y"), edit])).classes > 1
    deeper = [op("remove_directory", "c/y/z.txt"), edit]
    assert check_certificate(certify(deeper)).classes > 1
    files = [op("write_file", "c", value="x"), op("write_file", "c/x", value="x")]
    assert (
        check_certificate(certify([op("remove_directory", "c/y"), *files, op("remove_directory", "b")])).classes > 1
    )


def test_only_a_proof_has_a_certificate():
    wrong = {"mutation": MUTATIONS["config"], "recovery": []}
    verdict = prove(wrong)
    assert (verdict.grade, verdict.certificate) == (Grade.REFUTED, None)


def test_every_forged_or_altered_certificate_is_rejected():
    accepted, reasons = [], Counter()
    wanted = {name: certify(mutation)["digest"] for name, mutation in MUTATIONS.items()}
    for what, forged in list_forgeries():
        try:
            check_certificate(forged, wanted[what.partition(":")[0]])
        except RejectedError as fault:
            reasons[fault.reason] += 1
        else:
            accepted.append(what)
    assert not accepted
    assert sum(reasons.values()) >= 200
    assert set(reasons) >= {
        "wrong digest",
        "changed candidate",
        "wrong result",
        "missing class",
        "missing run",
        "extra claim",
        "wrong components",
        "contract incomplete",
        "not restored",
        "no bystander",
        "unknown operation",
        "malformed",
    }


def _alter(name, **changed):
    real = certify(MUTATIONS[name])
    return seal({**real, "runs": [{**real["runs"][0], **changed}, *real["runs"][1:]]})


def _reason(certificate):
    with pytest.raises(RejectedError) as caught:
        check_certificate(certificate)
    return caught.value.reason


def test_a_state_with_confusable_contents_is_rejected():
    base = certify(MUTATIONS["config"])["runs"][0]["base"]
    base["config"]["a"]["b"] = base["config"]["a"]["c"]
    assert _reason(_alter("config", base=base)) == "not generic"
    base["config"]["a"]["b"] = 1
    assert _reason(_alter("config", base=base)) == "not generic", "what the mutation writes"


def test_a_state_without_a_bystander_element_is_rejected():
    base = certify(MUTATIONS["middleware"])["runs"][0]["base"]
    base["middleware"] = [one for one in base["middleware"] if one["id"] in {"m", "n"}]
    assert _reason(_alter("middleware", base=base)) == "no bystander"


def test_an_impossible_state_is_rejected():
    base = certify(MUTATIONS["sockets"])["runs"][0]["base"]
    base["resources"]["p"]["address"] = base["resources"]["q"]["address"]
    assert _reason(_alter("sockets", base=base)) == "impossible state"
    base = certify(MUTATIONS["middleware"])["runs"][0]["base"]
    base["middleware"].append(base["middleware"][0])
    assert _reason(_alter("middleware", base=base)) == "impossible state"
    below = {"files": {"u/v": {"content": "x"}, "u": {"content": "y"}}}
    assert _reason(_alter("files", base=below)) == "impossible state"


def test_a_base_on_which_the_mutation_does_not_go_furthest_is_rejected(monkeypatch):
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(Classes, "settle", lambda self: setattr(self, "reach", self.failing_at({})))
    monkeypatch.setattr(search, "_goes_further", lambda self, trip: False)
    hole = [op("write_file", path, value="x") for path in ("a", "b", "a/x", "b/x")]
    verdict = prove({"mutation": hole, "contract": ['files["a"]']})
    assert verdict.grade is Grade.PROVED, "the old mistake, planted"
    assert _reason(verdict.certificate.to_json()) in {"not furthest", "contract incomplete"}


def test_a_recovery_that_edits_is_out_of_scope():
    real = certify(MUTATIONS["edited"])
    back = {"op_type": "edit_prompt", "target": "p", "value": {"old": "b", "new": "a"}}
    candidate = {**real["candidate"], "recovery": [back]}
    forged = seal({**real, "candidate": candidate, "digest": digest(candidate)})
    assert _reason(forged) == "out of scope"


@pytest.mark.parametrize("junk", [None, [], "proved", {"format": 1}, 7])
def test_a_malformed_certificate_is_rejected(junk):
    assert _reason(junk) == "malformed"


def _task_candidates():
    for name in SETS:
        for task in load(name):
            yield name, invert_mutation(read_forward(list(task.reference), Stage.FORWARD, task.id))


def test_certificates_of_all_tasks_are_accepted():
    checked = Counter()
    for name, candidate in _task_candidates():
        certificate = prove(candidate).certificate
        assert certificate is not None
        check_certificate(certificate.to_json(), candidate.digest())
        checked[name] += 1
    assert min(checked.values()) > 50


@pytest.mark.parametrize("wide", [False, True], ids=["L1", "L2"])
def test_certificates_of_drawn_candidates_are_accepted(wide):
    rng, checked = random.Random(30), 0
    while checked < 60:
        plain = failing.candidate(rng, wide=wide) if checked % 4 == 0 else None
        plain = plain or (edits.candidate(rng) if wide else random_candidate(rng, keyed=False))
        candidate = read_candidate(plain)
        certificate = prove(candidate).certificate
        if certificate is not None:
            check_certificate(certificate.to_json(), candidate.digest())
            checked += 1


@pytest.mark.parametrize("wide", [False, True], ids=["L1", "L2"])
def test_the_second_interpreter_agrees_with_the_runtime(wide):
    rng = random.Random(31)
    pool = [random_state(rng) for _ in range(100)]
    for _ in range(250):
        plain = failing.candidate(rng, wide=wide) if rng.random() < 0.3 else None
        plain = plain or (edits.candidate(rng) if wide else random_candidate(rng, keyed=False))
        candidate = read_candidate(plain)
        program = read_program(candidate.to_json())
        for state in rng.sample(pool, 3):
            trip = run(program, read_plain_state(state.write()), edit=edit_value)
            real = brute.fate(candidate, state)
            assert (not trip.wrong, trip.stops is None) == (real.held, real.through), (plain, state.write())


_FAILING = {
    "an anchor that is not there": op("add_middleware", "p", value={"handler": "h"}, after="q"),
    "an address that is held": op("allocate_socket", "p", value="tcp://127.0.0.1:9401"),
    "a directory where a file is to be": op("write_file", "p", value="x"),
}


@pytest.mark.parametrize("cause", _FAILING.values(), ids=_FAILING)
def test_a_recovery_harmful_after_an_unrelated_failure_is_rejected(cause, monkeypatch):
    oracle = invert_mutation(
        read_forward([op("set_config", "a", value={}), cause], Stage.FORWARD, "a test")
    ).to_json()
    oracle["witness"].append(op("capture_config", "e", witness_key="lent"))
    oracle["recovery"].insert(1, op("restore_config", "a.b", witness_key="lent"))
    assert prove(oracle).grade is Grade.REFUTED
    search = import_module("takeback.verify.proof")._Search
    monkeypatch.setattr(search, "_elsewhere", lambda self: iter(()))
    monkeypatch.setattr(search, "_find_failing", lambda self, parts, choice: iter(()))
    verdict = prove(oracle)
    assert verdict.grade is Grade.PROVED, "planted: nothing fails elsewhere"
    with pytest.raises(RejectedError, match="makes the mutation fail"):
        check_certificate(verdict.certificate.to_json())


@pytest.mark.parametrize(
    ("edit", "there", "then"),
    [
        (op("edit_prompt", "p", value={"old": "bb", "new": "x"}), "abbc", "axc"),
        (op("edit_prompt", "p", value={"old": "", "new": "x"}), "abc", "abcx"),
        (op("edit_file", "p", value={"old": "b", "new": ""}), ("text", "abc"), ("text", "ac")),
        (op("append_config", "p", value=1), [True], [True, 1]),
        (op("insert_config", "p", value=1, index=1), [2, 3], [2, 1, 3]),
        (op("insert_config", "p", value=1, before=3), [2, 3], [2, 1, 3]),
        (op("insert_config", "p", value=1, after=3), [2, 3], [2, 3, 1]),
        (op("remove_config_item", "p", value=1), [True, 1, 1.0], [True, 1.0]),
    ],
)
def test_the_second_interpreter_edits_as_the_specification_says(edit, there, then):
    candidate = {"mutation": [edit], "witness": [], "recovery": [], "contract": []}
    (read,) = read_program(candidate).mutation
    assert encode(edit_value(read, there)) == encode(then)


@pytest.mark.parametrize(
    ("edit", "there"),
    [
        (op("edit_prompt", "p", value={"old": "aa", "new": "x"}), "aaa"),
        (op("edit_prompt", "p", value={"old": "z", "new": "x"}), "aaa"),
        (op("edit_file", "p", value={"old": "b", "new": ""}), ("bytes", "abc=")),
        (op("append_config", "p", value=1), "no list"),
        (op("remove_config_item", "p", value=1), [1, 1]),
        (op("remove_config_item", "p", value=1), [True]),
        (op("insert_config", "p", value=1, before=3), [2]),
    ],
)
def test_an_edit_that_cannot_be_made_fails(edit, there):
    candidate = {"mutation": [edit], "witness": [], "recovery": [], "contract": []}
    (read,) = read_program(candidate).mutation
    with pytest.raises(FailedError):
        edit_value(read, there)


def test_elements_of_a_chain_are_inserted_at_their_places():
    chain = Chain({})
    for name in "abcd":
        chain = chain.insert(9, name, name)
    assert chain.insert(3, "A", "x").order() == ["a", "b", "c", "A", "d"]
    assert chain.insert(0, "d", "d").order() == ["d", "a", "b", "c"]
    moved = chain.insert(0, "d", "d").drop("d").insert(0, "y", "y")
    assert moved.put("d", *chain.insert(0, "d", "d").links["d"]).order()[:2] == ["y", "d"], "beyond all that ever was"


@pytest.mark.parametrize("junk", [None, {}, {"mutation": [], "witness": [], "recovery": []}])
def test_a_malformed_candidate_is_rejected(junk):
    with pytest.raises(RejectedError, match="a candidate has"):
        read_program(junk)


_BOUND = {"listeners": {"e": [{"id": "p", "handler": "h"}, {"id": "q", "handler": "h"}], "f": [{"id": "p"}]}}


@pytest.mark.parametrize(
    "back",
    [[], [op("restore_listener", "e", witness_key="w")], [op("unregister_listener", "e", value="p")]],
    ids=["nothing", "the event", "one callback"],
)
def test_an_event_is_unbound_as_in_the_runtime(back):
    mutation = [op("remove_listener", "e"), op("add_listener", "e", value={"id": "r", "handler": "h"})]
    witness = [op("capture_listener", "e", witness_key="w")] if back and "witness_key" in back[0] else []
    candidate = read_candidate(
        {"mutation": mutation, "witness": witness, "recovery": back, "contract": ["listeners"]}
    )
    trip = run(read_program(candidate.to_json()), read_plain_state(_BOUND))
    assert (not trip.wrong) is brute.fate(candidate, State.read(_BOUND)).held is bool(witness)


_CHAIN = {"middleware": [{"id": name, "handler": "h"} for name in "abc"]}


@pytest.mark.parametrize(
    "spot",
    [{"after": "a"}, {"after": "c"}, {"before": "c"}, {"before": "a"}, {"index": 1}, {"priority": 100}],
    ids=str,
)
def test_an_element_is_moved_as_in_the_runtime(spot):
    candidate = read_candidate(
        {"mutation": [op("move_middleware", "b", **spot)], "recovery": [], "contract": ["middleware"]}
    )
    trip = run(read_program(candidate.to_json()), read_plain_state(_CHAIN))
    assert (not trip.wrong) is brute.fate(candidate, State.read(_CHAIN)).held


def test_defaults_are_filled_in_as_in_the_state():
    plain = {
        "listeners": {"e": [{"id": "p", "handler": ""}]},
        "resources": {"p": {"address": "tcp://127.0.0.1:9401", "lifecycle": ""}},
        "middleware": [{"id": "m", "handler": "h"}],
        "tools": {"t": {"id": "t"}},
    }
    assert read_plain_state(plain) == read_plain_state(State.read(plain).write())


def test_callbacks_that_are_no_list_are_rejected():
    with pytest.raises(RejectedError, match="no chain"):
        read_plain_state({"listeners": {"e": {"p": {"id": "p"}}}})


@pytest.mark.parametrize("program", ["witness", "recovery"])
def test_a_capture_or_a_restore_without_a_witness_key_is_malformed(program):
    candidate = certify(MUTATIONS["config"])["candidate"]
    del candidate[program][0]["witness_key"]
    with pytest.raises(RejectedError, match="witness_key"):
        read_program(candidate)


def test_the_proof_page_states_the_size_of_the_checker():
    root = Path(__file__).parents[3]
    told = re.findall(r"`(opinion/\w+\.py)`, (\d+) lines", (root / "docs" / "proof.md").read_text())
    assert {name for name, _ in told} == {"opinion/interpreter.py", "opinion/checker.py"}
    for name, lines in told:
        there = len((root / "src" / "takeback" / name).read_text().splitlines())
        assert int(lines) == pytest.approx(there, rel=0.05), name
