"""What a worker on another machine does with a request: ask the endpoint its own environment names."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from typing import Any

from takeback.cli.repair import open_synthesizer
from takeback.errors import InputError
from takeback.repair.models import ChatModel, Request


def answer_request(synthesizer: str, request: Any) -> dict[str, Any]:
    """The reply to one request, as JSON; a fault of the service stops the run."""
    return asdict(_model(synthesizer).complete(Request.from_json(request)))


@cache
def _model(synthesizer: str) -> ChatModel:
    """The model, opened once in each worker and kept for its life."""
    with open_synthesizer(synthesizer) as found:
        if found.model is None:
            raise InputError("--synthesizer", found=synthesizer, expected="a model")
        return found.model
