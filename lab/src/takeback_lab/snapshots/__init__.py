"""Selective undo by ways one could pick: situations, methods, and what each of them kept, cost and got right."""
