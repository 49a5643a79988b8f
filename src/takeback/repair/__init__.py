"""Repair of candidates: the oracle, diagnosis, and the loop that asks a model."""

from takeback.repair.oracle import invert_mutation, oracle

__all__ = ["invert_mutation", "oracle"]
