"""Calls of a change: made last, made once, compensated on undo, and open or in doubt where that is not known."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.support.running import op

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.opener import trust_workspace
from takeback.errors import HarnessError, InputError, UntrustedError
from takeback.harness import Applied, Refused, Undone
from takeback.harness.calls import CallApproval, DeclaredCall, raise_class
from takeback.harness.calls_environment import use_call_environment
from takeback.journal.failpoint import arm_failpoints
from takeback.language import read_candidate
from takeback.state.surface import SURFACES, unregister
from takeback.verify import verify

PROGRAM = """#!/bin/sh
if [ "$1" = ask ]; then grep -q " $TAKEBACK_KEY " sent; exit $?; fi
[ -e "broken-$1" ] && { echo "no post today" >&2; exit 3; }
[ -e slow ] && sleep 0.6
[ -e repeats ] && grep -q " $TAKEBACK_KEY " sent && exit 0
printf '%s %s %s %s ' "$1" "$TAKEBACK_KEY" "${TAKEBACK_RECEIPT:--}" "${HUSH:-unset}" >> sent
cat >> sent; echo >> sent; echo "receipt-$TAKEBACK_CALL_KEY"
"""
MAIL = 'run = ["./mail", "send"]\ncompensate = ["./mail", "correct"]\nstays = "sent"\n'
ASKED = f'[calls.mail]\n{MAIL}ask = ["./mail", "ask"]\n[admit]\ncompensable = "yes"\n'
BLIND = f'[calls.mail]\n{MAIL}[admit]\ncompensable = "yes"\n'
REPEATS = f'[calls.mail]\n{MAIL}repeats = true\n[admit]\ncompensable = "yes"\n'
BOTH = f'{ASKED}[calls.pay]\nrun = ["./mail", "pay"]\n'
TELL = '[tell]\ncommand = ["./mail", "tell"]\n'


class Killed(BaseException):
    """A process that ends here."""


@pytest.fixture(autouse=True)
def calls():
    yield
    if "calls" in SURFACES:
        unregister("calls")


@pytest.fixture
def agent(tmp_path):
    def make(manifest):
        root = tmp_path / "agent"
        init_workspace(root)
        (root / "mail").write_text(PROGRAM)
        (root / "mail").chmod(0o755)
        (root / "sent").write_text("")
        with (root / "takeback.toml").open("a") as file:
            file.write(manifest)
        trust_workspace(root)
        return root

    use_call_environment({**os.environ, "HUSH": "a secret"})
    yield make
    use_call_environment({"PATH": os.defpath})


def change(*keys, call="mail", value=1):
    mutation = [op("set_config", "a.b", value=value)]
    witness = [op("capture_config", "a.b", witness_key="k")]
    recovery = [op("restore_config", "a.b", witness_key="k")]
    for key in keys:
        mutation.append(op("make_call", key, value={"call": call, "arguments": {"to": key}}))
        witness.append(op("capture_call", key, witness_key=key))
        recovery.insert(0, op("compensate_call", key, witness_key=key))
    return {"mutation": mutation, "witness": witness, "recovery": recovery}


def sent(root):
    return [line.split(" ") for line in (root / "sent").read_text().splitlines()]


def verbs(root):
    return [f"{words[0]} {words[1].partition('.')[0]}" for words in sent(root)]


def kill_at(name, work):
    def probe(reached):
        if reached == name:
            raise Killed

    with pytest.raises(Killed), arm_failpoints(probe):
        work()


def test_calls_run_after_writes_and_are_compensated_in_reverse(agent):
    root = agent(ASKED)
    with open_workspace(root) as harness:
        done = harness.apply(change("one", "two"))
        assert isinstance(done, Applied)
        assert done.verdict.to_json()["class"] == "compensable"
        assert [one["call"] for one in done.verdict.to_json()["stays"]] == ["mail", "mail"]
        assert isinstance(harness.undo(), Undone)
        assert harness.state == type(harness.state)()
        assert isinstance(harness.redo(), Undone)
    assert verbs(root) == ["send one", "send two", "correct two", "correct one", "send one", "send two"]
    assert sent(root)[2][2] == "receipt-two"
    assert json.loads(sent(root)[0][4]) == {"to": "one"}
    assert len({words[1] for words in sent(root)}) == 6


def test_a_program_is_given_no_variable_that_the_manifest_does_not_name(agent):
    root = agent(ASKED)
    with open_workspace(root) as harness:
        harness.apply(change("one"))
    assert sent(root)[0][3] == "unset"
    with (root / "takeback.toml").open("a") as file:
        file.write('[calls.loud]\nrun = ["./mail", "send"]\ncompensate = ["./mail", "correct"]\nenv = ["HUSH"]\n')
    trust_workspace(root)
    with open_workspace(root) as harness:
        harness.apply(change("two", call="loud", value=2))
    assert "a secret" in (root / "sent").read_text()


def test_a_manifest_whose_calls_were_changed_starts_nothing_until_it_is_trusted(agent):
    root = agent(ASKED)
    text = (root / "takeback.toml").read_text()
    (root / "takeback.toml").write_text(text.replace('"./mail", "send"', '"./evil", "send"'))
    with pytest.raises(UntrustedError, match="programs that its manifest declares"):
        open_workspace(root)
    with open_workspace(root, readonly=True) as harness:
        assert harness.status().open == ()
    assert sent(root) == []


def test_a_compensable_call_needs_approval_unless_the_manifest_allows_it(agent):
    root = agent(f"[calls.mail]\n{MAIL}")
    with open_workspace(root) as harness:
        refused = harness.apply(change("one"))
        assert isinstance(refused, Refused)
        assert refused.why.value == "calls"
        digest = read_candidate(change("one")).digest()
        assert f"--approve {digest[:12]}" in refused.message
        assert isinstance(harness.apply(change("one"), approval=CallApproval("0" * 64, "ann")), Refused)
        assert isinstance(harness.apply(change("one"), approval=CallApproval(digest, "")), Refused)
        assert sent(root) == []
        assert isinstance(harness.apply(change("one"), approval=CallApproval(digest, "ann")), Applied)
        entry = next(iter(harness.log()))
        assert (entry.approval["digest"], entry.approval["by"]) == (digest, "ann")
        assert entry.approval["at"]
        assert entry.approval["stays"] == [
            {"call": "mail", "stays": "sent", "compensation": "another call already answers it"}
        ]


def test_the_manifest_can_refuse_every_compensable_call(agent):
    root = agent(f'[calls.mail]\n{MAIL}[admit]\ncompensable = "no"\n')
    with open_workspace(root) as harness:
        digest = read_candidate(change("one")).digest()
        assert isinstance(harness.apply(change("one"), approval=CallApproval(digest, "ann")), Refused)
    assert sent(root) == []


def test_an_irreversible_call_needs_approval_and_runs_last(agent):
    root = agent(BOTH)
    with open_workspace(root) as harness:
        plain = change("gone", call="pay")
        more = change("one")
        mixed = {part: [*plain[part], *more[part][1:]] for part in ("mutation", "witness")}
        mixed["recovery"] = [*more["recovery"][:-1], *plain["recovery"]]
        verdict = verify(mixed)
        assert (verdict.grade.value, verdict.admitted, verdict.effects.value) == ("declared", False, "irreversible")
        assert isinstance(harness.apply(mixed), Refused)
        assert isinstance(harness.apply(mixed, force=True), Refused)
        digest = read_candidate(mixed).digest()
        assert isinstance(harness.apply(mixed, approval=CallApproval(digest, "ann")), Applied)
        assert verbs(root) == ["send one", "pay gone"]
        two = change("p", "q", call="pay", value=2)
        refused = harness.apply(two, approval=CallApproval(read_candidate(two).digest(), "ann"))
        assert "more than one irreversible call" in refused.message
        assert isinstance(harness.undo(), Undone)
        harness.redo()
    assert verbs(root) == ["send one", "pay gone", "correct one", "send one"]


def test_an_undeclared_call_is_refused(agent):
    root = agent(ASKED)
    with open_workspace(root) as harness:
        refused = harness.apply(change("one", call="rocket"))
        assert isinstance(refused, Refused)
        assert "declares no call rocket" in refused.message


def test_hints_raise_a_class_and_never_lower_it():
    call = DeclaredCall(run=("x",), compensate=("y",))
    assert not raise_class(call, {"destructiveHint": True}).facts.compensable
    assert raise_class(call, {"readOnlyHint": True, "destructiveHint": False}).facts.compensable
    gone = DeclaredCall(run=("x",))
    assert not raise_class(gone, {"readOnlyHint": True, "destructiveHint": False}).facts.compensable


def test_hints_in_the_manifest_raise_a_call_to_irreversible(agent):
    root = agent(ASKED.replace("[admit]", "hints = {destructiveHint = true}\n[admit]"))
    with open_workspace(root) as harness:
        refused = harness.apply(change("one"))
        assert isinstance(refused, Refused)
        assert "irreversible" in refused.message
    assert sent(root) == []


def test_secrets_in_a_programs_output_are_not_recorded(agent):
    root = agent('[calls.mail]\nrun = ["sh", "-c", "echo token $HUSH >&2; exit 3"]\nenv = ["HUSH"]\n')
    approval = CallApproval(read_candidate_of(root, change("one")), "ann")
    with open_workspace(root) as harness, pytest.raises(HarnessError) as fault:
        harness.apply(change("one"), approval=approval)
    assert "a secret" not in str(fault.value)
    assert "token ($HUSH)" in str(fault.value)


def read_candidate_of(root, plain):
    with open_workspace(root):
        return read_candidate(plain).digest()


def test_a_refused_call_takes_the_writes_back_and_compensates_earlier_calls(agent):
    root = agent(ASKED + '[calls.bad]\nrun = ["./mail", "bad"]\ncompensate = ["true"]\n')
    (root / "broken-bad").touch()
    before = (root / "config.toml").read_bytes()
    first, second = change("one"), change("two", call="bad")
    both = {part: [*first[part], *second[part][1:]] for part in ("mutation", "witness")}
    both["recovery"] = [*second["recovery"][:-1], *first["recovery"]]
    with open_workspace(root) as harness:
        with pytest.raises(HarnessError, match=r"was refused: .*no post today"):
            harness.apply(both)
        assert harness.status().clean
        assert next(iter(harness.log())).status == "aborted"
    assert (root / "config.toml").read_bytes() == before
    assert verbs(root) == ["send one", "correct one"]


@pytest.mark.parametrize("manifest", [ASKED, REPEATS])
@pytest.mark.parametrize("point", ["change.announced", "change.written", "call.tried", "call.made", "call.noted"])
@pytest.mark.parametrize("back", [False, True])
def test_after_a_kill_anywhere_each_call_is_made_once(agent, manifest, point, back):
    root = agent(manifest)
    if manifest is REPEATS:
        (root / "repeats").touch()
    with open_workspace(root) as harness:
        if back:
            harness.apply(change("one"))
        kill_at(point, harness.undo if back else lambda: harness.apply(change("one")))
    with open_workspace(root) as harness:
        assert harness.status().clean
        live = [entry.status for entry in harness.log() if entry.kind == "apply"] == ["live"]
    there = "b = 1" in (root / "config.toml").read_text()
    expected = {(False, True): ["send one"], (False, False): [], (True, True): ["send one"]}
    assert verbs(root) == expected.get((back, live), ["send one", "correct one"])
    assert there is live


def kill_while_a_program_runs(root, work):
    """Fork a process that is killed by SIGKILL as soon as a call's program was started; the program goes on."""
    pid = os.fork()
    if pid == 0:
        with arm_failpoints(lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == "call.started" else None):
            try:
                with open_workspace(root) as harness:
                    work(harness)
            finally:
                os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)


