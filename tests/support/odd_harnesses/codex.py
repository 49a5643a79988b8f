"""Codex: one of dotted keys and inline tables, one with CRLF and arrays of tables split by others, one crowded."""

from __future__ import annotations

INLINE = {
    "AGENTS.md": "no end",
    "AGENTS.override.md": "over\n",
    ".codex/config.toml": "model='a'#x\nfeatures.one=true\nfeatures . two = false # two\n\"features\".three = 1\n"
    'mcp_servers = { x = { command = "x", args = [ "a", [ "b" ], { c = 1 } ] }, "y.z" = { url = "http://127.0.0.1:1/m" } } # all\n'
    'hooks = { PreToolUse = [ { matcher = "Bash", hooks = [ { type = "command", command = "a" } ] }, '
    '{ matcher = "Edit", hooks = [ { type = "command", command = "b" } ] } ] }\n'
    "notify = [\n  # first\n  'n', # one\n\n  'm' # no comma\n  # last\n]\n[tui]",
    ".codex/agents/a.toml": "name='a'\ndescription='A'\ndeveloper_instructions='''\nOne.\n\nTwo.'''\nmodel='m'",
}
INLINE_EDITS = [
    ("AGENTS.md", "no end", "no end\n"),
    ("AGENTS.override.md", "over", "under"),
    (".codex/config.toml", "'a'#x", "'b'#x"),
    (".codex/config.toml", "features . two = false", "features . two = true"),
    (".codex/config.toml", "# two", "# too"),
    (".codex/config.toml", '"features".three = 1\n', '"features".three = 1\nfeatures.four = 4\n'),
    (".codex/config.toml", '[ "a", [ "b" ]', '[ "a", [ "b", "bb" ]'),
    (".codex/config.toml", "{ c = 1 }", "{ c = 1, d = 2 }"),
    (".codex/config.toml", '"y.z" = { url', 'n = { command = "n" }, "y.z" = { url'),
    (".codex/config.toml", 'command = "b" }', 'command = "bb" }'),
    (".codex/config.toml", "  'm' # no comma\n", "  'm', # comma\n  'k'\n"),
    (".codex/config.toml", "  # first\n", ""),
    (".codex/agents/a.toml", "One.\n", "One.\nOne and a half.\n"),
    (".codex/agents/a.toml", "model='m'", "model='mm'"),
    (".codex/agents/a.toml", "'A'", "'AA'"),
]

SPLIT = {
    "AGENTS.md": "\ufeff# A\r\n\r\n\r\n- x\r\n- x\r\n",
    "pkg/AGENTS.md": "pkg\n",
    ".codex/config.toml": '\ufeff# first line\r\n\r\n  model = "a"\t# tab\r\n\tsandbox_mode = """read-only"""\r\n\r\n[[hooks.PreToolUse]]  # g0\r\nmatcher = "A"\r\n'
    '  [[hooks.PreToolUse.hooks]]\r\n  type = "command"\r\n  command = "a"\r\n\r\n[mcp_servers.one.env]\r\nK = "v"\r\n\r\n[[hooks.PreToolUse]]  # g1\r\nmatcher = "B"\r\n'
    '  [[hooks.PreToolUse.hooks]]\r\n  type = "command"\r\n  command = "b"\r\n  [[hooks.PreToolUse.hooks]]\r\n  type = "command"\r\n  command = "b2"\r\n\r\n[mcp_servers.one]\r\ncommand = "one"\r\n'
    'args = [ ]\r\n\r\n[projects."/a b"]\r\ntrust_level = "trusted"\r\n\r\n[[hooks.PreToolUse]]  # g2\r\n[[hooks.PreToolUse.hooks]]\r\ntype = "command"\r\ncommand = "c"\r\n\r\n'
    "[shell_environment_policy]\r\nset = { 'A' = '1', B = \"2\" }\r\n# the end\r\n",
    ".codex/rules/r.rules": '# allow\r\nprefix_rule(pattern=["ls"], decision="allow")',
    ".codex/hooks/h.py": "print('h')\n",
}
SPLIT_EDITS = [
    ("AGENTS.md", "- x\r\n- x", "- x\r\n- x\r\n- x"),
    ("AGENTS.md", "# A", "# AA"),
    ("pkg/AGENTS.md", "pkg", "package"),
    (".codex/config.toml", "# first line", "# the first line"),
    (".codex/config.toml", 'model = "a"\t# tab', 'model = "b"\t# tab'),
    (".codex/config.toml", '"""read-only"""', '"workspace-write"'),
    (".codex/config.toml", "# g0", "# group 0"),
    (".codex/config.toml", 'command = "a"', 'command = "aa"'),
    (".codex/config.toml", 'K = "v"\r\n', 'K = "v"\r\nL = "w"\r\n'),
    (".codex/config.toml", 'command = "b2"', 'command = "b3"'),
    (".codex/config.toml", "args = [ ]", 'args = [ "-q" ]'),
    (".codex/config.toml", "{ 'A' = '1', B", "{ B"),
    (".codex/config.toml", "# the end\r\n", "# the end\r\n[mcp_servers.two]\r\ncommand = 'two'\r\n"),
    (".codex/rules/r.rules", '"allow")', '"prompt")\n'),
    (".codex/hooks/h.py", "'h'", "'hh'"),
]

