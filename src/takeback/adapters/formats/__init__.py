"""Formats of the files that adapters keep surfaces in."""