@pytest.mark.parametrize("back", [False, True])
def test_a_surviving_program_ends_before_its_call_is_checked(agent, back):
    root = agent(ASKED)
    if back:
        with open_workspace(root) as harness:
            harness.apply(change("one"))
    (root / "slow").touch()
    kill_while_a_program_runs(root, lambda harness: harness.undo() if back else harness.apply(change("one")))
    with open_workspace(root) as harness:
        assert harness.status().clean
    assert verbs(root) == (["send one", "correct one"] if back else ["send one"])
    assert not list((root / ".takeback").glob("call-*"))


def test_a_program_running_past_its_time_leaves_its_call_in_doubt(agent):
    root = agent(ASKED.replace("ask =", "timeout = 0.2\nask ="))
    (root / "slow").touch()
    kill_while_a_program_runs(root, lambda harness: harness.apply(change("one")))
    with open_workspace(root) as harness:
        (item,) = harness.status().open
        assert item.is_doubt
    assert verbs(root) in ([], ["send one"])


@pytest.mark.parametrize("made", [True, False])
def test_a_call_without_an_ask_program_stays_in_doubt_until_settled(agent, made):
    root = agent(BLIND)
    with open_workspace(root) as harness:
        kill_at("call.made" if made else "call.tried", lambda: harness.apply(change("one")))
    with open_workspace(root) as harness:
        (item,) = harness.status().open
        assert item.is_doubt
        assert "takeback resolve 2 1 --made" in item.describe()
        assert harness.recover(now=True).open == (item,)
        assert verbs(root) == ["send one"] * made
        assert isinstance(harness.undo(), Refused)
        with pytest.raises(InputError, match="no step in doubt"):
            harness.resolve("2", 7, made=True, by="ann")
        assert harness.resolve("2", 1, made=made, by="ann") == ()
        assert harness.status().clean
        assert {record.by for record in harness.journal.records() if record.kind == "step"} >= {"ann"}
        assert isinstance(harness.undo(), Undone)
    assert verbs(root) == ["send one", "correct one"]


