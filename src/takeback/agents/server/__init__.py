"""The MCP server: an agent has changes of its own harness judged, made and taken back, by tokens."""
