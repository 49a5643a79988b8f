"""What an agent is not shown, and what it may not send back."""

from __future__ import annotations

import pytest

from takeback.secret_mask import PLACEHOLDER, find_placeholder, mask_secrets, mask_text_secrets

SECRET = "Zq7-screaming-value-9"


@pytest.mark.parametrize(
    "name",
    ["API_KEY", "apiKey", "GITHUB_TOKEN", "githubToken", "db_password", "Authorization", "client_secret", "token"],
)
def test_a_value_under_a_secrets_name_is_masked_at_any_depth(name):
    for value in ({name: SECRET}, {"env": {name: [SECRET]}}, [{"a": {name: {"deep": SECRET}}}]):
        assert SECRET not in str(mask_secrets(value))
    assert mask_secrets(SECRET, f"env.{name}") == PLACEHOLDER


@pytest.mark.parametrize("name", ["max_tokens", "tokenLimit", "timeout", "author", "path", "monkey"])
def test_a_value_under_another_name_is_shown(name):
    assert mask_secrets({name: SECRET}) == {name: SECRET}


@pytest.mark.parametrize("value", ["${API_KEY}", "$API_KEY", "{env:API_KEY}", "", 7, None, True])
def test_references_and_non_texts_are_shown(value):
    assert mask_secrets({"API_KEY": value}) == {"API_KEY": value}


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
def test_secret_looking_words_are_masked_in_any_text(secret):
    assert mask_text_secrets(f"before {secret} after") == f"before {PLACEHOLDER} after"
    assert mask_secrets({"prompt": secret}) == {"prompt": PLACEHOLDER}


def test_secrets_in_headers_addresses_and_assignments_are_masked():
    assert mask_text_secrets("Authorization: Bearer abcdef0123456789") == f"Authorization: Bearer {PLACEHOLDER}"
    assert mask_text_secrets("postgres://me:hunter2@db/x") == f"postgres://{PLACEHOLDER}@db/x"
    assert "hunter2000" not in mask_text_secrets('export DB_PASSWORD="hunter2000"')
    assert mask_text_secrets("the token: use it wisely") == "the token: use it wisely"


def test_the_word_behind_a_flag_that_announces_a_secret_is_masked():
    assert mask_secrets(["run", "--api-key", SECRET, "-v"]) == ["run", "--api-key", PLACEHOLDER, "-v"]
    assert mask_secrets(["--name", SECRET]) == ["--name", SECRET]


def test_operations_on_a_secret_setting_hide_only_its_value():
    op = {"op_type": "set_config", "target": "env.API_TOKEN", "value": SECRET}
    assert mask_secrets({"mutation": [op]}) == {"mutation": [{**op, "value": PLACEHOLDER}]}
    change = {"address": 'config["env.API_TOKEN"]', "before": SECRET, "after": None, "existed": True}
    assert mask_secrets(change) == {**change, "before": PLACEHOLDER}
    capture = {"op_type": "capture_config", "target": "env.API_TOKEN", "witness_key": "w0"}
    assert mask_secrets(capture) == capture
    prompt = {"op_type": "set_prompt", "target": "token-counter", "value": "Count."}
    assert mask_secrets(prompt) == prompt


@pytest.mark.parametrize("value", [PLACEHOLDER, f"x{PLACEHOLDER}y", "[redacted]", "<REDACTED>", "***", "(forgotten)"])
def test_a_placeholder_is_found_in_values_and_keys_at_any_depth(value):
    assert find_placeholder({"a": [{"b": value}]}) == value
    assert find_placeholder({value: 1}) == value


@pytest.mark.parametrize("value", ["a ** b", "**bold**", "the redacted file", "x", "", 3])
def test_other_values_are_no_placeholders(value):
    assert find_placeholder([value]) is None


