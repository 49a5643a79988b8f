"""Proof: does a candidate restore the state before it on every state of the model?

Operations never look inside values, so a round trip depends only on the shape of the slots it names. Surfaces
break those slots into components that cannot see each other; the real interpreter is run on one generic state
for every shape of every component, once with the mutation going through and once with it failing elsewhere.
The argument, its assumptions and where the code holds them: docs/proof.md. Answers proved or refuted; for L2, whose
edits do look inside, also undecided, which admits nothing.

A `Certificate` has what a proof rests on, as JSON that somebody else can check: for each search the components, the
base, and every class with its state and where the mutation stopped on it. `takeback.opinion.checker` decides about it
without any code of the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Final, NamedTuple

from takeback.canonical import digest
from takeback.errors import ProgramTooLarge
from takeback.language import Candidate
from takeback.state import Level, State
from takeback.verify.classes import Classes, ShapeChoice, Slice, Slices
from takeback.verify.evidence import register_verdict
from takeback.verify.opaque_edits import (
    PlaceTrial,
    has_inner_edits,
    has_recovery_edits,
    why_edits_undecided,
    why_failure_undecided,
    why_recovery_undecided,
    with_opaque_edits,
    without_mutation,
    without_unanswered,
)
from takeback.verify.rules import MAX_SECONDS, PROOF, VerifyOptions, check_options, freeze_candidate
from takeback.verify.sampled import (
    identify_candidate,
    list_refusals,
    list_trip_reasons,
    make_counterexample,
    reject_candidate,
)
from takeback.verify.trip import Trial, Trip, self_check
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Verdict

MAX_WORK: Final = 5_000_000
"""Steps of operations on generic states, summed over all classes of states: some ten seconds."""
FORMAT: Final = 1
"""Of the JSON of certificates."""
Failing = list[tuple[int, int]]
"""Components with an alternative that makes the mutation fail."""


class _Job(NamedTuple):
    """One class to look at: a slice and a choice; `failed`: the mutation fails, because of some other component."""

    slice: Slice
    choice: ShapeChoice
    failed: bool = False


class _PartsDisagreeError(Exception):
    """A slice fails where the whole candidate does not, so slices do not decide about this candidate."""


class _GoesFurtherError(Exception):
    """A mutation that failed on the base goes further on the choice given, which is therefore a better base."""


class _Search:
    """One look at all classes; `looked` counts them."""

    def __init__(self, classes: Classes, slices: Slices) -> None:
        self.classes = classes
        self.slices = slices
        self.looked = 0
        self.seen: list[ShapeChoice] = []
        """The choices that the candidate ran on beside the base, for its certificate."""
        self.work = 0
        self.failing: Failing = []

    def run(self) -> State | None:
        """Return a state that breaks the candidate, or None."""
        base = self.classes.state({})
        self.looked += 1
        trip = self.slices.whole.trial.run(base)
        if not trip.passed:
            return base
        if trip.forward_failure:
            return self._always_failing()
        variations = list(self._variations())
        self._spend(variations, times=2)
        return self._look(variations) or self._look(self._elsewhere()) or self._look(self._joint())

    def _always_failing(self) -> State | None:
        """Look at all classes of a mutation that fails on the base: by the whole candidate, on its trace too."""
        self.slices = Slices(self.classes.candidate, self.classes, whole=True, trial=type(self.slices.whole.trial))
        variations = list(self._variations())
        self._spend(variations)
        return self._look(variations, always=True) or self._look(self._joint(), always=True)

    def _joint(self) -> list[_Job]:
        jobs = list(self._yield_coupled())
        self._spend(jobs)
        return jobs

    def _spend(self, jobs: list[_Job], *, times: int = 1) -> None:
        """Refuse a candidate whose classes are too many to look at, before looking, and on any machine alike."""
        self.work += times * sum(job.slice.weight for job in jobs)
        if self.work > MAX_WORK:
            raise ProgramTooLarge(
                f"a proof would go through {len(jobs)} classes of states, {self.work} steps, more than {MAX_WORK}",
                hint="make several smaller changes, or decide on a sample",
            )

    def _variations(self) -> Iterator[_Job]:
        for at, choice in self.classes.variations():
            yield _Job(self.slices.around((at,)), choice)

    def _elsewhere(self) -> Iterator[_Job]:
        """Yield the classes in which a component is as in the base or not, and another makes the mutation fail.

        How it fails cannot matter to this one, as long as both can be seen.
        """
        if not self.failing:
            return
        failed = set(self.failing)
        bases = [(at, {at: self.classes.base[at]}) for at in range(len(self.classes.parts))]
        if self.slices.whole.idle.run(self.classes.state({})).passed:
            bases.clear()
        for at, choice in (*bases, *self.classes.variations()):
            if len(choice) == 1 and (at, choice[at]) not in failed:
                yield from self._find_failing((at,), choice)

    def _yield_coupled(self) -> Iterator[_Job]:
        """Yield the joint choices of components that a restore from another path's capture ties together.

        Whether such a restore can run depends on what stood at the captured path and at its own.
        """
        for group in self.classes.groups():
            for choice in self.classes.joint(group):
                yield _Job(self.slices.around(group), choice)
                yield from self._find_failing(group, choice)

    def _find_failing(self, parts: Iterable[int], choice: ShapeChoice) -> Iterator[_Job]:
        """Yield the class of a choice where another component makes the mutation fail, if one can."""
        way = next(self._ways(choice), None)
        if way is not None:
            if self.slices.only_whole:
                yield _Job(self.slices.whole, {**choice, way[0]: way[1]})
            else:
                yield _Job(self.slices.around(parts), choice, failed=True)

    def _ways(self, choice: ShapeChoice) -> Iterator[tuple[int, int]]:
        """Yield what else can make the mutation fail where some components are as chosen, so that all are seen."""
        hides = self.classes.hides
        for cause, how in self.failing:
            if cause not in choice and not any(
                hides(cause, how, at) or hides(at, other, cause) for at, other in choice.items()
            ):
                yield cause, how

    def _look(self, jobs: Iterable[_Job], *, always: bool = False) -> State | None:
        """Run jobs until one fails, and note what makes the mutation fail; `always`: all of them must."""
        for job in jobs:
            self.looked += 1
            state = self.classes.state(job.choice)
            if not job.failed:
                self.seen.append(job.choice)
            trip = (job.slice.idle if job.failed else job.slice.trial).run(state)
            if not trip.passed:
                return self._confirm_failure(job, state)
            if always:
                if self._goes_further(trip):
                    raise _GoesFurtherError(job.choice)
            elif trip.forward_failure and len(job.choice) == 1:
                self.failing += job.choice.items()
        return None

    def _goes_further(self, trip: Trip) -> bool:
        """Tell whether a mutation that fails on the base went further on a trip than it does there."""
        reach = self.classes.reach
        return trip.stopped_at is None or (reach is not None and trip.stopped_at > reach)

    def going_through(self) -> State | None:
        """Return a state on which the mutation goes through and recovery does not, if one is among the classes."""
        for _, choice in self.classes.variations():
            state = self.classes.state(choice)
            trip = self.slices.whole.trial.run(state)
            if not trip.passed and not trip.forward_failure:
                return state
        return None

    def _confirm_failure(self, job: _Job, state: State) -> State:
        whole = self.slices.whole.trial
        if not job.failed and not whole.run(state).passed:
            return state
        for cause, how in self._ways(job.choice) if job.failed else ():
            concrete = self.classes.state({**job.choice, cause: how})
            if not whole.run(concrete).passed:
                return concrete
        raise _PartsDisagreeError


def prove(
    candidate: Candidate | Mapping[str, Any],
    *,
    level: Level | None = None,
    locked: str | None = None,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict: proved for every state, or refuted with a smallest concrete state.

    `level` is the widest language installed if left out, `locked` the digest the mutation must have. A candidate that
    is too large to prove, or takes too long, is rejected with that reason.
    """
    return prove_with(candidate, VerifyOptions(level=level, locked=locked, max_seconds=max_seconds))


