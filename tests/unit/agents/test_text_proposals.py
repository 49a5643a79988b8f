"""A proposer that asks a model in plain words, as a library: what is shown, what is accepted, when it asks again."""

from __future__ import annotations

import json

import jsonschema
import pytest

from takeback import check_on_copy, evolve, init_workspace, open_memory, open_workspace, propose_text
from takeback.adapters.manifest import read_manifest
from takeback.adapters.trust import record_trust
from takeback.agents.text_proposal import repair_masked
from takeback.errors import InputError
from takeback.evolve import consider_change
from takeback.harness import Applied, RefusalReason, Refused
from takeback.repair.models import Reply
from takeback.repair.prompts import build_reply_schema, describe_language
from takeback.state import State

WISH = "ask before deleting files"
EDIT = {"op_type": "edit_prompt", "target": "planner", "value": {"old": "Do it.", "new": "Ask, then do it."}}
SERVER = {
    "op_type": "register_tool",
    "target": "mcp:docs",
    "value": {"command": "docs", "env": {"A": ["1", {"b": 2}]}},
}
STATE = {"prompts": {"planner": "Plan.\nDo it.\n"}, "config": {"list": [1]}}


def candidate(*mutation):
    return {"mutation": list(mutation), "witness": [], "recovery": [], "contract": ["prompts"]}


