"""Every command of the table, run on a harness that holds secrets: nothing it prints has one, as text or as JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.support.fault_server import Act, FaultServer
from typer.testing import CliRunner, Result

from takeback.cli import app
from takeback.cli.program import list_all_commands
from takeback.errors import TakebackError

NAMED, OTHER, SHAPED = "correct-horse-one", "correct-horse-two", "ghp_" + "a1B2" * 9
SECRETS = (NAMED, OTHER, SHAPED)
START = {
    "config": {"env": {"API_KEY": NAMED}, "list": [1]},
    "prompts": {"p": f"use {SHAPED} here\n"},
    "tools": {"t": {"description": "d", "parameters": {"password": NAMED}}},
    "files": {"secret.env": {"content": f"PASSWORD={NAMED}\n"}},
}
SET = {"op_type": "set_config", "target": "env.API_KEY", "value": OTHER}
BAD = {"mutation": [SET], "witness": [], "recovery": [], "contract": ["config"]}
WRONG = {**BAD, "recovery": [{"op_type": "append_config", "target": "auth.passwords", "value": NAMED}]}
GOOD = {
    "mutation": [SET],
    "witness": [{"op_type": "capture_config", "target": "env.API_KEY", "witness_key": "w"}],
    "recovery": [{"op_type": "restore_config", "target": "env.API_KEY", "witness_key": "w"}],
    "contract": ["config"],
}
MALFORMED = {**GOOD, "witness": [{"op_type": "capture_config", "target": "env.API_KEY", "api_key": NAMED}]}
FILES = {"good": GOOD, "bad": BAD, "wrong": WRONG, "malformed": MALFORMED, "state": START}
MODEL = ("--synthesizer", "openai:m")

WORDS: dict[str, list[tuple[str, ...]]] = {
    "init": [("init", "{new}", "--state", "{state}")],
    "apply": [
        ("apply", "{good}", "--plan", "-C", "{dir}"),
        ("apply", "{wrong}", "-C", "{dir}"),
        ("apply", "{malformed}", "-C", "{dir}"),
        ("apply", "{good}", "-C", "{dir}"),
    ],
    "status": [("status", "-C", "{drifted}"), ("status", "-C", "{dir}")],
    "log": [("log", "-p", "-C", "{dir}")],
    "show": [("show", "2", "-C", "{dir}"), ("show", "HEAD", "--state", "-C", "{dir}")],
    "diff": [("diff", "-C", "{drifted}"), ("diff", "1", "HEAD", "-C", "{dir}")],
    "export": [("export", "-C", "{dir}")],
    "share": [("share", "2", "--out", "{new}", "-C", "{dir}")],
    "report": [("report", "--out", "{new}", "-C", "{dir}")],
    "undo": [("undo", "2", "--plan", "-C", "{dir}"), ("undo", "2", "-C", "{dir}")],
    "redo": [("redo", "4", "--plan", "-C", "{undone}"), ("redo", "4", "-C", "{undone}")],
    "restore": [("restore", "--to", "1", "--plan", "-C", "{dir}"), ("restore", "--to", "1", "-C", "{dir}")],
    "discard": [("discard", "-C", "{drifted}")],
    "adopt": [("adopt", "-C", "{drifted}")],
    "watch": [("watch", "--verify", "--for", "0.2", "-C", "{drifted}")],
    "set": [
        ("set", "config", "env.API_KEY", NAMED, "-C", "{dir}"),
        ("set", "config", "env.API_KEY", NAMED, "--plan", "-C", "{dir}"),
        ("set", "prompt", "p", f"now {SHAPED}\n", "-C", "{dir}"),
    ],
    "add": [("add", "tool", "u", "--json", json.dumps({"password": NAMED}), "-C", "{dir}")],
    "remove": [("remove", "config", "env.API_KEY", "-C", "{dir}")],
    "edit": [("edit", "prompt", "p", "--old", SHAPED, "--new", "nothing", "-C", "{dir}")],
    "move": [("move", "file", "secret.env", "other.env", "-C", "{dir}")],
    "doctor": [("doctor", "-C", "{dir}"), ("doctor", "-C", "{drifted}")],
    "backup": [("backup", "{new}", "-C", "{dir}")],
    "restore-journal": [("restore-journal", "-C", "{dir}"), ("restore-journal", "--yes", "-C", "{dir}")],
    "trust": [("trust", "{copy}")],
    "retain": [("retain", "--plan", "-C", "{dir}")],
    "compact": [("compact", "--plan", "-C", "{dir}"), ("compact", "-C", "{dir}")],
    "grants": [("grants", "--plan", "-C", "{dir}")],
    "hold": [("hold", "2", "-C", "{dir}"), ("hold", "2", "--release", "-C", "{dir}")],
    "label": [("label", "2", "--subject", "user:42", "-C", "{dir}"), ("label", "-C", "{dir}")],
    "audit": [("audit", "-C", "{dir}")],
    "head": [("head", "--sign", "{new}", "-C", "{dir}")],
    "resolve": [("resolve", "2", "1", "--made", "-C", "{dir}")],
    "recover": [("recover", "-C", "{dir}")],
    "bisect": [("bisect", "--test", f"sh -c '! grep -q {OTHER} config.toml'", "-C", "{dir}")],
    "forget": [("forget", "--value", NAMED, "-C", "{dir}"), ("forget", "--value", NAMED, "--yes", "-C", "{dir}")],
    "verify": [("verify", f"{{{one}}}") for one in ("good", "bad", "wrong", "malformed")]
    + [("verify", "{wrong}", "--state", "{state}", "--exact"), ("verify", "{wrong}", "--rule", "split-wald")],
    "prove": [
        *(("prove", f"{{{one}}}") for one in ("good", "bad", "wrong", "malformed")),
        ("prove", "{bad}", "--second-opinion", "z3"),
        ("prove", "{wrong}", "--second-opinion", "z3"),
    ],
    "check-proof": [("check-proof", "--candidate", f"{{{one}}}") for one in ("good", "bad", "wrong", "malformed")],
    "oracle": [("oracle", "{bad}"), ("oracle", "{bad}", "--state", "{state}"), ("oracle", "{malformed}")],
    "repair": [("repair", "{wrong}", "--synthesizer", "oracle"), ("repair", "{wrong}", *MODEL)],
    "schema": [("schema",)],
    "states": [
        ("states", "{good}", "--state", "{state}"),
        ("states", "{good}", "--split", "ood", "--state", "{state}"),
    ],
    "evolve": [
        ("evolve", "{dir}", "--task", "{wrong}", "--synthesizer", "oracle"),
        ("evolve", "{dir}", "a key", *MODEL),
    ],
    "propose": [("propose", "{dir}", f"set the key to {SHAPED}", *MODEL)],
    "gate": [("gate", "--before", "{dir}", "--after", "{drifted}")],
    "hook": [("hook", "claude-code")],
    "install": [("install", "claude-code", "--shared", "-C", "{client}")],
    "uninstall": [("uninstall", "claude-code", "-C", "{installed}")],
    "leave": [("leave", "--yes", "-C", "{dir}")],
    "git-hook": [("git-hook", "run", "pre-commit", "-C", "{drifted}")],
}
NOT_ABOUT_A_HARNESS = {
    "run": "what a command did is masked: tests/interfaces/test_run_command.py",
    "bind": "other systems: tests/interfaces/test_external_commands.py",
    "probe": "other systems: tests/interfaces/test_external_commands.py",
    "web": "the page: tests/interfaces/test_secrets_masked.py",
    "serve": "the server's answers: tests/interfaces/test_mcp_answers.py",
    "witness": "signed heads alone: tests/unit/govern/test_witness.py",
    "help": "texts of the program itself",
    "model": "weights and a key of its own",
    "demo": "a harness of its own",
    "tasks": "tasks of the lab",
    "torture": "harnesses of its own",
    "lab": "tasks of the lab",
    "bench": "harnesses of its own",
}
RUNS = [(name, number) for name, every in WORDS.items() for number, _ in enumerate(every)]


def held(text: str) -> list[str]:
    """Return the secrets that a text holds, if only in part."""
    return [secret for secret in SECRETS if secret in text or secret[4:] in text]


def run(*words: str, given: str = "", **variables: str) -> Result:
    result = CliRunner(env=variables).invoke(app, list(words), input=given)
    if result.exception is not None and not isinstance(result.exception, SystemExit | TakebackError):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two entries about a secret."""
    place = tmp_path_factory.mktemp("secrets")
    for name, value in FILES.items():
        (place / f"{name}.json").write_text(json.dumps(value))
    assert run("init", str(place / "agent"), "--state", str(place / "state.json")).exit_code == 0
    for value in (OTHER, NAMED, OTHER):
        assert run("set", "config", "env.API_KEY", value, "-C", str(place / "agent")).exit_code == 0
    return place


