"""The public API as type checkers see it: this file is checked, not run.

A call that stops being possible, or an answer that loses its type, is an error here before it is one for a user.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never, assert_type

from takeback import (
    Adopted,
    AgentHarness,
    Applied,
    AsyncHarness,
    Blocked,
    Candidate,
    Checked,
    Counterexample,
    Discarded,
    EntryView,
    Evolution,
    Gone,
    Grade,
    Harness,
    Kind,
    Level,
    NoInverse,
    Plan,
    Record,
    RefusalReason,
    Refused,
    Stale,
    State,
    Status,
    Surface,
    Unchanged,
    Undone,
    Verdict,
    check_on_copy,
    diff,
    evolve,
    init_workspace,
    open_langchain,
    open_memory,
    open_workspace,
    oracle,
    propose_text,
    prove,
    read_candidate,
    verify,
)
from takeback.repair.models import ChatModel


def opening() -> None:
    init_workspace("agent")
    with open_workspace("agent") as harness:
        assert_type(harness, Harness)
        assert_type(harness.state, State)
        assert_type(harness.status(), Status)
    with open_memory() as other:
        assert_type(other, Harness)
    with open_langchain({"prompts": {}}, models={"small": object()}, journal="agent.db") as agent:
        assert_type(agent, AgentHarness)


def candidates() -> None:
    candidate = read_candidate({"mutation": [{"op_type": "set_config", "target": "a", "value": 1}]})
    assert_type(candidate, Candidate)
    assert_type(verify(candidate), Verdict)
    verdict = prove(candidate, level=Level.L1)
    assert_type(verdict.grade, Grade)
    assert_type(verdict.counterexample, Counterexample | None)
    found = oracle(candidate.mutation)
    assert_type(found, Candidate | NoInverse)


def applying(harness: Harness, candidate: Candidate) -> None:
    result = harness.apply(candidate, note="why", force=False)
    assert_type(result, Applied | Refused)
    harness.apply({"mutation": [], "witness": [], "recovery": []})
    match result:
        case Applied():
            assert_type(result.entry, Record)
            assert_type(harness.undo(result), Undone | Discarded | Blocked | Gone | Stale | Refused)
        case Refused():
            assert_type(result.why, RefusalReason)
        case _:
            assert_never(result)


def lines(harness: Harness) -> None:
    assert_type(harness.set("config", "a.b", 1, note="why", by="ann"), Applied | Refused | Unchanged)
    assert_type(harness.append("config", "permissions.allow", "X"), Applied | Refused | Unchanged)
    assert_type(harness.remove("tools", "search"), Applied | Refused | Unchanged)
    assert_type(harness.add("middleware", "trace", {"handler": "t"}, before="auth"), Applied | Refused | Unchanged)
    assert_type(harness.move("files", "a.md", "b.md"), Applied | Refused | Unchanged)
    if edited := harness.edit("prompts", "system", "tabs", "spaces"):
        assert_type(edited, Applied)
    if undone := harness.undo("#3"):
        assert_type(undone, Undone | Discarded)
    unsubscribe = harness.subscribe(print)
    unsubscribe()


def given(harness: Harness, candidate: Candidate) -> None:
    plain = [{"op_type": "set_config", "target": "a", "value": 1}]
    oracle(plain)
    oracle(candidate)
    oracle({"mutation": plain})
    harness.apply(plain)
    harness.apply(candidate.mutation)
    verify({"mutation": plain})
    evolve(harness, plain)
    evolve(harness, candidate)
    open_memory({"config": {"a": 1}})


async def awaiting() -> None:
    async with open_workspace("agent") as harness:
        assert_type(harness, AsyncHarness)
        applied = await harness.set("config", "a.b", 1, note="why")
        assert_type(applied, Applied | Refused | Unchanged)
        if isinstance(applied, Applied):
            assert_type(await harness.undo(applied), Undone | Discarded | Blocked | Gone | Stale | Refused)
        assert_type(await harness.status(), Status)
        assert_type([entry.number async for entry in harness.log()], list[int])


def undoing(harness: Harness, applied: Applied) -> str:
    outcome = harness.undo(applied, applied.entry, "3f2a91", cascade=True)
    match outcome:
        case Undone():
            assert_type(outcome.plan, Plan)
            harness.redo(outcome)
            return outcome.entry.id
        case Discarded():
            return ", ".join(outcome.paths)
        case Blocked():
            return ", ".join(why for _, why in outcome.reasons)
        case Discarded():
            return ", ".join(outcome.paths)
        case Gone() | Stale() | Refused():
            return "no"
        case _:
            assert_never(outcome)


def planning(harness: Harness, applied: Applied) -> None:
    plan = harness.plan_undo(applied)
    assert_type(plan, Plan | Blocked | Gone | Refused)
    if isinstance(plan, Plan):
        harness.undo(applied, token=plan.token)
    assert_type(harness.restore(applied), Undone | Discarded | Blocked | Gone | Stale | Refused | Unchanged)


def reading(harness: Harness) -> None:
    assert_type(harness.log(), Iterator[EntryView])
    assert_type(harness.adopt("by hand"), Adopted | Refused | None)
    timeout: int = harness.state["config", "agent.timeout"]
    present: bool = ("config", "agent.timeout") in harness.state
    changed = [change.address for change in diff(harness.state, State())]
    del timeout, present, changed


def evolving(harness: Harness, model: ChatModel) -> None:
    done = evolve(harness, propose_text(harness, "ask first", model), check=check_on_copy(harness, ".", "true"))
    assert_type(done, Evolution)
    assert_type(done.result, Applied | Refused | None)
    assert_type(done.check, Checked | None)


def extending(surface: Surface) -> tuple[Kind, ...]:
    return surface.kinds
