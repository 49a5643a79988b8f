"""Git is run in a repository whose config names programs: none of them is run, trusted or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support import hostile_clone
from tests.support.hostile_clone import git
from tests.support.trusted import trust

from takeback.adapters import open_workspace
from takeback.agents.git import (
    HOOKS,
    TRAILER,
    adopt_before_commit,
    find_placed,
    install_hooks,
    open_git,
    sign_message,
    uninstall_hooks,
)
from takeback.agents.git_history import adopt_history
from takeback.track.call import Call
from takeback.track.capture import begin_tracking, capture_after, capture_before
from takeback.track.store import TrackStore

PROGRAMS = (
    "core.alternateRefsCommand",
    "core.editor",
    "core.gitProxy",
    "credential.helper",
    "diff.planted.textconv",
    "gpg.ssh.program",
    "gpg.x509.program",
    "interactive.diffFilter",
    "pager.config",
    "pager.rev-parse",
    "sequence.editor",
    "trailer.takeback.cmd",
    "uploadpack.packObjectsHook",
)
"""More settings that name a program, beside those that every hostile clone has."""
GIT_HOOKS = (
    *HOOKS,
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "fsmonitor-watchman",
    "prepare-commit-msg",
)


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


def test_git_starts_no_program_named_by_the_repository(planted):
    (planted.root / "prompts/system.md").write_text("two\n")
    open_git(planted.root, os.environ).without_programs().run("status", "--porcelain")
    assert not planted.ran.exists()
    git(planted.root, "status", "--porcelain")
    assert planted.ran.exists(), "git itself runs what the config names"


def test_adopting_a_history_runs_no_program(planted):
    git(planted.root, "-c", "core.fsmonitor=false", "config", "--unset", "filter.planted.clean")
    (planted.root / "prompts/system.md").write_text("two\n")
    git(planted.root, "-c", "core.fsmonitor=false", "-c", "filter.planted.required=false", "commit", "-qam", "Second")
    planted.ran.unlink(missing_ok=True)
    with open_workspace(planted.root, hold=False) as harness:
        adopt_history(harness, planted.root, open_git(planted.root, os.environ), "HEAD~1..HEAD")
    assert not planted.ran.exists()


def test_git_variables_that_name_programs_or_settings_are_dropped(tmp_path):
    named = {"GIT_DIR": "x", "GIT_CONFIG_GLOBAL": "x", "GIT_SSH_COMMAND": "x", "GIT_EXEC_PATH": "x", "PATH": "/bin"}
    kept = open_git(Path(tmp_path), {**named, "GIT_AUTHOR_NAME": "Ada"}).env
    assert {name for name in kept if name.startswith("GIT_")} == {
        "GIT_AUTHOR_NAME",
        "GIT_OPTIONAL_LOCKS",
        "GIT_TERMINAL_PROMPT",
    }


@pytest.fixture
def hooked(planted, tmp_path):
    """The planted clone, in which every setting that names a program does, and its own hooks are programs too."""
    for name in PROGRAMS:
        git(planted.root, "config", name, str(tmp_path / "planted"))
    git(planted.root, "config", "commit.gpgSign", "true")
    folder = planted.root / ".githooks"
    folder.mkdir()
    for name in GIT_HOOKS:
        (folder / name).write_bytes((tmp_path / "planted").read_bytes())
        (folder / name).chmod(0o755)
    git(planted.root, "config", "core.hooksPath", ".githooks")
    planted.ran.unlink(missing_ok=True)
    return planted


def demand_that_git_would_have_run_one(planted, *words):
    """See that the same repository does run a program when git is run in it as it is."""
    assert not planted.ran.exists(), "a program of the repository was run"
    git(planted.root, *words)
    assert planted.ran.exists(), "git itself runs what the config names"


def test_installing_and_taking_out_a_git_hook_runs_no_program(hooked):
    mine = open_git(hooked.root, os.environ)
    before = {name: (hooked.root / ".githooks" / name).read_bytes() for name in GIT_HOOKS}
    placed = install_hooks(mine, hooked.root, ["takeback"], block=False)
    assert [(one.path.parent.name, one.earlier) for one in placed] == [(".githooks", True)] * len(HOOKS)
    assert [place.name for place in find_placed(mine)] == list(HOOKS)
    uninstall_hooks(mine)
    assert {name: (hooked.root / ".githooks" / name).read_bytes() for name in GIT_HOOKS} == before
    demand_that_git_would_have_run_one(hooked, "status", "--porcelain")


def test_putting_the_head_into_a_commit_message_runs_no_program(hooked, tmp_path):
    message = tmp_path / "message"
    message.write_text("A change\n")
    sign_message(open_git(hooked.root, os.environ), hooked.root, message)
    with open_workspace(hooked.root, hold=False) as harness:
        assert f"{TRAILER}: {harness.ledger.head}" in message.read_text()
    demand_that_git_would_have_run_one(
        hooked, "interpret-trailers", "--in-place", "--trailer", f"{TRAILER}: x", str(message)
    )


def test_recording_before_a_commit_runs_no_program(hooked):
    (hooked.root / "prompts/system.md").write_text("changed before a commit\n")
    assert adopt_before_commit(open_git(hooked.root, os.environ), hooked.root).startswith("recorded as #")
    demand_that_git_would_have_run_one(hooked, "status", "--porcelain")


def test_tracking_a_project_runs_no_program(planted):
    root = str(planted.root)
    planted.ran.unlink(missing_ok=True)
    begin_tracking(root, {}, os.environ)
    call = Call("claude-code", "s", "c", "Bash", "x")
    capture_before(root, call, os.environ)
    (planted.root / "prompts/system.md").write_text("two\n")
    for at in range(100):
        (planted.root / f"new{at}.txt").write_text(f"{at}\n")
    (planted.root / ".env").write_text("A=1\n")
    capture_after(root, call, os.environ)
    with TrackStore.open(root, os.environ) as store:
        [row] = store.rows()
        assert len(row.deltas) == 102
        store.contents([delta.before.digest for delta in row.deltas if delta.before])
    assert not planted.ran.exists()
