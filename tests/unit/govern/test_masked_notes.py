"""One masking holds wherever a note is told: the log, an entry, a bundle, a shared page, a report, the audit."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.cli import app
from takeback.govern.policy import POLICY

MADE_UP = ("sk-ant-notarealkeyatall", "sk-ant-api03-n0tr34l4711aaaa", "sk-proj-notarealkeyatall", "ghp_" + "a1" * 12)


def run(root, *words):
    return CliRunner().invoke(app, [*words, "-C", str(root)])


@pytest.mark.parametrize("secret", MADE_UP)
def test_a_secret_in_a_note_is_masked_everywhere(tmp_path, secret):
    root = tmp_path / "p"
    root.mkdir()
    (root / "CLAUDE.md").write_text("one\n")
    init_clients(root, ("claude-code",))
    (root / POLICY).write_text("[audit]\nreads = true\n")
    (root / "CLAUDE.md").write_text("one\ntwo\n")
    assert run(root, "adopt", "-m", f"uses api_key={secret} now").exit_code == 0
    bundle, page, report = (tmp_path / name for name in ("b.jsonl", "s.html", "r.html"))
    told = [
        run(root, *words).output
        for words in (
            ("log",),
            ("log", "--json"),
            ("log", "api_key"),
            ("show", "HEAD"),
            ("show", "HEAD", "--json"),
            ("status",),
            ("export", "--bundle", str(bundle), "--sign", str(tmp_path / "key")),
            ("share", "HEAD", "--out", str(page)),
            ("report", "--out", str(report)),
            ("audit", "--json"),
            ("audit", "--csv"),
        )
    ]
    told += [place.read_text() for place in (bundle, page, report)]
    told.append((root / ".takeback/audit.jsonl").read_text())
    assert [text for text in told if secret in text] == []
    assert '"withheld":"secret"' in told[-4].replace(" ", "")
