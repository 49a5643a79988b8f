"""Is the proof right? Random candidates, each answer checked by brute force and, where it can, by z3."""

from takeback_lab.soundness.experiment import Tally, run_soundness

__all__ = ["Tally", "run_soundness"]
