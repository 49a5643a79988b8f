"""What a task is, and how one is read.

A task names a harness profile and what it changes on it; `Task.state` is the whole nominal state, as
plain JSON. Reading checks the form of everything and says where it is wrong. A controlled task also
carries one candidate with an injected defect and its known good counterpart.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from takeback.errors import InputError
from takeback_lab.tasks import postconditions as checks

AnyJson = Any

FAMILIES = ("config", "tools", "middleware", "listeners", "resources", "multi")
INSIDE_FAMILIES = ("prompt_edits", "file_edits", "list_items", "removals", "moves", "mixed")
SETS = ("natural", "fresh", "controlled", "l2")
DEFECTS = (
    "missing capture",
    "dummy capture",
    "wrong recovery operation",
    "resource leak",
    "omitted effect",
)
FORWARD = {
    "set_config": "config",
    "set_prompt": "prompts",
    "set_routing": "routing",
    "register_tool": "tools",
    "add_middleware": "middleware",
    "add_listener": "listeners",
    "write_file": "files",
    "allocate_socket": "resources",
}
INSIDE = {
    "edit_prompt": "prompts",
    "remove_prompt": "prompts",
    "edit_file": "files",
    "remove_file": "files",
    "move_file": "files",
    "append_config": "config",
    "insert_config": "config",
    "remove_config_item": "config",
    "unset_config": "config",
    "unset_routing": "routing",
    "remove_tool": "tools",
    "remove_middleware": "middleware",
    "move_middleware": "middleware",
    "replace_middleware": "middleware",
    "remove_listener": "listeners",
    "move_listener": "listeners",
    "free_socket": "resources",
}
"""What the references of the set `l2` are made of: operations that came with that language."""
_TEXTS = ("id", "situation", "profile", "instruction")
_PROGRAMS = ("witness", "recovery", "contract")


@dataclass(frozen=True, slots=True)
class DefectPair:
    """A candidate with one injected defect beside the good one; both hold the same mutation."""

    defect: str
    why: str
    candidate: AnyJson
    good: AnyJson


@dataclass(frozen=True, slots=True)
class Task:
    """One thing a maintainer asks of an agent's harness.

    `state` is the nominal state, `reference` a mutation that reaches every postcondition, `surfaces`
    those the reference writes. `controlled` is there in the controlled set only.
    """

    id: str
    set_name: str
    family: str
    situation: str
    profile: str
    instruction: str
    surfaces: tuple[str, ...]
    state: AnyJson
    postconditions: tuple[AnyJson, ...]
    reference: tuple[AnyJson, ...]
    controlled: DefectPair | None = None

    def to_json(self) -> dict[str, AnyJson]:
        """Everything about the task as one JSON object."""
        shown: dict[str, AnyJson] = {
            "id": self.id,
            "set": self.set_name,
            "family": self.family,
            "situation": self.situation,
            "profile": self.profile,
            "instruction": self.instruction,
            "surfaces": list(self.surfaces),
            "state": self.state,
            "postconditions": list(self.postconditions),
            "reference": list(self.reference),
        }
        if self.controlled is not None:
            shown["defect"] = self.controlled.defect
            shown["why"] = self.controlled.why
            shown["candidate"] = self.controlled.candidate
            shown["good"] = self.controlled.good
        return shown


def families(set_name: str) -> tuple[str, ...]:
    """The families of a set, in their order."""
    return INSIDE_FAMILIES if set_name == "l2" else FAMILIES


def capability(task: Task, state: Mapping[str, AnyJson]) -> Fraction:
    """J: the share of the task's postconditions that hold on a state's plain JSON."""
    met = sum(checks.holds(one, state, task.state) for one in task.postconditions)
    return Fraction(met, len(task.postconditions))


def overlay(profile: AnyJson, *, without: list[str], additions: AnyJson, absent: list[str] | None = None) -> AnyJson:
    """The nominal state: a profile less some surfaces, plus what the task adds, less some addresses.

    Config is merged key by key and all the way down, the chain of middleware is replaced as a whole,
    every other surface is updated entry by entry.
    """
    state = {surface: copy.deepcopy(value) for surface, value in profile.items() if surface not in without}
    for surface, value in additions.items():
        if surface == "middleware":
            state[surface] = copy.deepcopy(value)
        elif surface == "config":
            _merge(state.setdefault(surface, {}), value)
        else:
            state.setdefault(surface, {}).update(copy.deepcopy(value))
    for address in absent or []:
        _drop(state, *checks.split_address(address))
    return state


def _drop(state: dict[str, AnyJson], surface: str, key: str) -> None:
    if surface == "middleware":
        state[surface] = [link for link in state.get(surface, []) if link["id"] != key]
        return
    *above, last = checks.split_path(key) if surface == "config" else [key]
    inside = state.get(surface, {})
    for part in above:
        inside = inside.get(part, {})
    inside.pop(last, None)


def _merge(into: dict[str, AnyJson], value: AnyJson) -> None:
    for key, inner in value.items():
        if isinstance(inner, dict) and isinstance(into.get(key), dict):
            _merge(into[key], inner)
        else:
            into[key] = copy.deepcopy(inner)


def read_task(raw: AnyJson, *, set_name: str, family: str, profiles: AnyJson, where: str) -> Task:
    """Read one task of a data file; raises `InputError` with the place that is wrong."""
    if not isinstance(raw, dict):
        raise InputError(where, found=raw, expected="a task object")
    for field in _TEXTS:
        if not isinstance(raw.get(field), str) or not raw[field].strip():
            raise InputError(f"{where}.{field}", found=raw.get(field), expected="text that is not empty")
    where = f"{where} ({raw['id']})"
    if raw["profile"] not in profiles:
        raise InputError(f"{where}.profile", found=raw["profile"], expected=f"one of {', '.join(profiles)}")
    known = INSIDE if set_name == "l2" else FORWARD
    reference = _reference(raw.get("reference"), known, f"{where}.reference")
    surfaces = tuple(name for name in checks.SURFACES if name in {known[op["op_type"]] for op in reference})
    if list(surfaces) != raw.get("surfaces"):
        raise InputError(f"{where}.surfaces", found=raw.get("surfaces"), expected=f"{list(surfaces)}")
    state = overlay(
        profiles[raw["profile"]],
        without=raw.get("without", []),
        additions=raw.get("with", {}),
        absent=raw.get("absent", []),
    )
    return Task(
        id=raw["id"],
        set_name=set_name,
        family=family,
        situation=raw["situation"],
        profile=raw["profile"],
        instruction=raw["instruction"],
        surfaces=surfaces,
        state=state,
        postconditions=_postconditions(raw.get("postconditions"), f"{where}.postconditions"),
        reference=reference,
        controlled=_controlled(raw, reference, where) if set_name == "controlled" else None,
    )


def _reference(raw: AnyJson, known: Mapping[str, str], where: str) -> tuple[AnyJson, ...]:
    if not isinstance(raw, list) or not raw:
        raise InputError(where, found=raw, expected="a list of forward operations")
    for index, op in enumerate(raw):
        if not isinstance(op, dict) or op.get("op_type") not in known or "target" not in op:
            raise InputError(f"{where}[{index}]", found=op, expected=f"one of {', '.join(known)} with a target")
    return tuple(raw)


def _postconditions(raw: AnyJson, where: str) -> tuple[AnyJson, ...]:
    if not isinstance(raw, list) or not raw:
        raise InputError(where, found=raw, expected="a list of postconditions")
    for index, one in enumerate(raw):
        if fault := checks.problem(one):
            raise InputError(f"{where}[{index}]", found=one, expected=fault)
    return tuple(raw)


def _controlled(raw: AnyJson, reference: tuple[AnyJson, ...], where: str) -> DefectPair:
    if raw.get("defect") not in DEFECTS:
        raise InputError(f"{where}.defect", found=raw.get("defect"), expected=f"one of {', '.join(DEFECTS)}")
    candidates = {}
    for name in ("candidate", "good"):
        part = raw.get(name)
        if not isinstance(part, dict) or set(part) != set(_PROGRAMS):
            raise InputError(f"{where}.{name}", found=part, expected=f"{', '.join(_PROGRAMS)} and nothing else")
        candidates[name] = {"mutation": list(reference), **part}
    return DefectPair(raw["defect"], raw.get("why", ""), candidates["candidate"], candidates["good"])
