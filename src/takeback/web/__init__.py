"""The page: harnesses in a browser on this machine, server-rendered, readable without scripts.

`guard` keeps everybody else out, `app` says which address is answered by what, one module per view. Needs the `web`
extra; nothing here is imported before `takeback web` runs.
"""
