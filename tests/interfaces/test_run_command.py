"""`takeback run` on the real overlay: what a command did is shown, kept as an entry, or dropped byte for byte."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.forked import run_text
from tests.support.terminal import environment, program

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.overlay.runs import NoOverlayError, drop_run, execute_run, find_run_places, make_run, prepare_run

SECRET = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"

PATIENCE = 240.0
"""Seconds after which something counts as never coming."""


@pytest.fixture(scope="module", autouse=True)
def overlay(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("probe").resolve()
    made = make_run(find_run_places(Path.home() / ".local/state"), root, ["true"])
    try:
        prepare_run(made)
        execute_run(made, cwd=root)
    except NoOverlayError as fault:
        pytest.skip(f"no overlay on this machine: {fault}")
    finally:
        drop_run(made)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder for state, one for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "project"
    (place / ".claude").mkdir(parents=True)
    (place / "src").mkdir()
    (place / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}\n')
    (place / "CLAUDE.md").write_text("# Rules\nUse tabs.\n")
    for number in range(30):
        (place / f"src/{number}.py").write_text(f"x  =  {number}\n")
    init_clients(place, ("claude-code",))
    return place


def image(root: Path) -> dict[bytes, tuple[int, bytes]]:
    """Everything in a project but Takeback's own folder: mode, and bytes or link target."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        folders[:] = [name for name in folders if name != b".takeback"]
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            content = os.readlink(path) if stat.S_ISLNK(mode) else b""
            if stat.S_ISREG(mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, os.fsencode(root))] = (mode, content)
    return found


def run(root: Path, *words: str, code: int = 0, **variables: str) -> dict:
    ended = run_text(["run", "--json", "-C", str(root), *map(str, words)], environment(**variables), cwd=root)
    assert ended.returncode == code, ended.stderr
    answer: dict = json.loads(ended.stdout)
    return {**answer, "said": ended.stderr}


def shell(root: Path, line: str, *options: str, code: int = 0, **variables: str) -> dict:
    return run(root, *options, "--", "sh", "-c", line, code=code, **variables)


def undo(root: Path, entry: dict) -> None:
    with closing(open_workspace(root, hold=False)) as harness:
        harness.undo(entry["id"])


def kinds(answer: dict) -> dict[str, str]:
    return {change["path"]: change["change"] for change in answer["changes"]}


def leftovers(root: Path) -> list[Path]:
    return sorted((root.parent / "state/takeback/runs").glob("*"))


def test_changes_of_a_command_are_one_entry_that_can_be_undone(root: Path) -> None:
    before = image(root)
    line = "sed -i s/tabs/spaces/ CLAUDE.md && echo '{}' > .claude/settings.json"
    answer = shell(root, line, "--keep", "--by", "Ada")
    assert answer["result"] == "kept"
    assert answer["recorded"] == [".claude/settings.json", "CLAUDE.md"]
    assert answer["untracked"] == []
    assert (root / "CLAUDE.md").read_text() == "# Rules\nUse spaces.\n"
    with closing(open_workspace(root, hold=False)) as harness:
        entry = next(harness.log())
    assert (entry.seq, entry.by) == (answer["entry"]["seq"], "Ada")
    assert entry.origin["client"] == "takeback run"
    assert "sed -i s/tabs/spaces/" in entry.origin["command"]
    undo(root, answer["entry"])
    assert image(root) == before


def test_an_edit_by_hand_before_the_run_is_an_entry_of_its_own(root: Path) -> None:
    (root / "CLAUDE.md").write_text("# Rules\nUse tabs.\nBy hand.\n")
    answer = shell(root, "sed -i s/tabs/spaces/ CLAUDE.md", "--keep")
    undo(root, answer["entry"])
    assert (root / "CLAUDE.md").read_text() == "# Rules\nUse tabs.\nBy hand.\n"
    with closing(open_workspace(root, hold=False)) as harness:
        assert "found before takeback run" in [entry.note for entry in harness.log()]


