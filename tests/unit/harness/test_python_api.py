"""A harness reads like Python: one-line changes, answers that are true or false, subscribers, asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest
from tests.support.changes import candidate, config, mutation, prompt

from takeback import (
    Applied,
    AsyncHarness,
    Blocked,
    Discarded,
    Gone,
    Grade,
    Harness,
    InputError,
    RefusalReason,
    Refused,
    Stale,
    State,
    Unchanged,
    Undone,
    evolve,
    init_workspace,
    open_memory,
    open_workspace,
    oracle,
    prove,
    verify,
)
from takeback.adapters.clients.init import init_clients
from takeback.evolve import propose_mutation
from takeback.state import Level


@pytest.fixture
def harness():
    start = {"config": {"a": {"b": 0}, "allow": ["X"]}, "prompts": {"system": "Use tabs.\n"}}
    with open_memory(State.read(start)) as opened:
        yield opened


# answers are true or false -----------------------------------------------------------------------


def test_successful_outcomes_are_true(harness):
    applied = harness.apply(candidate(config("a.b", 1)))
    assert isinstance(applied, Applied)
    assert applied
    assert harness.undo(applied)
    assert harness.redo()
    harness.adapter.edit(State())
    assert harness.adopt()


def test_unsuccessful_outcomes_are_false(harness):
    first = harness.apply(candidate(prompt("new", "One.\nTwo.\n")))
    harness.apply(candidate({"op_type": "edit_prompt", "target": "new", "old": "Two.", "new": "Three."}))
    refused = harness.apply({"mutation": [config("a.b", 4)]})
    blocked = harness.undo(first)
    stale = harness.undo(token="0" * 12)
    unchanged = harness.restore("HEAD")
    harness.apply(candidate(prompt("system", "Use spaces.\n")))
    harness.forget("HEAD")
    gone = harness.undo("HEAD")
    assert [type(one) for one in (refused, blocked, stale, unchanged, gone)] == [
        Refused,
        Blocked,
        Stale,
        Unchanged,
        Gone,
    ]
    assert not any((refused, blocked, stale, unchanged, gone))


def test_a_missing_inverse_is_false():
    assert not oracle(candidate({"op_type": "edit_prompt", "target": "p", "old": "a", "new": "b"}).mutation, Level.L0)


def test_a_loop_result_is_true_if_the_harness_changed(harness):
    change = propose_mutation(candidate(config("a.b", 1)).mutation)
    assert evolve(harness, change)
    assert not evolve(harness, change)


def test_plans_and_discards_are_true(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root)
    with open_workspace(root) as harness:
        applied = harness.apply(candidate(config("a", 1)))
        assert harness.plan_undo(applied)
        (root / "config.toml").write_text("a = 2\n")
        refused = harness.undo(applied)
        assert isinstance(refused, Refused)
        assert not refused
        discarded = harness.discard()
        assert isinstance(discarded, Discarded)
        assert discarded
        assert isinstance(harness.undo(applied), Undone)


# one-line changes --------------------------------------------------------------------------------


def test_set_applies_and_records_a_proved_change(harness):
    applied = harness.set("config", "a.b", 1, note="why", by="ann")
    assert isinstance(applied, Applied)
    assert applied.verdict.grade is Grade.PROVED
    assert harness.state["config", "a.b"] == 1
    entry = next(harness.log())
    assert (entry.note, entry.by, entry.grade) == ("why", "ann", "proved")
    assert harness.undo(applied)
    assert harness.state["config", "a.b"] == 0


def test_each_verb_of_the_command_line_is_a_method(harness):
    before = harness.state
    assert harness.edit("prompts", "system", "tabs", "spaces")
    assert harness.append("prompts", "system", "No emoji.")
    assert harness.append("config", "allow", "Y")
    assert harness.append("config", "fresh", "first")
    assert harness.remove("config", "allow", "X")
    assert harness.add("middleware", "auth", {"handler": "auth:run"})
    assert harness.add("middleware", "trace", {"handler": "trace:run"}, before="auth")
    assert harness.move("middleware", "trace", after="auth")
    assert harness.set("files", "a.sh", b"\xff\n", mode="0755")
    assert harness.remove("config", "a")
    assert harness.state["prompts", "system"] == "Use spaces.\nNo emoji.\n"
    assert harness.state["config", "allow"] == ["Y"]
    assert harness.state["config", "fresh"] == ["first"]
    assert [one["id"] for one in harness.state.write()["middleware"]] == ["auth", "trace"]
    assert ("config", "a") not in harness.state
    for _ in range(10):
        assert harness.undo()
    assert harness.state == before


def test_setting_an_equal_value_is_unchanged_and_makes_no_entry(harness):
    entries = harness.status().entries
    assert harness.set("config", "a.b", 0) == Unchanged()
    assert harness.status().entries == entries


def test_names_and_texts_are_taken_literally(harness):
    assert harness.set("config", "plus+", "1")
    assert harness.state["config", "plus+"] == "1"


def test_a_meaningless_line_raises_and_changes_nothing(harness):
    before = harness.state
    with pytest.raises(InputError, match="did you mean"):
        harness.edit("prompts", "sytem", "tabs", "spaces")
    with pytest.raises(InputError, match="no such old text"):
        harness.edit("prompts", "system", "tab stops", "spaces")
    with pytest.raises(InputError, match="already exists"):
        harness.add("config", "allow", [])
    assert harness.state is before


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda harness: harness.set(1, "a", 1), "set: thing: found an object of type int, expected a text"),
        (lambda harness: harness.set("config", b"a", 1), "set: name: found an object of type bytes"),
        (lambda harness: harness.append("prompts", "system", 3), "edit: append: found an object of type int"),
    ],
)
def test_an_argument_that_is_no_text_is_a_type_error(harness, call, said):
    with pytest.raises(TypeError, match=said):
        call(harness)


def test_a_one_line_change_over_drift_is_refused(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root)
    with open_workspace(root) as harness:
        assert harness.set("config", "a", 1)
        (root / "config.toml").write_text("a = 2\n")
        refused = harness.set("config", "a", 3)
        assert isinstance(refused, Refused)
        assert refused.why is RefusalReason.DRIFT
        assert (root / "config.toml").read_text() == "a = 2\n"


# what people pass --------------------------------------------------------------------------------

SET = config("a.b", 1)
WHOLE = candidate(SET).to_json()


@pytest.mark.parametrize("given", [[SET], (SET,), SET, WHOLE, {"mutation": [SET]}, candidate(SET), mutation(SET)])
def test_the_oracle_accepts_a_mutation_in_every_form(given):
    assert oracle(given) == candidate(SET)


@pytest.mark.parametrize("given", [[SET], mutation(SET), WHOLE, candidate(SET), oracle([SET])])
def test_apply_accepts_a_change_in_every_form(harness, given):
    assert harness.preview(given)
    assert harness.apply(given)
    assert harness.state["config", "a.b"] == 1


@pytest.mark.parametrize(
    "given", [[SET], WHOLE, {"mutation": [SET]}, candidate(SET), propose_mutation(mutation(SET))]
)
def test_the_loop_accepts_a_change_in_every_form(harness, given):
    assert evolve(harness, given)
    assert harness.state["config", "a.b"] == 1


def test_the_loop_uses_the_recovery_of_a_complete_change(harness):
    assert evolve(harness, WHOLE).repair is None
    assert evolve(harness, [config("a.b", 2)]).repair is not None


@pytest.mark.parametrize("check", [verify, prove])
def test_a_candidate_is_verified_from_its_json(check):
    assert check(WHOLE).admitted
    assert not check({"mutation": [SET]}).admitted


def test_a_state_is_opened_from_its_json():
    with open_memory({"config": {"a": 1}}) as harness:
        assert harness.state["config", "a"] == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda harness: oracle("set a"), r"found an object of type str, expected a list of operations"),
        (lambda harness: oracle(None), r"found an object of type NoneType, expected a list of operations"),
        (
            lambda harness: verify([SET]),
            r"type list, expected a Candidate, or its JSON object\n  oracle\(operations\)",
        ),
        (lambda harness: prove(3), r"type int, expected a Candidate, or its JSON object"),
        (lambda harness: verify(WHOLE, nominal={}), r"type dict, expected a State\n  State.read"),
        (lambda harness: open_memory("agent"), r"type str, expected a State, its JSON object, or None\n  open_work"),
        (lambda harness: open_memory([]), r"type list, expected a State"),
        (lambda harness: evolve("agent", [SET]), r"type str, expected a Harness\n  open_workspace"),
        (lambda harness: evolve(harness, "ask first"), r"type str, expected a change, .*\n  propose_text"),
        (lambda harness: evolve(harness, 3), r"type int, expected a list of operations"),
        (
            lambda harness: harness.apply("a"),
            r"type str, expected a Candidate, an Admitted, .* or a list of operations",
        ),
        (lambda harness: harness.subscribe("a"), r"type str, expected a function of one outcome"),
    ],
)
def test_a_wrong_argument_is_a_type_error_that_says_what_to_pass(harness, call, said):
    with pytest.raises(TypeError, match=said):
        call(harness)


# subscribers -------------------------------------------------------------------------------------


def test_a_subscriber_receives_every_outcome_once(harness):
    told = []
    harness.subscribe(told.append)
    expected = [
        harness.set("config", "a.b", 1),
        harness.set("config", "a.b", 1),
        harness.apply({"mutation": [config("a.b", 4)]}),
        harness.undo(),
        harness.redo(),
        harness.undo(token="0" * 12),
        harness.restore("HEAD"),
    ]
    harness.adapter.edit(State())
    expected += [harness.apply(candidate(config("a.b", 5))), harness.adopt()]
    names = ["Applied", "Unchanged", "Refused", "Undone", "Undone", "Stale", "Unchanged", "Refused", "Adopted"]
    assert [type(one).__name__ for one in told] == names
    assert all(one is other for one, other in zip(told, expected, strict=True))


def test_read_only_calls_notify_no_subscriber(harness):
    told = []
    applied = harness.set("config", "a.b", 1)
    harness.subscribe(told.append)
    harness.status()
    harness.preview(candidate(config("a.b", 2)))
    harness.plan_undo(applied)
    assert harness.adopt() is None
    assert told == []


def test_a_subscriber_receives_adoptions_of_a_clients_own_write(tmp_path):
    settings = tmp_path / "project/.claude/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"env": {"A": "1"}}')
    init_clients(tmp_path / "project", ("claude-code",))
    with open_workspace(tmp_path / "project", hold=False) as harness:
        told = []
        harness.subscribe(told.append)
        harness.adapter.writer = lambda *_: "the client"
        settings.write_text('{"env": {"A": "2"}}')
        harness.plan_undo(harness.set("config", "env.B", "1"))
    assert [type(one).__name__ for one in told] == ["Adopted", "Applied"]


def test_a_subscriber_that_fails_is_logged_and_the_change_is_made(harness, caplog):
    told = []

    def fail(outcome):
        raise ValueError("not today")

    harness.subscribe(fail)
    harness.subscribe(told.append)
    assert harness.set("config", "a.b", 1)
    assert harness.state["config", "a.b"] == 1
    assert len(told) == 1
    assert "a subscriber failed on Applied" in caplog.text
    assert "not today" in caplog.text


def test_a_subscription_ends_and_ends_once(harness):
    told = []
    first, second = harness.subscribe(told.append), harness.subscribe(told.append)
    first()
    first()
    harness.set("config", "a.b", 1)
    assert len(told) == 1
    second()
    harness.set("config", "a.b", 2)
    assert len(told) == 1


# the number people see ---------------------------------------------------------------------------


def test_the_number_of_an_entry_is_the_displayed_one(harness):
    applied = harness.set("config", "a.b", 1)
    undone = harness.undo(applied)
    for entry, made in zip(harness.log(), (undone, applied), strict=False):
        assert entry.number == made.entry.number
        assert f"#{entry.number} " in repr(entry)
    assert harness.redo(f"#{undone.entry.number}")


# asyncio -----------------------------------------------------------------------------------------


def test_asynchronous_calls_run_in_their_own_thread():
    async def work():
        threads, told = set(), []
        async with open_memory({"config": {"a": 0}}) as harness:
            harness.harness.subscribe(lambda _: threads.add(threading.current_thread()))
            unsubscribe = harness.subscribe(lambda outcome: told.append((outcome, threading.current_thread())))
            applied = await harness.set("config", "a", 1, note="why")
            assert await harness.undo(applied)
            assert harness.state["config", "a"] == 0
            assert (await harness.status()).undone == 1
            assert [entry.kind async for entry in harness.log()] == ["undo", "apply", "genesis"]
            unsubscribe()
            assert await harness.redo()
            assert await harness.run(threading.current_thread) in threads
        assert [type(outcome) for outcome, _ in told] == [Applied, Undone]
        assert {thread for _, thread in told} == {threading.current_thread()}
        assert len(threads) == 1
        assert threading.current_thread() not in threads

    asyncio.run(work())


def test_every_method_can_be_awaited_except_those_that_hold_the_lock():
    methods = {name for name, method in vars(Harness).items() if inspect.isfunction(method) and name[0] != "_"}
    held = {"session", "held", "inspect"}
    of_plans = {"plan", "effect_of", "files_of", "drift_beside"}
    of_policy = {"require", "note_read", "treat_as_agent", "name_author"}
    assert methods - set(dir(AsyncHarness)) == held | of_plans | of_policy


def test_a_call_that_is_cancelled_before_its_turn_is_never_made():
    async def work():
        gate = threading.Event()
        async with open_memory() as harness:
            first = asyncio.create_task(harness.run(gate.wait))
            second = asyncio.create_task(harness.set("config", "a", 1))
            await asyncio.sleep(0)
            second.cancel()
            try:
                with pytest.raises(asyncio.CancelledError):
                    await second
            finally:
                gate.set()
            await first
            assert (await harness.status()).entries == 0

    asyncio.run(work())


def test_a_call_that_is_cancelled_under_way_is_finished_before_the_harness_is_closed():
    async def work():
        begun, gate, told = threading.Event(), threading.Event(), []
        closed = []

        def verifier(change):
            begun.set()
            gate.wait()
            return verify(change)

        async with open_memory(verifier=verifier) as harness:
            harness.harness.subscribe(told.append)
            close = harness.harness.close
            harness.harness.close = lambda: (closed.append(len(told)), close())
            call = asyncio.create_task(harness.set("config", "a", 1))
            await asyncio.to_thread(begun.wait)
            call.cancel()
            try:
                with pytest.raises(asyncio.CancelledError):
                    await call
                assert told == []
            finally:
                asyncio.get_running_loop().call_soon(gate.set)
        assert [type(outcome) for outcome in told] == [Applied]
        assert closed == [1]

    asyncio.run(work())


def test_a_harness_is_closed_even_if_closing_is_cancelled():
    async def work():
        gate, closed = threading.Event(), threading.Event()

        async def use():
            async with open_memory() as harness:
                harness.harness.close = closed.set
                asyncio.create_task(harness.run(gate.wait))  # noqa: RUF006 - ends with the gate
                await asyncio.sleep(0)

        task = asyncio.create_task(use())
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not closed.is_set()
        finally:
            gate.set()
        assert await asyncio.to_thread(closed.wait, 240)

    asyncio.run(work())
