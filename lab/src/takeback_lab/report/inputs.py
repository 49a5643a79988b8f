"""What each experiment must deliver: the JSON under `data` in its `result.json`, checked field by field.

Outcomes are delivered task by task; every count, bound, test and plot is computed from them here, so an
experiment never adds up anything itself. Extra fields are errors. The name of the experiment decides which
model reads it (`EXPERIMENTS`).

A turn is the number of the repair turn at which a task was admitted, from 1, or null if it never was.
Passes are text with one character for each state: `1` passed, `0` failed, and in a matrix `-` not run.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from takeback.errors import InputError
from takeback_lab.lock import canonical

Stratum = Literal["S0", "S1", "residual"]
Count = Annotated[int, Field(ge=0)]
TurnNumber = Annotated[int, Field(ge=1)] | None
Passes = Annotated[str, Field(pattern=r"^[01-]+$")]
Counts = dict[str, tuple[Count, Count] | tuple[Count, Count, Count]]
"""States of each split: passed, of how many, and where they are counted apart on how many the mutation cannot run."""
NonEmpty = Annotated[str, Field(min_length=1)]
"""What titles must be able to say: who was asked, or on what it was measured."""


class Input(BaseModel):
    """Base: frozen, strict about types, no extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Cost(Input):
    """Calls, tokens and seconds of a run."""

    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    latency_s: float


class RunData(Input):
    """What every run's data may say about itself: who was asked, with which prompts, on what, at which cost.

    `locked` is how many tasks were locked before the first call, `replies` the digest of the replies it rests on,
    `imported` how many of them were produced elsewhere and taken in, `cannot_run` how states count on which a
    mutation cannot run.
    """

    model: str = ""
    prompts: str = ""
    population: str = ""
    locked: Count | None = None
    replies: str | None = None
    imported: Count = 0
    account: Cost | None = None
    cannot_run: Literal["apart", "passed"] = "passed"


