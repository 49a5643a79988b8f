"""Locks, results and progress: what changed is named, nothing is mixed, lost or taken for zero."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from takeback.errors import InputError
from takeback_lab.errors import LockChanged
from takeback_lab.lock import PARTS, canonical, check, digest_of, make_lock, read_lock, write_lock
from takeback_lab.progress import Progress, progress_path
from takeback_lab.results import find_runs, read_results, verify_results, write_results

PROTOCOL = {
    "tasks": ["a", "b"],
    "seeds": [7000, 7001],
    "suites": {"Q10": 10},
    "prompts": {"system": "Grüße"},
    "model": {"temperature": 0.2},
    "analysis": "mcnemar",
}


@pytest.fixture
def lock():
    return make_lock("factorial", PROTOCOL)


def kinds(folder):
    return sorted((p.kind, p.path.rsplit("/", 1)[-1]) for p in verify_results(folder))


def test_a_lock_has_the_digest_of_the_canonical_json_of_each_part(lock):
    assert set(lock.parts) == set(PARTS)
    assert lock.parts["seeds"] == hashlib.sha256(b"[7000,7001]").hexdigest()
    assert lock.parts["prompts"] == hashlib.sha256('{"system":"Grüße"}'.encode()).hexdigest()
    assert canonical({"b": 1, "a": [True, None]}) == b'{"a":[true,null],"b":1}'


def test_key_order_does_not_matter_and_type_does():
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert len({digest_of(value) for value in (1, 1.0, True, "1", [1], None)}) == 6


@pytest.mark.parametrize("value", [float("nan"), {1: "a"}, {"x": [{2: 3}]}, {"x": {1, 2}}, "\ud800"])
def test_values_outside_json_cannot_be_locked(value):
    with pytest.raises(InputError):
        make_lock("x", {"tasks": value})


def test_check_passes_the_same_parts_and_names_each_changed_one_with_both_digests(lock):
    check(lock, dict(reversed(PROTOCOL.items())))
    now = {**PROTOCOL, "seeds": [7000, 7002], "extra": 1}
    del now["model"]
    with pytest.raises(LockChanged) as caught:
        check(lock, now)
    changed = {part: (old, new) for part, old, new in caught.value.changed}
    assert changed == {
        "extra": ("", digest_of(1)),
        "model": (lock.parts["model"], ""),
        "seeds": (lock.parts["seeds"], digest_of([7000, 7002])),
    }
    assert lock.parts["seeds"] in str(caught.value)
    assert digest_of([7000, 7002]) in str(caught.value)


def test_a_lock_survives_its_file_and_an_altered_one_is_refused(lock, tmp_path):
    path = tmp_path / "lock.json"
    write_lock(lock, path)
    assert read_lock(path) == lock
    raw = json.loads(path.read_text())
    raw["parts"]["seeds"] = "0" * 64
    path.write_text(json.dumps(raw))
    with pytest.raises(InputError, match="which is what its parts give"):
        read_lock(path)
    path.write_text("{")
    with pytest.raises(InputError, match="malformed JSON"):
        read_lock(path)
    with pytest.raises(InputError, match="no such file"):
        read_lock(tmp_path / "none.json")


def test_results_carry_the_lock_and_their_own_digest_and_read_back(lock, tmp_path):
    result = write_results(tmp_path, "factorial", lock, {"rescued": 3}, files={"tables/t.csv": b"a,b\n"})
    assert verify_results(tmp_path) == []
    assert read_results(tmp_path) == result
    assert result.lock == lock.digest
    body = {k: v for k, v in result.to_json().items() if k != "digest"}
    assert result.digest == digest_of(body)


def test_verify_names_missing_altered_and_extra_files(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"rescued": 3}, files={"a.csv": b"1", "b.csv": b"2"})
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.csv").write_bytes(b"3")
    (tmp_path / "c.csv").write_bytes(b"4")
    assert kinds(tmp_path) == [("altered", "b.csv"), ("extra", "c.csv"), ("missing", "a.csv")]
    with pytest.raises(InputError, match="lab verify"):
        read_results(tmp_path)


def test_verify_sees_a_result_forged_together_with_its_manifest(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"rescued": 3})
    raw = json.loads((tmp_path / "result.json").read_text())
    raw["data"]["rescued"] = 4
    forged = json.dumps(raw).encode()
    (tmp_path / "result.json").write_bytes(forged)
    manifest = json.loads((tmp_path / "MANIFEST.json").read_text())
    manifest["files"]["result.json"] = hashlib.sha256(forged).hexdigest()
    (tmp_path / "MANIFEST.json").write_text(json.dumps(manifest))
    assert kinds(tmp_path) == [("altered", "MANIFEST.json"), ("altered", "result.json")]


def test_verify_sees_results_of_another_lock(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"rescued": 3})
    write_lock(make_lock("factorial", {**PROTOCOL, "seeds": []}), tmp_path / "lock.json")
    assert kinds(tmp_path) == [("altered", "lock.json"), ("lock", "lock.json")]


def test_a_folder_without_a_run_is_a_problem_and_no_folder_is_a_fault(tmp_path):
    assert [p.kind for p in verify_results(tmp_path)] == ["missing"]
    with pytest.raises(InputError):
        verify_results(tmp_path / "none")
    (tmp_path / "MANIFEST.json").write_text("[]")
    assert kinds(tmp_path) == [("altered", "MANIFEST.json")]


def test_superseded_results_are_kept_apart_and_still_verify(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"rescued": 1}, files={"old.csv": b"x"})
    first = json.loads((tmp_path / "MANIFEST.json").read_text())["digest"]
    other = make_lock("factorial", {**PROTOCOL, "seeds": [1]})
    write_results(tmp_path, "factorial", other, {"rescued": 2})
    kept = tmp_path / "superseded" / first
    assert read_results(kept).data == {"rescued": 1}
    assert (kept / "old.csv").read_bytes() == b"x"
    assert not (tmp_path / "old.csv").exists()
    assert read_results(tmp_path).data == {"rescued": 2}
    assert find_runs(tmp_path) == (tmp_path,)
    assert verify_results(tmp_path) == []
    (kept / "old.csv").write_bytes(b"y")
    assert kinds(tmp_path) == [("altered", "old.csv")]


def test_the_same_run_again_supersedes_nothing(lock, tmp_path):
    for _ in range(2):
        write_results(tmp_path, "factorial", lock, {"rescued": 1}, files={"a.csv": b"x"})
    assert not (tmp_path / "superseded").exists()
    write_results(tmp_path, "factorial", lock, {"rescued": 1}, files={"a.csv": b"y"})
    assert len(list((tmp_path / "superseded").iterdir())) == 1


def test_a_damaged_run_is_kept_as_unverified_when_it_is_superseded(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"rescued": 1})
    (tmp_path / "result.json").write_text("{}")
    write_results(tmp_path, "factorial", lock, {"rescued": 2})
    (kept,) = (tmp_path / "superseded").iterdir()
    assert kept.name.startswith("unverified-")
    assert (kept / "result.json").read_text() == "{}"
    assert verify_results(tmp_path) == []


def test_a_run_without_data_is_not_written(lock, tmp_path):
    with pytest.raises(InputError, match="no data"):
        write_results(tmp_path, "factorial", lock, None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["../out.csv", "result.json", "superseded/x", "/etc/passwd"])
def test_files_of_a_run_stay_in_its_folder_and_off_its_own_names(name, lock, tmp_path):
    with pytest.raises(InputError):
        write_results(tmp_path / "run", "factorial", lock, {}, files={name: b""})
    assert not (tmp_path / "out.csv").exists()


def test_progress_resumes_with_finished_units(lock, tmp_path):
    path = progress_path(tmp_path, lock)
    with Progress(path, lock) as progress:
        progress.record("task-1", {"admitted": True})
        progress.record("task-2", None)
        progress.record("task-1", {"admitted": True})
    with Progress(path, lock) as again:
        assert list(again) == ["task-1", "task-2"]
        assert "task-2" in again
        assert "task-3" not in again
        assert (len(again), again["task-1"]) == (2, {"admitted": True})
        with pytest.raises(InputError, match="another result"):
            again.record("task-1", {"admitted": False})


def test_progress_returns_values_as_a_later_run_reads_them(lock, tmp_path):
    path = tmp_path / "progress.jsonl"
    with Progress(path, lock) as progress:
        progress.record("a", {"z": (1, 2), "b": 1.0})
        at_once = json.dumps(progress["a"])
    with Progress(path, lock) as progress:
        assert json.dumps(progress["a"]) == at_once == '{"b": 1.0, "z": [1, 2]}'


def test_progress_cuts_off_a_torn_line_and_goes_on(lock, tmp_path):
    path = tmp_path / "p.jsonl"
    with Progress(path, lock) as progress:
        progress.record("a", 1)
    whole = path.read_bytes()
    for torn in (b'{"key":"b","res', b'{"key":"b","result":2}'):
        path.write_bytes(whole + torn)
        with Progress(path, lock) as progress:
            assert list(progress) == ["a"]
            progress.record("b", 3)
        with Progress(path, lock) as progress:
            assert progress["b"] == 3
    path.write_bytes(whole[:10])
    with Progress(path, lock) as progress:
        assert list(progress) == []
    assert path.read_bytes().count(b"\n") == 1


def test_progress_refuses_an_altered_line_and_another_lock(lock, tmp_path):
    path = tmp_path / "p.jsonl"
    with Progress(path, lock) as progress:
        progress.record("a", 1)
    good = path.read_bytes()
    path.write_bytes(good.replace(b'"key"', b'"kez"') + b'{"key":"b","result":2}\n')
    with pytest.raises(InputError, match="line 2"):
        Progress(path, lock)
    path.write_bytes(good)
    with pytest.raises(LockChanged):
        Progress(path, make_lock("factorial", {**PROTOCOL, "seeds": []}))


def test_progress_of_a_killed_run_keeps_every_recorded_unit(lock, tmp_path):
    path = tmp_path / "p.jsonl"
    write_lock(lock, tmp_path / "lock.json")
    script = textwrap.dedent(
        """
        import pathlib, sys
        from takeback_lab.lock import read_lock
        from takeback_lab.progress import Progress
        folder = pathlib.Path(sys.argv[1])
        progress = Progress(folder / "p.jsonl", read_lock(folder / "lock.json"))
        for unit in range(10_000_000):
            progress.record(str(unit), unit)
            print(unit, flush=True)
        """
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    seen = [int(run.stdout.readline()) for _ in range(20)]
    run.send_signal(signal.SIGKILL)
    seen += [int(line) for line in run.stdout.read().splitlines() if line]
    run.wait()
    with Progress(path, lock) as progress:
        assert {str(unit) for unit in seen} <= set(progress)
        assert all(progress[key] == int(key) for key in progress)


def test_a_run_under_way_leaves_the_finished_run_beside_it_sound(lock, tmp_path):
    write_results(tmp_path, "factorial", lock, {"n": 1})
    other = make_lock("factorial", {**PROTOCOL, "seeds": []})
    for held in (lock, other):
        with Progress(progress_path(tmp_path, held), held) as progress:
            progress.record("a", 1)
    assert verify_results(tmp_path) == []
    write_results(tmp_path, "factorial", other, {"n": 2})
    assert verify_results(tmp_path) == []
    assert progress_path(tmp_path, lock) != progress_path(tmp_path, other)
    with Progress(progress_path(tmp_path, lock), lock) as progress:
        assert list(progress) == ["a"]