class Places(dict[str, str]):
    """What a command may be run on, each a copy of its own that is made when it is asked for."""

    def __init__(self, made: Path, here: Path) -> None:
        super().__init__({name: str(made / f"{name}.json") for name in FILES} | {"new": str(here / "new")})
        self._made, self._here = made, here

    def __missing__(self, name: str) -> str:
        place = self._here / name
        if name in ("client", "installed"):
            (place / ".claude").mkdir(parents=True)
            (place / ".claude/settings.json").write_text(json.dumps({"env": {"API_KEY": NAMED}}))
            assert run("init", str(place)).exit_code == 0
        else:
            shutil.copytree(self._made / "agent", place)
        if name not in ("client", "installed", "copy"):
            assert run("trust", str(place)).exit_code == 0
        if name == "drifted":
            settings = place / "config.toml"
            settings.write_text(settings.read_text().replace(OTHER, NAMED + "x"))
            (place / "prompts/p.md").write_text(f"DB_PASSWORD={NAMED}\nuse {SHAPED}\n")
        elif name == "undone":
            assert run("undo", "HEAD", "-C", str(place)).exit_code == 0
        elif name == "installed":
            assert run("install", "claude-code", "-C", str(place)).exit_code == 0
        self[name] = str(place)
        return str(place)

    def fill(self, words: tuple[str, ...]) -> list[str]:
        """Return words with places in place of their names."""
        return [self[word[1:-1]] if word[:1] == "{" and word[1:-1].isalpha() else word for word in words]


