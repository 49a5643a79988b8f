"""Checks for GEPA and DSPy (extras `gepa`, `dspy`): a wrapper of `evaluate`, a proposer that repairs.

Every candidate is evaluated before it is kept, the seed and merges too, so nothing gets past the wrapper:
what cannot be taken back is not run and gets a score below all others. The proposer repairs recoveries
first and gives the model the reasons, which GEPA does not; use both. For DSPy, `build_gepa_options` goes
into `dspy.GEPA`, with merging off, because GEPA never asks about merges; `record_program` records what any
optimizer compiled only if it can be taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from takeback.canonical import write_compact
from takeback.errors import InputError
from takeback.integrations.evolver_checks import TextGate, import_extra, list_objections, repair_change
from takeback.repair.prompts import read_shared_text

FLOOR: Final = -1e9
"""The score of what was not run: below every score of a metric, and still a number that can be averaged."""
TRIES: Final = 3
AskModel = Callable[[str], str]
"""A language model as GEPA has it: from a prompt to a text."""
ProposeTexts = Callable[[dict[str, str], Mapping[str, Sequence[Mapping[str, Any]]], list[str]], dict[str, str]]
"""GEPA's `custom_candidate_proposer`."""


class CheckedAdapter:
    """A GEPA adapter that evaluates with `inner` only what the gate lets through."""

    def __init__(self, inner: Any, gate: TextGate, *, floor: float = FLOOR) -> None:
        self._batch = import_extra("gepa.core.adapter").EvaluationBatch
        self._inner = inner
        self._gate = gate
        self._floor = floor
        self._seeded = False
        self.refused: list[tuple[str, ...]] = []
        """Why candidates were not run, one after the other."""
        self.propose_new_texts = getattr(inner, "propose_new_texts", None)

    def evaluate(self, batch: list[Any], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        """Return what `inner` makes of a candidate that can be taken back; the floor for all others."""
        reasons = self._gate(candidate)
        if not reasons:
            self._seeded = True
            return self._inner.evaluate(batch, candidate, capture_traces=capture_traces)
        if not self._seeded:
            raise InputError("the seed", found="; ".join(reasons), expected="a candidate that can be taken back")
        self.refused.append(reasons)
        messages = [f"not run, because it cannot be taken back: {'; '.join(reasons)}"] * len(batch)
        return self._batch(
            outputs=list(messages),
            scores=[self._floor] * len(batch),
            trajectories=list(messages) if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return the dataset of `inner`; for a candidate that was not run, the reasons."""
        reasons = self._gate(candidate)
        if not reasons:
            dataset: Mapping[str, Sequence[Mapping[str, Any]]] = self._inner.make_reflective_dataset(
                candidate, eval_batch, components_to_update
            )
            return dataset
        return {name: [{"Feedback": f"cannot be taken back: {'; '.join(reasons)}"}] for name in components_to_update}


class CheckedAcceptance:
    """GEPA's acceptance criterion behind a gate, for those who cannot wrap the adapter. Merges never ask it."""

    def __init__(self, gate: TextGate, inner: Any = None) -> None:
        self._gate = gate
        self._inner = (
            inner if inner is not None else import_extra("gepa.strategies.acceptance").StrictImprovementAcceptance()
        )

    def should_accept(self, proposal: Any, state: Any) -> bool:
        """Return whether a proposal can be taken back and the inner criterion accepts it."""
        return not self._gate(proposal.candidate) and bool(self._inner.should_accept(proposal, state))

    def reject_reason(self, proposal: Any, state: Any) -> str:
        """Return why a proposal was not accepted."""
        del state
        return "; ".join(self._gate(proposal.candidate)) or "it is no improvement"


def build_repairing_proposer(ask: AskModel, *, tries: int = TRIES) -> ProposeTexts:
    """Build a `custom_candidate_proposer` for components that are changes as JSON.

    A recovery that falls short is replaced by the oracle's; where there is none, the model gets the reason and is
    asked again. After `tries` the text stays as it was.
    """

    def propose(
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        return {
            name: _improve_text(ask, candidate[name], reflective_dataset.get(name, ()), tries)
            for name in components_to_update
        }

    return propose


def _improve_text(ask: AskModel, text: str, feedback: Sequence[Mapping[str, Any]], tries: int) -> str:
    rows_text = write_compact([{str(key): str(value) for key, value in row.items()} for row in feedback])
    prompt = (
        f"{read_shared_text('language_L2.md')}\n\n# Candidate now\n\n{text}\n\n# Feedback\n\n{rows_text}\n\n"
        "Give a better candidate: one JSON object with mutation, witness, recovery and contract, and nothing else."
    )
    for _ in range(tries):
        reply = ask(prompt)
        repaired = repair_change(reply)
        if repaired is not None:
            return repaired
        prompt += f"\n\nThat cannot be taken back: {'; '.join(list_objections(reply))}\nGive another one."
    return text
