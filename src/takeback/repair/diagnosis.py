"""Diagnosis of a rejected candidate: its defects, and the feedback a model or a person gets in each mode.

Defects come from the candidate's own text and the visible part of its verdict: one for each address at most,
in the order they should be fixed, in the classes of the controlled benchmark and a few more from real
candidates. Modes differ in how much they show. Labels and literal identifiers of D0 and D1 are the paper's;
sentences are ours and live in template files. Grounding rests on the mutation, the nominal state and
development states alone. `visible` alone decides what may be shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from string import Template
from typing import Final

from takeback.canonical import encode, write_compact
from takeback.errors import FaultKind
from takeback.language import Candidate, Program
from takeback.language.program import infer_contract, read_operation
from takeback.repair.visible import Visible, select_visible
from takeback.runtime import capture
from takeback.state import ABSENT, SURFACES, Address, Operation, Stage, State
from takeback.verify import THRESHOLD, Counterexample, Residual, Trial, Trip, Verdict
from takeback.verify.shrink import shrink_state
from takeback.verify.suites import make_nominal_state


class DefectKind(StrEnum):
    """What is wrong, as a label."""

    MISSING_CAPTURE = "MISSING_CAPTURE"
    DUMMY_CAPTURE = "DUMMY_CAPTURE"
    MISSING_RECOVERY = "MISSING_RECOVERY"
    WRONG_RECOVERY_OPERATION = "WRONG_RECOVERY_OPERATION"
    RESOURCE_LEAK = "RESOURCE_LEAK"
    OMITTED_EFFECT = "OMITTED_EFFECT"
    WRONG_ORDER = "WRONG_ORDER"
    COLLATERAL_CHANGE = "COLLATERAL_CHANGE"
    RECOVERY_FAULT = "RECOVERY_FAULT"


MEANING = {
    DefectKind.MISSING_CAPTURE: "nothing captures it before the change",
    DefectKind.DUMMY_CAPTURE: "its capture looks at something else",
    DefectKind.MISSING_RECOVERY: "no recovery operation touches it",
    DefectKind.WRONG_RECOVERY_OPERATION: "its recovery operation does not put back what was captured",
    DefectKind.RESOURCE_LEAK: "the resource stays allocated",
    DefectKind.OMITTED_EFFECT: "the contract leaves it out",
    DefectKind.WRONG_ORDER: "captured and restored, but in an order that does not end where it began",
    DefectKind.COLLATERAL_CHANGE: "the mutation does not touch it, the recovery does",
    DefectKind.RECOVERY_FAULT: "a recovery operation cannot run",
}


_OF_FAULT: Mapping[FaultKind | None, DefectKind] = {
    FaultKind.NO_CAPTURE: DefectKind.MISSING_CAPTURE,
    FaultKind.OTHER_SURFACE: DefectKind.DUMMY_CAPTURE,
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One mistake: its kind, the address (or the message of a fault), and the surface it is on."""

    kind: DefectKind
    place: str
    surface: str


def find_defects(candidate: Candidate, seen: Visible) -> tuple[Defect, ...]:
    """Return the mistakes of a candidate that ran and failed."""
    defects = [_classify_residual(candidate, residual) for residual in seen.residuals]
    defects += [
        Defect(_OF_FAULT.get(kind, DefectKind.RECOVERY_FAULT), message, "") for message, kind in seen.faults.items()
    ]
    defects += [Defect(DefectKind.OMITTED_EFFECT, str(address), address.surface) for address in seen.uncovered]
    return tuple(dict.fromkeys(defects))


def _classify_residual(candidate: Candidate, residual: Residual) -> Defect:
    address = residual.address
    return Defect(_classify_kind(candidate, residual), str(address), address.surface)


