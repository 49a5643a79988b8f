"""Every error of Takeback: what happened, where, and what to do next."""

from __future__ import annotations


class TakebackError(Exception):
    """Base of all faults that Takeback raises itself."""


# --- models -----------------------------------------------------------------------------------


class ServiceFault(TakebackError):  # noqa: N818 - the word for it
    """The model service failed: the run stops, nothing counts against the model, resume it later."""


class RecordingError(TakebackError):
    """A recording cannot be read, or lacks the request that was asked of it."""


class WeightsError(TakebackError):
    """Model weights are absent, incomplete, or not the file that was promised."""


class MissingExtraError(TakebackError):
    """An optional dependency is not installed."""
