"""Running programs: capture, forward, recover; receipts, traces, effects."""

from takeback.runtime.interpreter import (
    Receipt,
    Witness,
    Write,
    capture,
    effects,
    forward,
    recover,
    witness_to_json,
)

__all__ = ["Receipt", "Witness", "Write", "capture", "effects", "forward", "recover", "witness_to_json"]