def _classify_kind(candidate: Candidate, residual: Residual) -> DefectKind:
    address = residual.address
    if not any(_can_touch(op, address) for op in candidate.mutation):
        return DefectKind.COLLATERAL_CHANGE
    recoveries = [op for op in candidate.recovery if _can_touch(op, address)]
    if not recoveries:
        leaks = address.surface == "resources" and not residual.expected_there
        return DefectKind.RESOURCE_LEAK if leaks else DefectKind.MISSING_RECOVERY
    keys = {op.witness_key for op in recoveries if op.witness_key is not None}
    if not keys:
        captured = any(_can_touch(op, address) for op in candidate.witness)
        return DefectKind.WRONG_RECOVERY_OPERATION if captured else DefectKind.MISSING_CAPTURE
    captures = [op for op in candidate.witness if op.witness_key in keys]
    if not captures:
        return DefectKind.MISSING_CAPTURE
    if not any(_can_touch(op, address) for op in captures):
        return DefectKind.DUMMY_CAPTURE
    return DefectKind.WRONG_ORDER if len(recoveries) > 1 else DefectKind.WRONG_RECOVERY_OPERATION


def _can_touch(op: Operation, address: Address) -> bool:
    """Tell whether an operation names the address, something above or below it, or its whole surface."""
    if op.kind.surface != address.surface:
        return False
    surface, keys = SURFACES[address.surface], [mine.key for mine in (op.address, *op.also)]
    return op.target == "*" or any(
        surface.covers(mine, address.key) or surface.covers(address.key, mine) for mine in keys
    )


def find_leftovers(mutation: Program, nominal: State) -> tuple[Residual, ...]:
    """Return what the mutation leaves behind on the nominal state if nothing takes it back."""
    return Trial(Candidate(mutation, (), (), infer_contract(mutation))).run(nominal).residuals


def find_telling_example(candidate: Candidate, states: Iterable[State]) -> Counterexample | None:
    """Return a smallest breaking state in which what the mutation touches exists; None if no given state is one.

    Of the states that break the candidate, the one with the most touched addresses is shrunk, keeping them.
    """
    trial = Trial(candidate)
    probes = _build_probes(candidate.mutation)
    best: tuple[int, State] | None = None
    for state in states:
        there = _count_existing(probes, state)
        if there and (best is None or there > best[0]) and not trial.run(state).passed:
            best = there, state
    if best is None:
        return None
    wanted, state = best
    small = shrink_state(state, lambda less: _count_existing(probes, less) >= wanted and not trial.run(less).passed)
    return Counterexample(small, trial.run(small), "dev")


def _build_probes(mutation: Program) -> Sequence[Program]:
    probes: dict[str, Program] = {}
    for op in mutation:
        for plain, _ in SURFACES[op.kind.surface].invert(op):
            probe = read_operation({**plain, "witness_key": "w"}, Stage.CAPTURE, "probe")
            probes.setdefault(encode(plain), (probe,))
    return tuple(probes.values())


def _count_existing(probes: Sequence[Program], state: State) -> int:
    return sum(capture(probe, state)["w"].content is not ABSENT for probe in probes)


VERSION: Final = "v2"
MAX_LINES: Final = 12
MAX_STATE_CHARS: Final = 1500
_PACKAGES: Final = {VERSION: "takeback.repair"}
"""The package that holds the templates of each version."""
_TERSE: Final[set[str]] = set()
"""Versions in which a refused attempt learns only why, and any smallest state is shown."""
_FIELDS: Final = "summary.md"
"""The file of versions whose D0 and D1 have the paper's fields and no others, whatever became of the attempt."""
ONLY_CONTRACT: Final = "only the contract is at fault, witness and recovery put everything back"


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
class FeedbackBasis:
    """What feedback may rest on besides the verdict: nominal state, development states, version of the templates."""

    nominal: State | None = None
    dev: tuple[State, ...] = ()
    version: str = VERSION


def make_feedback(
    mode: Mode,
    mutation: Program,
    attempt: Candidate | None,
    verdict: Verdict,
    *,
    failures: int = 1,
    isolated: bool = False,
    ground: FeedbackBasis | None = None,
) -> Feedback:
    """Return feedback on a rejected attempt; `attempt` is None where it could not be read as a candidate.

    `failures` counts the rejected attempts so far, this one included; `isolated` withholds hidden bounds.
    """
    used = LADDER[min(failures, len(LADDER)) - 1] if mode is Mode.ADAPTIVE else mode
    if used is Mode.NONE:
        return Feedback(mode, used, "")
    seen = select_visible(verdict, isolated=isolated)
    return Feedback(mode, *_Teller(mutation, attempt, seen, ground or FeedbackBasis()).tell(used))


