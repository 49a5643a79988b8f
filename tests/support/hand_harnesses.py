"""Harnesses of the four clients made from a seed, in odd but legal formatting."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.support.written import File, Files, Lines, Pen

MAIN = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "opencode": "opencode.jsonc",
    "gemini": ".gemini/settings.json",
}
TEXT = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md", "opencode": "AGENTS.md", "gemini": "GEMINI.md"}
AGENT = {
    "claude-code": ".claude/agents/a.md",
    "codex": ".agents/skills/a/SKILL.md",
    "opencode": ".opencode/agent/a.md",
    "gemini": ".gemini/agents/a.md",
}
SCRIPT = {
    "claude-code": ".claude/hooks/h.sh",
    "codex": ".codex/hooks/h.sh",
    "opencode": ".opencode/plugin/h.js",
    "gemini": ".gemini/hooks/h.sh",
}
WORDS = ("cents", "never floats", "- one", "- one", "", "## Part", "see below", "```", "-   two")


def harness(client: str, rnd: random.Random) -> Files:
    """A harness in formatting of its own."""
    found = Files()
    if client == "codex":
        found.files[MAIN[client]] = _config_toml(rnd)
        found.files[".codex/hooks.json"] = _json(rnd, {"hooks": _hooks(rnd, ("PreToolUse", "Stop"))}, mark=False)
    else:
        value = {"claude-code": _claude, "opencode": _opencode, "gemini": _gemini}[client](rnd)
        value = dict(rnd.sample(list(value.items()), len(value)))
        found.files[MAIN[client]] = _json(
            rnd, value, comments=client != "claude-code", trailing=client == "opencode", mark=client != "gemini"
        )
    if client == "claude-code":
        found.files[".mcp.json"] = _json(rnd, {"mcpServers": _servers(rnd)})
    newline = rnd.choice(["\n", "\r\n"])
    lines = [(f"l{at}", rnd.choice(WORDS)) for at in range(rnd.randint(2, 9))]
    mark = rnd.choice(["", "", "\ufeff"])
    found.files[TEXT[client]] = File(Lines(lines, newline, final=rnd.random() < 0.7), mark=mark)
    front = [
        "---",
        "name: a",
        "description: An agent.",
        "tools:",
        "  - Read",
        "  - Read",
        "---",
        "",
        "Be it.",
        "Twice.",
    ]
    found.files[AGENT[client]] = File(Lines([(f"f{at}", text) for at, text in enumerate(front)], "\n"))
    script = ["#!/bin/sh", "# guard", "exit 0"] if client != "opencode" else ["export const P = async () => ({})"]
    found.files[SCRIPT[client]] = File(Lines([(f"s{at}", text) for at, text in enumerate(script)]), 0o755)
    return found


def _json(
    rnd: random.Random, value: Any, *, comments: bool = False, trailing: bool = False, mark: bool = True
) -> File:
    pen = Pen(rnd, comments=comments, trailing=trailing)
    start = rnd.choice(["", "", "\ufeff"]) if mark else ""
    return File(pen.box(value), mark=start, ending=rnd.choice(["", pen.newline, pen.newline * 2]))


def _rules(rnd: random.Random) -> list[str]:
    return [
        rnd.choice(["Bash(ls:*)", "Bash(ls:*)", "Read", "Edit(src/**)", "Bash(a, b)"])
        for _ in range(rnd.randint(0, 5))
    ]


def command(rnd: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "command", "command": rnd.choice(["true", "a.sh", 'echo "x, y"', "b.sh"])}
    return found | ({"timeout": rnd.choice([5, 60])} if rnd.random() < 0.4 else {})


def group(rnd: random.Random) -> dict[str, Any]:
    matcher = {"matcher": rnd.choice(["Bash", "Edit|Write", ""])} if rnd.random() < 0.7 else {}
    return {**matcher, "hooks": [command(rnd) for _ in range(rnd.randint(1, 3))]}


def _hooks(rnd: random.Random, events: tuple[str, ...]) -> dict[str, Any]:
    return {event: [group(rnd) for _ in range(rnd.randint(1, 3))] for event in events}


def server(rnd: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"command": rnd.choice(["npx", "uvx"]), "args": ["-y", "x", "x"][: rnd.randint(0, 3)]}
    return found | ({"env": {"A": "1", "B": "2"}} if rnd.random() < 0.5 else {})


def _servers(rnd: random.Random) -> dict[str, Any]:
    return {name: server(rnd) for name in rnd.sample(["x", "y", "a.b", "git hub"], rnd.randint(1, 3))}


def _claude(rnd: random.Random) -> dict[str, Any]:
    return {
        "model": "opus",
        "permissions": {"allow": _rules(rnd), "deny": _rules(rnd), "defaultMode": "plan"},
        "env": {"ONE": "1", "TWO": "2"},
        "hooks": _hooks(rnd, ("PreToolUse", "Stop")),
        "x-other": [{"deep": [1, 2.5, {}]}, []],
    }


def _opencode(rnd: random.Random) -> dict[str, Any]:
    local = {"type": "local", "command": ["l", "-v"], "enabled": True}
    return {
        "$schema": "https://opencode.ai/config.json",
        "model": "a/b",
        "mcp": {"x": local, "y": {"type": "remote", "url": "http://127.0.0.1:1/m"}},
        "permission": {"bash": {"*": "ask", "ls *": "allow", "rm *": "deny"}, "edit": "ask"},
        "instructions": [rnd.choice(["docs/*.md", "none.md"]), "none.md"],
        "agent": {"plan": {"model": "a/c", "temperature": 0.1}},
    }


def _gemini(rnd: random.Random) -> dict[str, Any]:
    return {
        "model": {"name": "g", "maxSessionTurns": 3},
        "mcpServers": _servers(rnd),
        "tools": {"allowed": _rules(rnd), "exclude": []},
        "hooks": _hooks(rnd, ("BeforeTool", "SessionStart")),
        "ui": {"theme": "x"},
    }


def _config_toml(rnd: random.Random) -> File:
    quote = rnd.choice(["'", '"'])
    top = [("model", f"model = {quote}gpt{quote}  # main 1"), ("", ""), ("policy", 'approval_policy="never"')]
    top += [
        ("inline", rnd.choice(["features = { a = true, b = false } # in 2", "features.a = true\nfeatures.b = false"]))
    ]
    array = ["notify = [ 'a', 'a', 'b' ]", 'notify = [\n  "a", # first 3\n  "a",\n\n  "b"\n  # last 4\n]']
    blocks = [
        [
            ("mcp x", "[mcp_servers.x]"),
            ("mcp x c", 'command = "x"'),
            ("mcp x a", 'args = [\n  "-a", # a 5\n  "-b",\n]'),
        ],
        [("mcp y", '[mcp_servers."y.z"]  # url 6'), ("mcp y u", "url = 'http://127.0.0.1:1/m'")],
        [("tui", "[tui]"), ("tui s", "sound = false"), ("tui t", 'text = """\nLine one.\nLine two.\n"""')],
    ]
    blocks += [toml_group(f"hook {at}", "Stop", group(rnd)) for at in range(rnd.randint(1, 3))]
    rnd.shuffle(blocks)
    lines = [*top, ("notify", rnd.choice(array))]
    for block in blocks:
        lines += [("", ""), *block] if rnd.random() < 0.7 else block
    newline = rnd.choice(["\n", "\r\n"])
    return File(Lines(lines, newline, final=rnd.random() < 0.6), mark=rnd.choice(["", "", "\ufeff"]))


def toml_group(name: str, event: str, value: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [(name, f"[[hooks.{event}]]")]
    lines += [(f"{name} m", f"matcher = {json.dumps(value['matcher'])}")] if "matcher" in value else []
    for at, one in enumerate(value["hooks"]):
        lines.append((f"{name} {at}", f"  [[hooks.{event}.hooks]]"))
        lines += [(f"{name} {at} {key}", f"  {key} = {json.dumps(item)}") for key, item in one.items()]
    return lines