class Matrix(Input):
    """Round trips of many tasks: `splits` names each state's split in order; each row has as many passes."""

    splits: tuple[str, ...]
    rows: Annotated[tuple[MatrixRow, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _same_width(self) -> Matrix:
        for row in self.rows:
            if len(row.passes) != len(self.splits):
                raise ValueError(f"{row.id} has {len(row.passes)} passes for {len(self.splits)} states")
        return self


class MatrixRow(Input):
    """One task of the round-trip matrix."""

    id: str
    family: str
    passes: Passes


class Attempted(Input):
    """One turn: how it ended, and for a candidate that ran how many states of each split passed, of how many."""

    outcome: str
    counts: Counts | None = None


class FactorialTask(Input):
    """A task of the frozen cohort, by cell (`D0L0`, `D1L0`, `D0L1`, `D1L1`): `turns`, costs, what each turn came to.

    `recovery` is the last recovery that was tried, as pairs of operation and target.
    """

    id: str
    family: str
    stratum: Stratum
    turns: dict[str, TurnNumber]
    calls: dict[str, Count] = {}
    tokens: dict[str, Count] = {}
    latency_s: dict[str, float] = {}
    recovery: dict[str, tuple[tuple[str, str], ...] | None] = {}
    attempts: dict[str, tuple[Attempted, ...]] = {}


class GateCount(Input):
    """Responses of a cell on a stratum, and how many of them the language gate rejected."""

    cell: str
    stratum: Stratum
    rejected: Count
    responses: Count


class FactorialData(RunData):
    """Experiments `factorial`, `conventional` and `replication`; `bank` is the accounting of the bank drawn from."""

    model: NonEmpty
    rule: str = "split-wald"
    bank: dict[str, Count] = {}
    budget: Annotated[int, Field(ge=1)]
    tasks: tuple[FactorialTask, ...]
    gate: tuple[GateCount, ...] = ()

    @model_validator(mode="after")
    def _same_cells(self) -> FactorialData:
        cells = {frozenset(task.turns) for task in self.tasks}
        if len(cells) > 1:
            raise ValueError("every task needs a turn for the same cells; leave out tasks that one cell did not run")
        return self


class ControlledCandidate(Input):
    """A candidate with an injected defect, by feedback mode; `nominal_pass` if only other states give it away."""

    id: str
    family: str = ""
    defect: str
    nominal_pass: bool = False
    turns: dict[str, TurnNumber]
    calls: dict[str, Count] = {}
    attempts: dict[str, tuple[Attempted, ...]] = {}


class ControlledData(RunData):
    """Experiment `controlled`."""

    model: NonEmpty
    rule: str = "split-wald"
    budget: Annotated[int, Field(ge=1)]
    candidates: Annotated[tuple[ControlledCandidate, ...], Field(min_length=1)]


class NaturalTask(Input):
    """What became of a task at turn 0; defective ones may carry their oracle stratum and their mistakes."""

    id: str
    family: str
    outcome: Literal["admissible", "inadequate", "defective"]
    shortfall: str | None = None
    stratum: Stratum | None = None
    mistakes: tuple[str, ...] = ()
    counts: Counts | None = None


class NaturalData(RunData):
    """Experiment `natural`: the accounting of all tasks; `language` is that of witness and recovery."""

    model: NonEmpty
    language: str = "L1"
    tasks: Annotated[tuple[NaturalTask, ...], Field(min_length=1)]


class OracleTask(Input):
    """Whether the oracle recovers a task under each language."""

    id: str
    family: str
    L0: bool
    L1: bool
    L2: bool | None = None


class OracleData(RunData):
    """Experiment `oracle`; `matrix` is optional."""

    population: NonEmpty
    rule: str = "split-wald"
    tasks: Annotated[tuple[OracleTask, ...], Field(min_length=1)]
    matrix: Matrix | None = None


class StabilityTask(Input):
    """The stratum of a task under each seed, in the order of the seeds."""

    id: str
    strata: tuple[Stratum, ...]


class StabilityData(RunData):
    """Experiment `stability`."""

    population: NonEmpty
    seeds: Annotated[tuple[int, ...], Field(min_length=1)]
    tasks: Annotated[tuple[StabilityTask, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_stratum_per_seed(self) -> StabilityData:
        for task in self.tasks:
            if len(task.strata) != len(self.seeds):
                raise ValueError(f"{task.id} has {len(task.strata)} strata for {len(self.seeds)} seeds")
        return self


class MeasureSpread(Input):
    """Mean, median and quartiles of a measure."""

    mean: float
    median: float
    lower: float
    upper: float


class SnapshotMethod(Input):
    """A way to undo: successes and trials of each protocol (null: not run), bytes it keeps, microseconds it takes."""

    name: str
    different: tuple[Count, Count] | None
    same: tuple[Count, Count] | None
    front: tuple[Count, Count] | None
    front_inserting: tuple[Count, Count] | None = None
    wrong: dict[str, tuple[str, ...]] = {}
    bytes: MeasureSpread | None
    latency_us: MeasureSpread | None


class EntryBytes(Input):
    """What one journal entry takes: its slots, before and after, and all of it on disk."""

    slots: float
    disk: float


class SnapshotsData(RunData):
    """Experiment `snapshots`."""

    population: NonEmpty
    methods: Annotated[tuple[SnapshotMethod, ...], Field(min_length=1)]
    not_run: dict[str, str] = {}
    entry: EntryBytes | None = None


class ContractAuditData(RunData):
    """Experiment `contract-audit`: (detected or false alarms, trials)."""

    population: NonEmpty
    incomplete: tuple[Count, Count]
    complete: tuple[Count, Count]
    nondeterminism: tuple[Count, Count]
    by_trace_only: Count = 0
    wrong: tuple[dict[str, object], ...] = ()


class FreshTask(Input):
    """A fresh task under one suite: development verdict, passes on the hidden states in order, cost."""

    id: str
    family: str
    dev: bool
    hidden: Annotated[str, Field(pattern=r"^[01-]+$")]
    calls: Count
    tokens: Count | None = None
    latency_s: float | None = None


class FreshSuite(Input):
    """All tasks under one development suite (`Q2`, `Q5`, `Q10`, `Q20`, `Q10-narrow`)."""

    name: str
    tasks: Annotated[tuple[FreshTask, ...], Field(min_length=1)]


class FreshData(RunData):
    """Experiment `fresh`; `threshold` is that of the hidden criterion."""

    model: NonEmpty
    budget: Annotated[int, Field(ge=1)]
    threshold: Annotated[float, Field(gt=0, lt=1)]
    states: Literal["diverse", "rare"] = "diverse"
    suites: Annotated[tuple[FreshSuite, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_pool(self) -> FreshData:
        tasks = {tuple(task.id for task in suite.tasks) for suite in self.suites}
        states = {len(task.hidden) for suite in self.suites for task in suite.tasks}
        if len(tasks) != 1 or len(states) != 1:
            raise ValueError("every suite needs the same tasks in the same order, each on the same hidden states")
        return self


EXPERIMENTS: dict[str, type[RunData]] = {
    "contract-audit": ContractAuditData,
    "controlled": ControlledData,
    "conventional": FactorialData,
    "factorial": FactorialData,
    "fresh": FreshData,
    "natural": NaturalData,
    "oracle": OracleData,
    "replication": FactorialData,
    "snapshots": SnapshotsData,
    "stability": StabilityData,
}


def read_input(experiment: str, data: object, where: str) -> RunData:
    """Check the data of an experiment; a wrong field is named with its place, what was found and expected."""
    if experiment not in EXPERIMENTS:
        raise InputError(where, found=experiment, expected="one of " + ", ".join(EXPERIMENTS))
    try:
        return EXPERIMENTS[experiment].model_validate_json(canonical(data, where))
    except ValidationError as fault:
        first = fault.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        found = first["input"]
        raise InputError(f"{where}: data.{place}", found=found, expected=first["msg"]) from None


def read_factorial(experiment: str, data: object) -> FactorialData:
    """The data of `factorial`, `conventional` or `replication`."""
    found = read_input(experiment, data, experiment)
    if not isinstance(found, FactorialData):
        raise InputError(experiment, found=type(found).__name__, expected="a factorial")
    return found
