"""Tracking of a project's own files: which they are, what changed in them, and the contents before and after."""
