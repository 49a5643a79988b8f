"""The certificate of a proof: what it rests on, as JSON that somebody else can check.

The prover notes the choices that it ran on; the JSON is made when it is asked for. It has, for each search, the
components, the base, and every class with its state and where the mutation stopped on it. `takeback.opinion.checker`
decides about it without any code of the proof.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from takeback.canonical import digest
from takeback.language import Candidate
from takeback.state import Level, State
from takeback.verify.classes import Classes, ShapeChoice

FORMAT: Final = 1


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