HOLD = {
    "AWS": "aws_access_key_id = ASIAABCDEFGHIJKLMNOP",
    "AWS secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "Anthropic": "export ANTHROPIC_API_KEY=sk-ant-api03-Zq7screamingvalue9",
    "environment": "DB_PASSWORD=correcthorse",
    "environment with a remark": "API_TOKEN=correcthorse # of the test account",
    "JSON": '{"apiKey": "correcthorse"}',
    "JSON, nested": '"headers": {"Authorization": "correcthorse"}',
    "TOML": 'client_secret = "correcthorse"',
    "Python": "password='correcthorse'",
    "YAML": "password: correcthorse1",
    "flag": "npx server --api-key correcthorse1 --verbose",
    "flag with a sign": "run --token=correcthorse1",
    "bearer": "Authorization: bearer correctHorse7",
    "basic": "Authorization: Basic dXNlcjpjb3JyZWN0aG9yc2U=",
    "URL": "postgres://admin:correcthorse@db.example.com/x",
    "URL without a user": "redis://:correcthorse@cache/0",
    "Slack hook": "https://hooks.slack.com/services/T00000000/B00000000/correcthorse0000",
    "SendGrid": "SG.correcthorse00000000.correcthorse0000000000",
    "OpenSSH key": "-----BEGIN OPENSSH PRIVATE KEY-----\ncorrecthorse\n-----END OPENSSH PRIVATE KEY-----",
}
HOLD_NOTHING = [
    "Use Bearer authentication for every request.",
    "Basic principles of writing are simple.",
    "sk-learn-compatible-estimators are fine",
    "the task-management-system-overview page",
    "max_tokens = 4096",
    '{"max_tokens": 4096, "model": "sonnet"}',
    "Never print a password: ask the person instead.",
    "The token: use it wisely. Keep your secret: nobody else needs it.",
    'secret = "${VAULT_SECRET}"',
    "API_KEY=$API_KEY",
    "API_KEY=${API_KEY:-}",
    "API_KEY=<your key>",
    'password = ""',
    "postgres://user:${DB_PASSWORD}@db/x",
    "https://example.com:8443/a@b",
    "git@github.com:owner/repo.git",
    "Read(./.env)",
    "Bash(npm run test:*)",
    "commit 3f2a91c0de3f2a91c0de3f2a91c0de3f2a91c0de",
    "token 6f1d0c2b9a8e7d6c5b4a3f2e",
    "the tokenizer splits text into tokens",
    '"cookies": true, "authorization": {"type": "object"}',
    "keyboard shortcuts: ctrl-k",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "550e8400-e29b-41d4-a716-446655440000",
]


@pytest.mark.parametrize("kind", HOLD)
def test_a_secret_is_masked_where_programs_write_it(kind):
    shown = mask_text_secrets(HOLD[kind])
    assert PLACEHOLDER in shown, shown
    for part in ("correcthorse", "correctHorse", "wJalr", "screaming", "ABCDEFGHIJ", "dXNlcjpj"):
        assert part not in shown


@pytest.mark.parametrize("text", HOLD_NOTHING)
def test_harmless_texts_are_shown_unchanged(text):
    assert mask_text_secrets(text) == text
    assert mask_secrets({"prompt": text}) == {"prompt": text}


def test_masking_twice_changes_nothing_more():
    for text in HOLD.values():
        assert mask_text_secrets(mask_text_secrets(text)) == mask_text_secrets(text)


def test_a_long_number_under_a_secrets_name_is_masked_and_a_short_one_shown():
    assert mask_secrets({"password": 12345678, "max_tokens": 12345678}) == {
        "password": PLACEHOLDER,
        "max_tokens": 12345678,
    }
    assert mask_secrets({"api_key": 7}) == {"api_key": 7}


def test_two_secrets_in_one_diff_are_numbered():
    from takeback.present.diffs import compare_sheets, iter_unified_lines, make_sheet

    old, new = "a\nKEY=1\nAPI_TOKEN=first-one\n", "a\nKEY=1\nAPI_TOKEN=second-one\n"
    lines = [text for _, text in iter_unified_lines(compare_sheets("p", make_sheet(old), make_sheet(new)))]
    assert lines[-2:] == [f"-API_TOKEN={PLACEHOLDER}", "+API_TOKEN=[masked by takeback, value 2]"]
    assert find_placeholder(lines[-1]) is not None


def test_a_line_of_a_private_key_is_masked_where_the_rest_of_it_is_not_shown():
    from takeback.present.diffs import compare_sheets, iter_unified_lines, make_sheet

    body = [f"correcthorse{n:02d}" for n in range(20)]
    key = ["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]
    changed = [line.replace("horse10", "zebra10") for line in key]
    lines = [
        text
        for _, text in iter_unified_lines(
            compare_sheets("p", make_sheet("\n".join(key)), make_sheet("\n".join(changed)))
        )
    ]
    assert len(lines) > 5
    assert not [line for line in lines if "correct" in line]


def test_a_long_text_is_scanned_once():
    """Hostile texts of which a careless pattern would look at every end for every beginning."""
    for piece in ("a", "a-", "sk-", "eyJ-", "token", "token=", "SG.", "://a:", "--token ", "Bearer ", "password: '"):
        text = piece * (300_000 // len(piece))
        mask_text_secrets(text)


def test_an_escaped_line_break_does_not_hide_a_variable():
    assert "correcthorse" not in mask_text_secrets('"a\\nDB_PASSWORD=correcthorse\\nb"')