def prove_with(candidate: Candidate | Mapping[str, Any], options: VerifyOptions) -> Verdict:
    """Return the verdict that `prove` returns, by options that are checked already."""
    options = check_options(options, PROOF)
    level, candidate = options.language, freeze_candidate(candidate)
    refused = list_refusals(candidate, level, options.locked)
    if refused and all(reason.code is Code.IRREVERSIBLE for reason in refused):
        return _judge_rest(candidate, options, refused)
    if refused:
        return reject_candidate(refused, PROOF, level, candidate)
    self_check()
    deadline, runs = monotonic() + options.max_seconds, list[ProofRun]()
    try:
        looked, broken, unsure = _decide(candidate, deadline, runs)
    except ProgramTooLarge as fault:
        return reject_candidate([Reason(Code.LIMIT, str(fault))], PROOF, level, candidate)
    except TimeoutError:
        late = Reason(Code.TIMEOUT, f"the proof took more than {options.max_seconds} seconds")
        return reject_candidate([late], PROOF, level, candidate)
    if unsure:
        return reject_candidate([Reason(Code.UNDECIDED, unsure)], PROOF, level, candidate)
    if broken is None:
        return _make_verdict(candidate, level, Grade.PROVED, looked, certificate=Certificate(candidate, tuple(runs)))
    example = make_counterexample(candidate, broken, "proof", deadline)
    return _make_verdict(candidate, level, Grade.REFUTED, looked, example)


def _judge_rest(candidate: Candidate, options: VerifyOptions, stays: Sequence[Reason]) -> Verdict:
    """Return the verdict on a candidate with calls that nothing answers.

    It is never proved. What it does beside them is judged as if they were not there: a wrong recovery is refuted.
    """
    rest = prove_with(without_unanswered(candidate), replace(options, locked=None))
    if rest.grade is Grade.PROVED:
        return reject_candidate(stays, PROOF, options.language, candidate)
    about = replace(
        rest,
        reasons=(*stays, *rest.reasons),
        **identify_candidate(candidate),
    )
    return register_verdict(about, candidate)


