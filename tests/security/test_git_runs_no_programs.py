"""Git is run in a repository whose config names programs: none of them is run, trusted or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import hostile_clone
from tests.support.hostile_clone import git
from tests.support.trusted import trust

from takeback.adapters import open_workspace
from takeback.agents.git.adopting import adopt_history
from takeback.agents.git.running import git_in


@pytest.fixture
def planted(tmp_path):
    """A trusted clone whose git config names programs for everything that git can run."""
    root = hostile_clone.workspace(tmp_path)
    (root / "prompts/system.md").write_text("one\n")
    hostile_clone.publish(root)
    clone = hostile_clone.clone(root, tmp_path, tmp_path / "ran")
    git(clone.root, "config", "merge.planted.driver", str(tmp_path / "planted"))
    git(clone.root, "config", "filter.planted.required", "true")
    trust(clone.root)
    return clone


def test_git_is_run_so_that_it_starts_no_program_of_the_repository(planted):
    (planted.root / "prompts/system.md").write_text("two\n")
    git_in(planted.root, os.environ).without_programs().run("status", "--porcelain")
    assert not planted.ran.exists()
    git(planted.root, "status", "--porcelain")
    assert planted.ran.exists(), "git itself runs what the config names"


def test_adopting_a_history_runs_no_program(planted):
    git(planted.root, "-c", "core.fsmonitor=false", "config", "--unset", "filter.planted.clean")
    (planted.root / "prompts/system.md").write_text("two\n")
    git(planted.root, "-c", "core.fsmonitor=false", "-c", "filter.planted.required=false", "commit", "-qam", "Second")
    planted.ran.unlink(missing_ok=True)
    with open_workspace(planted.root, hold=False) as harness:
        adopt_history(harness, planted.root, git_in(planted.root, os.environ), "HEAD~1..HEAD")
    assert not planted.ran.exists()


def test_variables_of_git_that_name_programs_and_settings_are_left_out(tmp_path):
    named = {"GIT_DIR": "x", "GIT_CONFIG_GLOBAL": "x", "GIT_SSH_COMMAND": "x", "GIT_EXEC_PATH": "x", "PATH": "/bin"}
    kept = git_in(Path(tmp_path), {**named, "GIT_AUTHOR_NAME": "Ada"}).env
    assert {name for name in kept if name.startswith("GIT_")} == {
        "GIT_AUTHOR_NAME",
        "GIT_OPTIONAL_LOCKS",
        "GIT_TERMINAL_PROMPT",
    }
