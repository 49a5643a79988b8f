"""Harnesses of further clients and kinds of repository, as odd as their formats allow, with edits by hand of each."""

from __future__ import annotations

Files = dict[str, str]
Edits = list[tuple[str, str, str]]
SKILL = "---\nname: notes\ndescription: Notes.\n---\r\nUse assets/a.md\n"
AGENTS = (
    "# Agents\n\n- cents, never floats\n- cents, never floats\n- one currency\r\n- one rounding\n- one ledger\n\nend"
)
AGENTS_EDITS: Edits = [
    ("AGENTS.md", "# Agents", "# The agents"),
    ("AGENTS.md", "- one currency\r\n", ""),
    ("AGENTS.md", "\n\nend", "\n- round half even\n\nend"),
]
GROUP = '{ "matcher" : "Edit", "hooks" : [ { "type" : "command", "command" : "b" } ] }'

FILES: dict[str, Files] = {
    "copilot": {
        ".github/copilot-instructions.md": "# Ledger\n\n- cents\n- cents\n",
        ".github/instructions/ts.instructions.md": "---\napplyTo: '**/*.ts, *.tsx'\n---\r\nNo any.\r\n",
        ".github/agents/reviewer.agent.md": "---\nname: reviewer\ndescription: R\n---\nReview.\nTwice.\n",
        ".github/skills/notes/SKILL.md": SKILL,
        ".github/skills/notes/assets/a.md": "template\n",
        ".github/copilot/settings.json": '{"model":"gpt-5.4" ,\r\n "effortLevel":   "high",\r\n\t"deniedUrls": [ "*.pastebin.com",\r\n'
        '                  "https://transfer.sh" ],\r\n "hooks": { "postToolUse": [\r\n { "type": "command", "bash": "./a.sh", "timeoutSec": 5 } ] } }',
        ".github/copilot/settings.local.json": '{\n    "effortLevel": "low", "disabledMcpServers": ["figma"]\n}',
        ".github/hooks/guard.json": '{ "version": 1, "hooks": { "preToolUse": [ { "type": "command", "bash": "./g.sh",\n'
        '  "env": { "LEVEL": "strict" } }\n , { "type": "command", "bash": "./h.sh" } ], "PostToolUse": [ '
        + GROUP
        + " ] } }\n",
        ".mcp.json": '{"mcpServers":{"mini":  { "type": "stdio", "command": "node", "args": ["a","b"], "tools": ["*"] }}}',
        "AGENTS.md": AGENTS,
    },
    "vscode": {
        ".vscode/settings.json": '// ours and the editor\'s\n{\n\t"editor.formatOnSave": true,   // not ours\n'
        '\t"chat.tools.terminal.autoApprove": {\n\t\t"npm test": true,\n\t\t"/^git (status|diff)\\\\b/": true,\n\t\t"rm": false,\n\t},\n'
        '\t"chat.instructionsFilesLocations": { ".github/instructions": true, /* no */ "docs/rules": false },\n}\n',
        ".vscode/mcp.json": '{\r\n  // servers\r\n  "inputs": [ { "type": "promptString", "id": "t", "password": true }, ],\r\n'
        '  "servers": {\r\n    "mini": { "type": "stdio", "command": "node", "args": ["a"] },\r\n  },\r\n}',
        ".vscode/tasks.json": '{ "version": "2.0.0", "tasks": [ { "label": "w", "command": "make" }, ], }',
        ".github/prompts/release.prompt.md": "---\nmode: agent\n---\nRelease it.\nThen rest.\n",
    },
    "qwen": {
        ".qwen/settings.json": '{ // ours\n  "$version": 4, "model": { "name": "q", "maxSessionTurns": 40 },\n'
        '  "permissions": {\n    "allow": [ "Bash(npm run *)", "Bash(git status)" ],\n    "deny":  [ "Read(./s/**)",   /* never */ "Bash(rm *)" ]\n  },\n'
        '  "mcpServers": { "mini": { "command": "node", "args": ["x"], "env": { "A": "1" }, "timeout": 5000 } },\n'
        '  "hooks": { "PreToolUse": [ ' + GROUP + " ] }\n}",
        ".qwen/commands/git/commit.md": "---\ndescription: c\n---\nCommit {{args}}\n",
        ".qwen/commands/old.toml": 'description = "d"\nprompt = """\nfirst\nsecond\n"""\n',
        ".qwen/agents/r.md": "---\nname: r\ndescription: R\n---\nReview.\n",
        ".qwen/skills/notes/SKILL.md": SKILL,
        ".qwen/hooks/guard.sh": "#!/bin/sh\nexit 0\n",
        "QWEN.md": "# Q\n\nalpha\nbeta\n@docs/style.md\n",
        "docs/style.md": "gamma\r\n",
    },
    "kilo": {
        "kilo.jsonc": '// top\n{ "model": "a/b", // main\n  "mcp": { "l": { "type": "local", "command": ["l", "-v"], }, },\n'
        '  "permission": { "bash": { "*": "ask", "ls *": "allow", "rm *": "deny" }, "edit": "ask" },\n'
        '  "instructions": [ "docs/*.md" /* all */, ],\n}\n',
        "docs/one.md": "One.\n",
        ".kilo/agent/x.md": "---\ndescription: X\n---\nBe x.\n",
        ".kilo/rules/money.md": "Cents.\n",
        ".kilocode/rules/old.md": "Old.\r\n",
        ".kilo/plugin/p.js": "export const P = async () => ({})\n",
        "AGENTS.md": AGENTS,
    },
    "cursor": {
        ".cursor/rules/ts.mdc": "---\ndescription:\nglobs: **/*.ts, src/**\nalwaysApply: false\n---\r\n- No any.\r\n- No any.\r\n",
        ".cursor/rules/sql/joins.mdc": "---\nalwaysApply: true\n---\nNo joins.\n",
        ".cursor/commands/ship.md": "Ship it.\n",
        ".cursor/mcp.json": '{"mcpServers":{"a":{"command":"a","args":["-x","-y"],"env":{"A":"${env:A}"}},"b":{"url":"http://127.0.0.1:1"}}}',
        ".cursor/hooks.json": '{\n  "version": 1,\n  "hooks": { "afterFileEdit": [ { "command": "./hooks/format.sh" } ],\n'
        '    "preToolUse": [ { "command": "./hooks/guard.sh", "matcher": "Shell", "failClosed": true }, { "command": "b" } ] }\n}',
        ".cursor/permissions.json": '{ // allowed\n  "terminalAllowlist": [ "git status", /* and */ "npm test", ],\n  "autoRun": false,\n}\n',
        ".cursor/cli.json": '{\t"permissions" : { "allow" : [ "Shell(ls)" ] , "deny" : [ ] } }\r\n',
        ".cursor/hooks/guard.sh": "#!/bin/sh\nexit 0\n",
        ".cursorrules": "Old rules.\nTwo of them.",
    },
    "cline": {
        ".clinerules/01-money.md": "Cents.\n\nNever floats.\n",
        ".clinerules/more.txt": "Plain.\r\nText.\r\n",
        ".clinerules/workflows/release.md": "1. tag\n2. push\n",
        ".cline/rules/exports.md": "---\npaths: ['src/**']\n---\nNo default.\n",
        ".cline/agents/r.md": "Review.\n",
        ".cline/skills/notes/SKILL.md": SKILL,
        ".cline/skills/notes/a.txt": "a",
        ".cline/hooks/PreToolUse": "#!/bin/sh\necho '{\"cancel\": false}'\n",
        ".cline/plugins/p.js": "export default {}\n",
        "AGENTS.md": AGENTS,
    },
    "roo": {
        ".roo/mcp.json": '{\r\n\t"mcpServers" : {\r\n\t\t"a" : { "command" : "a" , "alwaysAllow" : [ "one" ] }\r\n\t,\t"b" : { "url" : "http://127.0.0.1:1" }\r\n\t}\r\n}',
        ".roo/rules/01.md": "Cents.\nNever floats.\n",
        ".roo/rules/02.txt": "Plain.\r\n",
        ".roo/rules-code/ts.md": "No any.\n",
        ".roo/commands/ship.md": "Ship it.\n",
        ".roo/skills/notes/SKILL.md": SKILL,
        "AGENTS.md": AGENTS,
    },
    "windsurf": {
        ".windsurf/hooks.json": '{\n  "hooks": {\n    "pre_write_code":  [ { "command": "bash g.sh", "powershell": "pwsh g.ps1", "show_output": true } ],\n'
        '    "post_write_code": [ { "command": "bash a.sh", "show_output": false }, { "command": "c" } ]\n  }\n}',
        ".windsurf/rules/ts.md": "---\ntrigger: glob\nglobs: src/**/*.ts, *.tsx\n---\r\n- Prefer unknown.\r\n",
        ".windsurf/workflows/release.md": "1. tag\n2. push\n",
        ".windsurf/skills/notes/SKILL.md": SKILL,
        ".windsurf/hooks/guard.sh": "#!/bin/sh\nexit 0\n",
        ".windsurfrules": "Old.",
        "AGENTS.md": AGENTS,
    },
    "zed": {
        ".zed/settings.json": '// Zed\n{\n  "tab_size": 2, // two\n  "context_servers": { "m": { "command": "m", "args": ["-a", "-a"], "env": { "A": "1" } }, },\n'
        '  "agent": { "tool_permissions": { "default": "confirm", "tools": { "terminal": { "always_allow": [ "^ls" ], "always_deny": [ "^rm", "^rm" ] } } },\n'
        '    "default_model": { "provider": "p", "model": "m-1" }, },\n}\n',
        ".zed/tasks.json": '[ { "label": "t", "command": "make" } ]\n',
        ".rules": "Rules.\r\nTwo.\r\n",
        "AGENTS.md": AGENTS,
    },
    "amp": {
        ".amp/settings.json": '{\n  // every key begins with "amp."\n  "amp.permissions": [\n    { "tool": "Bash", "matches": { "cmd": "git status*" }, "action": "allow" },\n'
        '    { "tool": "edit_file", "action": "delegate", "to": "./g.sh" },\n    { "tool": "*", "action": "ask" },\n  ],\n'
        '  "amp.mcpServers": { "mini": { "command": "node", "args": ["x"], "env": {"MODE":"ro"} } },\n'
        '  "amp.tools.disable": ["web_search", "builtin:read"],\n  "amp.git.commit.coauthor.enabled": false\n}',
        ".agents/skills/notes/SKILL.md": SKILL,
        ".agents/commands/release.md": "Release.\n",
        "AGENTS.md": AGENTS + "\n@docs/style.md\n",
        "docs/style.md": "Style.\r\n",
    },
    "kiro": {
        ".kiro/settings/mcp.json": '{ "mcpServers": {\n  "mini": { "command": "node", "args": ["x"], "disabled": false, "autoApprove": ["p"], "disabledTools": [] } } }',
        ".kiro/hooks/guard.json": '{\r\n  "version": "v1",\r\n  "hooks": [\r\n    { "name": "guard", "trigger": "PreToolUse", "matcher": "fs_write",\r\n'
        '      "action": { "type": "command", "command": "sh g.sh" }, "timeout": 10 },\r\n'
        '    { "name": "remind", "trigger": "PostFileSave", "action": { "type": "agent", "prompt": "Tests." } }\r\n  ]\r\n}\r\n',
        ".kiro/hooks/lint.kiro.hook": '{ "enabled": true, "name": "Lint", "when": { "type": "fileEdited" }, "then": { "type": "runCommand", "command": "npm run lint" } }',
        ".kiro/agents/r.json": '{"name":"r","tools":["read","@mini"],"allowedTools":["read"],"model":"m",\n"hooks":{"preToolUse":[{"matcher":"execute_bash","command":"sh g.sh"}]}}',
        ".kiro/agents/r.md": "Review.\n",
        ".kiro/steering/product.md": "---\ninclusion: always\n---\nCents.\n",
        ".kiro/specs/ledger/requirements.md": "1. one\r\n2. two\r\n",
        ".kiro/skills/notes/SKILL.md": SKILL,
        "AGENTS.md": AGENTS,
    },
    "openclaw": {
        "openclaw.json": "// JSON5\n{\n  agents: { defaults: { model: { primary: 'a/b', fallbacks: ['a/c',], }, workspace: '~/w', }, },\n"
        "  mcp: { servers: { mini: { command: 'node', args: ['x', \"x\"], }, }, }, // servers\n"
        "  tools: { profile: 'coding', allow: ['read'], deny: [ 'exec', /* and */ 'write', ], },\n  gateway: { port: 0x4A61, },\n"
        "  meta: { lastTouchedVersion: '2026.9.6' },\n}\n",
        "SOUL.md": "Be kind.\r\nBe brief.\r\n",
        "TOOLS.md": "- tools\n- tools\n",
        "skills/notes/SKILL.md": SKILL,
        "skills/notes/a.txt": "a",
        "AGENTS.md": AGENTS,
    },
    "langgraph": {
        "langgraph.json": '{\n  "python_version": "3.12",\n  "dependencies": [".",\n                   "langchain-openai"],\n'
        '  "graphs": { "agent": "./g.py:graph", "review": { "path": "./g.py:review", "description": "R" } },\n'
        '  "env": ".env", "auth": { "path": "./a.py:auth", "disable_studio_auth": false },\r\n'
        '  "http": { "cors": { "allow_origins": ["http://localhost:3000"] } }, "store": { "ttl": { "default_ttl": 60.0 } }\n}',
        "AGENTS.md": AGENTS,
    },
    "claude-plugin": {
        ".claude-plugin/plugin.json": '{"name":"p","version":"1.0.0" ,\n\t"description" : "P", "keywords":["a","b","a"]}',
        ".claude-plugin/marketplace.json": '{ "name": "m", "owner": { "name": "o" }, "plugins": [ { "name": "p", "source": "./" } ] }\r\n',
        "hooks/hooks.json": '{ "hooks": { "PreToolUse": [ ' + GROUP + " ] } }",
        "hooks/guard.sh": "#!/bin/sh\nexit 0\n",
        ".mcp.json": '{"mcpServers":{"a":{"command":"a"}}}',
        "commands/ship.md": "Ship $ARGUMENTS.\n",
        "agents/r.md": "---\nname: r\ndescription: R\n---\nReview.\n",
        "skills/notes/SKILL.md": SKILL,
        "skills/notes/a.txt": "a",
    },
    "skills": {
        "skills/notes/SKILL.md": SKILL,
        "skills/notes/assets/a.md": "template\n",
        "skills/notes/run.py": "print(1)\n",
        "skills/other/SKILL.md": "---\nname: other\ndescription: O\n---\nOther.\nTwice.\nTwice.\n",
        "AGENTS.md": AGENTS,
    },
    "agents-md": {
        "AGENTS.md": AGENTS,
        "packages/api/AGENTS.md": "# API\n\nNo breaking change.\r\n",
        "packages/web/AGENTS.md": "one\ntwo\nthree",
    },
}

