"""`takeback share` and `takeback report`: one file, masked, escaped, that loads nothing and replaces nothing."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser

import pytest
from tests.support.terminal import run

SECRET = "hunter2-is-long-enough-9"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"
NAME = '"><svg onload=alert(3)>\u202e.md'


class Tags(HTMLParser):
    """The tags and attributes of a file."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    place = tmp_path_factory.mktemp("share") / "agent"
    assert run("init", place).code == 0
    for line in (
        ("set", "config", "env.API_KEY", SECRET, "-m", f"the key is {SECRET}"),
        ("set", "prompt", NAME, f"{MARKUP}\n", "-m", MARKUP, "--by", "ann"),
        ("edit", "prompt", NAME, "--old", "alert(1)", "--new", "alert(4)", "--by", "bob"),
        ("set", "config", "timeout", "60"),
    ):
        assert run(*line, "-C", place).code == 0
    return place


def shared(agent, target, *words):
    done = run(*words, "--out", target, "-C", agent)
    assert done.code == 0, done.err
    return target.read_text()


def test_a_shared_file_shows_prompt_diff_evidence_and_undo(agent, tmp_path):
    text = shared(agent, tmp_path / "one.html", "share", "5")
    assert "config[&quot;timeout&quot;]" in text
    assert "proved" in text
    assert re.search(r"takeback undo [0-9a-f]{16} --plan", text)
    assert "<summary>recovery</summary>" in text


def test_a_secret_without_a_telling_name_is_masked(agent, tmp_path):
    text = shared(agent, tmp_path / "one.html", "share", "2")
    assert SECRET not in text
    assert "the key is [masked by takeback" in text
    told = json.loads(run("share", "2", "--out", tmp_path / "two.html", "-C", agent, "--json").out)
    assert told["entries"] == [2]
    assert told["secrets_masked"] is True


def test_markup_and_hostile_names_stay_text_and_nothing_is_loaded(agent, tmp_path):
    text = shared(agent, tmp_path / "all.html", "report")
    tags = Tags(text)
    assert not {"script", "svg", "img", "link", "iframe", "object", "form"} & {tag for tag, _ in tags.found}
    assert not [name for _, given in tags.found for name in given if name.startswith("on")]
    assert all(given["href"].startswith("#e") for tag, given in tags.found if tag == "a")
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text
    assert SECRET not in text


def test_a_shared_files_policy_allows_only_its_own_style(agent, tmp_path):
    text = shared(agent, tmp_path / "one.html", "share", "5")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(given["content"] for tag, given in Tags(text).found if given.get("http-equiv"))
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


def test_a_report_takes_a_range_and_filters_newest_first(agent, tmp_path):
    def entries(*words):
        return json.loads(run("report", *words, "-o", tmp_path / "r.html", "-C", agent, "--json").out)["entries"]

    assert entries("--from", "3", "--to", "4") == [4, 3]
    assert entries("--by", "bob") == [4]
    assert entries("timeout") == [5]
    assert entries("--from", "5") == [5]
    refused = run("report", "--from", "4", "--to", "3", "-o", tmp_path / "r.html", "-C", agent)
    assert refused.code == 2
    assert "--to" in refused.err


def test_a_shared_undone_entry_names_the_redo_command(agent, tmp_path):
    assert run("undo", "5", "-C", agent).code == 0
    text = shared(agent, tmp_path / "one.html", "share", "5")
    assert re.search(r"takeback redo [0-9a-f]{16} --plan", text)


def test_a_shared_entry_lists_its_dependents(agent, tmp_path):
    text = shared(agent, tmp_path / "one.html", "share", "3")
    assert "--cascade" in text
    assert "<li>#4 " in text


def test_share_overwrites_only_its_own_files(agent, tmp_path):
    other = tmp_path / "CLAUDE.md"
    other.write_text("# Rules\n")
    done = run("share", "5", "--out", other, "-C", agent)
    assert done.code == 2
    assert "another file" in done.err
    assert other.read_text() == "# Rules\n"
    again = tmp_path / "one.html"
    first = shared(agent, again, "share", "3")
    assert shared(agent, again, "share", "2") != first
    assert run("share", "5", "--out", tmp_path / "missing" / "one.html", "-C", agent).code == 2
    assert run("share", "5", "--out", tmp_path, "-C", agent).code == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == ["CLAUDE.md", "one.html"]
