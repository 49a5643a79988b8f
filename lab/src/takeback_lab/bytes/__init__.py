"""Bytes that stay: a corpus of hand-written files, every kind of change to each, and what must be left of them."""