class _Teller:
    """What is told of one attempt, by the templates of a version."""

    def __init__(self, mutation: Program, attempt: Candidate | None, seen: Visible, ground: FeedbackBasis) -> None:
        self._mutation, self._attempt, self._seen, self._ground = mutation, attempt, seen, ground
        self._files = load_templates(ground.version)
        self._terse = ground.version in _TERSE
        self._surfaces = ", ".join(dict.fromkeys(op.kind.surface for op in mutation))
        self._observed = [*seen.faults, *(f"the contract omits {address}" for address in seen.uncovered)]

    def tell(self, mode: Mode) -> tuple[Mode, str]:
        """Return the mode that is used, and the text."""
        seen = self._seen
        if _FIELDS in self._files and mode in {Mode.D0, Mode.D1}:
            return mode, self._render_fields(mode)
        if seen.refusals and mode is not Mode.GENERIC:
            text = self._fill("refused", result=seen.result, reasons=_format_lines(seen.refusals))
            told_more = mode is Mode.D1 and not self._terse
            return mode, self._render_leftovers(text, "the attempt was not run") if told_more else text
        if mode is Mode.COUNTEREXAMPLE and self._attempt is not None and not self._terse:
            example = find_telling_example(self._attempt, self._ground.dev) or seen.example
            seen = self._seen = replace(seen, example=example)
        if mode is Mode.COUNTEREXAMPLE and seen.example is None:
            mode = Mode.D0
        self._defects = find_defects(self._attempt, seen) if self._attempt is not None else ()
        render = {
            Mode.GENERIC: self._render_generic,
            Mode.RAW: self._render_raw,
            Mode.TYPED: self._render_typed,
            Mode.PRESCRIPTIVE: self._render_prescriptive,
            Mode.D0: self._render_d0,
            Mode.D1: self._render_d1,
            Mode.COUNTEREXAMPLE: self._render_counterexample,
        }
        return mode, render[mode]()

    def _fill(self, name: str, **values: str) -> str:
        return Template(self._files[f"{name}.md"]).substitute(values).strip()

    def _render_fields(self, mode: Mode) -> str:
        """Return the paper's fields: none says why a gate refused, none is left out."""
        seen, surfaces = self._seen, self._surfaces
        summary = self._fill("summary_contract" if seen.blames_only_contract else "summary", surfaces=surfaces)
        rates = "\n".join(_list_all_rates(seen))
        coarse = self._fill("d0", surfaces=surfaces, summary=summary, rates=rates)
        if mode is Mode.D0:
            return coarse
        observed = "; ".join(self._observed)
        if seen.blames_only_contract:
            return self._render_bundle(coarse, seen.residuals, f"{ONLY_CONTRACT}; {observed}")
        if seen.residuals or not (seen.refusals or seen.faults):
            return self._render_bundle(coarse, seen.residuals, observed or _describe_observation(seen))
        return self._render_leftovers(coarse, observed or "the attempt was not run")

    def _render_generic(self) -> str:
        return self._fill("generic")

    def _render_raw(self) -> str:
        trips = [f"dev[{at}] {_describe_trace(trip)}" for at, trip in enumerate(self._seen.trips)]
        return self._fill("raw", trace=_format_lines(trips)) if trips else self._render_counterexample()

    def _render_typed(self) -> str:
        lines = [f"{defect.kind.value}: {defect.place} ({MEANING[defect.kind]})" for defect in self._defects]
        if _FIELDS in self._files and self._seen.blames_only_contract:
            lines.append(ONLY_CONTRACT)
        defects = _format_lines(lines) or "UNSEEN_STATES: every dev state passes, hidden ones do not"
        return self._fill("typed", result=self._seen.result, defects=defects)

    def _render_prescriptive(self) -> str:
        steps = []
        for surface in dict.fromkeys(op.kind.surface for op in self._mutation):
            mine = [op for op in self._mutation if op.kind.surface == surface]
            targets = dict.fromkeys(name for op in mine for name in (op.target, *(key.key for key in op.also)))
            use = f"use {_name_operations(surface, Stage.CAPTURE)} in witness"
            back = f"{_name_operations(surface, Stage.RECOVERY)} with the same witness_key in recovery"
            steps.append(f"{', '.join(targets)}: {use}, {back}")
        return self._fill("prescriptive", typed=self._render_typed(), steps=_format_lines(steps))

    def _render_d0(self) -> str:
        kinds = ", ".join(dict.fromkeys(defect.kind.value for defect in self._defects)) or "UNSEEN_STATES"
        rates = "\n".join(_list_rates(self._seen))
        return self._fill("d0", result=self._seen.result, surfaces=self._surfaces, kinds=kinds, rates=rates)

    def _render_d1(self) -> str:
        seen, coarse, observed = self._seen, self._render_d0(), "; ".join(self._observed)
        if seen.faults and not seen.residuals and not self._terse:
            return self._render_leftovers(coarse, observed)
        return self._render_bundle(coarse, seen.residuals, observed or _describe_observation(seen))

    def _render_leftovers(self, coarse: str, observation: str) -> str:
        """Return the bundle of an attempt that was not run, or broke off: what is left without any recovery."""
        nominal = make_nominal_state() if self._ground.nominal is None else self._ground.nominal
        whence = f"{observation}; the residuals are what the mutation leaves on the nominal state"
        return self._render_bundle(coarse, find_leftovers(self._mutation, nominal), whence)

    def _render_bundle(self, coarse: str, residuals: tuple[Residual, ...], observation: str) -> str:
        return self._fill(
            "d1",
            coarse=coarse,
            order=" -> ".join(str(address) for op in self._mutation for address in (op.address, *op.also)),
            residuals="; ".join(map(str, residuals[:MAX_LINES])) or "none on dev states",
            count=str(len(residuals)),
            observation=observation,
        )

    def _render_counterexample(self) -> str:
        example = self._seen.example
        if example is None:
            return self._render_d0()
        state = write_compact(example.state.write())
        shown = state if len(state) <= MAX_STATE_CHARS else state[:MAX_STATE_CHARS] + "…"
        return self._fill("counterexample", state=shown, difference=_describe_trace(example.trip))


