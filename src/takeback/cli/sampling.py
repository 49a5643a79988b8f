"""`--sampling`: how a model's replies are drawn, where not as in the paper."""

from __future__ import annotations

import typer

from takeback.synthesize.sampling import read_sampling

SamplingOption = typer.Option(
    "",
    "--sampling",
    metavar="NAME=VALUE,...",
    help="temperature=0.2,top_p=0.95,max_tokens=2048 by default; also reasoning_effort. temperature=none omits it.",
)

__all__ = ["SamplingOption", "read_sampling"]
