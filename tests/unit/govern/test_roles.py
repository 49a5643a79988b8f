"""Roles and verbs: what a policy does not name is refused, in every interface, by who was verified."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pwd
from contextlib import closing

import pytest
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.init import NewHarness
from takeback.adapters.opener import open_workspace
from takeback.adapters.variables import use_variables
from takeback.agents.guard import Answer, rule_on_edit
from takeback.agents.hook_events import FileEdit
from takeback.agents.server.answers import Sent
from takeback.agents.server.lookups import read_entry, read_history, read_state
from takeback.agents.server.service import ProposalService
from takeback.cli import app
from takeback.cli.program import list_all_commands
from takeback.errors import DeniedError, InputError
from takeback.govern.policy import POLICY, read_policy
from takeback.govern.roles import Principal, Roles, Verb, read_roles
from takeback.harness.outcomes import Adopted, Applied, Preview, Undone
from takeback.undo import Plan

ME = pwd.getpwuid(os.getuid()).pw_name
TOKEN = "a-token-of-the-ci"
DIGEST = f"sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}"


@pytest.fixture(autouse=True)
def no_variables():
    use_variables({})
    yield
    use_variables({})


@pytest.fixture
def root(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("one\n")
    init_clients(tmp_path, ("claude-code",))
    with closing(open_workspace(tmp_path)) as harness:
        assert isinstance(harness.set("config", "note", "opus", by="somebody"), Applied)
    return tmp_path


def allow(root, *verbs, agent=(), who=f"user:{ME}"):
    text = f"[roles.person]\nmay = {json.dumps(verbs)}\nwho = [{json.dumps(who)}]\n"
    (root / POLICY).write_text(
        text + f"[roles.agent]\nmay = {json.dumps(agent)}\n[tokens]\nci = {json.dumps(DIGEST)}\n"
    )


def run(root, *words):
    return CliRunner().invoke(app, [*words, "--dir", str(root)])


def change(harness, value="sonnet", **how):
    return harness.set("config", "note", value, **how)


REQUESTS = {
    Verb.APPLY: change,
    Verb.FORCE: lambda h: h.apply([{"op_type": "set_config", "target": "note", "value": "x"}], force=True),
    Verb.PROPOSE: lambda h: h.preview([{"op_type": "set_config", "target": "note", "value": "x"}]),
    Verb.READ: lambda h: h.plan_undo("HEAD"),
    Verb.UNDO_OTHERS: lambda h: h.undo("HEAD"),
    Verb.OVER: lambda h: h.discard(),
    Verb.FORGET: lambda h: h.forget("HEAD"),
    Verb.RESOLVE: lambda h: h.resolve("HEAD", 1, made=True, by="me"),
}


def test_every_role_permits_exactly_its_verbs():
    """Every set of two verbs: exactly what is named is allowed, to exactly who has the role."""
    for one, two in itertools.combinations(Verb, 2):
        roles = Roles({"r": frozenset({one, two})}, {"user:a": ("r",)}, {})
        for verb in Verb:
            assert roles.allows(Principal("user", "a"), verb) is (verb in {one, two})
            for stranger in (Principal("user", "b"), Principal("token", "a"), Principal("agent", "a")):
                assert not roles.allows(stranger, verb)


def test_several_roles_add_up_and_agents_have_theirs_alone():
    table = {
        "a": {"may": ["read"], "who": ["user:x"]},
        "b": {"may": ["sign"], "who": ["user:x"]},
        "agent": {"may": "*"},
    }
    roles = read_roles("p", table, {})
    assert {verb for verb in Verb if roles.allows(Principal("user", "x"), verb)} == {Verb.READ, Verb.SIGN}
    assert all(roles.allows(Principal("agent", "whoever"), verb) for verb in Verb)


@pytest.mark.parametrize("verb", REQUESTS)
def test_each_request_is_refused_without_its_verb_and_nothing_changes(root, verb):
    allow(root, *(other for other in Verb if other is not verb))
    with closing(open_workspace(root)) as harness:
        last = harness.ledger.last
        with pytest.raises(DeniedError) as refused:
            REQUESTS[verb](harness)
        assert harness.ledger.last == last
    told = str(refused.value)
    assert f"user:{ME}" in told
    assert f"may not {verb}" in told
    assert "person" in told
    assert refused.value.hint


@pytest.mark.parametrize("verb", [one for one in REQUESTS if one is not Verb.RESOLVE])
def test_each_request_passes_with_its_verb(root, verb):
    allow(root, verb, Verb.APPLY) if verb is Verb.FORCE else allow(root, verb)
    with closing(open_workspace(root)) as harness:
        REQUESTS[verb](harness)


def test_without_roles_everything_is_as_before(root):
    (root / POLICY).write_text('[retention]\ncaptures = "30d"\n')
    with closing(open_workspace(root)) as harness:
        assert isinstance(change(harness, by="x"), Applied)
        assert next(harness.log()).by == "x"
        assert isinstance(harness.undo("HEAD~1"), Undone | Plan)


def test_an_unnamed_user_may_only_adopt(root):
    allow(root, *Verb, who="user:somebody-else")
    with closing(open_workspace(root)) as harness:
        for request in REQUESTS.values():
            with pytest.raises(DeniedError, match="no role"):
                request(harness)
        (root / "CLAUDE.md").write_text("one\ntwo\n")
        assert isinstance(harness.adopt(by="x"), Adopted)


def test_undoing_own_entries_needs_only_apply_and_names_do_not_prove_ownership(root):
    allow(root, "apply")
    with closing(open_workspace(root)) as harness:
        with pytest.raises(DeniedError, match="undo-others"):
            harness.undo("HEAD", by="somebody")
        assert isinstance(change(harness, by="claude"), Applied)
        assert next(harness.log()).by == f"user:{ME}, says claude"
        assert isinstance(harness.undo("HEAD"), Undone)
        assert isinstance(harness.redo(), Undone)
        with pytest.raises(DeniedError, match="undo-others"):
            harness.restore("1")


def test_an_agent_stays_an_agent_under_any_name(root):
    allow(root, *Verb, agent=("apply",))
    with closing(open_workspace(root)) as harness:
        assert isinstance(change(harness), Applied)
        harness.treat_as_agent("bot")
        for name in ("", ME, f"user:{ME}", "token:ci"):
            with pytest.raises(DeniedError, match="undo-others"):
                harness.undo("HEAD", by=name)
        assert isinstance(change(harness, "haiku", by=f"user:{ME}"), Applied)
        assert next(harness.log()).by == f"agent:user:{ME}"
        assert isinstance(harness.undo("HEAD", by=f"user:{ME}"), Undone)


def test_a_token_says_who_it_is_and_a_wrong_one_is_refused(root):
    allow(root, "apply", who="token:ci")
    with closing(open_workspace(root)) as harness, pytest.raises(DeniedError, match=f"user:{ME}"):
        change(harness)
    use_variables({"TAKEBACK_TOKEN": TOKEN})
    with closing(open_workspace(root)) as harness:
        assert isinstance(change(harness), Applied)
        assert next(harness.log()).by == "token:ci"
    use_variables({"TAKEBACK_TOKEN": "another"})
    with pytest.raises(DeniedError, match="token"):
        open_workspace(root)


REFUSED = [
    (("set", "config", "note", "x"), "apply"),
    (("add", "config", "other", "x"), "apply"),
    (("remove", "config", "note"), "apply"),
    (("edit", "prompt", "CLAUDE.md", "--append", "x"), "apply"),
    (("run", "--keep", "--", "true"), "apply"),
    (("install", "claude-code"), "apply"),
    (("undo", "HEAD"), "read|undo-others"),
    (("restore", "1"), "undo-others"),
    (("discard",), "over"),
    (("show", "HEAD"), "read"),
    (("diff", "HEAD"), "read"),
    (("export",), "read"),
    (("log",), "read"),
    (("audit",), "read"),
    (("share", "HEAD", "--out", "k"), "read"),
    (("report", "--out", "k"), "read"),
    (("bisect", "--test", "true"), "read"),
    (("leave", "--export", "k", "--yes"), "read"),
    (("leave", "--yes"), "forget"),
    (("forget", "HEAD", "--yes"), "forget"),
    (("forget", "--subject", "user:42", "--yes"), "forget"),
    (("forget", "--value", "opus", "--yes"), "forget"),
    (("hold", "HEAD"), "forget"),
    (("label", "HEAD", "--subject", "user:42"), "forget"),
    (("retain",), "forget"),
    (("compact",), "forget"),
    (("head", "--sign", "k"), "sign"),
    (("export", "--bundle", "k", "--sign", "k2"), "sign"),
]
ELSEWHERE = {
    *("apply", "move", "redo", "resolve", "propose", "evolve", "serve", "web", "hook", "uninstall"),
    *("adopt", "status", "doctor", "recover", "backup", "restore-journal", "watch", "trust", "init", "git-hook"),
    *("bind", "probe", "gate", "repair", "verify", "prove", "check-proof", "oracle", "schema", "model", "witness"),
    *("demo", "help", "lab", "bench", "tasks", "states", "torture", "grants"),
}
"""Commands that pass the same requests of Python as those above, that record what is so or look after the journal
itself, that keep no history, or that the server of a database decides about."""


def test_every_command_is_covered_by_these_tests():
    assert {words[0] for words, _ in REFUSED} | ELSEWHERE == set(list_all_commands())


@pytest.mark.parametrize(("words", "verb"), REFUSED, ids=lambda one: " ".join(one) if isinstance(one, tuple) else one)
def test_the_command_line_is_refused_without_the_role(root, words, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    allow(root)
    with (root / POLICY).open("a") as policy:
        policy.write('[retention]\ncaptures = "30d"\n')
    done = run(root, *words)
    assert isinstance(done.exception, DeniedError), done.output
    assert any(f"may not {one}" in str(done.exception) for one in verb.split("|"))
    assert not (tmp_path / "k").exists()


def test_the_server_s_clients_are_agents(root):
    allow(root, *Verb, agent=())
    with closing(open_workspace(root)) as harness:
        desk = ProposalService(harness, str(root), None)
        line = Sent(["set config note x"], None, None, None, None, "")
        for request in (
            lambda: desk.propose(line, ME),
            lambda: desk.plan_undo(["HEAD"], ME, cascade=False),
            lambda: read_state(desk, [], "", 10, 0, ME),
            lambda: read_history(desk, ME, 10, None, ""),
            lambda: read_entry(desk, "HEAD", ME),
        ):
            with pytest.raises(DeniedError, match=f"agent:{ME}"):
                request()
        allow(root, agent=("read",))
    with closing(open_workspace(root)) as harness:
        desk = ProposalService(harness, str(root), None)
        assert read_entry(desk, "HEAD", "bot")["number"]
        assert read_state(desk, [], "", 10, 0, "bot").items


def test_the_server_knows_an_agent_s_own_entries_by_their_signature(root):
    allow(root, agent=("read", "apply"))
    with closing(open_workspace(root)) as harness:
        harness.treat_as_agent("bot")
        assert isinstance(change(harness, by="bot"), Applied)
        desk = ProposalService(harness, str(root), None)
        assert [one.yours for one in read_history(desk, "bot", 2, None, "").entries] == [True, False]
        assert not any(one.yours for one in read_history(desk, "another", 2, None, "").entries)
        assert not desk.plan_undo(["HEAD"], "bot", cascade=False).person
        assert desk.plan_undo(["HEAD"], "another", cascade=False).person


def test_the_guard_denies_an_agent_s_edit_that_the_policy_does_not_let_it_make(root):
    edit = FileEdit(str(root / "CLAUDE.md"), b"one\n", b"one\ntwo\n")
    assert rule_on_edit(edit).answer is Answer.PASS
    allow(root, agent=("apply",))
    assert rule_on_edit(edit).answer is Answer.PASS
    allow(root, *Verb, agent=("read",))
    ruling = rule_on_edit(edit)
    assert ruling.answer is Answer.DENY
    assert "may not apply" in ruling.describe()
    (root / POLICY).write_text("[roles")
    assert rule_on_edit(edit).answer is Answer.DENY


@pytest.mark.parametrize(
    "text",
    [
        "roles = 3",
        "[roles]\na = 1",
        '[roles.a]\nmay = ["everything"]',
        '[roles.a]\nmay = "read"',
        "[roles.a]\nmay = [1]",
        '[roles.a]\ncan = ["read"]',
        '[roles.a]\nwho = ["alice"]',
        '[roles.a]\nwho = ["agent:alice"]',
        '[roles.a]\nwho = ["token:ci"]',
        '[roles."a b"]\nmay = []',
        '[roles.a]\n[tokens]\nci = "plain-token"',
        f'[tokens]\nci = "{DIGEST}"',
        "[audit]\nreads = 1",
        "[audit]\nwrites = true",
        "[rolls.a]\nmay = []",
        "\xff",
    ],
)
def test_an_invalid_policy_is_refused_and_opens_nothing(root, text):
    (root / POLICY).write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError):
        read_policy(root)
    with pytest.raises(InputError):
        open_workspace(root)


def test_a_policy_that_is_not_a_regular_file_is_refused_at_once(root):
    os.mkfifo(root / POLICY)
    with pytest.raises(InputError):
        open_workspace(root)
    (root / POLICY).unlink()
    (root / POLICY).symlink_to("/dev/zero")
    with pytest.raises(InputError):
        open_workspace(root)
    (root / POLICY).unlink()
    (root / POLICY).write_bytes(b"#" * (2 << 20))
    with pytest.raises(InputError):
        open_workspace(root)


def test_previews_need_propose_and_no_read(root):
    allow(root, "propose")
    with closing(open_workspace(root)) as harness:
        assert isinstance(REQUESTS[Verb.PROPOSE](harness), Preview)


def test_with_a_postgresql_journal_the_database_role_is_the_user(tmp_path, postgres_url):
    psycopg = pytest.importorskip("psycopg")
    url = f"{postgres_url}#who_may"
    (tmp_path / "CLAUDE.md").write_text("one\n")
    init_clients(tmp_path, ("claude-code",), NewHarness(url))
    with psycopg.connect(postgres_url, autocommit=True) as server:
        owner = server.execute("SELECT session_user").fetchone()[0]
        server.execute("CREATE ROLE who_may_clerk LOGIN")
        server.execute("GRANT USAGE ON SCHEMA takeback_who_may TO who_may_clerk")
        server.execute("GRANT ALL ON ALL TABLES IN SCHEMA takeback_who_may TO who_may_clerk")
    clerk = url.replace(f"//{owner}:", "//who_may_clerk:", 1)
    assert clerk != url
    allow(tmp_path, *Verb, who=f"database:{owner}")
    with closing(open_workspace(tmp_path)) as harness:
        assert isinstance(change(harness), Applied)
        assert next(harness.log()).by == f"database:{owner}"
    refused = pytest.raises(DeniedError, match="database:who_may_clerk may not apply")
    with closing(open_workspace(tmp_path, journal=clerk)) as harness, refused:
        change(harness, "haiku")
    allow(tmp_path, "apply", who="database:who_may_clerk")
    with closing(open_workspace(tmp_path, journal=clerk)) as harness:
        assert isinstance(change(harness, "haiku"), Applied)
        with pytest.raises(DeniedError, match="undo-others"):
            harness.undo("HEAD~1")
