"""Agents take part: the MCP server through which an agent changes its own harness so that it can be taken back."""
