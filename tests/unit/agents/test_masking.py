"""What an agent is not shown, and what it may not send back."""

from __future__ import annotations

import pytest

from takeback.agents.server.masking import PLACEHOLDER, masked, masked_text, placeholder_in

SECRET = "Zq7-screaming-value-9"


@pytest.mark.parametrize(
    "name",
    ["API_KEY", "apiKey", "GITHUB_TOKEN", "githubToken", "db_password", "Authorization", "client_secret", "token"],
)
def test_a_value_under_a_secrets_name_is_masked_wherever_it_stands(name):
    for value in ({name: SECRET}, {"env": {name: [SECRET]}}, [{"a": {name: {"deep": SECRET}}}]):
        assert SECRET not in str(masked(value))
    assert masked(SECRET, f"env.{name}") == PLACEHOLDER


@pytest.mark.parametrize("name", ["max_tokens", "tokenLimit", "timeout", "author", "path", "monkey"])
def test_a_value_under_another_name_is_shown(name):
    assert masked({name: SECRET}) == {name: SECRET}


@pytest.mark.parametrize("value", ["${API_KEY}", "$API_KEY", "{env:API_KEY}", "", 7, None, True])
def test_references_and_what_is_no_text_are_shown(value):
    assert masked({"API_KEY": value}) == {"API_KEY": value}


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrst1234",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-1234567890-abcdefghij",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "hf_abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_masked_in_any_text(secret):
    assert masked_text(f"before {secret} after") == f"before {PLACEHOLDER} after"
    assert masked({"prompt": secret}) == {"prompt": PLACEHOLDER}


def test_secrets_in_headers_addresses_and_assignments_are_masked():
    assert masked_text("Authorization: Bearer abcdef0123456789") == f"Authorization: Bearer {PLACEHOLDER}"
    assert masked_text("postgres://me:hunter2@db/x") == f"postgres://{PLACEHOLDER}@db/x"
    assert "hunter2000" not in masked_text('export DB_PASSWORD="hunter2000"')
    assert masked_text("the token: use it wisely") == "the token: use it wisely"


def test_the_word_behind_a_flag_that_announces_a_secret_is_masked():
    assert masked(["run", "--api-key", SECRET, "-v"]) == ["run", "--api-key", PLACEHOLDER, "-v"]
    assert masked(["--name", SECRET]) == ["--name", SECRET]


def test_operations_and_changes_of_a_secret_setting_hide_its_value_and_show_its_place():
    op = {"op_type": "set_config", "target": "env.API_TOKEN", "value": SECRET}
    assert masked({"mutation": [op]}) == {"mutation": [{**op, "value": PLACEHOLDER}]}
    change = {"address": 'config["env.API_TOKEN"]', "before": SECRET, "after": None, "existed": True}
    assert masked(change) == {**change, "before": PLACEHOLDER}
    capture = {"op_type": "capture_config", "target": "env.API_TOKEN", "witness_key": "w0"}
    assert masked(capture) == capture
    prompt = {"op_type": "set_prompt", "target": "token-counter", "value": "Count."}
    assert masked(prompt) == prompt


@pytest.mark.parametrize("value", [PLACEHOLDER, f"x{PLACEHOLDER}y", "[redacted]", "<REDACTED>", "***", "(forgotten)"])
def test_a_placeholder_is_found_in_values_and_keys_at_any_depth(value):
    assert placeholder_in({"a": [{"b": value}]}) == value
    assert placeholder_in({value: 1}) == value


@pytest.mark.parametrize("value", ["a ** b", "**bold**", "the redacted file", "x", "", 3])
def test_other_values_are_no_placeholders(value):
    assert placeholder_in([value]) is None
