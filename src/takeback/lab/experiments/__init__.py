"""Experiments that ask a model: the natural bank, the factorial, the controlled benchmark, the fresh holdout."""
