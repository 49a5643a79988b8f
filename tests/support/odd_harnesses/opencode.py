"""opencode: one with comments wherever they may stand, one of several documents, one minified."""

from __future__ import annotations

COMMENTED = {
    "opencode.jsonc": '\ufeff// a\r\n/* b */{/* c */"model"/* d */:/* e */"a/b"/* f */,// g\r\n"small_model":"a/c",\r\n/*\r\n * h\r\n */\r\n"mcp":{// i\r\n'
    '\t"one":{"type":"local","command":[/* j */"one",/* k */],/* l */},// m\r\n\t// "off": {"type":"local"},\r\n\t"two":{"type":"remote","url":"http://127.0.0.1:1/m",},\r\n},\r\n'
    '"permission":{"bash":{"*":"ask",// n\r\n"git *":"allow",/* o */"git push *":"deny",},"webfetch":"deny",},\r\n"instructions":["docs/a.md",/* p */"docs/sub/*.md",],\r\n// q\r\n}// r\r\n',
    "docs/a.md": "a\n",
    "docs/sub/b.md": "b\r\n",
    "AGENTS.md": "x\n\nx\n",
    ".opencode/command/go.md": "---\ndescription: go\n---\nGo $1\n",
}
COMMENTED_EDITS = [
    ("opencode.jsonc", "/* b */", "/* bb */"),
    ("opencode.jsonc", '"a/b"', '"a/x"'),
    ("opencode.jsonc", "// g", "// gg"),
    ("opencode.jsonc", '"small_model":"a/c",\r\n', ""),
    ("opencode.jsonc", '/* j */"one",', '/* j */"one","-v",'),
    ("opencode.jsonc", '\t"two":{', '\t"three":{"type":"local","command":["3"]},\r\n\t"two":{'),
    ("opencode.jsonc", '"git *":"allow",', '"ls *":"allow","git *":"allow",'),
    ("opencode.jsonc", '/* o */"git push *":"deny",', "/* o */"),
    ("opencode.jsonc", '"webfetch":"deny",', '"webfetch":"allow",'),
    ("opencode.jsonc", '["docs/a.md",', '["docs/a.md","docs/none.md",'),
    ("opencode.jsonc", "// q", ""),
    ("docs/a.md", "a", "aa"),
    ("docs/sub/b.md", "b\r\n", "b\n"),
    ("AGENTS.md", "x\n\nx", "x\n\n\nx"),
    (".opencode/command/go.md", "Go $1", "Go $2"),
]

SEVERAL = {
    "opencode.json": '{\n  "$schema": "https://opencode.ai/config.json",\n  "theme": "dark", // legal here too\n  "agent": {\n    "build": { "model": "a/b", "prompt": "{file:./prompts/build.txt}", "permission": { "edit": { "*": "ask", "*.md": "allow" } } },\n    "plan": { }\n  },\n}\n',
    "prompts/build.txt": "Build.\n",
    ".opencode/opencode.jsonc": '/* only a model */ { "model" : "x/y" }',
    ".opencode/opencode.json": "\n",
    ".opencode/agents/r.md": "---\ndescription: r\nmode: subagent\n---\nReview.\n",
    ".opencode/skills/z/SKILL.md": "---\nname: z\ndescription: z\n---\nz\n",
    ".opencode/skills/z/bin/tool": "#!/bin/sh\n",
    ".opencode/plugins/a.ts": "export const A = async () => ({})\n",
    "AGENTS.md": "end",
}
SEVERAL_EDITS = [
    ("opencode.json", '"dark"', '"light"'),
    ("opencode.json", '"model": "a/b"', '"model": "a/bb"'),
    ("opencode.json", '{ "*": "ask", "*.md": "allow" }', '{ "*.md": "allow", "*": "ask" }'),
    ("opencode.json", '"plan": { }', '"plan": { "temperature": 0.0 }'),
    ("opencode.json", "// legal here too", "// legal"),
    ("prompts/build.txt", "Build.", "Build it."),
    (".opencode/opencode.jsonc", '"x/y"', '"x/z"'),
    (".opencode/opencode.json", "\n", '{"share":"manual"}\n'),
    (".opencode/agents/r.md", "Review.", "Review it."),
    (".opencode/skills/z/SKILL.md", "---\nz\n", "---\nz\nz\n"),
    (".opencode/skills/z/bin/tool", "#!/bin/sh\n", "#!/bin/sh\nexit 1\n"),
    (".opencode/plugins/a.ts", "({})", "({ config() {} })"),
    ("AGENTS.md", "end", "the end\n"),
]

MINIFIED = {
    "opencode.jsonc": '{"mcp":{"a":{"type":"local","command":["a"],"environment":{"X":"1"},"enabled":false}},"permission":{"bash":{"a":"ask","b":"ask","c":"ask"}},"plugin":["p@1",["q",{"o":1}],"p@1"],"provider":{"x":{"options":{"baseURL":"http://127.0.0.1:1"}}},"command":{"t":{"template":"do \\u007bit\\u007d"}}}',
    "AGENTS.md": "",
}
MINIFIED_EDITS = [
    ("opencode.jsonc", '"X":"1"', '"X":"1","Y":"2"'),
    ("opencode.jsonc", '"enabled":false', '"enabled":true'),
    ("opencode.jsonc", '"a":"ask",', ""),
    ("opencode.jsonc", '"c":"ask"', '"c":"ask","d":"deny"'),
    ("opencode.jsonc", '["p@1",', "["),
    ("opencode.jsonc", '{"o":1}', '{"o":2}'),
    ("opencode.jsonc", "127.0.0.1:1", "127.0.0.1:2"),
    ("opencode.jsonc", "do \\u007bit", "do \\u007bthis"),
    ("AGENTS.md", "", "now something\n"),
]

HARNESSES = {
    "opencode/commented": (COMMENTED, COMMENTED_EDITS),
    "opencode/several": (SEVERAL, SEVERAL_EDITS),
    "opencode/minified": (MINIFIED, MINIFIED_EDITS),
}
