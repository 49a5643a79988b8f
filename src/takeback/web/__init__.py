"""The page: harnesses in a browser on this machine, server-rendered, readable without scripts.

`security` keeps everybody else out, `server` says which address is answered by what, one module per view. Needs the
`web` extra; nothing here is imported before `takeback web` runs.
"""
