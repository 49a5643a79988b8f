"""Synthesis of recoveries: the oracle and, later, models."""

from takeback.synthesize.oracle import invert, oracle

__all__ = ["invert", "oracle"]