EDITS: dict[str, Edits] = {
    "copilot": [
        (".github/copilot-instructions.md", "# Ledger", "# The ledger"),
        (".github/instructions/ts.instructions.md", "No any", "Never any"),
        (".github/agents/reviewer.agent.md", "Twice", "Three times"),
        (".github/skills/notes/assets/a.md", "template", "a template"),
        (".github/copilot/settings.json", '"high"', '"low"'),
        (".github/copilot/settings.json", '"gpt-5.4"', '"gpt-6"'),
        (".github/copilot/settings.json", '"https://transfer.sh" ]', '"https://transfer.sh", "x.y" ]'),
        (".github/copilot/settings.json", '"timeoutSec": 5', '"timeoutSec": 6'),
        (".github/copilot/settings.local.json", '["figma"]', '["figma", "other"]'),
        (".github/hooks/guard.json", '"./g.sh"', '"./gg.sh"'),
        (".github/hooks/guard.json", '"./h.sh" }', '"./h.sh" }, { "type": "command", "bash": "./i.sh" }'),
        (".github/hooks/guard.json", '"command" : "b"', '"command" : "bb"'),
        (".mcp.json", '"a","b"', '"a","c"'),
        *AGENTS_EDITS,
    ],
    "vscode": [
        (".vscode/settings.json", "// not ours", "// theirs"),
        (".vscode/settings.json", '"editor.formatOnSave": true', '"editor.formatOnSave": false'),
        (".vscode/settings.json", '"rm": false', '"rm": true'),
        (".vscode/settings.json", '\t\t"npm test": true,\n', '\t\t"npm test": true,\n\t\t"ls": true,\n'),
        (".vscode/settings.json", '"docs/rules": false', '"docs/rules": true'),
        (".vscode/mcp.json", '["a"]', '["a", "b"]'),
        (".vscode/mcp.json", '"password": true', '"password": false'),
        (".vscode/tasks.json", '"make"', '"make watch"'),
        (".github/prompts/release.prompt.md", "Then rest", "Then sleep"),
    ],
    "qwen": [
        (".qwen/settings.json", "// ours", "// theirs"),
        (".qwen/settings.json", '"name": "q"', '"name": "qq"'),
        (".qwen/settings.json", '"maxSessionTurns": 40', '"maxSessionTurns": 50'),
        (".qwen/settings.json", '"Bash(git status)" ]', '"Bash(git status)", "Read" ]'),
        (".qwen/settings.json", "/* never */ ", ""),
        (".qwen/settings.json", '"timeout": 5000', '"timeout": 6000'),
        (".qwen/settings.json", '"command" : "b"', '"command" : "bb"'),
        (".qwen/commands/git/commit.md", "Commit", "Do commit"),
        (".qwen/commands/old.toml", "second", "third"),
        (".qwen/hooks/guard.sh", "exit 0", "exit 2"),
        ("QWEN.md", "beta\n", ""),
        ("docs/style.md", "gamma", "delta"),
    ],
    "kilo": [
        ("kilo.jsonc", "// main", "// the main one"),
        ("kilo.jsonc", '"a/b"', '"a/d"'),
        ("kilo.jsonc", '"*": "ask", "ls *"', '"*": "ask", "cat *": "allow", "ls *"'),
        ("kilo.jsonc", ', "rm *": "deny"', ""),
        ("kilo.jsonc", '["l", "-v"]', '["l"]'),
        ("docs/one.md", "One", "Two"),
        (".kilo/agent/x.md", "Be x", "Be y"),
        (".kilo/rules/money.md", "Cents", "Only cents"),
        (".kilocode/rules/old.md", "Old", "Older"),
        (".kilo/plugin/p.js", "({})", "({ event() {} })"),
        *AGENTS_EDITS,
    ],
    "cursor": [
        (".cursor/rules/ts.mdc", "globs: **/*.ts, src/**", "globs: **/*.ts"),
        (".cursor/rules/ts.mdc", "- No any.\r\n- No any.\r\n", "- No any.\r\n"),
        (".cursor/rules/sql/joins.mdc", "No joins", "Few joins"),
        (".cursor/mcp.json", '"-y"', '"-z"'),
        (".cursor/mcp.json", ',"b":{"url":"http://127.0.0.1:1"}', ""),
        (".cursor/hooks.json", '"failClosed": true', '"failClosed": false'),
        (".cursor/hooks.json", '{ "command": "b" }', '{ "command": "b" }, { "command": "c" }'),
        (".cursor/permissions.json", "// allowed", "// these"),
        (".cursor/permissions.json", '"npm test",', '"npm test", "ls",'),
        (".cursor/cli.json", '"deny" : [ ]', '"deny" : [ "Shell(rm)" ]'),
        (".cursor/hooks/guard.sh", "exit 0", "exit 2"),
        (".cursorrules", "Two of them.", "Three of them."),
    ],
    "cline": [
        (".clinerules/01-money.md", "Never floats", "No floats"),
        (".clinerules/more.txt", "Plain.\r\n", ""),
        (".clinerules/workflows/release.md", "2. push", "2. push\n3. rest"),
        (".cline/rules/exports.md", "No default", "Never default"),
        (".cline/agents/r.md", "Review", "Do review"),
        (".cline/skills/notes/a.txt", "a", "b"),
        (".cline/hooks/PreToolUse", "false", "true"),
        (".cline/plugins/p.js", "{}", "{ a: 1 }"),
        *AGENTS_EDITS,
    ],
    "roo": [
        (".roo/mcp.json", '"one"', '"one" , "two"'),
        (".roo/mcp.json", '"command" : "a"', '"command" : "aa"'),
        (".roo/rules/01.md", "Never floats.\n", ""),
        (".roo/rules/02.txt", "Plain", "Plainer"),
        (".roo/rules-code/ts.md", "No any", "Never any"),
        (".roo/commands/ship.md", "Ship", "Do ship"),
        *AGENTS_EDITS,
    ],
    "windsurf": [
        (".windsurf/hooks.json", '"show_output": true', '"show_output": false'),
        (".windsurf/hooks.json", '"bash a.sh"', '"bash aa.sh"'),
        (".windsurf/hooks.json", ', { "command": "c" }', ""),
        (".windsurf/rules/ts.md", "*.tsx", "*.mts"),
        (".windsurf/workflows/release.md", "1. tag\n", ""),
        (".windsurf/hooks/guard.sh", "exit 0", "exit 2"),
        (".windsurfrules", "Old.", "Older.\n"),
        *AGENTS_EDITS,
    ],
    "zed": [
        (".zed/settings.json", "// two", "// 2"),
        (".zed/settings.json", '"tab_size": 2', '"tab_size": 4'),
        (".zed/settings.json", '["-a", "-a"]', '["-a", "-b"]'),
        (".zed/settings.json", '"^rm", "^rm"', '"^rm"'),
        (".zed/settings.json", '"m-1"', '"m-2"'),
        (".zed/tasks.json", '"make"', '"make all"'),
        (".rules", "Two", "Three"),
        *AGENTS_EDITS,
    ],
    "amp": [
        (".amp/settings.json", "// every", "// each"),
        (".amp/settings.json", '"./g.sh"', '"./h.sh"'),
        (".amp/settings.json", '    { "tool": "*", "action": "ask" },\n', ""),
        (".amp/settings.json", '"MODE":"ro"', '"MODE":"rw"'),
        (".amp/settings.json", ', "builtin:read"', ""),
        (".agents/commands/release.md", "Release", "Do release"),
        ("docs/style.md", "Style", "Styles"),
        *AGENTS_EDITS,
    ],
    "kiro": [
        (".kiro/settings/mcp.json", '["p"]', '["p", "q"]'),
        (".kiro/hooks/guard.json", '"timeout": 10', '"timeout": 20'),
        (".kiro/hooks/guard.json", '"Tests."', '"Update the tests."'),
        (".kiro/hooks/lint.kiro.hook", "npm run lint", "npm run check"),
        (".kiro/agents/r.json", '"allowedTools":["read"]', '"allowedTools":[]'),
        (".kiro/agents/r.json", '"command":"sh g.sh"', '"command":"sh h.sh"'),
        (".kiro/agents/r.md", "Review", "Do review"),
        (".kiro/steering/product.md", "Cents", "Only cents"),
        (".kiro/specs/ledger/requirements.md", "1. one\r\n", ""),
        *AGENTS_EDITS,
    ],
    "openclaw": [
        ("openclaw.json", "// servers", "// our servers"),
        ("openclaw.json", "primary: 'a/b'", "primary: 'a/d'"),
        ("openclaw.json", "['x', \"x\"]", "['x', \"y\"]"),
        ("openclaw.json", "/* and */ 'write',", ""),
        ("openclaw.json", "0x4A61", "0x4A62"),
        ("SOUL.md", "Be brief.\r\n", ""),
        ("TOOLS.md", "- tools\n- tools\n", "- tools\n"),
        ("skills/notes/a.txt", "a", "b"),
        *AGENTS_EDITS,
    ],
    "langgraph": [
        ("langgraph.json", '"3.12"', '"3.13"'),
        ("langgraph.json", '"langchain-openai"]', '"langchain-openai", "httpx"]'),
        ("langgraph.json", '"R"', '"Reviews"'),
        ("langgraph.json", "60.0", "90"),
        ("langgraph.json", '"disable_studio_auth": false', '"disable_studio_auth": true'),
        *AGENTS_EDITS,
    ],
    "claude-plugin": [
        (".claude-plugin/plugin.json", '"1.0.0"', '"1.0.1"'),
        (".claude-plugin/plugin.json", '["a","b","a"]', '["a","b"]'),
        (".claude-plugin/marketplace.json", '"./"', '"./p"'),
        ("hooks/hooks.json", '"command" : "b"', '"command" : "bb"'),
        ("hooks/guard.sh", "exit 0", "exit 2"),
        (".mcp.json", '"a":{"command":"a"}', '"a":{"command":"a"},"b":{"command":"b"}'),
        ("commands/ship.md", "Ship", "Do ship"),
        ("agents/r.md", "Review", "Do review"),
    ],
    "skills": [
        ("skills/notes/SKILL.md", "Use assets/a.md", "Use assets"),
        ("skills/notes/assets/a.md", "template", "a template"),
        ("skills/notes/run.py", "1", "2"),
        ("skills/other/SKILL.md", "Twice.\nTwice.\n", "Twice.\n"),
        *AGENTS_EDITS,
    ],
    "agents-md": [
        ("packages/api/AGENTS.md", "No breaking", "Never a breaking"),
        ("packages/web/AGENTS.md", "two\n", ""),
        ("packages/web/AGENTS.md", "three", "three\nfour\n"),
        ("packages/api/AGENTS.md", "# API", "# The API"),
        *AGENTS_EDITS,
    ],
}