def test_a_dead_mail_command_leaves_the_undo_open_and_exactly_one_correction_is_sent(agent):
    root = agent(ASKED + TELL)
    with open_workspace(root) as harness:
        harness.apply(change("one"))
        harness.apply(
            {
                "mutation": [op("set_config", "z", value=1)],
                "witness": [op("capture_config", "z", witness_key="z")],
                "recovery": [op("restore_config", "z", witness_key="z")],
            }
        )
        (root / "broken-correct").touch()
        undone = harness.undo("#2")
        assert isinstance(undone, Undone)
        assert [item.state for item in undone.open] == ["failed"]
        assert "b = 1" not in (root / "config.toml").read_text()
        assert isinstance(harness.apply(change("one", value=5)), Refused)
        assert isinstance(harness.undo("#3"), Undone)
    with open_workspace(root) as harness:
        assert not harness.status().clean
        assert harness.recover().open
        assert harness.recover(now=True).open[0].tries == 2
        (root / "broken-correct").unlink()
        assert harness.recover().open
        assert harness.recover(now=True).open == ()
        assert harness.recover(now=True).open == ()
        assert harness.status().clean
    assert verbs(root).count("correct one") == 1
    assert verbs(root).count("send one") == 1
    assert sum(words[0] == "tell" for words in sent(root)) == 1


