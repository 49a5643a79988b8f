"""Feedback in each mode: from a verdict to the words a model, or a person, is given.

Modes differ in how much they tell. Labels and literal identifiers of D0 and D1 are the paper's; sentences are
ours and live in template files. What may be told is decided in `visible`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from takeback.canonical import compact, pretty, sha256
from takeback.counterfactual import nominal_state
from takeback.diagnose.defects import MEANING, Defect, defects, operations_for
from takeback.diagnose.grounding import left_over, telling_example
from takeback.diagnose.visible import Visible, visible
from takeback.language import Candidate, Program
from takeback.state import Stage, State
from takeback.verify import THRESHOLD, Residual, Trip, Verdict

VERSION: Final = "v2"
MAX_LINES: Final = 12
MAX_STATE_CHARS: Final = 1500
_PACKAGES: Final = {VERSION: "takeback.diagnose"}
"""The package that holds the templates of each version."""
_TERSE: Final[set[str]] = set()
"""Versions in which a refused attempt learns only why, and any smallest state is shown."""


def register_templates(version: str, package: str, *, terse: bool) -> None:
    """Add a version of the templates that another package holds."""
    _PACKAGES[version] = package
    if terse:
        _TERSE.add(version)


class Mode(StrEnum):
    """How much a failed attempt is told about its failure."""

    NONE = "none"
    GENERIC = "generic"
    RAW = "raw"
    TYPED = "typed"
    PRESCRIPTIVE = "prescriptive"
    D0 = "D0"
    D1 = "D1"
    COUNTEREXAMPLE = "counterexample"
    ADAPTIVE = "adaptive"


LADDER: Final = (Mode.D0, Mode.D1, Mode.COUNTEREXAMPLE)
"""What `adaptive` tells after the first failure, the second, and all further ones."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is told: the mode asked for, the mode actually used, and the text (empty in mode `none`)."""

    mode: Mode
    used: Mode
    text: str


@dataclass(frozen=True, slots=True)
class Ground:
    """What feedback may rest on besides the verdict: nominal state, development states, version of the templates."""

    nominal: State | None = None
    dev: tuple[State, ...] = ()
    version: str = VERSION


def feedback(
    mode: Mode,
    mutation: Program,
    attempt: Candidate | None,
    verdict: Verdict,
    *,
    failures: int = 1,
    isolated: bool = False,
    ground: Ground | None = None,
) -> Feedback:
    """What to tell about a rejected attempt; `attempt` is None where it could not be read as a candidate.

    `failures` counts the rejected attempts so far, this one included; `isolated` withholds hidden bounds.
    """
    used = LADDER[min(failures, len(LADDER)) - 1] if mode is Mode.ADAPTIVE else mode
    if used is Mode.NONE:
        return Feedback(mode, used, "")
    ground = ground or Ground()
    seen = visible(verdict, isolated=isolated)
    fill = templates(ground.version)
    if seen.refusals and used is not Mode.GENERIC:
        told = _fill(fill, "refused", result=seen.result, reasons=_lines(seen.refusals))
        if used is Mode.D1 and ground.version not in _TERSE:
            told = _d1_refused(fill, told, mutation, ground)
        return Feedback(mode, used, told)
    if ground.version not in _TERSE and used is Mode.COUNTEREXAMPLE and attempt is not None:
        seen = replace(seen, example=telling_example(attempt, ground.dev) or seen.example)
    if used is Mode.COUNTEREXAMPLE and seen.example is None:
        used = Mode.D0
    wrong = defects(attempt, seen) if attempt is not None else ()
    if used is Mode.D1 and ground.version not in _TERSE and seen.faults and not seen.residuals:
        return Feedback(mode, used, _d1_broken_off(fill, mutation, wrong, seen, ground))
    return Feedback(mode, used, _TELL[used](fill, mutation, wrong, seen))


FileTexts = Mapping[str, str]
"""Template files by name."""


def _generic(fill: FileTexts, _: Program, __: tuple[Defect, ...], ___: Visible) -> str:
    return _fill(fill, "generic")


