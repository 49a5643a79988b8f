"""Candidates for tasks and repairs for candidates: oracle, models, repair loop, portfolio."""
