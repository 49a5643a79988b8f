"""Synthesis of recoveries: the oracle and, later, models."""

from takeback.synthesize.oracle import NoInverse, invert, oracle

__all__ = ["NoInverse", "invert", "oracle"]
