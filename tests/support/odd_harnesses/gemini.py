"""Gemini CLI: one with comments wherever they may stand, one minified, one with CRLF and tabs."""

from __future__ import annotations

COMMENTED = {
    ".gemini/settings.json": '// a\n{ // b\n  "model": /* c */ { "name": "g" /* d */ }, // e\n  /* f */ "mcpServers": {\n    // g\n    "one": { "command": "1", "args": [ "x" // h\n    , "x" ] },\n    /* "off": {} , */\n    "two": { "httpUrl": "http://127.0.0.1:1/m", "trust": false }\n    // i\n  },\n'
    '  "hooks": { "BeforeTool": [ // j\n    { "matcher": "a", "sequential": true, "hooks": [ { "name": "n", "type": "command", "command": "a" } ] } /* k */ ,\n    { "matcher": "b", "hooks": [ { "name": "m", "type": "command", "command": "b", "timeout": 1000 } ] }\n  ] },\n  "context": { "fileName": [ "GEMINI.md", "NOTES.md" ] }\n}\n// l',
    "GEMINI.md": "- a\n- a\n\n@./more/x.md\n",
    "more/x.md": "x\n@y.md\n",
    "more/y.md": "y\n",
    "NOTES.md": "notes\n",
}
COMMENTED_EDITS = [
    (".gemini/settings.json", "// a\n", "// aa\n"),
    (".gemini/settings.json", '"name": "g"', '"name": "gg"'),
    (".gemini/settings.json", '"x" // h\n    , "x" ]', '"x" // h\n    , "x", "y" ]'),
    (".gemini/settings.json", '/* "off": {} , */\n', ""),
    (".gemini/settings.json", '"trust": false }', '"trust": false },\n    "three": { "command": "3" }'),
    (".gemini/settings.json", '"command": "a"', '"command": "aa"'),
    (".gemini/settings.json", '"timeout": 1000', '"timeout": 2000'),
    (".gemini/settings.json", '"NOTES.md" ]', '"NOTES.md", "MORE.md" ]'),
    (".gemini/settings.json", "// l", "// l\n"),
    ("GEMINI.md", "- a\n- a\n", "- a\n- a\n- a\n"),
    ("more/x.md", "x\n", "xx\n"),
    ("more/y.md", "y\n", "yy"),
    ("NOTES.md", "notes", "no notes"),
]

MINIFIED = {
    ".gemini/settings.json": '{"model":{"name":"g","maxSessionTurns":-1},"tools":{"allowed":["a","a","a"],"exclude":[]},"mcp":{"excluded":["z"]},"mcpServers":{"m":{"command":"m","env":{"A":"$B"}}},"hooks":{"AfterTool":[{"hooks":[{"type":"command","command":"x"}]}]},"ui":{"theme":"t"}}',
    ".gemini/commands/a.toml": "prompt='p'",
    ".gemini/agents/q.md": "---\nname: q\ndescription: q\n---\nq",
    ".gemini/skills/w/SKILL.md": "---\nname: w\ndescription: w\n---\nw\n",
    "GEMINI.md": "g",
}
MINIFIED_EDITS = [
    (".gemini/settings.json", '"maxSessionTurns":-1', '"maxSessionTurns":9'),
    (".gemini/settings.json", '["a","a","a"]', '["a","a"]'),
    (".gemini/settings.json", '"exclude":[]', '"exclude":["b"]'),
    (".gemini/settings.json", '"mcp":{"excluded":["z"]},', ""),
    (".gemini/settings.json", '"A":"$B"', '"A":"$C"'),
    (".gemini/settings.json", '"command":"x"', '"command":"xx"'),
    (".gemini/settings.json", '"theme":"t"', '"theme":"t","hideTips":true'),
    (".gemini/commands/a.toml", "prompt='p'", "prompt='q'"),
    (".gemini/commands/a.toml", "prompt=", "description='d'\nprompt="),
    (".gemini/agents/q.md", "---\nq", "---\nqq"),
    (".gemini/skills/w/SKILL.md", "---\nw\n", "---\nw w\n"),
    ("GEMINI.md", "g", "g\n\ng\n"),
]

TABBED = {
    ".gemini/settings.json": '{\r\n\t"general"\t:\t{ "vimMode" : true , "preferredEditor" : "vi" }\r\n\t,\t"mcpServers"\t:\t{\r\n\t\t"a"\t:\t{ "command" : "a" }\r\n\t\t,\t"b"\t:\t{ "url" : "http://127.0.0.1:1/sse" }\r\n\t}\r\n\t,\t"security"\t:\t{ "folderTrust" : { "enabled" : true } }\r\n}',
    ".gemini/commands/git/fix.toml": '# fix\r\ndescription = "f" # d\r\nprompt = """\r\nFix {{args}}\r\n\r\nnow\r\n"""\r\n',
    ".gemini/hooks/a.sh": "#!/bin/sh\r\n",
    "GEMINI.md": "a\r\nb\nc\r\n",
    "sub/GEMINI.md": "s\n",
}
TABBED_EDITS = [
    (".gemini/settings.json", '"vimMode" : true , ', ""),
    (".gemini/settings.json", '"preferredEditor" : "vi"', '"preferredEditor" : "emacs"'),
    (".gemini/settings.json", '\r\n\t\t,\t"b"\t:\t{ "url" : "http://127.0.0.1:1/sse" }', ""),
    (".gemini/settings.json", '{ "command" : "a" }', '{ "command" : "a" , "args" : [] }'),
    (".gemini/settings.json", '"enabled" : true', '"enabled" : false'),
    (".gemini/settings.json", "\r\n}", "\r\n}\r\n"),
    (".gemini/commands/git/fix.toml", "# fix\r\n", ""),
    (".gemini/commands/git/fix.toml", '"f" # d', "'ff' # d"),
    (".gemini/commands/git/fix.toml", "now\r\n", "now\r\nor later\r\n"),
    (".gemini/hooks/a.sh", "\r\n", "\n"),
    ("GEMINI.md", "b\n", "b\r\n"),
    ("GEMINI.md", "c\r\n", "c"),
    ("sub/GEMINI.md", "s", "sub"),
]

HARNESSES = {
    "gemini/commented": (COMMENTED, COMMENTED_EDITS),
    "gemini/minified": (MINIFIED, MINIFIED_EDITS),
    "gemini/tabbed": (TABBED, TABBED_EDITS),
}
