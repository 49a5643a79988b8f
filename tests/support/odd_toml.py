"""TOML in odd but legal formatting, written by hand: for tests of edits in place."""

from __future__ import annotations

ODD_TOML = {
    "mixed": """# top
a = 1_000 # why
r = { max = 3, w = { f = 0.5 } } # three
d.e = 1
d.f.g = 2
l = [ 1, # one
  2,
]

# about t
[t] # here
x = "y"

[[m]]
id = "a"
[m.o]
k = 1
[[ "m" ]] # second
id = "b"
""",
    "client": """# mine, do not reformat
model = "gpt"            # routing
effort = 'high'
policy="on-request"
mode    = "read-only"

# ---- tools ----
[servers.notes]          # shared
command = "node"
args = [
  "tools/mini.mjs",      # trailing comma and comment on purpose
]
timeout = 5
env = { DIR = "./notes" }

[servers."tracker.eu"]   # quoted key with a dot
url = "http://127.0.0.1/mcp"
enabled = false

[features]
memories = false

# ---- hooks ----
[[hooks.Pre]]
matcher = "^Bash$"

  [[hooks.Pre.hooks]]
  type = "command"
  command = '''sh -c 'cat >/dev/null' '''   # literal string
  timeout = 5

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "printf 'done'"

[tui]
notifications = true
""",
    "split": """[[rule]]
name = "one"
[other] # between
x = 1
[[rule]] # again
name = "two"
[rule.deep]
y = 2
[other.below]
z = 3
[[rule]]
name = "two"
""",
    "nested lists": """m = [[1, 2], [3, [4, 5]], [], [1, 2]] # grid
n = [
    [ "a" ], # first
    [
        "b",
        "b"
    ],
    { k = [ { j = 1 }, { j = 1 } ] }
]
s = []
o = {}
p = { a.b = 1, a.c = 2, "d e" = [ ] }
""",
    "commas first": """l = [ "a"
    , "b" # second
    , "c"
    ]
k=["x","x","x"]
""",
    "headers only": """[a.b.c]
[a]
[a.b.d] # empty
[[e.f]]
[[e.f]]
""",
    "dotted": """[t]
a.b.c = 1
a.b.d = 2 # two
a.e = [ 1 ]
"q.r".s = 3
a.b.z = 4
[u]
""",
    "long": "x = [" + ", ".join(f'"item {n}"' for n in range(60)) + "]\n" + 'y = "' + "z" * 2000 + '"\n',
    "text": 'a = """\none # no comment\n[no.table]\n"""\nb = \'\'\'\n]]\n\'\'\' # yes\nc = "\\u00e9 #"\n# last\n',
    "far apart": "[a]\nx = 1\n\n\n[a.b]\ny = 2\n\n\n\n[[c]]\nz = 3\n\n\n[[c]]\n",
    "empty": "",
    "comment": "# only this\n",
}
