"""What loosens is said on every way by which a change is made or seen beforehand, for every setting of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.risky_documents import CASES, DOCUMENTS, START, bytes_of, is_told, make_project, nested
from tests.support.risky_settings import ABSENT, Case

from takeback.adapters import open_workspace
from takeback.adapters.clients.risk_tables import Risk
from takeback.agents.guard import Answer, rule_on_edit
from takeback.agents.hook_events import FileEdit
from takeback.agents.server.answers import Sent
from takeback.agents.server.service import ProposalService
from takeback.agents.step_check import judge_step
from takeback.cli.outcomes import list_plan_notes, outcome_to_json
from takeback.harness import Applied, Harness, Preview, Undone
from takeback.harness.entry_names import build_redo_request, build_undo_request
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.repair.synthesizer import make_method, parse_spec
from takeback.state import Stage
from takeback.undo import Plan
from takeback.web.rows import EntryRows
from takeback.web.shelf import Shown
from takeback.web.undo import _describe_outcome

pytestmark = pytest.mark.long


@pytest.fixture(params=DOCUMENTS)
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def root(client: str, tmp_path: Path) -> Path:
    return make_project(tmp_path / "p", client)


def _operation(case: Case, value: Any) -> dict[str, Any]:
    target = START.get(case.client, "") + case.place
    if value is ABSENT:
        return {"op_type": "unset_config", "target": target}
    return {"op_type": "set_config", "target": target, "value": value}


def _candidate(harness: Harness, case: Case, value: Any) -> Any:
    return invert_mutation(read_program([_operation(case, value)], Stage.FORWARD, "m"), harness.state)


def _set(harness: Harness, case: Case, value: Any) -> None:
    done = harness.apply(_candidate(harness, case, value))
    assert isinstance(done, Applied), (case, done)


def _each(harness: Harness, client: str, *, stricter: bool = False) -> Iterator[tuple[Case, Any]]:
    """Each setting as it is before, with the value that it is to get, one after the other; then it is put back."""
    for case in CASES[client]:
        if stricter and case.risk is Risk.PROTECTED:
            continue
        before, after = (case.after, case.before) if stricter else (case.before, case.after)
        made = before is not ABSENT
        if made:
            _set(harness, case, before)
        yield case, after
        if made:
            assert isinstance(harness.undo(), Undone)


def test_the_guard_asks_about_every_loosening(client: str, root: Path) -> None:
    path = str(root / DOCUMENTS[client])
    for case in CASES[client]:
        old, new = (bytes_of(client, nested(case.place, value)) for value in (case.before, case.after))
        ruling = rule_on_edit(FileEdit(path, old, new))
        assert ruling.answer is Answer.ASK, (case, ruling)
        assert is_told(case, [ruling.reason]), (case, ruling)
        if case.risk is not Risk.PROTECTED:
            assert rule_on_edit(FileEdit(path, new, old)).answer is Answer.PASS, case


def test_the_server_asks_a_person_about_every_loosening(client: str, root: Path) -> None:
    with open_workspace(root) as harness:
        desk = ProposalService(harness, str(root), make_method(parse_spec("portfolio"), None))
        for case, value in _each(harness, client):
            proposed = desk.propose(Sent(mutation=[_operation(case, value)]), "agent")
            assert is_told(case, proposed.person), (case, proposed)
        for case, value in _each(harness, client, stricter=True):
            assert desk.propose(Sent(mutation=[_operation(case, value)]), "agent").person == [], case


def test_the_command_line_reports_loosening_before_and_after(client: str, root: Path) -> None:
    with open_workspace(root) as harness:
        for case, value in _each(harness, client):
            preview = harness.preview(_candidate(harness, case, value))
            assert isinstance(preview, Preview), (case, preview)
            assert is_told(case, outcome_to_json(preview, harness)["looser"]), case
        case = CASES[client][0]
        if case.before is not ABSENT:
            _set(harness, case, case.before)
        done = harness.apply(_candidate(harness, case, case.after))
        assert isinstance(done, Applied)
        assert is_told(case, outcome_to_json(done, harness)["looser"])


Seen = Callable[[Harness, Path, Plan], list[str]]
SEEN: dict[str, Seen] = {
    "json": lambda harness, _, plan: outcome_to_json(plan, harness)["looser"],
    "words": lambda harness, _, plan: [
        text for text, _ in list_plan_notes(plan, harness) if text.startswith("looser: ")
    ],
    "page": lambda harness, root, plan: (
        _describe_outcome(Shown(1, "p", harness, EntryRows(harness), str(root)), plan).looser
    ),
}


def test_plans_of_undo_and_redo_report_loosening(client: str, root: Path) -> None:
    with open_workspace(root) as harness:
        for case in CASES[client]:
            if case.after is not ABSENT:
                _set(harness, case, case.after)
            entry = harness.apply(_candidate(harness, case, case.before))
            assert isinstance(entry, Applied), case
            plan = harness.plan(lambda ledger, name=entry.entry.id: build_undo_request(ledger, (name,)))
            assert isinstance(plan, Plan), (case, plan)
            for way, seen in SEEN.items():
                assert is_told(case, seen(harness, root, plan)), (case, way)
            assert isinstance(harness.undo(entry.entry.id), Undone)
            back = harness.plan(lambda ledger, name=entry.entry.id: build_redo_request(ledger, (name,)))
            assert isinstance(back, Plan), (case, back)
            for way, seen in SEEN.items():
                assert case.risk is Risk.PROTECTED or seen(harness, root, back) == [], (case, way)
            if case.after is not ABSENT:
                _set(harness, case, ABSENT)


def test_the_gate_reports_loosening(client: str, tmp_path: Path) -> None:
    before, after = (make_project(tmp_path / name, client) for name in ("a", "b"))
    for case in CASES[client]:
        for place, value in ((before, case.before), (after, case.after)):
            (place / DOCUMENTS[client]).write_bytes(bytes_of(client, nested(case.place, value)))
        step = judge_step(before, after)
        assert is_told(case, list(step.looser)), (case, step.reasons)
