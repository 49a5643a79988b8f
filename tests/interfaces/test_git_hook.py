"""`takeback git-hook`: commits record harness files and name the journal's head; nothing of it blocks them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.client_harnesses import write_harness
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.cli import app
from takeback.errors import InputError
from takeback.harness.entry_log import EntryView


class Project:
    """A repository with a harness, a home of its own and a `takeback` that can be found."""

    def __init__(self, where: Path) -> None:
        self.root, self.home, self.bin = (where / name for name in ("project", "home", "bin"))
        for place in (self.root, self.home, self.bin):
            place.mkdir()
        self.program = self.bin / "takeback"
        self.program.write_text(f'#!/bin/sh\nexec {sys.executable} -m takeback "$@"\n')
        self.program.chmod(0o755)
        self.env = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TAKEBACK_TRUST": os.environ["TAKEBACK_TRUST"],
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
            **{f"GIT_{who}_{what}": f"{what}@ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.git("init", "-q", "-b", "main")
        write_harness(self.root, "claude-code")
        init_clients(self.root, ("claude-code",))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")

    def git(self, *words: str, place: Path | None = None) -> str:
        done = self.attempt(*words, place=place)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def attempt(self, *words: str, place: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words],
            cwd=place or self.root,
            env={**self.env, **more},
            text=True,
            capture_output=True,
            check=False,
            timeout=600,
        )

    def hook(self, *words: str) -> str:
        done = CliRunner().invoke(app, ["git-hook", *words, "-C", str(self.root)])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.output

    def install(self, *words: str) -> str:
        return self.hook("install", "--command", "takeback", *words)

    def hooks(self) -> dict[str, tuple[bytes, int]]:
        folder = self.root / ".git/hooks"
        return {path.name: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}

    def entries(self) -> list[EntryView]:
        with closing(open_workspace(self.root, hold=False)) as harness:
            return [entry for entry in harness.log() if entry.kind == "adopt"]

    def head(self) -> str:
        with closing(open_workspace(self.root, hold=False)) as harness:
            return harness.ledger.head

    def changed(self, text: str = "# Changed\n") -> None:
        (self.root / "CLAUDE.md").write_text(text)

    def trailers(self) -> list[str]:
        shown = self.git("log", "-1", "--format=%(trailers:key=Takeback-Head,valueonly)")
        return shown.split()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_commit_records_what_changed_and_names_the_journals_head(project: Project) -> None:
    project.install()
    project.changed()
    project.git("commit", "-q", "-a", "-m", "say it anew\n\nMore words.")
    (entry,) = project.entries()
    assert entry.by == "NAME@ada <EMAIL@ada>"
    assert "CLAUDE.md" in entry.files
    assert project.trailers() == [project.head()]
    assert project.git("log", "-1", "--format=%s") == "say it anew"
    (project.root / "main.py").write_text("a\n")
    project.git("add", "main.py")
    project.git("commit", "-q", "-m", "code")
    assert len(project.entries()) == 1
    project.git("commit", "-q", "--amend", "--no-edit")
    assert project.trailers() == [project.head()]


def test_a_merge_commit_records_the_merged_changes(project: Project) -> None:
    project.install()
    project.git("switch", "-q", "-c", "side")
    project.changed()
    project.git("commit", "-q", "-a", "--no-verify", "-m", "on the side")
    project.git("switch", "-q", "main")
    with closing(open_workspace(project.root, hold=False)) as harness:
        assert not harness.status().drift
    project.git("merge", "-q", "--no-ff", "-m", "both", "side")
    assert len(project.entries()) == 1
    assert project.trailers() == [project.head()]


def test_no_verify_skips_both_hooks(project: Project) -> None:
    project.install()
    project.changed()
    project.git("commit", "-q", "-a", "--no-verify", "-m", "quickly")
    assert project.entries() == []
    assert project.trailers() == []


def test_an_empty_message_still_aborts_the_commit(project: Project) -> None:
    project.install()
    project.changed()
    assert project.attempt("commit", "-a", GIT_EDITOR="true").returncode != 0
    assert project.git("log", "-1", "--format=%s") == "first"
    write = "sed -i '1s/^/written in an editor/'"
    assert project.attempt("commit", "-q", "-a", "-v", GIT_EDITOR=write).returncode == 0
    assert project.trailers() == [project.head()]
    assert "diff --git" not in project.git("log", "-1", "--format=%B")


@pytest.mark.parametrize("how", ["absent", "broken", "journal"])
def test_a_broken_or_absent_takeback_never_blocks_a_commit_unless_asked(project: Project, how: str) -> None:
    project.install()

    def spoil() -> None:
        if how == "absent":
            project.program.unlink()
        elif how == "broken":
            project.program.write_text("#!/bin/sh\necho broken >&2\nexit 70\n")
        else:
            shutil.move(project.root / ".takeback/journal.db", project.home / "journal.db")

    spoil()
    project.changed()
    project.git("commit", "-q", "-a", "-m", "all the same")
    assert project.git("log", "-1", "--format=%s") == "all the same"
    assert project.trailers() == []
    project.hook("uninstall")
    project.install("--block")
    project.changed("# Again\n")
    assert project.attempt("commit", "-q", "-a", "-m", "blocked").returncode != 0
    assert project.git("log", "-1", "--format=%s") == "all the same"


def test_an_unreadable_file_is_reported_and_the_commit_is_made(project: Project) -> None:
    project.install()
    (project.root / ".claude/settings.json").write_text("{ broken")
    done = project.attempt("commit", "-q", "-a", "-m", "broken settings")
    assert done.returncode == 0
    assert "settings.json" in done.stderr
    assert project.entries() == []


def test_an_existing_hook_runs_first_and_is_restored_byte_for_byte(project: Project) -> None:
    hook = project.root / ".git/hooks/pre-commit"
    hook.write_bytes(b"#!/bin/sh\ntouch ran\r\n" + b"test ! -e stop # \xff\n")
    hook.chmod(0o700)
    other = project.root / ".git/hooks/commit-msg"
    other.write_text("#!/bin/sh\nexit 1\n")  # not executable: git does not run it, and no more do we
    other.chmod(0o640)
    before = project.hooks()
    project.install()
    project.changed()
    project.git("commit", "-q", "-a", "-m", "both ran")
    assert len(project.entries()) == 1
    assert any(path.name.startswith("ran") for path in project.root.iterdir())
    (project.root / "stop").touch()
    project.changed("# Again\n")
    assert project.attempt("commit", "-q", "-a", "-m", "stopped").returncode != 0
    assert len(project.entries()) == 1
    project.hook("uninstall")
    assert project.hooks() == before


def test_uninstalling_leaves_no_hook_behind(project: Project) -> None:
    shutil.rmtree(project.root / ".git/hooks")
    project.install()
    assert project.trailers() == []
    project.hook("uninstall")
    assert not (project.root / ".git/hooks").exists()
    with pytest.raises(InputError, match="none of Takeback's git hooks"):
        project.hook("uninstall")


@pytest.mark.parametrize("text", ['#!/bin/sh\nexec run "$(basename "$0")"\n', "#!/bin/sh\nrun ${0##*/}\n", None])
def test_a_hook_that_depends_on_its_name_is_refused_with_a_way_out(project: Project, text: str | None) -> None:
    hook = project.root / ".git/hooks/commit-msg"
    if text is None:
        hook.symlink_to("/bin/true")
    else:
        hook.write_text(text)
    before = project.hooks()
    with pytest.raises(InputError) as fault:
        project.install()
    assert 'takeback git-hook run commit-msg "$1" || true' in fault.value.hint
    assert project.hooks() == before


def test_installing_twice_is_refused(project: Project) -> None:
    project.install()
    before = project.hooks()
    with pytest.raises(InputError, match="already"):
        project.install()
    assert project.hooks() == before


def test_hooks_go_into_the_repositorys_own_hooks_path(project: Project) -> None:
    project.git("config", "core.hooksPath", ".githooks")
    project.install()
    assert (project.root / ".githooks/pre-commit").exists()
    project.changed()
    project.git("commit", "-q", "-a", "-m", "own place")
    assert project.trailers() == [project.head()]
    project.hook("uninstall")
    assert not (project.root / ".githooks").exists()
    project.git("config", "core.hooksPath", str(project.home / "shared"))
    with pytest.raises(InputError, match=r"core\.hooksPath"):
        project.install()
    assert not (project.home / "shared").exists()


def test_another_working_tree_without_a_harness_commits_normally(project: Project, tmp_path: Path) -> None:
    project.install()
    project.git("worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside")
    (tmp_path / "beside/CLAUDE.md").write_text("# Beside\n")
    done = project.attempt("commit", "-q", "-a", "-m", "beside", place=tmp_path / "beside")
    assert (done.returncode, done.stderr) == (0, "")
    assert project.entries() == []
    init_clients(tmp_path / "beside", ("claude-code",))
    (tmp_path / "beside/CLAUDE.md").write_text("# Beside again\n")
    project.git("commit", "-q", "-a", "-m", "recorded", place=tmp_path / "beside")
    with closing(open_workspace(tmp_path / "beside", hold=False)) as harness:
        assert [entry.kind for entry in harness.log()] == ["adopt", "genesis"]


def test_a_harness_in_a_subfolder_is_recorded_by_the_hook(tmp_path: Path) -> None:
    project = Project(tmp_path)
    inner = project.root / "services/it's own"
    inner.mkdir(parents=True)
    write_harness(inner, "claude-code")
    init_clients(inner, ("claude-code",))
    done = CliRunner().invoke(app, ["git-hook", "install", "--command", "takeback", "-C", str(inner)])
    assert done.exit_code == 0, done.output
    (inner / "CLAUDE.md").write_text("# Inner\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "inner")
    assert project.entries() == []
    with closing(open_workspace(inner, hold=False)) as harness:
        assert [entry.kind for entry in harness.log()] == ["adopt", "genesis"]
        assert project.trailers() == [harness.ledger.head]
