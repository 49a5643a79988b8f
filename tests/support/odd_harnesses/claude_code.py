"""Claude Code: one minified, one comma-first with tabs and CRLF, one with a line for every token."""

from __future__ import annotations

MINIFIED = {
    "CLAUDE.md": "one line and no end",
    ".mcp.json": '{"mcpServers":{"\\u0061 b":{"command":"x","args":["","",""]},"h.t":{"type":"http","url":"http://127.0.0.1:1/m","headers":{"A":"b"}}}}',
    ".claude/settings.json": '{"permissions":{"allow":["Read","Read","Read"],"ask":[],"deny":["Bash(rm:*)","Bash(sudo:*)"]},'
    '"env":{"A":"1"},"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"a"}]},{"hooks":[{"type":"command","command":"a"}]}],'
    '"Stop":[{"hooks":[{"type":"command","command":"s"}]}]},"statusLine":{"type":"command","command":"p"},"cleanupPeriodDays":30}',
    ".claude/agents/a.md": "---\nname: a\ndescription: 'A: with a colon'\ntools: [Read,Bash]\n---\nx",
    ".claude/skills/k/SKILL.md": "---\nname: k\ndescription: >-\n  folded\n  text\n---\n",
    ".claude/skills/k/run.sh": "#!/bin/sh\necho k",
}
MINIFIED_EDITS = [
    ("CLAUDE.md", "one line", "one long line"),
    ("CLAUDE.md", "no end", "no end\nbut two lines"),
    (".mcp.json", '"",""]', '"","",""]'),
    (".mcp.json", '"h.t":{', '"n":{"command":"n"},"h.t":{'),
    (".mcp.json", '"headers":{"A":"b"}', '"headers":{"A":"c"}'),
    (".claude/settings.json", '"Read","Read","Read"', '"Read","Read"'),
    (".claude/settings.json", '"ask":[]', '"ask":["Write"]'),
    (".claude/settings.json", '"Bash(rm:*)",', ""),
    (".claude/settings.json", '"Bash(sudo:*)"', '"Bash(sudo:*)","Bash(su:*)"'),
    (".claude/settings.json", '"env":{"A":"1"}', '"env":{"A":"1","B":"2"}'),
    (".claude/settings.json", '"cleanupPeriodDays":30', '"cleanupPeriodDays":31'),
    (".claude/settings.json", '"command":"s"', '"command":"s","timeout":5'),
    (".claude/settings.json", '"command":"p"', '"command":"pp"'),
    (".claude/agents/a.md", "[Read,Bash]", "[Read]"),
    (".claude/agents/a.md", "---\nx", "---\nxy"),
    (".claude/skills/k/SKILL.md", "  text\n", "  more text\n"),
    (".claude/skills/k/run.sh", "echo k", "echo kk"),
]

COMMA_FIRST = {
    "CLAUDE.md": "\ufeff# Top\r\n\r\n* a\r\n* a\r\n* a\r\n\r\n@docs/./b.md and @docs/c.md\r\n",
    "docs/b.md": "b\n\n\n\nb\n",
    "docs/c.md": "c: \t\n",
    "CLAUDE.local.md": "mine\n",
    "a/b/c/CLAUDE.md": "deep\n",
    ".mcp.json": '\ufeff{\r\n\t"mcpServers":\r\n\t{ "one": { "command": "1"\r\n\t         , "args": [ "a"\r\n\t                   , "b"\r\n\t                   ]\r\n\t         }\r\n\t, "two": { "command": "2" }\r\n\t}\r\n}\r\n',
    ".claude/settings.json": '{\r\n  "permissions":\r\n  { "allow":\r\n    [ "Bash(a:*)"\r\n    , "Bash(b:*)"\r\n    , "Bash(c:*)"\r\n    ]\r\n  , "deny":\r\n    [\r\n    ]\r\n  }\r\n'
    ', "env": {\t"PATH_LIKE": "a\\\\b\\/c\\u00e9"\t}\r\n, "hooks":\r\n  { "PreToolUse":\r\n    [ { "matcher": "Bash"\r\n      , "hooks": [ { "type": "command", "command": "one" } ]\r\n      }\r\n    , { "matcher": "Edit"\r\n      , "hooks": [ { "type": "command", "command": "two" } ]\r\n      }\r\n    ]\r\n  }\r\n, "model": "opus"\r\n}\r\n\r\n',
    ".claude/settings.local.json": '{"permissions":\n\n{"additionalDirectories":["../x"]}}',
    ".claude/rules/sql.md": "---\npaths:\n  - 'db/**'\n---\nNo joins.\n",
    ".claude/output-styles/terse.md": "---\nname: terse\n---\nBe terse.\n",
    ".claude/commands/a b.md": "with a blank in its name\n",
}
COMMA_FIRST_EDITS = [
    ("CLAUDE.md", "* a\r\n\r\n@", "* a\r\n* a\r\n\r\n@"),
    ("CLAUDE.md", "# Top", "# The top"),
    ("docs/b.md", "b\n\n\n\nb", "b\n\n\n\n\nb"),
    ("docs/c.md", "c: \t\n", "c:\n"),
    ("CLAUDE.local.md", "mine", "yours"),
    ("a/b/c/CLAUDE.md", "deep\n", "deep\r\n"),
    (".mcp.json", '\r\n\t                   , "b"', '\r\n\t                   , "b"\r\n\t                   , "c"'),
    (".mcp.json", '\r\n\t, "two": { "command": "2" }', ""),
    (".mcp.json", '{ "one"', '{ "zero": { "command": "0" }\r\n\t, "one"'),
    (".claude/settings.json", '[ "Bash(a:*)"\r\n    , ', '[ "Bash(a:*)"\r\n    , "Bash(aa:*)"\r\n    , '),
    (".claude/settings.json", '\r\n    , "Bash(c:*)"', ""),
    (".claude/settings.json", '"deny":\r\n    [\r\n    ]', '"deny":\r\n    [ "Read(./.env)"\r\n    ]'),
    (".claude/settings.json", 'c\\u00e9"', 'c\\u00e9"\t, "NEW": ""'),
    (
        ".claude/settings.json",
        '"command": "two" } ]',
        '"command": "two" }, { "type": "command", "command": "three" } ]',
    ),
    (".claude/settings.json", ', "model": "opus"', ', "model": "opus"\r\n, "outputStyle": "terse"'),
    (".claude/settings.json", "\r\n}\r\n\r\n", "\r\n}\r\n"),
    (".claude/settings.local.json", '["../x"]', '["../x","../y"]'),
    (".claude/rules/sql.md", "'db/**'", '"db/**"'),
    (".claude/output-styles/terse.md", "Be terse", "Be very terse"),
    (".claude/commands/a b.md", "blank", "space"),
]