def _name_operations(surface: str, stage: Stage) -> str:
    return " or ".join(kind.name for kind in SURFACES[surface].kind(stage))


def _list_all_rates(seen: Visible) -> list[str]:
    lines = [f"Dev Recovery Rate: {(seen.dev_rate or 0) * 100:.1f}% (Required: 100.0%)"]
    if seen.isolated:
        return lines
    bounds = (("IID", seen.iid_bound), ("OOD", seen.ood_bound))
    return lines + [f"Hidden {name} LCB: {bound or 0:.4f} (Required: >= {THRESHOLD})" for name, bound in bounds]


def _list_rates(seen: Visible) -> list[str]:
    rate = seen.dev_rate
    lines = [f"Dev Recovery Rate: {rate * 100:.1f}% (Required: 100.0%)"] if rate is not None else []
    for label, bound in (("Hidden IID LCB", seen.iid_bound), ("Hidden OOD LCB", seen.ood_bound)):
        if bound is not None:
            lines.append(f"{label}: {bound:.4f} (Required: >= {THRESHOLD})")
    return lines


def _describe_observation(seen: Visible) -> str:
    if not seen.trips:
        return "the state a proof found is not as before"
    failing = sum(not trip.passed for trip in seen.trips)
    return f"{failing} of {len(seen.trips)} dev states are not as before"


def _describe_trace(trip: Trip) -> str:
    if trip.passed:
        return "passed"
    parts = [f"the mutation itself fails: {trip.forward_failure}"] if trip.forward_failure else []
    parts += [f"recovery fails: {trip.failure}"] if trip.failure else []
    parts += [str(residual) for residual in trip.residuals]
    parts += [f"contract omits {address}" for address in trip.uncovered]
    return "; ".join(parts)


def _format_lines(items: list[str] | tuple[str, ...]) -> str:
    shown = [f"- {item}" for item in items[:MAX_LINES]]
    if len(items) > MAX_LINES:
        shown.append(f"- and {len(items) - MAX_LINES} more")
    return "\n".join(shown)


@cache
def load_templates(version: str = VERSION) -> Mapping[str, str]:
    """Return the template files of a version, by name."""
    folder = resources.files(_PACKAGES[version]).joinpath("templates", version)
    return {item.name: item.read_text(encoding="utf-8") for item in folder.iterdir() if item.is_file()}
