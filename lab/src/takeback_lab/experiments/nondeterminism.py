"""Nondeterminism controls: the same harness twice, with everything that varies from run to run made to vary.

Thread ids, timestamps and handles in `volatile` fields and ` at 0x…>` in handlers and implementations take new
values between capture and recovery. None of that may alarm: not the canonical digest, not the effects, not the
comparison after recovery.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from takeback.errors import InputError, OperationFailed
from takeback.language import Candidate
from takeback.runtime import capture, find_effects, recover, run_forward
from takeback.state import PMap, State, diff
from takeback.state.chain import Chain, Link

Renew = Callable[[State, random.Random], State]


def renew(state: State, rng: random.Random) -> State:
    """The state as another run of the same harness would show it: other ids, times and addresses."""
    parts = dict(state.parts)
    for name in ("tools", "resources"):
        part = state.part(name)
        parts[name] = PMap({key: _record(part[key], rng) for key in part})
    parts["middleware"] = _chain(state.part("middleware"), rng)
    listeners = state.part("listeners")
    parts["listeners"] = PMap({event: _chain(listeners[event], rng) for event in listeners})
    return State.of(parts)


def records(state: State) -> int:
    """How many records there are whose volatile parts can vary."""
    keyed = sum(len(state.part(name)) for name in ("tools", "resources", "middleware"))
    return keyed + sum(len(chain) for chain in state.part("listeners").values())


def _chain(chain: Chain, rng: random.Random) -> Chain:
    return Chain(tuple(Link(link.place, link.id, _record(link.record, rng)) for link in chain))


def _record(record: PMap, rng: random.Random) -> PMap:
    varying: dict[str, Any] = {
        "thread_id": rng.randrange(10**4, 10**15),
        "started_at": f"2026-11-15T{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.random() * 60:09.6f}Z",
        "handle": f"<socket.socket fd={rng.randrange(3, 1024)} at 0x{rng.randrange(16**8, 16**12):x}>",
    }
    for field in ("handler", "implementation"):
        if field in record:
            name = record[field].split(" at 0x")[0].removeprefix("<function ")
            record = record.put(field, f"<function {name} at 0x{rng.randrange(16**8, 16**12):x}>")
    return record.put("volatile", PMap(varying))


def alarms(candidate: Candidate, nominal: State, rng: random.Random, again: Renew = renew) -> list[str]:
    """What a control alarms about, if anything: one round trip in which the harness is seen anew twice."""
    before = renew(nominal, rng)
    if not records(before):
        raise InputError("control", found="a state without records", expected="something that can vary")
    found = [] if again(before, rng).digest() == before.digest() else ["the canonical digests differ"]
    found += [f"{change.address} differs between two runs" for change in diff(before, again(before, rng))]
    witness = capture(candidate.witness, before)
    changed, receipt = run_forward(candidate.mutation, before)
    after = again(changed, rng)
    seen = sorted(one for one in find_effects(before, after, receipt) if not candidate.contract.covers(one))
    found += [f"{one} counts as an effect" for one in seen]
    try:
        recovered = recover(candidate.recovery, after, witness)
    except OperationFailed as fault:
        return [*found, f"recovery fails: {fault.message}"]
    return found + [f"{change.address} is a residual" for change in diff(before, again(recovered, rng))]
