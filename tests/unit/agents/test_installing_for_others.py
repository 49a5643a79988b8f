"""Installing where others work too: private settings by default, shared hooks that fail open, nothing added twice."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.client_harnesses import files_of, write_harness
from tests.support.plugin_folder import files_of_plugin
from typer.testing import CliRunner

from takeback.adapters.clients.init import init_clients
from takeback.adapters.opener import open_workspace
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.hook_files import OWN_FILES, build_opencode_plugin
from takeback.agents.installation import (
    CODEX_SETTINGS,
    HOOKS,
    HOOKS_FILE,
    PRIVATE_SCOPE,
    build_hook_group,
    find_hooks,
    is_own_hook,
)
from takeback.cli import app, install
from takeback.cli.install import NO_SERVER
from takeback.errors import InputError


def run(*words: str) -> Any:
    done = CliRunner().invoke(app, [*words, "--json"])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def own(root: Path) -> int:
    with closing(open_workspace(root, hold=False)) as harness:
        return len(list(find_hooks(harness.state)))


def write_settings(root: Path, name: str, value: Any) -> Path:
    (root / ".claude").mkdir(parents=True, exist_ok=True)
    (root / ".claude" / name).write_text(json.dumps(value, indent=2) + "\n")
    return root


def hooks_of(program: list[str], *, shared: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for hook in HOOKS["claude-code"]:
        found.setdefault(hook.event, []).append(build_hook_group("claude-code", hook, program, fails_open=shared))
    return {"hooks": found}


def test_hooks_go_only_into_the_machines_local_settings(tmp_path: Path) -> None:
    write_harness(tmp_path, "claude-code")
    before = files_of(tmp_path)
    told = run("install", "claude-code", "--dir", str(tmp_path))
    after = files_of(tmp_path)
    assert [path for path in after if after[path] != before.get(path)] == [".claude/settings.local.json"]
    assert own(tmp_path) == len(HOOKS["claude-code"])
    assert any("--shared" in one for one in told["warnings"])
    run("uninstall", "claude-code", "--dir", str(tmp_path))
    assert files_of(tmp_path) == before


OTHERS = [client for client in CLIENTS if client not in PRIVATE_SCOPE]
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C")


def commit_all(root: Path) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*GIT, str(root), *words], check=True, capture_output=True)


@pytest.mark.parametrize("client", OTHERS)
@pytest.mark.parametrize("in_git", [False, True])
def test_other_clients_get_hooks_only_in_a_file_git_does_not_track(client: str, in_git: bool, tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    write_harness(root, client)
    if in_git:
        for place in (HOOKS_FILE[client], CODEX_SETTINGS):
            (root / place).unlink(missing_ok=True)
        commit_all(root)
    before = files_of(root)
    told = run("install", client, "--dir", str(root))
    after = files_of(root)
    own = sorted(OWN_FILES.get(client, [HOOKS_FILE[client]]))
    assert [path for path in after if after[path] != before.get(path)] == own
    way = next((one for one in told["warnings"] if "does not ignore it" in one), "")
    assert bool(way) is in_git
    assert any("--shared adds them" in one for one in told["warnings"])
    run("uninstall", client, "--dir", str(root))
    assert files_of(root) == before
    if in_git:
        command = way.partition("it: ")[2].partition(" keeps")[0]
        subprocess.run(["/bin/sh", "-c", command], cwd=root, check=True)
        again = run("install", client, "--dir", str(root))
        assert not any("does not ignore it" in one for one in again["warnings"])
        shown = subprocess.run([*GIT, str(root), "status", "--porcelain"], capture_output=True, text=True, check=True)
        assert HOOKS_FILE[client].rpartition("/")[2] not in shown.stdout


@pytest.mark.parametrize("client", CLIENTS)
def test_installing_into_a_file_git_tracks_is_refused_with_the_way_out(client: str, tmp_path: Path) -> None:
    write_harness(tmp_path, client)
    place = tmp_path / HOOKS_FILE[client]
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.write_text("{}")
    commit_all(tmp_path)
    before = files_of(tmp_path)
    with pytest.raises(InputError) as refused:
        run("install", client, "--dir", str(tmp_path))
    assert f"git tracks {HOOKS_FILE[client]}, so others get it" in str(refused.value)
    assert f"takeback install {client} --shared" in str(refused.value)
    assert files_of(tmp_path) == before
    assert not (tmp_path / ".takeback").exists()


def test_hooks_in_codex_settings_count_as_tracked_with_the_settings(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    settings = '[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n'
    (tmp_path / ".codex/config.toml").write_text(settings)
    commit_all(tmp_path)
    with pytest.raises(InputError, match=r"git tracks \.codex/config\.toml"):
        run("install", "codex", "--dir", str(tmp_path))


def test_an_unreadable_repository_counts_as_tracking_everything(tmp_path: Path) -> None:
    write_harness(tmp_path, "codex")
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(InputError, match="cannot tell"):
        run("install", "codex", "--dir", str(tmp_path))


@pytest.mark.parametrize("client", [client for client in CLIENTS if HOOKS[client]])
@pytest.mark.parametrize("flags", [("--shared",), ()])
def test_shared_hooks_let_every_edit_pass_without_takeback(
    client: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    if client in PRIVATE_SCOPE and not flags:
        return  # that file is private by its name
    write_harness(tmp_path, client)
    run("install", client, *flags, "--dir", str(tmp_path), "--command", "takeback-that-is-not-there")
    with closing(open_workspace(tmp_path, hold=False)) as harness:
        found = [
            hook
            for _, element, _ in _groups(harness.state)
            for hook in element["options"].get("hooks", [element["options"]])
        ]
    ours = [hook for hook in found if "takeback" in hook.get("command", "")]
    assert len(ours) == len(HOOKS[client])
    for hook in ours:
        assert "onFailure" not in hook
        done = subprocess.run(
            ["/bin/sh", "-c", hook["command"]], input="{}", capture_output=True, text=True, check=True
        )
        assert "not installed here" in done.stderr
        assert done.stdout == ("{}\n" if client == "cursor" else "")


@pytest.mark.parametrize(
    "program",
    [["takeback-that-is-not-there"], ["/dev/null/takeback"], ["/dev/null"], [sys.executable, "-I", "-S", "-m"]],
)
def test_the_opencode_plugin_lets_every_edit_pass_without_takeback(program: list[str], tmp_path: Path) -> None:
    words = [*program, "takeback"] if program[-1] == "-m" else program
    (tmp_path / "takeback.mjs").write_text(build_opencode_plugin(words))
    (tmp_path / "try.mjs").write_text(
        f'const {{ Takeback }} = await import("file://{tmp_path}/takeback.mjs")\n'
        'const hooks = await Takeback({ directory: "/there" })\n'
        'await hooks["tool.execute.before"]({ tool: "edit", sessionID: "s" }, { args: { filePath: "x" } })\n'
        'await hooks["tool.execute.after"]({ tool: "edit", sessionID: "s", args: {} })\n'
    )
    done = subprocess.run(["node", str(tmp_path / "try.mjs")], capture_output=True, text=True, check=True)
    assert "not installed here" in done.stderr


def _groups(state: Any) -> Any:
    return [(event, element, None) for event, elements in state["listeners"].items() for element in elements]


def test_shared_hooks_pass_on_the_guards_answer(tmp_path: Path) -> None:
    program = tmp_path / "takeback"
    program.write_text("#!/bin/sh\necho no >&2\nexit 2\n")
    program.chmod(0o755)
    hook = build_hook_group("claude-code", HOOKS["claude-code"][1], [str(program)], fails_open=True)["hooks"][0]
    done = subprocess.run(["/bin/sh", "-c", hook["command"]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "no\n")


FORMS: dict[str, tuple[str, Any]] = {
    "shared": ("settings.json", hooks_of(["takeback"], shared=True)),
    "earlier": ("settings.json", hooks_of(["takeback"])),
    "earlier, elsewhere": ("settings.json", hooks_of(["/home/other/.venv/bin/takeback"])),
    "earlier, by python": ("settings.json", hooks_of(["/usr/bin/python3", "-m", "takeback"])),
    "local": ("settings.local.json", hooks_of(["takeback"])),
    "of the plugin's folder": (
        "settings.json",
        {"hooks": json.loads(files_of_plugin("1")["hooks/claude.json"])["hooks"]},
    ),
    "as a plugin": ("settings.json", {"enabledPlugins": {"takeback@takeback-local": True}}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flags", [(), ("--shared",)])
def test_installing_in_a_clone_that_has_our_hooks_adds_no_hook(form: str, flags: tuple[str], tmp_path: Path) -> None:
    name, value = FORMS[form]
    write_settings(tmp_path, name, value)
    init_clients(tmp_path, ("claude-code",))
    before = own(tmp_path)
    told = run("install", "claude-code", *flags, "--dir", str(tmp_path))
    assert own(tmp_path) == before
    assert told["result"] == "nothing" or (flags and form != "as a plugin")


@pytest.mark.parametrize("form", [form for form in FORMS if form != "as a plugin"])
def test_uninstalling_removes_only_takebacks_entries(form: str, tmp_path: Path) -> None:
    name, value = FORMS[form]
    other = {"type": "command", "command": "lint"}
    beside = {"matcher": "Edit|Write|MultiEdit|NotebookEdit", "hooks": [other, {"type": "command", "command": "x"}]}
    hooks = {event: list(groups) for event, groups in value["hooks"].items()}
    hooks["Stop"] = [*hooks["Stop"], {"hooks": [other]}]
    hooks["PreToolUse"] = [beside, *hooks["PreToolUse"]]
    hooks["SessionStart"] = [{"hooks": [*hooks["SessionStart"][0]["hooks"], other]}]
    write_settings(tmp_path, name, {"hooks": hooks})
    init_clients(tmp_path, ("claude-code",))
    run("uninstall", "claude-code", "--dir", str(tmp_path))
    assert own(tmp_path) == 0
    left = json.loads((tmp_path / ".claude" / name).read_text())["hooks"]
    assert left["Stop"] == [{"hooks": [other]}]
    assert left["PreToolUse"] == [beside]
    assert left["SessionStart"] == [{"hooks": [other]}]


def test_uninstalling_removes_local_and_shared_hooks_together(tmp_path: Path) -> None:
    write_settings(tmp_path, "settings.json", {})
    run("install", "claude-code", "--dir", str(tmp_path))
    write_settings(tmp_path, "settings.json", hooks_of(["takeback"], shared=True))
    run("adopt", "--dir", str(tmp_path))
    assert own(tmp_path) == 2 * len(HOOKS["claude-code"])
    run("uninstall", "claude-code", "--dir", str(tmp_path))
    assert own(tmp_path) == 0
    assert not (tmp_path / ".claude/settings.local.json").exists()


def test_installing_adds_only_the_missing_hooks(tmp_path: Path) -> None:
    value = hooks_of(["takeback"], shared=True)
    del value["hooks"]["Stop"], value["hooks"]["ConfigChange"]
    write_settings(tmp_path, "settings.json", value)
    run("install", "claude-code", "--dir", str(tmp_path))
    assert own(tmp_path) == len(HOOKS["claude-code"])
    local = json.loads((tmp_path / ".claude/settings.local.json").read_text())["hooks"]
    assert set(local) == {"Stop", "ConfigChange"}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("takeback hook claude-code", True),
        ("takeback hook", True),
        ('"/opt/my tools/takeback" hook claude-code', True),
        ("env A=1 takeback hook claude-code", True),
        ("/opt/guard hook claude-code", True),
        ("takeback status", False),
        ("echo no takeback hooks here", False),
        ("mytakeback hook claude-code --all", False),
        ("lint --hook claude-code", False),
        ("takeback hook codex", False),
    ],
)
def test_own_hooks_are_recognized_by_their_command(command: str, ours: bool) -> None:
    assert is_own_hook({"type": "command", "command": command}, "claude-code") is ours


def test_installing_warns_that_the_server_extra_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_harness(tmp_path, "claude-code")
    monkeypatch.setattr(install, "find_spec", lambda _: None)
    assert NO_SERVER in run("install", "claude-code", "--shared", "--dir", str(tmp_path))["warnings"]
    assert NO_SERVER in run("install", "claude-code", "--dir", str(tmp_path))["warnings"]
    monkeypatch.setattr(install, "find_spec", lambda _: object())
    assert NO_SERVER not in run("install", "claude-code", "--dir", str(tmp_path))["warnings"]