def test_a_program_past_its_timeout_is_ended_and_its_call_checked(agent):
    slow = 'run = ["sleep", "60"]\nask = ["./mail", "ask"]\ncompensate = ["true"]\ntimeout = 0.2\n'
    root = agent(f"[calls.mail]\n{slow}")
    with open_workspace(root) as harness, pytest.raises(HarnessError, match="was refused"):
        harness.apply(change("one"), approval=CallApproval(read_candidate(change("one")).digest(), "ann"))
    with open_workspace(root) as harness:
        assert harness.status().clean
    assert os.path.exists(root / "config.toml")


@pytest.mark.parametrize(
    ("table", "spot"),
    [
        ("[calls.x]\nrun = 'rm -rf /'\n", "calls.x.run"),
        ("[calls.x]\ncompensate = ['a']\n", "calls.x.run"),
        ("[calls.x]\nrun = ['a']\nshell = true\n", "calls.x.shell"),
        ("[calls.x]\nrun = ['a']\ntimeout = 0\n", "calls.x.timeout"),
        ("[calls.x]\nrun = ['a']\n[admit]\ncompensable = 'maybe'\n", "admit.compensable"),
    ],
)
def test_a_mistake_in_a_declaration_is_reported_with_its_place(agent, table, spot):
    root = agent(table)
    with pytest.raises(InputError, match=spot.replace(".", r"\.")):
        open_workspace(root)