class Scripted:
    """A model that answers what it is told to, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *replies):
        self.replies = [reply if isinstance(reply, str) else json.dumps(reply) for reply in replies]
        self.seen = []

    def complete(self, request):
        self.seen.append(request)
        return Reply(self.replies[min(len(self.seen), len(self.replies)) - 1], "stop")


@pytest.fixture
def harness():
    return open_memory(State.read(STATE))


@pytest.fixture
def workspace(tmp_path):
    init_workspace(tmp_path / "agent", start=State.read(STATE))
    with open_workspace(tmp_path / "agent") as found:
        yield tmp_path / "agent", found


def test_a_request_in_words_becomes_a_reversible_change(harness):
    model = Scripted(candidate(EDIT))
    done = evolve(harness, propose_text(harness, WISH, model), note=WISH)
    assert done.applied
    assert harness.state["prompts", "planner"] == "Plan.\nAsk, then do it.\n"
    assert WISH in model.seen[0].messages[-1].content
    harness.undo("HEAD")
    assert harness.state == State.read(STATE)


def test_a_failed_proposal_is_explained_and_retried_up_to_the_limit(harness):
    nothing = {**EDIT, "value": {"old": "Do it.", "new": "Do it."}}
    model = Scripted("Sure!", candidate({**EDIT, "target": "nobody"}), candidate(nothing))
    asking = propose_text(harness, WISH, model, tries=3)
    done = evolve(harness, asking)
    assert (done.applied, done.proposal.mutation) == (False, None)
    assert [one.shortfall for one in asking.fell_short] == ["prose", "cannot_run", "cannot_run"]
    assert "it changes nothing" in done.to_json()["detail"]
    assert [len(request.messages) for request in model.seen] == [2, 4, 6]
    assert asking.account.calls == 3


def test_a_recovery_that_falls_short_does_not_cost_a_proposal(harness):
    wrong = {**candidate(EDIT), "recovery": [{"op_type": "levitate", "target": "x"}]}
    done = evolve(harness, propose_text(harness, WISH, Scripted(wrong)))
    assert done.applied
    assert done.repair.source == "oracle"


def test_a_checked_change_is_refused_if_the_harness_changed_since(workspace):
    directory, harness = workspace

    def meddle(change):
        with open_workspace(directory, hold=False) as other:
            other.apply({"mutation": [{"op_type": "set_config", "target": "by", "value": "another"}]}, force=True)
        return check_on_copy(harness, directory, "true")(change)

    done = evolve(harness, propose_text(harness, WISH, Scripted(candidate(EDIT))), check=meddle)
    assert done.check.passed
    assert isinstance(done.result, Refused)
    assert done.result.why is RefusalReason.STATE
    assert "Ask" not in (directory / "prompts/planner.md").read_text()


def test_a_check_sees_the_change_and_both_answers_are_in_the_entry(workspace):
    directory, harness = workspace
    check = check_on_copy(harness, directory, "grep -q 'Ask, then' prompts/planner.md")
    done = evolve(harness, propose_text(harness, WISH, Scripted(candidate(EDIT))), check=check)
    assert isinstance(done.result, Applied)
    [entry, _] = harness.log()
    assert (entry.grade, entry.check["passed"], entry.check["exit"]) == ("proved", True, 0)
    assert entry.to_json()["check"] == done.check.to_entry_payload()


def test_the_end_of_a_checks_output_is_kept_and_detached_processes_are_ignored(workspace):
    directory, harness = workspace
    change = consider_change(harness, propose_text(harness, WISH, Scripted(candidate(EDIT)))).good
    loud = "python3 -c \"print('x' * 300_000); print('the end')\"; exit 4"
    found = check_on_copy(harness, directory, loud)(change)
    assert (found.code, found.output[-9:], len(found.output) <= 2000) == (4, "x\nthe end"[-9:], True)
    away = check_on_copy(harness, directory, "setsid sleep 6 & echo done")(change)
    assert (away.passed, away.output) == (True, "done")


def test_considering_changes_nothing(workspace):
    directory, harness = workspace
    head = harness.ledger.head
    done = consider_change(harness, propose_text(harness, WISH, Scripted(candidate(EDIT))))
    assert done.good is not None
    assert (done.applied, harness.ledger.head) == (False, head)
    assert (directory / "prompts/planner.md").read_text() == STATE["prompts"]["planner"]


def test_a_check_needs_a_command_and_a_journal_that_can_be_copied(workspace, tmp_path):
    directory, harness = workspace
    with pytest.raises(InputError, match="an empty command"):
        check_on_copy(harness, directory, "  ")
    manifest = directory / "takeback.toml"
    manifest.write_text(manifest.read_text().replace('".takeback/journal.db"', '"postgresql://127.0.0.1/x"'))
    record_trust(directory, read_manifest(manifest.read_bytes(), "takeback.toml"))
    with pytest.raises(InputError, match="which can be copied"):
        check_on_copy(harness, directory, "true")


@pytest.mark.parametrize("options", [{"text": " "}, {"text": "x" * 5000}, {"tries": 0}, {"tries": 99}])
def test_invalid_requests_are_refused_before_the_model_is_called(harness, options):
    with pytest.raises(InputError):
        propose_text(harness, options.pop("text", WISH), Scripted("no"), **options)


def test_the_model_repairs_where_the_oracle_is_not_wanted(harness):
    mended = {
        "witness": [{"op_type": "capture_prompt", "target": "planner", "witness_key": "w"}],
        "recovery": [{"op_type": "restore_prompt", "target": "planner", "witness_key": "w"}],
        "contract": ["prompts"],
    }
    model = Scripted(candidate(EDIT), mended)
    done = evolve(harness, propose_text(harness, WISH, model), repair_masked(model, oracle=False))
    assert (done.applied, done.repair.source, len(model.seen)) == (True, "model", 2)


def test_the_language_and_the_schema_cover_only_the_harness_surfaces():
    assert "| middleware |" in describe_language({"middleware"})
    assert "| middleware |" not in describe_language({"prompts"})
    schema = build_reply_schema({"prompts", "tools"})
    jsonschema.validate({**candidate(EDIT), "contract": ["prompts"]}, schema)
    jsonschema.validate({**candidate(SERVER), "contract": ["tools"]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(candidate({"op_type": "set_config", "target": "a", "value": 1}), schema)
    long = {**EDIT, "value": {"old": "Do it.", "new": "x" * 5000}}
    jsonschema.validate(candidate(long), schema)
