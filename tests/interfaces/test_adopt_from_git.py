"""`takeback adopt --from-git`: a history kept in git becomes entries that can be taken back one by one."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.harness import Undone

PERSON = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "core.autocrlf=false")


class Repository:
    """A repository with a Claude Code harness, from its first commit on."""

    def __init__(self, root: Path, inside: str = "") -> None:
        self.top = root
        self.root = root / inside
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        write_harness(self.root, "claude-code")
        (self.top / ".gitignore").write_text(".takeback/\nsettings.local.json\n")
        self.first = self.commit("the beginning")

    def git(self, *words: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.top), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *PERSON, *words], cwd=self.top, env=env, text=True, capture_output=True, check=True, timeout=600
        )
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def edit(self, path: str, old: str, new: str) -> None:
        place = self.root / path
        text = place.read_bytes().decode()
        assert text.count(old) >= 1, text
        place.write_bytes(text.replace(old, new, 1).encode())

    def tracked(self) -> dict[str, tuple[bytes, int]]:
        return {path: found for path, found in files_of(self.root).items() if not path.startswith(".git")}

    def six(self) -> list[str]:
        """Six commits, on four files, one of them new, one renamed and one deleted."""
        made = []
        self.edit("CLAUDE.md", "# Ledger", "# The ledger")
        made.append(self.commit("say the"))
        self.edit(".claude/settings.json", '"opus"', '"haiku"')
        made.append(self.commit("a smaller model"))
        self.edit("CLAUDE.md", "\n\nend", "\n- round half even\n\nend")
        (self.root / ".claude/rules/money.md").write_text("Cents.\n")
        made.append(self.commit("rounding"))
        (self.root / ".claude/agents/tester.md").rename(self.root / ".claude/agents/checker.md")
        self.edit(".claude/agents/checker.md", "name: tester", "name: checker")
        made.append(self.commit("the tester is a checker"))
        (self.root / ".claude/rules/db.md").unlink()
        made.append(self.commit("joins are fine"))
        self.edit(".mcp.json", '"-y"', '"-z"')
        self.edit("CLAUDE.md", "cents, never floats", "cents, never a float")
        made.append(self.commit("a flag"))
        return made

    def adopt(self, asked: str) -> tuple[int, dict[str, Any]]:
        done = CliRunner().invoke(app, ["adopt", "-C", str(self.root), "--from-git", asked, "--json"])
        return done.exit_code, json.loads(done.stdout)

    def init(self) -> None:
        init_clients(self.root, ("claude-code",))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def undone(repository: Repository, *names: str) -> None:
    with closing(open_workspace(repository.root, hold=False)) as harness:
        outcome = harness.undo(*names)
        assert isinstance(outcome, Undone), outcome


@pytest.mark.parametrize("inside", ["", "services/bot"])
@pytest.mark.parametrize("begun", ["at the first commit", "at the last commit"])
def test_six_commits_are_six_entries_and_each_can_be_taken_back(tmp_path: Path, inside: str, begun: str) -> None:
    repository = Repository(tmp_path / "project", inside)
    if begun == "at the first commit":
        repository.init()
    before = repository.tracked()
    made = repository.six()
    if begun == "at the last commit":
        repository.init()
    after = repository.tracked()
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert code == 0, told
    assert [one["commit"] for one in told["entries"]] == made
    assert (told["skipped"], told["folded"], told["known"]) == (0, 0, 0)
    assert (told["begun"] is not None) == (begun == "at the last commit")
    ids = [one["entry"] for one in told["entries"]]
    with closing(open_workspace(repository.root, hold=False)) as harness:
        status = harness.status()
        assert (status.drift, status.broken, status.layout) == ((), (), ())
        entry = next(one for one in harness.log() if one.id == ids[2])
        assert (entry.by, entry.note) == ("Ada <ada@example.org>", f"{made[2][:10]} rounding")
        assert harness.ledger.store.get(entry.seq).payload["origin"]["commit"] == made[2]
    undone(repository, ids[2])
    text = (repository.root / "CLAUDE.md").read_text()
    assert "round half even" not in text
    assert "# The ledger" in text
    assert "never a float" in text
    assert not (repository.root / ".claude/rules/money.md").exists()
    assert (repository.root / ".claude/agents/checker.md").exists()
    with closing(open_workspace(repository.root, hold=False)) as harness:
        assert isinstance(harness.redo(ids[2]), Undone)
    assert repository.tracked() == after
    undone(repository, *ids)
    assert repository.tracked() == before


def test_commits_without_harness_files_are_skipped_and_counted(repository: Repository) -> None:
    repository.init()
    (repository.root / "main.py").write_text("print(1)\n")
    repository.commit("code")
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    repository.commit("the")
    repository.commit("nothing at all")
    code, told = repository.adopt(f"{repository.first}..")
    assert (code, len(told["entries"]), told["skipped"]) == (0, 1, 2)
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, told["result"], told["known"]) == (0, "nothing", 2)


def test_a_later_range_continues_from_the_journals_state(repository: Repository) -> None:
    repository.init()
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    repository.commit("the")
    assert repository.adopt(f"{repository.first}..HEAD")[0] == 0
    repository.edit("CLAUDE.md", "# The", "# A")
    second = repository.commit("a")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, [one["commit"] for one in told["entries"]], told["known"]) == (0, [second], 1)


def test_a_side_branch_gives_an_entry_per_commit_and_its_merge_none(repository: Repository) -> None:
    repository.init()
    repository.git("switch", "-q", "-c", "side")
    repository.edit("CLAUDE.md", "\n\nend", "\n- side\n\nend")
    side = repository.commit("side")
    repository.git("switch", "-q", "main")
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    main = repository.commit("main")
    repository.git("merge", "-q", "--no-ff", "-m", "both", "side")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert code == 0, told
    assert {one["commit"] for one in told["entries"]} == {side, main}
    assert told["skipped"] == 1
    undone(repository, next(one["entry"] for one in told["entries"] if one["commit"] == side))
    text = (repository.root / "CLAUDE.md").read_text()
    assert "# The ledger" in text
    assert "- side" not in text


def test_a_conflicting_side_branch_is_adopted_with_its_merge(repository: Repository) -> None:
    repository.init()
    repository.git("switch", "-q", "-c", "side")
    repository.edit("CLAUDE.md", "# Ledger", "# Side")
    repository.commit("side")
    repository.git("switch", "-q", "main")
    repository.edit("CLAUDE.md", "# Ledger", "# Main")
    repository.commit("main")
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "-q", "side")
    repository.git("checkout", "-q", "--ours", "CLAUDE.md")
    repository.edit("CLAUDE.md", "# Main", "# Both")
    merge = repository.commit("both")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, len(told["entries"]), told["folded"]) == (0, 2, 1), told
    assert told["entries"][-1]["commit"] == merge
    assert (repository.root / "CLAUDE.md").read_text().startswith("# Both")


@pytest.mark.parametrize("how", ["changed", "missing", "new"])
def test_a_working_tree_not_at_the_end_of_the_range_is_refused(repository: Repository, how: str) -> None:
    repository.init()
    (repository.root / ".claude/rules/money.md").write_text("Cents.\n")
    repository.commit("a rule")
    repository.git("rm", "-q", ".claude/rules/money.md")
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    repository.commit("the")
    path, said = {
        "changed": ("CLAUDE.md", "differs"),
        "missing": ("CLAUDE.md", "is missing"),
        "new": (".claude/rules/money.md", "is new"),
    }[how]
    if how == "missing":
        (repository.root / path).unlink()
    else:
        (repository.root / path).parent.mkdir(exist_ok=True)
        (repository.root / path).write_text("by hand\n")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, told["result"]) == (1, "refused")
    assert f"{path} {said}" in told["message"]
    assert kinds(repository) == ["genesis"]


def kinds(repository: Repository) -> list[str]:
    with closing(open_workspace(repository.root, hold=False)) as harness:
        return [entry.kind for entry in reversed(list(harness.log()))]


def test_an_unreadable_commit_is_reported_and_nothing_is_recorded(repository: Repository) -> None:
    repository.init()
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    repository.commit("the")
    repository.edit(".claude/settings.json", '"model" :', '"model"')
    bad = repository.commit("oops")
    repository.edit(".claude/settings.json", '"model"', '"model" :')
    repository.commit("mended")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, told["why"]) == (1, "broken")
    assert bad[:10] in told["message"]
    assert "oops" in told["message"]
    assert ": .claude/settings.json, line 2" in told["message"]
    assert kinds(repository) == ["genesis"]


def test_a_journal_at_none_of_the_commits_is_refused(repository: Repository) -> None:
    repository.edit("CLAUDE.md", "# Ledger", "# Something else")
    repository.init()
    repository.git("checkout", "-q", "CLAUDE.md")
    repository.edit("CLAUDE.md", "# Ledger", "# The ledger")
    repository.commit("the")
    code, told = repository.adopt(f"{repository.first}..HEAD")
    assert (code, told["why"]) == (1, "state")
    assert "stands at none of these commits" in told["message"]


@pytest.mark.parametrize("asked", ["HEAD", "..HEAD", "nowhere..HEAD", "HEAD...HEAD", "--all..HEAD"])
def test_an_invalid_range_is_bad_input(repository: Repository, asked: str) -> None:
    repository.init()
    done = CliRunner().invoke(app, ["adopt", "-C", str(repository.root), f"--from-git={asked}", "--json"])
    assert "--from-git" in str(done.exception)


def test_files_that_git_ignores_stay_as_they_are_and_the_repository_gets_no_objects(repository: Repository) -> None:
    repository.init()
    made = repository.six()
    objects = repository.git("count-objects", "-v")
    code, told = repository.adopt(f"{repository.first}..{made[-1]}")
    assert code == 0, told
    assert repository.git("count-objects", "-v") == objects
    assert (repository.root / ".claude/settings.local.json").exists()
    with closing(open_workspace(repository.root, hold=False)) as harness:
        assert "permissions" in json.dumps(harness.state.write()["config"])
        assert not harness.status().drift
