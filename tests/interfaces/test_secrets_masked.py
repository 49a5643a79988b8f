"""What looks like a secret is masked wherever it would be printed, `--reveal` shows it, and files keep it."""

from __future__ import annotations

import json

import pytest
from tests.support.terminal import run
from tests.unit.web.conftest import Browser

from takeback.adapters import open_workspace

FIRST, SECOND, SHAPED = "correct-horse-one", "correct-horse-two", "ghp_abcdefghijklmnopqrst1234"
SECRETS = (FIRST, SECOND, SHAPED)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("secrets") / "agent"
    assert run("init", place).code == 0
    lines = (
        ("set", "config", "env.API_KEY", FIRST),
        ("set", "config", "env.API_KEY", SECOND),
        ("set", "prompt", "p", f"use {SHAPED} here\n", "-m", f"for {SHAPED}"),
        ("set", "config", "env.API_KEY", FIRST),
        ("add", "tool", "t", "--json", json.dumps({"description": "d", "parameters": {"password": FIRST}})),
    )
    for line in lines:
        done = run(*line, "-C", place)
        assert done.code == 0
        assert not held(done.out + done.err)
    return place


def held(text: str) -> list[str]:
    """The secrets that a text holds, if only in part."""
    return [secret for secret in SECRETS if secret in text or secret[4:] in text]


SHOWING = (
    ("show", "2"),
    ("show", "3"),
    ("show", "4"),
    ("show", "6"),
    ("show", "HEAD", "--state"),
    ("diff", "3"),
    ("diff", "1", "HEAD"),
    ("log", "-p"),
    ("log", "--format", "{id} {note} {what}"),
    ("export",),
    ("undo", "5", "--plan"),
    ("restore", "--to", "2", "--plan"),
)


@pytest.mark.parametrize("words", SHOWING, ids=" ".join)
@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_no_command_shows_a_secret_unless_it_is_asked_to(made, words, how):
    done = run(*words, *how, "-C", made)
    assert done.code == 0
    assert not held(done.out + done.err)
    assert "[masked by takeback" in done.out
    assert f"'takeback forget --value TEXT -C {made}'" in done.err
    clear = run(*words, *how, "--reveal", "-C", made)
    assert held(clear.out)
    assert "[masked" not in clear.out
    assert "masked" not in clear.err


def test_json_marks_masked_values_and_an_export_keeps_its_shape(made):
    assert json.loads(run("show", "2", "--json", "-C", made).out)["masked"] is True
    assert "masked" not in json.loads(run("show", "2", "--json", "--reveal", "-C", made).out)
    assert set(json.loads(run("export", "-C", made).out)) == {"config", "prompts", "tools"}


def test_a_masked_plan_has_a_token_that_works(made):
    plan = json.loads(run("undo", "5", "--plan", "--json", "-C", made).out)
    assert not held(json.dumps(plan))
    assert run("undo", "5", "--token", plan["token"], "-C", made).code == 0
    assert SECOND in (made / "config.toml").read_text()
    assert run("redo", "5", "-C", made).code == 0
    assert FIRST in (made / "config.toml").read_text()


def test_drift_and_its_refusals_are_masked_too(made):
    prompt = made / "prompts/p.md"
    before = prompt.read_text()
    assert SHAPED in before
    prompt.write_text(f"DB_PASSWORD={FIRST}\n")
    try:
        for words in (
            ("status",),
            ("diff",),
            ("undo", "3"),
            ("status", "--json"),
            ("undo", "3", "--json"),
            ("doctor",),
        ):
            done = run(*words, "-C", made)
            assert not held(done.out + done.err), words
        assert FIRST in run("status", "--reveal", "-C", made).out
    finally:
        prompt.write_text(before)


def test_a_masked_placeholder_is_not_accepted_as_a_value(made, tmp_path):
    (tmp_path / "state.json").write_text(run("export", "-C", made).out)
    refused = run("init", tmp_path / "copy", "--state", tmp_path / "state.json")
    assert refused.code == 2
    assert "a value that Takeback masked" in refused.err
    assert "takeback export --reveal" in refused.err
    candidate = json.loads(run("show", "2", "--json", "-C", made).out)["candidate"]
    (tmp_path / "change.json").write_text(json.dumps(candidate))
    assert run("apply", tmp_path / "change.json", "-C", made).code == 2
    (tmp_path / "state.json").write_text(run("export", "--reveal", "-C", made).out)
    assert run("init", tmp_path / "copy", "--state", tmp_path / "state.json").code == 0
    assert FIRST in (tmp_path / "copy/config.toml").read_text()


PAGES = ("/1/", "/1/entry/%232", "/1/entry/%233", "/1/entry/%234", "/1/entry/%236", "/1/undo?entry=%233", "/1/past")


def test_the_page_masks_shows_on_request_and_names_forget(made):
    with open_workspace(made, hold=False) as harness:
        browser = Browser(harness)
        for page in PAGES:
            text = browser.get(page).text
            assert not held(text), page
            if "[masked by takeback" not in text:
                continue
            assert "takeback forget --value TEXT" in text
            assert "reveal=1" in text
            clear = browser.get(f"{page}{'&' if '?' in page else '?'}reveal=1").text
            assert held(clear), page
            assert "[masked by" not in clear
            assert "Mask them again" in clear
        token = browser.get("/1/undo?entry=%234").text.split('name="token" value="')[1].split('"')[0]
        assert len(token) == 24


def test_drift_on_the_page_is_masked_and_bound_to_its_real_values(made):
    prompt = made / "prompts/p.md"
    before = prompt.read_text()
    tokens = []
    try:
        for secret in (FIRST, SECOND):
            prompt.write_text(f"{before}DB_PASSWORD={secret}\n")
            with open_workspace(made, hold=False) as harness:
                text = Browser(harness).get("/1/drift").text
            assert not held(text)
            tokens += [text]
        assert tokens[0] != tokens[1], "what is bound is what is there, not how it is shown"
    finally:
        prompt.write_text(before)