@pytest.mark.parametrize(
    "line",
    [
        "sed -i s/x/y/ src/3.py",
        "mv src/3.py moved.py",
        "mv src lib",
        "rm -rf src && mkdir src && echo other > src/3.py",
        "rm -rf src && echo file > src",
        "rm CLAUDE.md && mkdir CLAUDE.md && echo in > CLAUDE.md/in",
        "ln -sf /etc/passwd src/3.py && ln -s .. up",
        "chmod 755 src/3.py && chmod 700 src",
        "for file in src/*.py; do tr -s ' ' < $file > $file.new && mv $file.new $file; done",
        "mkdir -p deep/er/still && echo 1 > deep/er/still/one && chmod 555 deep/er",
        "ln src/3.py hard.py && echo more >> hard.py",
    ],
)
def test_a_kept_command_equals_a_plain_run_and_a_dropped_one_changes_nothing(
    root: Path, tmp_path: Path, line: str
) -> None:
    before = image(root)
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", root, copy], check=True)
    subprocess.run(["sh", "-c", line], cwd=copy, check=True)
    expected = image(copy)
    assert expected != before
    dropped = shell(root, line, "--drop")
    assert dropped["result"] == "dropped"
    assert image(root) == before
    kept = shell(root, line, "--keep")
    assert kept["result"] == "kept"
    assert kinds(kept) == kinds(dropped)
    assert image(root) == expected
    assert not leftovers(root)


