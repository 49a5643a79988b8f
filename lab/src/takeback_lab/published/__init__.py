"""The paper's printed counts as data, and every figure that follows from them recomputed.

`recompute()` gives a `Recomputation`: one check for each derived figure, and the exceptions among them, each
explained. Nothing is forced: what does not add up differs, what is not determined is not derivable.
"""

from takeback_lab.published.check import Agreement, Check
from takeback_lab.published.paper import Paper, Printed, load_paper
from takeback_lab.published.recompute import Recomputation, recompute

__all__ = ["Agreement", "Check", "Paper", "Printed", "Recomputation", "load_paper", "recompute"]
