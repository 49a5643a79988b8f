"""Running programs: capture, forward, recover; receipts, traces, effects."""

from takeback.runtime.interpreter import (
    Parts,
    Receipt,
    Witness,
    Write,
    advance,
    capture,
    effects,
    forward,
    recover,
    retreat,
    witness_to_json,
)

__all__ = [
    "Parts",
    "Receipt",
    "Witness",
    "Write",
    "advance",
    "capture",
    "effects",
    "forward",
    "recover",
    "retreat",
    "witness_to_json",
]