CROWDED = {
    "AGENTS.md": "\n",
    ".codex/config.toml": "[features]\na=0x10\nb=1_000\nc=+1.5e3\nd=true\n[ mcp_servers . 'q r' ]\ncommand=\"q\"\n"
    'env.A="1"\nenv."B.C"="2"\ndisabled_tools=["x","x","x"]\n[tui.deep]\nlist=[[1,2],[],[3]]\ntext="""\\\n   folded \\\n   text"""\n'
    '[[tui.deep.rows]]\nn=1\n[[tui.deep.rows]]\nn=1\n[tui]\nlast=""\n# nothing follows',
    ".codex/hooks.json": '{ "hooks" : { "Stop" : [ { "hooks" : [ ] } , { "matcher" : "" , "hooks" : [ { "type" : "command" , "command" : "x" , "timeout" : 60 } ] } ] } }',
    ".codex/skills/s/SKILL.md": "---\ndescription: s\n---\n",
    ".codex/skills/s/data.json": "{}",
}
CROWDED_EDITS = [
    ("AGENTS.md", "\n", "something\n"),
    (".codex/config.toml", "a=0x10", "a=0x11"),
    (".codex/config.toml", "b=1_000", "b=1000"),
    (".codex/config.toml", "c=+1.5e3", "c=1500.5"),
    (".codex/config.toml", "d=true\n", "d=true\ne=[]\n"),
    (".codex/config.toml", 'env.A="1"\n', ""),
    (".codex/config.toml", '"x","x","x"', '"x","x"'),
    (".codex/config.toml", "[1,2],[]", "[1,2],[4],[]"),
    (".codex/config.toml", "folded", "unfolded"),
    (".codex/config.toml", "[[tui.deep.rows]]\nn=1\n[tui]", "[[tui.deep.rows]]\nn=1\n[[tui.deep.rows]]\nn=2\n[tui]"),
    (".codex/config.toml", 'last=""', "last=''"),
    (".codex/config.toml", "# nothing follows", "# nothing follows\n"),
    (".codex/hooks.json", '"timeout" : 60', '"timeout" : 30'),
    (".codex/hooks.json", '{ "hooks" : [ ] } ,', ""),
    (".codex/skills/s/SKILL.md", "s\n---\n", "s\n---\nbody"),
    (".codex/skills/s/data.json", "{}", "[]"),
]

HARNESSES = {
    "codex/inline": (INLINE, INLINE_EDITS),
    "codex/split": (SPLIT, SPLIT_EDITS),
    "codex/crowded": (CROWDED, CROWDED_EDITS),
}
