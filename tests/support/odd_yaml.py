"""YAML in odd but legal formatting, written by hand: for tests of edits in place."""

from __future__ import annotations

ODD_YAML = {
    "continue": """%YAML 1.1
---
# Continue: anchors need the YAML 1.1 header
name: Ledger assistant
version: 1.0.0

models:
  - name: main
    roles: [chat, edit]   # both
  - { name: small, roles: [autocomplete] }

rules:
  - Money is an integer number of cents.
  - name: "Style: short"
    rule: >-
      Two spaces,
      no tabs.

mcpServers:
  - name: mini
    args: ["tools/mini-mcp.mjs"]
    env:
      MODE: ro       # read only
      DEBUG: "off"   # quoted
""",
    "zero-indented": """# top
a:
- 1
- two   # second

# about three
- - x
  - y
  -
    - z
b:
-   k: v
    l: w
-   m: {}
c: []
d: {}
e:
f: ~
g: { a: 1, 'b': "2", c: [ 1, 2 ] } # flow
h: !!str 5
i: 'it''s'
""",
    "blocks": """text: |
  one
    two

  three
folded: >
  a b
  c

  d
keep: |+
  last


strip: |-   # why
  no end
plain: several words
  on two lines
quoted: "several words
  in quotes\\n"
last: >-
  x
""",
    "gotchas": """no: yes
on: off
octal: 0123
date: 2024-01-01
time: 12:30:45
when: 2001-12-14t21:59:43.10-05:00
inf: .inf
float: 1.50
exp: 1.0e+3
hex: 0xFF
under: 1_000
"quoted key": 'yes'
? explicit
: value
empty:
""",
    "flow": """{a: 1, b: [x, 'y', "z"], # first
 c: {d: e},
 f: [
   one,
   two, # 2
 ],
}
""",
    "deep": """a:
    b:
        c:
            - d:
                  e: 1
              f: 2
            # between
            - g
    # end of a
h: 1

---not a document: 1
""",
    "compact": """- a: 1
  b: 2
- - c
  - d: e
    f: g
- h
- |
  text
- i:
  - j
  k:
    l: m
""",
    "commented": """# head

a:   # behind a

  # above b
  b: 1   # behind b
  # above c
  c:
    # above d
    d: 2

# foot
""",
    "end marker": "---\na: 1\nb:\n  - c\n...\n",
    "one": "a: 1\n",
    "unicode": "ü: é # ñ\n日本: [ü, {é: ñ}]\nlist:\n  - ü\n  - 😀\n",
}