def test_a_git_checkout_of_a_file_is_kept(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (root / "src/3.py").write_text("edited\n")
    answer = run(root, "--", "git", "checkout", "-q", "--", "src/3.py")
    assert answer["result"] == "kept"
    assert (root / "src/3.py").read_text() == "x  =  3\n"


def test_changes_below_git_need_an_explicit_option(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    (root / "src/3.py").write_text("edited\n")
    answer = run(root, "--keep", "--", *git, "commit", "-qam", "two", code=1)
    assert ".git/HEAD" not in answer["recorded"]
    assert any(path.startswith(".git/objects/") for path in answer["git_held"])
    last = [*git, "log", "-1", "--format=%s"]
    assert subprocess.run(last, capture_output=True, text=True, check=True).stdout == "one\n"
    resumed = run(root, "--resume", "--keep", "--git")
    assert resumed["result"] == "kept"
    assert subprocess.run(last, capture_output=True, text=True, check=True).stdout == "two\n"
    assert subprocess.run([*git, "fsck", "--strict"], capture_output=True, check=False).returncode == 0


def test_only_the_project_is_writable_and_temporary_folders_are_private(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    home, name = Path.home(), f"takeback-test-{os.getpid()}"
    line = f"""
        echo x > {outside} ; echo x > {home}/new ; rm -f {outside} ; echo x > /etc/{name} ; echo x > .takeback/new
        cat {outside} > seen ; echo x > /tmp/{name} && cp /tmp/{name} tmp ; echo x > /dev/null && echo yes > null
        echo x > /dev/shm/{name} && touch shm ; true"""
    answer = shell(root, line, "--keep")
    assert kinds(answer) == {"seen": "added", "tmp": "added", "null": "added", "shm": "added"}
    assert answer["said"].count("Read-only file system") == 5
    assert outside.read_text() == (root / "seen").read_text() == "as it was"
    gone = (home / "new", root / ".takeback/new", *(Path("/", folder, name) for folder in ("etc", "tmp", "dev/shm")))
    assert not [path for path in gone if path.exists()]


def test_a_folder_can_be_opened_for_writing(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    shell(root, f"echo x > {cache}/kept", "--drop", "--writable", str(cache))
    assert (cache / "kept").read_text() == "x\n"


def test_links_out_of_the_project_are_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was")
    (root / "link").symlink_to(outside)
    answer = shell(root, "rm link && mkdir link && echo mine > link/file", "--keep")
    assert answer["result"] == "kept"
    assert (outside / "file").read_text() == "as it was"
    assert (root / "link/file").read_text() == "mine\n"


def test_a_folder_replaced_by_a_link_during_the_run_is_a_conflict(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "3.py").write_text("as it was")
    answer = meanwhile(
        root,
        "echo mine > src/3.py",
        lambda: ((root / "src").rename(root / "old"), (root / "src").symlink_to(outside)),
    )
    assert [one["path"] for one in answer["conflicts"]] == ["src/3.py"]
    assert (outside / "3.py").read_text() == "as it was"


def wait_until_ready(runs: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until the command in a run has said that it is there; a busy machine may take its time."""
    end = time.monotonic() + PATIENCE
    while not list(runs.glob("*/upper/ready")):
        assert process.poll() is None, "the run ended before its command was ready"
        assert time.monotonic() < end, "the command never came"
        time.sleep(0.02)


def meanwhile(root: Path, line: str, act, *options: str) -> dict:
    """Run a command during which something else is done to the real project."""
    go = root.parent / "go"
    waits = f"{line}; touch ready; while ! test -e {go}; do sleep 0.02; done; rm ready"
    process = subprocess.Popen(
        program("run", "--json", "--keep", *options, "-C", root, "--", "sh", "-c", waits),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    runs = root.parent / "state/takeback/runs"
    wait_until_ready(runs, process)
    act()
    go.touch()
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode in {0, 1}, err.decode()
    answer: dict = json.loads(out)
    return {**answer, "code": process.returncode}


def test_a_file_edited_during_the_run_is_a_conflict_that_keeps_both_versions(root: Path) -> None:
    def edit() -> None:
        (root / "CLAUDE.md").write_text("# Rules\nMine.\n")
        (root / "src/4.py").write_text("saved by hand\n")
        (root / "new").write_text("mine\n")

    line = "sed -i s/tabs/spaces/ CLAUDE.md; echo theirs > new; rm src/4.py; echo theirs > src/5.py"
    answer = meanwhile(root, line, edit)
    assert answer["code"] == 1
    assert answer["result"] == "partly kept"
    left = {one["path"]: one["left"] for one in answer["conflicts"]}
    assert set(left) == {"CLAUDE.md", "new", "src/4.py"}
    assert Path(left["CLAUDE.md"]).read_text() == "# Rules\nUse spaces.\n"
    assert Path(left["new"]).read_text() == "theirs\n"
    assert left["src/4.py"] is None
    assert (root / "CLAUDE.md").read_text() == "# Rules\nMine.\n"
    assert (root / "src/4.py").read_text() == "saved by hand\n"
    assert (root / "src/5.py").read_text() == "theirs\n"
    again = run(root, "--resume", "--keep", "--overwrite")
    assert again["result"] == "kept"
    assert (root / "CLAUDE.md").read_text() == "# Rules\nUse spaces.\n"
    assert (root / "new").read_text() == "theirs\n"
    assert not (root / "src/4.py").exists()
    undo(root, again["entry"])
    assert (root / "CLAUDE.md").read_text() == "# Rules\nMine.\n"


def test_a_folder_filled_during_the_run_is_not_removed(root: Path) -> None:
    answer = meanwhile(root, "rm -rf src", lambda: (root / "src/mine").write_text("mine"))
    assert [one["path"] for one in answer["conflicts"]] == ["src"]
    assert [path.name for path in (root / "src").iterdir()] == ["mine"]


def test_hostile_names_are_kept_and_shown_as_escapes(root: Path) -> None:
    names = [b"new\nline", b"not\xffutf8", b"\x1b[31mred", b"back\\slash,colon:", b"-rf", "ü".encode()]
    script = root.parent / "make.py"
    script.write_text(f"for name in {names!r}: open(name, 'wb').write(name)")
    answer = run(root, "--keep", "--", sys.executable, str(script))
    assert answer["counts"] == {"added": len(names)}
    assert {name for name in os.listdir(os.fsencode(root)) if name in names} == set(names)
    done = subprocess.run(
        program(
            "run", "--drop", "-C", root, "--", sys.executable, "-c", f"import os; [os.remove(n) for n in {names}]"
        ),
        capture_output=True,
        env=environment(),
        check=False,
        cwd=root,
    )
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    assert b"not\\xffutf8" in done.stdout
    assert b"new\\nline" in done.stdout


def test_a_project_with_an_odd_name_works(tmp_path: Path) -> None:
    place = tmp_path.resolve() / "a,b:c\\d e"
    place.mkdir()
    (place / "CLAUDE.md").write_text("one\n")
    init_clients(place, ("claude-code",))
    assert shell(place, "echo two >> CLAUDE.md", "--keep")["recorded"] == ["CLAUDE.md"]


def test_secrets_are_masked_in_output_and_records(root: Path) -> None:
    done = subprocess.run(
        program("run", "--keep", "-C", root, "--", "sh", "-c", f"echo OPENAI_API_KEY={SECRET} > .env"),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert (root / ".env").read_text() == f"OPENAI_API_KEY={SECRET}\n"
    assert SECRET not in done.stdout + done.stderr
    assert (
        SECRET
        not in subprocess.run(
            program("log", "-C", root), capture_output=True, text=True, env=environment(), check=False
        ).stdout
    )


def test_pipes_sockets_and_takebacks_own_folders_are_not_transferred(root: Path) -> None:
    line = "mkfifo pipe; mkdir -p inner/.takeback; echo x > inner/.takeback/x; echo y > y"
    answer = shell(root, line, "--keep")
    assert {one["path"] for one in answer["left_out"]} == {"pipe", "inner/.takeback"}
    assert (root / "y").exists()
    assert not (root / "pipe").exists()
    assert not (root / "inner/.takeback").exists()


@pytest.mark.parametrize(
    ("line", "options", "code", "result", "there"),
    [
        ("echo 1 > new", (), 0, "kept", True),
        ("echo 1 > new; exit 3", (), 1, "held", False),
        ("echo 1 > new; exit 3", ("--keep",), 1, "kept", True),
        ("echo 1 > new; exit 3", ("--drop",), 1, "dropped", False),
        ("kill -9 $$", (), 1, "nothing", False),
        ("true", (), 0, "nothing", False),
        ("touch CLAUDE.md", (), 0, "nothing", False),
    ],
)
def test_exit_codes_tell_kept_dropped_and_failed_runs(
    root: Path, line: str, options: tuple[str, ...], code: int, result: str, there: bool
) -> None:
    answer = shell(root, line, *options, code=code)
    assert (answer["result"], (root / "new").exists()) == (result, there)
    assert answer["exit_code"] == {"echo 1 > new; exit 3": 3, "kill -9 $$": 137}.get(line, 0)
    assert bool(leftovers(root)) == (result == "held")
    if result == "held":
        assert run(root, "--drop-leftovers")["result"] == "dropped"
        assert not leftovers(root)


def test_a_command_that_is_not_there_is_bad_input(root: Path) -> None:
    answer = run(root, "--", "no-such-command-here", code=2)
    assert "no such command" in answer["error"]
    assert not leftovers(root)


@pytest.mark.parametrize("words", [("--keep", "--drop", "--", "true"), (), ("--resume", "--", "true")])
def test_options_that_contradict_each_other_are_refused(root: Path, words: tuple[str, ...]) -> None:
    assert "expected" in run(root, *words, code=2)["error"]


def test_the_commands_own_json_option_is_not_ours(root: Path) -> None:
    done = subprocess.run(
        program("run", "-C", root, "--", "echo", "--json"),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stdout.startswith("--json\n")
    assert done.returncode == 0


def test_processes_that_outlive_the_command_are_ended(root: Path) -> None:
    answer = shell(root, "(sleep 60; echo late > late) & echo early > early", "--keep")
    assert kinds(answer) == {"early": "added"}
    assert "were ended" in answer["said"]


def test_a_killed_run_keeps_its_changes_and_doctor_names_it(root: Path) -> None:
    process = subprocess.Popen(
        program("run", "-C", root, "--", "sh", "-c", "echo 1 > CLAUDE.md; touch ready; sleep 60"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
    )
    runs = root.parent / "state/takeback/runs"
    wait_until_ready(runs, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (root / "CLAUDE.md").read_text() == "# Rules\nUse tabs.\n"
    with open("/proc/mounts", encoding="utf-8") as mounts:
        assert not [line for line in mounts if str(root) in line]
    said = subprocess.run(
        program("doctor", "-C", root), capture_output=True, text=True, env=environment(), check=False
    )
    assert said.returncode == 1
    assert "run --resume" in said.stdout
    answer = shell(root, "true")
    assert "left undecided changes" in answer["said"]
    resumed = run(root, "--resume", "--keep")
    assert resumed["recorded"] == ["CLAUDE.md"]
    assert (root / "CLAUDE.md").read_text() == "1\n"


def test_a_kill_during_the_transfer_loses_nothing(root: Path) -> None:
    program_text = (
        "import os, sys; from takeback.agents.overlay.transfer import _Transfer; put = _Transfer._put\n"
        "def _put(self, *words):\n    put(self, *words); os.kill(os.getpid(), 9)\n"
        "_Transfer._put = _put; from takeback.cli.program import main; main()"
    )
    line = "echo new > CLAUDE.md; echo new > src/3.py; rm src/4.py"
    words = ["run", "--keep", "-C", str(root), "--", "sh", "-c", line]
    killed = subprocess.run(
        [sys.executable, "-c", program_text, *words], env=environment(), capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert (root / "CLAUDE.md").read_text() == "new\n"
    assert (root / "src/3.py").read_text() == "x  =  3\n"
    kept = sorted(path.read_text() for path in (root / ".takeback").glob("run-*/*/*"))
    assert kept == ["# Rules\nUse tabs.\n", "x  =  4\n"]
    said = subprocess.run(
        program("doctor", "-C", root), capture_output=True, text=True, env=environment(), check=False
    )
    assert "was killed while its changes were applied" in said.stdout
    resumed = run(root, "--resume", "--keep")
    assert kinds(resumed) == {"src/3.py": "changed"}
    assert (root / "src/3.py").read_text() == "new\n"
    assert not list((root / ".takeback").glob("run-*"))


def test_on_a_terminal_a_person_is_asked(root: Path) -> None:
    words = ["run", "-C", root, "--", "sh", "-c", "echo spaces > CLAUDE.md"]
    for answer, there in (("d", "# Rules\nUse tabs.\n"), ("k", "spaces\n")):
        done = run_on_terminal_answering(words, answer)
        assert "keep these changes?" in done
        assert (root / "CLAUDE.md").read_text() == there


def run_on_terminal_answering(words: list[object], answer: str, more: dict[bytes, bytes] | None = None) -> str:
    """Run the program on a terminal, and type each answer once its question is there; return all that was shown."""
    asked = {**(more or {}), b"decide later: ": answer.encode() + b"\n"}
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(sys.executable, program(*words), environment())  # noqa: S606 - the program itself
    said = b""
    while select.select([master], [], [], 60)[0]:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        said += piece
        for question in [question for question in asked if question in said]:
            os.write(master, asked.pop(question))
    os.close(master)
    os.waitpid(pid, 0)
    return said.decode(errors="replace")


def test_a_transfer_that_fails_puts_everything_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from takeback.agents.overlay.entry import EntryRecorder
    from takeback.cli import app
    from takeback.errors import HarnessError

    def fail(*_: object) -> None:
        raise HarnessError("the disk is full")

    before = image(root)
    line = (
        "rm -rf src; mkdir src; echo 1 > src/3.py; echo 2 > new; chmod 700 .claude; rm CLAUDE.md; ln -s x CLAUDE.md"
    )
    with monkeypatch.context() as patched:
        patched.setattr(EntryRecorder, "record", fail)
        done = CliRunner().invoke(app, ["run", "--keep", "-C", str(root), "--", "sh", "-c", line])
    assert "everything was put back" in str(done.exception)
    assert image(root) == before
    assert run(root, "--resume", "--keep")["result"] == "kept"
    assert (root / "src/3.py").read_text() == "1\n"
    assert sorted(path.name for path in (root / "src").iterdir()) == ["3.py"]


def test_changes_are_copied_from_another_file_system(root: Path, tmp_path: Path) -> None:
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir() or memory.stat().st_dev == root.stat().st_dev:
        pytest.skip("no second file system here")
    scratch = memory / f"takeback-test-{os.getpid()}"
    line = "echo more >> CLAUDE.md; mkdir new; echo in > new/in; chmod 640 new/in; ln -s up new/link; rm src/3.py"
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", root, copy], check=True)
    subprocess.run(["sh", "-c", line], cwd=copy, check=True)
    try:
        answer = shell(root, line, "--keep", "--scratch", str(scratch))
        assert answer["recorded"] == ["CLAUDE.md"]
        assert image(root) == image(copy)
        assert not list(scratch.iterdir())
    finally:
        scratch.rmdir()


def test_a_user_without_privileges_gets_a_user_namespace(root: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("every other test is this one for an ordinary user")
    weak = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
    line = "cat /proc/self/uid_map; sed -i s/tabs/spaces/ CLAUDE.md; rm -rf src"
    done = subprocess.run(
        [*weak, *program("run", "--keep", "--json", "-C", root, "--", "sh", "-c", line)],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    if "no overlay can be had" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split()[:3] == ["0", "0", "1"]
    assert json.loads(done.stdout)["recorded"] == ["CLAUDE.md"]
    assert not (root / "src").exists()


def test_an_interrupt_is_passed_to_the_command(root: Path) -> None:
    words = ["run", "-C", root, "--", "sh", "-c", "trap 'echo caught > caught; exit 4' INT; echo go; sleep 60 & wait"]
    said = run_on_terminal_answering(words, "k", {b"go\r\n": b"\x03"})
    assert "exit code 4" in said
    assert (root / "caught").read_text() == "caught\n"


@pytest.mark.long
def test_twenty_thousand_removed_files_can_be_dropped_or_kept(root: Path) -> None:
    for number in range(20_000):
        folder = root / f"big/{number // 200}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n" * 9)
    before = image(root)
    answer = run(root, "--drop", "--", "rm", "-rf", "big")
    assert answer["counts"]["removed"] == 20_101
    assert image(root) == before
    assert run(root, "--keep", "--", "rm", "-rf", "big")["result"] == "kept"
    assert not (root / "big").exists()


def test_removed_files_of_a_workspace_can_be_restored(tmp_path: Path) -> None:
    place = tmp_path.resolve() / "workspace"
    made = subprocess.run(
        program("init", "--kind", "workspace", place), capture_output=True, env=environment(), check=False
    )
    assert made.returncode == 0, made.stderr
    for number in range(300):
        folder = place / f"files/big/{number // 50}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_bytes(f"{number}\n".encode() * 9)
    with closing(open_workspace(place, hold=False)) as harness:
        harness.adopt("all")
    before = image(place)
    answer = run(place, "--keep", "--", "rm", "-rf", "files/big")
    assert answer["untracked"] == []
    assert not (place / "files/big").exists()
    undo(place, answer["entry"])
    assert image(place) == before
