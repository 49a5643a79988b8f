"""What others changed, from any state to any other, and by hand in any client: it is said by operations and proved.

Operations are run here once more, by the interpreter, and the recovery on what is really there.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.test_hand_edits import put
from tests.support.client_harnesses import EDITS, HARNESSES, edit, write_harness
from tests.support.hand_edits import Draw
from tests.support.hand_harnesses import MAIN, harness
from tests.support.strategies import states

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.harness import Harness
from takeback.harness.outcomes import Adopted
from takeback.harness.recorded_candidate import list_edits
from takeback.harness.recorded_evidence import ONLY_LAYOUT, Evidence, NoEvidence, make_evidence
from takeback.harness.records import load_candidate
from takeback.language.program import join_candidates
from takeback.runtime import capture, recover, run_forward
from takeback.state import ABSENT, PMap, State, diff
from takeback.state.slots import transfer_places
from takeback.undo.record import list_writes_between
from takeback.verify import Grade, why_not_evidence


def leads_to(candidate, before: State, after: State) -> bool:
    """Whether a mutation leads from one state to another, directories without files left out."""
    made, receipt = run_forward(candidate.mutation, before)
    rest = [change for change in diff(made, after) if change.before not in _EMPTY or change.after not in _EMPTY]
    return receipt.succeeded and not rest


_EMPTY = (ABSENT, PMap())


def check(found: Evidence, before: State, after: State) -> None:
    """The steps lead there, each is proved, and the recovery leads back from what is there."""
    whole = join_candidates(found.steps)
    assert leads_to(whole, before, after)
    assert recover(whole.recovery, after, capture(whole.witness, before)) == before
    for step, verdict in zip(found.steps, found.verdicts, strict=True):
        assert verdict.grade is Grade.PROVED
        assert why_not_evidence(verdict, step, rule="proof") is None


@given(states, states)
def test_any_change_between_two_states_is_described_by_proved_operations(before: State, fresh: State) -> None:
    after = transfer_places(fresh, before)
    writes = list_writes_between(before, after)
    found = make_evidence(before, after, writes)
    if isinstance(found, Evidence):
        check(found, before, after)
    elif writes:
        assert "directory" in found.reason
    else:
        assert found == NoEvidence(ONLY_LAYOUT)


lines = st.lists(st.sampled_from(["a\n", "b\n", "a b\n", "\n", "}\n", "x\r\n"]), max_size=12).map("".join)
ends = st.sampled_from(["", "a", "}", "é", "\r"])


@given(lines, ends, lines, ends)
def test_text_edits_replace_unique_passages_and_produce_the_other_text(one, first, two, last) -> None:
    now, wanted = one + first, two + last
    for old, new in list_edits(now, wanted) or ():
        assert not old or (old in now and now.find(old) == now.rfind(old))
        now = now.replace(old, new) if old else now + new
    assert now in {wanted, one + first}


def prove_share(opened: Harness, adopted: list[tuple[str, Adopted]]) -> tuple[Counter[str], list[str]]:
    """How many entries are proved, and why others are not; those that change only formatting are left out."""
    told: Counter[str] = Counter()
    why = []
    views = {view.seq: view for view in opened.log()}
    for what, one in adopted:
        view = views[one.entry.entry]
        if view.unproved == ONLY_LAYOUT:
            assert not one.writes
            continue
        told[view.grade or "none"] += 1
        why += [f"{what}: {view.unproved}"] if view.unproved else []
        assert bool(view.grade) != bool(view.unproved)
        assert view.recorded
    return told, why


@pytest.mark.parametrize("client", HARNESSES)
def test_edits_by_hand_in_any_client_are_proved(client: str, tmp_path: Path) -> None:
    write_harness(tmp_path, client)
    init_clients(tmp_path, (client.partition(" ")[0],)) if client in MAIN else init_clients(tmp_path)
    adopted = []
    with closing(open_workspace(tmp_path)) as opened:
        for one in EDITS[client]:
            before = opened.state
            edit(tmp_path, one)
            done = opened.adopt(one.path)
            if isinstance(done, Adopted):
                adopted.append((str(one), done))
                candidate = load_candidate(opened.journal, done.entry)
                assert candidate is None or leads_to(candidate, before, opened.state)
        told, why = prove_share(opened, adopted)
    assert told["proved"]
    assert not why


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("client", MAIN)
def test_random_hand_edits_are_proved_and_their_recovery_agrees_with_undo(client, seed, tmp_path) -> None:
    rnd = random.Random(f"evidence {client} {seed}")
    now = harness(client, rnd)
    draw = Draw(client, rnd)
    put(tmp_path, now.images(), {})
    init_clients(tmp_path, (client,))
    adopted = []
    with closing(open_workspace(tmp_path)) as opened:
        for _ in range(8):
            kind, path, change = draw.edit(now)
            after = now.without([change], {0})
            put(tmp_path, after.images(), now.images())
            before, now = opened.state, after
            done = opened.adopt(f"{kind} {path}")
            assert isinstance(done, Adopted)
            adopted.append((f"{kind} {path}", done))
            candidate = load_candidate(opened.journal, done.entry)
            assert candidate is None or leads_to(candidate, before, opened.state)
        assert not prove_share(opened, adopted)[1]
        for _, one in reversed(adopted):  # where the recovery differed, this would raise
            opened.undo(one.entry.id)
