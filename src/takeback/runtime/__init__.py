"""Running programs: capture, forward, recover; receipts, traces, effects."""

from takeback.runtime.interpreter import (
    Receipt,
    SurfaceValues,
    TracedWrite,
    Witness,
    advance,
    capture,
    effects,
    forward,
    recover,
    retreat,
    witness_to_json,
)

__all__ = [
    "Receipt",
    "SurfaceValues",
    "TracedWrite",
    "Witness",
    "advance",
    "capture",
    "effects",
    "forward",
    "recover",
    "retreat",
    "witness_to_json",
]