def _decide(candidate: Candidate, deadline: float, runs: list[ProofRun]) -> tuple[int, State | None, str]:
    """Return how many classes were looked at, a state that breaks the candidate if one does, and why it is undecided.

    Adds to `runs` what a proof rests on.

    The classes decide where operations do not look into values. Edits do: those must hold whatever they leave, and
    where they fail; and what is moved must come back to its own place.
    """
    looked, broken = _search_classes(candidate, deadline, runs=runs)
    if broken is not None or not _is_beyond_shapes(candidate):
        return looked, broken, ""
    runs.clear()
    if has_recovery_edits(candidate):
        return looked, None, why_recovery_undecided(candidate)
    more, unlike = _search_classes(with_opaque_edits(candidate), deadline, PlaceTrial, runs)
    looked += more
    if unlike is not None:
        return looked, None, why_edits_undecided(candidate)
    if has_inner_edits(candidate):
        more, harmed = _search_classes(without_mutation(candidate), deadline, runs=runs)
        looked += more
        if harmed is not None:
            return looked, None, why_failure_undecided(candidate)
    return looked, None, ""


def _is_beyond_shapes(candidate: Candidate) -> bool:
    return any(op.kind.level is Level.L2 for op in (*candidate.mutation, *candidate.recovery))


def _make_verdict(
    candidate: Candidate,
    level: Level,
    grade: Grade,
    looked: int,
    example: Counterexample | None = None,
    certificate: Certificate | None = None,
) -> Verdict:
    return register_verdict(
        Verdict(
            example is None,
            grade,
            PROOF,
            level.value,
            () if example is None else tuple(list_trip_reasons(example.trip)),
            classes=looked,
            counterexample=example,
            certificate=certificate,
            **identify_candidate(candidate),
        ),
        candidate,
    )


def _search_classes(
    candidate: Candidate, deadline: float, trial: type[Trial] = Trial, runs: list[ProofRun] | None = None
) -> tuple[int, State | None]:
    """Return how many classes were looked at, and a state that breaks the candidate if one does."""
    classes, whole = Classes(candidate, deadline), _is_beyond_shapes(candidate)
    classes.settle()
    while True:
        search = _Search(classes, Slices(candidate, classes, whole=whole, trial=trial))
        try:
            broken = search.run()
            break
        except _GoesFurtherError as going_further:
            classes.use_as_base(*going_further.args)
            classes.settle()
        except _PartsDisagreeError:
            whole = True
    if broken is None and classes.unsure is not None and classes.reach is not None:
        raise classes.unsure
    if broken is not None and has_recovery_edits(candidate):
        broken = search.going_through() or broken
    if runs is not None:
        runs.append(ProofRun(classes, search.seen))
    return search.looked, broken


class ProofRun(NamedTuple):
    """One search through the classes of a candidate, or of what stands for it, and the choices that it ran on."""

    classes: Classes
    seen: list[ShapeChoice]


class Certificate(NamedTuple):
    """What a proof of a candidate rests on."""

    candidate: Candidate
    runs: tuple[ProofRun, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the certificate as JSON."""
        plain = {
            "format": FORMAT,
            "claim": "proved",
            "candidate": self.candidate.to_json(),
            "digest": self.candidate.digest(),
            "runs": [_write_run(run, mode) for run, mode in zip(self.runs, self._list_modes(), strict=False)],
        }
        return plain | {"seal": digest(plain)}

    def _list_modes(self) -> tuple[str, ...]:
        programs = (*self.candidate.mutation, *self.candidate.recovery)
        wide = any(op.kind.level is Level.L2 for op in programs)
        return ("edits leave anything", "mutation left out") if wide else ("as it is",)


def _write_run(run: ProofRun, mode: str) -> dict[str, Any]:
    classes = run.classes
    classes.deadline = float("inf")
    start = classes.state({})
    base = start.write()
    return {
        "mode": mode,
        "components": [_write_title(part.component.name, classes.salt) for part in classes.parts],
        "reach": classes.reach,
        "base": base,
        "classes": [_write_class(classes, choice, start, base) for choice in run.seen],
    }


def _write_title(name: str, salt: str) -> str:
    unnamed = f"bystander_{salt}"
    return f"{name.removesuffix(unnamed)}(others)" if name.endswith(f" {unnamed}") else name


def _write_class(classes: Classes, choice: ShapeChoice, start: State, base: dict[str, Any]) -> dict[str, Any]:
    state = classes.state(choice)
    other = {name: part for name, part in state.parts.items() if part is not start.parts[name]}
    plain = State.of(other).write()
    change = {
        name: _list_changes(base.get(name, {}), plain.get(name, type(base.get(name, {}))()))
        for name in {**base, **plain}
        if name in other and plain.get(name) != base.get(name)
    }
    return {"change": change, "stops": classes.failing_at(choice), "held": True}


def _list_changes(before: Any, after: Any) -> Any:
    """Return the entries of a surface that are not as before, each in a list, which is empty where none is now."""
    if not isinstance(after, dict):
        return after
    gone: dict[str, list[Any]] = {key: [] for key in before if key not in after}
    return gone | {key: [item] for key, item in after.items() if key not in before or item != before[key]}
