"""Small harnesses of real clients, written as odd as their formats allow, and edits by hand of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.support.odd_harnesses import claude_code, codex, gemini, more_clients, opencode


class HandEdit(NamedTuple):
    """One text for another in one file; the old one stands there once."""

    path: str
    old: str
    new: str


HARNESSES: dict[str, dict[str, str]] = {
    "claude-code": {
        "CLAUDE.md": "# Ledger\n\n- cents, never floats\n- cents, never floats\n- see @docs/money.md\n\nend",
        "docs/money.md": "One currency.\r\nOne rounding.\r\n",
        "packages/api/CLAUDE.md": "# API\n\nNo breaking change.\n",
        ".mcp.json": '{"mcpServers":{"a":{"command":"a","args":["-x","-y"],"env":{"A":"1","B":"2"}},"b":{"command":"b"}}}',
        ".claude/settings.json": '\ufeff{\r\n\t"model" : "opus"\r\n\t, "permissions" : {\r\n\t\t"allow" : [\r\n'
        '\t\t\t"Bash(ls:*)"\r\n\t\t,\t"Bash(ls:*)"\r\n\t\t,\t"Read"\r\n\t\t]\r\n\t\t, "deny" : []\r\n\t}\r\n'
        '\t, "env" : { "ONE" : "1", "TWO" : "2" }\r\n'
        '\t, "hooks" : { "Stop" : [ { "hooks" : [ { "type" : "command", "command" : "true" } ] } ],\r\n'
        '\t             "PreToolUse" : [ { "matcher" : "Bash", "hooks" : [ { "type" : "command", "command" : "a" } ] }\r\n'
        '\t\t, { "matcher" : "Edit", "hooks" : [ { "type" : "command", "command" : "b" } ] } ] }\r\n'
        '\t, "x-unknown" : [ { "deep" : [ 1, 2.50, 1e3 ] } ]\r\n}',
        ".claude/settings.local.json": '{ "permissions": { "allow": [ "Bash(cat:*)" ] } }\n',
        ".claude/agents/tester.md": "---\nname: tester\ndescription: Tests.\n---\n\nTest it.\nTwice.\n",
        ".claude/commands/ship/it.md": "Ship $ARGUMENTS.\n",
        ".claude/rules/db.md": "No joins.\n",
        ".claude/skills/notes/SKILL.md": "---\nname: notes\ndescription: Notes.\n---\nUse assets/a.md\n",
        ".claude/skills/notes/assets/a.md": "template\n",
        ".claude/hooks/guard.sh": "#!/bin/sh\nexit 0\n",
    },
    "codex": {
        "AGENTS.md": "# Agents\r\n\r\n- one\r\n- two\r\n- three\r\n",
        "sub/AGENTS.override.md": "Only here.\n",
        ".codex/config.toml": "# ours\nmodel = 'gpt-5.5'   # main\napproval_policy=\"never\"\n\n"
        'features = { a = true, b = false } # inline\n[mcp_servers.x]\ncommand = "x"\nargs = [\n  "-a", # first\n'
        '  "-b",\n]\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "true"\n\n[tui]\nsound = false\n'
        "\n[[hooks.Stop]]\nmatcher = 'z'\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = 'z'\n"
        '\n["mcp_servers"."y.z"]\nurl = "http://127.0.0.1:1/mcp"\n',
        ".codex/hooks.json": '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}',
        ".codex/agents/r.toml": 'name = "r"\ndescription = "R"\ndeveloper_instructions = """\nLine one.\nLine two.\n"""\n',
        ".codex/rules/a.rules": 'prefix_rule(pattern = ["git"], decision = "allow")\n',
        ".agents/skills/s/SKILL.md": "---\nname: s\ndescription: S\n---\nDo s.\n",
    },
    "opencode": {
        "opencode.jsonc": '// top\n{ "model": "a/b", // main\n  "mcp": { "l": { "type": "local", "command": ["l", "-v"], }, },\n'
        '  "permission": { "bash": { "*": "ask", "ls *": "allow", "rm *": "deny" }, "edit": "ask" },\n'
        '  "instructions": [ "docs/*.md" /* all */, ],\n  "agent": { "plan": { "model": "a/c", "temperature": 0.10 } },\n}\n',
        "docs/one.md": "One.\n",
        "AGENTS.md": "- a\n- b\n- c\n",
        ".opencode/agent/x.md": "---\ndescription: X\n---\nBe x.\n",
        ".opencode/plugin/p.js": "export const P = async () => ({})\n",
    },
    "gemini": {
        ".gemini/settings.json": '{ /* ours */ "model": { "name": "g" },\n"mcpServers": { "m": { "command": "m",\n'
        '"timeout": 1 } }, // end\n"hooks": { "BeforeTool": [ { "matcher": "x", "hooks": [ { "type": "command",'
        ' "command": "true" } ] } ] },\n"tools": { "allowed": [ "a", "b" ] } }\n',
        "GEMINI.md": "# G\n\nalpha\nbeta\n@./docs/g.md\n",
        "docs/g.md": "gamma\n",
        ".gemini/commands/c/d.toml": 'description = "d"\nprompt = """\nfirst\nsecond\n"""\n',
        ".gemini/hooks/h.sh": "#!/bin/sh\ntrue\n",
    },
}

EDITS: dict[str, list[HandEdit]] = {
    "claude-code": [
        HandEdit("CLAUDE.md", "# Ledger", "# The ledger"),
        HandEdit("CLAUDE.md", "\n\nend", "\n- round half even\n\nend"),
        HandEdit("docs/money.md", "One rounding", "No rounding"),
        HandEdit("packages/api/CLAUDE.md", "No breaking", "Never a breaking"),
        HandEdit(".mcp.json", '"b":{"command":"b"}', '"b":{"command":"b"},"c":{"command":"c"}'),
        HandEdit(".mcp.json", '"-y"', '"-z"'),
        HandEdit(".mcp.json", '"A":"1"', '"A":"9"'),
        HandEdit(".mcp.json", ',"B":"2"', ',"B":"2","C":"3"'),
        HandEdit(".claude/settings.json", '"model" : "opus"', '"model" : "haiku"'),
        HandEdit(".claude/settings.json", ',\t"Read"', ',\t"Read"\r\n\t\t,\t"Write"'),
        HandEdit(".claude/settings.json", '"deny" : []', '"deny" : [ "Bash(rm:*)" ]'),
        HandEdit(".claude/settings.json", '"TWO" : "2"', '"TWO" : "3"'),
        HandEdit(".claude/settings.json", ', "env" : { "ONE" : "1",', ', "env" : {'),
        HandEdit(".claude/settings.json", '"command" : "b"', '"command" : "bb"'),
        HandEdit(".claude/settings.json", "2.50", "2.5"),
        HandEdit(".claude/settings.json", "[ 1,", "[ 1 ,"),
        HandEdit(".claude/settings.local.json", '"Bash(cat:*)"', '"Bash(cat:*)", "Bash(sed:*)"'),
        HandEdit(".claude/agents/tester.md", "Twice", "Three times"),
        HandEdit(".claude/commands/ship/it.md", "Ship", "Do ship"),
        HandEdit(".claude/skills/notes/assets/a.md", "template", "a template"),
        HandEdit(".claude/hooks/guard.sh", "exit 0", "exit 2"),
    ],
    "codex": [
        HandEdit("AGENTS.md", "- two\r\n", ""),
        HandEdit("AGENTS.md", "- three", "- four"),
        HandEdit(".codex/config.toml", "'gpt-5.5'", '"gpt-6"'),
        HandEdit(".codex/config.toml", "# main", "# the main one"),
        HandEdit(".codex/config.toml", "b = false", "b = true, c = 1"),
        HandEdit(".codex/config.toml", '  "-b",\n', '  "-b", # second\n  "-c",\n'),
        HandEdit(".codex/config.toml", "[tui]\nsound = false\n", "[tui]\nsound = true\nlight = 1_000\n"),
        HandEdit(".codex/config.toml", "matcher = 'z'", "matcher = 'zz'"),
        HandEdit(".codex/hooks.json", '"command":"true"', '"command":"false"'),
        HandEdit(".codex/agents/r.toml", "Line two.", "Line three."),
        HandEdit(".codex/agents/r.toml", '"R"', '"RR"'),
        HandEdit(".codex/rules/a.rules", '"allow"', '"prompt"'),
        HandEdit(".agents/skills/s/SKILL.md", "Do s", "Do s well"),
    ],
    "opencode": [
        HandEdit("opencode.jsonc", "// main", "// the main one"),
        HandEdit("opencode.jsonc", '"a/b"', '"a/d"'),
        HandEdit("opencode.jsonc", '"*": "ask", "ls *"', '"*": "ask", "cat *": "allow", "ls *"'),
        HandEdit("opencode.jsonc", ', "rm *": "deny"', ""),
        HandEdit("opencode.jsonc", '["l", "-v"]', '["l"]'),
        HandEdit("opencode.jsonc", "0.10", "0.20"),
        HandEdit("opencode.jsonc", '"edit": "ask"', '"edit": "allow"'),
        HandEdit("docs/one.md", "One", "Two"),
        HandEdit("AGENTS.md", "- b\n", ""),
        HandEdit(".opencode/agent/x.md", "Be x", "Be y"),
        HandEdit(".opencode/plugin/p.js", "({})", "({ event() {} })"),
    ],
    "gemini": [
        HandEdit(".gemini/settings.json", "/* ours */", "/* theirs */"),
        HandEdit(".gemini/settings.json", '"g"', '"gg"'),
        HandEdit(".gemini/settings.json", '"timeout": 1', '"timeout": 2'),
        HandEdit(".gemini/settings.json", '"a", "b"', '"a", "c", "b"'),
        HandEdit(".gemini/settings.json", '"command": "true"', '"command": "false"'),
        HandEdit("GEMINI.md", "beta\n", ""),
        HandEdit("docs/g.md", "gamma", "delta"),
        HandEdit(".gemini/commands/c/d.toml", "second", "third"),
        HandEdit(".gemini/commands/c/d.toml", '"d"', '"dd"'),
        HandEdit(".gemini/hooks/h.sh", "true", "false"),
    ],
}


for _client in (claude_code, codex, opencode, gemini):
    for _name, (_files, _edits) in _client.HARNESSES.items():
        HARNESSES[_name] = _files
        EDITS[_name] = [HandEdit(*one) for one in _edits]


HARNESSES |= more_clients.FILES
EDITS |= {name: [HandEdit(*one) for one in edits] for name, edits in more_clients.EDITS.items()}


def write_harness(root: Path, client: str) -> Path:
    """Put a client's files into a directory; its scripts are executable."""
    for path, text in HARNESSES[client].items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
        if path.endswith(".sh"):
            place.chmod(0o755)
    return root


def edit(root: Path, one: HandEdit) -> None:
    """Edit a file as an editor would."""
    place = root / one.path
    data = place.read_bytes()
    if data.count(one.old.encode()) < 1:
        raise AssertionError(f"{one.path}: {one.old!r} is not there")
    place.write_bytes(data.replace(one.old.encode(), one.new.encode(), 1))


def files_of(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file but Takeback's own, with its mode."""
    return {
        str(place.relative_to(root)): (place.read_bytes(), place.stat().st_mode & 0o777)
        for place in sorted(root.rglob("*"))
        if place.is_file() and ".takeback" not in place.relative_to(root).parts
    }


def with_edits(files: dict[str, tuple[bytes, int]], edits: list[HandEdit]) -> dict[str, tuple[bytes, int]]:
    """The files as these edits alone would have made them."""
    found = dict(files)
    for one in edits:
        content, mode = found[one.path]
        found[one.path] = (content.replace(one.old.encode(), one.new.encode(), 1), mode)
    return found
