"""What an experiment is: a plan that can be locked, cut into units, run anywhere, added up and shown.

Whoever writes one gives a class that keeps `Experiment` and adds its name to `registry`. A unit is plain data and
so is its result: units go to threads, processes or a cluster, and what is finished is kept between runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from takeback.repair.models import ChatModel
from takeback.repair.synthesizer import Method
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OptionKind = Literal["text", "number", "path", "texts"]
FEW = 20
"""Tables with fewer cases than this say that they are too few for a contrast."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of an experiment: its name, what it takes, what it is for, and the least number allowed.

    An option that is not given is left out of what `plan` is told: its default is the plan's business.
    """

    name: str
    kind: OptionKind
    help: str
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Who answers the units that ask: the model behind it, if any, its way to find a recovery, and its name."""

    model: ChatModel | None
    method: Method
    name: str


class ExperimentPlan(Protocol):
    """What one run is asked to do, fixed before it starts."""

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes; `who` is the model or synthesizer that is asked, if any."""
        ...

    def units(self) -> dict[str, Any]:
        """What is to be done, by key, in order: plain data that can be sent to another machine."""
        ...


@runtime_checkable
class NotedPlan(Protocol):
    """A plan that has something to say before anybody is asked, such as that there are fewer cases than wanted."""

    def notes(self) -> tuple[str, ...]:
        """What is to be said, line by line."""
        ...


SomePlan = TypeVar("SomePlan", bound=ExperimentPlan)


class Experiment(Protocol[SomePlan]):
    """One experiment. Its class's docstring is its help; the last line of it is an example."""

    name: str
    options: tuple[Option, ...]
    asks: bool

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> SomePlan:
        """The plan for the options that were given; `frozen` is what a replayed recording was made with."""
        ...

    def run(self, unit: Any, asked: Asked | None) -> Any:
        """Do one unit; the result is plain JSON."""
        ...

    def data(self, plan: SomePlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """The results by the name of their folder, each in the form that `tables` reads."""
        ...

    def summary(self, plan: SomePlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """What is said about a run, in JSON."""
        ...

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether the run came out as this project promises; always true where it promises nothing."""
        ...

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The summary for people."""
        ...

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """The tables of a report on one result; at least one."""
        ...

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """The plots of a report on one result, each with the name of its file."""
        ...


class RecordedExperiment(Experiment[SomePlan], Protocol[SomePlan]):
    """An experiment that asks a model, and whose recording can be frozen beside what was run."""

    default_synthesizer: str

    def freeze_run(self, folder: Path, plan: SomePlan, done: Mapping[str, Any], who: str) -> None:
        """Write beside a recording what was run, so that it replays without being told."""
        ...

    def thaw_run(self, folder: Path) -> Mapping[str, Any] | None:
        """What a recording was frozen with; None if it was not."""
        ...

    def shipped(self) -> Path:
        """The recording that plain `replay` means."""
        ...
