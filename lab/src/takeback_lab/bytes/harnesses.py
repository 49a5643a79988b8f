"""Clients' harnesses that the bytes experiment changes: each in a style of its own, and as odd as its formats allow."""

from __future__ import annotations

from typing import Final

HARNESSES: Final[dict[str, dict[str, str]]] = {
    "claude-code": {
        "CLAUDE.md": "# Orchard\r\n\r\n- trees by row\r\n- trees by row\r\n- see @docs/rows.md\r\n\r\nno end",
        "docs/rows.md": "\ufeffRows run north.\n\n\nRows are numbered.\n",
        ".mcp.json": '{"mcpServers":{"trees":{"command":"trees","args":["-a","-a"],"env":{"T":"1"}},"w":{"command":"w"}}}',
        ".claude/settings.json": '{\r\n\t"permissions"\r\n\t: { "allow" :\r\n\t  [ "Read"\r\n\t  , "Read"\r\n\t  , "Bash(ls:*)"\r\n\t  ]\r\n'
        '\t  , "deny" : [ ]\r\n\t  }\r\n\t, "model" : "opus"\r\n\t, "env" : {\t"A" : "\\u0061\\/b"\t}\r\n\t, "cleanupPeriodDays" : 30\r\n'
        '\t, "hooks" : { "PreToolUse" : [ { "matcher" : "Edit", "hooks" : [ { "type" : "command", "command" : "a" } ] }\r\n'
        '\t  , { "matcher" : "Bash", "hooks" : [ { "type" : "command", "command" : "b" } ] } ] }\r\n\t, "x" : { "n" : 1e3 }\r\n}',
        ".claude/settings.local.json": '{"env":{"B":"2"},\n\n"permissions":{"allow":["Bash(cat:*)"]}}\n',
        ".claude/agents/picker.md": "---\nname: picker\ndescription: Picks.\n---\n\nPick ripe ones.\nOnly those.",
        ".claude/hooks/a.sh": "#!/bin/sh\necho a\n",
    },
    "codex": {
        "AGENTS.md": "one\n\none\n",
        ".codex/config.toml": "# ours\nmodel = 'm'\t# main\n\n[features]  # all\nweb = true\nn = 1_000\n\n  [tui]\n  list = [\n    'a', # first\n"
        "    'a',\n    'b'\n  ]\n  inline = { x = 1, 'y z' = 'two' }\n\n[mcp_servers.'d.t']\ncommand = \"d\"\nargs = []\n\n[[hooks.Stop]]\n"
        "[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"s\"\n\n[mcp_servers.e]\ncommand = 'e'\n\n[[hooks.Stop]]\nmatcher = 'z'\n"
        '[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "t"\n',
        ".codex/hooks.json": '{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"p"}]}]}}',
        ".codex/agents/r.toml": 'name = "r"\r\ndescription = "R"\r\ndeveloper_instructions = """\r\nFirst.\r\nSecond.\r\n"""\r\n',
    },
    "opencode": {
        "AGENTS.md": "- a\n- b",
        "opencode.jsonc": '// top\n{ /* a */ "model": "a/b", // main\n  "small_model": "a/c",\n  "mcp": { "l": { "type": "local", "command": ["l"], }, },\n'
        '  "theme": "dark", "username": "u", /* people */\n  "tools": { "write": true, "webfetch": false, },\n'
        '  "instructions": [ "docs/a.md", /* more */ "docs/b.md", ],\n  // end\n}\n',
        "docs/a.md": "alpha\nbeta\n",
        ".opencode/agent/x.md": "---\ndescription: X\n---\nBe x.\nBe x.\nBe y.\n",
    },
    "gemini": {
        "GEMINI.md": "# G\n\n\nalpha\nbeta\n",
        ".gemini/settings.json": '{ /* ours */ "model" : { "name" : "g" , "maxSessionTurns" : 9 }\n, "mcpServers" : { "m" : { "command" : "m" } // only\n}\n'
        ', "hooks" : { "BeforeTool" : [ { "matcher" : "w" , "hooks" : [ { "type" : "command" , "command" : "c" } ] } ] }\n'
        ', "tools" : { "allowed" : [ "a" , "a" , "b" ] }\n, "ui" : { "theme" : "t" , "hideTips" : true }\n}',
        ".gemini/commands/c.toml": "description = 'd' # why\nprompt = '''\nfirst\nsecond\n'''\n",
        ".gemini/hooks/h.sh": "#!/bin/sh\ntrue\n",
    },
}
