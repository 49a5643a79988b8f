"""Takeback: an agent may change its own harness only if the change can be taken back."""

__version__ = "0.1.0"