def _raw(fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    if not seen.trips:
        return _counterexample(fill, mutation, wrong, seen)
    return _fill(fill, "raw", trace=_lines([f"dev[{at}] {_trace(trip)}" for at, trip in enumerate(seen.trips)]))


def _typed(fill: FileTexts, _: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    lines = [f"{defect.kind.value}: {defect.place} ({MEANING[defect.kind]})" for defect in wrong]
    return _fill(
        fill,
        "typed",
        result=seen.result,
        defects=_lines(lines) or "UNSEEN_STATES: every dev state passes, hidden ones do not",
    )


def _prescriptive(fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    surfaces = dict.fromkeys(op.kind.surface for op in mutation)
    steps = []
    for surface in surfaces:
        here = [op for op in mutation if op.kind.surface == surface]
        targets = ", ".join(dict.fromkeys(name for op in here for name in (op.target, *(one.key for one in op.also))))
        captures = " or ".join(operations_for(surface, Stage.CAPTURE))
        recoveries = " or ".join(operations_for(surface, Stage.RECOVERY))
        steps.append(f"{targets}: use {captures} in witness, {recoveries} with the same witness_key in recovery")
    return _fill(fill, "prescriptive", typed=_typed(fill, mutation, wrong, seen), steps=_lines(steps))


def _d0(fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    surfaces = ", ".join(dict.fromkeys(op.kind.surface for op in mutation))
    kinds = ", ".join(dict.fromkeys(defect.kind.value for defect in wrong))
    return _fill(
        fill,
        "d0",
        result=seen.result,
        surfaces=surfaces,
        kinds=kinds or "UNSEEN_STATES",
        rates="\n".join(_rates(seen)),
    )


def _d1(fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    observed = (*seen.faults, *_omissions(seen))
    coarse = _d0(fill, mutation, wrong, seen)
    return _bundle(fill, coarse, mutation, seen.residuals, "; ".join(observed) or _observation(seen))


def _d1_broken_off(
    fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible, ground: Ground
) -> str:
    """The grounded bundle of an attempt whose recovery broke off, which leaves all that the mutation did."""
    coarse = _d0(fill, mutation, wrong, seen)
    return _bundle_of_mutation(fill, coarse, mutation, ground, "; ".join((*seen.faults, *_omissions(seen))))


def _d1_refused(fill: FileTexts, coarse: str, mutation: Program, ground: Ground) -> str:
    """The grounded bundle of an attempt that never ran."""
    return _bundle_of_mutation(fill, coarse, mutation, ground, "the attempt was not run")


def _bundle_of_mutation(fill: FileTexts, coarse: str, mutation: Program, ground: Ground, observation: str) -> str:
    """The grounded bundle from the locked mutation alone: what it leaves on the nominal state."""
    nominal = ground.nominal if ground.nominal is not None else nominal_state()
    whence = f"{observation}; the residuals are what the mutation leaves on the nominal state"
    return _bundle(fill, coarse, mutation, left_over(mutation, nominal), whence)


def _bundle(
    fill: FileTexts, coarse: str, mutation: Program, residuals: tuple[Residual, ...], observation: str
) -> str:
    return _fill(
        fill,
        "d1",
        coarse=coarse,
        order=" -> ".join(str(address) for op in mutation for address in (op.address, *op.also)),
        residuals="; ".join(map(str, residuals[:MAX_LINES])) or "none on dev states",
        count=str(len(residuals)),
        observation=observation,
    )


def _counterexample(fill: FileTexts, mutation: Program, wrong: tuple[Defect, ...], seen: Visible) -> str:
    if seen.example is None:
        return _d0(fill, mutation, wrong, seen)
    state = compact(seen.example.state.write())
    shown = state if len(state) <= MAX_STATE_CHARS else state[:MAX_STATE_CHARS] + "…"
    return _fill(fill, "counterexample", state=shown, difference=_trace(seen.example.trip))


_TELL: Final = {
    Mode.GENERIC: _generic,
    Mode.RAW: _raw,
    Mode.TYPED: _typed,
    Mode.PRESCRIPTIVE: _prescriptive,
    Mode.D0: _d0,
    Mode.D1: _d1,
    Mode.COUNTEREXAMPLE: _counterexample,
}


def _rates(seen: Visible) -> list[str]:
    rate = seen.dev_rate
    lines = [f"Dev Recovery Rate: {rate * 100:.1f}% (Required: 100.0%)"] if rate is not None else []
    for label, bound in (("Hidden IID LCB", seen.iid_bound), ("Hidden OOD LCB", seen.ood_bound)):
        if bound is not None:
            lines.append(f"{label}: {bound:.4f} (Required: >= {THRESHOLD})")
    return lines


def _omissions(seen: Visible) -> list[str]:
    return [f"the contract omits {address}" for address in seen.uncovered]


def _observation(seen: Visible) -> str:
    if not seen.trips:
        return "the state a proof found is not as before"
    failing = sum(not trip.passed for trip in seen.trips)
    return f"{failing} of {len(seen.trips)} dev states are not as before"


def _trace(trip: Trip) -> str:
    if trip.passed:
        return "passed"
    parts = [f"the mutation itself fails: {trip.forward_failure}"] if trip.forward_failure else []
    parts += [f"recovery fails: {trip.failure}"] if trip.failure else []
    parts += [str(residual) for residual in trip.residuals]
    parts += [f"contract omits {address}" for address in trip.uncovered]
    return "; ".join(parts)


def _lines(items: list[str] | tuple[str, ...]) -> str:
    shown = [f"- {item}" for item in items[:MAX_LINES]]
    if len(items) > MAX_LINES:
        shown.append(f"- and {len(items) - MAX_LINES} more")
    return "\n".join(shown)


def _fill(fill: FileTexts, name: str, **values: str) -> str:
    return Template(fill[f"{name}.md"]).substitute(values).strip()


@cache
def templates(version: str = VERSION) -> Mapping[str, str]:
    """The template files of a version, by name."""
    folder = resources.files(_PACKAGES[version]).joinpath("templates", version)
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}


def templates_digest(version: str = VERSION) -> str:
    """SHA-256 over the names and contents of the templates, for a lock."""
    return sha256(pretty([version, sorted(templates(version).items())], indent=None))