AIRY = {
    "CLAUDE.md": "\n\n\n# Airy\n\n\nlast line without an end",
    ".claude/CLAUDE.md": "also read\n",
    ".mcp.json": '{\n\n  "$note"  :  "kept"  ,\n  "mcpServers"  :  {  }\n\n}',
    ".claude/settings.json": '\n\n{\n"permissions"\n:\n{\n"allow"\n:\n[\n"Read"\n,\n"Write"\n]\n}\n,\n"env"\n:\n{\n"A"\n:\n"1"\n,\n"A"\n:\n"2"\n}\n,\n"x"\n:\n'
    '[\n[\n]\n,\n[\n1E+2\n,\n-0.0\n,\nnull\n,\n{\n}\n]\n,\n{\n"a.b"\n:\n"c\\"d"\n}\n]\n,\n"hooks"\n:\n{\n"Stop"\n:\n[\n{\n"hooks"\n:\n[\n]\n}\n]\n,\n"PreToolUse"\n:\n[\n]\n}\n}\n\n\n',
    ".claude/agents/deep/er.md": "---\r\nname: er\r\ndescription: CRLF\r\n---\r\n\r\nA\r\nB\r\n",
    ".claude/hooks/no-ending": "\x00\x01 not text",
}
AIRY_EDITS = [
    ("CLAUDE.md", "\n\n\n# Airy", "\n\n# Airy"),
    ("CLAUDE.md", "without an end", "with an end\n"),
    (".claude/CLAUDE.md", "also read", "also read this"),
    (".mcp.json", '"mcpServers"  :  {  }', '"mcpServers"  :  { "n" : { "command" : "n" } }'),
    (".mcp.json", '"kept"', '"kept too"'),
    (".claude/settings.json", '[\n"Read"\n,', '[\n"Read"\n,\n"Edit"\n,'),
    (".claude/settings.json", ',\n"Write"\n]', "]"),
    (".claude/settings.json", '"A"\n:\n"2"', '"A"\n:\n"3"'),
    (".claude/settings.json", "1E+2", "100.0"),
    (".claude/settings.json", "-0.0\n,\nnull", "-0.0\n,\ntrue\n,\nnull"),
    (".claude/settings.json", '"c\\"d"', '"c\\"e"'),
    (
        ".claude/settings.json",
        '"hooks"\n:\n[\n]\n',
        '"hooks"\n:\n[\n{\n"type"\n:\n"command"\n,\n"command"\n:\n"c"\n}\n]\n',
    ),
    (".claude/settings.json", '"PreToolUse"\n:\n[\n]', '"PreToolUse"\n:\n[\n{\n"hooks"\n:\n[\n]\n}\n]'),
    (".claude/settings.json", "\n\n{\n", "{\n"),
    (".claude/agents/deep/er.md", "A\r\n", "A\r\nA\r\n"),
    (".claude/agents/deep/er.md", "B\r\n", "B"),
    (".claude/hooks/no-ending", "\x01", "\x02\x03"),
]

HARNESSES = {
    "claude-code/minified": (MINIFIED, MINIFIED_EDITS),
    "claude-code/comma-first": (COMMA_FIRST, COMMA_FIRST_EDITS),
    "claude-code/airy": (AIRY, AIRY_EDITS),
}
