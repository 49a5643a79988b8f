"""Agents take part: what stands between an agent that changes its own harness and the harness."""