@pytest.fixture
def places(made: Path, tmp_path: Path) -> Places:
    return Places(made, tmp_path)


def test_every_command_is_tested_here_or_exempt_with_a_reason() -> None:
    assert set(WORDS) | set(NOT_ABOUT_A_HARNESS) == set(list_all_commands())
    assert not set(WORDS) & set(NOT_ABOUT_A_HARNESS)


REFUSED = {
    ("apply", 2),
    ("check-proof", 3),
    ("prove", 3),
    ("oracle", 2),
    ("verify", 3),
    ("retain", 0),
    ("grants", 0),
    ("resolve", 0),
}
"""Runs that end with code 2, because what they are given is not a candidate, or there is no policy, or no doubt."""


@pytest.mark.parametrize(("name", "number"), RUNS, ids=str)
@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
def test_no_command_prints_a_secret(name: str, number: int, how: tuple[str, ...], places: Places) -> None:
    words = places.fill(WORDS[name][number])
    if name == "hook":
        settings = str(Path(places["client"]) / ".claude/settings.json")
        edit = {"file_path": settings, "content": json.dumps({"env": {"API_KEY": OTHER}, "model": 5})}
        event = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": edit, "cwd": places["client"]}
        done = run(*words, given=json.dumps(event))
        assert "settings.json" in done.output
    elif "openai:m" in words:
        with FaultServer([Act(text=json.dumps(WRONG))] * 9) as server:
            variables = {"TAKEBACK_BASE_URL": server.base_url, "TAKEBACK_API_KEY": "none"}
            done = run(*words, *how, **variables)
    else:
        done = run(*words, *(how if "--json" not in words else ()))
    raised = str(done.exception) if isinstance(done.exception, TakebackError) else ""
    refused = bool(raised) or done.exit_code == 2
    assert refused is ((name, number) in REFUSED), done.output + raised
    assert done.output or raised or name == "git-hook"
    assert not held(done.output + raised), done.output


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "{bad}"),
        ("prove", "{bad}"),
        ("oracle", "{bad}", "--state", "{state}"),
        ("repair", "{wrong}", "--synthesizer", "oracle"),
        ("states", "{good}", "--state", "{state}"),
        ("evolve", "{dir}", "--task", "{wrong}", "--synthesizer", "oracle"),
        ("gate", "--before", "{dir}", "--after", "{drifted}"),
        ("apply", "{good}", "--plan", "-C", "{undone}"),
        ("adopt", "-C", "{drifted}"),
    ],
    ids=lambda words: words[0],
)
def test_the_reveal_option_shows_the_secret(words: tuple[str, ...], places: Places) -> None:
    done = run(*places.fill(words), "--json", "--reveal")
    assert "masked by takeback" not in done.output
    if words[0] not in ("verify", "prove"):
        assert held(done.output), done.output
