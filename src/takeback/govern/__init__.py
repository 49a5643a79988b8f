"""Who may, how long, and proof of it: roles, audit, retention, compaction, heads, witness and bundles."""
